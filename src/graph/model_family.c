#include "graph/model_family.h"

struct gi_layer_tables gi_model_family_tables(const struct gi_model_family *family,
                                              const struct gi_hparams *hparams, uint32_t layer)
{
    const bool has_experts = layer >= hparams->n_leading && !hparams->has_no_experts[layer];
    family = has_experts ? family : family->leading;
    if (gi_layer_kind(hparams, layer) == GI_LAYER_NETWORK) {
        return *family->networks;
    }
    if (gi_layer_is_other(hparams, layer)) {
        return *family->others;
    }
    return (struct gi_layer_tables){family->weights, family->n_weights, family->norms,
                                    family->n_norms, family->record_layer};
}

void gi_model_family_record(const struct gi_model_family *family, struct gi_graph *graph,
                            uint32_t layer)
{
    gi_model_family_tables(family, graph->hparams, layer).record_layer(graph, layer);
}
