#include "cli/serve/calls/serve_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Bytes of all schemas, to which each brings the definitions it refers to.
enum { MAX_SCHEMAS = 4 << 20 };

//-- text ------------------------------------------------------------------------------------------

void serve_writer_add(struct serve_writer *writer, const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    cli_bytes_append(&writer->text, text, n < 0 ? 0 : strlen(text));
}

static bool is_escaped(unsigned char byte)
{
    return byte < 0x20 || byte == 0x7f || strchr("\"\\[]-", byte);
}

void serve_writer_escape(struct serve_writer *writer, const char *text, size_t size)
{
    for (size_t i = 0, n; i < size; i += n) {
        const unsigned char byte = (unsigned char)text[i];
        n = 0;
        while (i + n < size && !is_escaped((unsigned char)text[i + n])) {
            n++;
        }
        cli_bytes_append(&writer->text, text + i, n);
        if (n == 0) {
            n = 1;
            serve_writer_add(writer, byte < 0x20 || byte == 0x7f ? "\\x%02X" : "\\%c", byte);
        }
    }
}

void serve_writer_rules_of_entry(struct serve_writer *writer, const char *rest, const char *entry,
                                 size_t list, size_t i, bool is_needed, const char *separator)
{
    for (int k = 0; k < 2; k++) {
        serve_writer_add(writer, "\n%s-%zu-%zu-%d ::= ", rest, list, i, k);
        if (k) {
            serve_writer_add(writer, "\"%s\" ", separator);
        }
        serve_writer_add(writer, "%s-%zu-%zu %s-%zu-%zu-1", entry, list, i, rest, list, i + 1);
        if (!is_needed) {
            serve_writer_add(writer, " | %s-%zu-%zu-%d", rest, list, i + 1, k);
        }
    }
    serve_writer_add(writer, "\n");
}

void serve_writer_rules_of_end(struct serve_writer *writer, const char *rest, size_t list, size_t n)
{
    for (int k = 0; k < 2; k++) {
        serve_writer_add(writer, "%s-%zu-%zu-%d ::= \"\"\n", rest, list, n, k);
    }
}

int32_t serve_find_mark(const struct glinfer_tokenizer *tokenizer, const char *name, size_t size)
{
    int32_t id = -1;
    size_t n = 0, name_size = 0;
    const bool is_one =
        glinfer_tokenize(tokenizer, name, size, GLINFER_TOKENIZE_NO_BOS, &id, 1, &n, NULL) &&
        n == 1;
    const char *own = is_one ? glinfer_token_bytes(tokenizer, id, &name_size) : NULL;
    return own && name_size == size && memcmp(own, name, size) == 0 ? id : -1;
}

void serve_writer_text(struct serve_writer *writer, const char *text)
{
    const struct serve_call_style *style = writer->style;
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        const size_t mark = serve_measure_mark(style, text, left);
        n = mark;
        while (mark == 0 && n < left && serve_measure_mark(style, text + n, left - n) == 0) {
            n++;
        }
        const int32_t id = mark > 0 ? serve_find_mark(writer->tokenizer, text, mark) : -1;
        serve_writer_add(writer, "%s", id >= 0 ? "(\"" : "\"");
        serve_writer_escape(writer, text, n);
        if (id >= 0) {
            serve_writer_add(writer, "\" | <[%d]>)", id);
        } else {
            serve_writer_add(writer, "\"");
        }
        serve_writer_add(writer, " ");
    }
}

//-- values ----------------------------------------------------------------------------------------

// Returns a schema as JSON, with the definitions that it may refer to. The caller frees it with
// cJSON_free; NULL: no memory.
static char *print_schema(const cJSON *schema, const cJSON *parameters)
{
    static const char *const names[] = {"$defs", "definitions"};
    cJSON *own = cJSON_IsObject(schema) ? cJSON_Duplicate(schema, 1) : cJSON_CreateObject();
    char *text = cJSON_PrintUnformatted(own);
    bool is_more = false;
    for (size_t i = 0; i < 2 && text && strstr(text, "\"$ref\""); i++) {
        const cJSON *all = cJSON_GetObjectItemCaseSensitive(parameters, names[i]);
        if (all && !cJSON_GetObjectItemCaseSensitive(own, names[i])) {
            cJSON_AddItemToObject(own, names[i], cJSON_Duplicate(all, 1));
            is_more = true;
        }
    }
    if (is_more) {
        cJSON_free(text);
        text = cJSON_PrintUnformatted(own);
    }
    cJSON_Delete(own);
    return text;
}

void serve_writer_json(struct serve_writer *writer, const cJSON *schema, const cJSON *parameters)
{
    char *text = writer->is_full ? NULL : print_schema(schema, parameters);
    const size_t size = text ? strlen(text) : 0;
    writer->is_full = !text || size > MAX_SCHEMAS - writer->schemas_size;
    if (writer->is_full) {
        cJSON_free(text);
        return;
    }
    writer->schemas_size += size;
    *CLI_APPEND(&writer->task->schemas) = text;
    serve_writer_add(writer, "json-%zu ", writer->task->schemas.count);
}

bool serve_writer_choices(struct serve_writer *writer, const cJSON *schema, const char *first,
                          const char *quote)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(schema, "enum"), *item;
    const cJSON *constant = cJSON_GetObjectItemCaseSensitive(schema, "const");
    bool is_choice = false;
    list = cJSON_IsArray(list) ? list : NULL;
    for (item = list ? list->child : constant; item; item = list ? item->next : NULL) {
        is_choice = is_choice || cJSON_IsString(item);
        if (cJSON_IsString(item) && !(quote[0] && strpbrk(item->valuestring, "\\'\n\r"))) {
            serve_writer_add(writer, "%s\"%s", first, quote);
            serve_writer_escape(writer, item->valuestring, strlen(item->valuestring));
            serve_writer_add(writer, "%s\" ", quote);
            first = "| ";
        }
    }
    return is_choice;
}

void serve_writer_rules_of_text(struct serve_writer *writer, const char *end)
{
    const size_t n = strlen(end);
    for (size_t i = 0; i < n; i++) {
        serve_writer_add(writer, "text-%zu ::= ", i);
        if (i > 0 && i + 1 < n) {
            serve_writer_add(writer, "\"");
            serve_writer_escape(writer, end + i, 1);
            serve_writer_add(writer, "\" text-%zu | ", i + 1);
        }
        serve_writer_add(writer, "\"");
        serve_writer_escape(writer, end, 1);
        serve_writer_add(writer, "\" text-%d | [^", n > 1 ? 1 : 0);
        serve_writer_escape(writer, end, 1);
        if (i > 0) {
            serve_writer_escape(writer, end + i, 1);
        }
        serve_writer_add(writer, "] text-0 | \"\"\n");
    }
}

void serve_writer_constant(struct serve_writer *writer, const char *text)
{
    cJSON *string = cJSON_CreateString(text);
    char *json = cJSON_PrintUnformatted(string);
    serve_writer_add(writer, "\"");
    serve_writer_escape(writer, json ? json : "", json ? strlen(json) : 0);
    serve_writer_add(writer, "\" ");
    cJSON_free(json);
    cJSON_Delete(string);
}
