// Reference of sampling in double, by sorting the whole vocabulary.
#ifndef REF_SAMPLE_H
#define REF_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

struct ref_candidate {
    uint32_t id;
    double logit;
};

// The vocabulary in order: largest logit first, lower id first on ties.
void ref_sample_sort(const float *logits, uint32_t n_vocab, struct ref_candidate *sorted);

// How a logit is adjusted for a token that is `count` times among the last of a text: the bias
// added, then divided by repeat if it is over 0, else multiplied, less count * frequency +
// presence, these if count is not 0.
struct ref_adjust {
    double bias, repeat, presence, frequency;
};
double ref_adjust_logit(double logit, uint32_t count, const struct ref_adjust *adjust);

// ln(sum(exp(logit))) over the first n candidates.
double ref_sample_logsumexp(const struct ref_candidate *sorted, uint32_t n);

struct ref_filter {
    uint32_t top_k; // 0: off
    double top_p;   // 1: off
    double min_p;   // 0: off
};

// How many of the sorted candidates survive: the top_k first; of those the fewest whose share
// reaches top_p; of those the ones with min_p times the probability of the first.
uint32_t ref_sample_filter(const struct ref_candidate *sorted, uint32_t n_vocab,
                           const struct ref_filter *filter);

// The score of a candidate: logit / temperature + Gumbel noise, from -ln(-ln(1 - u)) with
// u = (word + 1/2) / 2^32, word the first of Philox(seed, { position, id, 0, 0 }).
double ref_sample_score(const struct ref_candidate *candidate, double temperature, uint64_t seed,
                        uint32_t position);

// Philox4x32-10 from its paper.
void ref_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

#endif
