// Checks of the choice of the next token: the kernels of glsl/sample.
#include "engine/selftest/test_case.h"
#include "glsl/sample/sample_params.h"
#include "ops/sample/sample.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

// Returns the first word of Philox4x32-10 with this key and the counter {position, id, 0, 0}.
static uint32_t philox(uint32_t key_lo, uint32_t key_hi, uint32_t position, uint32_t id)
{
    uint32_t c[4] = {position, id, 0, 0};
    for (uint32_t round = 0; round < 10; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key_lo, (uint32_t)b,
                                  (uint32_t)(a >> 32) ^ c[3] ^ key_hi, (uint32_t)a};
        for (uint32_t i = 0; i < 4; i++) {
            c[i] = next[i];
        }
        key_lo += 0x9E3779B9u;
        key_hi += 0xBB67AE85u;
    }
    return c[0];
}

// Returns the score by which a token is sampled (glsl/sample/sampler.glsl).
static double score_of(const struct gi_test *test, const float *logits, uint32_t id)
{
    const struct gi_step_state *state = &test->state;
    const uint32_t position = state->n_past + state->n_tokens;
    const double u = (philox(state->seed_lo, state->seed_hi, position, id) + 0.5) / 4294967296.0;
    return logits[id] / state->temperature - log(-log1p(-u));
}

// Returns the logit of rank `rank`; logits that are equal have ranks of their own.
static float ranked(const float *logits, uint32_t n, uint32_t rank)
{
    float above = INFINITY, value = INFINITY;
    for (uint32_t taken = 0; taken <= rank;) {
        uint32_t n_equal = 0;
        value = -INFINITY;
        for (uint32_t i = 0; i < n; i++) {
            value = logits[i] < above && logits[i] > value ? logits[i] : value;
        }
        for (uint32_t i = 0; i < n; i++) {
            n_equal += logits[i] == value;
        }
        if (n_equal == 0) {
            break;
        }
        taken += n_equal;
        above = value;
    }
    return value;
}

static void check_probs(struct gi_test *test, const float *logits, uint32_t n,
                        const struct gi_ring_entry *entry)
{
    const double largest = ranked(logits, n, 0);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += exp(logits[i] - largest);
    }
    for (uint32_t i = 0; i < test->state.n_probs && i < n; i++) {
        const uint32_t id = entry->probs[i].id < n ? entry->probs[i].id : 0;
        gi_test_expect(test, "logit of a likely token", i, ranked(logits, n, i), 1, logits[id]);
        gi_test_expect(test, "log-probability", i, logits[id] - largest - log(sum),
                       1 + fabs((double)logits[id]), entry->probs[i].logprob);
    }
}

static bool is_stop(const struct gi_step_state *state, uint32_t id)
{
    bool is_stop = false;
    for (uint32_t i = 0; i < state->n_stop; i++) {
        is_stop = is_stop || state->stop[i] == id;
    }
    return is_stop;
}

// Expects the token to have the best score, or nearly, of those that pass the filters.
static void check_token(struct gi_test *test, const float *logits, uint32_t n, bool is_greedy,
                        uint32_t token)
{
    const struct gi_step_state *state = &test->state;
    const float largest = ranked(logits, n, 0);
    const float least = state->top_k > 0 ? ranked(logits, n, state->top_k - 1) : -INFINITY;
    const double lowest = state->min_p > 0 ? largest + log((double)state->min_p) : -INFINITY;
    double best = -INFINITY;
    token = token < n ? token : 0;
    if (is_greedy) {
        uint32_t first = UINT32_MAX; // the lowest id of the largest logit
        for (uint32_t i = 0; i < n; i++) {
            const bool is_banned = state->ban_stop && is_stop(state, i);
            first = !is_banned && (first == UINT32_MAX || logits[i] > logits[first]) ? i : first;
        }
        gi_test_expect(test, "token", 0, first, 0, token);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (logits[i] >= least && logits[i] >= lowest) {
            best = fmax(best, score_of(test, logits, i));
        }
    }
    const bool is_passed = logits[token] >= least && logits[token] >= lowest - 1e-3;
    gi_test_expect(test, "score of the token", token, best, 10 + fabs(best),
                   is_passed ? (float)score_of(test, logits, token) : NAN);
}

// Runs the dispatch and reads the ring's entry of the step.
static const struct gi_ring_entry *run_step(struct gi_test *test)
{
    const size_t n = sizeof(struct gi_ring_entry) / sizeof(uint32_t);
    gi_test_write_state(test);
    gi_test_run(test);
    return (const void *)gi_test_words(test, 0, n * (test->state.step % GI_RING_SLOTS), n);
}

// Expects the counts of an indirect list to be those of the next step, or none after the last.
static void expect_counts(struct gi_test *test, uint32_t n_past, bool is_done)
{
    const struct gi_grid_slot *slots =
        (const void *)gi_test_words(test, 3, 0, GI_MAX_SLOTS * sizeof(*slots) / sizeof(uint32_t));
    for (uint32_t i = 0; slots && i < GI_MAX_SLOTS; i++) {
        const uint32_t axis = slots[i].axis_divisor >> 30;
        const uint32_t divisor = slots[i].axis_divisor & 0x3FFFFFFFu;
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t most = slots[i].size[k];
            uint32_t count = most;
            if (slots[i].rule != GI_GRID_FIXED && k == axis) {
                count = slots[i].rule == GI_GRID_TOKENS ? 1 : (n_past + divisor) / divisor;
                count = most > 0 && count > most ? most : count;
            }
            gi_test_expect(test, "groups of a grid", 3 * i + k, is_done ? 0 : count, 0,
                           slots[i].count[k]);
        }
    }
}

// Expects all of a step's end: the ring's entry, step_state and the counts of grids.
static void expect_end(struct gi_test *test, const struct gi_ring_entry *entry, bool is_done)
{
    struct gi_step_state expected = test->state;
    const size_t n = sizeof(expected) / sizeof(uint32_t);
    const uint32_t *state = gi_test_words(test, 2, 0, n);
    uint32_t words[sizeof(expected) / sizeof(uint32_t)];
    gi_test_expect(test, "status", 0, GI_RING_STATUS_OK, 0, entry->status);
    gi_test_expect(test, "step in the ring", 0, test->state.step, 0, entry->step);
    gi_test_expect(test, "epoch in the ring", 0, test->state.epoch, 0, entry->epoch);
    expected.token = entry->token;
    expected.n_past += expected.n_tokens;
    expected.n_tokens = 1;
    expected.step++;
    expected.done = is_done;
    memcpy(words, &expected, sizeof(words));
    for (size_t i = 0; state && i < n; i++) {
        gi_test_expect(test, "step_state", i, words[i], 0, state[i]);
    }
    if (gi_test_define(test, "HAS_COUNTS")) {
        expect_counts(test, expected.n_past, is_done);
    }
}

// Ends the answer by each of the reasons: the last of the stop ids, the last step; of a greedy
// choice a stop id may be banned, too.
static void check_ends(struct gi_test *test, const float *logits, bool is_greedy, uint32_t token)
{
    const struct gi_argmax_params *params = (const void *)test->params;
    const struct gi_step_state plain = test->state;
    const struct gi_ring_entry *entry;
    test->state.n_stop = 6;
    for (uint32_t i = 0; i < test->state.n_stop; i++) {
        test->state.stop[i] = i == 5 ? token : (token + 1 + i) % params->n_vocab;
    }
    if ((entry = run_step(test))) {
        gi_test_expect(test, "token before a stop", 0, token, 0, entry->token);
        expect_end(test, entry, true);
    }
    test->state.ban_stop = 1;
    if (is_greedy && (entry = run_step(test))) {
        check_token(test, logits, params->n_vocab, true, entry->token);
        expect_end(test, entry, false);
    }
    test->state = plain;
    test->state.max_steps = test->state.step + 1;
    if ((entry = run_step(test))) {
        expect_end(test, entry, true);
    }
    test->state = plain;
    gi_test_write_state(test);
}

// Makes each of some partial results the largest, which an argmax has to find.
static void check_partials(struct gi_test *test)
{
    const struct gi_argmax_params *params = (const void *)test->params;
    const uint32_t n = params->n_partial, n_id = params->n_vocab;
    const uint32_t places[] = {0, 1, 2, 3, 5, 7, n / 4, n / 2, n - 2, n - 1};
    uint32_t *before = gi_test_words(test, 1, params->partial, 2 * (size_t)n);
    uint32_t *words = gi_test_memory(test, 2 * (size_t)n, sizeof(*words));
    for (uint32_t k = 0; before && words && k < sizeof(places) / sizeof(places[0]); k++) {
        const uint32_t place = places[k] < n ? places[k] : 0, n_memory = test->n_memory;
        for (uint32_t i = 0; i < n; i++) { // all others are alike
            const float value = i == place ? 2.0f : k % 2 ? -1.0f : 1.0f;
            memcpy(&words[(size_t)2 * i], &value, sizeof(value));
            words[2 * i + 1] = (n_id - 1 - i * 7 % n_id) % n_id;
        }
        gi_test_write(test, 1, params->partial, words, 2 * (size_t)n);
        const struct gi_ring_entry *entry = run_step(test);
        if (entry) {
            gi_test_expect(test, "token of a partial result", place, words[2 * place + 1], 0,
                           entry->token);
        }
        gi_test_rewind(test, n_memory);
    }
    gi_test_write(test, 1, params->partial, before, 2 * (size_t)n);
}

void gi_check_sampled(struct gi_test *test)
{
    const struct gi_argmax_params *params = (const void *)test->params;
    const enum gi_program_id id = test->key->id;
    const bool is_greedy = id >= GI_PROGRAM_ARGMAX_64 && id <= GI_PROGRAM_ARGMAX_1024;
    const float *logits = gi_test_floats(test, 1, 0, params->n_vocab);
    const struct gi_ring_entry *entry = run_step(test);
    if (!entry) {
        return;
    }
    if (gi_test_define(test, "PROBS") && id <= GI_PROGRAM_TOP_K_1024) {
        check_probs(test, logits, params->n_vocab, entry);
        return;
    }
    check_token(test, logits, params->n_vocab, is_greedy, entry->token);
    expect_end(test, entry, false);
    check_ends(test, logits, is_greedy, entry->token);
    if (is_greedy) {
        check_partials(test);
    }
}

// Fills the table: biases, bans by bias and mask, and a window in which every even token is twice.
static void fill_adjustments(struct gi_test *test, const struct gi_adjust_params *params,
                             uint32_t *table, size_t n_word)
{
    const struct gi_range *range = &test->dispatch->bindings[0];
    const float ban = -INFINITY;
    const uint32_t n_even = params->n_vocab & ~1u;
    for (size_t i = 0; i < n_word; i++) {
        table[i] = i >= params->window ? (uint32_t)(2 * (i - params->window) % n_even)
                   : i >= params->mask ? 0xFFFF7FF7u
                                       : 2 - 2 * (uint32_t)(i % 2);
    }
    for (uint32_t id = 0; id < params->n_vocab; id++) {
        const float bias = id % 11 == 5 ? ban : (float)(id % 7) / 8 - 0.5f;
        memcpy(&table[params->bias + id], &bias, sizeof(bias));
    }
    test->has_failed =
        test->has_failed || !gi_buffer_write(range->buffer, test->gpu, range->offset, table,
                                             n_word * sizeof(*table), test->err);
}

// Returns what a logit is to become, with the window's step at its token and the one that leaves.
static double adjust_logit(const struct gi_test *test, const struct gi_adjust_params *params,
                           const uint32_t *table, uint32_t id, double logit)
{
    const struct gi_step_state *state = &test->state;
    const uint32_t index = state->n_past + state->n_tokens - 1 + state->window_skip;
    const uint32_t oldest = index >= state->n_window
                                ? table[params->window + (index - state->n_window) % params->n_slot]
                                : UINT32_MAX;
    const uint32_t count = table[id] + (id == state->token) - (id == oldest);
    float bias;
    memcpy(&bias, &table[params->bias + id], sizeof(bias));
    if (!(bias > -INFINITY) || !(table[params->mask + id / 32] >> id % 32 & 1)) {
        return -INFINITY;
    }
    logit += bias;
    const double scaled = logit > 0 ? logit / state->repeat_penalty : logit * state->repeat_penalty;
    return count == 0 ? logit : scaled - count * state->frequency_penalty - state->presence_penalty;
}

// Compares the adjusted logits and the largest one among the partial results. In tests of other
// lists the table is not filled, so nothing is adjusted.
void gi_check_adjusted(struct gi_test *test)
{
    const struct gi_adjust_params *params = (const void *)test->params;
    const uint32_t n = params->n_vocab, n_partial = test->dispatch->grid.size[0] * params->n_part;
    const size_t n_word = params->window + (size_t)params->n_slot;
    uint32_t *table = gi_test_memory(test, n_word, sizeof(*table));
    const float *before = gi_test_floats(test, 1, 0, n);
    if (!table || !before) {
        return;
    }
    const struct gi_step_state plain = test->state;
    fill_adjustments(test, params, table, n_word);
    test->state.adjust = GI_ADJUST_PENALTIES | GI_ADJUST_BIAS | GI_ADJUST_MASK;
    test->state.n_window = 2;
    test->state.repeat_penalty = 1.25f;
    test->state.presence_penalty = 0.5f;
    test->state.frequency_penalty = 0.25f;
    gi_test_write_state(test);
    gi_test_run(test);
    const float *after = gi_test_floats(test, 1, 0, n);
    const float *partials = gi_test_floats(test, 1, params->partial, 2 * (size_t)n_partial);
    float largest = -INFINITY;
    for (uint32_t i = 0; after && i < n; i++) {
        const double want = adjust_logit(test, params, table, i, before[i]);
        const bool is_banned = !(want > -INFINITY) && !(after[i] > -INFINITY);
        gi_test_expect(test, "adjusted logit", i, is_banned ? 0 : want, 4 + fabs((double)before[i]),
                       is_banned ? 0 : after[i]);
    }
    for (uint32_t i = 0; partials && i < n_partial; i++) {
        largest = fmaxf(largest, partials[2 * (size_t)i]);
    }
    if (after && partials) {
        gi_test_expect(test, "largest partial result", 0, ranked(after, n, 0), 0, largest);
    }
    test->state = plain;
    gi_test_write_state(test);
}

// Logits that fall from the largest step by step, a bin and a half each, and then again: each bin
// that has any has those of one step, which are several, and none near its edge.
#define LARGEST   2.0
#define MAX_STEPS 640u // the last are in the last bin

static double distance_of(uint32_t step)
{
    return step == 0 ? 0 : (6 * step + 1) / 64.0;
}

static uint32_t bin_of(uint32_t step)
{
    return (uint32_t)(distance_of(step) * 16);
}

struct head {
    double count, mass;
};

// Returns how many logits there are before a step, and how heavy they are.
static struct head head_of(uint32_t n, uint32_t n_step, uint32_t end)
{
    struct head head = {0, 0};
    for (uint32_t step = 0; step < end; step++) {
        const uint32_t count = (n - 1 - step) / n_step + 1;
        head.count += count;
        head.mass += count * exp(-distance_of(step));
    }
    return head;
}

static void write_logits(struct gi_test *test, const uint32_t *words, size_t n_word)
{
    const struct gi_range *range = &test->dispatch->bindings[1];
    test->has_failed =
        test->has_failed || !gi_buffer_write(range->buffer, test->gpu, range->offset, words,
                                             n_word * sizeof(*words), test->err);
}

// The mass is a sum of integers, so a magnitude of an eighth is enough and shows a lost carry.
static void expect_mass(struct gi_test *test, const char *what, double want, const uint32_t word[2])
{
    const double got = (word[1] + word[0] / 4294967296.0) / 4096;
    gi_test_expect(test, what, 0, want, (1 + want) / 8, got);
}

// Runs the dispatch with a cut by number or none, and one by mass or none, each in the middle of a
// bin, and compares what glsl/sample/scratch.glsl says it leaves.
static void expect_cuts(struct gi_test *test, uint32_t n_step, bool has_number, bool has_mass)
{
    const struct gi_argmax_params *params = (const void *)test->params;
    const uint32_t n = params->n_vocab, by_number = n_step / 2, by_mass = n_step / 64 + 1;
    const uint32_t last = has_number ? by_number : by_mass, first = has_mass ? by_mass : by_number;
    const bool has_any = has_number || has_mass;
    const struct head before = head_of(n, n_step, first), to = head_of(n, n_step, last + 1);
    const double whole = head_of(n, n_step, has_number ? by_number : n_step).mass;
    const double goal = before.mass + (head_of(n, n_step, first + 1).mass - before.mass) / 2;
    test->state.temperature = 1;
    test->state.min_p = 0;
    test->state.top_k = has_number ? (uint32_t)head_of(n, n_step, by_number).count + 1 : 0;
    test->state.top_p = has_mass ? (float)(goal / whole) : 1;
    gi_test_write_state(test);
    gi_test_run(test);
    const uint32_t *zeros = gi_test_words(test, 1, params->scratch, GI_SAMPLE_ZEROS);
    const uint32_t *found = gi_test_words(test, 1, params->scratch + GI_SAMPLE_ZEROS, 11);
    if (!zeros || !found) {
        return;
    }
    const uint32_t wanted[] = {0xC0000000u, // the key of 2.0
                               (n - 1) % n_step,
                               has_any ? bin_of(first) : 512,
                               has_any ? bin_of(last) + 1 : 512,
                               has_any ? (uint32_t)(to.count - before.count) : 0,
                               has_any ? (uint32_t)before.count : 0};
    for (uint32_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        gi_test_expect(test, i < 2 ? "key, id of the largest" : "cuts", i, wanted[i], 0, found[i]);
    }
    expect_mass(test, "mass before the cuts", has_mass ? before.mass : 0, found + 6);
    gi_test_expect(test, "cut by number ends with a bin", 0, !has_number, 0, found[8]);
    expect_mass(test, "mass that the cuts leave", has_mass ? goal : 0, found + 9);
    for (uint32_t i = 0; i < GI_SAMPLE_ZEROS; i++) {
        gi_test_expect(test, "zeros", i, 0, 0, zeros[i]);
    }
}

// The cuts among logits that are written here, with partial results. Those without cuts are the
// last: what reads them next is tested so.
void gi_check_full_bins(struct gi_test *test)
{
    const struct gi_argmax_params *params = (const void *)test->params;
    const uint32_t n = params->n_vocab, n_step = n / 2 < MAX_STEPS ? n / 2 : MAX_STEPS;
    const size_t n_word = params->scratch + (size_t)GI_SAMPLE_ZEROS;
    uint32_t *words = gi_test_memory(test, n_word, sizeof(*words));
    if (!words || n < 8) { // too few for two cuts
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const float logit = (float)(LARGEST - distance_of((n - 1 - i) % n_step));
        memcpy(&words[i], &logit, sizeof(logit));
    }
    for (uint32_t i = 0; i < params->n_partial; i++) {
        words[params->partial + 2 * i + 1] = (n - 1) % n_step;
        words[params->partial + 2 * i] = words[(n - 1) % n_step];
    }
    for (uint32_t cuts = 4; cuts-- > 0;) {
        write_logits(test, words, n_word);
        expect_cuts(test, n_step, cuts & 1, cuts & 2);
    }
    if (*test->where) { // zeros, which another program begins with
        write_logits(test, words, n_word);
    }
}
