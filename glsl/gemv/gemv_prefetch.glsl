// gemv_run for GEMV_SPLIT 1 with HALF and PREFETCH: slices that have many blocks. A slice takes
// PREFETCH blocks a turn, one or two neighbouring ones, which share words of scales; N_BLOCK is
// then even. Where it has many it loads those of the next turn before it works on those that have
// come. The sum of squares is added up by all invocations while x is staged, not by each slice when
// its work is done. No LOOP: groups that loop take 1.2 times as long so.
//
// More at a time costs registers, and with them groups that run at once: of 1,024 invocations each
// has room for one block (glsl/measurements.md).
#define N_STEP (N_BLOCK / PREFETCH)
#define N_TURN ((N_STEP + N_SLICE - 1) / N_SLICE)
#define IS_RAGGED (N_STEP % N_SLICE != 0)
#define IS_LONG (N_TURN >= 4)

#if !QUANT_TWO
void quant_load_two(uint tile, uint two, uint n_two, uint row, out QuantBlock a, out QuantBlock b)
{
    a = quant_load(tile, 2u * two, 2u * n_two, row);
    b = quant_load(tile, 2u * two + 1u, 2u * n_two, row);
}
#endif

// Asks for a step's blocks of both tiles, for those of the last step in place of what is past it.
void gemv_load_step(uint step, uvec2 tiles, uint row, out QuantBlock w[2 * PREFETCH])
{
#if IS_RAGGED
    step = min(step, uint(N_STEP) - 1u);
#endif
#if PREFETCH == 2
    quant_load_two(tiles.x, step, uint(N_STEP), row, w[0], w[1]);
    quant_load_two(tiles.y, step, uint(N_STEP), row, w[2], w[3]);
#else
    w[0] = quant_load(tiles.x, step, uint(N_STEP), row);
    w[1] = quant_load(tiles.y, step, uint(N_STEP), row);
#endif
}

vec2 gemv_dot_step(uint step, QuantBlock w[2 * PREFETCH])
{
#if IS_RAGGED
    bool is_there = step < uint(N_STEP);
    step = min(step, uint(N_STEP) - 1u);
#else
    const bool is_there = true;
#endif
#if PREFETCH == 2
    vec2 y = gemv_dots(2u * step, w[0], w[2]) + gemv_dots(2u * step + 1u, w[1], w[3]);
#else
    vec2 y = gemv_dots(step, w[0], w[1]);
#endif
    return is_there ? y : vec2(0.0);
}

//-- the sum of squares ----------------------------------------------------------------------------

#if GEMV_NORM && !PARTED
// The invocation's share.
float gemv_lane_ssq(uint lane)
{
    float ssq = 0.0;
    for (uint i = lane; i * 4u < params.n_ssq; i += uint(WG_SIZE)) {
        ssq += gemv_ssq4(i);
    }
    return ssq;
}
#endif

//-- passes ----------------------------------------------------------------------------------------

void gemv_run()
{
    uint lane = gl_LocalInvocationIndex, row = lane % 8u, slice = lane / 8u % uint(N_SLICE);
    uint first = GEMV_GROUP * uint(PAIRS);
    // All that the first blocks need is asked for before anything is waited for.
    uvec2 tiles = gemv_tiles(gemv_near(first + lane / uint(8 * N_SLICE)));
    QuantBlock w[2 * PREFETCH];
    gemv_load_step(slice, tiles, row, w);
#if GEMV_NORM && !PARTED
    gemv_share_ssq(lane, gemv_lane_ssq(lane));
#endif
    gemv_begin_x();
    gemv_stage(lane);
    bool is_owner = lane < uint(GEMV_OWNERS) && gemv_has(first + lane / 8u);
    if (is_owner) {
        gemv_fetch(first + lane / 8u, row);
        gemv_prepare(first + lane / 8u, row);
    }
    vec2 y = vec2(0.0);
#if IS_LONG
    QuantBlock next[2 * PREFETCH];
    for (uint turn = 0u; turn + 1u < uint(N_TURN); turn++) {
        gemv_load_step(slice + (turn + 1u) * uint(N_SLICE), tiles, row, next);
        y += gemv_dot_step(slice + turn * uint(N_SLICE), w);
        w = next;
    }
    y += gemv_dot_step(slice + uint((N_TURN - 1) * N_SLICE), w);
#else
    y += gemv_dot_step(slice, w);
    for (uint turn = 1u; turn < uint(N_TURN); turn++) {
        gemv_load_step(slice + turn * uint(N_SLICE), tiles, row, w);
        y += gemv_dot_step(slice + turn * uint(N_SLICE), w);
    }
#endif
    gemv_share(lane, y, 0.0);
    if (is_owner) {
        gemv_finish(first + lane / 8u, row, gemv_shared_inv_rms() * gemv_collect(lane));
    }
}
