// Params of the kernels in glsl/attention.
#ifndef GI_GLSL_ATTENTION_PARAMS_H
#define GI_GLSL_ATTENTION_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

GI_PARAMS(norm_rope_kv,
    uint q_stride, qkv_stride;
    uint n_q_pair, n_kv_pair; // of a token
    uint q_begin, k_begin, v_begin; // columns of qkv
    uint n_head_pair, n_rot_pair; // of a head
    uint n_ctx;
    uint k, v, k_scale, v_scale; // offsets in cache
    uint rope; // offset of the table in pairs
    uint slot_cache; // uints from one slot's cache to the next's
    float temperature; // of rope_kv.comp alone
    uint period;
    uint q_norm_pair, kv_norm_pair; // pairs that a norm is over
    uint q_gamma, k_gamma; // in pairs of the vectors
    float eps;
)

// All kernels of attention.
GI_PARAMS(attention,
    uint n_head, n_kv_head, n_ctx, window;
    uint k, v, k_scale, v_scale; // k, v in words of 16 bytes, their scales in uints
    float scale, softcap;
    uint max_range, partial, counter; // of a decode step; offsets in floats of the scratch
    uint q_stride, out_stride; // of a prompt's batch, in floats
    uint q_begin, k_begin, v_begin; // attention/attention_qkv.glsl: columns of qkv, in quads
    uint rope, rope_stride, n_rot; // the table of rotations in quads of the vectors
    uint q_gamma, k_gamma; // in quads of the vectors
    float norm_eps;
    uint slot_cache, slot_scratch; // from one slot to the next: quads of the cache, floats
    uint after; // keys after its own that a token of a batch sees
    float max_bias; // of ALiBi
    uint sinks; // in floats of the vectors
)

GI_PARAMS(rope_kv,
    uint q_stride, qkv_stride;
    uint n_q_pair, n_kv_pair; // of a token
    uint q_begin, k_begin, v_begin; // columns of qkv
    uint n_head_pair, n_rot_pair; // of a head
    uint n_ctx;
    uint k, v, k_scale, v_scale; // offsets in cache
    uint rope; // offset of the table in pairs
    uint slot_cache; // uints from one slot's cache to the next's
    float temperature;
    uint period;
)

#endif
