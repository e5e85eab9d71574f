// Tests adjust.comp: logits and counts against their formulas, tokens sampled after it against
// their distribution.
#include "base/round.h"
#include "ops/record/rate.h"
#include "tests/kernel/cases/cases_step.h"
#include "tests/ref/ref_sample.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct adjusting {
    struct gi_logits logits, adjusted; // one range; of the second the partial results are adjust's
    struct gi_step_buffers buffers;
    struct gi_adjust adjust;
    struct gi_range source; // the logits before each step
    float *values;          // (n_vocab)
    uint32_t *table;        // as adjust.range has it
    uint64_t table_size;
};

static float minus_infinity(void)
{
    return -INFINITY;
}

static bool begin(struct kt_run *run, struct adjusting *a, uint32_t n_vocab, uint32_t n_window)
{
    const uint64_t size = gi_round_up(gi_logits_layout(&a->logits, n_vocab), GI_RATE_UNIT);
    a->table_size = gi_adjust_layout(&a->adjust, n_vocab, n_window);
    a->table = kt_alloc(a->table_size / sizeof(uint32_t), sizeof(uint32_t));
    memset(a->table, 0, a->table_size);
    a->values = kt_alloc(size / sizeof(float), sizeof(float));
    memset(a->values, 0, size);
    kt_fill(run, a->values, n_vocab, -12, 12);
    a->logits.range = kt_range(run, "logits", a->values, size);
    a->source = kt_range(run, "source", a->values, size);
    a->adjust.range = kt_range(run, "table", a->table, a->table_size);
    a->buffers = (struct gi_step_buffers){
        .state = run->step_state,
        .ring = kt_range(run, "ring", NULL, GI_RING_SLOTS * sizeof(struct gi_ring_entry)),
        .counts = run->step_counts,
    };
    run->state.max_steps = UINT32_MAX;
    run->state.n_window = n_window;
    run->state.repeat_penalty = 1;
    return a->logits.range.buffer && a->source.buffer && a->adjust.range.buffer &&
           a->buffers.ring.buffer;
}

static void finish(struct adjusting *a)
{
    free(a->table);
    free(a->values);
}

static bool record(struct kt_run *run, struct adjusting *a, kt_step_op op)
{
    a->adjusted = a->logits;
    gi_op_rate_copy(&run->recorder, a->logits.range, a->source);
    gi_op_adjust(&run->recorder, &a->adjust, &a->adjusted, &a->buffers);
    op(&run->recorder, &a->adjusted, &a->buffers);
    return kt_seal(run);
}

static float bias_of(const struct adjusting *a, uint32_t id)
{
    float bias;
    memcpy(&bias, &a->table[a->adjust.bias + id], sizeof(bias));
    return bias;
}

static void set_bias(struct adjusting *a, uint32_t id, float bias)
{
    memcpy(&a->table[a->adjust.bias + id], &bias, sizeof(bias));
}

static void allow(struct adjusting *a, uint32_t id)
{
    a->table[a->adjust.mask + id / 32] |= 1u << id % 32;
}

static bool is_banned(const struct kt_run *run, const struct adjusting *a, uint32_t id)
{
    const uint32_t bits = run->state.adjust;
    return ((bits & GI_ADJUST_MASK) && !(a->table[a->adjust.mask + id / 32] >> id % 32 & 1)) ||
           ((bits & GI_ADJUST_BIAS) && bias_of(a, id) == minus_infinity());
}

// Returns the logit of a token that is count times in the window, -infinity of a banned one.
static double adjust_logit(const struct kt_run *run, const struct adjusting *a, uint32_t id,
                           uint32_t count)
{
    const uint32_t bits = run->state.adjust;
    const struct ref_adjust adjust = {
        .bias = bits & GI_ADJUST_BIAS ? bias_of(a, id) : 0,
        .repeat = run->state.repeat_penalty,
        .presence = run->state.presence_penalty,
        .frequency = run->state.frequency_penalty,
    };
    count = bits & GI_ADJUST_PENALTIES ? count : 0;
    return is_banned(run, a, id) ? -INFINITY : ref_adjust_logit(a->values[id], count, &adjust);
}

//-- values ----------------------------------------------------------------------------------------

#define N_TOKEN 9

static const struct value_case {
    const char *name;
    uint32_t n_vocab, n_window, bits;
    float repeat, presence, frequency;
} value_cases[] = {
    {"nothing", 1000, 4, 0, 1.1F, 0.5F, 0.25F},
    {"repeat", 1000, 4, GI_ADJUST_PENALTIES, 1.3F, 0, 0},
    {"repeat below 1", 33, 4, GI_ADJUST_PENALTIES, 0.5F, 0, 0},
    {"presence", 1001, 3, GI_ADJUST_PENALTIES, 1, 0.75F, 0},
    {"frequency", 49152, 5, GI_ADJUST_PENALTIES, 1, 0, 1.5F},
    {"negative", 49153, 5, GI_ADJUST_PENALTIES, 1, -2, -1.5F},
    {"window of 1", 500, 1, GI_ADJUST_PENALTIES, 1.1F, 1, 1},
    {"long window", 500, N_TOKEN + 4, GI_ADJUST_PENALTIES, 1.1F, 1, 1},
    {"huge", 77, 4, GI_ADJUST_PENALTIES, 1e6F, 1e30F, 1e30F},
    {"bias", 32001, 4, GI_ADJUST_BIAS, 1, 0, 0},
    {"mask", 151936, 4, GI_ADJUST_MASK, 1, 0, 0},
    {"mask of three", 3, 4, GI_ADJUST_MASK, 1, 0, 0},
    {"all of them", 128256, 4, 7, 1.1F, 0.5F, 0.25F},
    {"all of two", 2, 2, 7, 1.1F, 0.5F, 0.25F},
};

// Bans every third token by bias and every fifth by mask, but not the last.
static void fill_table(struct kt_run *run, struct adjusting *a)
{
    const uint32_t n_vocab = a->logits.n_vocab;
    for (uint32_t id = 0; id < n_vocab; id++) {
        const bool is_last = id + 1 == n_vocab;
        set_bias(a, id, id % 3 == 1 && !is_last ? minus_infinity() : kt_uniform(run, -3, 3));
        if (id % 5 != 2 || is_last) {
            allow(a, id);
        }
    }
}

static uint32_t count_in_window(const uint32_t *tokens, uint32_t n, uint32_t n_window, uint32_t id)
{
    uint32_t count = 0;
    for (uint32_t i = n > n_window ? n - n_window : 0; i < n; i++) {
        count += tokens[i] == id;
    }
    return count;
}

// Compares what a step has left with tokens[0..n) as the text: logits, counts, its token.
static bool compare(struct kt_run *run, const struct adjusting *a, const uint32_t *tokens,
                    uint32_t n)
{
    const uint32_t n_vocab = a->logits.n_vocab;
    const struct gi_step_state *state = &run->state;
    double *want = kt_alloc(n_vocab, sizeof(*want)), *bound = kt_alloc(n_vocab, sizeof(*bound));
    uint32_t *counts = kt_alloc(n_vocab, sizeof(*counts)), best = 0;
    float *found = kt_alloc(n_vocab, sizeof(*found));
    struct gi_ring_entry entry;
    for (uint32_t id = 0; id < n_vocab; id++) {
        const uint32_t count = count_in_window(tokens, n, state->n_window, id);
        counts[id] = state->adjust & GI_ADJUST_PENALTIES ? count : 0;
        want[id] = is_banned(run, a, id) ? -INFINITY : adjust_logit(run, a, id, count);
        bound[id] = 8 * (double)FLT_EPSILON *
                    (fabs(want[id]) + 16 * (double)state->repeat_penalty +
                     fabs((double)state->presence_penalty) +
                     count * fabs((double)state->frequency_penalty));
    }
    bool is_good = kt_read(run, &a->logits.range, 0, found, n_vocab * sizeof(*found)) &&
                   kt_read(run, &a->buffers.ring, 0, &entry, sizeof(entry)) &&
                   kt_compare_u32(run, "counts", &a->adjust.range, 0, counts, n_vocab);
    for (uint32_t id = 0; is_good && id < n_vocab; id++) {
        const bool is_near = isinf(want[id]) ? found[id] == minus_infinity()
                                             : fabs(found[id] - want[id]) <= bound[id];
        is_good = is_near ||
                  kt_fail(run, "logit %u is %.9g, expected %.9g", id, (double)found[id], want[id]);
        best = found[id] > found[best] ? id : best;
    }
    is_good = is_good &&
              (entry.token == best || kt_fail(run, "token %u, expected %u", entry.token, best));
    free(want);
    free(bound);
    free(counts);
    free(found);
    return is_good;
}

// Steps of a text, a token after the other, the first at some position and index.
static bool run_values(struct kt_run *run, const struct value_case *test)
{
    struct adjusting a = {0};
    uint32_t tokens[N_TOKEN];
    bool is_good = begin(run, &a, test->n_vocab, test->n_window);
    run->state.adjust = test->bits;
    run->state.repeat_penalty = test->repeat;
    run->state.presence_penalty = test->presence;
    run->state.frequency_penalty = test->frequency;
    run->state.window_skip = (uint32_t)-100;
    fill_table(run, &a);
    is_good = is_good && kt_write(run, &a.adjust.range, 0, a.table, a.table_size) &&
              record(run, &a, gi_op_argmax);
    for (uint32_t i = 0; is_good && i < N_TOKEN; i++) {
        tokens[i] = i % 3 == 2 ? tokens[i - 1] : kt_index(run, test->n_vocab);
        run->state.token = tokens[i];
        // The first step is a prompt's of five tokens, which end in the first of the text.
        is_good = kt_replay(run, i == 0 ? 96 : 100 + i, i == 0 ? 5 : 1) &&
                  compare(run, &a, tokens, i + 1);
    }
    is_good = is_good && kt_bench(run, 1, 1, test->n_vocab * UINT64_C(12));
    finish(&a);
    return is_good;
}

static bool run_unsound(struct kt_run *run)
{
    const float wrong[] = {NAN, INFINITY, -INFINITY};
    bool is_good = true;
    struct adjusting a = {0};
    struct gi_ring_entry entry;
    is_good = begin(run, &a, 1000, 4) && record(run, &a, gi_op_argmax);
    run->state.adjust = GI_ADJUST_MASK; // bans all: what is wrong shows nevertheless
    for (uint32_t i = 0; is_good && i < COUNT(wrong); i++) {
        is_good = kt_write(run, &a.source, 321 * sizeof(float), &wrong[i], sizeof(float)) &&
                  kt_replay(run, 0, 1) && kt_read(run, &a.buffers.ring, 0, &entry, sizeof(entry)) &&
                  (entry.status == GI_RING_STATUS_NAN || kt_fail(run, "status %u", entry.status));
    }
    finish(&a);
    return is_good;
}

//-- statistics ------------------------------------------------------------------------------------

#define N_TINY  6
#define BANNED  4
#define N_PLACE (N_TINY * N_TINY) // of the two tokens before
#define N_EPOCH 50

static const struct share_case {
    const char *name;
    kt_step_op op;
    uint32_t top_k;
    float top_p;
} share_cases[] = {
    {"chi-square, all", gi_op_sample_full, 0, 1},
    {"chi-square, top_p", gi_op_sample_full, 0, 0.8F},
    {"chi-square, small k", gi_op_sample_small_k, 3, 1},
    {"chi-square, all of it", gi_op_sample_small_k, 6, 1}, // more than there are
};

static bool count_samples(struct kt_run *run, const struct adjusting *a,
                          uint32_t hits[N_PLACE][N_TINY])
{
    const size_t size = GI_RING_SLOTS * sizeof(struct gi_ring_entry);
    struct gi_ring_entry *ring = kt_alloc(GI_RING_SLOTS, sizeof(*ring));
    const uint32_t n_epoch =
        run->coverage ? N_EPOCH / 5 : N_EPOCH; // a fifth where cases are left out
    bool is_good = true;
    for (uint32_t epoch = 0; is_good && epoch < n_epoch; epoch++) {
        run->state.seed_lo = epoch;
        run->state.token = epoch % N_TINY;
        is_good = kt_write(run, &a->adjust.range, 0, a->table, a->table_size) &&
                  kt_step_chain(run, GI_RING_SLOTS) &&
                  kt_read(run, &a->buffers.ring, 0, ring, size);
        for (uint32_t i = 2; is_good && i < GI_RING_SLOTS; i++) {
            is_good = ring[i].status == GI_RING_STATUS_OK && ring[i].token < N_TINY;
            if (is_good) {
                hits[ring[i - 2].token * N_TINY + ring[i - 1].token][ring[i].token]++;
            }
        }
    }
    free(ring);
    return is_good || kt_fail(run, "a token could not be sampled");
}

// Fills the probability of each token after two others.
static void find_shares(const struct kt_run *run, const struct adjusting *a, uint32_t place,
                        double shares[N_TINY])
{
    const struct ref_filter filter = {.top_k = run->state.top_k, .top_p = run->state.top_p};
    const uint32_t before[] = {place / N_TINY, place % N_TINY};
    float logits[N_TINY];
    struct ref_candidate sorted[N_TINY];
    uint32_t n_allowed = 0;
    double sum = 0;
    for (uint32_t id = 0; id < N_TINY; id++) {
        const uint32_t count = (before[0] == id) + (before[1] == id);
        const double logit = adjust_logit(run, a, id, count);
        logits[id] = isinf(logit) ? -FLT_MAX : (float)logit;
        n_allowed += !isinf(logit);
        shares[id] = 0;
    }
    ref_sample_sort(logits, N_TINY, sorted);
    const uint32_t n = ref_sample_filter(sorted, n_allowed, &filter);
    for (uint32_t i = 0; i < n; i++) {
        shares[sorted[i].id] = exp(sorted[i].logit / run->state.temperature);
        sum += shares[sorted[i].id];
    }
    for (uint32_t i = 0; i < N_TINY; i++) {
        shares[i] /= sum;
    }
}

// Pearson's statistic of up to 25,600 tokens by the two before them, which are the window: up to
// 100 degrees of freedom exceed 170 once in 60,000. Tokens that cannot come never do.
static bool run_shares(struct kt_run *run, const struct share_case *test)
{
    static uint32_t hits[N_PLACE][N_TINY];
    struct adjusting a = {0};
    bool is_good = begin(run, &a, N_TINY, 2) && record(run, &a, test->op) && kt_seal(run);
    memset(hits, 0, sizeof(hits));
    run->state.adjust = GI_ADJUST_PENALTIES | GI_ADJUST_BIAS | GI_ADJUST_MASK;
    run->state.repeat_penalty = 1.5F;
    run->state.presence_penalty = 0.3F;
    run->state.frequency_penalty = 0.2F;
    run->state.temperature = 0.8F;
    run->state.top_k = test->top_k;
    run->state.top_p = test->top_p;
    for (uint32_t id = 0; id < N_TINY; id++) {
        a.values[id] = 0.4F * (float)id - 0.9F;
        set_bias(&a, id, id == 1 ? 0.7F : 0);
        if (id != BANNED) {
            allow(&a, id);
        }
    }
    is_good = is_good && kt_write(run, &a.source, 0, a.values, N_TINY * sizeof(float)) &&
              count_samples(run, &a, hits);
    double chi = 0;
    for (uint32_t place = 0; is_good && place < N_PLACE; place++) {
        double shares[N_TINY];
        uint32_t total = 0;
        find_shares(run, &a, place, shares);
        for (uint32_t id = 0; id < N_TINY; id++) {
            total += hits[place][id];
        }
        for (uint32_t id = 0; is_good && id < N_TINY; id++) {
            const double want = total * shares[id];
            chi += want > 0 ? (hits[place][id] - want) * (hits[place][id] - want) / want : 0;
            is_good = want > 0 || hits[place][id] == 0 ||
                      kt_fail(run, "token %u came after %u", id, place);
        }
    }
    finish(&a);
    return is_good && (chi < 170 || kt_fail(run, "chi-square %.1f", chi));
}

//-- the suite -------------------------------------------------------------------------------------

#define N_VALUE COUNT(value_cases)
#define N_SHARE COUNT(share_cases)

static void name_case(size_t index, char *text, size_t size)
{
    if (index < N_VALUE) {
        snprintf(text, size, "%s, %u", value_cases[index].name, value_cases[index].n_vocab);
    } else {
        snprintf(text, size, "%s",
                 index < N_VALUE + N_SHARE ? share_cases[index - N_VALUE].name : "unsound");
    }
}

static bool run_index(struct kt_run *run, size_t index)
{
    return index < N_VALUE             ? run_values(run, &value_cases[index])
           : index < N_VALUE + N_SHARE ? run_shares(run, &share_cases[index - N_VALUE])
                                       : run_unsound(run);
}

const struct kt_suite kt_adjust = {
    .kernel = "adjust",
    .n_case = N_VALUE + N_SHARE + 1,
    .name = name_case,
    .run = run_index,
};
