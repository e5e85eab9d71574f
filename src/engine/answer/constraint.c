#include "engine/answer/constraint.h"

#include "base/arguments.h"
#include "base/array.h"
#include "base/hash.h"
#include "grammar/grammar_matcher.h"
#include "grammar/schema/json_schema.h"

#include <stdlib.h>
#include <string.h>

struct gi_constraint {
    struct gi_owned owned;
    struct glinfer_session *session; // borrowed
    struct gi_hash key;              // hash of the grammar's text
    struct gi_grammar *grammar;
    struct gi_grammar_matcher *matcher;
    struct gi_grammar_state state;
    uint32_t *mask; // (n_words)
};

//-- what is asked for -----------------------------------------------------------------------------

bool gi_constraint_check(const struct glinfer_generate_params *params, struct glinfer_error *err)
{
    struct glinfer_grammar own = {0};
    if (!params->grammar) {
        return true;
    }
    if (!GI_CHECK(err, GI_COPY(&own, params->grammar)) ||
        !GI_CHECK(err, GI_STRINGS(own.trigger_words, own.n_trigger_words),
                  GI_ARRAY(own.trigger_tokens, own.n_trigger_tokens),
                  GI_STRINGS(own.schemas, own.n_schemas))) {
        return false;
    }
    if (!own.gbnf == !own.json_schema) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a grammar is either in GBNF or a JSON schema: %s given",
                            own.gbnf ? "both were" : "neither was");
    }
    if (own.json_schema && own.n_schemas > 0) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "schemas are for a grammar in GBNF, which names their rules");
    }
    if (params->ignore_eos) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "an answer that keeps to a grammar ends with it: ignore_eos cannot be "
                            "asked for as well");
    }
    if (own.gbnf && (own.json_before || own.json_after || own.max_json)) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "json_before, json_after and max_json are for a JSON schema");
    }
    return true;
}

static struct gi_hash hash_text(const struct glinfer_grammar *grammar)
{
    const char *text = grammar->gbnf ? grammar->gbnf : grammar->json_schema;
    const uint32_t is_gbnf = grammar->gbnf != NULL;
    struct gi_hash hash;
    gi_hash_init(&hash);
    gi_hash_add(&hash, &is_gbnf, sizeof(is_gbnf));
    gi_hash_add(&hash, text, strlen(text));
    for (int i = 0; i < 2; i++) {
        const char *around = i == 0 ? grammar->json_before : grammar->json_after;
        gi_hash_add(&hash, around ? around : "", around ? strlen(around) + 1 : 0);
    }
    gi_hash_add(&hash, &grammar->max_json, sizeof(grammar->max_json));
    gi_hash_add(&hash, &grammar->schemas_are_hints, sizeof(grammar->schemas_are_hints));
    for (size_t i = 0; i < grammar->n_schemas; i++) {
        gi_hash_add(&hash, grammar->schemas[i], strlen(grammar->schemas[i]) + 1);
    }
    for (size_t i = 0; i < grammar->n_trigger_words; i++) {
        gi_hash_add(&hash, grammar->trigger_words[i], strlen(grammar->trigger_words[i]));
    }
    gi_hash_add(&hash, grammar->n_trigger_tokens ? (const void *)grammar->trigger_tokens : "",
                grammar->n_trigger_tokens * sizeof(grammar->trigger_tokens[0]));
    return hash;
}

//-- the vocabulary --------------------------------------------------------------------------------

static enum gi_grammar_token_kind find_kind(const struct gi_tokenizer *tokenizer, int32_t id,
                                            const int32_t *stop_ids, size_t n_stop)
{
    for (size_t i = 0; i < n_stop; i++) {
        if (stop_ids[i] == id) {
            return GI_GRAMMAR_TOKEN_END;
        }
    }
    return gi_tokenizer_is_control(tokenizer, id) ? GI_GRAMMAR_TOKEN_CONTROL
                                                  : GI_GRAMMAR_TOKEN_TEXT;
}

// Creates the model's vocabulary for grammars if it does not exist. Rows of the output without a
// token of the tokenizer are never allowed.
static bool make_vocab(struct glinfer_model *model, struct glinfer_error *err)
{
    const struct gi_tokenizer *tokenizer = model->tokenizer.core;
    const size_t n_named = gi_tokenizer_size(tokenizer);
    const size_t n = model->hparams.n_vocab;
    int32_t stop_ids[GI_MAX_STOP_IDS];
    const size_t n_stop = gi_tokenizer_stop_ids(tokenizer, stop_ids);
    if (model->grammar_vocab) {
        return true;
    }
    struct gi_grammar_token *tokens = gi_array_zeroed(n, sizeof(*tokens), "a vocabulary", err);
    for (size_t i = 0; tokens && i < n; i++) {
        const bool is_named = i < n_named;
        const struct gi_text text =
            is_named ? gi_tokenizer_bytes(tokenizer, (int32_t)i) : (struct gi_text){"", 0};
        tokens[i] = (struct gi_grammar_token){
            .bytes = text.data,
            .size = text.size,
            .kind = is_named ? find_kind(tokenizer, (int32_t)i, stop_ids, n_stop)
                             : GI_GRAMMAR_TOKEN_CONTROL,
        };
    }
    model->grammar_vocab = tokens ? gi_grammar_vocab_create(tokens, n, err) : NULL;
    free(tokens);
    return model->grammar_vocab != NULL;
}

// Returns the token with these bytes or this name; -1 if there is none, or more than one.
static int32_t find_token(void *user, const char *text, size_t size)
{
    const struct gi_tokenizer *tokenizer = user;
    const size_t n = gi_tokenizer_size(tokenizer);
    int32_t found = -1;
    for (size_t i = 0; i < n; i++) {
        const struct gi_text bytes = gi_tokenizer_bytes(tokenizer, (int32_t)i);
        if (bytes.size == size && memcmp(bytes.data, text, size) == 0) {
            if (found >= 0) {
                return -1;
            }
            found = (int32_t)i;
        }
    }
    return found;
}

//-- the constraint --------------------------------------------------------------------------------

// Parses a grammar. token: the control token that json_before names; NULL: none.
static struct gi_grammar *read_grammar(const struct glinfer_grammar *grammar,
                                       const struct gi_grammar_names *names, const int32_t *token,
                                       struct glinfer_error *err)
{
    const struct gi_schema_frame frame = {grammar->json_before, grammar->json_after,
                                          grammar->max_json, token};
    if (grammar->json_schema) {
        return gi_json_schema_create(grammar->json_schema, strlen(grammar->json_schema), &frame,
                                     err);
    }
    return gi_json_schema_rules(grammar->gbnf, grammar->schemas, grammar->n_schemas,
                                grammar->schemas_are_hints, names, err);
}

static int32_t find_any(void *user, const char *text, size_t size)
{
    (void)user, (void)text, (void)size;
    return 0;
}

bool gi_constraint_try(const struct glinfer_grammar *grammar, struct glinfer_error *err)
{
    const struct gi_grammar_names names = {.find = find_any, .n_tokens = INT32_MAX};
    const struct glinfer_generate_params params = {.grammar = grammar};
    struct glinfer_grammar own = {0};
    if (!gi_constraint_check(&params, err) || !GI_CHECK(err, GI_COPY(&own, grammar))) {
        return false;
    }
    struct gi_grammar *read = read_grammar(&own, &names, NULL, err);
    const bool is_read = read != NULL;
    gi_grammar_destroy(read);
    return is_read;
}

static void destroy(struct gi_owned *owned)
{
    struct gi_constraint *constraint = (struct gi_constraint *)owned;
    constraint->session->constraint = NULL;
    gi_grammar_state_finish(&constraint->state);
    gi_grammar_matcher_destroy(constraint->matcher);
    gi_grammar_destroy(constraint->grammar);
    free(constraint->mask);
    free(constraint);
}

// Creates session->constraint.
static bool create(struct glinfer_session *session, const struct glinfer_grammar *grammar,
                   struct glinfer_error *err)
{
    struct glinfer_model *model = session->model;
    const size_t n_words = (model->hparams.n_vocab + 31) / 32;
    struct gi_constraint *constraint = gi_array_zeroed(1, sizeof(*constraint), "a grammar", err);
    if (!constraint) {
        return false;
    }
    session->constraint = constraint;
    constraint->session = session;
    gi_owned_add(&session->on_host, &constraint->owned, destroy);
    constraint->mask = gi_array_zeroed(n_words, sizeof(uint32_t), "a mask of tokens", err);
    const struct gi_grammar_names names = {.find = find_token,
                                           .user = model->tokenizer.core,
                                           .n_tokens = (int32_t)model->hparams.n_vocab};
    if (constraint->mask && make_vocab(model, err)) {
        const char *before = grammar->json_before ? grammar->json_before : "";
        const int32_t token = find_token(model->tokenizer.core, before, strlen(before));
        const bool is_control = token >= 0 && gi_tokenizer_is_control(model->tokenizer.core, token);
        constraint->grammar = read_grammar(grammar, &names, is_control ? &token : NULL, err);
    }
    if (constraint->grammar) {
        const struct gi_grammar_matcher_params params = {
            .grammar = constraint->grammar,
            .vocab = model->grammar_vocab,
            .trigger_words = grammar->trigger_words,
            .n_trigger_words = grammar->n_trigger_words,
            .trigger_tokens = grammar->trigger_tokens,
            .n_trigger_tokens = grammar->n_trigger_tokens,
        };
        constraint->matcher = gi_grammar_matcher_create(&params, err);
    }
    if (!constraint->matcher) {
        gi_owned_destroy(&session->on_host, &constraint->owned);
    }
    return session->constraint != NULL;
}

bool gi_constraint_is(const struct gi_constraint *constraint, const struct glinfer_grammar *grammar)
{
    struct glinfer_grammar own = {0};
    if (!constraint || !GI_CHECK(NULL, GI_COPY(&own, grammar))) {
        return false;
    }
    const struct gi_hash key = hash_text(&own);
    return constraint->key.lo == key.lo && constraint->key.hi == key.hi;
}

bool gi_constraint_begin(struct glinfer_session *session, const struct glinfer_grammar *grammar,
                         struct glinfer_error *err)
{
    struct glinfer_grammar own = {0};
    if (!GI_CHECK(err, GI_COPY(&own, grammar))) {
        return false;
    }
    if (session->constraint && !gi_constraint_is(session->constraint, grammar)) {
        gi_owned_destroy(&session->on_host, &session->constraint->owned);
    }
    if (!session->constraint && !create(session, &own, err)) {
        return false;
    }
    struct gi_constraint *constraint = session->constraint;
    constraint->key = hash_text(&own);
    gi_grammar_state_finish(&constraint->state);
    gi_grammar_state_init(&constraint->state, constraint->matcher);
    return true;
}

const uint32_t *gi_constraint_mask(struct gi_constraint *constraint, struct glinfer_error *err)
{
    return gi_grammar_mask(&constraint->state, constraint->mask, err) ? constraint->mask : NULL;
}

bool gi_constraint_accept(struct gi_constraint *constraint, uint32_t token,
                          struct glinfer_error *err)
{
    return gi_grammar_accept(&constraint->state, (int32_t)token, err);
}
