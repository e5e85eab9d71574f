// gemv.glsl for GEMV_SPLIT 0: an invocation owns row r of PAIRS pairs of tiles and walks all of k.
//
// With DOT and a type that gives its weights in parts, eight at a time, the rows of an invocation
// take turns at each eight elements of x, so that few of those are alive; BLOCKS blocks a turn of
// the loop, whose number then is a multiple of BLOCKS.
#if DOT && QUANT_SPLIT

#define N_ROW (2 * PAIRS)

// Adds block 2 * pair + odd to the dot products.
void gemv_add(uint block, uint pair, uint odd, QuantRow rows[N_ROW], inout float y[N_ROW])
{
    QuantBlock w[N_ROW];
    DotSum s[N_ROW];
    for (int i = N_ROW - 1; i >= 0; i--) {
        w[i] = quant_at(rows[i], block, pair, odd);
        s[i] = dot_zero();
    }
#if SUMS
    vec2 sum = gemv_sums(pair, odd);
#else
    vec4 quad_sum = vec4(0.0);
#endif
    uint at = block * 8u;
    for (int k = 0; k < 4; k++) {
        vec4 a = gemv_x(at + 2u * uint(k)), b = gemv_x(at + 2u * uint(k) + 1u);
#if !SUMS
        quad_sum = dot_add_halves(quad_sum, k, a + b);
#endif
        for (int i = 0; i < N_ROW; i++) {
            quant_part(w[i], k, a, b, s[i]);
        }
    }
#if !SUMS
    vec2 sum = quad_sum.xz + quad_sum.yw;
#endif
    for (int i = 0; i < N_ROW; i++) {
        y[i] += quant_end(w[i], s[i], sum);
    }
}

void gemv_walk(uvec2 tiles[PAIRS], uint row, out vec2 y[PAIRS])
{
    QuantRow rows[N_ROW];
    float sums[N_ROW];
    for (int p = 0; p < PAIRS; p++) {
        rows[2 * p] = quant_row(tiles[p].x, params.n_block, row);
        rows[2 * p + 1] = quant_row(tiles[p].y, params.n_block, row);
        sums[2 * p] = sums[2 * p + 1] = 0.0;
    }
#if BLOCKS == 2
    for (uint pair = 0u; pair < params.n_block / 2u; pair++) {
        gemv_add(2u * pair, pair, 0u, rows, sums);
        gemv_add(2u * pair + 1u, pair, 1u, rows, sums);
    }
#else
    for (uint block = 0u; block < params.n_block; block++) {
        gemv_add(block, block / 2u, block & 1u, rows, sums);
    }
#endif
    for (int p = 0; p < PAIRS; p++) {
        y[p] = vec2(sums[2 * p], sums[2 * p + 1]) * dot_scale;
    }
}

#else

void gemv_walk(uvec2 tiles[PAIRS], uint row, out vec2 y[PAIRS])
{
    for (int p = 0; p < PAIRS; p++) {
        y[p] = vec2(0.0);
    }
    for (uint block = 0u; block < params.n_block; block++) {
        vec4 x[8];
        vec2 sum = gemv_load(block, x);
        for (int p = 0; p < PAIRS; p++) {
            QuantBlock a = quant_load(tiles[p].x, block, params.n_block, row);
            QuantBlock b = quant_load(tiles[p].y, block, params.n_block, row);
            y[p] += vec2(quant_dot(a, x, sum), quant_dot(b, x, sum));
        }
    }
}

#endif

#if GEMV_NORM
float gemv_norm()
{
    float ssq = 0.0;
    for (uint i = 0u; i * 4u < params.n_ssq; i++) {
        ssq += gemv_ssq4(i);
    }
    return gemv_inv_rms(ssq);
}
#else
#define gemv_norm() 1.0
#endif

void gemv_run()
{
    uint lane = gl_LocalInvocationIndex, row = lane % 8u;
    uint first = (GEMV_GROUP * uint(WG_SIZE / 8) + lane / 8u) * uint(PAIRS);
    uvec2 tiles[PAIRS];
    vec2 y[PAIRS];
    for (int p = 0; p < PAIRS; p++) {
        tiles[p] = gemv_tiles(min(first + uint(p), params.n_pair - 1u));
    }
    gemv_walk(tiles, row, y);
    float norm = gemv_norm();
    for (int p = 0; p < PAIRS; p++) {
        if (first + uint(p) < params.n_pair) {
            gemv_fetch(first + uint(p), row);
            gemv_prepare(first + uint(p), row);
            gemv_finish(first + uint(p), row, y[p] * norm);
        }
    }
}
