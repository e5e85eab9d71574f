#include "tokenizer/tokenizer.h"

#include "base/array.h"
#include "tokenizer/steps/rules.h"
#include "tokenizer/tokenizer_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

static const struct gi_tokenizer_model *const models[] = {
    &gi_bpe_model, &gi_spm_model, &gi_line_bpe_model, &gi_wordpiece_model, &gi_unigram_model};

#define N_MODELS (sizeof(models) / sizeof(models[0]))

//-- create ------------------------------------------------------------------------------------

// With rules the merges of a list stand for the scores of SentencePiece.
static const struct gi_tokenizer_model *find_model(const struct gi_vocab *vocab)
{
    const struct gi_text name = vocab->model;
    if (vocab->rules.is_present ? gi_text_is(name, gi_spm_model.name) : gi_is_line_bpe(vocab)) {
        return &gi_line_bpe_model;
    }
    for (size_t i = 0; i < N_MODELS; i++) {
        if (gi_text_is(name, models[i]->name)) {
            return models[i];
        }
    }
    return NULL;
}

static bool check_id(int32_t id, const char *key, size_t n_tokens, struct glinfer_error *err)
{
    if (id < GI_NO_TOKEN || (id >= 0 && (size_t)id >= n_tokens)) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "tokenizer.ggml.%s is %d, but the vocabulary has %zu tokens", key, id,
                            n_tokens);
    }
    return true;
}

static bool check_vocab(const struct gi_vocab *vocab, struct glinfer_error *err)
{
    if (!find_model(vocab)) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "the tokenizer '%.*s' (tokenizer.ggml.model) is not supported; gpt2 "
                            "(byte-level BPE), llama (SentencePiece), gemma4 (BPE by lines), "
                            "whitespace, bert (WordPiece) and t5 (unigram) are",
                            (int)(vocab->model.size < 64 ? vocab->model.size : 64),
                            vocab->model.size ? vocab->model.data : "");
    }
    if (!vocab->n_tokens || vocab->n_tokens > INT32_MAX) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "the vocabulary (tokenizer.ggml.tokens) has %zu tokens, expected 1 to "
                            "2147483647",
                            vocab->n_tokens);
    }
    return check_id(vocab->bos, "bos_token_id", vocab->n_tokens, err) &&
           check_id(vocab->eos, "eos_token_id", vocab->n_tokens, err) &&
           check_id(vocab->eot, "eot_token_id", vocab->n_tokens, err) &&
           check_id(vocab->eom, "eom_token_id", vocab->n_tokens, err) &&
           check_id(vocab->sep, "seperator_token_id", vocab->n_tokens, err);
}

static bool init_types(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                       struct glinfer_error *err)
{
    tokenizer->types = gi_array_zeroed(vocab->n_tokens, 1, "the vocabulary", err);
    for (size_t i = 0; tokenizer->types && i < vocab->n_tokens; i++) {
        int32_t type = vocab->types ? vocab->types[i] : GI_TOKEN_TYPE_NORMAL;
        bool is_known = type >= GI_TOKEN_TYPE_NORMAL && type <= GI_TOKEN_TYPE_BYTE;
        tokenizer->types[i] = (uint8_t)(is_known ? type : GI_TOKEN_TYPE_UNUSED);
    }
    return tokenizer->types;
}

// Turns "<0x0A>" into its byte, in place; leaves another spelling alone.
static size_t decode_byte_token(char *text, size_t size)
{
    if (size != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>' ||
        !isxdigit((unsigned char)text[3]) || !isxdigit((unsigned char)text[4])) {
        return size;
    }
    const char digits[] = {text[3], text[4], 0};
    text[0] = (char)strtoul(digits, NULL, 16);
    return 1;
}

static size_t decode_token(const struct gi_tokenizer *tokenizer, size_t id, char *text, size_t size)
{
    switch (tokenizer->types[id]) {
    case GI_TOKEN_TYPE_NORMAL:
        return tokenizer->model->decode(text, size);
    case GI_TOKEN_TYPE_BYTE:
        return decode_byte_token(text, size);
    case GI_TOKEN_TYPE_UNUSED:
        return 0;
    default:
        return size;
    }
}

// Turns the copied spellings into bytes, moving them together.
static void decode_tokens(struct gi_tokenizer *tokenizer)
{
    struct gi_text_list *list = &tokenizer->decoded;
    size_t start = 0, end = 0;
    for (size_t id = 0; id < list->count; id++) {
        size_t size = list->offsets[id + 1] - start;
        memmove(list->bytes + end, list->bytes + start, size);
        start = list->offsets[id + 1];
        end += decode_token(tokenizer, id, list->bytes + end, size);
        list->offsets[id + 1] = end;
    }
}

static int32_t id_or_default(int32_t id, int32_t default_id, size_t n_tokens)
{
    bool is_default = id == GI_NO_TOKEN && default_id >= 0 && (size_t)default_id < n_tokens;
    return is_default ? default_id : id;
}

int32_t gi_vocab_unknown(const struct gi_vocab *vocab)
{
    return vocab->unk >= 0 && (size_t)vocab->unk < vocab->n_tokens ? vocab->unk : GI_NO_TOKEN;
}

// Keeps what the model kind says of BOS and EOS unless the file says otherwise or has none.
static void init_ends(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab)
{
    const bool is_always = tokenizer->is_bos_forced && !tokenizer->rules;
    const bool is_free = vocab->add_bos < 0 || is_always;
    const bool add_bos = is_free ? tokenizer->is_bos_added : vocab->add_bos != 0;
    const bool add_eos = vocab->add_eos < 0 ? tokenizer->is_eos_added : vocab->add_eos != 0;
    const bool add_sep = vocab->add_sep < 0 ? tokenizer->is_sep_added : vocab->add_sep != 0;
    tokenizer->bos = vocab->bos;
    tokenizer->eos = vocab->eos;
    tokenizer->is_bos_added = add_bos && vocab->bos != GI_NO_TOKEN;
    tokenizer->is_eos_added = add_eos && vocab->eos != GI_NO_TOKEN;
    tokenizer->sep = vocab->sep;
    tokenizer->is_sep_added = add_sep && vocab->sep != GI_NO_TOKEN;
}

static bool is_phi3(struct gi_text name)
{
    for (; name.size >= 4; name = gi_text_from(name, 1)) {
        if (strncasecmp(name.data, "phi3", 4) == 0 ||
            (name.size >= 5 && strncasecmp(name.data, "phi-3", 5) == 0)) {
            return true;
        }
    }
    return false;
}

static bool init_rules(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                       struct glinfer_error *err)
{
    if (!vocab->rules.is_present) {
        return true;
    }
    for (size_t i = 0; i < vocab->rules.n_stops; i++) {
        const int32_t id = vocab->rules.stops[i];
        gi_special_add_stop(&tokenizer->special, (size_t)id < vocab->n_tokens ? id : GI_NO_TOKEN);
    }
    tokenizer->rules = gi_rules_create(vocab, tokenizer->types, err);
    return tokenizer->rules &&
           gi_special_init_found(&tokenizer->special, &tokenizer->texts, tokenizer->types,
                                 gi_rules_found_first(tokenizer->rules), err);
}

static bool build_tokenizer(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                            struct glinfer_error *err)
{
    if (!gi_text_list_init(&tokenizer->texts, vocab->tokens, vocab->n_tokens, err) ||
        !gi_text_list_init(&tokenizer->decoded, vocab->tokens, vocab->n_tokens, err) ||
        !gi_text_map_init(&tokenizer->text_to_id, &tokenizer->texts, err) ||
        !init_types(tokenizer, vocab, err) ||
        !gi_special_init(&tokenizer->special, &tokenizer->texts, &tokenizer->text_to_id,
                         tokenizer->types, (const int32_t[]){vocab->eos, vocab->eot, vocab->eom}, 3,
                         err)) {
        return false;
    }
    tokenizer->state = tokenizer->model->create(tokenizer, vocab, err);
    if (!tokenizer->state || !init_rules(tokenizer, vocab, err)) {
        return false;
    }
    tokenizer->special.is_trimming = is_phi3(vocab->name) && !tokenizer->rules;
    decode_tokens(tokenizer);
    init_ends(tokenizer, vocab);
    return gi_pair_template_init(&tokenizer->pair, vocab->pair_template, err) &&
           gi_chat_init(tokenizer, vocab->chat_template, err);
}

struct gi_tokenizer *gi_tokenizer_create(const struct gi_vocab *vocab, struct glinfer_error *err)
{
    if (!check_vocab(vocab, err)) {
        return NULL;
    }
    struct gi_tokenizer *tokenizer = gi_array_zeroed(1, sizeof(*tokenizer), "a tokenizer", err);
    if (!tokenizer) {
        return NULL;
    }
    const struct gi_tokenizer_model *model = find_model(vocab);
    struct gi_vocab complete = *vocab;
    if (!vocab->rules.is_present) {
        complete.bos = id_or_default(vocab->bos, model->default_bos, vocab->n_tokens);
        complete.eos = id_or_default(vocab->eos, model->default_eos, vocab->n_tokens);
        complete.unk = id_or_default(vocab->unk, model->default_unk, vocab->n_tokens);
    }
    tokenizer->model = model;
    if (!build_tokenizer(tokenizer, &complete, err)) {
        gi_tokenizer_destroy(tokenizer);
        return NULL;
    }
    return tokenizer;
}

void gi_tokenizer_destroy(struct gi_tokenizer *tokenizer)
{
    if (!tokenizer) {
        return;
    }
    tokenizer->model->destroy(tokenizer->state);
    gi_rules_destroy(tokenizer->rules);
    gi_chat_finish(&tokenizer->chat);
    gi_special_finish(&tokenizer->special);
    gi_pair_template_finish(&tokenizer->pair);
    free(tokenizer->types);
    gi_text_map_finish(&tokenizer->text_to_id);
    gi_text_list_finish(&tokenizer->decoded);
    gi_text_list_finish(&tokenizer->texts);
    free(tokenizer);
}

//-- what is known -----------------------------------------------------------------------------

size_t gi_tokenizer_size(const struct gi_tokenizer *tokenizer)
{
    return tokenizer->texts.count;
}

const char *gi_tokenizer_name(const struct gi_tokenizer *tokenizer)
{
    return tokenizer->name;
}

static bool has_id(const struct gi_tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && (size_t)id < tokenizer->texts.count;
}

struct gi_text gi_tokenizer_bytes(const struct gi_tokenizer *tokenizer, int32_t id)
{
    return has_id(tokenizer, id) ? gi_text_list_at(&tokenizer->decoded, (size_t)id)
                                 : (struct gi_text){NULL, 0};
}

bool gi_tokenizer_is_control(const struct gi_tokenizer *tokenizer, int32_t id)
{
    return has_id(tokenizer, id) && (tokenizer->types[id] == GI_TOKEN_TYPE_CONTROL ||
                                     tokenizer->types[id] == GI_TOKEN_TYPE_UNKNOWN);
}

size_t gi_tokenizer_stop_ids(const struct gi_tokenizer *tokenizer, int32_t ids[16])
{
    const struct gi_special *special = &tokenizer->special;
    memcpy(ids, special->stop_ids, special->n_stop_ids * sizeof(ids[0]));
    return special->n_stop_ids;
}

//-- encode ------------------------------------------------------------------------------------

void gi_ids_finish(struct gi_ids *ids)
{
    free(ids->data);
    memset(ids, 0, sizeof(*ids));
}

void gi_encode_id(struct gi_encoder *encoder, int32_t id)
{
    if (id >= 0 && !encoder->has_failed) {
        gi_encoder_note(encoder, GI_ARRAY_PUSH(encoder->ids, "token ids", encoder->err, id));
    }
}

bool gi_encoder_note(struct gi_encoder *encoder, bool is_done)
{
    encoder->has_failed = encoder->has_failed || !is_done;
    return is_done;
}

bool gi_encoder_end(const struct gi_encoder *encoder, size_t count)
{
    encoder->ids->count = encoder->has_failed ? count : encoder->ids->count;
    return !encoder->has_failed;
}

// Finds the special tokens of the text that the segments make when put together.
static bool find_special(const struct gi_tokenizer *tokenizer, const struct gi_segments *segments,
                         struct gi_text text, struct gi_special_matches *matches,
                         struct glinfer_error *err)
{
    const struct gi_segment *data = segments->data;
    size_t start = 0, control_end = 0, run = 0; // run: the first segment that is past control_end
    for (size_t i = 0; i < segments->count; i++) {
        size_t end = start + data[i].text.size;
        for (; run < segments->count && (run <= i || data[run].parse_special); run++) {
            control_end += data[run].text.size;
        }
        size_t limit = data[i].parse_special ? control_end : 0;
        for (size_t offset = start; offset < end; offset++) {
            struct gi_special_match match = {
                .offset = offset,
                .control_end = limit,
                .mark_end = data[i].finds_marks ? text.size : limit,
            };
            if (!gi_special_find_at(&tokenizer->special, text, match, matches, err)) {
                return false;
            }
        }
        start = end;
    }
    if (tokenizer->rules) {
        gi_rules_resolve(tokenizer->rules, text, matches);
        return true;
    }
    return gi_special_resolve(&tokenizer->special, text, matches, err);
}

// Encodes bytes [begin, end) of the text that the segments make, which have no special token.
static void encode_part(struct gi_encoder *encoder, const struct gi_segments *segments,
                        struct gi_text text, size_t begin, size_t end)
{
    const struct gi_text part = {text.data + begin, end - begin};
    if (!encoder->tokenizer->rules) {
        encoder->tokenizer->model->encode(encoder, part);
        return;
    }
    struct gi_rules_part rules_part = {part, begin == 0, true, true};
    for (size_t i = 0, at = 0; i < segments->count && at < end; i++) {
        const struct gi_segment *segment = &segments->data[i];
        const bool is_outside = at + segment->text.size <= begin;
        rules_part.parse_special &= is_outside || segment->parse_special;
        rules_part.finds_marks &= is_outside || segment->finds_marks;
        at += segment->text.size;
    }
    gi_rules_encode(encoder, &rules_part);
}

static void encode_text(struct gi_encoder *encoder, const struct gi_segments *segments,
                        struct gi_text text, const struct gi_special_matches *matches)
{
    const struct gi_tokenizer *tokenizer = encoder->tokenizer;
    size_t start = 0;
    for (size_t i = 0; i < matches->count && !encoder->has_failed; i++) {
        const struct gi_special_match *match = &matches->data[i];
        encode_part(encoder, segments, text, start, match->offset);
        gi_encode_id(encoder, match->id);
        const size_t next = i + 1 < matches->count ? match[1].offset : text.size;
        const bool is_trimmed = gi_special_trims_after(&tokenizer->special, match->id);
        start = match->offset + match->size;
        while (is_trimmed && start < next && gi_is_white(text.data[start])) {
            start++;
        }
    }
    if (!encoder->has_failed) {
        encode_part(encoder, segments, text, start, text.size);
    }
}

// Joins the segments in new memory; NULL without memory.
static char *join_segments(const struct gi_segments *segments, struct gi_text *text,
                           struct glinfer_error *err)
{
    size_t size = 0;
    for (size_t i = 0; i < segments->count; i++) {
        size += segments->data[i].text.size;
    }
    char *data = gi_array_zeroed(size, 1, "a text", err);
    *text = (struct gi_text){data, 0};
    for (size_t i = 0; data && i < segments->count; i++) {
        const struct gi_text part = segments->data[i].text;
        if (part.size) {
            memcpy(data + text->size, part.data, part.size);
        }
        text->size += part.size;
    }
    return data;
}

void gi_encode_segments(struct gi_encoder *encoder, const struct gi_segments *segments,
                        bool add_bos, bool add_eos)
{
    const struct gi_tokenizer *tokenizer = encoder->tokenizer;
    struct gi_special_matches matches = {0};
    struct gi_text text;
    char *joined = encoder->has_failed ? NULL : join_segments(segments, &text, encoder->err);
    if (gi_encoder_note(
            encoder, joined && find_special(tokenizer, segments, text, &matches, encoder->err))) {
        gi_encode_id(encoder, add_bos && tokenizer->is_bos_added ? tokenizer->bos : GI_NO_TOKEN);
        encode_text(encoder, segments, text, &matches);
        gi_encode_id(encoder, add_eos && tokenizer->is_eos_added ? tokenizer->eos : GI_NO_TOKEN);
    }
    free(matches.data);
    free(joined);
}

bool gi_tokenizer_encode_segments(const struct gi_tokenizer *tokenizer,
                                  const struct gi_segments *segments, bool add_bos, bool add_eos,
                                  struct gi_ids *ids, struct glinfer_error *err)
{
    struct gi_encoder encoder = {tokenizer, ids, err, false};
    const size_t count = ids->count;
    gi_encode_segments(&encoder, segments, add_bos, add_eos);
    return gi_encoder_end(&encoder, count);
}

bool gi_tokenizer_encode(const struct gi_tokenizer *tokenizer, struct gi_text text,
                         bool add_special, bool parse_special, struct gi_ids *ids,
                         struct glinfer_error *err)
{
    struct gi_segment segment = {text, parse_special, true};
    const struct gi_segments segments = {&segment, 1, 1};
    return gi_tokenizer_encode_segments(tokenizer, &segments, add_special, add_special, ids, err);
}
