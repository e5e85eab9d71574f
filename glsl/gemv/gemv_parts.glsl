// x of a norm whose residual lies in parts (attention_out.comp): x = (residual + sum of parts) * gamma, which a
// group works out once, in shared memory. With GEMV_SPLIT 1. Needs in Params n_embd, source (the residual) and
// parts, in vec4 of the source: PARTS rows of parts, then gamma; a row is n_embd padded to 64.
#ifndef N_BLOCK
#error "N_BLOCK: blocks of x"
#endif
#define PART_QUADS uint((N_BLOCK + 1) / 2 * 16)
#define PARTS_STRIDE 9u // vec4 from block to block: slices of a subgroup read different banks

shared vec4 parts_x[N_BLOCK * 9];

float parts_ssq; // sum of squares of what the invocation staged

void gemv_stage_parts(uint lane)
{
    parts_ssq = 0.0;
    for (uint i = lane; i < uint(N_BLOCK * 8); i += uint(WG_SIZE)) {
        vec4 r = gemv_source(params.source + i), parts[PARTS];
        for (int k = 0; k < PARTS; k++) {
            parts[k] = gemv_source(params.parts + uint(k) * PART_QUADS + i);
        }
        vec4 gamma = gemv_source(params.parts + uint(PARTS) * PART_QUADS + i);
        for (int k = 0; k < PARTS; k++) {
            r += parts[k];
        }
        bvec4 is_there = lessThan(4u * i + uvec4(0u, 1u, 2u, 3u), uvec4(params.n_embd));
        r = mix(vec4(0.0), r, is_there);
        parts_x[i / 8u * PARTS_STRIDE + i % 8u] = mix(vec4(0.0), r * gamma, is_there);
        parts_ssq += dot(r, r);
    }
    memoryBarrierShared();
    barrier();
}

#define gemv_x(i) parts_x[(i) / 8u * PARTS_STRIDE + (i) % 8u]
