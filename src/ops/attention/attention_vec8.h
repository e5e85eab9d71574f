// Attention of a decode step by glsl/attention/attention_vec8.comp, from a rotated q and the cache
// or directly from the output of the projection of q, k and v.
#pragma once

#include "ops/attention/attention.h"
#include "ops/gemm/batch.h"

// Returns true if gi_op_attention_vec8 can replace gi_op_attention: all groups of the list have the
// same size, and the device has subgroups of a known size.
bool gi_attention_vec8_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer);

// Like gi_op_attention. gi_attention_vec8_suits must hold. One dispatch.
void gi_op_attention_vec8(struct gi_recorder *recorder, const char *label,
                          const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                          const struct gi_attention_scratch *scratch);

// The output of the projection of q, k and v, and the norm and rotation to apply before attention.
struct gi_attention_input {
    struct gi_qkv_layout layout;
    struct gi_range qkv; // (layout.n_rows) f32; in a joint list (n_slots, qkv_stride)
    uint32_t qkv_stride; // in a joint list: floats, a multiple of 4
    struct gi_vectors vectors;
    struct gi_rope rope;
    struct gi_head_norm norm; // of each head; q_width 0: no norm
};

// Returns true if gi_op_attention_qkv supports the layer and is faster: on devices with subgroups
// of a known size, with a cache of f16 or f32, a norm for each head, rotations of whole vec8s, and
// no large heads in large groups. On large devices also in lists with groups of any size, where it
// replaces gi_op_norm_rope_kv as well.
bool gi_attention_qkv_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer,
                            const struct gi_attention_input *input);

// Like gi_op_rope_kv or gi_op_norm_rope_kv followed by gi_op_attention.
// gi_attention_qkv_suits must hold. One dispatch.
void gi_op_attention_qkv(struct gi_recorder *recorder, const char *label,
                         const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                         const struct gi_attention_input *input,
                         const struct gi_attention_scratch *scratch);
