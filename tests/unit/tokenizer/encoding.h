// Checks of a tokenizer that both kinds of vocabularies share; each fails the test.
#pragma once

#include "tokenizer/tokenizer.h"

enum {
    ADD_SPECIAL = 1,
    PARSE_SPECIAL = 2,
};

struct gi_tokenizer *must_create(const struct gi_vocab *vocab);
// A text encodes to these ids, IDS(SMALL_HELLO, 'l').
#define IDS(...)                                                                                   \
    (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)
void expect_ids(const struct gi_tokenizer *tokenizer, struct gi_text text, int flags,
                const int32_t *expected, size_t n_expected);
// Checks the cases of a kind in data/tokenizer.cases. make() returns the vocabulary of a case,
// whose tokens, types and scores are changed as the case says.
void each_encoding(const char *kind, struct gi_vocab *(*make)(void));
// Changes a vocabulary as the settings of a case say; merge 2 by merge=.
void change_vocab(struct gi_vocab *vocab, const char *settings);
// The bytes of a token.
void expect_bytes(const struct gi_tokenizer *tokenizer, int32_t id, const char *expected);

// With allocations that fail (tests/unit/failing_alloc.h), one after the other, each of these says
// NO_MEMORY until it is done.
struct gi_tokenizer *create_in_the_end(const struct gi_vocab *vocab);
void encode_in_the_end(const struct gi_tokenizer *tokenizer, struct gi_text text, int flags);
