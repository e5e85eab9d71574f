// Softmax over the scores of KEYS keys, one an invocation. Needs KEYS, the size of the work group,
// and attention/softmax.glsl. The order of the sums is fixed.
#define STRIPES 8u

shared float weights[KEYS];
shared float stripes[STRIPES];

// Leaves exp(score - largest) of each key in weights, 0 for a masked one; returns largest, which is
// at least `least`.
float weigh_keys(uint lane, float value, float least)
{
    weights[lane] = value;
    group_barrier();
    if (lane < STRIPES) {
        float largest = value;
        for (uint i = lane + STRIPES; i < uint(KEYS); i += STRIPES) {
            largest = max(largest, weights[i]);
        }
        stripes[lane] = largest;
    }
    group_barrier();
    float largest = least;
    for (uint i = 0u; i < STRIPES; i++) {
        largest = max(largest, stripes[i]);
    }
    weights[lane] = weight_of(value, largest);
    group_barrier();
    return largest;
}

// The sum of the weights by stripes; complete after the next barrier.
void sum_weights(uint lane)
{
    if (lane < STRIPES) {
        float sum = weights[lane];
        for (uint i = lane + STRIPES; i < uint(KEYS); i += STRIPES) {
            sum += weights[i];
        }
        stripes[lane] = sum;
    }
}

float sum_stripes()
{
    float sum = stripes[0];
    for (uint i = 1u; i < STRIPES; i++) {
        sum += stripes[i];
    }
    return sum;
}
