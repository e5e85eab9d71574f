// The main function of gemm/gemm_lane.comp with several rows an invocation, for weights without scales,
// which take few registers until they are multiplied.
//
// An invocation owns OWN_ROWS rows by TOKENS tokens and walks over all of k by quads of weights.
// OWN_LANES invocations of a group have neighbouring rows, so that they load whole tiles; the next
// OWN_LANES have the next tokens. Uses no shared memory: for 16-bit weights a turn is
// 8 OWN_ROWS TOKENS multiply-adds for OWN_ROWS + 2 TOKENS loads of 16 bytes. Staged tiles have fewer
// for each, on GPUs whose shared memory is plain memory. With four rows the halves of a quad are
// unpacked one after the other, since both do not fit in registers next to the sums. With two rows they are
// unpacked together, for V3D, which multiplies by half of a word at no cost. Figures: glsl/measurements.md.
#ifndef OWN_LANES
#error "OWN_LANES: 16 to 64; TOKENS: 6 or 8"
#endif

#if OWN_ROWS == 4
#define Sums vec4
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#define TURNED(k) transpose(mat4(QUAD_VECTOR(quad[0], k), QUAD_VECTOR(quad[1], k), QUAD_VECTOR(quad[2], k), QUAD_VECTOR(quad[3], k)))
#define Weights mat4
#else
#define Sums vec2
#define EACH_ROW(DO) DO(0) DO(1)
#define TURNED(k) transpose(mat2x4(QUAD_VECTOR(quad[0], k), QUAD_VECTOR(quad[1], k)))
#define Weights mat4x2
#endif

#if TOKENS == 8
#define EACH_TOKEN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#else
#define EACH_TOKEN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#endif

// Four elements of x of token t; t and k are constants.
#define X_QUAD(t, k) x_quads[x_at + uint(t * X_STRIDE / 4 + k)]

#define ADD_COLUMNS(s, v, m)                                                                       \
    s += v.x * m[0];                                                                               \
    s += v.y * m[1];                                                                               \
    s += v.z * m[2];                                                                               \
    s += v.w * m[3];

#define ADD_VECTOR(t, k)                                                                             \
    {                                                                                              \
        vec4 v = X_QUAD(t, k);                                                                     \
        ADD_COLUMNS(sum[t], v, w)                                                                  \
    }
#define ADD_FIRST(t)  ADD_VECTOR(t, 0)
#define ADD_SECOND(t) ADD_VECTOR(t, 1)

// Adds the products of a quad of weights of each row.
#if OWN_ROWS == 2 && QUAD_VECTORS == 2
#define ADD_TOKEN(t)                                                                               \
    {                                                                                              \
        vec4 v = X_QUAD(t, 0), u = X_QUAD(t, 1);                                                   \
        Sums p = v.x * w[0];                                                                       \
        p += v.y * w[1];                                                                           \
        p += v.z * w[2];                                                                           \
        p += v.w * w[3];                                                                           \
        ADD_COLUMNS(p, u, z)                                                                       \
        sum[t] += p;                                                                               \
    }
#define ADD_QUADS                                                                                  \
    Weights w = TURNED(0), z = TURNED(1);                                                          \
    EACH_TOKEN(ADD_TOKEN)
#elif QUAD_VECTORS == 2
#define ADD_QUADS                                                                                  \
    Weights w = TURNED(0);                                                                         \
    EACH_TOKEN(ADD_FIRST)                                                                          \
    w = TURNED(1);                                                                                 \
    EACH_TOKEN(ADD_SECOND)
#else
#define ADD_QUADS                                                                                  \
    Weights w = TURNED(0);                                                                         \
    EACH_TOKEN(ADD_FIRST)
#endif

// The first token that is read: the last group reads the last TOKENS tokens.
uint read_token(uint own_token)
{
    return min(own_token, max(state.n_tokens, uint(TOKENS)) - uint(TOKENS));
}

void main()
{
    uint lane = gl_LocalInvocationID.x, n_quad = params.n_block * QUANT_QUADS;
    uint row = (gl_WorkGroupID.x + first_group) * uint(OWN_LANES) * uint(OWN_ROWS) + lane % uint(OWN_LANES);
    uint token = (gl_WorkGroupID.y * uint(64 / OWN_LANES) + lane / uint(OWN_LANES)) * uint(TOKENS);
    uint x_at = read_token(token) * uint(X_STRIDE / 4);
    uint w_step = uint(OWN_LANES) * n_quad;
    uint w_at = row / TILE_ROWS * TILE_ROWS * n_quad + row % TILE_ROWS;
    Sums sum[TOKENS];
    for (int t = 0; t < TOKENS; t++) {
        sum[t] = Sums(0.0);
    }
    for (uint i = 0u; i < n_quad; i++, w_at += TILE_ROWS, x_at += uint(QUAD_VECTORS)) {
        uvec4 quad[OWN_ROWS];
        uint at = w_at;
#define LOAD_ROW(r)                                                                                \
    quad[r] = quad_at(at);                                                                         \
    at += w_step;
        EACH_ROW(LOAD_ROW)
        ADD_QUADS
    }
    // Computed again: no register is left for it in the loop.
    uint begin = read_token(token + (n_quad >> 31u));
#define WRITE_TOKEN(t)                                                                             \
    if (begin + uint(t) >= token && begin + uint(t) < state.n_tokens) {                            \
        write_result(place, sum[t][r] + bias);                                                     \
    }                                                                                              \
    place += params.y_stride;
    for (int r = 0; r < OWN_ROWS; r++, row += uint(OWN_LANES)) {
        if (row < params.n_rows) {
            float bias = product_bias(row);
            uint place = begin * params.y_stride + params.y_begin + row;
            EACH_TOKEN(WRITE_TOKEN)
        }
    }
}
