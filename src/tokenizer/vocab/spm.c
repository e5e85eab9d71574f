// Byte pair encoding as SentencePiece has it: the characters of a text, with U+2581 for a space,
// are the first pieces, and the two neighbours that make the piece with the best score become one,
// until none make any. A character that is not a piece is written in byte tokens.
//   Kudo and Richardson, SentencePiece (2018).
#include "base/array.h"
#include "tokenizer/tokenizer_impl.h"
#include "tokenizer/vocab/merger.h"
#include "tokenizer/vocab/spaces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct spm {
    uint32_t *ranks;       // one a token, the lowest for the best score
    size_t piece_size_max; // bytes of the longest token
    int32_t byte_ids[256]; // GI_NO_TOKEN: nothing stands for that byte
    bool has_space_prefix;
    bool joins_space[256]; // true if a token has a space after a character that ends in the byte
};

//-- create ------------------------------------------------------------------------------------

// Maps floats to integers in reverse order; NaN comes last, both zeros are equal.
static uint32_t rank_of(float score)
{
    if (isnan(score)) {
        return UINT32_MAX;
    }
    float sum = score + 0.0f;
    uint32_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    return bits >> 31 ? bits : ~bits & INT32_MAX;
}

static int32_t find_byte(const struct gi_text_map *ids, uint8_t byte, int32_t unk)
{
    int32_t id = gi_find_byte_token(ids, byte);
    if (id < 0) {
        id = gi_text_map_find(ids, (struct gi_text){(const char *)&byte, 1});
    }
    return id < 0 ? unk : id;
}

static void destroy_spm(void *state)
{
    struct spm *spm = state;
    if (spm) {
        free(spm->ranks);
        free(spm);
    }
}

static void init_pieces(struct spm *spm, const struct gi_vocab *vocab)
{
    for (size_t id = 0; id < vocab->n_tokens; id++) {
        const struct gi_text token = vocab->tokens[id];
        for (size_t i = 1; i < token.size; i++) {
            spm->joins_space[(uint8_t)token.data[i - 1]] |= gi_is_space_at(token, i);
        }
        spm->ranks[id] = rank_of(vocab->scores ? vocab->scores[id] : 0.0f);
        spm->piece_size_max = token.size > spm->piece_size_max ? token.size : spm->piece_size_max;
    }
}

static void *create_spm(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                        struct glinfer_error *err)
{
    struct spm *spm = gi_array_zeroed(1, sizeof(*spm), "a tokenizer", err);
    if (!spm) {
        return NULL;
    }
    spm->ranks = gi_array_zeroed(vocab->n_tokens, sizeof(*spm->ranks), "the scores", err);
    if (!spm->ranks) {
        destroy_spm(spm);
        return NULL;
    }
    init_pieces(spm, vocab);
    bool has_unk = vocab->unk >= 0 && (size_t)vocab->unk < vocab->n_tokens;
    for (size_t byte = 0; byte < 256; byte++) {
        spm->byte_ids[byte] =
            find_byte(&tokenizer->text_to_id, (uint8_t)byte, has_unk ? vocab->unk : GI_NO_TOKEN);
    }
    spm->has_space_prefix = vocab->add_space_prefix != 0;
    snprintf(tokenizer->name, sizeof(tokenizer->name), "llama");
    tokenizer->is_bos_added = true;
    return spm;
}

//-- words -------------------------------------------------------------------------------------

// A part of a text that is encoded on its own.
struct word {
    const struct gi_tokenizer *tokenizer;
    struct gi_text text;
};

// Returns the token that spells these bytes; GI_NO_TOKEN for control tokens and the unknown token,
// which are never made of text.
static int32_t find_piece(const struct word *word, size_t offset, size_t size)
{
    const struct gi_tokenizer *tokenizer = word->tokenizer;
    const struct gi_text text = {word->text.data + offset, size};
    const int32_t id = gi_text_map_find(&tokenizer->text_to_id, text);
    return id >= 0 && gi_tokenizer_is_control(tokenizer, id) ? GI_NO_TOKEN : id;
}

static bool find_pair(const void *user, const struct gi_piece *left, const struct gi_piece *right,
                      uint32_t *rank, int32_t *id)
{
    const struct word *word = user;
    const struct spm *spm = word->tokenizer->state;
    const size_t size = (size_t)left->size + right->size;
    *id = size > spm->piece_size_max ? GI_NO_TOKEN : find_piece(word, left->offset, size);
    *rank = *id >= 0 ? spm->ranks[*id] : 0;
    return *id >= 0;
}

static void encode_word(struct gi_encoder *encoder, struct gi_merger *merger,
                        const struct word *word)
{
    if (!gi_encoder_note(encoder, gi_merger_begin(merger, word->text.size, encoder->err))) {
        return;
    }
    for (size_t offset = 0, size; offset < word->text.size; offset += size) {
        size = gi_character_at(word->text, offset);
        gi_merger_add(merger, (uint32_t)size, GI_NO_TOKEN);
    }
    gi_merger_run(merger);
    const struct spm *spm = word->tokenizer->state;
    for (int32_t i = 0; i >= 0; i = merger->pieces.data[i].next) {
        const struct gi_piece *piece = &merger->pieces.data[i];
        const struct gi_text bytes = {word->text.data + piece->offset, piece->size};
        const int32_t id =
            piece->id >= 0 ? piece->id : find_piece(word, piece->offset, piece->size);
        gi_encode_piece(encoder, id, bytes, spm->byte_ids);
    }
}

// Returns the bytes at the front of a text that no piece reaches past: up to a space that no token
// has after such a character. Merging a word at a time keeps the heap within a cache.
static size_t word_size(const struct spm *spm, struct gi_text text)
{
    size_t i = gi_character_at(text, 0);
    while (i < text.size &&
           (!gi_is_space_at(text, i) || spm->joins_space[(uint8_t)text.data[i - 1]])) {
        i += gi_character_at(text, i);
    }
    return i;
}

static void encode_words(struct gi_encoder *encoder, struct gi_text text)
{
    struct word word = {.tokenizer = encoder->tokenizer};
    struct gi_merger merger = {.find = find_pair, .user = &word};
    for (; !encoder->has_failed && text.size; text = gi_text_from(text, word.text.size)) {
        word.text = (struct gi_text){text.data, word_size(word.tokenizer->state, text)};
        encode_word(encoder, &merger, &word);
    }
    gi_merger_finish(&merger);
}

//-- text --------------------------------------------------------------------------------------

static void encode_text(struct gi_encoder *encoder, struct gi_text text)
{
    const struct spm *spm = encoder->tokenizer->state;
    if (!text.size) {
        return;
    }
    struct gi_text spaced;
    char *escaped = gi_escape_spaces(text, spm->has_space_prefix, &spaced, encoder->err);
    if (gi_encoder_note(encoder, escaped)) {
        encode_words(encoder, spaced);
    }
    free(escaped);
}

const struct gi_tokenizer_model gi_spm_model = {
    .name = "llama",
    .default_bos = 1,
    .default_eos = 2,
    .default_unk = 0,
    .create = create_spm,
    .destroy = destroy_spm,
    .encode = encode_text,
    .decode = gi_unescape_spaces,
};
