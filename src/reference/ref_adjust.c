// The adjustment of logits by bias, penalties and bans: glsl/sample/adjust.
#include "glsl/sample/sample_params.h"
#include "gpu/dispatch/step_state.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

// The state before the dispatch; the table as in struct gi_adjust.
struct adjusting {
    struct gi_step_state state;
    const uint32_t *table;
    bool has_penalties, has_bias, has_mask;
    uint32_t newest, oldest; // tokens that enter and leave the window
};

static uint32_t count_of(const struct adjusting *a, uint32_t id)
{
    return a->table[id] + (id == a->newest) - (id == a->oldest);
}

static void expect_logit(struct gi_ref *ref, const struct adjusting *a, uint32_t id, float before)
{
    const struct gi_adjust_params *p = ref->params;
    const uint32_t count = a->has_penalties ? count_of(a, id) : 0;
    double logit = (double)before, magnitude = fabs(logit);
    bool is_banned = a->has_mask && !(a->table[p->mask + id / 32] >> id % 32 & 1);
    if (a->has_bias) {
        float bias;
        memcpy(&bias, &a->table[p->bias + id], sizeof(bias));
        is_banned = is_banned || bias == -INFINITY;
        logit += (double)bias;
        magnitude += fabs((double)bias);
    }
    if (!isfinite(before) || is_banned) {
        uint32_t bits = 0xFF800000; // minus infinity
        memcpy(&bits, &before, isfinite(before) ? 0 : sizeof(bits));
        gi_ref_expect_bits(ref, "banned or infinite logit", 1, id, bits);
        return;
    }
    if (count > 0) {
        const double repeat = (double)a->state.repeat_penalty;
        const double factor = logit > 0 ? 1 / repeat : repeat;
        const double less = count * (double)a->state.frequency_penalty;
        logit = logit * factor - less - (double)a->state.presence_penalty;
        magnitude = magnitude * factor + fabs(less) + fabs((double)a->state.presence_penalty);
    }
    gi_ref_expect(ref, "adjusted logit", 1, id, logit, magnitude);
}

// Expects the count of a token that enters or leaves the window. Infinite logits end the answer, so
// that theirs stay.
static void expect_count(struct gi_ref *ref, const struct adjusting *a, uint32_t id,
                         const float *logits)
{
    const struct gi_adjust_params *p = ref->params;
    if (id < p->n_vocab && isfinite(logits[id])) {
        gi_ref_expect_bits(ref, "count", 0, id, count_of(a, id));
    }
}

// Expects the best of the logits that a group's share has for a partial result, as the dispatch
// left them.
static void expect_partial(struct gi_ref *ref, const float *logits, uint32_t begin, uint32_t end,
                           uint64_t at)
{
    const struct gi_adjust_params *p = ref->params;
    const float *before = ref->kept;
    uint32_t bits = 0xFF800000, best = UINT32_MAX - 1, best_key = 0; // without any
    bool is_sound = true;
    for (uint32_t id = begin; id < end; id += p->n_part) {
        const float logit = logits[id] == 0 ? 0 : logits[id];
        is_sound = is_sound && isfinite(before[id]);
        if (gi_ref_key(logit) > best_key) {
            best_key = gi_ref_key(logit);
            best = id;
            memcpy(&bits, &logit, sizeof(bits));
        }
    }
    gi_ref_expect_bits(ref, "partial result", 1, at, is_sound ? bits : 0x7F800000);
    gi_ref_expect_bits(ref, "token of a partial result", 1, at + 1, is_sound ? best : UINT32_MAX);
}

static void expect_partials(struct gi_ref *ref)
{
    const struct gi_adjust_params *p = ref->params;
    const uint32_t n_group = ref->dispatch->grid.size[0], share = (p->n_vocab - 1) / n_group + 1;
    const float *logits = gi_ref_floats(ref, 1, 0, p->n_vocab);
    for (uint32_t i = 0; logits && i < n_group * p->n_part; i++) {
        const uint32_t begin = i / p->n_part * share, end = begin + share;
        expect_partial(ref, logits, begin + i % p->n_part, end < p->n_vocab ? end : p->n_vocab,
                       p->partial + 2ull * i);
    }
}

void gi_ref_adjust(struct gi_ref *ref)
{
    const struct gi_adjust_params *p = ref->params;
    const struct gi_step_state *state =
        (const void *)gi_ref_floats(ref, 2, 0, sizeof(struct gi_step_state) / sizeof(uint32_t));
    const void *table = gi_ref_floats(ref, 0, 0, p->window + (size_t)p->n_slot);
    const float *logits = gi_ref_floats(ref, 1, 0, p->n_vocab);
    const uint32_t step = ref->is_sampled ? 1 + p->n_vocab / (1 << 16) : 1;
    if (ref->has_failed) {
        return;
    }
    struct adjusting a = {*state,
                          table,
                          state->adjust & GI_ADJUST_PENALTIES,
                          state->adjust & GI_ADJUST_BIAS,
                          state->adjust & GI_ADJUST_MASK,
                          UINT32_MAX,
                          UINT32_MAX};
    if (a.has_penalties) {
        const uint32_t index = state->n_past + state->n_tokens - 1 + state->window_skip;
        const bool is_full = index >= state->n_window;
        a.newest = state->token;
        a.oldest = is_full ? a.table[p->window + (index - state->n_window) % p->n_slot] : a.oldest;
        gi_ref_expect_bits(ref, "window", 0, p->window + index % p->n_slot, a.newest);
        expect_count(ref, &a, a.newest, logits);
        expect_count(ref, &a, a.oldest, logits);
    }
    for (uint32_t id = 0; id < p->n_vocab; id += step) {
        expect_logit(ref, &a, id, logits[id]);
    }
    gi_ref_expect_written(ref, "partial results", 1, p->partial,
                          2ull * p->n_part * ref->dispatch->grid.size[0]);
    ref->kept = logits;
    ref->after = expect_partials;
}
