// The largest float of a work group and the lowest index that has it, without a tree: two integer
// atomics on shared words, which no compiler trips over and whose result has one value only.
#define NO_ID 0xFFFFFFFFu

shared uint best_key, best_index;

// An integer that orders as the float does; -0 and +0 are equal.
uint key_of(uint bits)
{
    bits = bits == 0x80000000u ? 0u : bits;
    return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

float value_of(uint key)
{
    return uintBitsToFloat((key & 0x80000000u) != 0u ? key & 0x7FFFFFFFu : ~key);
}

bool is_better(uint key, uint index, uint other_key, uint other_index)
{
    return key > other_key || (key == other_key && index < other_index);
}

// Sets key and index to the best of all invocations'. To be called by all of them.
void find_best(inout uint key, inout uint index)
{
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        best_key = 0u;
        best_index = NO_ID;
    }
    barrier();
    atomicMax(best_key, key);
    barrier();
    if (key == best_key) {
        atomicMin(best_index, index);
    }
    barrier();
    key = best_key;
    index = best_index;
}
