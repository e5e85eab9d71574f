// Reductions over the first `count` invocations of a work group, count a power of two that is at
// most WG_SIZE. Every invocation of the group calls them, never under a branch that differs within
// the group, and gets the result, which it reads from shared memory: a barrier stands between two
// reductions, since the second overwrites what the first one reads. The order of the sum is fixed.

shared float reduce_values[WG_SIZE];

float reduce_sum(float value, uint count)
{
    uint lane = gl_LocalInvocationIndex;
    reduce_values[lane] = value;
    group_barrier();
    for (uint n = count / 2u; n > 0u; n /= 2u) {
        if (lane < n) {
            reduce_values[lane] += reduce_values[lane + n];
        }
        group_barrier();
    }
    return reduce_values[0];
}

// The same of at most 64 invocations, a multiple of 8, in two steps without loops: fewer
// instructions, and two barriers.
float reduce_sum_by_eights(float value, uint count)
{
    uint lane = gl_LocalInvocationIndex;
    reduce_values[lane] = value;
    group_barrier();
    if (lane < count / 8u) {
        float sum = 0.0;
        for (uint i = 0u; i < 8u; i++) {
            sum += reduce_values[8u * lane + i];
        }
        reduce_values[8u * lane] = sum;
    }
    group_barrier();
    float sum = 0.0;
    for (uint i = 0u; i < count; i += 8u) {
        sum += reduce_values[i];
    }
    return sum;
}

shared uint reduce_indices[WG_SIZE];

// Returns true if (value, index) comes before (other, other_index): the larger value, or of equal ones the
// lower index.
bool ranks_before(float value, uint index, float other, uint other_index)
{
    return value > other || (value == other && index < other_index);
}

// Reduces reduce_values and reduce_indices to their first `left` elements, a power of two: each
// becomes the largest of the values at multiples of `left` after it, with its index, the lowest on
// ties. `left` must not be a constant: with a constant bound the compiler of V3D hangs in this loop.
void reduce_max_to(float value, uint index, uint count, uint left)
{
    uint lane = gl_LocalInvocationIndex;
    reduce_values[lane] = value;
    reduce_indices[lane] = index;
    group_barrier();
    for (uint n = count / 2u; n >= left; n /= 2u) {
        if (lane < n && ranks_before(reduce_values[lane + n], reduce_indices[lane + n],
                                 reduce_values[lane], reduce_indices[lane])) {
            reduce_values[lane] = reduce_values[lane + n];
            reduce_indices[lane] = reduce_indices[lane + n];
        }
        group_barrier();
    }
}

// The largest value and its index; `one` is 1, as `left` is to be.
void reduce_max(inout float value, inout uint index, uint count, uint one)
{
    reduce_max_to(value, index, count, one);
    value = reduce_values[0];
    index = reduce_indices[0];
}
