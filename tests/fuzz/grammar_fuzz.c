// Feeds bytes to the parser of grammars; a grammar that is accepted is walked by chance, by masks.
#include "grammar/grammar_matcher.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/grammar/create_grammar.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_TOKENS = 260, N_STEPS = 12 };

static int32_t find_name(void *user, const char *text, size_t size)
{
    (void)user;
    return size > 2 ? (uint8_t)text[1] : -1;
}

// All bytes, two longer texts, a control token and an end.
static struct gi_grammar_vocab *make_vocab(void)
{
    static char bytes[256];
    struct gi_grammar_token tokens[N_TOKENS];
    for (int i = 0; i < 256; i++) {
        bytes[i] = (char)i;
        tokens[i] = (struct gi_grammar_token){&bytes[i], 1, GI_GRAMMAR_TOKEN_TEXT};
    }
    tokens[256] = (struct gi_grammar_token){"ab", 2, GI_GRAMMAR_TOKEN_TEXT};
    tokens[257] = (struct gi_grammar_token){"\": ", 3, GI_GRAMMAR_TOKEN_TEXT};
    tokens[258] = (struct gi_grammar_token){"<c>", 3, GI_GRAMMAR_TOKEN_CONTROL};
    tokens[259] = (struct gi_grammar_token){"", 0, GI_GRAMMAR_TOKEN_END};
    return gi_grammar_vocab_create(tokens, N_TOKENS, NULL);
}

// Takes every token that the mask allows on a copy, then one of them.
static void walk(struct gi_grammar_matcher *matcher)
{
    uint32_t bits[(N_TOKENS + 31) / 32], chance = 1;
    struct gi_grammar_state state;
    gi_grammar_state_init(&state, matcher);
    for (int step = 0; step < N_STEPS && gi_grammar_mask(&state, bits, NULL); step++) {
        int32_t taken = -1;
        for (int32_t i = 0; i < N_TOKENS; i++) {
            if (bits[i / 32] >> i % 32 & 1) {
                chance = chance * 1664525u + 1013904223u;
                taken = taken < 0 || chance >> 28 == 0 ? i : taken;
            }
        }
        FUZZ_CHECK(taken >= 0);
        struct glinfer_error err = {0};
        FUZZ_CHECK(gi_grammar_accept(&state, taken, &err) ||
                   err.status == GLINFER_STATUS_UNSUPPORTED);
    }
    gi_grammar_state_finish(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gi_grammar_vocab *vocab;
    vocab = vocab ? vocab : make_vocab();
    const struct gi_grammar_names names = {find_name, NULL, N_TOKENS};
    struct glinfer_error err = {0};
    struct gi_grammar *grammar = create_grammar((const char *)data, size, &names, &err);
    FUZZ_CHECK(grammar || err.message[0]);
    const struct gi_grammar_matcher_params params = {
        .grammar = grammar, .vocab = vocab, .memory = 1 << 18};
    struct gi_grammar_matcher *matcher = grammar ? gi_grammar_matcher_create(&params, NULL) : NULL;
    if (matcher) {
        walk(matcher);
    }
    gi_grammar_matcher_destroy(matcher);
    gi_grammar_destroy(grammar);
    return 0;
}
