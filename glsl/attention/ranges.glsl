// Ranges of keys of a decode step's attention: their partial results in the layer's scratch, and
// which group is the last of a head, or of a run of heads, to finish. Needs HEAD_DIM,
// attention/softmax.glsl, lib/slot.glsl. With SCRATCH_QUADS 1 scratch is read by words of 16 bytes,
// else by uints.
//
//   scratch  out (n_head, HEAD_DIM) at 0; partial (n_head, max_range, HEAD_DIM + 4): the sum of
//            weighted v, then largest score and sum of weights; counter, zero between steps: a uint a
//            head, or a word of 16 bytes a run, its first uint
#ifndef SCRATCH_QUADS
#define SCRATCH_QUADS 0
#endif

shared uint is_last;

#if SCRATCH_QUADS
layout(std430, binding = 0) restrict coherent buffer ScratchQuads { uvec4 scratch_quads[]; };

#define counter_at(i) scratch_quads[(SCRATCH_BEGIN + params.counter) / 4u + (i)].x

void write_quad(uint at, vec4 value)
{
    scratch_quads[(SCRATCH_BEGIN + at) / 4u] = floatBitsToUint(value);
}

vec4 read_quad(uint at)
{
    return uintBitsToFloat(scratch_quads[(SCRATCH_BEGIN + at) / 4u]);
}

// Returns the largest score and the sum of weights of the partial result at begin.
vec2 read_softmax(uint begin)
{
    return read_quad(begin + uint(HEAD_DIM)).xy;
}

void write_softmax(uint begin, vec2 both)
{
    write_quad(begin + uint(HEAD_DIM), vec4(both, 0.0, 0.0));
}
#else
layout(std430, binding = 0) restrict coherent buffer Scratch { uint scratch[]; };

#define counter_at(i) scratch[SCRATCH_BEGIN + params.counter + (i)]

void write_quad(uint at, vec4 value)
{
    uvec4 word = floatBitsToUint(value);
    at += SCRATCH_BEGIN;
    scratch[at] = word.x;
    scratch[at + 1u] = word.y;
    scratch[at + 2u] = word.z;
    scratch[at + 3u] = word.w;
}

vec4 read_quad(uint at)
{
    at += SCRATCH_BEGIN;
    return uintBitsToFloat(
        uvec4(scratch[at], scratch[at + 1u], scratch[at + 2u], scratch[at + 3u]));
}

vec2 read_softmax(uint begin)
{
    uint at = SCRATCH_BEGIN + begin + uint(HEAD_DIM);
    return uintBitsToFloat(uvec2(scratch[at], scratch[at + 1u]));
}

void write_softmax(uint begin, vec2 both)
{
    uint at = SCRATCH_BEGIN + begin + uint(HEAD_DIM);
    scratch[at] = floatBitsToUint(both.x);
    scratch[at + 1u] = floatBitsToUint(both.y);
}
#endif

// Returns the place of the partial result of range i of a head.
uint partial_begin(uint head, uint i)
{
    return params.partial + (head * params.max_range + i) * uint(HEAD_DIM + 4);
}

// Writes a quad of a head's result, or if it is one of several ranges its partial result: the sum
// of weighted values; softmax: largest score, sum of weights.
void write_head_quad(uint head, uint range, uint quad, bool is_split, vec4 sum, vec2 softmax)
{
    uint begin = is_split ? partial_begin(head, range) : head * uint(HEAD_DIM);
    write_quad(begin + 4u * quad, is_split ? sum : sum / with_sink(softmax.y, softmax.x, head));
    if (is_split && quad == 0u) {
        write_softmax(begin, softmax);
    }
}

// Returns a quad of what the ranges from first on together give; softmax as above.
vec4 merge_ranges(uint head, uint first, uint n_range, uint quad, out vec2 softmax)
{
    softmax = vec2(MASKED, 0.0);
    for (uint i = first; i < n_range; i++) {
        softmax.x = max(softmax.x, read_softmax(partial_begin(head, i)).x);
    }
    vec4 sum = vec4(0.0);
    for (uint i = first; i < n_range; i++) {
        uint begin = partial_begin(head, i);
        vec2 other = read_softmax(begin);
        float factor = weight_of(other.x, softmax.x);
        softmax.y += factor * other.y;
        sum += factor * read_quad(begin + 4u * quad);
    }
    return sum;
}

// Counts a group that has written its partial result. True in the last of n_range groups of head or
// run i, which sees the results of all, and sets the counter back. Groups that are not counted only
// pass through.
bool is_last_range(uint lane, uint i, uint n_range, bool is_counted)
{
    memoryBarrierBuffer();
    group_barrier();
    if (lane == 0u) {
        is_last = 0u;
        if (is_counted && atomicAdd(counter_at(i), 1u) == n_range - 1u) {
            is_last = 1u;
            counter_at(i) = 0u;
        }
    }
    group_barrier();
    memoryBarrierBuffer();
    return is_last == 1u;
}
