// The choice of a transcript's token: under rules of all kinds, and what it makes of them.
#include "ops/sample/speech_choice.h"
#include "tests/kernel/fixture/kernel_axes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum values { NEAR, FAR, EQUAL, TIMES_LIKELY, UNSOUND, N_VALUES };
static const char *const value_names[] = {"near", "far", "equal", "times likely", "one infinite"};
enum rules { START, ANY, TEXT_ALONE, TIMES_ALONE, NOTHING, N_RULES };
static const char *const rule_names[] = {"at the start", "any", "text alone", "times alone",
                                         "nothing"};
enum place { FIRST, AFTER_TEXT, AFTER_TIME, LAST, STOP, N_PLACES };
static const char *const place_names[] = {"first", "after text", "after a time", "last", "stop"};

// The last fifth of n ids are timestamps, and `end` comes a little before them.
static struct gi_speech_tokens tokens_of(uint32_t n)
{
    const uint32_t time = n - n / 5 - 1;
    return (struct gi_speech_tokens){.end = time - time / 8, .time = time, .no_speech = time - 1};
}

static struct gi_speech_rules rules_of(enum rules kind, uint32_t n)
{
    const struct gi_speech_tokens tokens = tokens_of(n);
    struct gi_speech_rules rules = {0, tokens.end + 1, tokens.time, n, UINT32_MAX, n};
    switch (kind) {
    case START:
        rules.banned = n / 3;
        rules.text_end--;
        break;
    case TEXT_ALONE:
        rules.time_begin = rules.time_end = (tokens.time + n) / 2;
        break;
    case TIMES_ALONE:
        rules.text_begin = tokens.end;
        rules.time_begin = (tokens.time + n) / 2;
        break;
    case NOTHING:
        rules.text_end = rules.time_end = 0;
        break;
    default:
        break;
    }
    return rules;
}

static struct gi_logits random_logits(struct kt_run *run, uint32_t n, enum values values,
                                      const struct gi_speech_rules *rules)
{
    struct gi_logits logits = {0};
    const size_t n_word = gi_logits_layout(&logits, n) / sizeof(uint32_t);
    const uint32_t time = tokens_of(n).time;
    float *words = kt_alloc(n_word, sizeof(*words));
    for (uint32_t i = 0; i < n_word; i++) {
        const float limit = values == FAR ? 1e4F : 12;
        words[i] = i >= n ? NAN : values == EQUAL ? 3 : kt_uniform(run, -limit, limit);
        words[i] += values == TIMES_LIKELY && i >= time ? 9.0F : 0.0F;
    }
    if (values == UNSOUND) {
        words[n / 2] = -INFINITY;
    }
    logits.range = kt_range(run, "logits", words, n_word * sizeof(*words));
    free(words);
    const struct gi_range range = gi_speech_rules_range(&logits);
    kt_write(run, &logits.range, range.offset - logits.range.offset, rules, sizeof(*rules));
    return logits;
}

static struct gi_adjust random_adjust(struct kt_run *run, uint32_t n)
{
    struct gi_adjust adjust = {0};
    const size_t n_word = gi_adjust_layout(&adjust, n, 8) / sizeof(uint32_t);
    uint32_t *words = kt_alloc(n_word, sizeof(*words));
    for (size_t i = 0; i < n_word; i++) {
        words[i] = kt_bits(run) & 0x88888888; // an eighth is suppressed
    }
    adjust.range = kt_range(run, "table", words, n_word * sizeof(*words));
    free(words);
    return adjust;
}

// Sets the place of the step; the ids that stop are all of the text and some timestamps.
static void set_place(struct kt_run *run, enum place place, uint32_t n)
{
    const struct gi_speech_tokens tokens = tokens_of(n);
    run->state.epoch = 11;
    run->state.step = place == FIRST ? 0 : 500 + kt_index(run, 30);
    run->state.token = place == AFTER_TIME ? tokens.time + kt_index(run, n - tokens.time)
                                           : kt_index(run, tokens.time);
    run->state.max_steps = place == LAST ? run->state.step + 1 : UINT32_MAX;
    run->state.n_stop = place == STOP ? GI_MAX_STOP_IDS : 0;
    for (uint32_t i = 0; i < GI_MAX_STOP_IDS; i++) {
        run->state.stop[i] = n - 1 - i * (n / GI_MAX_STOP_IDS);
    }
}

static uint64_t record_speech_choice(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n = v[0];
    const struct gi_speech_tokens tokens = tokens_of(n);
    const struct gi_speech_rules rules = rules_of((enum rules)v[1], n);
    const struct gi_logits logits = random_logits(run, n, (enum values)v[2], &rules);
    const struct gi_adjust adjust = random_adjust(run, n);
    const struct gi_step_buffers step = {
        .state = run->step_state,
        .ring = kt_range(run, "ring", NULL, GI_RING_SLOTS * sizeof(struct gi_ring_entry)),
        .counts = run->step_counts,
    };
    set_place(run, (enum place)v[3], n);
    gi_op_speech_choice(&run->recorder, &tokens, &adjust, &logits, &step);
    return 4ull * n + n / 8;
}

static const struct kt_axis speech_axes[] = {
    KT_NUMBERS("vocabulary", 5, 129, 3000, 51865), KT_NAMED("rules", N_RULES, rule_names),
    KT_NAMED("values", N_VALUES, value_names), KT_NAMED("place", N_PLACES, place_names)};
KT_DESCRIBE(speech_choice, speech_axes);
