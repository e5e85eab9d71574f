#include "sampler/repetition.h"

#include "base/array.h"
#include "sampler/breaker_set.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

//-- the text --------------------------------------------------------------------------------------

static bool has_penalties(const struct gi_penalties *penalties)
{
    return penalties->last_n > 0 && (penalties->repeat != 1.0f || penalties->presence != 0.0f ||
                                     penalties->frequency != 0.0f);
}

static bool has_dry(const struct gi_dry *dry)
{
    return dry->multiplier != 0.0f && dry->base >= 1.0f && dry->last_n > 0;
}

static bool allocate(struct gi_history *history, struct glinfer_error *err)
{
    static const char what[] = "the sampler's history";
    const uint32_t n_penalties = has_penalties(&history->penalties) ? history->penalties.last_n : 0;
    const uint32_t n_dry = has_dry(&history->dry) ? history->dry.last_n : 0;
    history->capacity = n_penalties > n_dry ? n_penalties : n_dry;
    return GI_ARRAYS_ZEROED(what, err, GI_NEW(history->tokens, history->capacity),
                            GI_NEW(history->counts, history->n_vocab)) &&
           (n_dry == 0 || GI_ARRAYS_ZEROED(what, err, GI_NEW(history->lengths, history->n_vocab),
                                           GI_NEW(history->matches, n_dry)));
}

bool gi_history_init(struct gi_history *history, uint32_t n_vocab,
                     const struct gi_penalties *penalties, const struct gi_dry *dry,
                     struct glinfer_error *err)
{
    *history = (struct gi_history){.penalties = *penalties, .dry = *dry, .n_vocab = n_vocab};
    history->dry.breakers = NULL;
    history->dry.n_breaker = 0;
    bool ok = allocate(history, err);
    if (ok && history->lengths) {
        history->breakers = gi_breaker_set_create(dry->breakers, dry->n_breaker, err);
        ok = history->breakers != NULL;
    }
    if (!ok) {
        gi_history_finish(history);
    }
    return ok;
}

void gi_history_finish(struct gi_history *history)
{
    free(history->tokens);
    free(history->counts);
    free(history->lengths);
    free(history->matches);
    gi_breaker_set_destroy(history->breakers);
    *history = (struct gi_history){0};
}

static uint32_t count_last(const struct gi_history *history, uint32_t last_n)
{
    return history->n_total < last_n ? (uint32_t)history->n_total : last_n;
}

// Returns the token with `back` tokens after it.
static uint32_t token_at(const struct gi_history *history, uint32_t back)
{
    return history->tokens[(history->n_total - 1 - back) % history->capacity];
}

void gi_history_push(struct gi_history *history, uint32_t token)
{
    assert(token < history->n_vocab);
    const uint32_t last_n = history->penalties.last_n;
    if (history->capacity == 0) {
        return;
    }
    if (has_penalties(&history->penalties)) {
        if (history->n_total >= last_n) {
            history->counts[token_at(history, last_n - 1)]--;
        }
        history->counts[token]++;
    }
    history->tokens[history->n_total % history->capacity] = token;
    history->n_total++;
}

//-- penalties -------------------------------------------------------------------------------------

void gi_history_penalize(const struct gi_history *history, struct gi_candidates *list)
{
    const struct gi_penalties *penalties = &history->penalties;
    if (!has_penalties(penalties) || history->n_total == 0) {
        return;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        struct gi_candidate *candidate = &list->data[i];
        const uint32_t count = history->counts[candidate->id];
        if (count > 0) {
            const double logit = candidate->logit;
            const double scaled = logit > 0 ? logit / penalties->repeat : logit * penalties->repeat;
            const double minus = (double)count * penalties->frequency + penalties->presence;
            candidate->logit = gi_candidates_bound(scaled - minus);
        }
    }
    list->n_sorted = 0;
}

//-- DRY -------------------------------------------------------------------------------------------

// Returns the number of tokens after the last breaker, at most n.
static uint32_t find_limit(const struct gi_history *history, uint32_t n)
{
    for (uint32_t back = 0; back < n; back++) {
        uint32_t n_breaker = 0;
        const uint32_t head = token_at(history, back);
        const struct gi_breaker *breakers =
            gi_breaker_set_find(history->breakers, head, &n_breaker);
        uint32_t longest = 0;
        for (uint32_t i = 0; i < n_breaker; i++) {
            uint32_t length = 1;
            while (length < breakers[i].n_ids && length <= back &&
                   breakers[i].ids[length] == token_at(history, back - length)) {
                length++;
            }
            if (length == breakers[i].n_ids && length > longest) {
                longest = length;
            }
        }
        if (longest > 0) {
            return back + 1 - longest;
        }
    }
    return n;
}

// Sets matches[k], for k from 1 to n - 1, to how many tokens before the last k are the same as
// those at the end, in time n (the Z-function of the text read backwards; Gusfield 1997, 1.4).
static void find_matches(const struct gi_history *history, uint32_t n)
{
    uint32_t *matches = history->matches;
    uint32_t begin = 0, end = 0; // of the match that reaches farthest back
    for (uint32_t k = 1; k < n; k++) {
        uint32_t length = 0;
        if (k < end) {
            const uint32_t inside = matches[k - begin], room = end - k;
            length = inside < room ? inside : room;
        }
        while (k + length < n && token_at(history, length) == token_at(history, k + length)) {
            length++;
        }
        matches[k] = length;
        if (k + length > end) {
            begin = k;
            end = k + length;
        }
    }
}

static bool is_breaker(const struct gi_history *history, uint32_t id)
{
    uint32_t n = 0;
    const struct gi_breaker *breakers = gi_breaker_set_find(history->breakers, id, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (breakers[i].n_ids == 1) {
            return true;
        }
    }
    return false;
}

static void punish(const struct gi_history *history, struct gi_candidates *list)
{
    const struct gi_dry *dry = &history->dry;
    const double most =
        dry->base > 1.000001f ? floor(log((double)FLT_MAX) / log((double)dry->base)) : 0;
    for (uint32_t i = 0; i < list->count; i++) {
        struct gi_candidate *candidate = &list->data[i];
        const uint32_t length = history->lengths[candidate->id];
        if (length > 0 && !is_breaker(history, candidate->id)) {
            double exponent = (double)length - 1 - dry->allowed_length;
            exponent = most > 0 && exponent > most ? most : exponent;
            candidate->logit =
                gi_candidates_bound(candidate->logit - dry->multiplier * pow(dry->base, exponent));
        }
    }
    list->n_sorted = 0;
}

// lengths[id] is the longest match that the token id continues, plus one.
void gi_history_dry(const struct gi_history *history, struct gi_candidates *list)
{
    const uint32_t allowed = history->dry.allowed_length;
    const uint32_t n = count_last(history, history->dry.last_n);
    if (!history->lengths || n <= allowed) {
        return;
    }
    const uint32_t limit = find_limit(history, n);
    if (limit < allowed) {
        return;
    }
    find_matches(history, n);
    for (uint32_t k = 1; k < n; k++) {
        uint32_t *length = &history->lengths[token_at(history, k - 1)];
        const uint32_t match = history->matches[k] < limit ? history->matches[k] : limit;
        if (match >= allowed && match + 1 > *length) {
            *length = match + 1;
        }
    }
    punish(history, list);
    for (uint32_t k = 1; k < n; k++) {
        history->lengths[token_at(history, k - 1)] = 0;
    }
}
