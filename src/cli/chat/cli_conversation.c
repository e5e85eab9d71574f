#include "cli/chat/cli_conversation.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_json.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const roles[] = {"system", "user", "assistant"};

static const char *find_role(const char *name)
{
    for (size_t i = 0; name && i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (strcmp(roles[i], name) == 0) {
            return roles[i];
        }
    }
    return NULL;
}

//-- messages --------------------------------------------------------------------------------------

void cli_conversation_cut(struct cli_conversation *conversation, size_t n)
{
    while (conversation->count > n) {
        free((char *)conversation->messages[--conversation->count].content);
    }
}

void cli_conversation_finish(struct cli_conversation *conversation)
{
    cli_conversation_cut(conversation, 0);
    free(conversation->messages);
    memset(conversation, 0, sizeof(*conversation));
}

static char *copy_text(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    size_t n = 0;
    for (size_t i = 0; copy && i < size; i++) {
        if (text[i]) {
            copy[n++] = text[i];
        }
    }
    if (copy) {
        copy[n] = 0;
    }
    return copy;
}

static bool grow(struct cli_conversation *conversation)
{
    if (conversation->count < conversation->capacity) {
        return true;
    }
    const size_t capacity = conversation->capacity ? 2 * conversation->capacity : 16;
    struct glinfer_message *messages =
        realloc(conversation->messages, capacity * sizeof(*messages));
    if (messages) {
        conversation->messages = messages;
        conversation->capacity = capacity;
    }
    return messages != NULL;
}

bool cli_conversation_add(struct cli_conversation *conversation, const char *role, const char *text,
                          size_t size)
{
    char *content = grow(conversation) ? copy_text(text, size) : NULL;
    if (content) {
        conversation->messages[conversation->count++] = (struct glinfer_message){role, content};
    }
    return content != NULL;
}

size_t cli_conversation_count_system(const struct cli_conversation *conversation)
{
    return conversation->count > 0 && strcmp(conversation->messages[0].role, "system") == 0;
}

bool cli_conversation_set_system(struct cli_conversation *conversation, const char *text)
{
    if (!cli_conversation_add(conversation, "system", text, strlen(text))) {
        return false;
    }
    struct glinfer_message *messages = conversation->messages;
    const struct glinfer_message added = messages[conversation->count - 1];
    if (conversation->count > 1 && strcmp(messages[0].role, "system") == 0) {
        free((char *)messages[0].content);
        conversation->count--;
    } else {
        memmove(messages + 1, messages, (conversation->count - 1) * sizeof(*messages));
    }
    messages[0] = added;
    return true;
}

//-- files -----------------------------------------------------------------------------------------

static char *print_json(const struct cli_conversation *conversation)
{
    cJSON *object = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(object, "messages");
    bool is_whole = list != NULL;
    for (size_t i = 0; is_whole && i < conversation->count; i++) {
        const struct glinfer_message *message = &conversation->messages[i];
        cJSON *entry = cJSON_CreateObject();
        is_whole = cJSON_AddStringToObject(entry, "role", message->role) &&
                   cJSON_AddStringToObject(entry, "content", message->content);
        cJSON_AddItemToArray(list, entry);
    }
    char *text = is_whole ? cJSON_Print(object) : NULL;
    cJSON_Delete(object);
    return text;
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (!file) {
        return false;
    }
    const bool is_written = fputs(text, file) >= 0 && fputc('\n', file) >= 0 && fflush(file) == 0;
    const int error = errno;
    const bool is_closed = fclose(file) == 0;
    if (!is_written) {
        errno = error;
    }
    return is_written && is_closed;
}

// In one go: what the file held before stays until then.
static bool replace_file(const char *path, const char *text)
{
    const size_t size = strlen(path) + sizeof(".part");
    char *part = malloc(size);
    if (!part) {
        errno = ENOMEM;
        return false;
    }
    snprintf(part, size, "%s.part", path);
    const bool is_replaced = write_file(part, text) && rename(part, path) == 0;
    if (!is_replaced) {
        const int error = errno;
        unlink(part);
        errno = error;
    }
    free(part);
    return is_replaced;
}

// What a link leads to is replaced, and the link stays. A terminal or a pipe is written where it is, as is what
// a link leads to that is not there yet.
static bool save_text(const char *path, const char *text)
{
    struct stat status;
    char *target = realpath(path, NULL);
    if (!target) {
        return lstat(path, &status) == 0 ? write_file(path, text) : replace_file(path, text);
    }
    const bool is_file = stat(target, &status) == 0 && S_ISREG(status.st_mode);
    const bool is_saved = is_file ? replace_file(target, text) : write_file(target, text);
    const int error = errno;
    free(target);
    errno = error;
    return is_saved;
}

bool cli_conversation_save(const struct cli_conversation *conversation, const char *path)
{
    char *text = print_json(conversation);
    bool is_saved = false;
    if (!text) {
        cli_fail(0, "no memory to save the conversation");
    } else {
        is_saved = save_text(path, text);
        if (!is_saved) {
            cli_fail(0, "%s cannot be written: %s", path, strerror(errno));
        }
    }
    cJSON_free(text);
    return is_saved;
}

static bool read_message(struct cli_conversation *conversation, const cJSON *entry,
                         const char *path)
{
    const char *role = find_role(cJSON_GetStringValue(cJSON_GetObjectItem(entry, "role")));
    const char *content = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "content"));
    if (!role || !content) {
        cli_fail(0,
                 "%s: message %zu lacks a role (system, user or assistant) or a content that is "
                 "text",
                 path, conversation->count + 1);
        return false;
    }
    if (!cli_conversation_add(conversation, role, content, strlen(content))) {
        cli_fail(0, "no memory for %s", path);
        return false;
    }
    return true;
}

static bool read_messages(struct cli_conversation *conversation, const cJSON *json,
                          const char *path)
{
    const cJSON *list = cJSON_IsArray(json) ? json : cJSON_GetObjectItem(json, "messages");
    const cJSON *entry;
    if (!cJSON_IsArray(list)) {
        cli_fail(0, "%s is no conversation: expected JSON with a list \"messages\"", path);
        return false;
    }
    cJSON_ArrayForEach(entry, list)
    {
        if (!read_message(conversation, entry, path)) {
            return false;
        }
    }
    return true;
}

bool cli_conversation_load(struct cli_conversation *conversation, const char *path)
{
    struct cli_bytes text;
    struct cli_conversation loaded = {0};
    if (!cli_read_all(path, &text)) {
        return false;
    }
    cJSON *json = cJSON_ParseWithLength(text.data, text.size);
    const bool is_loaded = read_messages(&loaded, json, path);
    cJSON_Delete(json);
    cli_bytes_finish(&text);
    if (!is_loaded) {
        cli_conversation_finish(&loaded);
        return false;
    }
    cli_conversation_finish(conversation);
    *conversation = loaded;
    return true;
}
