// Ranges of keys of a decode step's attention: their partial results in the layer's scratch, and which group
// is the last of a head to finish. Needs HEAD_DIM, group_barrier(), and in Params max_range, partial, counter.
//
//   scratch  out (n_head, HEAD_DIM) at 0; partial (n_head, max_range, HEAD_DIM + 4): the sum of
//            weighted v, then largest score and sum of weights; counter (n_head), zero between steps
layout(std430, binding = 0) restrict coherent buffer Scratch { uint scratch[]; };

shared uint is_last;

void write_quad(uint at, vec4 value)
{
    uvec4 word = floatBitsToUint(value);
    scratch[at] = word.x;
    scratch[at + 1u] = word.y;
    scratch[at + 2u] = word.z;
    scratch[at + 3u] = word.w;
}

vec4 read_quad(uint at)
{
    return uintBitsToFloat(
        uvec4(scratch[at], scratch[at + 1u], scratch[at + 2u], scratch[at + 3u]));
}

// The partial result of range i of a head.
uint partial_begin(uint head, uint i)
{
    return params.partial + (head * params.max_range + i) * uint(HEAD_DIM + 4);
}

// Largest score and sum of weights of the partial result at begin.
vec2 read_softmax(uint begin)
{
    uint at = begin + uint(HEAD_DIM);
    return uintBitsToFloat(uvec2(scratch[at], scratch[at + 1u]));
}

void write_softmax(uint begin, vec2 both)
{
    uint at = begin + uint(HEAD_DIM);
    scratch[at] = floatBitsToUint(both.x);
    scratch[at + 1u] = floatBitsToUint(both.y);
}

// Counts a group that has written its partial result; true in the last of n_range groups, which sees
// the results of all, and sets the counter back. Groups that are not counted only pass through.
bool is_last_range(uint lane, uint head, uint n_range, bool is_counted)
{
    memoryBarrierBuffer();
    group_barrier();
    if (lane == 0u) {
        is_last = 0u;
        if (is_counted && atomicAdd(scratch[params.counter + head], 1u) == n_range - 1u) {
            is_last = 1u;
            scratch[params.counter + head] = 0u;
        }
    }
    group_barrier();
    memoryBarrierBuffer();
    return is_last == 1u;
}
