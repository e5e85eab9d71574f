#include "hf/tokenizer/hf_tokenizer.h"

#include "base/array.h"
#include "hf/tokenizer/hf_tokenizer_impl.h"

#include <stdlib.h>
#include <string.h>

//-- shared ------------------------------------------------------------------------------------

void gi_hf_keep_error(struct gi_hf_tokenizer *t, const struct glinfer_error *err)
{
    if (gi_hf_ok(t->b)) {
        gi_error_pass(&t->b->out->error, err);
    }
}

void gi_hf_push(struct gi_hf_tokenizer *t, struct gi_hf_text *out, const char *data, size_t size)
{
    struct glinfer_error err;
    if (!gi_hf_ok(t->b)) {
        return;
    }
    if (!GI_ARRAY_RESERVE(out, out->count + size, "a tokenizer", &err)) {
        gi_hf_keep_error(t, &err);
        return;
    }
    if (size) {
        memcpy(out->data + out->count, data, size);
    }
    out->count += size;
}

void *gi_hf_zeroed(struct gi_hf_tokenizer *t, size_t count, size_t element_size)
{
    struct glinfer_error err;
    if (!gi_hf_ok(t->b)) {
        return NULL;
    }
    void *memory = gi_array_zeroed(count, element_size, "a tokenizer", &err);
    if (!memory) {
        gi_hf_keep_error(t, &err);
    }
    return memory;
}

const char *gi_hf_member_text(const cJSON *object, const char *key, const char *fallback)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(member) ? member->valuestring : fallback;
}

bool gi_hf_member_bool(struct gi_hf_tokenizer *t, const cJSON *object, const char *key,
                       bool fallback)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    if (member && !cJSON_IsBool(member) && !cJSON_IsNull(member)) {
        gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE, "%s: \"%s\" is not true or false",
                   object == t->config ? "tokenizer_config.json" : "tokenizer.json", key);
    }
    return cJSON_IsBool(member) ? cJSON_IsTrue(member) : fallback;
}

const char *gi_hf_type_of(const cJSON *component)
{
    return gi_hf_member_text(component, "type", "");
}

void gi_hf_refuse_type(struct gi_hf_tokenizer *t, const char *kind, const cJSON *component)
{
    const char *type = gi_hf_type_of(component);
    if (!*type) {
        gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                   "tokenizer.json: \"%s\" is not an object with a \"type\"", kind);
    }
    gi_hf_fail(t->b, GLINFER_STATUS_UNSUPPORTED,
               "tokenizer.json: the type '%.64s' of \"%s\" is not supported; use a GGUF file of "
               "the model",
               type, kind);
}

void gi_hf_visit(struct gi_hf_tokenizer *t, const cJSON *component, const char *list,
                 void (*visit)(struct gi_hf_tokenizer *t, const cJSON *component))
{
    enum { DEPTH_MAX = 8 };
    const cJSON *next[DEPTH_MAX + 1] = {component}; // of each Sequence that is open
    size_t depth = component && !cJSON_IsNull(component) ? 1 : 0;
    while (depth && gi_hf_ok(t->b)) {
        const cJSON *at = next[depth - 1];
        if (!at) {
            depth--;
            continue;
        }
        next[depth - 1] = depth > 1 ? at->next : NULL; // the outermost is not in a list
        if (strcmp(gi_hf_type_of(at), "Sequence") != 0) {
            visit(t, at);
        } else if (depth > DEPTH_MAX) {
            gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                       "tokenizer.json: sequences are nested more than %d deep", DEPTH_MAX);
        } else {
            const cJSON *items = cJSON_GetObjectItemCaseSensitive(at, list);
            next[depth++] = cJSON_IsArray(items) ? items->child : NULL;
        }
    }
}

//-- the model ---------------------------------------------------------------------------------

// Old files have no "type"; other members tell their models apart.
static const char *type_of_model(const cJSON *model)
{
    const char *type = gi_hf_type_of(model);
    return *type                                                                 ? type
           : cJSON_GetObjectItemCaseSensitive(model, "merges")                   ? "BPE"
           : cJSON_GetObjectItemCaseSensitive(model, "unk_id")                   ? "Unigram"
           : cJSON_GetObjectItemCaseSensitive(model, "max_input_chars_per_word") ? "WordPiece"
                                                                                 : "";
}

static void check_bpe(struct gi_hf_tokenizer *t)
{
    const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < 2; i++) {
        if (*gi_hf_member_text(t->model, affixes[i], "")) {
            gi_hf_fail(t->b, GLINFER_STATUS_UNSUPPORTED,
                       "tokenizer.json: \"%s\" of BPE is not supported", affixes[i]);
        }
    }
}

static void read_model(struct gi_hf_tokenizer *t)
{
    static const char *const names[] = {
        [GI_HF_BPE] = "BPE", [GI_HF_UNIGRAM] = "Unigram", [GI_HF_WORDPIECE] = "WordPiece"};
    t->model = cJSON_GetObjectItemCaseSensitive(t->file, "model");
    if (!cJSON_IsObject(t->model)) {
        gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE, "tokenizer.json has no \"model\"");
        return;
    }
    const char *type = type_of_model(t->model);
    size_t i = 0;
    while (i < sizeof(names) / sizeof(names[0]) && strcmp(names[i], type) != 0) {
        i++;
    }
    if (i == sizeof(names) / sizeof(names[0])) {
        gi_hf_fail(t->b, GLINFER_STATUS_UNSUPPORTED,
                   "tokenizer.json: the model '%.64s' is not supported; BPE, Unigram and WordPiece "
                   "are",
                   type);
        return;
    }
    t->type = (enum gi_hf_model)i;
    if (t->type == GI_HF_BPE) {
        check_bpe(t);
    }
}

// Checks the type alone: decoders change texts, not ids, and the bytes of tokens follow from the
// model.
static void check_decoder(struct gi_hf_tokenizer *t, const cJSON *component)
{
    static const char *const known[] = {"ByteLevel", "ByteFallback", "Fuse",     "Metaspace",
                                        "Replace",   "Strip",        "WordPiece"};
    const char *type = gi_hf_type_of(component);
    size_t i = 0;
    while (i < sizeof(known) / sizeof(known[0]) && strcmp(known[i], type) != 0) {
        i++;
    }
    if (i == sizeof(known) / sizeof(known[0])) {
        gi_hf_refuse_type(t, "decoder", component);
    }
}

//-- add ---------------------------------------------------------------------------------------

static void add_steps(struct gi_hf_tokenizer *t)
{
    struct gi_gguf_string *texts = gi_hf_zeroed(t, t->n_steps, 3 * sizeof(*texts));
    for (size_t i = 0; texts && i < t->n_steps; i++) {
        const struct gi_hf_step *step = &t->steps[i];
        texts[3 * i] = (struct gi_gguf_string){step->name, strlen(step->name)};
        texts[3 * i + 1] = (struct gi_gguf_string){step->expression.data, step->expression.count};
        texts[3 * i + 2] = (struct gi_gguf_string){step->text.data, step->text.count};
    }
    if (texts) {
        gi_gguf_add_strings(t->b->out, "glinfer.tokenizer.steps", texts, 3 * t->n_steps);
    }
    free(texts);
}

static void add_text(struct gi_hf_tokenizer *t, const char *key, const char *text)
{
    gi_gguf_add_string(t->b->out, key, text, strlen(text));
}

static void add_bpe(struct gi_hf_tokenizer *t)
{
    const cJSON *model = t->model;
    struct gi_gguf_writer *out = t->b->out;
    gi_gguf_add_bool(out, "glinfer.tokenizer.ignore_merges",
                     gi_hf_member_bool(t, model, "ignore_merges", false));
    if (t->is_byte_level) {
        const char *pre = gi_hf_find_pre(t);
        add_text(t, "tokenizer.ggml.model", "gpt2");
        if (pre && gi_hf_ok(t->b)) {
            add_text(t, "tokenizer.ggml.pre", pre);
        }
        return;
    }
    const bool is_gemma4 = strcmp(t->b->arch, "gemma4") == 0;
    add_text(t, "tokenizer.ggml.model", is_gemma4 ? "gemma4" : "llama");
    add_text(t, "tokenizer.ggml.pre", is_gemma4 ? "gemma4" : "default");
    gi_gguf_add_bool(out, "tokenizer.ggml.add_space_prefix", t->has_prefix);
    gi_gguf_add_bool(out, "glinfer.tokenizer.byte_fallback",
                     gi_hf_member_bool(t, model, "byte_fallback", false));
    gi_gguf_add_bool(out, "glinfer.tokenizer.fuse_unk",
                     gi_hf_member_bool(t, model, "fuse_unk", false));
}

static void add_unigram(struct gi_hf_tokenizer *t)
{
    struct gi_gguf_writer *out = t->b->out;
    add_text(t, "tokenizer.ggml.model", "t5");
    add_text(t, "tokenizer.ggml.pre", "default");
    gi_gguf_add_bool(out, "tokenizer.ggml.add_space_prefix", t->has_prefix);
    gi_gguf_add_bool(out, "tokenizer.ggml.remove_extra_whitespaces", t->removes_spaces);
    gi_gguf_add_bool(out, "glinfer.tokenizer.byte_fallback",
                     gi_hf_member_bool(t, t->model, "byte_fallback", false));
    if (t->charsmap.count) {
        gi_gguf_add_u8s(out, "tokenizer.ggml.precompiled_charsmap",
                        (const uint8_t *)t->charsmap.data, t->charsmap.count);
    }
}

static void add_wordpiece(struct gi_hf_tokenizer *t)
{
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(t->model, "max_input_chars_per_word");
    uint64_t size_max = 100;
    if (size && (!gi_hf_json_count(size, &size_max) || size_max > UINT32_MAX || size_max == 0)) {
        gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                   "tokenizer.json: \"max_input_chars_per_word\" is not a number of characters");
    }
    add_text(t, "tokenizer.ggml.model", "bert");
    add_text(t, "tokenizer.ggml.pre", "default");
    gi_gguf_add_u32(t->b->out, "glinfer.tokenizer.word_size_max", (uint32_t)size_max);
}

void gi_hf_add_pairs(struct gi_hf_tokenizer *t)
{
    static void (*const add_model[])(struct gi_hf_tokenizer * t) = {
        [GI_HF_BPE] = add_bpe, [GI_HF_UNIGRAM] = add_unigram, [GI_HF_WORDPIECE] = add_wordpiece};
    read_model(t);
    if (gi_hf_ok(t->b)) {
        gi_hf_read_steps(t);
        gi_hf_visit(t, cJSON_GetObjectItemCaseSensitive(t->file, "decoder"), "decoders",
                    check_decoder);
        gi_hf_read_tokens(t);
    }
    if (gi_hf_ok(t->b)) {
        add_model[t->type](t);
        add_steps(t);
        gi_hf_add_tokens(t);
        gi_hf_add_special(t);
        gi_hf_add_templates(t);
    }
}

//-- files -------------------------------------------------------------------------------------

// Reads a file of the folder; NULL if it fails, or without the file if it need not be there.
static cJSON *read_file(struct gi_hf_tokenizer *t, const char *name, bool is_needed)
{
    struct glinfer_error err = {0};
    char *path = gi_hf_ok(t->b) ? gi_hf_path(t->folder, name, &err) : NULL;
    const bool is_listed = path && gi_hf_is_listed(path);
    cJSON *json =
        path && (is_needed || is_listed) ? gi_hf_json_read(path, cJSON_Object, &err) : NULL;
    free(path);
    if (err.status == GLINFER_STATUS_NOT_FOUND && !is_listed) {
        gi_hf_fail(t->b, err.status,
                   "has no %s; save the tokenizer of the model in the form that the tokenizers "
                   "library reads",
                   name);
    } else if (err.status != GLINFER_STATUS_OK) {
        gi_hf_keep_error(t, &err);
    }
    return json;
}

void gi_hf_tokenizer_finish(struct gi_hf_tokenizer *t)
{
    for (size_t i = 0; i < t->n_steps; i++) {
        free(t->steps[i].expression.data);
        free(t->steps[i].text.data);
    }
    free(t->charsmap.data);
    free(t->spelled.data);
    free(t->tokens);
    free(t->types);
    free(t->scores);
    cJSON_Delete(t->file);
    cJSON_Delete(t->config);
    cJSON_Delete(t->generation);
}

bool gi_hf_add_tokenizer(struct gi_hf_build *b, const char *folder)
{
    struct gi_hf_tokenizer t = {.b = b, .folder = folder};
    t.file = read_file(&t, "tokenizer.json", true);
    t.config = read_file(&t, "tokenizer_config.json", false);
    t.generation = read_file(&t, "generation_config.json", false);
    if (gi_hf_ok(b)) {
        gi_hf_add_pairs(&t);
    }
    gi_hf_tokenizer_finish(&t);
    return gi_hf_ok(b);
}
