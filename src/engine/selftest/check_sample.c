// Checks of the choice of the next token: the kernels of glsl/sample, with inputs and states that
// find more than those of a list.
#include "base/round.h"
#include "engine/selftest/test_case.h"
#include "glsl/sample/sample_params.h"

#include <math.h>
#include <string.h>

// Compares the dispatch with its reference in test->state.
static void compare(struct gi_test *test)
{
    gi_test_write_state(test);
    gi_test_compare(test, 1);
}

// Ends the answer by each of the reasons: the last of the stop ids, the last step; of a greedy
// choice a stop id may be banned, too.
static void check_ends(struct gi_test *test, bool is_greedy)
{
    const struct gi_argmax_params *params = (const void *)test->params;
    const struct gi_step_state plain = test->state;
    const size_t n_word = sizeof(struct gi_ring_entry) / sizeof(uint32_t);
    const uint32_t *entry = gi_test_words(test, 0, n_word * (plain.step % GI_RING_SLOTS), 1);
    const uint32_t token = entry ? *entry : 0;
    test->state.n_stop = 6;
    for (uint32_t i = 0; i < test->state.n_stop; i++) {
        test->state.stop[i] = i == 5 ? token : (token + 1 + i) % params->n_vocab;
    }
    compare(test);
    if (is_greedy) {
        test->state.ban_stop = 1;
        compare(test);
    }
    test->state = plain;
    test->state.max_steps = test->state.step + 1;
    compare(test);
    test->state = plain;
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
        const uint32_t place = places[k] < n ? places[k] : 0;
        for (uint32_t i = 0; i < n; i++) { // all others are alike
            const float value = i == place ? 2.0f : k % 2 ? -1.0f : 1.0f;
            memcpy(&words[(size_t)2 * i], &value, sizeof(value));
            words[2 * i + 1] = (n_id - 1 - i * 7 % n_id) % n_id;
        }
        gi_test_write(test, 1, params->partial, words, 2 * (size_t)n);
        compare(test);
    }
    gi_test_write(test, 1, params->partial, before, 2 * (size_t)n);
}

void gi_check_sampled(struct gi_test *test)
{
    const enum gi_program_id id = test->key->id;
    const bool is_greedy = id >= GI_PROGRAM_ARGMAX_64 && id <= GI_PROGRAM_ARGMAX_1024;
    compare(test);
    if (gi_test_define(test, "PROBS") && id <= GI_PROGRAM_TOP_K_1024) {
        return; // which does not end the step
    }
    check_ends(test, is_greedy);
    if (is_greedy) {
        check_partials(test);
    }
    gi_test_write_state(test);
}

// Fills the table: biases, bans by bias and mask, and a window in which every even token is twice.
static void fill_adjustments(struct gi_test *test, const struct gi_adjust_params *params,
                             uint32_t *table, size_t n_word)
{
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
    gi_test_write(test, 0, 0, table, n_word);
}

// In tests of other lists the table is not filled, so nothing is adjusted.
void gi_check_adjusted(struct gi_test *test)
{
    const struct gi_adjust_params *params = (const void *)test->params;
    const size_t n_word = params->window + (size_t)params->n_slot;
    const struct gi_step_state plain = test->state;
    uint32_t *table = gi_test_memory(test, n_word, sizeof(*table));
    if (table) {
        fill_adjustments(test, params, table, n_word);
        test->state.adjust = GI_ADJUST_PENALTIES | GI_ADJUST_BIAS | GI_ADJUST_MASK;
        test->state.n_window = 2;
        test->state.repeat_penalty = 1.25f;
        test->state.presence_penalty = 0.5f;
        test->state.frequency_penalty = 0.25f;
        compare(test);
    }
    test->state = plain;
    gi_test_write_state(test);
}

// Logits that fall from the largest step by step, a bin and a half each, and then again: each bin
// that has any has those of one step, which are several, and none near its edge.
#define LARGEST   2.0
#define MAX_STEPS 640u // the last are in the last bin

static float step_logit(uint32_t step)
{
    return (float)(step == 0 ? LARGEST : LARGEST - (6 * step + 1) / 64.0);
}

// Compares the cuts among logits that are written here, with partial results: a cut by number in
// the middle of a bin or none, and one by mass or none. Those without cuts are the last: what reads
// them next is tested so.
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
        const float logit = step_logit((n - 1 - i) % n_step);
        memcpy(&words[i], &logit, sizeof(logit));
    }
    for (uint32_t i = 0; i < params->n_partial; i++) {
        words[params->partial + 2 * i + 1] = (n - 1) % n_step;
        words[params->partial + 2 * i] = words[(n - 1) % n_step];
    }
    test->state.temperature = 1;
    test->state.min_p = 0;
    for (uint32_t cuts = 4; cuts-- > 0;) {
        const uint32_t before = n_step / 2 * (n / n_step); // or more
        test->state.top_k = cuts & 1 ? before + gi_min_u32(n_step / 2, n % n_step) + 1 : 0;
        test->state.top_p = cuts & 2 ? 0.6f : 1;
        gi_test_write(test, 1, 0, words, n_word);
        compare(test);
    }
    if (*test->where) { // zeros, which another program begins with
        gi_test_write(test, 1, 0, words, n_word);
    }
}
