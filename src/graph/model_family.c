#include "graph/model_family.h"

const struct gi_model_family *gi_model_family_of(const struct gi_model_family *family,
                                                 const struct gi_hparams *hparams, uint32_t layer)
{
    return layer < hparams->n_leading ? family->leading : family;
}

void gi_model_family_record(const struct gi_model_family *family, struct gi_graph *graph,
                            uint32_t layer)
{
    family = gi_model_family_of(family, graph->hparams, layer);
    if (gi_layer_is_other(graph->hparams, layer)) {
        family->others->record_layer(graph, layer);
    } else {
        family->record_layer(graph, layer);
    }
}
