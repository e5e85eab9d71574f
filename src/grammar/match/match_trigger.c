#include "grammar/match/match_trigger.h"

#include "base/array.h"
#include "grammar/grammar_vocab.h"

#include <stdlib.h>
#include <string.h>

static const char purpose[] = "a grammar's triggers";

static bool copy_words(struct gi_match_triggers *triggers,
                       const struct gi_grammar_matcher_params *params, struct glinfer_error *err)
{
    for (size_t i = 0; i < params->n_trigger_words; i++) {
        const size_t size = strlen(params->trigger_words[i]);
        if (size == 0 || size > GI_GRAMMAR_MAX_TRIGGER) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "a grammar's trigger word has 1 to %d bytes, not %zu",
                                GI_GRAMMAR_MAX_TRIGGER, size);
        }
        memcpy(triggers->words[i], params->trigger_words[i], size);
        triggers->word_sizes[i] = size;
        triggers->max_size = size > triggers->max_size ? size : triggers->max_size;
        triggers->n_words++;
    }
    return true;
}

static bool copy_tokens(struct gi_match_triggers *triggers,
                        const struct gi_grammar_matcher_params *params, struct glinfer_error *err)
{
    const size_t n_vocab = params->vocab ? gi_grammar_vocab_size(params->vocab) : 0;
    for (size_t i = 0; i < params->n_trigger_tokens; i++) {
        const int32_t token = params->trigger_tokens[i];
        if (token < 0 || (size_t)token >= n_vocab) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "the trigger token %d is not in the grammar's vocabulary",
                                (int)token);
        }
        triggers->tokens[triggers->n_tokens++] = (uint32_t)token;
    }
    return true;
}

bool gi_match_triggers_init(struct gi_match_triggers *triggers,
                            const struct gi_grammar_matcher_params *params,
                            struct glinfer_error *err)
{
    const size_t n = params->n_trigger_words;
    return GI_ARRAYS_ZEROED(purpose, err, GI_NEW(triggers->words, n),
                            GI_NEW(triggers->word_sizes, n),
                            GI_NEW(triggers->tokens, params->n_trigger_tokens)) &&
           copy_words(triggers, params, err) && copy_tokens(triggers, params, err);
}

void gi_match_triggers_finish(struct gi_match_triggers *triggers)
{
    free(triggers->words);
    free(triggers->word_sizes);
    free(triggers->tokens);
    memset(triggers, 0, sizeof(*triggers));
}

static size_t word_at_end(const struct gi_match_triggers *triggers,
                          const struct gi_grammar_state *state)
{
    size_t longest = 0;
    for (size_t i = 0; i < triggers->n_words; i++) {
        const size_t size = triggers->word_sizes[i];
        if (size > longest && size <= state->n_tail &&
            memcmp(state->tail + state->n_tail - size, triggers->words[i], size) == 0) {
            longest = size;
        }
    }
    return longest;
}

size_t gi_match_triggers_find(const struct gi_match_triggers *triggers,
                              struct gi_grammar_state *state, const char *bytes, size_t size,
                              size_t *n_word)
{
    *n_word = 0;
    if (triggers->max_size == 0) {
        return size;
    }
    for (size_t i = 0; i < size; i++) {
        if (state->n_tail == triggers->max_size) {
            memmove(state->tail, state->tail + 1, --state->n_tail);
        }
        state->tail[state->n_tail++] = bytes[i];
        *n_word = word_at_end(triggers, state);
        if (*n_word > 0) {
            return i + 1;
        }
    }
    return size;
}

bool gi_match_triggers_has_token(const struct gi_match_triggers *triggers, uint32_t token)
{
    for (size_t i = 0; i < triggers->n_tokens; i++) {
        if (triggers->tokens[i] == token) {
            return true;
        }
    }
    return false;
}
