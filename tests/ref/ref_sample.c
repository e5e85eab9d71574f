#include "tests/ref/ref_sample.h"

#include <math.h>
#include <stdlib.h>

static int compare_candidates(const void *left, const void *right)
{
    const struct ref_candidate *a = left, *b = right;
    if (a->logit != b->logit) {
        return a->logit > b->logit ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

void ref_sample_sort(const float *logits, uint32_t n_vocab, struct ref_candidate *sorted)
{
    for (uint32_t i = 0; i < n_vocab; i++) {
        sorted[i] = (struct ref_candidate){i, logits[i]};
    }
    qsort(sorted, n_vocab, sizeof(*sorted), compare_candidates);
}

double ref_adjust_logit(double logit, uint32_t count, const struct ref_adjust *adjust)
{
    logit += adjust->bias;
    if (count == 0) {
        return logit;
    }
    logit = logit > 0 ? logit / adjust->repeat : logit * adjust->repeat;
    return logit - count * adjust->frequency - adjust->presence;
}

double ref_sample_logsumexp(const struct ref_candidate *sorted, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = n; i-- > 0;) { // the small ones first
        sum += exp(sorted[i].logit - sorted[0].logit);
    }
    return sorted[0].logit + log(sum);
}

uint32_t ref_sample_filter(const struct ref_candidate *sorted, uint32_t n_vocab,
                           const struct ref_filter *filter)
{
    uint32_t n = filter->top_k > 0 && filter->top_k < n_vocab ? filter->top_k : n_vocab;
    if (filter->top_p < 1) {
        const double total = ref_sample_logsumexp(sorted, n);
        double share = 0;
        uint32_t kept = 0;
        while (kept < n && (kept == 0 || share < filter->top_p)) {
            share += exp(sorted[kept++].logit - total);
        }
        n = kept;
    }
    while (n > 1 && exp(sorted[n - 1].logit - sorted[0].logit) < filter->min_p) {
        n--;
    }
    return n;
}

double ref_sample_score(const struct ref_candidate *candidate, double temperature, uint64_t seed,
                        uint32_t position)
{
    const uint32_t key[2] = {(uint32_t)(seed & 0xFFFFFFFF), (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {position, candidate->id, 0, 0};
    uint32_t words[4];
    ref_philox(key, counter, words);
    const double u = (words[0] + 0.5) / 4294967296.0;
    return candidate->logit / temperature - log(-log1p(-u));
}

void ref_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t left[2] = {counter[0], counter[2]}, right[2] = {counter[1], counter[3]};
    for (uint32_t round = 0; round < 10; round++) {
        const uint64_t product0 = UINT64_C(0xD2511F53) * left[0];
        const uint64_t product1 = UINT64_C(0xCD9E8D57) * left[1];
        const uint32_t key0 = key[0] + round * UINT32_C(0x9E3779B9);
        const uint32_t key1 = key[1] + round * UINT32_C(0xBB67AE85);
        left[0] = (uint32_t)(product1 >> 32) ^ right[0] ^ key0;
        left[1] = (uint32_t)(product0 >> 32) ^ right[1] ^ key1;
        right[0] = (uint32_t)product1;
        right[1] = (uint32_t)product0;
    }
    out[0] = left[0];
    out[1] = right[0];
    out[2] = left[1];
    out[3] = right[1];
}
