// Logits of several rows, and how likely tokens are: glsl/sample.
#include "glsl/sample/sample_params.h"
#include "reference/reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

static double cap_logit(double logit, double softcap)
{
    return softcap > 0 ? softcap * tanh(logit / softcap) : logit;
}

//-- logit_rows ------------------------------------------------------------------------------------

// Expects the partial result of an invocation of a group: the first of its largest logits, as the
// dispatch left them.
static void expect_partial(struct gi_ref *ref, const float *logits, uint32_t group, uint32_t lane,
                           uint64_t at)
{
    const struct gi_logit_rows_params *p = ref->params;
    const uint32_t size = gi_ref_define(ref, "WG_SIZE"), n = gi_ref_define(ref, "N_LOGITS");
    uint32_t index = UINT32_MAX - 1, bits; // of an invocation without logits
    float best = -FLT_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t id = (group * n + i) * size + lane;
        const float logit = id >= p->n_vocab       ? -FLT_MAX
                            : isfinite(logits[id]) ? logits[id]
                                                   : INFINITY;
        if (id < p->n_vocab && (i == 0 || logit > best)) {
            best = logit;
            index = isinf(logit) ? UINT32_MAX : id;
        }
    }
    memcpy(&bits, &best, sizeof(bits));
    gi_ref_expect_bits(ref, "partial result", 0, at, bits);
    gi_ref_expect_bits(ref, "index of a partial result", 0, at + 1, index);
}

static void expect_partials(struct gi_ref *ref)
{
    const struct gi_logit_rows_params *p = ref->params;
    const uint32_t size = gi_ref_define(ref, "WG_SIZE");
    for (uint32_t m = 0; !ref->has_failed && m < ref->n_tokens;
         m = gi_ref_next(ref, m, ref->n_tokens, p->n_vocab)) {
        const size_t n_memory = ref->memory.count;
        const uint64_t at = (uint64_t)m * p->stride;
        const float *logits = gi_ref_floats(ref, 0, at, p->n_vocab);
        for (uint32_t i = 0; logits && i < ref->dispatch->grid.size[0] * size; i++) {
            expect_partial(ref, logits, i / size, i % size, at + p->partial + 2ull * i);
        }
        gi_ref_rewind(ref, n_memory);
    }
}

void gi_ref_logit_rows(struct gi_ref *ref)
{
    const struct gi_logit_rows_params *p = ref->params;
    const double cap = gi_ref_define(ref, "SOFTCAP") ? (double)p->softcap : 0;
    const uint32_t step = ref->is_sampled ? 1 + p->n_vocab / (1 << 16) : 1;
    for (uint32_t m = 0; !ref->has_failed && m < ref->n_tokens;
         m = gi_ref_next(ref, m, ref->n_tokens, p->n_vocab)) {
        const size_t n_memory = ref->memory.count;
        const uint64_t at = (uint64_t)m * p->stride;
        const float *logits = gi_ref_floats(ref, 0, at, p->n_vocab);
        gi_ref_add_scratch(ref, 0, at + p->partial,
                           2ull * ref->dispatch->grid.size[0] * gi_ref_define(ref, "WG_SIZE"));
        for (uint32_t i = 0; logits && i < p->n_vocab; i += step) {
            const double logit = isfinite(logits[i])
                                     ? cap_logit((double)p->scale * (double)logits[i], cap)
                                     : logits[i];
            gi_ref_expect_at(ref, "logit", 0, at + i, (struct gi_ref_place){0},
                             (struct gi_ref_value){logit, fabs(logit)},
                             ref->is_sampled || cap == 0 ? 0 : 2e-6 * fabs(logit));
        }
        gi_ref_rewind(ref, n_memory);
    }
    ref->after = expect_partials;
}

//-- logprob ---------------------------------------------------------------------------------------

// Returns the log-probability of a target; *size: of the numbers that it is a difference of.
static double log_probability(const struct gi_logprob_params *p, const float *logits, double cap,
                              uint32_t target, double *size)
{
    double largest = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < p->n_vocab; i++) {
        largest = fmax(largest, cap_logit((double)p->scale * (double)logits[i], cap));
    }
    for (uint32_t i = 0; i < p->n_vocab; i++) {
        sum += exp(cap_logit((double)p->scale * (double)logits[i], cap) - largest);
    }
    const double logit = cap_logit((double)p->scale * (double)logits[target], cap);
    *size = 1 + fabs(logit) + fabs(largest);
    return logit - largest - log(sum);
}

void gi_ref_logprob(struct gi_ref *ref)
{
    const struct gi_logprob_params *p = ref->params;
    const double cap = gi_ref_define(ref, "SOFTCAP") ? (double)p->softcap : 0;
    uint32_t mask = p->n_vocab;
    while (mask & (mask - 1)) {
        mask &= mask - 1; // the largest power of two
    }
    gi_ref_fill(ref, 2, 0, ref->n_tokens, mask - 1, 0);
    const void *targets = gi_ref_floats(ref, 2, 0, ref->n_tokens);
    for (uint32_t m = 0; targets && !ref->has_failed && m < ref->n_tokens;
         m = gi_ref_next(ref, m, ref->n_tokens, p->n_vocab)) {
        const size_t n_memory = ref->memory.count;
        const float *logits = gi_ref_floats(ref, 1, (uint64_t)m * p->stride, p->n_vocab);
        bool is_sound = true;
        for (uint32_t i = 0; logits && i < p->n_vocab; i++) {
            is_sound = is_sound && isfinite(logits[i]);
        }
        if (logits && !is_sound) {
            gi_ref_expect_bits(ref, "log-probability among infinite logits", 0, m, 0x7FC00000);
        } else if (logits) {
            double size;
            const double value =
                log_probability(p, logits, cap, ((const uint32_t *)targets)[m], &size);
            const struct gi_ref_value expected = {value, ref->is_sampled ? size : fabs(value)};
            gi_ref_expect_at(ref, "log-probability", 0, m, (struct gi_ref_place){0}, expected,
                             ref->is_sampled ? 0 : 1e-5);
        }
        gi_ref_rewind(ref, n_memory);
    }
}
