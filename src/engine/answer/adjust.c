#include "engine/answer/adjust.h"

#include "base/array.h"
#include "engine/answer/answer.h"
#include "engine/answer/constraint.h"
#include "engine/session/samplers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Writes n words from word `first` of the session's adjustments.
static bool write_words(struct gi_answer *answer, uint32_t first, const void *words, uint32_t n)
{
    struct gi_range range = answer->session->tables.graph.adjust.range;
    const uint64_t offset = first * UINT64_C(4);
    range.offset += offset;
    range.size -= offset;
    return n == 0 ||
           gi_runner_fill(&answer->session->runner, &range, words, n * UINT64_C(4), &answer->err);
}

static uint32_t vocab_size(const struct gi_answer *answer)
{
    return answer->session->tables.graph.logits.n_vocab;
}

//-- biases ----------------------------------------------------------------------------------------

static uint32_t n_words(const struct gi_answer *answer)
{
    return (vocab_size(answer) + 31) / 32;
}

// Returns the number of tokens that are neither banned by a bias nor ignored stop ids.
static uint32_t count_allowed(const struct gi_answer *answer, const float *biases)
{
    const struct glinfer_session *session = answer->session;
    uint32_t n = 0;
    for (uint32_t id = 0; id < vocab_size(answer); id++) {
        n += biases[id] > -INFINITY;
    }
    for (uint32_t i = 0; answer->params.ignore_eos && i < session->n_stop_ids; i++) {
        n -= biases[session->stop_ids[i]] > -INFINITY;
    }
    return n;
}

static bool write_biases(struct gi_answer *answer)
{
    const uint32_t n_vocab = vocab_size(answer);
    float *biases;
    if (!GI_ARRAYS_ZEROED("logit biases", &answer->err,
                          GI_NEW(answer->adjusting.banned, n_words(answer)),
                          GI_NEW(biases, n_vocab))) {
        return false;
    }
    gi_samplers_add_biases(&answer->params, biases);
    for (uint32_t id = 0; id < n_vocab; id++) {
        answer->adjusting.banned[id / 32] |= (uint32_t) !(biases[id] > -INFINITY) << id % 32;
    }
    const bool ok =
        count_allowed(answer, biases) > 0
            ? write_words(answer, answer->session->tables.graph.adjust.bias, biases, n_vocab)
            : gi_error_set(&answer->err, GLINFER_STATUS_UNSUPPORTED,
                           "every token of the vocabulary is banned");
    free(biases);
    return ok;
}

//-- the mask --------------------------------------------------------------------------------------

bool gi_adjust_is_masked(const struct gi_answer *answer)
{
    return (answer->adjusting.bits & GI_ADJUST_MASK) != 0;
}

static bool check_mask(struct gi_answer *answer, const uint32_t *mask)
{
    const uint32_t *banned = answer->adjusting.banned;
    uint32_t allowed = 0;
    for (uint32_t i = 0; i < n_words(answer); i++) {
        allowed |= mask[i] & ~(banned ? banned[i] : 0);
    }
    return allowed || gi_error_set(&answer->err, GLINFER_STATUS_UNSUPPORTED,
                                   "every token of the vocabulary is banned");
}

// Skips the write if the GPU already has this mask, since many states have the same one.
bool gi_adjust_write_mask(struct gi_answer *answer)
{
    struct gi_adjusting *adjusting = &answer->adjusting;
    const uint64_t size = n_words(answer) * sizeof(uint32_t);
    if (!gi_adjust_is_masked(answer)) {
        return true;
    }
    const uint32_t *mask = gi_constraint_mask(answer->session->constraint, &answer->err);
    if (!mask || (adjusting->has_mask && memcmp(mask, adjusting->mask, size) == 0)) {
        return mask != NULL;
    }
    memcpy(adjusting->mask, mask, size);
    adjusting->has_mask = true;
    return check_mask(answer, mask) &&
           write_words(answer, answer->session->tables.graph.adjust.mask, mask, n_words(answer));
}

//-- the text --------------------------------------------------------------------------------------

static bool read_text(struct gi_answer *answer)
{
    const uint32_t *tokens = answer->prompt.tokens;
    const struct gi_sequence *sequence = &answer->session->sequence;
    const struct gi_dry none = {0};
    const struct gi_penalties penalties = gi_samplers_penalties(&answer->params, sequence->n_ctx);
    struct gi_adjusting *adjusting = &answer->adjusting;
    if (!gi_history_init(&adjusting->history, vocab_size(answer), &penalties, &none,
                         &answer->err)) {
        return false;
    }
    for (uint32_t i = 0; i < sequence->n_past; i++) {
        gi_history_push(&adjusting->history, sequence->tokens[i]);
    }
    for (uint32_t i = 0; tokens && i + 1 < answer->prompt.n_tokens; i++) {
        gi_history_push(&adjusting->history, tokens[i]);
    }
    adjusting->last = tokens ? tokens[answer->prompt.n_tokens - 1] : (uint32_t)sequence->pending;
    return true;
}

bool gi_adjust_begin(struct gi_answer *answer)
{
    struct gi_adjusting *adjusting = &answer->adjusting;
    if (gi_adjust_is_masked(answer)) {
        adjusting->mask =
            gi_array_zeroed(n_words(answer), sizeof(uint32_t), "a mask", &answer->err);
    }
    if ((gi_adjust_is_masked(answer) && !adjusting->mask) ||
        ((adjusting->bits & GI_ADJUST_BIAS) && !write_biases(answer))) {
        return false;
    }
    if (!(adjusting->bits & GI_ADJUST_PENALTIES)) {
        return true;
    }
    return read_text(answer) &&
           (!answer->prompt.tokens || gi_adjust_write(answer, answer->base - 1));
}

void gi_adjust_finish(struct gi_adjusting *adjusting)
{
    gi_history_finish(&adjusting->history);
    free(adjusting->banned);
    free(adjusting->mask);
    *adjusting = (struct gi_adjusting){0};
}

void gi_adjust_accept(struct gi_adjusting *adjusting, uint32_t token)
{
    if (adjusting->bits & GI_ADJUST_PENALTIES) {
        gi_history_push(&adjusting->history, adjusting->last);
        adjusting->last = token;
    }
}

bool gi_adjust_write(struct gi_answer *answer, uint32_t position)
{
    struct gi_adjusting *adjusting = &answer->adjusting;
    const struct gi_history *history = &adjusting->history;
    const struct gi_adjust *layout = &answer->session->tables.graph.adjust;
    const uint32_t most = history->penalties.last_n;
    if (!(adjusting->bits & GI_ADJUST_PENALTIES)) {
        return true;
    }
    const uint32_t n = history->n_total < most ? (uint32_t)history->n_total : most;
    uint32_t *window =
        gi_array_zeroed(n, sizeof(window[0]), "the window of penalties", &answer->err);
    for (uint32_t i = 0; window && i < n; i++) {
        window[i] = history->tokens[(history->n_total - n + i) % history->capacity];
    }
    adjusting->window_skip = n - position;
    const bool ok = window && write_words(answer, 0, history->counts, vocab_size(answer)) &&
                    write_words(answer, layout->window, window, n);
    free(window);
    return ok;
}

void gi_adjust_set(const struct gi_adjusting *adjusting, struct gi_step_state *state)
{
    const struct gi_penalties *penalties = &adjusting->history.penalties;
    state->adjust = adjusting->bits;
    state->n_window = penalties->last_n;
    state->window_skip = adjusting->window_skip;
    state->repeat_penalty = penalties->repeat;
    state->presence_penalty = penalties->presence;
    state->frequency_penalty = penalties->frequency;
}
