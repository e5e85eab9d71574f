// Attention of a decode step by glsl/attention/attention_vec8.comp, also from q, k and v as their
// projection leaves them.
#ifndef GI_OPS_ATTENTION_VEC8_H
#define GI_OPS_ATTENTION_VEC8_H

#include "ops/attention/attention.h"
#include "ops/gemm/batch.h"

// True if gi_op_attention_vec8 can do what gi_op_attention does: all groups of the list have one
// size, and the device has subgroups of a known size.
bool gi_attention_vec8_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer);

// Does what gi_op_attention does. It must suit. One dispatch.
void gi_op_attention_vec8(struct gi_recorder *recorder, const char *label,
                          const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                          const struct gi_attention_scratch *scratch);

// The results of a projection of q, k and v, and what is done to them before attention.
struct gi_attention_input {
    struct gi_qkv_layout layout;
    struct gi_range qkv; // (layout.n_rows) f32; of a joint list (n_slots, qkv_stride)
    uint32_t qkv_stride; // of a joint list, a multiple of 4
    struct gi_vectors vectors;
    struct gi_rope rope;
    struct gi_head_norm norm; // of each head; q_width 0: none
};

// True if gi_op_attention_qkv can do it all, and is the faster way: on devices with subgroups of a
// known size, a cache of f16 or f32, heads normed one by one, rotations of whole vec8s, and no
// large heads in large groups; in lists of groups of any size on large devices, where it takes the
// place of gi_op_norm_rope_kv too.
bool gi_attention_qkv_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer,
                            const struct gi_attention_input *input);

// Does what gi_op_rope_kv or gi_op_norm_rope_kv, then gi_op_attention do. It must suit. One
// dispatch.
void gi_op_attention_qkv(struct gi_recorder *recorder, const char *label,
                         const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                         const struct gi_attention_input *input,
                         const struct gi_attention_scratch *scratch);

#endif
