#include "tests/unit/tokenizer/encoding.h"

#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"
#include "tests/unit/failing_alloc.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_ALLOCATIONS = 1000, MAX_IDS = 32 };

// Returns NULL for an empty text, as an absent key of a file gives it.
static struct gi_text text_of(const char *text)
{
    return (struct gi_text){*text ? text : NULL, strlen(text)};
}

struct gi_tokenizer *must_create(const struct gi_vocab *vocab)
{
    struct gi_tokenizer *tokenizer = must_do(gi_tokenizer_create(vocab, &err));
    return tokenizer;
}

void expect_ids(const struct gi_tokenizer *tokenizer, struct gi_text text, int flags,
                const int32_t *expected, size_t n_expected)
{
    struct gi_ids ids = {0};
    must_do(gi_tokenizer_encode(tokenizer, text, flags & ADD_SPECIAL, flags & PARSE_SPECIAL, &ids,
                                &err));
    assert_int_equal(ids.count, n_expected);
    assert_memory_equal(ids.data, expected, n_expected * sizeof(*expected));
    gi_ids_finish(&ids);
}

//-- cases -----------------------------------------------------------------------------------------

static struct gi_vocab *(*make_vocab)(void);

// Returns the id of the token that a vocabulary spells so, or a number.
static int32_t find_id(const struct gi_vocab *vocab, const char *text)
{
    for (size_t i = 0; i < vocab->n_tokens; i++) {
        if (vocab->tokens[i].size == strlen(text) &&
            memcmp(vocab->tokens[i].data, text, strlen(text)) == 0) {
            return (int32_t)i;
        }
    }
    // A byte of bpe that is not printable is spelled by another character.
    return strlen(text) == 1 && (*text < '0' || *text > '9') ? (uint8_t)*text
                                                             : (int32_t)strtol(text, NULL, 10);
}

static void change_token(struct gi_vocab *vocab, int32_t id, const char *key, const char *value)
{
    if (strcmp(key, "text") == 0) {
        ((struct gi_text *)vocab->tokens)[id] = text_of(value);
    } else if (strcmp(key, "type") == 0) {
        ((int32_t *)vocab->types)[id] = atoi(value);
    } else {
        assert_string_equal(key, "score");
        ((float *)vocab->scores)[id] = strtof(value, NULL);
    }
}

static void change_field(struct gi_vocab *vocab, const char *key, const char *value)
{
    const struct {
        const char *key;
        struct gi_text *text;
        int *number;
        int32_t *id;
    } fields[] = {
        {"model", .text = &vocab->model},
        {"pre", .text = &vocab->pre},
        {"name", .text = &vocab->name},
        {"merge", .text = (struct gi_text *)vocab->merges + 2},
        {"bos", .id = &vocab->bos},
        {"eos", .id = &vocab->eos},
        {"eot", .id = &vocab->eot},
        {"unk", .id = &vocab->unk},
        {"add_bos", .number = &vocab->add_bos},
        {"add_eos", .number = &vocab->add_eos},
        {"add_space_prefix", .number = &vocab->add_space_prefix},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strcmp(fields[i].key, key) != 0) {
            continue;
        } else if (fields[i].text) {
            *fields[i].text = text_of(value);
        } else if (fields[i].id) {
            *fields[i].id = find_id(vocab, value);
        } else {
            *fields[i].number = atoi(value);
        }
        return;
    }
    if (strcmp(key, "types") == 0) {
        vocab->types = NULL;
    } else if (strcmp(key, "scores") == 0) {
        vocab->scores = NULL;
    } else if (strcmp(key, "lowercase") == 0) {
        vocab->is_lowercased = true;
    } else if (strcmp(key, "n_merges") == 0) {
        vocab->n_merges = strtoul(value, NULL, 10);
    } else {
        assert_string_equal(key, "n_tokens");
        vocab->n_tokens = strtoul(value, NULL, 10);
    }
}

void change_vocab(struct gi_vocab *vocab, const char *settings)
{
    static char text[512]; // the vocabulary borrows parts of it
    struct gi_text spelled[512];
    const struct gi_vocab before = {.tokens = spelled, .n_tokens = vocab->n_tokens};
    assert_true(vocab->n_tokens <= sizeof(spelled) / sizeof(spelled[0]));
    memcpy(spelled, vocab->tokens, vocab->n_tokens * sizeof(spelled[0]));
    assert_true(snprintf(text, sizeof(text), "%s", settings) < (int)sizeof(text));
    for (char *setting = text, *next; setting && *setting; setting = next) {
        next = strchr(setting, ';');
        next = next ? (*next = 0, next + 1) : NULL;
        char *value = strchr(setting, '='), *colon = strchr(setting, ':');
        assert_non_null(value);
        *value++ = 0;
        if (colon && colon < value) {
            *colon = 0;
            change_token(vocab, find_id(&before, setting), colon + 1, value);
        } else {
            change_field(vocab, setting, value);
        }
    }
}

static void check_encoding(const char *const fields[])
{
    static const char dot[] = "\u00b7";
    struct gi_vocab *vocab = make_vocab();
    int32_t expected[MAX_IDS];
    size_t n = 0;
    char word[64];
    for (const char *at = fields[3]; *at; n++) {
        const char *end = strstr(at, dot);
        snprintf(word, sizeof(word), "%.*s", (int)(end ? end - at : (long)strlen(at)), at);
        at = end ? end + strlen(dot) : at + strlen(at);
        assert_true(n < MAX_IDS);
        expected[n] = find_id(vocab, word);
    }
    change_vocab(vocab, fields[0]);
    struct gi_tokenizer *tokenizer = must_create(vocab);
    print_message("%s: %s\n", fields[0], fields[2]);
    expect_ids(tokenizer, text_of(fields[2]),
               (strchr(fields[1], 's') ? ADD_SPECIAL : 0) |
                   (strchr(fields[1], 'p') ? PARSE_SPECIAL : 0),
               expected, n);
    gi_tokenizer_destroy(tokenizer);
}

void each_encoding(const char *kind, struct gi_vocab *(*make)(void))
{
    make_vocab = make;
    each_case("tokenizer.cases", kind, check_encoding);
}

//-- tokens, and allocations that fail -------------------------------------------------------------

void expect_bytes(const struct gi_tokenizer *tokenizer, int32_t id, const char *expected)
{
    struct gi_text bytes = gi_tokenizer_bytes(tokenizer, id);
    assert_non_null(bytes.data);
    assert_int_equal(bytes.size, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.size);
}

struct gi_tokenizer *create_in_the_end(const struct gi_vocab *vocab)
{
    struct gi_tokenizer *tokenizer = NULL;
    for (long n = 0; !tokenizer; n++) {
        struct glinfer_error err = {GLINFER_STATUS_OK, ""};
        fail_allocations_after(n);
        tokenizer = gi_tokenizer_create(vocab, &err);
        fail_allocations_after(-1);
        assert_int_equal(err.status, tokenizer ? GLINFER_STATUS_OK : GLINFER_STATUS_NO_MEMORY);
        assert_true(n < MAX_ALLOCATIONS);
    }
    return tokenizer;
}

void encode_in_the_end(const struct gi_tokenizer *tokenizer, struct gi_text text, int flags)
{
    bool is_done = false;
    for (long n = 0; !is_done; n++) {
        struct gi_ids ids = {0};
        struct glinfer_error err = {GLINFER_STATUS_OK, ""};
        fail_allocations_after(n);
        is_done = gi_tokenizer_encode(tokenizer, text, flags & ADD_SPECIAL, flags & PARSE_SPECIAL,
                                      &ids, &err);
        fail_allocations_after(-1);
        assert_int_equal(err.status, is_done ? GLINFER_STATUS_OK : GLINFER_STATUS_NO_MEMORY);
        assert_true(is_done ? ids.count > 0 : ids.count == 0);
        gi_ids_finish(&ids);
        assert_true(n < MAX_ALLOCATIONS);
    }
}
