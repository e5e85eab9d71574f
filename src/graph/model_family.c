#include "graph/model_family.h"

bool gi_model_family_record(const struct gi_model_family *family, struct gi_graph *graph,
                            uint32_t layer, struct glinfer_error *err)
{
    return gi_layer_kind(graph->hparams, layer) == GI_LAYER_RECURRENT
               ? family->recurrent->record_layer(graph, layer, err)
               : family->record_layer(graph, layer, err);
}
