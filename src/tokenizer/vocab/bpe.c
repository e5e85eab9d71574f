// Byte-level byte pair encoding as GPT-2 has it: each byte of a word is a token, and the pair of
// neighbours that comes first in the list of merges becomes one, until no pair is in the list.
//   Radford et al., Language Models are Unsupervised Multitask Learners (2019), section 2.2.
#include "base/array.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer_impl.h"
#include "tokenizer/vocab/merger.h"
#include "tokenizer/vocab/merges.h"
#include "tokenizer/vocab/pretokenizer.h"

#include <stdio.h>
#include <stdlib.h>

//-- bytes as characters -----------------------------------------------------------------------

// A byte that is printable in Latin-1 stands for itself; the others, 0 to 0x20, 0x7f to 0xa0 and
// 0xad, for the characters from U+0100 on in their order.
static uint32_t character_of(uint8_t byte)
{
    return byte <= 0x20                   ? 0x100u + byte
           : byte >= 0x7f && byte <= 0xa0 ? 0x121u + byte - 0x7fu
           : byte == 0xad                 ? 0x143u
                                          : byte;
}

// Returns the byte that a character stands for; -1 if it stands for no byte.
static int byte_of(uint32_t character)
{
    uint32_t byte = character < 0x100   ? character
                    : character < 0x121 ? character - 0x100
                    : character < 0x143 ? character - 0x121 + 0x7f
                                        : 0xad;
    return character_of((uint8_t)byte) == character ? (int)byte : -1;
}

// Keeps characters that stand for no byte.
static size_t decode_token(char *text, size_t size)
{
    size_t n = 0;
    for (size_t offset = 0; offset < size;) {
        size_t start = offset;
        int byte = byte_of(gi_utf8_next(text, size, &offset));
        if (byte >= 0) {
            text[n++] = (char)byte;
        } else {
            memmove(text + n, text + start, offset - start);
            n += offset - start;
        }
    }
    return n;
}

//-- create ------------------------------------------------------------------------------------

struct bpe {
    struct gi_pretokenizer *pretokenizer; // NULL: a tokenizer.json's steps cut into words
    bool ignores_merges;
    int32_t byte_ids[256]; // GI_NO_TOKEN: the vocabulary has no such byte
    struct gi_merges merges;
};

static void destroy_bpe(void *state)
{
    struct bpe *bpe = state;
    if (bpe) {
        gi_pretokenizer_destroy(bpe->pretokenizer);
        gi_merges_finish(&bpe->merges);
        free(bpe);
    }
}

static void *create_bpe(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                        struct glinfer_error *err)
{
    struct bpe *bpe = gi_array_zeroed(1, sizeof(*bpe), "a tokenizer", err);
    if (!bpe) {
        return NULL;
    }
    // The steps of a tokenizer.json stand for a pre-tokenizer.
    const bool has_words = vocab->rules.is_present;
    bpe->pretokenizer = has_words ? NULL : gi_pretokenizer_create(vocab->pre, err);
    bpe->ignores_merges = bpe->pretokenizer ? gi_pretokenizer_ignores_merges(bpe->pretokenizer)
                                            : vocab->rules.ignores_merges;
    if ((!bpe->pretokenizer && !has_words) ||
        !gi_merges_init(&bpe->merges, &tokenizer->text_to_id, vocab, err)) {
        destroy_bpe(bpe);
        return NULL;
    }
    for (size_t byte = 0; byte < 256; byte++) {
        char text[4];
        const size_t size = gi_utf8_encode(character_of((uint8_t)byte), text);
        bpe->byte_ids[byte] =
            gi_text_map_find(&tokenizer->text_to_id, (struct gi_text){text, size});
        if (has_words && bpe->byte_ids[byte] < 0) {
            bpe->byte_ids[byte] = gi_vocab_unknown(vocab);
        }
    }
    const bool is_named = vocab->pre.size > 0 && vocab->pre.size < 32;
    snprintf(tokenizer->name, sizeof(tokenizer->name), "gpt2/%.*s",
             is_named ? (int)vocab->pre.size : 5, is_named ? vocab->pre.data : "steps");
    if (bpe->pretokenizer) {
        snprintf(tokenizer->name, sizeof(tokenizer->name), "gpt2/%s",
                 gi_pretokenizer_name(bpe->pretokenizer));
    }
    tokenizer->is_bos_added = bpe->pretokenizer && gi_pretokenizer_adds_bos(bpe->pretokenizer);
    tokenizer->is_sep_added = bpe->pretokenizer && gi_pretokenizer_adds_sep(bpe->pretokenizer);
    return bpe;
}

//-- words -------------------------------------------------------------------------------------

static void encode_word(struct gi_encoder *encoder, struct gi_merger *merger, struct gi_text text)
{
    const struct bpe *bpe = encoder->tokenizer->state;
    if (!gi_encoder_note(encoder, gi_merger_begin(merger, text.size, encoder->err))) {
        return;
    }
    for (size_t i = 0; i < text.size; i++) {
        gi_merger_add(merger, 1, bpe->byte_ids[(uint8_t)text.data[i]]);
    }
    gi_merger_run(merger);
    const struct gi_piece *pieces = merger->pieces.data;
    for (int32_t i = 0; i >= 0; i = pieces[i].next) {
        gi_encode_id(encoder, pieces[i].id);
    }
}

//-- text --------------------------------------------------------------------------------------

// Returns the token that spells the whole word, or GI_NO_TOKEN; with the rules of a tokenizer.json
// no control token. scratch has room for two bytes a byte of the word.
static int32_t find_word(const struct gi_tokenizer *tokenizer, struct gi_text word, char *scratch)
{
    size_t n = 0;
    for (size_t i = 0; i < word.size; i++) {
        n += gi_utf8_encode(character_of((uint8_t)word.data[i]), scratch + n);
    }
    const int32_t id = gi_text_map_find(&tokenizer->text_to_id, (struct gi_text){scratch, n});
    return tokenizer->rules && gi_tokenizer_is_control(tokenizer, id) ? GI_NO_TOKEN : id;
}

// Encodes valid text as words that end at ends. With scratch, as find_word takes it, a word that is
// a token is not merged.
static void encode_each(struct gi_encoder *encoder, struct gi_text text,
                        const struct gi_word_ends *ends, char *scratch)
{
    const struct bpe *bpe = encoder->tokenizer->state;
    struct gi_merger merger = {.find = gi_merges_find, .user = &bpe->merges};
    size_t start = 0;
    for (size_t i = 0; !encoder->has_failed && i < ends->count; i++) {
        struct gi_text part = {text.data + start, ends->data[i] - start};
        int32_t id = scratch ? find_word(encoder->tokenizer, part, scratch) : GI_NO_TOKEN;
        if (id >= 0) {
            gi_encode_id(encoder, id);
        } else {
            encode_word(encoder, &merger, part);
        }
        start = ends->data[i];
    }
    gi_merger_finish(&merger);
}

static void encode_words(struct gi_encoder *encoder, struct gi_text text,
                         const struct gi_word_ends *ends)
{
    const struct bpe *bpe = encoder->tokenizer->state;
    char *scratch = NULL;
    if (bpe->ignores_merges && text.size) {
        scratch = text.size > SIZE_MAX / 2 ? NULL : malloc(text.size * 2);
        if (!scratch) {
            gi_encoder_note(encoder, gi_error_no_memory(encoder->err, text.size, "a text"));
            return;
        }
    }
    encode_each(encoder, text, ends, scratch);
    free(scratch);
}

// Holds the text repaired, the same with surrogates hidden, and scratch, in one allocation.
struct repaired {
    char *memory;
    struct gi_text text, subject;
    char *scratch;
};

static bool init_repaired(struct repaired *repaired, struct gi_text text, struct glinfer_error *err)
{
    if (text.size > SIZE_MAX / 9) {
        return gi_error_no_memory(err, text.size, "a text");
    }
    repaired->memory = malloc(text.size * 9);
    if (!repaired->memory) {
        return gi_error_no_memory(err, text.size * 9, "a text");
    }
    bool has_surrogates;
    size_t size = gi_utf8_repair(text.data, text.size, repaired->memory, &has_surrogates);
    repaired->text = (struct gi_text){repaired->memory, size};
    repaired->subject = repaired->text;
    repaired->scratch = repaired->memory + text.size * 3;
    if (has_surrogates) {
        memcpy(repaired->scratch, repaired->memory, size);
        gi_utf8_hide_surrogates(repaired->scratch, size);
        repaired->subject.data = repaired->scratch;
    }
    return true;
}

static void encode_text(struct gi_encoder *encoder, struct gi_text text)
{
    const struct bpe *bpe = encoder->tokenizer->state;
    struct repaired repaired = {0};
    if (!text.size || !gi_encoder_note(encoder, init_repaired(&repaired, text, encoder->err))) {
        return;
    }
    struct gi_word_ends ends = {0};
    char *scratch = bpe->ignores_merges ? repaired.scratch : NULL;
    if (gi_encoder_note(encoder, gi_pretokenizer_split(bpe->pretokenizer, repaired.subject, &ends,
                                                       encoder->err))) {
        encode_each(encoder, repaired.text, &ends, scratch);
    }
    free(ends.data);
    free(repaired.memory);
}

const struct gi_tokenizer_model gi_bpe_model = {
    .name = "gpt2",
    .default_bos = GI_NO_TOKEN,
    .default_eos = GI_NO_TOKEN,
    .default_unk = GI_NO_TOKEN,
    .create = create_bpe,
    .destroy = destroy_bpe,
    .encode = encode_text,
    .encode_words = encode_words,
    .decode = decode_token,
};
