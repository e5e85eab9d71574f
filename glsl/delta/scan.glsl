// Names what the scans of the gated delta rule over a prompt's batch read and write (delta/delta.glsl):
//
//   out     (n_tokens, o_stride)  o (n_head, DIM) written
//   y       (n_tokens, y_stride)    what delta_conv.comp leaves
//   x       (n_tokens, x_stride)    the projection, whose last rows become the ring
//   state   ring written, matrix read and written
layout(std430, binding = 0) restrict writeonly buffer Out { float result[]; };
layout(std430, binding = 1) restrict readonly buffer Y { float y[]; };
layout(std430, binding = 2) restrict readonly buffer X { float x[]; };
layout(std430, binding = 3) restrict buffer Memory { float memory[]; };

#include "params/delta.glsl"

#if !defined(DIM) || !defined(TAPS)
#error "DIM of a head, a multiple of 16; TAPS: tokens that the convolution sees"
#endif

#include "delta/keys.glsl"

// Copies the channels of a head of v, and those of its q and k if it is the first that has them.
void keep_ring(uint head)
{
    uint n_channel = (2u * params.n_k_head + params.n_head) * uint(DIM);
    uint n_row = min(state.n_tokens, uint(TAPS - 1));
    uint n_line = is_first_of_key(head) ? 3u : 1u, k_head = first_key_of(head);
    for (uint i = gl_LocalInvocationIndex; i < n_row * n_line * uint(DIM); i += uint(WG_SIZE)) {
        uint m = state.n_tokens - n_row + i / (n_line * uint(DIM));
        uint line = i / uint(DIM) % n_line;
        uint first = line == 0u   ? 2u * params.n_k_head + head
                     : line == 1u ? k_head
                                  : params.n_k_head + k_head;
        uint channel = first * uint(DIM) + i % uint(DIM);
        memory[(state.n_past + m) % uint(TAPS) * n_channel + channel] = x[m * params.x_stride + channel];
    }
}
