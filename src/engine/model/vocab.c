#include "engine/model/vocab.h"

#include "base/array.h"
#include "engine/model/plan/file_kind.h"

#include <stdlib.h>

static bool read_text(const struct gi_gguf *gguf, const char *key, struct gi_text *out,
                      struct glinfer_error *err)
{
    struct gi_gguf_string string;
    if (!gi_gguf_get_string(gguf, key, &string, err)) {
        return false;
    }
    *out = (struct gi_text){string.data, string.size};
    return true;
}

static bool read_texts(const struct gi_gguf *gguf, const char *key, struct gi_text **texts,
                       size_t *count, struct glinfer_error *err)
{
    struct gi_gguf_array array;
    if (!gi_gguf_get_array(gguf, key, GI_GGUF_KIND_STRING, &array, err)) {
        return false;
    }
    *texts = gi_array_zeroed(array.count, sizeof(**texts), key, err);
    *count = *texts ? array.count : 0;
    for (size_t i = 0; i < *count; i++) {
        (*texts)[i] = (struct gi_text){array.strings[i].data, array.strings[i].size};
    }
    return *texts;
}

// Reads an array with an element of four bytes for each token into fresh memory; leaves *out NULL
// if the file has none.
static bool read_token_array(const struct gi_gguf *gguf, const char *key, enum gi_gguf_kind kind,
                             size_t n_tokens, struct gi_gguf_array *array, void **out,
                             struct glinfer_error *err)
{
    if (!gi_gguf_get_array(gguf, key, kind, array, err)) {
        return false;
    }
    if (array->count && array->count != n_tokens) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: %s has %llu elements, expected one for each of the %zu tokens",
                            gi_gguf_path(gguf), key, (unsigned long long)array->count, n_tokens);
    }
    *out = array->count ? gi_array_zeroed(n_tokens, 4, key, err) : NULL;
    return *out || !array->count;
}

static bool read_types_and_scores(const struct gi_gguf *gguf, struct gi_vocab_file *file,
                                  struct glinfer_error *err)
{
    struct gi_gguf_array array;
    void *data = NULL;
    if (!read_token_array(gguf, "tokenizer.ggml.token_type", GI_GGUF_KIND_I32, file->vocab.n_tokens,
                          &array, &data, err)) {
        return false;
    }
    file->types = data;
    for (size_t i = 0; data && i < array.count; i++) {
        file->types[i] = gi_gguf_array_i32(&array, i);
    }
    if (!read_token_array(gguf, "tokenizer.ggml.scores", GI_GGUF_KIND_F32, file->vocab.n_tokens,
                          &array, &data, err)) {
        return false;
    }
    file->scores = data;
    for (size_t i = 0; data && i < array.count; i++) {
        file->scores[i] = gi_gguf_array_f32(&array, i);
    }
    return true;
}

enum { BOS, EOS, EOT, EOM, UNK, PAD, SEP, N_SPECIAL };
static const char *const special_keys[N_SPECIAL] = {
    [BOS] = "tokenizer.ggml.bos_token_id",       [EOS] = "tokenizer.ggml.eos_token_id",
    [EOT] = "tokenizer.ggml.eot_token_id",       [EOM] = "tokenizer.ggml.eom_token_id",
    [UNK] = "tokenizer.ggml.unknown_token_id",   [PAD] = "tokenizer.ggml.padding_token_id",
    [SEP] = "tokenizer.ggml.seperator_token_id",
};

// Reads the ids of special tokens. One outside the vocabulary counts as absent.
static bool read_ids(const struct gi_gguf *gguf, struct gi_vocab *vocab, struct glinfer_error *err)
{
    int32_t ids[N_SPECIAL];
    for (int i = 0; i < N_SPECIAL; i++) {
        uint32_t id;
        if (!gi_gguf_get_u32(gguf, special_keys[i], UINT32_MAX, &id, err)) {
            return false;
        }
        ids[i] = id <= INT32_MAX && id < vocab->n_tokens ? (int32_t)id : GI_NO_TOKEN;
    }
    vocab->bos = ids[BOS];
    vocab->eos = ids[EOS];
    vocab->eot = ids[EOT];
    vocab->eom = ids[EOM];
    vocab->unk = ids[UNK];
    vocab->pad = ids[PAD];
    vocab->sep = ids[SEP];
    return true;
}

void gi_vocab_warn(const struct gi_gguf *gguf, size_t n_tokens, const struct gi_log *log)
{
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

static bool read_flag(const struct gi_gguf *gguf, const char *key, int *out,
                      struct glinfer_error *err)
{
    bool is_set;
    if (!gi_gguf_get_bool(gguf, key, false, &is_set, err)) {
        return false;
    }
    *out = gi_gguf_has(gguf, key) ? is_set : -1;
    return true;
}

static bool read_flags(const struct gi_gguf *gguf, struct gi_vocab *vocab,
                       struct glinfer_error *err)
{
    return read_flag(gguf, "tokenizer.ggml.add_bos_token", &vocab->add_bos, err) &&
           read_flag(gguf, "tokenizer.ggml.add_eos_token", &vocab->add_eos, err) &&
           read_flag(gguf, "tokenizer.ggml.add_sep_token", &vocab->add_sep, err) &&
           read_flag(gguf, "tokenizer.ggml.add_space_prefix", &vocab->add_space_prefix, err) &&
           read_flag(gguf, "tokenizer.ggml.remove_extra_whitespaces",
                     &vocab->remove_extra_whitespaces, err);
}

// Reads a reranker's template. A value that is not a string counts as a template without its
// places: only calls with pairs fail.
static struct gi_text read_pair_template(const struct gi_gguf *gguf)
{
    struct gi_text text;
    return read_text(gguf, "tokenizer.chat_template.rerank", &text, NULL)
               ? text
               : (struct gi_text){"no text", 7};
}

static bool read_names(const struct gi_gguf *gguf, struct gi_vocab *vocab,
                       struct glinfer_error *err)
{
    if (!gi_gguf_has(gguf, "tokenizer.ggml.model")) {
        return gi_check_is_model(gguf, err) &&
               gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: has no tokenizer (no tokenizer.ggml.model)", gi_gguf_path(gguf));
    }
    vocab->pair_template = read_pair_template(gguf);
    return read_text(gguf, "general.name", &vocab->name, err) &&
           read_text(gguf, "tokenizer.ggml.model", &vocab->model, err) &&
           read_text(gguf, "tokenizer.ggml.pre", &vocab->pre, err) &&
           read_text(gguf, "tokenizer.chat_template", &vocab->chat_template, err);
}

// Reads the normaliser of a unigram vocabulary, bytes with or without a sign.
static bool read_charsmap(const struct gi_gguf *gguf, struct gi_vocab *vocab,
                          struct glinfer_error *err)
{
    const char *const key = "tokenizer.ggml.precompiled_charsmap";
    struct gi_gguf_array array;
    if (!gi_gguf_get_array(gguf, key, GI_GGUF_KIND_U8, &array, NULL) &&
        !gi_gguf_get_array(gguf, key, GI_GGUF_KIND_I8, &array, err)) {
        return false;
    }
    vocab->charsmap = (struct gi_text){(const char *)array.data, (size_t)array.count};
    return true;
}

bool gi_vocab_read(const struct gi_gguf *gguf, struct gi_vocab_file *out, struct glinfer_error *err)
{
    memset(out, 0, sizeof(*out));
    struct gi_vocab *vocab = &out->vocab;
    if (!read_names(gguf, vocab, err) ||
        !read_texts(gguf, "tokenizer.ggml.tokens", &out->tokens, &vocab->n_tokens, err) ||
        !read_texts(gguf, "tokenizer.ggml.merges", &out->merges, &vocab->n_merges, err) ||
        !read_ids(gguf, vocab, err) || !read_flags(gguf, vocab, err) ||
        !read_types_and_scores(gguf, out, err) || !read_charsmap(gguf, vocab, err)) {
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
