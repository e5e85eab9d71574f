#define PCRE2_CODE_UNIT_WIDTH 8

#include "speech/model/whisper_text.h"

#include "base/array.h"
#include "base/utf8.h"
#include "gguf/gguf.h"
#include "tokenizer/text_map.h"
#include "tokenizer/vocab/pretokenizer.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

struct gi_whisper_text {
    struct gi_text_list list; // by id
    struct gi_text_map map;
    struct gi_pretokenizer *words;
};

static bool read_tokens(struct gi_whisper_text *text, const struct gi_gguf *file, uint32_t n_text,
                        struct glinfer_error *err)
{
    struct gi_gguf_array tokens;
    if (!gi_gguf_get_array(file, "tokenizer.ggml.tokens", GI_GGUF_KIND_STRING, &tokens, err)) {
        return false;
    }
    if (tokens.count == 0) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE, "%s: the vocabulary is missing",
                            gi_gguf_path(file));
    }
    const size_t n = tokens.count < n_text ? (size_t)tokens.count : n_text;
    struct gi_text *texts = gi_array_zeroed(n, sizeof(*texts), "a vocabulary", err);
    for (size_t i = 0; texts && i < n; i++) {
        texts[i] = (struct gi_text){tokens.strings[i].data, tokens.strings[i].size};
    }
    const bool is_ok = texts && gi_text_list_init(&text->list, texts, n, err) &&
                       gi_text_map_init(&text->map, &text->list, err);
    free(texts);
    return is_ok;
}

struct gi_whisper_text *gi_whisper_text_create(const struct gi_gguf *file, uint32_t n_text,
                                               struct glinfer_error *err)
{
    struct gi_whisper_text *text = gi_array_zeroed(1, sizeof(*text), "a vocabulary", err);
    if (!text) {
        return NULL;
    }
    if (read_tokens(text, file, n_text, err)) {
        text->words = gi_pretokenizer_create(gi_text_of("gpt-2"), err);
    }
    if (!text->words) {
        gi_whisper_text_destroy(text);
        return NULL;
    }
    return text;
}

void gi_whisper_text_destroy(struct gi_whisper_text *text)
{
    if (text) {
        gi_text_map_finish(&text->map);
        gi_text_list_finish(&text->list);
        gi_pretokenizer_destroy(text->words);
        free(text);
    }
}

struct gi_text gi_whisper_token_text(const struct gi_whisper_text *text, uint32_t id)
{
    return id < text->list.count ? gi_text_list_at(&text->list, id) : (struct gi_text){0};
}

//-- encode ------------------------------------------------------------------------------------

// Appends the tokens of a word. Until no two neighbours form a token, those that form the one with
// the lowest id are merged.
static bool encode_word(const struct gi_whisper_text *text, struct gi_text word,
                        struct gi_whisper_id_list *ids, struct glinfer_error *err)
{
    const size_t first = ids->count;
    for (size_t i = 0; i < word.size; i++) {
        const int32_t id = gi_text_map_find(&text->map, (struct gi_text){&word.data[i], 1});
        if (id >= 0 && !GI_ARRAY_PUSH(ids, "tokens of a prompt", err, (uint32_t)id)) {
            return false;
        }
    }
    for (;;) {
        size_t place = ids->count;
        int32_t best = INT32_MAX;
        for (size_t i = first; i + 1 < ids->count; i++) {
            const int32_t id =
                gi_text_map_find_joined(&text->map, gi_whisper_token_text(text, ids->data[i]),
                                        gi_whisper_token_text(text, ids->data[i + 1]));
            if (id >= 0 && id < best) {
                best = id;
                place = i;
            }
        }
        if (place == ids->count) {
            return true;
        }
        ids->data[place] = (uint32_t)best;
        ids->count--;
        memmove(&ids->data[place + 1], &ids->data[place + 2],
                (ids->count - place - 1) * sizeof(*ids->data));
    }
}

bool gi_whisper_encode(const struct gi_whisper_text *text, const char *string,
                       struct gi_whisper_id_list *ids, struct glinfer_error *err)
{
    enum { LONGEST = 400 }; // bytes of a word, whose encoding takes the square of its length
    const size_t size = strlen(string);
    char *valid = gi_array_zeroed(3 * size + 1, 1, "a prompt", err);
    if (!valid) {
        return false;
    }
    bool has_surrogates;
    const struct gi_text whole = {valid, gi_utf8_repair(string, size, valid, &has_surrogates)};
    gi_utf8_hide_surrogates(valid, whole.size);
    struct gi_word_ends ends = {0};
    bool is_ok = gi_pretokenizer_split(text->words, whole, &ends, err);
    size_t begin = 0;
    for (size_t i = 0; is_ok && i < ends.count; i++) {
        while (is_ok && begin < ends.data[i]) {
            const size_t left = ends.data[i] - begin, n = left < LONGEST ? left : LONGEST;
            is_ok = encode_word(text, (struct gi_text){valid + begin, n}, ids, err);
            begin += n;
        }
    }
    free(ends.data);
    free(valid);
    return is_ok;
}

//-- suppressed tokens -------------------------------------------------------------------------

static void set_bit(uint32_t *bits, size_t i)
{
    bits[i / 32] |= UINT32_C(1) << i % 32;
}

bool gi_whisper_suppress_regex(const struct gi_whisper_text *text, const char *regex,
                               uint32_t *suppressed, struct glinfer_error *err)
{
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED,
                      &error, &offset, NULL);
    if (!code && error != PCRE2_ERROR_HEAP_FAILED) {
        PCRE2_UCHAR reason[128] = "";
        pcre2_get_error_message(error, reason, sizeof(reason));
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "invalid regular expression '%s': byte %zu: %s", regex, (size_t)offset,
                            (const char *)reason);
    }
    pcre2_match_data *data = code ? pcre2_match_data_create(1, NULL) : NULL;
    for (size_t id = 0; data && text && id < text->list.count; id++) {
        const struct gi_text token = gi_text_list_at(&text->list, id);
        if (token.size > 0 &&
            pcre2_match(code, (PCRE2_SPTR)token.data, token.size, 0, 0, data, NULL) >= 0) {
            set_bit(suppressed, id);
        }
    }
    const bool is_ok = data || gi_error_no_memory(err, strlen(regex), "a regular expression");
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    return is_ok;
}

// Tokens that are not speech, from openai-whisper's list; each of them after a space too.
static const char *const symbols[] = {
    "\"", "#",   "(",   ")",  "*",   "+",  "/",  ":",  ";",   "<",  "=",  ">",   "@",   "[",
    "\\", "]",   "^",   "_",  "`",   "{",  "|",  "}",  "~",   "「", "」", "『",  "』",  "<<",
    ">>", "<<<", ">>>", "--", "---", "-(", "-[", "('", "(\"", "((", "))", "(((", ")))", "[[",
    "]]", "{{",  "}}",  "♪♪", "♪♪♪", "♩",  "♪",  "♫",  "♬",   "♭",  "♮",  "♯",
};

static void suppress(const struct gi_whisper_text *text, const char *before, const char *symbol,
                     uint32_t *suppressed)
{
    const int32_t id = gi_text_map_find_joined(&text->map, gi_text_of(before), gi_text_of(symbol));
    if (id >= 0) {
        set_bit(suppressed, (size_t)id);
    }
}

void gi_whisper_suppress_symbols(const struct gi_whisper_text *text, uint32_t *suppressed)
{
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        suppress(text, "", symbols[i], suppressed);
        suppress(text, " ", symbols[i], suppressed);
    }
    suppress(text, " ", "-", suppressed); // but not inside of words
    suppress(text, " ", "'", suppressed);
}
