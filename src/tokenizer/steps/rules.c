#include "tokenizer/steps/rules.h"

#include "base/array.h"
#include "base/utf8.h"
#include "tokenizer/steps/steps.h"
#include "tokenizer/tokenizer_impl.h"

#include <stdlib.h>

// The added tokens that are found in the normalised text, spelled as it is.
struct normalised_tokens {
    struct gi_text_list texts;
    int32_t *ids;
    uint8_t *types;
    uint8_t *is_found; // all of them
    size_t count;
    struct gi_special special; // over these lists
};

struct gi_rules {
    struct gi_steps *steps;
    size_t n_steps, marker; // steps before the marker normalise what added tokens are found in
    uint8_t *rules;         // sum of enum gi_added_rule, one a token
    uint8_t *found_first;   // one a token
    struct normalised_tokens normalised;
};

//-- create ------------------------------------------------------------------------------------

static bool take_added(struct gi_rules *rules, const struct gi_vocab *vocab,
                       struct glinfer_error *err)
{
    const struct gi_vocab_rules *file = &vocab->rules;
    if (!GI_ARRAYS_ZEROED("the added tokens", err, GI_NEW(rules->rules, vocab->n_tokens),
                          GI_NEW(rules->found_first, vocab->n_tokens),
                          GI_NEW(rules->normalised.ids, file->n_added),
                          GI_NEW(rules->normalised.types, file->n_added),
                          GI_NEW(rules->normalised.is_found, file->n_added))) {
        return false;
    }
    for (size_t i = 0; i < file->n_added; i++) {
        const int32_t id = file->added[i];
        if (id < 0 || (size_t)id >= vocab->n_tokens) {
            return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                                "the added token %d (glinfer.tokenizer.added) is not one of the "
                                "%zu tokens",
                                id, vocab->n_tokens);
        }
        rules->rules[id] = (uint8_t)file->added_rules[i];
        // Without steps before the marker the normalised text is the text.
        if (rules->marker > 0 && (file->added_rules[i] & GI_ADDED_NORMALIZED)) {
            rules->normalised.ids[rules->normalised.count++] = id;
        } else {
            rules->found_first[id] = 1;
        }
    }
    return true;
}

// Normalises the spellings of tokens into one text, and sets the spans.
static bool normalise_texts(const struct gi_rules *rules, const struct gi_vocab *vocab,
                            struct gi_bytes *bytes, size_t *sizes, struct glinfer_error *err)
{
    struct gi_cut cut = {0};
    bool is_ok = true;
    for (size_t i = 0; is_ok && i < rules->normalised.count; i++) {
        struct gi_text text = vocab->tokens[rules->normalised.ids[i]];
        uint32_t code;
        for (size_t at = 0, size; at < text.size; at += size) { // not UTF-8: never found
            size = gi_utf8_decode(text.data + at, text.size - at, &code);
            text.size = size ? text.size : 0;
        }
        is_ok = gi_steps_run(rules->steps, 0, rules->marker, text, true, &cut, err) &&
                gi_bytes_push(bytes, (struct gi_text){cut.bytes.data, cut.bytes.count}, err);
        sizes[i] = cut.bytes.count;
    }
    gi_cut_finish(&cut);
    return is_ok;
}

static bool init_normalised(struct gi_rules *rules, const struct gi_vocab *vocab,
                            const uint8_t *types, struct glinfer_error *err)
{
    struct normalised_tokens *tokens = &rules->normalised;
    struct gi_bytes bytes = {0};
    struct gi_text *texts = NULL;
    size_t *sizes = NULL;
    bool is_ok = GI_ARRAYS_ZEROED("the added tokens", err, GI_NEW(texts, tokens->count),
                                  GI_NEW(sizes, tokens->count)) &&
                 normalise_texts(rules, vocab, &bytes, sizes, err);
    size_t begin = 0;
    for (size_t i = 0; is_ok && i < tokens->count; i++) {
        texts[i] = (struct gi_text){bytes.data ? bytes.data + begin : "", sizes[i]};
        tokens->types[i] = types[tokens->ids[i]];
        tokens->is_found[i] = 1;
        begin += sizes[i];
    }
    is_ok = is_ok && gi_text_list_init(&tokens->texts, texts, tokens->count, err) &&
            gi_special_init_found(&tokens->special, &tokens->texts, tokens->types, tokens->is_found,
                                  err);
    free(texts);
    free(sizes);
    free(bytes.data);
    return is_ok;
}

struct gi_rules *gi_rules_create(const struct gi_vocab *vocab, const uint8_t *types,
                                 struct glinfer_error *err)
{
    struct gi_rules *rules = gi_array_zeroed(1, sizeof(*rules), "a tokenizer", err);
    if (!rules) {
        return NULL;
    }
    rules->steps =
        gi_steps_create(vocab->rules.steps, vocab->rules.n_step_texts, vocab->charsmap, err);
    if (rules->steps) {
        rules->n_steps = gi_steps_count(rules->steps, &rules->marker);
    }
    if (!rules->steps || !take_added(rules, vocab, err) ||
        !init_normalised(rules, vocab, types, err)) {
        gi_rules_destroy(rules);
        return NULL;
    }
    return rules;
}

void gi_rules_destroy(struct gi_rules *rules)
{
    if (rules) {
        gi_special_finish(&rules->normalised.special);
        gi_text_list_finish(&rules->normalised.texts);
        free(rules->normalised.ids);
        free(rules->normalised.types);
        free(rules->normalised.is_found);
        free(rules->rules);
        free(rules->found_first);
        gi_steps_destroy(rules->steps);
        free(rules);
    }
}

const uint8_t *gi_rules_found_first(const struct gi_rules *rules)
{
    return rules->found_first;
}

//-- find --------------------------------------------------------------------------------------

// Sets the character before byte `at`; returns its size, 0 without a whole one.
static size_t character_before(struct gi_text text, size_t at, uint32_t *code)
{
    size_t size = 1;
    while (size < 4 && size < at && gi_utf8_continues(text.data[at - size])) {
        size++;
    }
    return at && gi_utf8_decode(text.data + at - size, size, code) == size ? size : 0;
}

static size_t character_after(struct gi_text text, size_t at, uint32_t *code)
{
    return at < text.size ? gi_utf8_decode(text.data + at, text.size - at, code) : 0;
}

static bool is_in_word(struct gi_text text, size_t begin, size_t end)
{
    uint32_t code;
    return (character_before(text, begin, &code) && gi_is_unicode_word(code)) ||
           (character_after(text, end, &code) && gi_is_unicode_word(code));
}

static void resolve(const struct gi_rules *rules, const int32_t *ids, struct gi_text text,
                    struct gi_special_matches *matches)
{
    size_t n = 0, found_end = 0, taken_end = 0;
    for (size_t i = 0; i < matches->count; i++) {
        struct gi_special_match match = matches->data[i];
        size_t begin = match.offset, end = begin + match.size, size;
        uint32_t code;
        match.id = ids ? ids[match.id] : match.id;
        const unsigned rule = rules->rules[match.id];
        if (begin < found_end) {
            continue;
        }
        found_end = end;
        if ((rule & GI_ADDED_SINGLE_WORD) && is_in_word(text, begin, end)) {
            continue;
        }
        while ((rule & GI_ADDED_LSTRIP) && begin > taken_end &&
               (size = character_before(text, begin, &code)) && gi_is_unicode_space(code)) {
            begin -= size;
        }
        while ((rule & GI_ADDED_RSTRIP) && (size = character_after(text, end, &code)) &&
               gi_is_unicode_space(code)) {
            end += size;
        }
        begin = begin < taken_end ? taken_end : begin;
        end = end < begin ? begin : end;
        match.offset = begin;
        match.size = end - begin;
        matches->data[n++] = match;
        taken_end = end;
    }
    matches->count = n;
}

void gi_rules_resolve(const struct gi_rules *rules, struct gi_text text,
                      struct gi_special_matches *matches)
{
    resolve(rules, NULL, text, matches);
}

static bool find_normalised(const struct gi_rules *rules, const struct gi_rules_part *part,
                            struct gi_text text, struct gi_special_matches *matches,
                            struct glinfer_error *err)
{
    if (!rules->normalised.count) {
        return true;
    }
    for (size_t offset = 0; offset < text.size; offset++) {
        const struct gi_special_match match = {
            .offset = offset,
            .control_end = part->parse_special ? text.size : 0,
            .mark_end = part->finds_marks || part->parse_special ? text.size : 0,
        };
        if (!gi_special_find_at(&rules->normalised.special, text, match, matches, err)) {
            return false;
        }
    }
    resolve(rules, rules->normalised.ids, text, matches);
    return true;
}

//-- encode ------------------------------------------------------------------------------------

static void encode_piece(struct gi_encoder *encoder, struct gi_text text, bool is_first,
                         struct gi_cut *cut)
{
    const struct gi_tokenizer *tokenizer = encoder->tokenizer;
    const struct gi_rules *rules = tokenizer->rules;
    if (text.size &&
        gi_encoder_note(encoder, gi_steps_run(rules->steps, rules->marker, rules->n_steps, text,
                                              is_first, cut, encoder->err))) {
        tokenizer->model->encode_words(encoder, (struct gi_text){cut->bytes.data, cut->bytes.count},
                                       &cut->ends);
    }
}

// Encodes a normalised text: what is between its added tokens, and these.
static void encode_normalised(struct gi_encoder *encoder, const struct gi_rules_part *part,
                              struct gi_text text)
{
    const struct gi_rules *rules = encoder->tokenizer->rules;
    struct gi_special_matches matches = {0};
    struct gi_cut cut = {0};
    gi_encoder_note(encoder, find_normalised(rules, part, text, &matches, encoder->err));
    size_t begin = 0;
    for (size_t i = 0; i < matches.count && !encoder->has_failed; i++) {
        const struct gi_special_match *match = &matches.data[i];
        encode_piece(encoder, (struct gi_text){text.data + begin, match->offset - begin},
                     part->is_first && begin == 0, &cut);
        gi_encode_id(encoder, match->id);
        begin = match->offset + match->size;
    }
    if (!encoder->has_failed) {
        encode_piece(encoder, gi_text_from(text, begin), part->is_first && begin == 0, &cut);
    }
    gi_cut_finish(&cut);
    free(matches.data);
}

void gi_rules_encode(struct gi_encoder *encoder, const struct gi_rules_part *part)
{
    const struct gi_rules *rules = encoder->tokenizer->rules;
    if (!part->text.size) {
        return;
    }
    char *repaired = part->text.size > SIZE_MAX / 3 ? NULL : malloc(part->text.size * 3);
    if (!repaired) {
        gi_encoder_note(encoder, gi_error_no_memory(encoder->err, part->text.size, "a text"));
        return;
    }
    bool has_surrogates;
    const size_t size = gi_utf8_repair(part->text.data, part->text.size, repaired, &has_surrogates);
    if (has_surrogates) {
        gi_utf8_hide_surrogates(repaired, size);
    }
    struct gi_cut cut = {0};
    if (gi_encoder_note(encoder, gi_steps_run(rules->steps, 0, rules->marker,
                                              (struct gi_text){repaired, size}, part->is_first,
                                              &cut, encoder->err))) {
        encode_normalised(encoder, part, (struct gi_text){cut.bytes.data, cut.bytes.count});
    }
    gi_cut_finish(&cut);
    free(repaired);
}
