#include "glsl/attention/attention_params.h"
#include "ops/gemm/batch.h"

#include <assert.h>
#include <stddef.h>

#define WG_SIZE 64 // pairs

// Parameters that depend on the size of the context, in both kernels. The rotation table of layers
// with a window follows the table of the other layers.
#define CONTEXT_PARAMS                                                                             \
    (GI_PARAM_BIT(struct gi_rope_kv_params, n_ctx) | GI_PARAM_BIT(struct gi_rope_kv_params, k) |   \
     GI_PARAM_BIT(struct gi_rope_kv_params, v) | GI_PARAM_BIT(struct gi_rope_kv_params, k_scale) | \
     GI_PARAM_BIT(struct gi_rope_kv_params, v_scale) |                                             \
     GI_PARAM_BIT(struct gi_rope_kv_params, rope) |                                                \
     GI_PARAM_BIT(struct gi_rope_kv_params, slot_cache))

static struct gi_program_key make_key(enum gi_program_id id, const struct gi_kv_layer *layer,
                                      uint32_t wg_size)
{
    return GI_KEY(id, {"WG_SIZE", wg_size}, {"K_TYPE", layer->type_k}, {"V_TYPE", layer->type_v});
}

// Records what both kernels do with params of n_pair groups or invocations.
static void record_rope(struct gi_recorder *recorder, const char *label, struct gi_program_key *key,
                        const void *params, uint32_t params_size, uint32_t n_group,
                        const struct gi_rows *qkv, const struct gi_vectors *vectors,
                        const struct gi_kv_layer *layer, const struct gi_rows *q)
{
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {q->range, qkv->range, vectors->range, layer->range},
        .writes = 1u << 0 | 1u << 3,
        .params = params,
        .params_size = params_size,
        .runtime_params = CONTEXT_PARAMS,
        .grid = gi_grid_rows(n_group, true),
    };
    if (gi_recorder_is_joint(recorder)) { // q of a slot is in its cache
        dispatch.grid.rule = GI_GRID_FIXED;
        dispatch.runtime_params |= GI_PARAM_BIT(struct gi_rope_kv_params, q_stride);
        gi_recorder_add_slots(recorder, 1, key, &dispatch);
    }
    gi_recorder_add(recorder, key, &dispatch);
}

_Static_assert(offsetof(struct gi_norm_rope_kv_params, period) ==
                   offsetof(struct gi_rope_kv_params, period),
               "norm_rope_kv's Params begin with those of rope_kv");

// Fills the fields that both kernels read, which are the first of both. table is in floats of the
// vectors.
static struct gi_norm_rope_kv_params make_params(const struct gi_qkv_layout *layout,
                                                 const struct gi_rows *qkv,
                                                 const struct gi_kv_layer *layer,
                                                 const struct gi_rows *q, uint32_t n_rot,
                                                 uint32_t table)
{
    const uint32_t half_dim = layout->head_dim / 2;
    assert(qkv->stride >= layout->n_rows && q->stride >= layout->n_head * layout->head_dim);
    assert(n_rot % 2 == 0 && n_rot <= layout->head_dim && table % 2 == 0);
    return (struct gi_norm_rope_kv_params){
        .q_stride = q->stride,
        .qkv_stride = qkv->stride,
        .n_q_pair = layout->n_head * half_dim,
        .n_kv_pair = layout->n_kv_head * half_dim,
        .q_begin = layout->q_begin,
        .k_begin = layout->k_begin,
        .v_begin = layout->v_begin,
        .n_head_pair = half_dim,
        .n_rot_pair = n_rot / 2,
        .n_ctx = layer->n_ctx,
        .k = layer->k,
        .v = layer->v,
        .k_scale = layer->k_scale,
        .v_scale = layer->v_scale,
        .rope = table / 2,
        .slot_cache = (uint32_t)(layer->slot_size / sizeof(uint32_t)),
    };
}

// Returns true if glsl/attention/rope_kv_four.comp can process the rows and there may be more than
// one; for a single row it is not faster. Caches are aligned to 16 bytes.
static bool is_by_fours(const struct gi_gpu *gpu, const struct gi_norm_rope_kv_params *params,
                        const struct gi_rows *qkv, const struct gi_kv_layer *layer)
{
    const uint32_t all = params->q_stride | params->qkv_stride | params->q_begin | params->k_begin |
                         params->v_begin | params->n_head_pair | params->n_rot_pair |
                         2 * params->rope;
    return gi_program_available(gpu, GI_PROGRAM_ROPE_KV_FOUR) &&
           qkv->range.size >= 2 * sizeof(float) * qkv->stride && all % 4 == 0 &&
           !gi_cache_has_blocks(layer->type_k) && !gi_cache_has_blocks(layer->type_v);
}

void gi_op_rope_kv(struct gi_recorder *recorder, const char *label,
                   const struct gi_qkv_layout *layout, const struct gi_rows *qkv,
                   const struct gi_vectors *vectors, const struct gi_rope *rope,
                   const struct gi_kv_layer *layer, const struct gi_rows *q)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    struct gi_norm_rope_kv_params params =
        make_params(layout, qkv, layer, q, rope->n_rot, rope->table);
    const bool is_four = is_by_fours(recorder->gpu, &params, qkv, layer);
    struct gi_program_key key =
        make_key(is_four ? GI_PROGRAM_ROPE_KV_FOUR : GI_PROGRAM_ROPE_KV, layer, wg_size);
    if (rope->temperature > 0.0f) {
        gi_key_define(&key, "TEMPERATURE", 1);
        params.temperature = rope->temperature;
        params.period = rope->period;
    }
    const uint32_t n_unit = (params.n_q_pair + 2 * params.n_kv_pair) / (is_four ? 4 : 1);
    record_rope(recorder, label, &key, &params, sizeof(struct gi_rope_kv_params),
                (n_unit + wg_size - 1) / wg_size, qkv, vectors, layer, q);
}

void gi_op_norm_rope_kv(struct gi_recorder *recorder, const char *label,
                        const struct gi_qkv_layout *layout, const struct gi_rows *qkv,
                        const struct gi_vectors *vectors, const struct gi_head_norm *norm,
                        const struct gi_rope *rope, const struct gi_kv_layer *layer,
                        const struct gi_rows *q)
{
    assert(rope->temperature == 0.0f); // no family has both
    assert(norm->q_width > 0 && norm->q_width % layout->head_dim == 0);
    assert(norm->k_width % layout->head_dim == 0);
    struct gi_program_key key =
        make_key(GI_PROGRAM_NORM_ROPE_KV, layer, gi_recorder_wg_size(recorder, WG_SIZE));
    gi_key_option(&key, "NORM_LAST", rope->is_before_norm);
    if (norm->has_v) {
        assert(norm->k_width == layout->head_dim || layout->n_kv_head == 0);
        gi_key_define(&key, "VALUE_NORM", 1);
    }
    if (norm->is_layernorm) {
        assert(norm->q_width == layout->head_dim && norm->k_width == layout->head_dim);
        gi_key_define(&key, "LAYERNORM", 1);
    }
    const bool has_kv = layout->n_kv_head > 0;
    struct gi_norm_rope_kv_params params =
        make_params(layout, qkv, layer, q, rope->n_rot, rope->table);
    params.q_norm_pair = norm->q_width / 2;
    params.kv_norm_pair = has_kv ? norm->k_width / 2 : layout->head_dim / 2;
    params.q_gamma = norm->q_gamma / 2;
    params.k_gamma = norm->k_gamma / 2;
    params.eps = norm->eps;
    const uint32_t n_group =
        params.n_q_pair / params.q_norm_pair + 2 * params.n_kv_pair / params.kv_norm_pair;
    record_rope(recorder, label, &key, &params, sizeof(params), n_group, qkv, vectors, layer, q);
}
