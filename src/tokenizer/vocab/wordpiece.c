// WordPiece, the vocabulary of BERT: characters lose their marks and their case, words end at
// spaces, punctuation and ideographs, and of each word the longest tokens are taken from its
// beginning on. A word that has a place where no token fits is unknown as a whole.
#include "base/array.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer_impl.h"
#include "tokenizer/vocab/unicode_fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE      "\u2581" // before the first token of a word
#define SPACE_SIZE (sizeof(SPACE) - 1)
#define COUNT(x)   (sizeof(x) / sizeof((x)[0]))

struct wordpiece {
    size_t token_size_max; // bytes of the longest token
    int32_t unk;
};

//-- create ----------------------------------------------------------------------------------------

static void *create_wordpiece(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                              struct glinfer_error *err)
{
    struct wordpiece *wordpiece = gi_array_zeroed(1, sizeof(*wordpiece), "a tokenizer", err);
    if (!wordpiece) {
        return NULL;
    }
    for (size_t id = 0; id < vocab->n_tokens; id++) {
        const size_t size = vocab->tokens[id].size;
        wordpiece->token_size_max =
            size > wordpiece->token_size_max ? size : wordpiece->token_size_max;
    }
    const bool has_unk = vocab->unk >= 0 && (size_t)vocab->unk < vocab->n_tokens;
    wordpiece->unk = has_unk ? vocab->unk : GI_NO_TOKEN;
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

static uint32_t fold(uint32_t code)
{
    enum { HANGUL_FIRST = 0xac00, HANGUL_END = 0xd7a4, LEAD = 0x1100, EACH_LEAD = 588 };
    if (code >= HANGUL_FIRST && code < HANGUL_END) {
        return LEAD + (code - HANGUL_FIRST) / EACH_LEAD;
    }
    size_t low = 0, high = COUNT(folds);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (folds[middle][0] < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < COUNT(folds) && folds[low][0] == code ? folds[low][1] : code;
}

static bool is_in(const uint32_t (*ranges)[2], size_t n, uint32_t code)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (ranges[middle][1] < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && ranges[low][0] <= code;
}

static bool is_space(uint32_t code)
{
    static const uint32_t spaces[][2] = {
        {0x09, 0x0d},     {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
        {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
    };
    return is_in(spaces, COUNT(spaces), code);
}

static bool is_ideograph(uint32_t code)
{
    static const uint32_t ideographs[][2] = {
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
        {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
    };
    return is_in(ideographs, COUNT(ideographs), code);
}

// True for a character that is a word by itself.
static bool is_word(uint32_t code)
{
    return is_in(punctuation, COUNT(punctuation), code) || is_ideograph(code) ||
           (code > 0 && code < 0x7f && strchr("$+<=>^`|~", (int)code));
}

//-- words -----------------------------------------------------------------------------------------

// Appends the tokens of a word, which has the space in front.
static bool push_word(const struct gi_tokenizer *tokenizer, struct gi_text word, struct gi_ids *ids,
                      struct glinfer_error *err)
{
    const struct wordpiece *wordpiece = tokenizer->state;
    const size_t n_before = ids->count;
    for (size_t begin = 0; begin < word.size;) {
        const size_t left = word.size - begin;
        size_t size = left < wordpiece->token_size_max ? left : wordpiece->token_size_max;
        int32_t id = GI_NO_TOKEN;
        for (; size > 0 && id == GI_NO_TOKEN; size -= id == GI_NO_TOKEN) {
            id =
                gi_text_map_find(&tokenizer->text_to_id, (struct gi_text){word.data + begin, size});
        }
        if (id == GI_NO_TOKEN) {
            ids->count = n_before;
            return wordpiece->unk == GI_NO_TOKEN || gi_ids_push(ids, wordpiece->unk, err);
        }
        if (!gi_ids_push(ids, id, err)) {
            return false;
        }
        begin += size;
    }
    return true;
}

// A word on its way: the space, then characters.
struct word {
    char *data; // room for a whole text after the space
    size_t size;
};

static bool end_word(const struct gi_tokenizer *tokenizer, struct word *word, struct gi_ids *ids,
                     struct glinfer_error *err)
{
    const struct gi_text text = {word->data, word->size};
    word->size = SPACE_SIZE;
    return text.size == SPACE_SIZE || push_word(tokenizer, text, ids, err);
}

static bool encode_words(const struct gi_tokenizer *tokenizer, struct gi_text text,
                         struct word *word, struct gi_ids *ids, struct glinfer_error *err)
{
    for (size_t offset = 0; offset < text.size;) {
        const uint32_t code = fold(gi_utf8_next(text.data, text.size, &offset));
        const bool is_own = is_word(code);
        if ((is_own || is_space(code)) && !end_word(tokenizer, word, ids, err)) {
            return false;
        }
        if (is_space(code) || code == 0 || code == 0xfffd || is_in(skipped, COUNT(skipped), code)) {
            continue;
        }
        word->size += gi_utf8_encode(code, word->data + word->size);
        if (is_own && !end_word(tokenizer, word, ids, err)) {
            return false;
        }
    }
    return end_word(tokenizer, word, ids, err);
}

static bool encode_text(const struct gi_tokenizer *tokenizer, struct gi_text text,
                        struct gi_ids *ids, struct glinfer_error *err)
{
    // A character becomes one of at most four bytes.
    struct word word = {gi_array_zeroed(4 * text.size + SPACE_SIZE + 4, 1, "a text", err),
                        SPACE_SIZE};
    if (!word.data) {
        return false;
    }
    memcpy(word.data, SPACE, SPACE_SIZE);
    const bool ok = encode_words(tokenizer, text, &word, ids, err);
    free(word.data);
    return ok;
}

const struct gi_tokenizer_model gi_wordpiece_model = {
    .name = "bert",
    .default_bos = 101,
    .default_eos = 102,
    .default_unk = 100,
    .create = create_wordpiece,
    .destroy = free,
    .encode = encode_text,
    .decode = decode_token,
};
