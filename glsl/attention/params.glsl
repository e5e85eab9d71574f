// Params of all kernels of attention: struct gi_attention_params.
layout(std140, binding = 0) uniform Params
{
    uint n_head, n_kv_head, n_ctx, window;
    uint k, v, k_scale, v_scale; // k, v in words of 16 bytes, their scales in uints
    float scale, softcap;
    uint max_range, partial, counter; // of a decode step
    uint q_stride, out_stride;        // of a prompt's batch, in floats
    uint q_begin, k_begin, v_begin;   // attention/attention_qkv.glsl: columns of qkv, in quads
    uint rope, rope_stride, n_rot;    // the table of rotations in quads of the vectors
    uint q_gamma, k_gamma;            // likewise
    float norm_eps;
    uint slot_cache, slot_scratch; // from one slot to the next: quads of the cache, floats
    uint after;     // keys behind its own that a token of a batch sees
    float max_bias; // of ALiBi
    uint sinks;                    // in floats of the vectors
} params;
