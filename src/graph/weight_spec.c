#include "graph/weight_spec.h"

#include "base/round.h"
#include "quant/quant.h"

#include <assert.h>

// Returns the elements of a dimension of recurrent layers.
static uint32_t recurrent_size(const struct gi_recurrent_hparams *recurrent, enum gi_dim dim)
{
    switch (dim) {
    case GI_DIM_CHANNEL:
        return recurrent->n_channel;
    case GI_DIM_CONV:
        return recurrent->n_channel * recurrent->n_taps;
    case GI_DIM_STATE_KEYS:
        return recurrent->n_k_head * recurrent->dim;
    case GI_DIM_STATE_HEADS:
        return recurrent->n_head;
    case GI_DIM_STATE_HEAD:
        return recurrent->dim;
    case GI_DIM_STATE:
        return recurrent->n_head * recurrent->dim;
    case GI_DIM_STATE_RATES:
        return recurrent->n_head;
    case GI_DIM_STATE_NORM:
        return recurrent->has_norm ? recurrent->n_head * recurrent->dim : 0;
    default:
        return 0;
    }
}

uint32_t gi_dim_size(const struct gi_hparams *hparams, uint32_t layer, enum gi_dim dim)
{
    const struct gi_heads heads = gi_layer_heads(hparams, layer);
    const bool has_kv = gi_has_kv(hparams, layer), has_q = gi_has_q(hparams, layer);
    switch (dim) {
    case GI_DIM_EMBD:
        return hparams->n_embd;
    case GI_DIM_HEAD:
        return heads.head_dim;
    case GI_DIM_Q:
    case GI_DIM_Q_ROWS:
        return has_q ? hparams->n_head * heads.head_dim : 0;
    case GI_DIM_Q_GATED:
        return 2 * hparams->n_head * heads.head_dim;
    case GI_DIM_KV:
    case GI_DIM_KV_ROWS:
        return has_kv ? heads.n_kv_head * heads.head_dim : 0;
    case GI_DIM_K_HEAD:
        return has_kv ? heads.head_dim : 0;
    case GI_DIM_FF:
        return gi_layer_ff(hparams, layer);
    case GI_DIM_INPUT:
        return hparams->inputs.width;
    case GI_DIM_INPUTS:
        return hparams->n_layer * hparams->inputs.width;
    case GI_DIM_INPUT_EMBD:
        return hparams->inputs.width > 0 ? hparams->n_embd : 0;
    case GI_DIM_ONE:
        return 1;
    case GI_DIM_BRANCH:
        return hparams->altup.branch_rank;
    case GI_DIM_ROUTER:
        return hparams->altup.n * hparams->n_embd;
    case GI_DIM_PREDICT:
        return hparams->altup.n * hparams->altup.n * hparams->altup.n;
    case GI_DIM_CORRECT:
        return hparams->altup.n * hparams->altup.n;
    case GI_DIM_VOCAB:
        return hparams->n_vocab_rows;
    case GI_DIM_HEADS:
        return hparams->n_head;
    case GI_DIM_EXPERT:
        return hparams->n_expert;
    case GI_DIM_EXPERT_FF:
        return hparams->n_expert_ff;
    case GI_DIM_SHARED_FF:
        return hparams->n_shared * hparams->n_expert_ff;
    case GI_DIM_CHANNEL:
    case GI_DIM_CONV:
    case GI_DIM_STATE_KEYS:
    case GI_DIM_STATE_HEADS:
    case GI_DIM_STATE_HEAD:
    case GI_DIM_STATE:
    case GI_DIM_STATE_RATES:
    case GI_DIM_STATE_NORM:
        return recurrent_size(&hparams->recurrent, dim);
    case GI_DIM_NONE:
        break;
    }
    return 0;
}

void gi_norm_shape(const struct gi_hparams *hparams, uint32_t layer, enum gi_dim dim,
                   uint32_t *n_cols, uint32_t *n_rows)
{
    const struct gi_recurrent_hparams *recurrent = &hparams->recurrent;
    *n_rows = dim == GI_DIM_CONV          ? recurrent->n_channel
              : dim == GI_DIM_Q_ROWS      ? hparams->n_head
              : dim == GI_DIM_KV_ROWS     ? gi_layer_heads(hparams, layer).n_kv_head
              : dim == GI_DIM_ROUTER      ? hparams->altup.n
              : dim == GI_DIM_PREDICT     ? hparams->altup.n * hparams->altup.n
              : dim == GI_DIM_CORRECT     ? hparams->altup.n
              : dim == GI_DIM_STATE_RATES ? recurrent->n_head
              : dim == GI_DIM_STATE_NORM  ? recurrent->n_k_head
                                          : 1;
    *n_cols = *n_rows > 0 ? gi_dim_size(hparams, layer, dim) / *n_rows : 0;
}

const char *gi_norm_suffix(enum gi_norm norm)
{
    switch (norm) {
    case GI_NORM_ATTN_SHIFT:
    case GI_NORM_FFN_SHIFT:
    case GI_NORM_CONV_SHIFT:
    case GI_NORM_DECAY_BIAS:
    case GI_NORM_ROUTER_BIAS:
        return "bias";
    case GI_NORM_DECAY_RATE:
    case GI_NORM_SKIP:
        return "";
    default:
        return "weight";
    }
}

bool gi_norm_is_optional(enum gi_norm norm)
{
    return norm == GI_NORM_CONV_SHIFT || norm == GI_NORM_ROUTER_BIAS;
}

// Returns the elements of a dimension in the layer that has the most.
static uint32_t largest_size(const struct gi_hparams *hparams, enum gi_dim dim)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        const uint32_t size = gi_dim_size(hparams, i, dim);
        most = size > most ? size : most;
    }
    return most;
}

void gi_norm_layout_init(struct gi_norm_layout *layout, const struct gi_hparams *hparams,
                         const struct gi_norm_spec *specs, size_t n_specs,
                         const struct gi_norm_spec *more, size_t n_more)
{
    uint32_t end = 0;
    for (int norm = 0; norm < GI_NORM_COUNT; norm++) {
        layout->offsets[norm] = UINT32_MAX;
        layout->dims[norm] = GI_DIM_NONE;
    }
    for (size_t i = 0; i < n_specs + n_more; i++) {
        const struct gi_norm_spec *spec = i < n_specs ? &specs[i] : &more[i - n_specs];
        const uint32_t width = largest_size(hparams, spec->size);
        if (layout->offsets[spec->norm] == UINT32_MAX && width > 0) {
            layout->offsets[spec->norm] = end;
            layout->dims[spec->norm] = spec->size;
            end += gi_round_up(width, GI_QUANT_BLOCK);
        }
    }
    layout->n_layer = hparams->n_layer;
    layout->n_turn = hparams->has_loop_norm ? hparams->n_own_layer : hparams->n_layer;
    layout->layer_size = end;
    layout->size = (uint64_t)hparams->n_layer * end + gi_round_up(hparams->n_embd, GI_QUANT_BLOCK);
    layout->output_shift = UINT32_MAX;
    if (layout->offsets[GI_NORM_ATTN_SHIFT] != UINT32_MAX) {
        layout->output_shift = layout->size;
        layout->size += gi_round_up(hparams->n_embd, GI_QUANT_BLOCK);
    }
}

uint32_t gi_norm_shift(const struct gi_norm_layout *layout, uint32_t layer, enum gi_norm norm)
{
    if (norm == GI_NORM_NEXT && layer + 1 == layout->n_layer) {
        return layout->output_shift;
    }
    if (norm == GI_NORM_NEXT) {
        return gi_norm_offset(layout, layer + 1, GI_NORM_ATTN_SHIFT);
    }
    return norm == GI_NORM_ATTN  ? gi_norm_offset(layout, layer, GI_NORM_ATTN_SHIFT)
           : norm == GI_NORM_FFN ? gi_norm_offset(layout, layer, GI_NORM_FFN_SHIFT)
                                 : UINT32_MAX;
}

uint32_t gi_norm_offset(const struct gi_norm_layout *layout, uint32_t layer, enum gi_norm norm)
{
    if (norm == GI_NORM_NEXT) {
        if ((layer + 1) % layout->n_turn == 0) {
            return layout->n_layer * layout->layer_size;
        }
        norm = GI_NORM_ATTN;
        layer++;
    }
    assert(norm < GI_NORM_COUNT && layer < layout->n_layer);
    const uint32_t offset = layout->offsets[norm];
    return offset == UINT32_MAX ? UINT32_MAX : layer * layout->layer_size + offset;
}
