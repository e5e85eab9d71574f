#include "tests/ref/ref_batch.h"

#include <math.h>

static bool is_consumed(const uint32_t *experts, size_t n, uint32_t expert)
{
    for (size_t i = 0; i < n; i++) {
        if (experts[i] == expert) {
            return true;
        }
    }
    return false;
}

void ref_route(const float *logits, uint32_t n_expert, uint32_t n_used, uint32_t *experts,
               double *shares)
{
    double sum = 0;
    for (uint32_t i = 0; i < n_used; i++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t e = 0; e < n_expert; e++) {
            if (!is_consumed(experts, i, e) && (best == UINT32_MAX || logits[e] > logits[best])) {
                best = e;
            }
        }
        experts[i] = best;
        shares[i] = exp((double)logits[best]);
        sum += shares[i];
    }
    for (uint32_t i = 0; i < n_used; i++) {
        shares[i] /= sum;
    }
}
