#include "cli/chat/cli_conversation.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_json_read.h"
#include "cli/common/cli_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
        free((char *)conversation->items[--conversation->count].content);
    }
}

void cli_conversation_finish(struct cli_conversation *conversation)
{
    cli_conversation_cut(conversation, 0);
    free(conversation->items);
    memset(conversation, 0, sizeof(*conversation));
}

void cli_conversation_add(struct cli_conversation *conversation, const char *role, const char *text,
                          size_t size)
{
    char *content = cli_alloc(size + 1, 1);
    for (size_t i = 0, n = 0; i < size; i++) {
        if (text[i]) {
            content[n++] = text[i];
        }
    }
    *CLI_APPEND(conversation) = (struct glinfer_message){role, content};
}

size_t cli_conversation_count_system(const struct cli_conversation *conversation)
{
    return conversation->count > 0 && strcmp(conversation->items[0].role, "system") == 0;
}

void cli_conversation_set_system(struct cli_conversation *conversation, const char *text)
{
    cli_conversation_add(conversation, "system", text, strlen(text));
    struct glinfer_message *messages = conversation->items;
    const struct glinfer_message added = messages[conversation->count - 1];
    if (conversation->count > 1 && strcmp(messages[0].role, "system") == 0) {
        free((char *)messages[0].content);
        conversation->count--;
    } else {
        memmove(messages + 1, messages, (conversation->count - 1) * sizeof(*messages));
    }
    messages[0] = added;
}

//-- files -----------------------------------------------------------------------------------------

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

// Writes a new file and renames it over the old one, which stays whole until then.
static bool replace_file(const char *path, const char *text)
{
    const size_t size = strlen(path) + sizeof(".part");
    char *part = cli_alloc(size, 1);
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

// Replaces the file that a link leads to, and the link stays. Writes to a terminal, a pipe or the
// missing end of a link in place.
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
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToObject(object, "messages",
                          cli_json_messages(conversation->items, conversation->count));
    char *text = cJSON_Print(object);
    cJSON_Delete(object);
    const bool is_saved = save_text(path, text) ||
                          cli_fail(CLI_EXIT_FAILED, "cannot write %s: %s", path, strerror(errno));
    cJSON_free(text);
    return is_saved;
}

static bool read_messages(struct cli_conversation *conversation, const cJSON *json,
                          const char *path)
{
    const cJSON *list = cJSON_IsArray(json) ? json : cJSON_GetObjectItem(json, "messages");
    const cJSON *entry;
    if (!cJSON_IsArray(list)) {
        return cli_fail(CLI_EXIT_FAILED,
                        "invalid conversation %s: expected JSON with a list \"messages\"", path);
    }
    cJSON_ArrayForEach(entry, list)
    {
        const char *role = find_role(cJSON_GetStringValue(cJSON_GetObjectItem(entry, "role")));
        const char *content = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "content"));
        if (!role || !content) {
            return cli_fail(CLI_EXIT_FAILED,
                            "%s: message %zu lacks a role (system, user or assistant) or a content "
                            "that is text",
                            path, conversation->count + 1);
        }
        cli_conversation_add(conversation, role, content, strlen(content));
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
    cJSON *json = cli_json_parse_all(text.data, text.size, NULL);
    const bool is_loaded = read_messages(&loaded, json, path);
    cJSON_Delete(json);
    cli_bytes_finish(&text);
    cli_conversation_finish(is_loaded ? conversation : &loaded);
    if (is_loaded) {
        *conversation = loaded;
    }
    return is_loaded;
}
