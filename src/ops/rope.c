#include "ops/batch.h"
#include "ops/params.h"

#include <assert.h>

#define WG_SIZE 64 // pairs

bool gi_op_rope_kv(struct gi_recorder *recorder, const char *label,
                   const struct gi_qkv_layout *layout, const struct gi_rows *qkv,
                   const struct gi_vectors *vectors, uint32_t n_rot,
                   const struct gi_kv_layer *layer, const struct gi_rows *q,
                   struct glinfer_error *err)
{
    assert(qkv->stride >= layout->n_rows && q->stride >= layout->n_head * layout->head_dim);
    assert(n_rot % 2 == 0 && n_rot <= layout->head_dim && vectors->rope % 2 == 0);
    uint32_t half_dim = layout->head_dim / 2;
    const struct gi_program_key key = {
        .id = GI_PROGRAM_ROPE_KV,
        .quant = GI_QUANT_NONE,
        .n_defines = 3,
        .defines = {{"WG_SIZE", WG_SIZE}, {"K_F32", layer->is_k_f32}, {"V_F32", layer->is_v_f32}},
    };
    const struct gi_rope_kv_params params = {
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
        .rope = vectors->rope / 2,
    };
    uint32_t n_pair = params.n_q_pair + 2 * params.n_kv_pair;
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {q->range,                                         qkv->range, vectors->range, layer->range},
        .writes = 1u << 0 | 1u << 3,
        .params = &params,
        .params_size = sizeof(params),
        .grid = {.size = {(n_pair + WG_SIZE - 1) / WG_SIZE, 1, 1},
                     .rule = GI_GRID_TOKENS,
                     .axis = 1,
                     .divisor = 1                                                                              },
    };
    return gi_program_table_request(recorder->programs, &key, &dispatch.program, err) &&
           gi_dispatch_table_record(recorder->table, &dispatch, err);
}
