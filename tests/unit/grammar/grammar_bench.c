// Times masks for a model's vocabulary: fresh ones of typical JSON states, and kept ones.
//   grammar_bench MODEL.gguf
#include "base/clock.h"
#include "engine/model/vocab.h"
#include "gguf/gguf.h"
#include "grammar/grammar_matcher.h"
#include "grammar/schema/json_schema.h"
#include "tokenizer/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_RUNS = 15, MAX_TOKENS = 1 << 19 };

static struct gi_tokenizer *read_tokenizer(const char *path, struct glinfer_error *err)
{
    const struct glinfer_source source = {.struct_size = sizeof(source), .path = path};
    struct gi_gguf *gguf = gi_gguf_open(&source, err);
    struct gi_tokenizer *tokenizer = gguf ? gi_tokenizer_read(gguf, err) : NULL;
    gi_gguf_close(gguf);
    return tokenizer;
}

static struct gi_grammar_vocab *make_vocab(const struct gi_tokenizer *tokenizer,
                                           struct glinfer_error *err)
{
    static struct gi_grammar_token tokens[MAX_TOKENS];
    const size_t n = gi_tokenizer_size(tokenizer);
    int32_t ends[16];
    const size_t n_ends = gi_tokenizer_stop_ids(tokenizer, ends);
    for (size_t i = 0; i < n && i < MAX_TOKENS; i++) {
        const struct gi_text text = gi_tokenizer_bytes(tokenizer, (int32_t)i);
        tokens[i] = (struct gi_grammar_token){text.data, text.size,
                                              gi_tokenizer_is_control(tokenizer, (int32_t)i)
                                                  ? GI_GRAMMAR_TOKEN_CONTROL
                                                  : GI_GRAMMAR_TOKEN_TEXT};
    }
    for (size_t i = 0; i < n_ends; i++) {
        tokens[ends[i]].kind = GI_GRAMMAR_TOKEN_END;
    }
    return gi_grammar_vocab_create(tokens, n < MAX_TOKENS ? n : MAX_TOKENS, err);
}

static int compare_times(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

// Prints the median times of the first and of the second mask after `text`.
static bool time_text(const struct gi_grammar *grammar, const struct gi_grammar_vocab *vocab,
                      const char *name, const char *text, struct glinfer_error *err)
{
    static uint32_t bits[MAX_TOKENS / 32];
    uint64_t fresh[N_RUNS], kept[N_RUNS];
    const size_t n_tokens = gi_grammar_vocab_size(vocab);
    size_t n = 0;
    for (int run = 0; run < N_RUNS; run++) {
        const struct gi_grammar_matcher_params params = {.grammar = grammar, .vocab = vocab};
        struct gi_grammar_matcher *matcher = gi_grammar_matcher_create(&params, err);
        struct gi_grammar_state state;
        if (!matcher) {
            return false;
        }
        gi_grammar_state_init(&state, matcher);
        bool is_ok = gi_grammar_accept_bytes(&state, text, strlen(text), err);
        const uint64_t begin = gi_clock_ns();
        is_ok = is_ok && gi_grammar_mask(&state, bits, err);
        fresh[run] = gi_clock_ns() - begin;
        is_ok = is_ok && gi_grammar_mask(&state, bits, err);
        kept[run] = gi_clock_ns() - begin - fresh[run];
        gi_grammar_state_finish(&state);
        gi_grammar_matcher_destroy(matcher);
        if (!is_ok) {
            return false;
        }
    }
    for (size_t i = 0; i < n_tokens; i++) {
        n += bits[i / 32] >> i % 32 & 1;
    }
    const size_t middle = N_RUNS / 2;
    qsort(fresh, N_RUNS, sizeof(*fresh), compare_times);
    qsort(kept, N_RUNS, sizeof(*kept), compare_times);
    printf("%-28s %7zu of %7zu tokens  fresh %9.1f us  kept %6.2f us\n", name, n, n_tokens,
           (double)fresh[middle] / 1e3, (double)kept[middle] / 1e3);
    return true;
}

static bool time_all(const struct gi_grammar_vocab *vocab, struct glinfer_error *err)
{
    static const char schema[] =
        "{\"properties\":{\"name\":{\"type\":\"string\"},\"id\":{\"type\":\"integer\"},\"note\":"
        "{\"maxLength\":200},\"any\":true,\"kind\":{\"enum\":[\"red\",\"green\"]}},\"required\":"
        "[\"name\"],\"additionalProperties\":{\"type\":\"number\"}}";
    static const char *const texts[][2] = {
        {"begin", ""},
        {"key", "{"},
        {"in a string", "{\"name\": \"a"},
        {"in a string of 200", "{\"name\": \"a\",\"note\":\"abc"},
        {"after a value", "{\"name\": \"a\""},
        {"in an integer", "{\"name\": \"a\",\"id\": 1"},
        {"any value", "{\"name\": \"a\",\"any\": "},
        {"after a line end", "{\"name\": \"a\",\"any\": [\n"},
        {"in another's key", "{\"name\": \"a\", \"kin"},
        {"end", "{\"name\": \"a\"}"}};
    const uint64_t begin = gi_clock_ns();
    struct gi_grammar *grammar = gi_json_schema_create(schema, strlen(schema), NULL, err);
    printf("schema of %zu bytes compiled in %.1f us\n", strlen(schema),
           (double)(gi_clock_ns() - begin) / 1e3);
    bool is_ok = grammar;
    for (size_t i = 0; is_ok && i < sizeof(texts) / sizeof(texts[0]); i++) {
        is_ok = time_text(grammar, vocab, texts[i][0], texts[i][1], err);
    }
    gi_grammar_destroy(grammar);
    return is_ok;
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {0};
    struct gi_tokenizer *tokenizer = argc == 2 ? read_tokenizer(argv[1], &err) : NULL;
    const uint64_t begin = gi_clock_ns();
    struct gi_grammar_vocab *vocab = tokenizer ? make_vocab(tokenizer, &err) : NULL;
    if (vocab) {
        printf("vocabulary of %zu tokens made in %.1f ms\n", gi_grammar_vocab_size(vocab),
               (double)(gi_clock_ns() - begin) / 1e6);
    }
    const bool is_ok = vocab && time_all(vocab, &err);
    if (!is_ok) {
        fprintf(stderr, "grammar_bench: %s\n", argc == 2 ? err.message : "MODEL.gguf is needed");
    }
    gi_grammar_vocab_destroy(vocab);
    gi_tokenizer_destroy(tokenizer);
    return is_ok ? 0 : 1;
}
