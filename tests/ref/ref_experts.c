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

static double probability(const float *logits, uint32_t n_expert, uint32_t expert,
                          enum ref_gating gating)
{
    double sum = 0;
    if (gating == REF_GATING_SIGMOID) {
        return 1 / (1 + exp(-(double)logits[expert]));
    }
    for (uint32_t e = 0; e < n_expert; e++) {
        sum += exp((double)logits[e] - (double)logits[expert]);
    }
    return 1 / sum;
}

static void take_shared(const struct ref_router *router, uint32_t first, uint32_t *experts,
                        double *shares)
{
    for (uint32_t i = 0; i < router->n_shared; i++) {
        experts[i] = first + i;
        shares[i] = router->gate ? 1 / (1 + exp(-(double)*router->gate)) : 1;
    }
}

void ref_route(const float *logits, const struct ref_router *router, uint32_t n_expert,
               uint32_t n_used, uint32_t *experts, double *shares)
{
    const bool is_softmax = router->gating == REF_GATING_CHOSEN;
    double sum = 0;
    n_expert -= router->n_shared;
    n_used -= router->n_shared;
    take_shared(router, n_expert, experts + n_used, shares + n_used);
    for (uint32_t i = 0; i < n_used; i++) {
        double best_value = 0;
        experts[i] = UINT32_MAX;
        for (uint32_t e = 0; e < n_expert; e++) {
            const double value = router->bias ? probability(logits, n_expert, e, router->gating) +
                                                    (double)router->bias[e]
                                              : (double)logits[e];
            if (!is_consumed(experts, i, e) && (experts[i] == UINT32_MAX || value > best_value)) {
                experts[i] = e;
                best_value = value;
            }
        }
        shares[i] = is_softmax ? exp((double)logits[experts[i]])
                               : probability(logits, n_expert, experts[i], router->gating);
        sum += shares[i];
    }
    for (uint32_t i = 0; i < n_used; i++) {
        shares[i] /= is_softmax || router->is_normalised ? sum : 1;
        shares[i] *= is_softmax ? 1 : router->scale;
    }
}
