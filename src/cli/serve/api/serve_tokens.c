#include "cli/serve/api/serve_tokens.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/common/cli_session.h"
#include "cli/common/cli_utf8.h"
#include "cli/serve/api/serve_handlers.h"

#include <stdlib.h>
#include <string.h>

//-- prompts ---------------------------------------------------------------------------------------

static bool append_text(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                        const char *text, unsigned flags, struct cli_ids *ids)
{
    struct glinfer_error err;
    const size_t size = strlen(text);
    size_t n = size + 2;
    for (int i = 0; i < 2; i++) { // a second time if there was no room
        ids->items = cli_reserve(ids->items, &ids->capacity, ids->count + n, sizeof(*ids->items));
        const size_t room = ids->capacity - ids->count;
        if (!glinfer_tokenize(tokenizer, text, size, flags, ids->items + ids->count, room, &n,
                              &err)) {
            return serve_fields_refuse(fields, 500, "%s", err.message);
        }
        if (n <= room) {
            break;
        }
    }
    ids->count += n;
    return true;
}

// Appends the text of a prompt that is an object: prompt_string, or content with pieces that are
// texts.
static bool read_object(struct serve_fields *fields, const cJSON *object, struct cli_bytes *text)
{
    const char *whole = cli_json_get_text(object, "prompt_string");
    const cJSON *pieces = whole ? NULL : cli_json_get(object, "content"), *part;
    bool is_text = !cli_json_get(object, "multimodal_data") && (whole || cJSON_IsArray(pieces));
    cli_bytes_add(text, whole ? whole : "");
    cJSON_ArrayForEach(part, pieces)
    {
        const char *piece = cli_json_get_text(part, "text");
        is_text = is_text && piece;
        cli_bytes_add(text, piece ? piece : "");
    }
    return is_text || serve_fields_refuse(fields, 400,
                                          "invalid prompt: expected \"prompt_string\", or "
                                          "\"content\" with texts; images and sound are not "
                                          "supported");
}

static bool append_item(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                        const cJSON *item, unsigned flags, struct cli_ids *ids)
{
    size_t size;
    if (cJSON_IsString(item)) {
        return append_text(fields, tokenizer, item->valuestring, flags, ids);
    }
    if (cJSON_IsObject(item)) {
        struct cli_bytes text = {0};
        const bool is_done = read_object(fields, item, &text) &&
                             append_text(fields, tokenizer, text.data, flags, ids);
        cli_bytes_finish(&text);
        return is_done;
    }
    int64_t value;
    const bool is_id = cli_json_int(item, &value) && value >= 0 && value <= INT32_MAX &&
                       glinfer_token_bytes(tokenizer, (int32_t)value, &size);
    if (!is_id) {
        return serve_fields_refuse(fields, 400,
                                   "invalid prompt: expected a string, an object with "
                                   "\"prompt_string\", the id of a token of the vocabulary, or a "
                                   "list of these");
    }
    const int32_t id = (int32_t)value;
    cli_ids_append(ids, &id, 1);
    return true;
}

static bool read_items(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                       const cJSON *prompt, unsigned flags, struct cli_ids *ids)
{
    const cJSON *item;
    bool is_done = true;
    if (!cJSON_IsArray(prompt)) {
        return append_item(fields, tokenizer, prompt, flags, ids);
    }
    cJSON_ArrayForEach(item, prompt)
    {
        is_done = is_done && append_item(fields, tokenizer, item, flags, ids);
        flags |= GLINFER_TOKENIZE_NO_BOS; // which stands before the first alone
    }
    return is_done;
}

bool serve_read_prompt(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                       const cJSON *prompt, struct cli_ids *ids)
{
    return read_items(fields, tokenizer, prompt, 0, ids);
}

//-- handlers --------------------------------------------------------------------------------------

cJSON *serve_write_tokens(const struct glinfer_tokenizer *tokenizer, const int32_t *ids, size_t n)
{
    struct cli_bytes bytes = {0};
    for (size_t i = 0; i < n; i++) {
        cli_append_token(&bytes, tokenizer, ids[i]);
    }
    cJSON *json = cli_json_text(bytes.data, bytes.size);
    cli_bytes_finish(&bytes);
    return json;
}

void serve_handle_tokenize(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    struct serve_fields fields = {.object = body};
    const struct glinfer_tokenizer *tokenizer = serve_scheduler_tokenizer(api->scheduler);
    const cJSON *content = serve_fields_get(&fields, "content");
    bool has_special = false, has_pieces = false, parses_special = true;
    struct cli_ids ids = {0};
    serve_fields_bool(&fields, "add_special", &has_special);
    serve_fields_bool(&fields, "parse_special", &parses_special);
    serve_fields_bool(&fields, "with_pieces", &has_pieces);
    const unsigned flags = (has_special ? 0 : GLINFER_TOKENIZE_NO_BOS) |
                           (parses_special ? 0 : GLINFER_TOKENIZE_NO_SPECIAL);
    if (fields.is_wrong || (content && !read_items(&fields, tokenizer, content, flags, &ids))) {
        serve_reply_refuse(reply, &fields);
    } else {
        cJSON *json = cJSON_CreateObject();
        cJSON *list = cJSON_AddArrayToObject(json, "tokens");
        for (size_t i = 0; i < ids.count; i++) {
            cJSON *item = has_pieces ? cli_json_append(list) : NULL;
            if (has_pieces) {
                cJSON_AddNumberToObject(item, "id", ids.items[i]);
                size_t size = 0; // bytes that are not UTF-8 are a list, as llama-server has it
                const char *piece = glinfer_token_bytes(tokenizer, ids.items[i], &size);
                cJSON_AddItemToObject(item, "piece",
                                      cli_utf8_is_valid(piece, size) ? cli_json_text(piece, size)
                                                                     : cli_json_bytes(piece, size));
            } else {
                cJSON_AddItemToArray(list, cJSON_CreateNumber(ids.items[i]));
            }
        }
        serve_reply_json(reply, 200, json);
    }
    free(ids.items);
    cJSON_Delete(body);
}

void serve_handle_detokenize(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    struct serve_fields fields = {.object = body};
    const struct glinfer_tokenizer *tokenizer = serve_scheduler_tokenizer(api->scheduler);
    const cJSON *tokens = serve_fields_get(&fields, "tokens");
    struct cli_ids ids = {0};
    if (tokens && !cJSON_IsArray(tokens)) {
        serve_reply_error(reply, 400, "invalid \"tokens\": expected a list of token ids");
    } else if (tokens && !serve_read_prompt(&fields, tokenizer, tokens, &ids)) {
        serve_reply_refuse(reply, &fields);
    } else {
        cJSON *json = cJSON_CreateObject();
        cJSON_AddItemToObject(json, "content", serve_write_tokens(tokenizer, ids.items, ids.count));
        serve_reply_json(reply, 200, json);
    }
    free(ids.items);
    cJSON_Delete(body);
}
