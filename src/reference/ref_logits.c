// Logits of several rows, how likely tokens are, and the choice of a transcript's token:
// glsl/sample.
#include "glsl/sample/sample_params.h"
#include "ops/sample/speech_choice.h"
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

//-- kinds of tokens in a transcript --------------------------------------------------------------

// The sums of glsl/lib/speech_kinds.glsl.
enum { TEXT, TIMES, OTHERS, N_KINDS };
enum { KIND_WORDS = 3, GROUP_WORDS = 12, RULE_WORDS = 6 };
#define NO_ID   UINT32_MAX
#define UNSOUND (UINT32_MAX - 1)

struct kind {
    double most, sum;
    uint32_t id; // NO_ID: empty
};

static const struct kind empty = {.most = -(double)FLT_MAX, .id = NO_ID};

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// Adds tokens whose ids are above those of the kind.
static void add(struct kind *kind, double most, uint32_t id, double sum)
{
    const bool is_larger = kind->id == NO_ID || most > kind->most;
    const double larger = is_larger ? most : kind->most;
    kind->sum = kind->sum * exp(kind->most - larger) + sum * exp(most - larger);
    kind->most = larger;
    kind->id = is_larger ? id : kind->id;
}

static struct gi_speech_rules read_rules(struct gi_ref *ref, uint32_t at)
{
    struct gi_speech_rules rules = {0};
    const float *words = gi_ref_floats(ref, 1, at, RULE_WORDS);
    if (words) {
        memcpy(&rules, words, sizeof(rules));
    }
    return rules;
}

// Writes rules under which a vocabulary has some of each kind.
static void write_rules(struct gi_ref *ref, uint32_t at, uint32_t n_vocab)
{
    const struct gi_speech_rules rules = {
        .text_end = n_vocab - n_vocab / 4,
        .time_begin = n_vocab - n_vocab / 8,
        .time_end = n_vocab,
        .banned = n_vocab / 2,
        .most_time = n_vocab,
    };
    gi_ref_write(ref, 1, at, RULE_WORDS, &rules);
}

//-- speech_sums -----------------------------------------------------------------------------------

static int kind_of(const struct gi_speech_rules *rules, const uint32_t *suppressed, uint32_t id)
{
    if (id == rules->banned || (suppressed[id / 32] >> id % 32 & 1)) {
        return OTHERS;
    }
    return id >= rules->text_begin && id < rules->text_end   ? TEXT
           : id >= rules->time_begin && id < rules->time_end ? TIMES
                                                             : OTHERS;
}

static void expect_group(struct gi_ref *ref, const struct kind kinds[N_KINDS], bool is_sound,
                         uint64_t at)
{
    for (int k = 0; k < N_KINDS; k++, at += KIND_WORDS) {
        gi_ref_expect(ref, "largest logit", 1, at, kinds[k].most, 0);
        gi_ref_expect_bits(ref, "id of the largest logit", 1, at + 1,
                           k == TEXT && !is_sound ? UNSOUND : kinds[k].id);
        gi_ref_expect(ref, "sum of a kind", 1, at + 2, kinds[k].sum, kinds[k].sum);
    }
}

void gi_ref_speech_sums(struct gi_ref *ref)
{
    const struct gi_speech_sums_params *p = ref->params;
    const uint32_t n_group = ref->dispatch->grid.size[0], n_bits = (p->n_vocab + 31) / 32;
    const uint32_t share = (p->n_vocab - 1) / n_group + 1;
    if (ref->is_sampled) {
        write_rules(ref, p->rules, p->n_vocab);
        gi_ref_fill(ref, 0, p->suppressed, n_bits, 0x77777777, 0);
    }
    const struct gi_speech_rules rules = read_rules(ref, p->rules);
    const void *suppressed = gi_ref_floats(ref, 0, p->suppressed, n_bits);
    const float *logits = gi_ref_floats(ref, 1, 0, p->n_vocab);
    for (uint32_t group = 0; suppressed && logits && group < n_group; group++) {
        struct kind kinds[N_KINDS] = {empty, empty, empty};
        const uint32_t begin = group * share;
        const uint32_t end = begin + share < p->n_vocab ? begin + share : p->n_vocab;
        bool is_sound = true;
        for (uint32_t id = begin; id < end; id++) {
            is_sound = is_sound && isfinite(logits[id]);
            if (isfinite(logits[id])) {
                add(&kinds[kind_of(&rules, suppressed, id)], (double)logits[id], id, 1);
            }
        }
        expect_group(ref, kinds, is_sound, p->sums + (uint64_t)group * GROUP_WORDS);
    }
}

//-- speech_choice ---------------------------------------------------------------------------------

// Writes sums of all groups, which no dispatch before need have left.
static void write_sums(struct gi_ref *ref, const struct gi_speech_choice_params *p)
{
    const uint32_t share = p->n_vocab / N_KINDS / p->n_group;
    for (uint32_t i = 0; i < p->n_group; i++) {
        uint32_t words[N_KINDS][KIND_WORDS];
        for (uint32_t k = 0; k < N_KINDS; k++) {
            words[k][0] = bits_of((float)((7 * i + 5 * k) % 13) / 2 - 3);
            words[k][1] = p->n_vocab / N_KINDS * k + i * share;
            words[k][2] = bits_of(1 + (float)i / 8);
        }
        gi_ref_write(ref, 1, p->sums + (uint64_t)i * GROUP_WORDS, sizeof(words) / sizeof(uint32_t),
                     words);
    }
}

// Returns false if a group saw a logit that is not finite.
static bool read_kinds(struct gi_ref *ref, const struct gi_speech_choice_params *p,
                       struct kind kinds[N_KINDS])
{
    bool is_sound = true;
    const float *sums = gi_ref_floats(ref, 1, p->sums, (size_t)p->n_group * GROUP_WORDS);
    for (uint32_t k = 0; k < N_KINDS; k++) {
        kinds[k] = empty;
        for (uint32_t i = 0; sums && i < p->n_group; i++) {
            const float *words = &sums[(size_t)i * GROUP_WORDS + (size_t)k * KIND_WORDS];
            const uint32_t id = bits_of(words[1]);
            is_sound = is_sound && id != UNSOUND;
            if (id < p->n_vocab) {
                add(&kinds[k], (double)words[0], id, (double)words[2]);
            }
        }
    }
    return is_sound;
}

static double log_of(const struct kind *kind)
{
    return kind->id == NO_ID ? -(double)FLT_MAX : kind->most + log(kind->sum);
}

// Returns the log-probability of the chosen kind's largest logit; *size: of the numbers that it is
// a difference of.
static double log_share(const struct kind kinds[N_KINDS], double most, double *size)
{
    const double texts = log_of(&kinds[TEXT]), times = log_of(&kinds[TIMES]);
    const double total = fmax(texts, times) + log1p(exp(-fabs(texts - times)));
    *size = 1 + fabs(most) + fabs(total);
    return most - total;
}

static void expect_probs(struct gi_ref *ref, const struct kind kinds[N_KINDS], double most,
                         uint64_t at)
{
    const struct gi_speech_choice_params *p = ref->params;
    const float *logit = gi_ref_floats(ref, 1, p->no_speech, 1);
    double largest = -(double)FLT_MAX, all = 0, size;
    for (int k = 0; k < N_KINDS; k++) {
        largest = fmax(largest, kinds[k].most);
    }
    for (int k = 0; k < N_KINDS; k++) {
        all += kinds[k].sum * exp(kinds[k].most - largest);
    }
    const double logprob = log_share(kinds, most, &size);
    const double below = logit ? (double)*logit - largest : 0, share = exp(below) / all;
    gi_ref_expect_bits(ref, "most likely timestamp", 0, at,
                       kinds[TIMES].id == NO_ID ? p->time : kinds[TIMES].id);
    gi_ref_expect(ref, "log-probability", 0, at + 1, logprob, size);
    gi_ref_expect_bits(ref, "id of no token", 0, at + 2, 0);
    gi_ref_expect_at(ref, "probability of no speech", 0, at + 3, (struct gi_ref_place){0},
                     (struct gi_ref_value){share, share * (1 + fabs(below))}, FLT_MIN);
}

static void expect_rules(struct gi_ref *ref, const struct gi_step_state *state, uint32_t id)
{
    const struct gi_speech_choice_params *p = ref->params;
    const struct gi_speech_rules before = read_rules(ref, p->rules);
    const bool is_time = id >= p->time, is_pair = state->step == 0 || state->token >= p->time;
    const uint32_t begin = id > p->time ? id : before.time_begin;
    const struct gi_speech_rules next = {
        .text_begin = is_time && !is_pair ? p->end : 0,
        .text_end = p->end + 1,
        .time_begin = begin,
        .time_end = is_time && is_pair ? begin : before.most_time,
        .banned = NO_ID,
    };
    uint32_t words[RULE_WORDS];
    memcpy(words, &next, sizeof(words));
    for (uint32_t i = 0; i + 1 < RULE_WORDS; i++) {
        gi_ref_expect_bits(ref, "rule of the next token", 1, (uint64_t)p->rules + i, words[i]);
    }
}

void gi_ref_speech_choice(struct gi_ref *ref)
{
    const struct gi_speech_choice_params *p = ref->params;
    struct kind kinds[N_KINDS];
    if (ref->is_sampled) {
        write_rules(ref, p->rules, p->n_vocab);
        write_sums(ref, p);
    }
    const size_t n_state = sizeof(struct gi_step_state) / sizeof(uint32_t);
    const struct gi_step_state *state = (const void *)gi_ref_floats(ref, 2, 0, n_state);
    const size_t n_grid = GI_MAX_SLOTS * sizeof(struct gi_grid_slot) / sizeof(uint32_t);
    const struct gi_grid_slot *grids =
        gi_ref_define(ref, "HAS_COUNTS") ? (const void *)gi_ref_floats(ref, 3, 0, n_grid) : NULL;
    const bool are_finite = read_kinds(ref, p, kinds);
    if (!state || ref->has_failed) {
        return;
    }
    const struct kind *kind = &kinds[log_of(&kinds[TIMES]) > kinds[TEXT].most ? TIMES : TEXT];
    const bool is_sound = are_finite && kind->id < p->n_vocab;
    const uint32_t token = is_sound ? kind->id : 0;
    const uint64_t at = (uint64_t)state->step % GI_RING_SLOTS * sizeof(struct gi_ring_entry) / 4;
    gi_ref_expect_bits(ref, "token", 0, at, token);
    if (is_sound) {
        expect_probs(ref, kinds, kind->most, at + 4);
    } else {
        gi_ref_add_scratch(ref, 0, at + 4, 4);
    }
    expect_rules(ref, state, token);
    gi_ref_expect_step_end(ref, state, grids, is_sound, token);
}
