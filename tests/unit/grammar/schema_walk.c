// Reads JSON schemas from stdin, one a line, and writes texts that their grammars allow, found by a
// walk through the masks of a small vocabulary: a line with the number of the schema, and the text
// as JSON has it within quotes. A schema that is refused gives "N refused: " and the sentence. A
// line of '=' and a text says whether the grammar of the schema before it allows the text: "N =
// yes" or "N = no".
//   schema_walk [WALKS [SEED]]
#include "grammar/grammar_matcher.h"
#include "grammar/schema/json_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 16, N_LONG = 24, N_TOKENS = 0x5f + 1 + N_LONG + 1, END = N_TOKENS - 1 };

static uint32_t chance = 1; // xorshift32

static uint32_t pick(uint32_t end)
{
    chance ^= chance << 13;
    chance ^= chance >> 17;
    chance ^= chance << 5;
    return chance % end;
}

// The printable characters, a line end, and what joins and cuts characters and marks of JSON.
static struct gi_grammar_vocab *make_vocab(struct gi_grammar_token *tokens)
{
    static char bytes[0x60];
    static const char *const texts[N_LONG] = {
        "\", \"",   "\": ", "{\"", "\"}", "]]",       "}}",   "true",         "null",
        "\\u00",    "\\n",  "12",  "000", "\xC3",     "\xA9", "\xE6\x97\xA5", "\xF0\x9F",
        "\x98\x80", "abc",  ", ",  "\",", "\": [{\"", "e1",   "-02-",         "ab\"",
    };
    size_t n = 0;
    for (int i = 0; i < 0x60; i++) {
        bytes[i] = i < 0x5f ? (char)(0x20 + i) : '\n';
        tokens[n++] = (struct gi_grammar_token){&bytes[i], 1, GI_GRAMMAR_TOKEN_TEXT};
    }
    for (size_t i = 0; i < N_LONG; i++) {
        tokens[n++] = (struct gi_grammar_token){texts[i], strlen(texts[i]), GI_GRAMMAR_TOKEN_TEXT};
    }
    tokens[n++] = (struct gi_grammar_token){"", 0, GI_GRAMMAR_TOKEN_END};
    return gi_grammar_vocab_create(tokens, n, NULL);
}

// Takes a token that is allowed: the end if it may and by chance, and, the longer the text, the
// sooner what closes.
static int32_t choose(const uint32_t *bits, size_t size)
{
    static const char closing[] = "\"]},:";
    int32_t taken = -1, n = 0;
    if (bits[END / 32] >> END % 32 & 1 && (size > 200 || pick(4) == 0)) {
        return END;
    }
    if (size > 200) {
        for (const char *byte = closing; *byte; byte++) {
            const int32_t token = *byte - 0x20;
            if (bits[token / 32] >> token % 32 & 1 && (*byte != ',' || size < 2000)) {
                return token;
            }
        }
    }
    for (int32_t i = 0; i < N_TOKENS; i++) {
        if (bits[i / 32] >> i % 32 & 1 && pick((uint32_t)++n) == 0) {
            taken = i;
        }
    }
    return taken;
}

static void print_text(long line, const char *text, size_t size)
{
    printf("%ld ", line);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n') {
            printf("\\n");
        } else {
            printf("%s%c", text[i] == '\\' ? "\\" : "", text[i]);
        }
    }
    printf("\n");
}

static bool walk(struct gi_grammar_matcher *matcher, const struct gi_grammar_token *tokens,
                 long line)
{
    static char text[MAX_TEXT];
    uint32_t bits[(N_TOKENS + 31) / 32];
    struct gi_grammar_state state;
    struct glinfer_error err = {0};
    size_t size = 0;
    gi_grammar_state_init(&state, matcher);
    for (;;) {
        if (!gi_grammar_mask(&state, bits, &err)) {
            break;
        }
        const int32_t token = choose(bits, size);
        if (!gi_grammar_accept(&state, token, &err) || size + 16 > MAX_TEXT) {
            break;
        }
        if (token == END) {
            print_text(line, text, size);
            gi_grammar_state_finish(&state);
            return true;
        }
        memcpy(text + size, tokens[token].bytes, tokens[token].size);
        size += tokens[token].size;
    }
    gi_grammar_state_finish(&state);
    // Characters that the vocabulary does not have, or a text that does not come to its end.
    if (!err.message[0] || strstr(err.message, "dead end")) {
        printf("%ld stuck\n", line);
        return true;
    }
    printf("%ld failed: %s\n", line, err.message);
    return false;
}

static struct gi_grammar_matcher *make_matcher(const char *schema, size_t size, long line,
                                               const struct gi_grammar_vocab *vocab,
                                               struct gi_grammar **grammar)
{
    struct glinfer_error err = {0};
    *grammar = gi_json_schema_create(schema, size, NULL, &err);
    const struct gi_grammar_matcher_params params = {.grammar = *grammar, .vocab = vocab};
    struct gi_grammar_matcher *matcher = *grammar ? gi_grammar_matcher_create(&params, &err) : NULL;
    if (!matcher) {
        printf("%ld refused: %s\n", line, err.message);
    }
    return matcher;
}

static void match(struct gi_grammar_matcher *matcher, const char *text, size_t size, long line)
{
    struct gi_grammar_state state;
    gi_grammar_state_init(&state, matcher);
    const bool is_allowed =
        gi_grammar_accept_bytes(&state, text, size, NULL) && gi_grammar_may_end(&state);
    printf("%ld = %s\n", line, is_allowed ? "yes" : "no");
    gi_grammar_state_finish(&state);
}

int main(int argc, char **argv)
{
    const int n_walks = argc > 1 ? atoi(argv[1]) : 1;
    struct gi_grammar_token tokens[N_TOKENS];
    struct gi_grammar_vocab *vocab = make_vocab(tokens);
    struct gi_grammar *grammar = NULL;
    struct gi_grammar_matcher *matcher = NULL;
    char *text = NULL;
    size_t capacity = 0;
    long line = -1;
    bool is_ok = vocab;
    chance = argc > 2 ? (uint32_t)atoi(argv[2]) | 1 : chance;
    while (is_ok) {
        ssize_t size = getline(&text, &capacity, stdin);
        if (size < 0) {
            break;
        }
        size -= size > 0 && text[size - 1] == '\n';
        if (text[0] == '=') {
            if (matcher) {
                match(matcher, text + 1, (size_t)size - 1, line);
            }
            continue;
        }
        gi_grammar_matcher_destroy(matcher);
        gi_grammar_destroy(grammar);
        matcher = make_matcher(text, (size_t)size, ++line, vocab, &grammar);
        for (int i = 0; matcher && is_ok && i < n_walks; i++) {
            is_ok = walk(matcher, tokens, line);
        }
    }
    free(text);
    gi_grammar_matcher_destroy(matcher);
    gi_grammar_destroy(grammar);
    gi_grammar_vocab_destroy(vocab);
    return is_ok ? 0 : 1;
}
