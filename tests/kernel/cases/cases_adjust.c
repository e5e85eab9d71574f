// Logits that are adjusted before a token is chosen; and steps one after the other without the host
// between them: what they sample, and how often.
#include "base/round.h"
#include "ops/record/rate.h"
#include "reference/reference.h"
#include "tests/kernel/cases/cases_step.h"
#include "tests/kernel/fixture/kernel_axes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct adjusting {
    struct gi_logits logits;
    struct gi_step_buffers buffers;
    struct gi_adjust adjust;
    float *values;   // (n_vocab): the logits before each step
    uint32_t *table; // as adjust.range has it
    uint64_t size, table_size;
};

static void init_adjusting(struct kt_run *run, struct adjusting *a, uint32_t n_vocab)
{
    memset(a, 0, sizeof(*a));
    a->size = gi_round_up(gi_logits_layout(&a->logits, n_vocab), GI_RATE_UNIT);
    a->table_size = gi_adjust_layout(&a->adjust, n_vocab, run->state.n_window);
    a->table = kt_alloc(a->table_size, 1);
    a->values = kt_alloc(a->size, 1);
}

static void set_bias(struct adjusting *a, uint32_t id, float bias)
{
    memcpy(&a->table[a->adjust.bias + id], &bias, sizeof(bias));
}

static void allow(struct adjusting *a, uint32_t id)
{
    a->table[a->adjust.mask + id / 32] |= 1u << id % 32;
}

// Records steps that adjust the values, of which they take a copy, then choose a token. Frees
// values and table.
static void record_steps(struct kt_run *run, struct adjusting *a, kt_step_op op)
{
    const struct gi_range source = kt_range(run, "source", a->values, a->size);
    a->logits.range = kt_range(run, "logits", a->values, a->size);
    a->adjust.range = kt_range(run, "table", a->table, a->table_size);
    a->buffers = (struct gi_step_buffers){run->step_state, kt_step_ring(run), run->step_counts};
    run->state.max_steps = UINT32_MAX;
    if (!run->has_failed) {
        gi_op_rate_copy(&run->recorder, a->logits.range, source);
        gi_op_adjust(&run->recorder, &a->adjust, &a->logits, &a->buffers);
        op(&run->recorder, &a->logits, &a->buffers);
    }
    free(a->values);
    free(a->table);
}

//-- values ----------------------------------------------------------------------------------------

enum { N_TOKEN = 7, ALL_BITS = GI_ADJUST_PENALTIES | GI_ADJUST_BIAS | GI_ADJUST_MASK };

static const struct setting {
    uint32_t n_window, bits;
    float repeat, presence, frequency;
} settings[] = {
    {4, 0, 1.1F, 0.5F, 0.25F},
    {4, GI_ADJUST_PENALTIES, 1.3F, 0, 0},
    {4, GI_ADJUST_PENALTIES, 0.5F, 0, 0},
    {3, GI_ADJUST_PENALTIES, 1, 0.75F, 0},
    {5, GI_ADJUST_PENALTIES, 1, 0, 1.5F},
    {5, GI_ADJUST_PENALTIES, 1, -2, -1.5F},
    {1, GI_ADJUST_PENALTIES, 1.1F, 1, 1},
    {N_TOKEN + 4, GI_ADJUST_PENALTIES, 1.1F, 1, 1},
    {4, GI_ADJUST_PENALTIES, 1e6F, 1e30F, 1e30F},
    {4, GI_ADJUST_BIAS, 1, 0, 0},
    {4, GI_ADJUST_MASK, 1, 0, 0},
    {4, ALL_BITS, 1.1F, 0.5F, 0.25F},
};
static const char *const setting_names[] = {
    "nothing",     "repeat",      "repeat below 1", "presence", "frequency", "negative",
    "window of 1", "long window", "huge",           "bias",     "mask",      "all"};
static const float wrong_values[] = {0, NAN, INFINITY, -INFINITY};
static const char *const wrong_names[] = {"sound", "one nan", "one infinite", "one -infinite"};

// Bans every third token by bias and every fifth by mask, but not the last.
static uint64_t record_adjust(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_vocab = v[1];
    const struct setting *s = &settings[v[2]];
    struct adjusting a;
    run->state.n_window = s->n_window;
    run->state.adjust = s->bits;
    run->state.repeat_penalty = s->repeat;
    run->state.presence_penalty = s->presence;
    run->state.frequency_penalty = s->frequency;
    run->state.window_skip = (uint32_t)-100;
    // The first step is a prompt's of five tokens, which end in the first of the text.
    run->state.n_past = 96;
    run->state.n_tokens = 5;
    init_adjusting(run, &a, n_vocab);
    kt_fill(run, a.values, n_vocab, -12, 12);
    for (uint32_t id = 0; id < n_vocab; id++) {
        const bool is_last = id + 1 == n_vocab;
        set_bias(&a, id, id % 3 == 1 && !is_last ? -INFINITY : kt_uniform(run, -3, 3));
        if (id % 5 != 2 || is_last) {
            allow(&a, id);
        }
    }
    if (v[0] > 0) {
        a.values[kt_index(run, n_vocab)] = wrong_values[v[0]];
    }
    run->state.stop[0] = n_vocab; // for next_token; not among n_stop
    record_steps(run, &a, gi_op_argmax);
    return n_vocab * UINT64_C(12);
}

// Adds a token to the text, every third one again.
static void next_token(struct kt_run *run, uint32_t i)
{
    run->state.token = i % 3 == 2 ? run->state.token : kt_index(run, run->state.stop[0]);
    run->state.window_skip += i > 0;
}

static const struct kt_axis adjust_axes[] = {KT_NAMED("values", 4, wrong_names),
                                             KT_NUMBERS("vocabulary", 2, 3, 33, 500, 1001, 70001),
                                             KT_NAMED("settings", COUNT(settings), setting_names)};
KT_DESCRIBE_REPEATED(adjust, adjust_axes, N_TOKEN, next_token);

//-- shares ----------------------------------------------------------------------------------------

#define N_TINY  6
#define BANNED  4
#define N_PLACE (N_TINY * N_TINY) // of the two tokens before
#define N_EPOCH 50

static const struct chain_case {
    const char *name;
    kt_step_op op;
    uint32_t top_k;
    float top_p;
} chain_cases[] = {
    {"all", gi_op_sample_full, 0, 1},
    {"top_p", gi_op_sample_full, 0, 0.8F},
    {"small k", gi_op_sample_small_k, 3, 1},
    {"all of a small k", gi_op_sample_small_k, 6, 1}, // more than there are
    {"chain, small k", gi_op_sample_small_k, 100, 0.9F},
    {"chain, full", gi_op_sample_full, 100, 0.9F},
    {"chain, probs", gi_op_sample_probs, 100, 0.9F},
};
enum { N_SHARE = 4 };

static void name_chain(const struct chain_case *test, char *text, size_t size)
{
    snprintf(text, size, "%s", test->name);
}

// Counts the tokens by the two before them; a fifth as many where cases are left out.
static bool count_samples(struct kt_run *run, const struct adjusting *a, const uint32_t *table,
                          uint32_t hits[N_PLACE][N_TINY])
{
    static struct gi_ring_entry ring[GI_RING_SLOTS];
    const uint32_t n_epoch = run->coverage ? N_EPOCH / 5 : N_EPOCH;
    bool is_good = true;
    for (uint32_t epoch = 0; is_good && epoch < n_epoch; epoch++) {
        run->state.seed_lo = epoch;
        run->state.token = epoch % N_TINY;
        is_good = kt_write(run, &a->adjust.range, 0, table, a->table_size) &&
                  kt_chain(run, GI_RING_SLOTS) &&
                  kt_read(run, &a->buffers.ring, 0, ring, sizeof(ring));
        for (uint32_t i = 2; is_good && i < GI_RING_SLOTS; i++) {
            is_good = (ring[i].status == GI_RING_STATUS_OK && ring[i].token < N_TINY) ||
                      kt_fail(run, "a token could not be sampled");
            if (is_good) {
                hits[ring[i - 2].token * N_TINY + ring[i - 1].token][ring[i].token]++;
            }
        }
    }
    return is_good;
}

static float value_of(uint32_t id)
{
    return 0.4F * (float)id - 0.9F;
}

// Fills the probability of each token after two others.
static void find_shares(const struct gi_step_state *state, uint32_t place, double shares[N_TINY])
{
    const struct gi_ref_filter filter = {.top_k = state->top_k, .top_p = (double)state->top_p};
    uint32_t ids[N_TINY], room[N_TINY], n_allowed = 0;
    float logits[N_TINY];
    double sum = 0;
    for (uint32_t id = 0; id < N_TINY; id++) {
        const float count = (float)((place / N_TINY == id) + (place % N_TINY == id));
        const float logit = value_of(id) + (id == 1 ? 0.7F : 0);
        const float scaled =
            logit > 0 ? logit / state->repeat_penalty : logit * state->repeat_penalty;
        logits[id] =
            count > 0 ? scaled - count * state->frequency_penalty - state->presence_penalty : logit;
        shares[id] = 0;
        if (id != BANNED) {
            ids[n_allowed++] = id;
        }
    }
    gi_ref_sort_ids(logits, ids, n_allowed, room);
    const uint32_t n = gi_ref_filter(logits, ids, n_allowed, &filter);
    for (uint32_t i = 0; i < n; i++) {
        shares[ids[i]] = exp((double)logits[ids[i]] / (double)state->temperature);
        sum += shares[ids[i]];
    }
    for (uint32_t i = 0; i < N_TINY; i++) {
        shares[i] /= sum;
    }
}

// Pearson's statistic of up to 25,600 tokens by the two before them, which are the window: up to
// 100 degrees of freedom exceed 170 once in 60,000. Tokens that cannot come never do.
static bool compare_shares(struct kt_run *run, uint32_t hits[N_PLACE][N_TINY])
{
    double chi = 0;
    bool is_good = true;
    for (uint32_t place = 0; is_good && place < N_PLACE; place++) {
        double shares[N_TINY];
        uint32_t total = 0;
        find_shares(&run->state, place, shares);
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
    return is_good && (chi < 170 || kt_fail(run, "chi-square %.1f", chi));
}

static bool run_shares(struct kt_run *run, const struct chain_case *test)
{
    uint32_t hits[N_PLACE][N_TINY] = {{0}};
    struct adjusting a;
    run->state.n_window = 2;
    run->state.adjust = ALL_BITS;
    run->state.repeat_penalty = 1.5F;
    run->state.presence_penalty = 0.3F;
    run->state.frequency_penalty = 0.2F;
    run->state.temperature = 0.8F;
    run->state.top_k = test->top_k;
    run->state.top_p = test->top_p;
    init_adjusting(run, &a, N_TINY);
    for (uint32_t id = 0; id < N_TINY; id++) {
        a.values[id] = value_of(id);
        set_bias(&a, id, id == 1 ? 0.7F : 0);
        if (id != BANNED) {
            allow(&a, id);
        }
    }
    uint32_t *table = kt_alloc(a.table_size, 1);
    memcpy(table, a.table, a.table_size);
    record_steps(run, &a, test->op);
    const bool is_good = !run->has_failed && kt_seal(run) && count_samples(run, &a, table, hits) &&
                         compare_shares(run, hits);
    free(table);
    return is_good;
}

//-- a chain ---------------------------------------------------------------------------------------

// A chain samples what single steps from the host sample.
static bool run_chain(struct kt_run *run, const struct chain_case *test)
{
    enum { N_STEP = 20, N_VOCAB = 1000, N_PROBS = 3 };
    float logits[N_VOCAB];
    uint8_t chained[N_STEP * sizeof(struct gi_ring_entry)], single[sizeof(chained)];
    struct kt_step step;
    kt_fill(run, logits, N_VOCAB, -2, 2);
    run->state.temperature = 1;
    run->state.top_k = test->top_k;
    run->state.top_p = test->top_p;
    run->state.n_probs = N_PROBS;
    run->state.seed_lo = 77;
    if (!kt_step_init(run, &step, logits, N_VOCAB, &(struct kt_partial_rows){16, 1, 0})) {
        return false;
    }
    test->op(&run->recorder, &step.logits, &step.buffers);
    bool is_good = kt_seal(run) && kt_chain(run, N_STEP) &&
                   kt_read(run, &step.buffers.ring, 0, chained, sizeof(chained));
    for (uint32_t i = 0; is_good && i < N_STEP; i++) {
        run->state.step = i;
        is_good = kt_replay(run, i, 1);
    }
    is_good = is_good && kt_read(run, &step.buffers.ring, 0, single, sizeof(single));
    return is_good && (memcmp(single, chained, sizeof(single)) == 0 ||
                       kt_fail(run, "a chain differs from single steps"));
}

static bool run_steps(struct kt_run *run, const struct chain_case *test)
{
    return test - chain_cases < N_SHARE ? run_shares(run, test) : run_chain(run, test);
}

KT_TABLE(step_chain, "step_chain", chain_cases, name_chain, run_steps);
