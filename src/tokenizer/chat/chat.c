#include "tokenizer/chat/chat.h"

#include "base/array.h"
#include "jinja/jinja.h"
#include "tokenizer/chat/chat_format.h"
#include "tokenizer/chat/chat_template.h"
#include "tokenizer/tokenizer_impl.h"

#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- recognise ---------------------------------------------------------------------------------

static bool is_format(const struct gi_chat_format *format, struct gi_text jinja)
{
    for (size_t i = 0; i < GI_CHAT_TELLS_MAX; i++) {
        if ((format->tells[i] && !gi_text_find(jinja, format->tells[i])) ||
            (format->denials[i] && gi_text_find(jinja, format->denials[i]))) {
            return false;
        }
    }
    return true;
}

static const struct gi_chat_format *find_format(struct gi_text jinja)
{
    const struct gi_chat_format *format;
    for (size_t f = 0; (format = gi_chat_format_at(f)); f++) {
        if (is_format(format, jinja)) {
            return format;
        }
    }
    return NULL;
}

// Takes a format, or none, in place of all that was known.
static bool choose(struct gi_chat *chat, const struct gi_chat_format *format,
                   struct glinfer_error *err)
{
    gi_chat_finish(chat);
    chat->has_template = true;
    chat->plain = format ? gi_jinja_create(format->jinja, strlen(format->jinja), err) : NULL;
    chat->format = chat->plain ? format : NULL;
    return !format || chat->plain;
}

bool gi_chat_init(struct gi_tokenizer *tokenizer, struct gi_text jinja, struct glinfer_error *err)
{
    struct gi_chat *chat = &tokenizer->chat;
    if (jinja.size == 0) {
        return true;
    }
    if (!choose(chat, find_format(jinja), err) ||
        !(chat->source = gi_array_zeroed(jinja.size + 1, 1, "a chat template", err))) {
        return false;
    }
    memcpy(chat->source, jinja.data, jinja.size);
    return gi_chat_template_init(tokenizer, jinja, err);
}

void gi_chat_finish(struct gi_chat *chat)
{
    gi_jinja_destroy(chat->jinja);
    gi_jinja_destroy(chat->plain);
    free(chat->source);
    memset(chat, 0, sizeof(*chat));
}

const char *gi_tokenizer_template_name(const struct gi_tokenizer *tokenizer)
{
    const struct gi_chat *chat = &tokenizer->chat;
    return chat->format         ? chat->format->name
           : chat->jinja        ? "jinja"
           : chat->has_template ? "unknown"
                                : "none";
}

const char *gi_tokenizer_template_fault(const struct gi_tokenizer *tokenizer)
{
    return tokenizer->chat.fault;
}

const char *gi_tokenizer_template_text(const struct gi_tokenizer *tokenizer)
{
    const struct gi_chat *chat = &tokenizer->chat;
    return chat->source ? chat->source : chat->format ? chat->format->jinja : NULL;
}

//-- choose ------------------------------------------------------------------------------------

const char *gi_tokenizer_template_at(size_t index)
{
    const struct gi_chat_format *format = gi_chat_format_at(index);
    return format ? format->name : NULL;
}

static void list_names(char *names, size_t size)
{
    size_t n = 0;
    names[0] = 0;
    for (size_t i = 0; gi_tokenizer_template_at(i) && n < size; i++) {
        n += (size_t)snprintf(names + n, size - n, "%s%s", i ? ", " : "",
                              gi_tokenizer_template_at(i));
    }
}

bool gi_tokenizer_set_template(struct gi_tokenizer *tokenizer, const char *name,
                               struct glinfer_error *err)
{
    struct gi_chat *chat = &tokenizer->chat;
    size_t i = 0;
    if (strstr(name, "{%") || strstr(name, "{{")) {
        return gi_chat_init(tokenizer, gi_text_of(name), err) &&
               (chat->format || chat->jinja ||
                gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "cannot run the chat template: %s",
                             chat->fault));
    }
    while (gi_tokenizer_template_at(i) && strcmp(gi_tokenizer_template_at(i), name) != 0) {
        i++;
    }
    const struct gi_chat_format *format = gi_chat_format_at(i);
    if (!format) {
        char names[512];
        list_names(names, sizeof(names));
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "unknown chat template '%.64s'; the known ones are: %s", name, names);
    }
    chat->fault[0] = 0;
    return format == chat->format || choose(chat, format, err);
}

//-- encode ------------------------------------------------------------------------------------

static bool refuse_missing_template(const struct gi_chat *chat, struct glinfer_error *err)
{
    char names[512];
    list_names(names, sizeof(names));
    return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "%s%s%s; prompts can be given as plain text, or one of these be chosen: %s",
                        chat->has_template ? "unknown chat template of the model"
                                           : "the model has no chat template",
                        chat->fault[0] ? ", and cannot be run: " : "", chat->fault, names);
}

static bool check_roles(const struct gi_tokenizer *tokenizer,
                        const struct glinfer_message *messages, size_t n_messages,
                        struct glinfer_error *err)
{
    for (size_t i = 0; i < n_messages; i++) {
        const char *role = messages[i].role ? messages[i].role : "";
        if (strcmp(role, "system") != 0 && strcmp(role, "user") != 0 &&
            strcmp(role, "assistant") != 0) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "message %zu has the role '%s'; the chat template %s knows system, "
                                "user and assistant",
                                i, role, gi_tokenizer_template_name(tokenizer));
        }
    }
    return true;
}

static bool check_places(const struct gi_chat *chat, const struct glinfer_message *messages,
                         size_t n_messages, struct glinfer_error *err)
{
    for (size_t i = 0; i < n_messages; i++) {
        if (i && chat->format->is_system_first && strcmp(messages[i].role, "system") == 0) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "message %zu has the role 'system'; the chat template %s has a "
                                "place for it only before all others",
                                i, chat->format->name);
        }
    }
    return true;
}

static bool encode_format(const struct gi_tokenizer *tokenizer,
                          const struct glinfer_message *messages, size_t n_messages,
                          enum glinfer_chat_end end, const struct gi_chat_out *out,
                          struct glinfer_error *err)
{
    return check_places(&tokenizer->chat, messages, n_messages, err) &&
           gi_chat_template_encode(tokenizer, true, messages, n_messages, end, out, err);
}

// Writes with the file's own template; a conversation that it refuses, with its format.
static bool encode_messages(const struct gi_tokenizer *tokenizer,
                            const struct glinfer_message *messages, size_t n_messages,
                            enum glinfer_chat_end end, const struct gi_chat_out *out,
                            struct glinfer_error *err)
{
    const struct gi_chat *chat = &tokenizer->chat;
    struct glinfer_error own = {0};
    if (!chat->format && !chat->jinja) {
        return refuse_missing_template(chat, err);
    }
    if (!check_roles(tokenizer, messages, n_messages, err)) {
        return false;
    }
    if (!chat->jinja) {
        return encode_format(tokenizer, messages, n_messages, end, out, err);
    }
    if (gi_chat_template_encode(tokenizer, false, messages, n_messages, end, out, &own)) {
        return true;
    }
    if (own.status == GLINFER_STATUS_INVALID_ARGUMENT && chat->format) {
        return encode_format(tokenizer, messages, n_messages, end, out, err);
    }
    return gi_error_pass(err, &own);
}

bool gi_tokenizer_encode_chat(const struct gi_tokenizer *tokenizer,
                              const struct glinfer_message *messages, size_t n_messages,
                              enum glinfer_chat_end end, struct gi_ids *ids,
                              struct glinfer_error *err)
{
    return encode_messages(tokenizer, messages, n_messages, end, &(struct gi_chat_out){ids, NULL},
                           err);
}

//-- encode JSON -------------------------------------------------------------------------------

// Returns the messages of a list if each has a role and a content that are texts and no call; NULL
// if not, or if memory ran out. They are borrowed from the list.
static struct glinfer_message *read_messages(const cJSON *list, size_t n)
{
    struct glinfer_message *messages = gi_array_zeroed(n + 1, sizeof(*messages), "messages", NULL);
    size_t i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *role = cJSON_GetObjectItemCaseSensitive(item, "role");
        const cJSON *content = cJSON_GetObjectItemCaseSensitive(item, "content");
        if (!messages || !cJSON_IsString(role) || !cJSON_IsString(content) ||
            cJSON_HasObjectItem(item, "tool_calls")) {
            free(messages);
            return NULL;
        }
        messages[i++] = (struct glinfer_message){role->valuestring, content->valuestring};
    }
    return messages;
}

// Writes a conversation that has nothing but texts with the chat's format.
static bool encode_plain_json(const struct gi_tokenizer *tokenizer,
                              const struct glinfer_chat_json *chat, const struct gi_chat_out *out,
                              struct glinfer_error *err)
{
    cJSON *list = chat->tools || chat->variables ? NULL : cJSON_Parse(chat->messages);
    const size_t n = (size_t)cJSON_GetArraySize(list);
    struct glinfer_message *messages = cJSON_IsArray(list) ? read_messages(list, n) : NULL;
    const bool is_done =
        messages ? encode_messages(tokenizer, messages, n, chat->end, out, err)
                 : gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                                "the chat template %s takes only messages of a role and a text; a "
                                "file's own template that can be run takes more",
                                gi_tokenizer_template_name(tokenizer));
    free(messages);
    cJSON_Delete(list);
    return is_done;
}

static bool encode_json(const struct gi_tokenizer *tokenizer, const struct glinfer_chat_json *chat,
                        const struct gi_chat_out *out, struct glinfer_error *err)
{
    struct glinfer_error own = {0};
    if (!tokenizer->chat.jinja || tokenizer->chat.answer[0]) {
        return encode_plain_json(tokenizer, chat, out, err);
    }
    if (gi_chat_template_encode_json(tokenizer, chat, out, &own)) {
        return true;
    }
    const bool is_refused = own.status == GLINFER_STATUS_INVALID_ARGUMENT;
    return (is_refused && tokenizer->chat.format &&
            encode_plain_json(tokenizer, chat, out, NULL)) ||
           gi_error_pass(err, &own);
}

bool gi_tokenizer_encode_chat_json(const struct gi_tokenizer *tokenizer,
                                   const struct glinfer_chat_json *chat, struct gi_ids *ids,
                                   struct glinfer_error *err)
{
    return encode_json(tokenizer, chat, &(struct gi_chat_out){ids, NULL}, err);
}

bool gi_tokenizer_write_chat_json(const struct gi_tokenizer *tokenizer,
                                  const struct glinfer_chat_json *chat, struct gi_chars *text,
                                  struct glinfer_error *err)
{
    return encode_json(tokenizer, chat, &(struct gi_chat_out){NULL, text}, err);
}
