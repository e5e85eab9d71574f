#include "engine/model/vocab.h"

#include "base/array.h"
#include "engine/model/plan/file_kind.h"
#include "gpu/dispatch/step_state.h"

#include <stdlib.h>

// Reads the keys of a file one after the other; after a failure, does nothing.
struct reader {
    const struct gi_gguf *gguf;
    struct gi_vocab_file *file;
    struct glinfer_error *err;
    bool has_failed;
};

static void read_text(struct reader *reader, const char *key, struct gi_text *out)
{
    struct gi_gguf_string string = {0};
    reader->has_failed =
        reader->has_failed || !gi_gguf_get_string(reader->gguf, key, &string, reader->err);
    *out = (struct gi_text){string.data, string.size};
}

// Returns an empty array on failure.
static struct gi_gguf_array read_array(struct reader *reader, const char *key,
                                       enum gi_gguf_kind kind)
{
    struct gi_gguf_array array = {0};
    if (!reader->has_failed && !gi_gguf_get_array(reader->gguf, key, kind, &array, reader->err)) {
        reader->has_failed = true;
        array.count = 0;
    }
    return array;
}

// Returns zeroed memory for the elements of an array; NULL if it fails, or reading has failed.
static void *allocate(struct reader *reader, const char *key, size_t count, size_t size)
{
    void *data = reader->has_failed ? NULL : gi_array_zeroed(count, size, key, reader->err);
    reader->has_failed = !data;
    return data;
}

static void read_texts(struct reader *reader, const char *key, struct gi_text **texts,
                       size_t *count)
{
    const struct gi_gguf_array array = read_array(reader, key, GI_GGUF_KIND_STRING);
    *texts = allocate(reader, key, array.count, sizeof(**texts));
    *count = *texts ? array.count : 0;
    for (size_t i = 0; i < *count; i++) {
        (*texts)[i] = (struct gi_text){array.strings[i].data, array.strings[i].size};
    }
}

// Reads an array with an element for each token; it is empty if the file has none.
static struct gi_gguf_array read_token_array(struct reader *reader, const char *key,
                                             enum gi_gguf_kind kind)
{
    const size_t n_tokens = reader->file->vocab.n_tokens;
    struct gi_gguf_array array = read_array(reader, key, kind);
    if (array.count && array.count != n_tokens) {
        reader->has_failed = !gi_error_set(
            reader->err, GLINFER_STATUS_BAD_FILE,
            "%s: %s has %llu elements, expected one for each of the %zu tokens",
            gi_gguf_path(reader->gguf), key, (unsigned long long)array.count, n_tokens);
        array.count = 0;
    }
    return array;
}

static void read_types_and_scores(struct reader *reader)
{
    const char *const types = "tokenizer.ggml.token_type", *const scores = "tokenizer.ggml.scores";
    struct gi_vocab_file *file = reader->file;
    struct gi_gguf_array array = read_token_array(reader, types, GI_GGUF_KIND_I32);
    file->types = array.count ? allocate(reader, types, array.count, sizeof(int32_t)) : NULL;
    for (size_t i = 0; file->types && i < array.count; i++) {
        file->types[i] = gi_gguf_array_i32(&array, i);
    }
    array = read_token_array(reader, scores, GI_GGUF_KIND_F32);
    file->scores = array.count ? allocate(reader, scores, array.count, sizeof(float)) : NULL;
    for (size_t i = 0; file->scores && i < array.count; i++) {
        file->scores[i] = gi_gguf_array_f32(&array, i);
    }
}

enum { BOS, EOS, EOT, EOM, UNK, PAD, SEP, N_SPECIAL };
static const char *const special_keys[N_SPECIAL] = {
    [BOS] = "tokenizer.ggml.bos_token_id",       [EOS] = "tokenizer.ggml.eos_token_id",
    [EOT] = "tokenizer.ggml.eot_token_id",       [EOM] = "tokenizer.ggml.eom_token_id",
    [UNK] = "tokenizer.ggml.unknown_token_id",   [PAD] = "tokenizer.ggml.padding_token_id",
    [SEP] = "tokenizer.ggml.seperator_token_id",
};

// Reads the ids of special tokens. One outside the vocabulary counts as absent.
static void read_ids(struct reader *reader)
{
    struct gi_vocab *vocab = &reader->file->vocab;
    int32_t *const ids[N_SPECIAL] = {
        [BOS] = &vocab->bos, [EOS] = &vocab->eos, [EOT] = &vocab->eot, [EOM] = &vocab->eom,
        [UNK] = &vocab->unk, [PAD] = &vocab->pad, [SEP] = &vocab->sep};
    for (int i = 0; i < N_SPECIAL; i++) {
        uint32_t id = UINT32_MAX;
        reader->has_failed = reader->has_failed || !gi_gguf_get_u32(reader->gguf, special_keys[i],
                                                                    UINT32_MAX, &id, reader->err);
        *ids[i] = id <= INT32_MAX && id < vocab->n_tokens ? (int32_t)id : GI_NO_TOKEN;
    }
}

void gi_vocab_warn(const struct gi_gguf *gguf, size_t n_tokens, const struct gi_log *log)
{
    struct gi_gguf_array stops;
    if (gi_gguf_get_array(gguf, "glinfer.tokenizer.stop_ids", GI_GGUF_KIND_I32, &stops, NULL) &&
        stops.count > GI_MAX_STOP_IDS) {
        gi_log_write(log, GLINFER_LOG_WARN,
                     "%s: eos_token_id names %llu tokens that end an answer, of which %d are taken",
                     gi_gguf_path(gguf), (unsigned long long)stops.count, GI_MAX_STOP_IDS);
    }
    for (int i = 0; i < N_SPECIAL; i++) {
        uint32_t id; // some files spell "none" as -1, which is all bits set
        if (gi_gguf_get_u32(gguf, special_keys[i], UINT32_MAX, &id, NULL) && id != UINT32_MAX &&
            id >= n_tokens) {
            gi_log_write(log, GLINFER_LOG_WARN,
                         "%s: %s is %u, outside the vocabulary of %zu tokens, and is ignored",
                         gi_gguf_path(gguf), special_keys[i], id, n_tokens);
        }
    }
}

static void read_flag(struct reader *reader, const char *key, int *out)
{
    bool is_set = false;
    reader->has_failed =
        reader->has_failed || !gi_gguf_get_bool(reader->gguf, key, false, &is_set, reader->err);
    *out = gi_gguf_has(reader->gguf, key) ? is_set : -1;
}

// Reads a reranker's template. A value that is not a string counts as a template without its
// places: only calls with pairs fail.
static struct gi_text read_pair_template(const struct gi_gguf *gguf)
{
    struct gi_gguf_string string;
    return gi_gguf_get_string(gguf, "tokenizer.chat_template.rerank", &string, NULL)
               ? (struct gi_text){string.data, string.size}
               : (struct gi_text){"no text", 7};
}

// Reads the normaliser of a unigram vocabulary, bytes with or without a sign.
static void read_charsmap(struct reader *reader)
{
    const char *const key = "tokenizer.ggml.precompiled_charsmap";
    struct gi_gguf_array array;
    if (!gi_gguf_get_array(reader->gguf, key, GI_GGUF_KIND_U8, &array, NULL)) {
        array = read_array(reader, key, GI_GGUF_KIND_I8);
    }
    reader->file->vocab.charsmap = (struct gi_text){(const char *)array.data, (size_t)array.count};
}

static int32_t *read_numbers(struct reader *reader, const char *key, size_t *count)
{
    const struct gi_gguf_array array = read_array(reader, key, GI_GGUF_KIND_I32);
    int32_t *numbers = allocate(reader, key, array.count, sizeof(*numbers));
    *count = numbers ? array.count : 0;
    for (size_t i = 0; i < *count; i++) {
        numbers[i] = gi_gguf_array_i32(&array, i);
    }
    return numbers;
}

static void read_rule(struct reader *reader, const char *key, bool *out)
{
    reader->has_failed =
        reader->has_failed || !gi_gguf_get_bool(reader->gguf, key, false, out, reader->err);
}

// Reads the keys of a vocabulary that was a tokenizer.json.
static void read_rules(struct reader *reader)
{
    struct gi_vocab_file *file = reader->file;
    struct gi_vocab_rules *rules = &file->vocab.rules;
    if (!gi_gguf_has(reader->gguf, "glinfer.tokenizer.steps")) {
        return;
    }
    size_t n_added_rules;
    rules->is_present = true;
    read_texts(reader, "glinfer.tokenizer.steps", &file->steps, &rules->n_step_texts);
    file->added = read_numbers(reader, "glinfer.tokenizer.added", &rules->n_added);
    file->added_rules = read_numbers(reader, "glinfer.tokenizer.added_rules", &n_added_rules);
    file->stops = read_numbers(reader, "glinfer.tokenizer.stop_ids", &rules->n_stops);
    read_rule(reader, "glinfer.tokenizer.ignore_merges", &rules->ignores_merges);
    read_rule(reader, "glinfer.tokenizer.byte_fallback", &rules->has_byte_fallback);
    read_rule(reader, "glinfer.tokenizer.fuse_unk", &rules->fuses_unknown);
    reader->has_failed =
        reader->has_failed || !gi_gguf_get_u32(reader->gguf, "glinfer.tokenizer.word_size_max", 0,
                                               &rules->word_size_max, reader->err);
    if (!reader->has_failed && n_added_rules != rules->n_added) {
        reader->has_failed = !gi_error_set(
            reader->err, GLINFER_STATUS_BAD_FILE,
            "%s: glinfer.tokenizer.added_rules has %zu elements, expected one for each of the %zu "
            "added tokens",
            gi_gguf_path(reader->gguf), n_added_rules, rules->n_added);
    }
    rules->steps = file->steps;
    rules->added = file->added;
    rules->added_rules = file->added_rules;
    rules->stops = file->stops;
}

bool gi_vocab_read(const struct gi_gguf *gguf, struct gi_vocab_file *out, struct glinfer_error *err)
{
    struct reader reader = {.gguf = gguf, .file = out, .err = err};
    struct gi_vocab *vocab = &out->vocab;
    memset(out, 0, sizeof(*out));
    if (!gi_gguf_has(gguf, "tokenizer.ggml.model")) {
        return gi_check_is_model(gguf, err) &&
               gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: has no tokenizer (no tokenizer.ggml.model)", gi_gguf_path(gguf));
    }
    vocab->pair_template = read_pair_template(gguf);
    read_text(&reader, "general.name", &vocab->name);
    read_text(&reader, "tokenizer.ggml.model", &vocab->model);
    read_text(&reader, "tokenizer.ggml.pre", &vocab->pre);
    read_text(&reader, "tokenizer.chat_template", &vocab->chat_template);
    read_texts(&reader, "tokenizer.ggml.tokens", &out->tokens, &vocab->n_tokens);
    read_texts(&reader, "tokenizer.ggml.merges", &out->merges, &vocab->n_merges);
    read_ids(&reader);
    read_flag(&reader, "tokenizer.ggml.add_bos_token", &vocab->add_bos);
    read_flag(&reader, "tokenizer.ggml.add_eos_token", &vocab->add_eos);
    read_flag(&reader, "tokenizer.ggml.add_sep_token", &vocab->add_sep);
    read_flag(&reader, "tokenizer.ggml.add_space_prefix", &vocab->add_space_prefix);
    read_flag(&reader, "tokenizer.ggml.remove_extra_whitespaces", &vocab->remove_extra_whitespaces);
    read_rule(&reader, "tokenizer.ggml.normalizer.lowercase", &vocab->is_lowercased);
    read_types_and_scores(&reader);
    read_charsmap(&reader);
    read_rules(&reader);
    if (reader.has_failed) {
        gi_vocab_finish(out);
        return false;
    }
    if (vocab->model.size == 4 && memcmp(vocab->model.data, "bert", 4) == 0) {
        vocab->eos = vocab->sep; // ends a text there
    }
    vocab->tokens = out->tokens;
    vocab->merges = out->merges;
    vocab->types = out->types;
    vocab->scores = out->scores;
    return true;
}

void gi_vocab_finish(struct gi_vocab_file *file)
{
    free(file->tokens);
    free(file->merges);
    free(file->types);
    free(file->scores);
    free(file->steps);
    free(file->added);
    free(file->added_rules);
    free(file->stops);
    memset(file, 0, sizeof(*file));
}

struct gi_tokenizer *gi_tokenizer_read(const struct gi_gguf *gguf, struct glinfer_error *err)
{
    struct gi_vocab_file file;
    struct glinfer_error reason;
    if (!gi_vocab_read(gguf, &file, err)) {
        return NULL;
    }
    struct gi_tokenizer *tokenizer = gi_tokenizer_create(&file.vocab, &reason);
    gi_vocab_finish(&file);
    if (!tokenizer) {
        gi_error_set(err, reason.status, "%s: %s", gi_gguf_path(gguf), reason.message);
    }
    return tokenizer;
}
