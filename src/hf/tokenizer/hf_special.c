// Ids of special tokens, those around a text, and chat templates.
#include "base/file.h"
#include "hf/tokenizer/hf_tokenizer_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- ids around a text --------------------------------------------------------------------------

// Ids before and after a text, and of a second token between two texts; -1: none.
struct around {
    int32_t before, after, separator;
};

static void take_id(struct gi_hf_tokenizer *t, int32_t *place, const cJSON *id)
{
    uint64_t count;
    if (!gi_hf_json_count(id, &count) || count >= t->n_tokens) {
        gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                   "tokenizer.json: \"post_processor\" names a token that the vocabulary does not "
                   "have");
    } else if (*place >= 0 && *place != (int32_t)count) {
        gi_hf_fail(t->b, GLINFER_STATUS_UNSUPPORTED,
                   "tokenizer.json: more than one token before or after a text "
                   "(\"post_processor\") is not supported");
    } else {
        *place = (int32_t)count;
    }
}

// Takes the ids of {"SpecialToken": {"id": NAME}}, which are those of special_tokens[NAME].
static void take_special(struct gi_hf_tokenizer *t, const cJSON *component, const cJSON *special,
                         int32_t *place)
{
    const char *name = gi_hf_member_text(special, "id", "");
    const cJSON *tokens = cJSON_GetObjectItemCaseSensitive(component, "special_tokens");
    const cJSON *ids =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(tokens, name), "ids");
    if (!cJSON_IsArray(ids) || !ids->child || ids->child->next) {
        gi_hf_fail(t->b, GLINFER_STATUS_UNSUPPORTED,
                   "tokenizer.json: the token '%.64s' of \"post_processor\" without just one id is "
                   "not supported",
                   name);
        return;
    }
    take_id(t, place, ids->child);
}

static void take_template(struct gi_hf_tokenizer *t, const cJSON *component, struct around *around)
{
    const cJSON *pieces = cJSON_GetObjectItemCaseSensitive(component, "single");
    bool is_after = false;
    for (const cJSON *piece = cJSON_IsArray(pieces) ? pieces->child : NULL; piece && gi_hf_ok(t->b);
         piece = piece->next) {
        const cJSON *special = cJSON_GetObjectItemCaseSensitive(piece, "SpecialToken");
        if (special) {
            take_special(t, component, special, is_after ? &around->after : &around->before);
        } else {
            is_after = true;
        }
    }
}

// Takes the second of two tokens between the texts of a pair; "after" is the first.
static void take_separator(struct gi_hf_tokenizer *t, const cJSON *component, struct around *around)
{
    const cJSON *pieces = cJSON_GetObjectItemCaseSensitive(component, "pair");
    size_t n_texts = 0, n_between = 0;
    for (const cJSON *piece = cJSON_IsArray(pieces) ? pieces->child : NULL; piece && gi_hf_ok(t->b);
         piece = piece->next) {
        const cJSON *special = cJSON_GetObjectItemCaseSensitive(piece, "SpecialToken");
        n_texts += !special;
        n_between += special && n_texts == 1;
        if (special && n_texts == 1 && n_between == 2) {
            take_special(t, component, special, &around->separator);
        }
    }
}

static void take_processor(struct gi_hf_tokenizer *t, const cJSON *component)
{
    const char *type = gi_hf_type_of(component);
    struct around around = {t->before, t->after, t->separator};
    if (strcmp(type, "TemplateProcessing") == 0) {
        take_template(t, component, &around);
        take_separator(t, component, &around);
    } else if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
        const cJSON *cls = cJSON_GetObjectItemCaseSensitive(component, "cls");
        const cJSON *sep = cJSON_GetObjectItemCaseSensitive(component, "sep");
        take_id(t, &around.before, cJSON_IsArray(cls) && cls->child ? cls->child->next : NULL);
        take_id(t, &around.after, cJSON_IsArray(sep) && sep->child ? sep->child->next : NULL);
        around.separator = *type == 'R' ? around.after : around.separator;
    } else if (strcmp(type, "ByteLevel") != 0) { // which sets offsets alone
        gi_hf_refuse_type(t, "post_processor", component);
    }
    t->before = around.before;
    t->after = around.after;
    t->separator = around.separator;
}

//-- ids ---------------------------------------------------------------------------------------

// Returns the id of a token of tokenizer_config.json, a text or {"content": text}; -1 without one.
static int32_t find_named(const struct gi_hf_tokenizer *t, const char *name)
{
    const cJSON *token = cJSON_GetObjectItemCaseSensitive(t->config, name);
    const char *text =
        cJSON_IsString(token) ? token->valuestring : gi_hf_member_text(token, "content", NULL);
    return text ? gi_hf_find_token(t, text) : -1;
}

// Fails if ids are neither a number nor a list of numbers.
static void check_ids(struct gi_hf_tokenizer *t, const cJSON *ids, const char *key)
{
    const cJSON *id = cJSON_IsArray(ids) ? ids->child : ids;
    for (; id; id = cJSON_IsArray(ids) ? id->next : NULL) {
        if (!cJSON_IsNumber(id) && !cJSON_IsNull(id)) {
            gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                       "the key %s of config.json or generation_config.json is invalid, expected "
                       "numbers of tokens",
                       key);
        }
    }
}

// Returns the first id of a member, a number or a list of numbers; -1 without one.
static int32_t first_id(struct gi_hf_tokenizer *t, const cJSON *object, const char *key)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    uint64_t id;
    check_ids(t, member, key);
    const cJSON *first = cJSON_IsArray(member) ? member->child : member;
    return gi_hf_json_count(first, &id) && id < t->n_tokens ? (int32_t)id : -1;
}

static int32_t find_id(struct gi_hf_tokenizer *t, const char *name, const char *id_key)
{
    int32_t id = find_named(t, name);
    id = id < 0 ? first_id(t, t->b->config, id_key) : id;
    id = id < 0 ? first_id(t, t->b->root, id_key) : id;
    return id < 0 ? first_id(t, t->generation, id_key) : id;
}

static void add_id(struct gi_hf_tokenizer *t, const char *key, int32_t id)
{
    if (id >= 0) {
        gi_gguf_add_u32(t->b->out, key, (uint32_t)id);
    }
}

enum { STOPS_MAX = 256 }; // the engine warns of more than it takes

struct stops {
    int32_t ids[STOPS_MAX];
    size_t n;
};

static void add_stop(const struct gi_hf_tokenizer *t, struct stops *stops, const cJSON *json)
{
    uint64_t id;
    if (gi_hf_json_count(json, &id) && id < t->n_tokens && stops->n < STOPS_MAX) {
        stops->ids[stops->n++] = (int32_t)id;
    }
}

static void add_stops(struct gi_hf_tokenizer *t, struct stops *stops, const cJSON *object)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, "eos_token_id");
    check_ids(t, member, "eos_token_id");
    if (!cJSON_IsArray(member)) {
        add_stop(t, stops, member);
        return;
    }
    for (const cJSON *id = member->child; id; id = id->next) {
        add_stop(t, stops, id);
    }
}

// Adds all ids that end an answer; generation_config.json has the say, else config.json.
static void add_stop_ids(struct gi_hf_tokenizer *t, int32_t eos)
{
    struct stops stops = {0};
    add_stops(t, &stops, t->generation);
    if (stops.n == 0) {
        add_stops(t, &stops, t->b->root);
    }
    if (stops.n == 0 && eos >= 0) {
        stops.ids[stops.n++] = eos;
    }
    gi_gguf_add_i32s(t->b->out, "glinfer.tokenizer.stop_ids", stops.ids, stops.n);
}

// Adds whether a token is added around a text: tokenizer_config.json decides over the
// post-processor.
static void add_flag(struct gi_hf_tokenizer *t, const char *name, const char *key, bool is_added)
{
    is_added = gi_hf_member_bool(t, t->config, name, is_added);
    gi_gguf_add_bool(t->b->out, key, is_added);
}

void gi_hf_add_special(struct gi_hf_tokenizer *t)
{
    t->before = t->after = t->separator = -1;
    gi_hf_visit(t, cJSON_GetObjectItemCaseSensitive(t->file, "post_processor"), "processors",
                take_processor);
    if (!gi_hf_ok(t->b)) {
        return;
    }
    int32_t bos = t->before, eos = t->after;
    bos = bos < 0 ? find_id(t, "bos_token", "bos_token_id") : bos;
    eos = eos < 0 ? find_id(t, "eos_token", "eos_token_id") : eos;
    add_id(t, "tokenizer.ggml.bos_token_id", bos);
    add_id(t, "tokenizer.ggml.eos_token_id", eos);
    add_id(t, "tokenizer.ggml.unknown_token_id", t->unknown);
    add_id(t, "tokenizer.ggml.padding_token_id", find_id(t, "pad_token", "pad_token_id"));
    add_id(t, "tokenizer.ggml.mask_token_id", find_named(t, "mask_token"));
    if (t->type == GI_HF_WORDPIECE) {
        add_id(t, "tokenizer.ggml.cls_token_id", bos);
        add_id(t, "tokenizer.ggml.seperator_token_id", eos);
    } else if (t->separator >= 0) {
        add_id(t, "tokenizer.ggml.seperator_token_id", t->separator);
        gi_gguf_add_bool(t->b->out, "tokenizer.ggml.add_sep_token", true);
    }
    add_flag(t, "add_bos_token", "tokenizer.ggml.add_bos_token", t->before >= 0);
    add_flag(t, "add_eos_token", "tokenizer.ggml.add_eos_token", t->after >= 0);
    add_stop_ids(t, eos);
}

//-- chat templates ----------------------------------------------------------------------------

enum { TEMPLATE_MAX_SIZE = 4 << 20 };

// Adds a text as the template, and the file of the folder that has it, for messages.
static void add_template(struct gi_hf_tokenizer *t, const char *text, size_t size, const char *file)
{
    gi_gguf_add_string(t->b->out, "tokenizer.chat_template", text, size);
    if (!t->b->is_for_file) {
        gi_gguf_add_string(t->b->out, "glinfer.tokenizer.template_file", file, strlen(file));
    }
}

// Adds a file of the folder as the template; true if it is there.
static bool add_template_file(struct gi_hf_tokenizer *t, const char *name)
{
    struct gi_file file = {0};
    struct glinfer_error err = {0};
    char *path = gi_hf_path(t->folder, name, &err), *data = NULL;
    bool is_read = path && gi_hf_is_listed(path) && gi_file_open(&file, path, &err);
    if (is_read && file.size > TEMPLATE_MAX_SIZE) {
        gi_error_set(&err, GLINFER_STATUS_BAD_FILE, "%s has more than %d bytes", path,
                     TEMPLATE_MAX_SIZE);
        is_read = false;
    }
    if (is_read) {
        data = gi_hf_zeroed(t, (size_t)file.size, 1);
        is_read = data && gi_file_read(&file, 0, (size_t)file.size, data, path, &err);
    }
    if (is_read) {
        add_template(t, data, (size_t)file.size, name);
    } else if (err.status != GLINFER_STATUS_OK) {
        gi_hf_keep_error(t, &err);
    }
    gi_file_close(&file);
    free(data);
    free(path);
    return is_read;
}

// Adds one of several templates of a file: "default" is the template, others have their name in the
// key.
static void add_named(struct gi_hf_tokenizer *t, const cJSON *template, const char *file,
                      bool has_file)
{
    const char *name = gi_hf_member_text(template, "name", NULL);
    const char *text = gi_hf_member_text(template, "template", NULL);
    char key[128];
    if (!name || !text || strlen(name) > 64) {
        return;
    }
    snprintf(key, sizeof(key), "tokenizer.chat_template.%s", name);
    if (strcmp(name, "default") != 0) {
        gi_gguf_add_string(t->b->out, key, text, strlen(text));
    } else if (!has_file) {
        add_template(t, text, strlen(text), file);
    }
}

void gi_hf_add_templates(struct gi_hf_tokenizer *t)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(t->config, "chat_template");
    const char *name = "tokenizer_config.json";
    const bool has_file = add_template_file(t, "chat_template.jinja");
    const bool is_there = has_file || cJSON_IsString(member) || cJSON_IsArray(member);
    cJSON *file = is_there ? NULL : gi_hf_read_optional(t->b, "chat_template.json", cJSON_Object);
    if (file) { // of older models of text and pictures
        member = cJSON_GetObjectItemCaseSensitive(file, "chat_template");
        name = "chat_template.json";
    }
    if (cJSON_IsString(member) && !has_file) {
        add_template(t, member->valuestring, strlen(member->valuestring), name);
    }
    if (cJSON_IsArray(member)) {
        for (const cJSON *template = member->child; template; template = template->next) {
            add_named(t, template, name, has_file);
        }
    }
    cJSON_Delete(file);
}
