// Attention of one token where groups stay (persistent/grid_walk.glsl): what attention.comp computes, from the same
// buffers.
//
// A group takes a head, and every RANGES-th row of N_SLOT keys; there are no more ranges than groups at work at
// once. N_VEC8 neighbouring invocations share a key, an vec8 of elements each. A tile is four rows; while one is
// worked out the next is under way. An invocation has a softmax of its own, so that nothing meets before a
// group's last tile.
//
// Where rows are few one range takes them all. Else each range leaves its partial result, and in a chain that is
// settled each group of a head merges a share of the elements, looking for what the others leave by its tags:
// no atomic, no fence, nobody who comes last. Otherwise the last group of a head merges its ranges.
//
// No arrays, and no loops that must be unrolled: in a text as long as a whole step NVIDIA's compiler leaves some as
// they are, with what they index in memory (two heads a group by arrays: a third of the speed). Keys that are asked
// for before the barrier in front of the stage take registers from other stages: Qwen3-0.6B 1,782 -> 1,524.
//
// glinfer bench -p 0 -n 128 -d 0,2048 on an H200, 132 groups, tokens/s:
//   SmolLM2-135M   4,047   3,213      Qwen3-0.6B     2,761   2,070
//   Llama-3.2-1B   2,484   2,175      Llama-3.1-8B     649     581
// Where the 5 us are that a layer of Qwen3-0.6B takes longer at 2,048 keys, with groups in the same places (1,832): without
// the merge 1,912, without arithmetic 1,973, with two of the five tiles 2,118, with keys in the level-2 cache 1,829. Tried,
// each beside its own base: 16 elements an invocation, 2,608 and 2,007 -> 2,477 and 1,817; three, four and five tiles under
// way, 2,006 -> 1,940 at best; the next stage's weights before the merge, 1,920 -> 1,887; q, k and v asked for before the
// first tiles, 2,006 -> 1,971 (Llama-3.2-1B 2,103 -> 2,162); a group's parts joined by neighbours in place of a loop, 2,044 ->
// 2,038; a last row alone in place of its tile, no difference. Earlier: two heads of a kv head in a group, which halves what
// is read, 2,640 and 1,817 -> 2,584 and 1,770; keys and values touched a tile ahead, a tenth slower; loads that are not
// coherent, no difference.
#include "lib/common.glsl"
#include "persistent/put.glsl"
#include "lib/exp_log.glsl"
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#if !defined(WG_SIZE) || !defined(HEAD_DIM) || !defined(RANGES)
#error "WG_SIZE; HEAD_DIM, 8 times a power of two; RANGES of keys, at most SUBGROUP"
#endif

layout(local_size_x = WG_SIZE) in;

layout(std140, binding = 0) uniform Params
{
    uint n_head, n_kv_head, n_ctx, max_range;
    uint k, v, partial, counter; // k, v in words of 16 bytes, their scales in uints
    float scale;
    uint window;
    float softcap;
    uint k_scale, v_scale;
} params;

// The layer's scratch, as attention/ranges.glsl draws it; a counter is the first uint of a head's word.
layout(std430, binding = 0) coherent buffer Scratch { vec4 scratch_quads[]; };
layout(std430, binding = 0) coherent buffer Counters { uvec4 counters[]; };

#include "persistent/attention_stay.glsl"

void begin_head(Part part)
{
    uint at = part.head * N_QUAD + 2u * (gl_LocalInvocationIndex % uint(N_VEC8));
    open_head(uintBitsToFloat(cache_word(at)), uintBitsToFloat(cache_word(at + 1u)));
}

void renew_tile(Part part, inout Tile tile, uint key) {}

void main()
{
    attend();
}
