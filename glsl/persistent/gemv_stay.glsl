// What the forms of gemv_run for groups that stay share (persistent/gemv_resident.glsl, persistent/gemv_stream.glsl): a group
// works out PAIRS pairs a turn, along a run of its own.
//
// With N_BLOCK, params.n_block, a group copies x into shared memory: all groups read the same few lines of
// memory at the same time, and where each slice read its own part, four times as often, they queued for
// 1.5 us on an H200. With HALF it is gemv/gemv_half.glsl that does so, in pairs of halves. With TAKES x and the parts
// of its sum of squares are taken by their tags.
#define STAGE_AHEAD

#ifndef N_BLOCK
#define N_BLOCK 0
#endif

//-- x ---------------------------------------------------------------------------------------------

#if HALF
#define gemv_copy_x(lane)
#elif N_BLOCK
#define X_STRIDE 9u // vec4 from block to block: slices of a subgroup read different banks

shared vec4 gemv_x_quads[N_BLOCK * 9];

void gemv_copy_x(uint lane)
{
    for (uint i = lane; i < uint(N_BLOCK * 8); i += uint(WG_SIZE)) {
        vec4 x = gemv_source(GEMV_SOURCE + i);
        GEMV_TAKE(x, GEMV_SOURCE + i, uvec4(grid_care))
        gemv_x_quads[i / 8u * X_STRIDE + i % 8u] = x;
    }
    memoryBarrierShared();
    barrier();
}

vec2 gemv_read_x(uint block, out vec4 x[8])
{
    uint i = block * X_STRIDE;
    x[0] = gemv_x_quads[i];
    x[1] = gemv_x_quads[i + 1u];
    x[2] = gemv_x_quads[i + 2u];
    x[3] = gemv_x_quads[i + 3u];
    x[4] = gemv_x_quads[i + 4u];
    x[5] = gemv_x_quads[i + 5u];
    x[6] = gemv_x_quads[i + 6u];
    x[7] = gemv_x_quads[i + 7u];
    return quant_sums(x);
}
#else
#define gemv_copy_x(lane)
#define gemv_read_x(block, x) gemv_load(block, x)
#endif

// A block of x as dot products want it: in pairs of halves, or as it is.
#if HALF
struct GemvX {
    uvec4 quads[5];
};

GemvX gemv_block(uint block)
{
    GemvX x;
    gemv_read_pairs(block, x.quads);
    return x;
}

float gemv_dot(QuantBlock w, GemvX x)
{
    return gemv_half_dot(w, x.quads);
}
#else
struct GemvX {
    vec4 quads[8];
    vec2 sum;
};

GemvX gemv_block(uint block)
{
    GemvX x;
    x.sum = gemv_read_x(block, x.quads);
    return x;
}

float gemv_dot(QuantBlock w, GemvX x)
{
    return quant_dot(w, x.quads, x.sum);
}
#endif

//-- pairs -----------------------------------------------------------------------------------------

uint gemv_turns()
{
    uint n_pass = (params.n_pair + uint(PAIRS) - 1u) / uint(PAIRS);
    return (n_pass + gl_NumWorkGroups.x - 1u) / gl_NumWorkGroups.x;
}

uint gemv_slice()
{
    return gl_LocalInvocationIndex / 8u % uint(N_SLICE);
}

// Pairs past the last one, of groups without work, take the place of others: every value is set in all
// groups, so that no register holds an old one in between. Of several, so that not all ask for the same; no remainder,
// since this stands in front of the first weights.
uint gemv_some_pair(uint pair)
{
    return pair < params.n_pair ? pair : min(pair & 15u, params.n_pair - 1u);
}

// The tiles of this slice's pair in a turn that begins at pair `first`.
uvec2 gemv_some_tiles(uint first)
{
    return gemv_tiles(gemv_some_pair(first + gl_LocalInvocationIndex / uint(8 * N_SLICE)));
}

// What results of a batch of turns need of weights.
void gemv_fetch_ahead(uint first)
{
    uint lane = gl_LocalInvocationIndex;
    gemv_fetch(gemv_some_pair(first + lane / 8u % uint(PAIRS * BATCH)), lane % 8u);
}

// The first weights, which either form asks for in its way.
void gemv_load_ahead(uint first);

// In registers alone: the stage before may still be at its shared memory.
void ahead()
{
    uint first = gl_WorkGroupID.x * gemv_turns() * uint(PAIRS);
    gemv_load_ahead(first);
    gemv_fetch_ahead(first);
}

//-- the sum of squares ----------------------------------------------------------------------------

#if GEMV_NORM
// Of four of the parts of the sum of squares those that there are.
uvec4 gemv_ssq_bits(uint i, uint bits)
{
    return mix(uvec4(0u), uvec4(bits), lessThan(i * 4u + uvec4(0u, 1u, 2u, 3u), uvec4(params.n_ssq)));
}

vec4 gemv_ssq_quad(uint i)
{
    return gemv_source(params.ssq + min(i, (params.n_ssq - 1u) / 4u));
}
#endif
