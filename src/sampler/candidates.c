#include "sampler/candidates.h"

#include "base/array.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGIT_BITS = 12,
    N_BIN = 1 << DIGIT_BITS,
    SMALL = 128, // candidates that are sorted without looking for a cut before
    FIRST = 64,  // that are sorted at first where nobody knows how many are needed
};

bool gi_candidates_init(struct gi_candidates *list, uint32_t n_vocab, struct glinfer_error *err)
{
    *list = (struct gi_candidates){.capacity = n_vocab};
    return GI_ARRAYS_ZEROED("the sampler's candidates", err, GI_NEW(list->data, n_vocab),
                            GI_NEW(list->bins, N_BIN));
}

void gi_candidates_finish(struct gi_candidates *list)
{
    free(list->data);
    free(list->bins);
    *list = (struct gi_candidates){0};
}

float gi_candidates_bound(double x)
{
    const double most = FLT_MAX / 4;
    return (float)(x > most ? most : x < -most ? -most : x);
}

void gi_candidates_fill(struct gi_candidates *list, const float *logits, uint32_t n,
                        const uint32_t *allowed)
{
    struct gi_candidate *data = list->data;
    uint32_t count = 0;
    for (uint32_t id = 0; id < n; id++) {
        const bool is_allowed = !allowed || (allowed[id / 32] >> id % 32 & 1u);
        if (is_allowed && logits[id] > -INFINITY) {
            data[count++] = (struct gi_candidate){.id = id, .logit = logits[id]};
        }
    }
    list->count = count;
    list->n_sorted = 0;
}

//-- order -----------------------------------------------------------------------------------------

// Returns a number that grows with a float.
static uint32_t rank_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Returns the place of a candidate in the order: a number that no other one has.
static uint64_t place_of(const struct gi_candidate *candidate, bool is_by_weight)
{
    const float x = is_by_weight ? candidate->weight : candidate->logit;
    return (uint64_t)~rank_of(x + 0.0f) << 32 | candidate->id; // -0 is 0
}

static int compare_logits(const void *left, const void *right)
{
    const uint64_t a = place_of(left, false), b = place_of(right, false);
    return a < b ? -1 : a > b;
}

static int compare_weights(const void *left, const void *right)
{
    const uint64_t a = place_of(left, true), b = place_of(right, true);
    return a < b ? -1 : a > b;
}

static void swap(struct gi_candidate *a, struct gi_candidate *b)
{
    const struct gi_candidate old = *a;
    *a = *b;
    *b = old;
}

static uint32_t digit_of(const struct gi_candidate *candidate, bool is_by_weight, unsigned shift)
{
    return (uint32_t)(place_of(candidate, is_by_weight) >> shift) & (N_BIN - 1);
}

// Moves those of data[0..n) with a digit below the limit to the front, and returns how many.
static uint32_t part(struct gi_candidate *data, uint32_t n, bool is_by_weight, unsigned shift,
                     uint32_t limit)
{
    uint32_t front = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (digit_of(&data[i], is_by_weight, shift) < limit) {
            if (i != front) {
                swap(&data[i], &data[front]);
            }
            front++;
        }
    }
    return front;
}

// Moves the first k of data[0..n) before the others: cuts by one digit of their places after
// the other, so that the time does not depend on how they lie.
static void cut(uint32_t *bins, struct gi_candidate *data, uint32_t n, uint32_t k,
                bool is_by_weight)
{
    unsigned shift = 64 - DIGIT_BITS;
    while (k > 0 && k < n && n > SMALL) {
        memset(bins, 0, N_BIN * sizeof(bins[0]));
        for (uint32_t i = 0; i < n; i++) {
            bins[digit_of(&data[i], is_by_weight, shift)]++;
        }
        uint32_t digit = 0, before = 0;
        while (before + bins[digit] < k) {
            before += bins[digit++];
        }
        const uint32_t n_front = part(data, n, is_by_weight, shift, digit + 1);
        part(data, n_front, is_by_weight, shift, digit);
        data += before;
        n = n_front - before;
        k -= before;
        shift = shift > DIGIT_BITS ? shift - DIGIT_BITS : 0;
    }
    if (k < n) {
        qsort(data, n, sizeof(data[0]), is_by_weight ? compare_weights : compare_logits);
    }
}

// Brings the first k in order to the front, n_done of which are there.
static void sort_from(struct gi_candidates *list, uint32_t n_done, uint32_t k, bool is_by_weight)
{
    struct gi_candidate *rest = list->data + n_done;
    cut(list->bins, rest, list->count - n_done, k - n_done, is_by_weight);
    qsort(rest, k - n_done, sizeof(rest[0]), is_by_weight ? compare_weights : compare_logits);
}

void gi_candidates_sort(struct gi_candidates *list, uint32_t k)
{
    k = k < list->count ? k : list->count;
    if (k > list->n_sorted) {
        sort_from(list, list->n_sorted, k, false);
        list->n_sorted = k;
    }
}

void gi_candidates_sort_by_weight(struct gi_candidates *list, uint32_t n_done, uint32_t k)
{
    list->n_sorted = 0;
    if (k > n_done) {
        sort_from(list, n_done, k, true);
    }
}

void gi_candidates_grow(const struct gi_candidates *list, uint32_t *n)
{
    const uint64_t next = *n < FIRST ? FIRST : (uint64_t)*n * 4;
    *n = next < list->count ? (uint32_t)next : list->count;
}

float gi_candidates_largest(const struct gi_candidates *list)
{
    float largest = list->data[0].logit;
    for (uint32_t i = 1; list->n_sorted == 0 && i < list->count; i++) {
        largest = fmaxf(largest, list->data[i].logit);
    }
    return largest;
}

double gi_candidates_weigh(struct gi_candidates *list)
{
    const float largest = gi_candidates_largest(list);
    double sum = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        list->data[i].weight = expf(list->data[i].logit - largest);
        sum += list->data[i].weight;
    }
    return sum;
}

//-- shorter lists ---------------------------------------------------------------------------------

void gi_candidates_keep(struct gi_candidates *list, uint32_t k)
{
    list->count = k < list->count ? k : list->count;
    list->n_sorted = list->n_sorted < list->count ? list->n_sorted : list->count;
}

void gi_candidates_keep_above(struct gi_candidates *list, float least, uint32_t min_keep)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        count += list->data[i].logit >= least;
    }
    if (count < min_keep) {
        gi_candidates_sort(list, min_keep);
        gi_candidates_keep(list, min_keep);
        return;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->data[i].logit >= least) {
            list->data[kept++] = list->data[i];
        }
    }
    gi_candidates_keep(list, kept);
}
