// Byte pair encoding as Gemma 4 has it: the characters of a line, with U+2581 for a space, are the
// first pieces, and the pair of neighbours that comes first in the list of merges becomes one. Line
// ends are words of their own, whole where they are a token. A character that is not a piece is
// written in byte tokens.
//
// Other vocabularies differ in the words: see ways below. With the steps of a tokenizer.json the
// words are those of the steps, as in the tokenizers of Llama 2, Mistral and Gemma.
#include "base/array.h"
#include "base/utf8.h"
#include "tokenizer/steps/unicode_form.h"
#include "tokenizer/tokenizer_impl.h"
#include "tokenizer/vocab/merges.h"
#include "tokenizer/vocab/pretokenizer.h"
#include "tokenizer/vocab/spaces.h"

#include <stdio.h>
#include <stdlib.h>

struct way {
    const char *model, *pre; // pre: NULL for any
    const char *name;
    bool is_bos_forced;
    bool has_spaces;      // words end at white space, which is left out
    bool takes_line_ends; // line ends that are a token are not merged from their parts
};

static const struct way ways[] = {
    {"gemma4", NULL, "gemma4", .is_bos_forced = true, .takes_line_ends = true},
    {"gpt2", "gemma4", "gpt2/gemma4", .is_bos_forced = true, .takes_line_ends = true},
    {"gpt2", "granite-embed-multi-311m", "gpt2/granite-embed-multi-311m", .is_bos_forced = true,
     .takes_line_ends = true},
    {"gpt2", "sarvam-moe", "gpt2/sarvam-moe", .is_bos_forced = false},
    {"gpt2", "whitespace", "gpt2/whitespace", .has_spaces = true},
    {"whitespace", NULL, "whitespace", .has_spaces = true},
};

static const struct way *find_way(const struct gi_vocab *vocab)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (gi_text_is(vocab->model, ways[i].model) &&
            (!ways[i].pre || gi_text_is(vocab->pre, ways[i].pre))) {
            return &ways[i];
        }
    }
    return NULL;
}

bool gi_is_line_bpe(const struct gi_vocab *vocab)
{
    return find_way(vocab);
}

struct line_bpe {
    const struct way *way; // NULL: a tokenizer.json's steps cut into words
    bool is_lowercased;
    struct gi_merges merges;
    int32_t byte_ids[256]; // negative: the vocabulary has no such byte
    int32_t unk;           // of a tokenizer.json; negative: unknown characters are left out
    bool has_byte_fallback, fuses_unknown, ignores_merges; // of a tokenizer.json
};

static void destroy_line_bpe(void *state)
{
    struct line_bpe *bpe = state;
    if (bpe) {
        gi_merges_finish(&bpe->merges);
        free(bpe);
    }
}

static void *create_line_bpe(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                             struct glinfer_error *err)
{
    struct line_bpe *bpe = gi_array_zeroed(1, sizeof(*bpe), "a tokenizer", err);
    if (!bpe || !gi_merges_init(&bpe->merges, &tokenizer->text_to_id, vocab, err)) {
        destroy_line_bpe(bpe);
        return NULL;
    }
    const struct gi_vocab_rules *rules = &vocab->rules;
    bpe->way = rules->is_present ? NULL : find_way(vocab);
    bpe->is_lowercased = vocab->is_lowercased;
    gi_find_byte_tokens(&tokenizer->text_to_id, bpe->byte_ids);
    bpe->has_byte_fallback = rules->has_byte_fallback;
    bpe->fuses_unknown = rules->fuses_unknown;
    bpe->ignores_merges = rules->ignores_merges;
    bpe->unk = gi_vocab_unknown(vocab);
    snprintf(tokenizer->name, sizeof(tokenizer->name), "%s",
             bpe->way ? bpe->way->name : "llama/steps");
    tokenizer->is_bos_forced = bpe->way && bpe->way->is_bos_forced;
    tokenizer->is_bos_added = !bpe->way || bpe->way->is_bos_forced;
    return bpe;
}

//-- words -----------------------------------------------------------------------------------------

// Merges the characters of a word; false without memory.
static bool merge_word(struct gi_encoder *encoder, struct gi_merger *merger, struct gi_text word)
{
    if (!gi_encoder_note(encoder, gi_merger_begin(merger, word.size, encoder->err))) {
        return false;
    }
    for (size_t offset = 0; offset < word.size;) {
        const size_t start = offset;
        gi_utf8_next(word.data, word.size, &offset);
        const struct gi_text character = {word.data + start, offset - start};
        gi_merger_add(merger, (uint32_t)character.size,
                      gi_text_map_find(&encoder->tokenizer->text_to_id, character));
    }
    gi_merger_run(merger);
    return true;
}

static void encode_word(struct gi_encoder *encoder, struct gi_merger *merger, struct gi_text word)
{
    const struct line_bpe *bpe = encoder->tokenizer->state;
    if (!merge_word(encoder, merger, word)) {
        return;
    }
    for (int32_t i = 0; i >= 0; i = merger->pieces.data[i].next) {
        const struct gi_piece *piece = &merger->pieces.data[i];
        const struct gi_text bytes = {word.data + piece->offset, piece->size};
        gi_encode_piece(encoder, piece->id, bytes, bpe->byte_ids);
    }
}

// Returns the bytes of the line, or of the line ends, at the front of a text.
static size_t word_size(struct gi_text text)
{
    size_t i = 1;
    while (i < text.size && (text.data[i] == '\n') == (text.data[0] == '\n')) {
        i++;
    }
    return i;
}

static void encode_words(struct gi_encoder *encoder, struct gi_text text)
{
    const struct gi_tokenizer *tokenizer = encoder->tokenizer;
    const struct line_bpe *bpe = tokenizer->state;
    struct gi_merger merger = {.find = gi_merges_find, .user = &bpe->merges};
    while (!encoder->has_failed && text.size > 0) {
        const struct gi_text word = {text.data, word_size(text)};
        const bool is_whole = bpe->way->takes_line_ends && word.data[0] == '\n';
        const int32_t id = is_whole ? gi_text_map_find(&tokenizer->text_to_id, word) : GI_NO_TOKEN;
        if (id >= 0) {
            gi_encode_id(encoder, id);
        } else {
            encode_word(encoder, &merger, word);
        }
        text = gi_text_from(text, word.size);
    }
    gi_merger_finish(&merger);
}

// Encodes the words between white space.
static void encode_spaced_words(struct gi_encoder *encoder, struct gi_text text)
{
    const struct line_bpe *bpe = encoder->tokenizer->state;
    struct gi_merger merger = {.find = gi_merges_find, .user = &bpe->merges};
    size_t begin = 0;
    for (size_t offset = 0; !encoder->has_failed && offset < text.size;) {
        const size_t end = offset;
        const bool is_space = gi_is_unicode_space(gi_utf8_next(text.data, text.size, &offset));
        const size_t word_end = is_space ? end : offset;
        if ((is_space || offset == text.size) && word_end > begin) {
            encode_word(encoder, &merger, (struct gi_text){text.data + begin, word_end - begin});
        }
        begin = is_space ? offset : begin;
    }
    gi_merger_finish(&merger);
}

//-- words of steps --------------------------------------------------------------------------------

static bool has_bytes(const struct line_bpe *bpe, struct gi_text text)
{
    bool has_all = bpe->has_byte_fallback;
    for (size_t i = 0; has_all && i < text.size; i++) {
        has_all = bpe->byte_ids[(uint8_t)text.data[i]] >= 0;
    }
    return has_all;
}

static void encode_word_of_steps(struct gi_encoder *encoder, struct gi_merger *merger,
                                 struct gi_text word)
{
    const struct gi_tokenizer *tokenizer = encoder->tokenizer;
    const struct line_bpe *bpe = tokenizer->state;
    const int32_t whole =
        bpe->ignores_merges ? gi_text_map_find(&tokenizer->text_to_id, word) : GI_NO_TOKEN;
    if (whole >= 0 && !gi_tokenizer_is_control(tokenizer, whole)) {
        gi_encode_id(encoder, whole);
        return;
    }
    bool was_unknown = false;
    for (int32_t i = merge_word(encoder, merger, word) ? 0 : -1; i >= 0;
         i = merger->pieces.data[i].next) {
        const struct gi_piece *piece = &merger->pieces.data[i];
        const struct gi_text bytes = {word.data + piece->offset, piece->size};
        const bool is_unknown = piece->id < 0 && !has_bytes(bpe, bytes);
        if (!is_unknown) {
            gi_encode_piece(encoder, piece->id, bytes, bpe->byte_ids);
        } else if (!was_unknown || !bpe->fuses_unknown) {
            gi_encode_id(encoder, bpe->unk);
        }
        was_unknown = is_unknown;
    }
}

static void encode_words_of_steps(struct gi_encoder *encoder, struct gi_text text,
                                  const struct gi_word_ends *ends)
{
    const struct line_bpe *bpe = encoder->tokenizer->state;
    struct gi_merger merger = {.find = gi_merges_find, .user = &bpe->merges};
    size_t begin = 0;
    for (size_t i = 0; !encoder->has_failed && i < ends->count; i++) {
        const struct gi_text word = {text.data + begin, ends->data[i] - begin};
        encode_word_of_steps(encoder, &merger, word);
        begin = ends->data[i];
    }
    gi_merger_finish(&merger);
}

//-- text ------------------------------------------------------------------------------------------

static void encode_lines(struct gi_encoder *encoder, struct gi_text text)
{
    struct gi_text spaced;
    char *escaped = gi_escape_spaces(text, false, &spaced, encoder->err);
    if (gi_encoder_note(encoder, escaped)) {
        encode_words(encoder, spaced);
    }
    free(escaped);
}

static void encode_text(struct gi_encoder *encoder, struct gi_text text)
{
    if (!text.size) {
        return;
    }
    char *repaired = text.size > SIZE_MAX / 3 ? NULL : malloc(text.size * 3);
    if (!repaired) {
        gi_encoder_note(encoder, gi_error_no_memory(encoder->err, text.size * 3, "a text"));
        return;
    }
    const struct line_bpe *bpe = encoder->tokenizer->state;
    bool has_surrogates;
    const struct gi_text valid = {repaired,
                                  gi_utf8_repair(text.data, text.size, repaired, &has_surrogates)};
    if (!bpe->way->has_spaces) {
        encode_lines(encoder, valid);
    } else if (bpe->is_lowercased) {
        struct gi_bytes lower = {0};
        if (gi_encoder_note(encoder, gi_lower_push(valid, &lower, encoder->err))) {
            encode_spaced_words(encoder, (struct gi_text){lower.data, lower.count});
        }
        free(lower.data);
    } else {
        encode_spaced_words(encoder, valid);
    }
    free(repaired);
}

const struct gi_tokenizer_model gi_line_bpe_model = {
    .name = "gemma4",
    .default_bos = GI_NO_TOKEN,
    .default_eos = GI_NO_TOKEN,
    .default_unk = GI_NO_TOKEN,
    .create = create_line_bpe,
    .destroy = destroy_line_bpe,
    .encode = encode_text,
    .encode_words = encode_words_of_steps,
    .decode = gi_unescape_spaces,
};
