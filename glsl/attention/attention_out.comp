// Attention of one token over few keys and its output projection in parts, in one dispatch:
//
//   out[h] = sum over keys j of softmax_j(scale * q[h] . k[h', j]) v[h', j],  h' = h * n_kv_head / n_head
//   parts[i][row] = out_scale * (sum over the heads h of run i of W[row][h] . out[h] + bias[row] if i is 0)
//   parts[n_run][row] = gamma[row], the weights of the norm that follows, or 1
//
//   dst     stream: parts (n_run + 1, n_embd), n_embd padded to 64
//   source  the layer's range: q, k, v (attention/kv_vec8.glsl)
//   W       (n_embd, n_head * HEAD_DIM)
//   aux     bias and gamma, one value a row
//
// A group takes TILES tiles of W and a run of TEAMS heads of a kv head, a team of invocations each: all groups
// of a run work out the same heads, which for few keys costs less than the dispatch that it saves. A team
// works as a group of attention_subgroup.comp does, over one tile of keys after another: neighbours share a
// key, an vec8 of elements each, and each subgroup has a softmax of its own. Weights are asked for before
// the first key. Whoever reads x next adds the parts up: gemv/gemv_parts.glsl.
//
// A step of SmolLM2-135M (9 heads of 64, 576 elements, Q4_0) on an H200, us, ordinary dispatches: of up to 128
// keys 651 in groups of a head, 683 of three, 790 with attention and projection apart; at 256 keys 725 and 812,
// at 448 keys 778 and 814.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"

layout(std430, binding = 1) restrict readonly buffer Cache { uvec4 cache[]; };

uvec4 cache_word(uint i)
{
    return cache[i];
}

#define CACHE_APART
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#if !defined(WG_SIZE) || !defined(HEAD_DIM) || !defined(KEYS) || !defined(TEAMS) || !defined(TILES)
#error "WG_SIZE; HEAD_DIM, 32 times a power of two; KEYS of a tile; TEAMS; TILES"
#endif
#if !defined(HAS_BIAS) || !defined(HAS_GAMMA)
#error "HAS_BIAS, HAS_GAMMA: 1 if aux holds a bias, the weights of the norm that follows"
#endif

#define TEAM (WG_SIZE / TEAMS)
#define N_VEC8 (HEAD_DIM / 8)
#define N_SLOT (TEAM / N_VEC8)
#define TURNS (KEYS / N_SLOT)
#define N_QUAD uint(HEAD_DIM / 4)
#define N_SUBGROUP (TEAM / SUBGROUP)
#define N_BLOCK (TEAMS * HEAD_DIM / 32) // of a row of W that belong to a run
#define N_PRODUCT (8 * TILES * N_BLOCK)
#define MASKED -3.0e38
#define LOG2_E 1.4426950408889634

layout(local_size_x = WG_SIZE) in;

layout(std140, binding = 0) uniform Params
{
    uint n_head, n_kv_head, n_ctx, n_run;
    uint k, v; // in words of 16 bytes, their scales in uints
    float scale;
    uint window;
    float softcap;
    uint k_scale, v_scale, n_block;
    uint n_embd, parts, bias, gamma; // parts and stride in vec4
    uint stride;
    float out_scale;
} params;

layout(std430, binding = 0) restrict writeonly buffer Stream { vec4 stream[]; };

#include "quant/quant.glsl"
#include "attention/score_rule.glsl"

shared vec4 sums[TEAMS * N_SUBGROUP * HEAD_DIM / 4]; // of values, by subgroup
shared vec2 softmax[TEAMS * N_SUBGROUP];             // largest score, sum of weights
shared vec4 heads[TEAMS * HEAD_DIM / 4];
shared float products[N_PRODUCT]; // of a row's blocks

void group_barrier()
{
    memoryBarrierShared();
    barrier();
}

// exp(x) for x <= 0, whose error counts a few units in the last place only where the weight does.
float exp_of(float x)
{
    return exp2(LOG2_E * x);
}

//-- a tile of keys --------------------------------------------------------------------------------

uvec4 key_first[TURNS], key_second[TURNS]; // as the cache has them: attention/kv_vec8.glsl
uvec4 value_first[TURNS], value_second[TURNS];
vec4 q_low, q_high;
float weights[TURNS];       // of keys; before, their scores
vec2 both;                  // of the subgroup's keys so far: largest score, sum of weights
vec4 values_low, values_high; // likewise their sum, of this vec8 and slot

void fetch_tile(uint first_row, uint key, uint n_key, uint vec8)
{
    for (int i = 0; i < TURNS; i++) {
        uint row = first_row + min(key + uint(i * N_SLOT), n_key - 1u);
        fetch_vec8(K_TYPE, params.k, params.k_scale, row, vec8, key_first[i], key_second[i]);
        fetch_vec8(V_TYPE, params.v, params.v_scale, row, vec8, value_first[i], value_second[i]);
    }
}

void score_tile(uint key, uint seen, uint n_key)
{
    for (int i = 0; i < TURNS; i++) {
        vec4 low, high;
        unpack_vec8(K_TYPE, key_first[i], key_second[i], low, high);
        vec4 p = low * q_low + high * q_high;
        weights[i] = (p.x + p.y) + (p.z + p.w);
    }
    for (uint n = 1u; n < uint(N_VEC8); n *= 2u) {
        for (int i = 0; i < TURNS; i++) {
            weights[i] += subgroupShuffleXor(weights[i], n);
        }
    }
    for (int i = 0; i < TURNS; i++) {
        uint own = key + uint(i * N_SLOT);
        float score = cap_score(params.scale * weights[i]);
        weights[i] = own >= seen && own < n_key ? score : MASKED;
    }
}

// Turns scores into weights; returns the factor of what was summed before.
float weigh_tile()
{
    float largest = both.x, sum = 0.0;
    for (int i = 0; i < TURNS; i++) {
        largest = max(largest, weights[i]);
    }
    for (uint n = uint(N_VEC8); n < uint(SUBGROUP); n *= 2u) {
        largest = max(largest, subgroupShuffleXor(largest, n));
    }
    for (int i = 0; i < TURNS; i++) {
        weights[i] = weights[i] == MASKED ? 0.0 : exp_of(weights[i] - largest);
        sum += weights[i];
    }
    float factor = exp_of(both.x - largest);
    both = vec2(largest, factor * both.y + sum); // the sum is of this slot alone
    return factor;
}

void add_tile(float factor)
{
    values_low *= factor;
    values_high *= factor;
    for (int i = 0; i < TURNS; i++) {
        vec4 low, high;
        unpack_vec8(V_TYPE, value_first[i], value_second[i], low, high);
        values_low += weights[i] * low;
        values_high += weights[i] * high;
    }
}

//-- heads -----------------------------------------------------------------------------------------

// Adds up the slots of each subgroup.
void share_slots(uint team, uint member, uint vec8)
{
    for (uint n = uint(N_VEC8); n < uint(SUBGROUP); n *= 2u) {
        both.y += subgroupShuffleXor(both.y, n);
        values_low += subgroupShuffleXor(values_low, n);
        values_high += subgroupShuffleXor(values_high, n);
    }
    uint part = team * uint(N_SUBGROUP) + member / uint(SUBGROUP);
    if (member % uint(SUBGROUP) < uint(N_VEC8)) {
        sums[part * N_QUAD + 2u * vec8] = values_low;
        sums[part * N_QUAD + 2u * vec8 + 1u] = values_high;
        softmax[part] = both;
    }
    group_barrier();
}

// Joins the subgroups of a team; heads past the run's last are zero.
void share_head(uint team, uint member, bool is_there)
{
    if (member < N_QUAD) {
        uint first = team * uint(N_SUBGROUP);
        float largest = MASKED, total = 0.0;
        vec4 sum = vec4(0.0);
        for (uint i = 0u; i < uint(N_SUBGROUP); i++) {
            largest = max(largest, softmax[first + i].x);
        }
        for (uint i = 0u; i < uint(N_SUBGROUP); i++) {
            vec2 part = softmax[first + i];
            float factor = exp_of(part.x - largest);
            total += factor * part.y;
            sum += factor * sums[(first + i) * N_QUAD + member];
        }
        heads[team * N_QUAD + member] = is_there ? sum / total : vec4(0.0);
    }
    group_barrier();
}

//-- projection ------------------------------------------------------------------------------------

// Product i of the group: block i / 8 % N_BLOCK of the run, of row i % 8 of tile i / (8 * N_BLOCK).
QuantBlock load_block(uint i, uint first_head)
{
    i = min(i, uint(N_PRODUCT - 1));
    uint tile = gl_WorkGroupID.x * uint(TILES) + i / uint(8 * N_BLOCK);
    uint block = first_head * uint(HEAD_DIM / 32) + i / 8u % uint(N_BLOCK);
    return quant_load(min(tile, (params.n_embd + 7u) / 8u - 1u), min(block, params.n_block - 1u),
                      params.n_block, i % 8u);
}

void share_product(uint i, QuantBlock w)
{
    if (i < uint(N_PRODUCT)) {
        uint at = i / 8u % uint(N_BLOCK) * 8u;
        vec4 x[8];
        x[0] = heads[at];
        x[1] = heads[at + 1u];
        x[2] = heads[at + 2u];
        x[3] = heads[at + 3u];
        x[4] = heads[at + 4u];
        x[5] = heads[at + 5u];
        x[6] = heads[at + 6u];
        x[7] = heads[at + 7u];
        products[i] = quant_dot(w, x, quant_sums(x));
    }
    group_barrier();
}

vec4 read_aux(uint begin, uint row)
{
    uint at = begin + row;
    return uintBitsToFloat(uvec4(aux_at(at), aux_at(at + 1u), aux_at(at + 2u), aux_at(at + 3u)));
}

float row_sum(uint row)
{
    uint at = row / 8u * uint(8 * N_BLOCK) + row % 8u;
    float sum = products[at];
    for (uint i = 1u; i < uint(N_BLOCK); i++) {
        sum += products[at + 8u * i];
    }
    return sum;
}

// Four rows an invocation.
void write_rows(uint lane)
{
    uint run = gl_WorkGroupID.y, own = 4u * lane, row = gl_WorkGroupID.x * uint(8 * TILES) + own;
    if (lane < uint(2 * TILES) && row < params.n_embd) {
        vec4 y = vec4(row_sum(own), row_sum(own + 1u), row_sum(own + 2u), row_sum(own + 3u));
#if HAS_BIAS
        y += run == 0u ? read_aux(params.bias, row) : vec4(0.0);
#endif
        stream[params.parts + run * params.stride + row / 4u] = params.out_scale * y;
        if (run == 0u) {
#if HAS_GAMMA
            vec4 gamma = read_aux(params.gamma, row);
#else
            vec4 gamma = vec4(1.0);
#endif
            stream[params.parts + params.n_run * params.stride + row / 4u] = gamma;
        }
    }
}

void main()
{
    uint lane = gl_LocalInvocationIndex, team = lane / uint(TEAM), member = lane % uint(TEAM);
    uint n_rep = params.n_head / params.n_kv_head;
    uint n_run = (n_rep + uint(TEAMS) - 1u) / uint(TEAMS);
    uint kv_head = gl_WorkGroupID.y / n_run, rep = gl_WorkGroupID.y % n_run * uint(TEAMS);
    uint first_head = kv_head * n_rep + rep;
    bool is_there = rep + team < n_rep;
    uint vec8 = member % uint(N_VEC8);
    uint at = (is_there ? first_head + team : first_head) * N_QUAD + 2u * vec8;
    QuantBlock block = load_block(lane, first_head);
    q_low = uintBitsToFloat(cache_word(at));
    q_high = uintBitsToFloat(cache_word(at + 1u));
    both = vec2(MASKED, 0.0);
    values_low = vec4(0.0);
    values_high = vec4(0.0);
    uint n_key = min(state.n_past + 1u, params.n_ctx), seen = first_seen(n_key);
    for (uint begin = seen / uint(KEYS) * uint(KEYS); begin < n_key; begin += uint(KEYS)) {
        uint key = begin + member / uint(N_VEC8);
        fetch_tile(kv_head * params.n_ctx, key, n_key, vec8);
        score_tile(key, seen, n_key);
        add_tile(weigh_tile());
    }
    share_slots(team, member, vec8);
    share_head(team, member, is_there);
    share_product(lane, block);
    write_rows(lane);
}
