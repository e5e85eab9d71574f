#include "speech/window/whisper_choice.h"

#include <math.h>

// Tokens that may follow: ids [begin, end).
struct range {
    uint32_t begin, end;
};

static bool is_suppressed(const struct gi_whisper_choice *choice,
                          const struct gi_whisper_mask *mask, uint32_t id)
{
    const uint32_t *bits = choice->suppressed;
    return (bits && bits[id / 32] >> id % 32 & 1) || (id == choice->blank && !mask->has_blank);
}

// The largest logit of a range, and the sum of exp(logit - largest).
struct sum {
    float most;
    double total;
    uint32_t id; // that has the largest
};

static struct sum sum_up(const struct gi_whisper_choice *choice, const struct gi_whisper_mask *mask,
                         const float *logits, struct range range)
{
    struct sum sum = {.most = -INFINITY};
    for (uint32_t id = range.begin; id < range.end; id++) {
        if (logits[id] > sum.most && !is_suppressed(choice, mask, id)) {
            sum.most = logits[id];
            sum.id = id;
        }
    }
    for (uint32_t id = range.begin; id < range.end && sum.most > -INFINITY; id++) {
        if (logits[id] > sum.most - 30 && !is_suppressed(choice, mask, id)) {
            sum.total += (double)expf(logits[id] - sum.most);
        }
    }
    return sum;
}

static double log_total(struct sum sum)
{
    return sum.total > 0 ? (double)sum.most + log(sum.total) : -(double)INFINITY;
}

// Inserts a token into the best n of at most k; returns how many there are.
static size_t insert(struct gi_whisper_token *best, size_t n, size_t k, uint32_t id, float logprob)
{
    if (n == k && logprob <= best[n - 1].logprob) {
        return n;
    }
    size_t i = n < k ? n : n - 1;
    for (; i > 0 && best[i - 1].logprob < logprob; i--) {
        best[i] = best[i - 1];
    }
    best[i] = (struct gi_whisper_token){.id = id, .logprob = logprob};
    return n < k ? n + 1 : n;
}

// Chooses a token of two ranges by its probability at the temperature.
static uint32_t sample(const struct gi_whisper_choice *choice, const struct gi_whisper_mask *mask,
                       const float *logits, const struct range ranges[2], float most)
{
    double total = 0, passed = 0;
    uint32_t last = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 2; i++) {
            for (uint32_t id = ranges[i].begin; id < ranges[i].end; id++) {
                const float x = (logits[id] - most) / choice->temperature;
                if (!(x > -30) || is_suppressed(choice, mask, id)) {
                    continue;
                }
                passed += (double)expf(x);
                last = id;
                if (turn == 1 && passed > choice->uniform * total) {
                    return id;
                }
            }
        }
        total = passed;
        passed = 0;
    }
    return last;
}

size_t gi_whisper_choose(const struct gi_whisper_choice *choice, const struct gi_whisper_mask *mask,
                         const float *logits, struct gi_whisper_token *out, size_t k)
{
    const struct gi_whisper_ids *ids = choice->ids;
    const struct range text = {mask->has_text ? 0 : ids->end,
                               mask->has_end ? ids->end + 1 : ids->end};
    const struct range time = {mask->time_begin, mask->time_end};
    const struct sum texts = sum_up(choice, mask, logits, text);
    const struct sum times = sum_up(choice, mask, logits, time);
    const float most = fmaxf(texts.most, times.most);
    if (!(most > -INFINITY) || k == 0) {
        return 0;
    }
    const double log_texts = log_total(texts), log_times = log_total(times);
    const double larger = fmax(log_texts, log_times), less = fmin(log_texts, log_times);
    const double log_sum = larger + log1p(exp(less - larger));
    const bool is_time = log_times > (double)texts.most;
    const struct range ranges[2] = {is_time ? (struct range){0} : text, time};
    size_t n = 0;
    if (choice->temperature > 0) {
        const uint32_t id = sample(choice, mask, logits, ranges, is_time ? times.most : most);
        n = insert(out, 0, 1, id, (float)((double)logits[id] - log_sum));
    }
    for (int i = 0; i < 2 && choice->temperature <= 0; i++) {
        for (uint32_t id = ranges[i].begin; id < ranges[i].end; id++) {
            if (logits[id] > -INFINITY && !is_suppressed(choice, mask, id)) {
                n = insert(out, n, k, id, (float)((double)logits[id] - log_sum));
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        out[i].time = times.total > 0 ? times.id : ids->time;
    }
    return n;
}

float gi_whisper_probability(const float *logits, uint32_t begin, uint32_t end, uint32_t id)
{
    const float most = logits[gi_whisper_most_likely(logits, begin, end)];
    double total = 0;
    for (uint32_t i = begin; i < end; i++) {
        total += logits[i] <= most ? (double)expf(logits[i] - most) : 0.0;
    }
    return total > 0 ? (float)((double)expf(logits[id] - most) / total) : 0;
}

uint32_t gi_whisper_most_likely(const float *logits, uint32_t begin, uint32_t end)
{
    uint32_t best = begin;
    for (uint32_t id = begin; id < end; id++) {
        best = logits[id] > logits[best] || !(logits[best] == logits[best]) ? id : best;
    }
    return best;
}
