// Nanbeige 4.2: Llama's layers, which run several times, with keys and values of their own each
// time. Between these runs the norm before the output normalises the residual, unless the file says
// that it does not.
#include "models/decoder_weights.h"

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    const struct gi_hparams *hparams = graph->hparams;
    if (hparams->has_loop_norm && layer > 0 && layer % hparams->n_own_layer == 0) {
        gi_graph_loop_norm(graph, layer);
    }
    gi_pre_norm_record_layer(graph, layer);
}

const struct gi_model_family gi_model_family_nanbeige = {
    .name = "nanbeige",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .read_hparams = gi_hparams_loops,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_pre_norm_norms),
    .record_layer = record_layer,
};
