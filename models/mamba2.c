#include "models/mamba2.h"

#include "base/round.h"

// Refuses sizes that the kernels do not have, or of which a state would be too large.
static bool check_sizes(const struct gi_hparams_reader *reader,
                        const struct gi_recurrent_hparams *sizes, uint32_t n_inner)
{
    const bool is_sound = sizes->n_taps >= 2 && sizes->n_taps <= 8 && sizes->dim >= 16 &&
                          sizes->dim <= 256 && sizes->dim % 16 == 0 && sizes->state_dim >= 32 &&
                          sizes->state_dim <= 256 && sizes->state_dim % 32 == 0 &&
                          sizes->n_k_head > 0 && sizes->n_head % sizes->n_k_head == 0 &&
                          n_inner == sizes->n_head * sizes->dim;
    return is_sound ||
           GI_HPARAMS_FAIL(
               reader, UNSUPPORTED,
               "unsupported state space model of %u inner elements in %u heads, with %u "
               "groups of %u and a convolution of %u: heads have multiples of 16 up to 256, "
               "groups multiples of 32 up to 256, convolutions 2 to 8",
               n_inner, sizes->n_head, sizes->n_k_head, sizes->state_dim, sizes->n_taps);
}

bool gi_mamba2_hparams(const struct gi_hparams_reader *reader, bool has_norm,
                       struct gi_hparams *hparams)
{
    struct gi_recurrent_hparams *sizes = &hparams->recurrent;
    const uint64_t two_tiles = 2 * (uint64_t)GI_TILE_ROWS;
    uint32_t n_inner;
    if (!gi_hparams_u32(reader, "ssm.conv_kernel", 4, &sizes->n_taps) ||
        !gi_hparams_u32(reader, "ssm.state_size", 128, &sizes->state_dim) ||
        !gi_hparams_u32(reader, "ssm.group_count", 1, &sizes->n_k_head) ||
        !gi_hparams_u32(reader, "ssm.time_step_rank", 0, &sizes->n_head) ||
        !gi_hparams_u32(reader, "ssm.inner_size", 2 * hparams->n_embd, &n_inner)) {
        return false;
    }
    sizes->dim = sizes->n_head > 0 && sizes->n_head <= 1024 ? n_inner / sizes->n_head : 0;
    sizes->has_norm =
        has_norm || gi_gguf_tensor_find(reader->gguf, "blk.0.ssm_norm.weight") != NULL;
    if (!check_sizes(reader, sizes, n_inner)) {
        return false;
    }
    const struct gi_ssm ssm = {.params = {.n_head = sizes->n_head, .n_group = sizes->n_k_head},
                               .dim = sizes->dim,
                               .state_dim = sizes->state_dim,
                               .n_taps = sizes->n_taps};
    sizes->n_channel = gi_ssm_channels(&ssm);
    sizes->n_column =
        (uint32_t)(gi_round_up(n_inner, two_tiles) + gi_round_up(sizes->n_channel, two_tiles) +
                   gi_round_up(sizes->n_head, two_tiles));
    sizes->state_size = gi_ssm_state_size(&ssm);
    return true;
}

//-- layers without a network ----------------------------------------------------------------------

static const struct gi_weight_spec weights[] = {GI_MAMBA2_WEIGHTS(GI_NORM_NEXT)};

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    GI_MAMBA2_NORMS,
};

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_ssm(graph, layer);
    gi_graph_ssm_out(graph, layer);
}

const struct gi_layer_tables gi_mamba2_layers = {
    GI_WEIGHTS(weights),
    GI_NORMS(norms),
    .record_layer = record_layer,
};

//-- Mamba-2 itself --------------------------------------------------------------------------------

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        gi_set_recurrent(hparams, i);
    }
    return gi_mamba2_hparams(reader, true, hparams);
}

const struct gi_model_family gi_model_family_mamba2 = {
    .name = "mamba2",
    .read_hparams = read_hparams,
    GI_NORMS(norms),
    .others = &gi_mamba2_layers,
};
