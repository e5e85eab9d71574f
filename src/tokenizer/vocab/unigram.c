// The unigram model of SentencePiece: of all ways to cut a normalised text into tokens the one
// whose scores have the largest sum. A character that is not a token is unknown, at a score below
// all.
//   Kudo, Subword Regularization (2018).
#include "base/array.h"
#include "base/utf8.h"
#include "tokenizer/sorted_texts.h"
#include "tokenizer/tokenizer_impl.h"
#include "tokenizer/vocab/charsmap.h"
#include "tokenizer/vocab/pretokenizer.h"
#include "tokenizer/vocab/spaces.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define UNKNOWN_PENALTY 10.0f

struct unigram {
    struct gi_sorted_texts pieces; // tokens that texts are made of
    double *scores;                // one a token
    double unknown_score;
    int32_t unk;
    bool has_space_prefix, merges_spaces;
    bool has_byte_fallback;
    int32_t byte_ids[256]; // if it has
    struct gi_charsmap charsmap;
};

//-- create ----------------------------------------------------------------------------------------

static void destroy_unigram(void *state)
{
    struct unigram *unigram = state;
    if (unigram) {
        gi_sorted_texts_finish(&unigram->pieces);
        free(unigram->scores);
        gi_charsmap_finish(&unigram->charsmap);
        free(unigram);
    }
}

// Added tokens of a tokenizer.json are not pieces: they are found before, where they count.
static bool is_piece(uint8_t type, bool has_rules)
{
    return type == GI_TOKEN_TYPE_NORMAL ||
           (has_rules ? type == GI_TOKEN_TYPE_BYTE
                      : type == GI_TOKEN_TYPE_USER_DEFINED || type == GI_TOKEN_TYPE_UNUSED);
}

static void sort_pieces(struct gi_sorted_texts *pieces, const uint8_t *types, bool has_rules)
{
    for (size_t id = 0; id < pieces->list->count; id++) {
        if (is_piece(types[id], has_rules) && gi_text_list_at(pieces->list, id).size > 0) {
            pieces->ids[pieces->count++] = (int32_t)id;
        }
    }
    gi_sorted_texts_sort(pieces);
    // Keeps the last of equal ones.
    size_t n = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        n -= n > 0 && gi_sorted_texts_is_equal(pieces, n - 1, i);
        pieces->ids[n++] = pieces->ids[i];
    }
    pieces->count = n;
    gi_sorted_texts_index(pieces);
}

static bool refuse_score(size_t id, float score, struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "the score (tokenizer.ggml.scores) of token %zu is %g, not a finite number",
                        id, (double)score);
}

// Keeps the scores of pieces; no others are asked for.
static bool init_scores(struct unigram *unigram, const struct gi_tokenizer *tokenizer,
                        const struct gi_vocab *vocab, struct glinfer_error *err)
{
    float least = FLT_MAX;
    for (size_t i = 0; i < unigram->pieces.count; i++) {
        const size_t id = (size_t)unigram->pieces.ids[i];
        const uint8_t type = tokenizer->types[id];
        const bool has_score = vocab->scores && type != GI_TOKEN_TYPE_USER_DEFINED;
        const float score = has_score ? vocab->scores[id] : 0.0f;
        if (!isfinite(score)) {
            return refuse_score(id, score, err);
        }
        least = type == GI_TOKEN_TYPE_NORMAL && score < least ? score : least;
        unigram->scores[id] = (double)score;
    }
    unigram->unknown_score = (double)((least < FLT_MAX ? least : 0.0f) - UNKNOWN_PENALTY);
    return true;
}

static void *create_unigram(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                            struct glinfer_error *err)
{
    if (vocab->unk < 0 || (size_t)vocab->unk >= vocab->n_tokens) {
        gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                     "tokenizer.ggml.unknown_token_id is %d, but the vocabulary has %zu tokens",
                     vocab->unk, vocab->n_tokens);
        return NULL;
    }
    struct unigram *unigram = gi_array_zeroed(1, sizeof(*unigram), "a tokenizer", err);
    if (!unigram) {
        return NULL;
    }
    const size_t n = vocab->n_tokens;
    unigram->scores = gi_array_zeroed(n, sizeof(unigram->scores[0]), "the scores", err);
    if (!unigram->scores || !gi_sorted_texts_init(&unigram->pieces, &tokenizer->texts, n, err) ||
        !gi_charsmap_init(&unigram->charsmap, vocab->charsmap, err)) {
        destroy_unigram(unigram);
        return NULL;
    }
    unigram->unk = vocab->unk;
    unigram->has_space_prefix = vocab->add_space_prefix == 1;
    unigram->merges_spaces = vocab->remove_extra_whitespaces == 1;
    unigram->has_byte_fallback = vocab->rules.has_byte_fallback &&
                                 gi_find_byte_tokens(&tokenizer->text_to_id, unigram->byte_ids);
    sort_pieces(&unigram->pieces, tokenizer->types, vocab->rules.is_present);
    if (!init_scores(unigram, tokenizer, vocab, err)) {
        destroy_unigram(unigram);
        return NULL;
    }
    snprintf(tokenizer->name, sizeof(tokenizer->name), "t5");
    tokenizer->is_eos_added = true;
    return unigram;
}

//-- the normalised text ---------------------------------------------------------------------------

struct normalised {
    char *data;
    size_t count, capacity;
    bool has_prefix; // a space was put in front
    bool in_word;
};

static bool push_text(struct normalised *out, struct gi_text text, struct glinfer_error *err)
{
    if (!GI_ARRAY_RESERVE(out, out->count + text.size, "a text", err)) {
        return false;
    }
    memcpy(out->data + out->count, text.data, text.size);
    out->count += text.size;
    return true;
}

// Returns how many bytes of the front are read, and what they become.
static size_t read_front(const struct unigram *unigram, struct gi_text text, struct gi_text *out)
{
    const size_t n = gi_charsmap_find(&unigram->charsmap, text, out);
    if (n > 0) {
        return n;
    }
    const size_t size = gi_utf8_loose_size(text.data, text.size);
    *out = size > 0 ? (struct gi_text){text.data, size} : gi_text_of("\ufffd");
    return size > 0 ? size : 1;
}

static bool push_byte(const struct unigram *unigram, char byte, struct normalised *out,
                      struct glinfer_error *err)
{
    const struct gi_text space = gi_text_of(GI_SPACE);
    if (byte == ' ') {
        out->in_word = false;
        return unigram->merges_spaces || push_text(out, space, err);
    }
    const bool is_first = !out->in_word;
    const bool has_space =
        is_first && (unigram->merges_spaces || (unigram->has_space_prefix && !out->has_prefix));
    out->in_word = true;
    out->has_prefix |= has_space;
    return (!has_space || push_text(out, space, err)) &&
           push_text(out, (struct gi_text){&byte, 1}, err);
}

static bool normalise(const struct unigram *unigram, struct gi_text text, struct normalised *out,
                      struct glinfer_error *err)
{
    while (text.size > 0) {
        struct gi_text piece;
        const size_t n = read_front(unigram, text, &piece);
        for (size_t i = 0; i < piece.size; i++) {
            if (!push_byte(unigram, piece.data[i], out, err)) {
                return false;
            }
        }
        text = gi_text_from(text, n);
    }
    return true;
}

//-- the best way ----------------------------------------------------------------------------------

// The best way to cut a text up to some byte: its sum, and the last token.
struct way {
    double sum;
    int32_t id;
    uint32_t size; // bytes of the token; 0: not reachable
};

static void offer(struct way *way, double sum, int32_t id, size_t size)
{
    if (sum > way->sum) {
        *way = (struct way){sum, id, (uint32_t)size};
    }
}

// Offers the tokens with which the text goes on. True if one of them is of that size.
static bool offer_pieces(const struct unigram *unigram, struct gi_text text, struct way *ways,
                         size_t wanted)
{
    const struct gi_sorted_texts *pieces = &unigram->pieces;
    const uint8_t lead = (uint8_t)text.data[0];
    size_t low = pieces->first[lead], high = pieces->first[lead + 1], size = 1;
    bool is_found = false;
    while (low < high) {
        // The piece of just these bytes comes first.
        if (gi_sorted_texts_at(pieces, low).size == size) {
            const int32_t id = pieces->ids[low++];
            offer(&ways[size], ways[0].sum + unigram->scores[id], id, size);
            is_found |= size == wanted;
        }
        if (size == text.size) {
            break;
        }
        gi_sorted_texts_narrow(pieces, size, (uint8_t)text.data[size], &low, &high);
        size++;
    }
    return is_found;
}

static void find_ways(const struct unigram *unigram, struct gi_text text, struct way *ways)
{
    for (size_t i = 0; i <= text.size; i++) {
        ways[i] = (struct way){-DBL_MAX, unigram->unk, 0};
    }
    ways[0].sum = 0;
    for (size_t i = 0, size; i < text.size; i += size) {
        const struct gi_text rest = gi_text_from(text, i);
        size = gi_character_at(text, i); // A replacement may hold any bytes.
        if (!offer_pieces(unigram, rest, ways + i, size)) {
            offer(&ways[i + size], ways[i].sum + unigram->unknown_score, unigram->unk, size);
        }
    }
}

// Appends the byte tokens of a text, last first.
static void push_bytes(struct gi_encoder *encoder, struct gi_text text)
{
    const struct unigram *unigram = encoder->tokenizer->state;
    for (size_t i = text.size; i-- > 0;) {
        gi_encode_id(encoder, unigram->byte_ids[(uint8_t)text.data[i]]);
    }
}

// Appends the tokens of the best way, one for unknown ones that follow each other.
static void push_way(struct gi_encoder *encoder, const struct way *ways, struct gi_text text)
{
    const struct unigram *unigram = encoder->tokenizer->state;
    struct gi_ids *ids = encoder->ids;
    const size_t begin = ids->count;
    bool was_unknown = false;
    for (size_t at = text.size, step = 1; step > 0 && at > 0; at -= step) {
        const bool is_unknown = ways[at].id == unigram->unk;
        step = ways[at].size;
        if (is_unknown && unigram->has_byte_fallback) {
            push_bytes(encoder, (struct gi_text){text.data + at - step, step});
        } else {
            gi_encode_id(encoder, is_unknown && was_unknown ? GI_NO_TOKEN : ways[at].id);
        }
        was_unknown = is_unknown;
    }
    for (size_t i = begin, j = ids->count; i + 1 < j; i++) {
        const int32_t id = ids->data[i];
        ids->data[i] = ids->data[--j];
        ids->data[j] = id;
    }
}

static void encode_normalised(struct gi_encoder *encoder, struct gi_text text)
{
    if (text.size > UINT32_MAX - 1) {
        gi_encoder_note(encoder, gi_error_no_memory(encoder->err, text.size, "a text"));
        return;
    }
    struct way *ways =
        gi_array_zeroed(text.size + 1, sizeof(*ways), "the tokens of a text", encoder->err);
    if (gi_encoder_note(encoder, ways)) {
        find_ways(encoder->tokenizer->state, text, ways);
        push_way(encoder, ways, text);
    }
    free(ways);
}

static void encode_text(struct gi_encoder *encoder, struct gi_text text)
{
    struct normalised out = {0};
    if (gi_encoder_note(encoder, normalise(encoder->tokenizer->state, text, &out, encoder->err)) &&
        out.count > 0) {
        encode_normalised(encoder, (struct gi_text){out.data, out.count});
    }
    free(out.data);
}

static void encode_words(struct gi_encoder *encoder, struct gi_text text,
                         const struct gi_word_ends *ends)
{
    size_t begin = 0;
    for (size_t i = 0; !encoder->has_failed && i < ends->count; i++) {
        encode_normalised(encoder, (struct gi_text){text.data + begin, ends->data[i] - begin});
        begin = ends->data[i];
    }
}

const struct gi_tokenizer_model gi_unigram_model = {
    .name = "t5",
    .default_bos = GI_NO_TOKEN,
    .default_eos = 1,
    .default_unk = 2,
    .create = create_unigram,
    .destroy = destroy_unigram,
    .encode = encode_text,
    .encode_words = encode_words,
    .decode = gi_unescape_spaces,
};
