// WordPiece, the vocabulary of BERT: characters lose their marks and their case, words end at
// spaces, punctuation and ideographs, and of each word the longest tokens are taken from its
// beginning on. A word that has a place where no token fits is unknown as a whole.
#include "base/array.h"
#include "base/utf8.h"
#include "tokenizer/steps/unicode_form.h"
#include "tokenizer/tokenizer_impl.h"
#include "tokenizer/vocab/pretokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define SPACE      "\u2581" // before the first token of a word
#define SPACE_SIZE (sizeof(SPACE) - 1)

struct wordpiece {
    struct gi_pretokenizer *words;
    size_t token_size_max; // bytes of the longest token
    size_t word_size_max;  // characters of a word that is not unknown
    int32_t unk;
};

//-- create ----------------------------------------------------------------------------------------

static void destroy_wordpiece(void *state)
{
    struct wordpiece *wordpiece = state;
    if (wordpiece) {
        gi_pretokenizer_destroy(wordpiece->words);
        free(wordpiece);
    }
}

static void *create_wordpiece(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                              struct glinfer_error *err)
{
    struct wordpiece *wordpiece = gi_array_zeroed(1, sizeof(*wordpiece), "a tokenizer", err);
    if (!wordpiece || !(wordpiece->words = gi_pretokenizer_create_wordpiece(err))) {
        free(wordpiece);
        return NULL;
    }
    for (size_t id = 0; id < vocab->n_tokens; id++) {
        const size_t size = vocab->tokens[id].size;
        wordpiece->token_size_max =
            size > wordpiece->token_size_max ? size : wordpiece->token_size_max;
    }
    const uint32_t size_max = vocab->rules.word_size_max;
    wordpiece->word_size_max = size_max ? size_max : SIZE_MAX;
    wordpiece->unk = gi_vocab_unknown(vocab);
    snprintf(tokenizer->name, sizeof(tokenizer->name), "bert");
    tokenizer->is_bos_added = true;
    tokenizer->is_eos_added = true;
    return wordpiece;
}

static size_t decode_token(char *text, size_t size)
{
    if (size < SPACE_SIZE || memcmp(text, SPACE, SPACE_SIZE) != 0) {
        return size;
    }
    text[0] = ' ';
    memmove(text + 1, text + SPACE_SIZE, size - SPACE_SIZE);
    return size - SPACE_SIZE + 1;
}

//-- characters ------------------------------------------------------------------------------------

// Returns what a character becomes: the first of its canonical decomposition in lower case; every
// space is U+0020.
static uint32_t fold(uint32_t code)
{
    enum { DECOMPOSED_MAX = 4 };
    if (gi_is_unicode_space(code)) {
        return ' ';
    }
    utf8proc_int32_t codes[DECOMPOSED_MAX] = {(utf8proc_int32_t)code};
    utf8proc_decompose_char(codes[0], codes, DECOMPOSED_MAX,
                            (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), NULL);
    return (uint32_t)utf8proc_tolower(codes[0]);
}

//-- words -----------------------------------------------------------------------------------------

// Returns true for a token that a tokenizer.json spells otherwise: a control token, or one that
// begins a word but stands within one, where the text has U+2581 itself.
static bool is_hidden(const struct gi_tokenizer *tokenizer, int32_t id, bool is_within)
{
    return id >= 0 && tokenizer->rules &&
           (gi_tokenizer_is_control(tokenizer, id) ||
            (is_within && gi_text_begins(gi_text_list_at(&tokenizer->texts, (size_t)id),
                                         (struct gi_text){SPACE, SPACE_SIZE})));
}

// Appends the tokens of a word, which has the space in front.
static void push_word(struct gi_encoder *encoder, struct gi_text word)
{
    const struct gi_text_map *ids = &encoder->tokenizer->text_to_id;
    const struct wordpiece *wordpiece = encoder->tokenizer->state;
    const size_t n_before = encoder->ids->count;
    for (size_t begin = 0; begin < word.size;) {
        const size_t left = word.size - begin;
        size_t size = left < wordpiece->token_size_max ? left : wordpiece->token_size_max;
        int32_t id = GI_NO_TOKEN;
        for (; size > 0 && id == GI_NO_TOKEN; size -= id == GI_NO_TOKEN) {
            id = gi_text_map_find(ids, (struct gi_text){word.data + begin, size});
            id = is_hidden(encoder->tokenizer, id, begin > 0) ? GI_NO_TOKEN : id;
        }
        if (id == GI_NO_TOKEN) {
            encoder->ids->count = n_before;
            gi_encode_id(encoder, wordpiece->unk);
            return;
        }
        gi_encode_id(encoder, id);
        begin += size;
    }
}

// Writes text as it is cut into words, into room for 4 * text.size bytes; returns how many.
static size_t fold_text(struct gi_text text, char *out)
{
    size_t size = 0;
    for (size_t offset = 0; offset < text.size;) {
        const uint32_t code = fold(gi_utf8_next(text.data, text.size, &offset));
        if (code != GI_UTF8_REPLACEMENT && !(code >= 0xd800 && code < 0xe000)) {
            size += gi_utf8_encode(code, out + size);
        }
    }
    return size;
}

// Appends the tokens of a folded text; word has room for it and the space.
static void encode_words(struct gi_encoder *encoder, struct gi_text text, char *word)
{
    const struct wordpiece *wordpiece = encoder->tokenizer->state;
    struct gi_word_ends ends = {0};
    gi_encoder_note(encoder, gi_pretokenizer_split(wordpiece->words, text, &ends, encoder->err));
    size_t begin = 0;
    memcpy(word, SPACE, SPACE_SIZE);
    for (size_t i = 0; !encoder->has_failed && i < ends.count; i++) {
        const size_t size = ends.data[i] - begin;
        if (text.data[begin] != ' ') {
            memcpy(word + SPACE_SIZE, text.data + begin, size);
            push_word(encoder, (struct gi_text){word, SPACE_SIZE + size});
        }
        begin = ends.data[i];
    }
    free(ends.data);
}

// Appends the tokens of words that the steps of a tokenizer.json made.
static void encode_words_of_steps(struct gi_encoder *encoder, struct gi_text text,
                                  const struct gi_word_ends *ends)
{
    const struct wordpiece *wordpiece = encoder->tokenizer->state;
    char *word = gi_array_zeroed(text.size + SPACE_SIZE, 1, "a text", encoder->err);
    gi_encoder_note(encoder, word);
    size_t begin = 0;
    for (size_t i = 0; !encoder->has_failed && i < ends->count; i++) {
        const struct gi_text part = {text.data + begin, ends->data[i] - begin};
        if (gi_utf8_count(part.data, part.size) > wordpiece->word_size_max) {
            gi_encode_id(encoder, wordpiece->unk);
        } else {
            memcpy(word, SPACE, SPACE_SIZE);
            memcpy(word + SPACE_SIZE, part.data, part.size);
            push_word(encoder, (struct gi_text){word, SPACE_SIZE + part.size});
        }
        begin = ends->data[i];
    }
    free(word);
}

static void encode_text(struct gi_encoder *encoder, struct gi_text text)
{
    const struct wordpiece *wordpiece = encoder->tokenizer->state;
    // A character becomes one of at most four bytes; twice: the text and a word of it.
    char *folded = gi_array_zeroed(8 * text.size + SPACE_SIZE, 1, "a text", encoder->err);
    size_t size = folded ? fold_text(text, folded) : 0;
    if (gi_encoder_note(encoder, folded && gi_pretokenizer_strip(wordpiece->words, folded, &size,
                                                                 encoder->err))) {
        encode_words(encoder, (struct gi_text){folded, size}, folded + 4 * text.size);
    }
    free(folded);
}

const struct gi_tokenizer_model gi_wordpiece_model = {
    .name = "bert",
    .default_bos = 101,
    .default_eos = 102,
    .default_unk = 100,
    .create = create_wordpiece,
    .destroy = destroy_wordpiece,
    .encode = encode_text,
    .encode_words = encode_words_of_steps,
    .decode = decode_token,
};
