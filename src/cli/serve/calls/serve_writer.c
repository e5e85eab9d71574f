#include "cli/serve/calls/serve_writer.h"

#include "cli/common/cli_json_read.h"

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
    cli_bytes_append(&writer->line, text, n < 0 ? 0 : strlen(text));
}

struct cli_bytes serve_writer_begin(struct serve_writer *writer)
{
    const struct cli_bytes outer = writer->line;
    writer->line = (struct cli_bytes){0};
    return outer;
}

void serve_writer_end(struct serve_writer *writer, struct cli_bytes outer)
{
    serve_writer_add(writer, "\n");
    cli_bytes_append(&writer->rules, writer->line.data, writer->line.size);
    cli_bytes_finish(&writer->line);
    writer->line = outer;
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
        cli_bytes_append(&writer->line, text + i, n);
        if (n == 0) {
            n = 1;
            serve_writer_add(writer, byte < 0x20 || byte == 0x7f ? "\\x%02X" : "\\%c", byte);
        }
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

// Appends a text as a literal, in which marks may also be the control tokens of their names.
static void write_text(struct serve_writer *writer, const char *text, size_t size)
{
    const struct serve_call_style *style = writer->style;
    for (size_t n; size > 0; text += n, size -= n) {
        const size_t mark = serve_measure_mark(style, text, size);
        n = mark;
        while (mark == 0 && n < size && serve_measure_mark(style, text + n, size - n) == 0) {
            n++;
        }
        const int32_t id = mark > 0 ? serve_find_mark(writer->tokenizer, text, mark) : -1;
        serve_writer_add(writer, id >= 0 ? "(\"" : "\"");
        serve_writer_escape(writer, text, n);
        if (id >= 0) {
            serve_writer_add(writer, "\" | <[%d]>) ", id);
        } else {
            serve_writer_add(writer, "\" ");
        }
    }
}

void serve_writer_text(struct serve_writer *writer, const char *text)
{
    write_text(writer, text, strlen(text));
}

void serve_writer_pattern(struct serve_writer *writer, const char *pattern)
{
    while (pattern && *pattern) {
        const size_t n = strcspn(pattern, "~");
        write_text(writer, pattern, n);
        serve_writer_add(writer, "%s", pattern[n] ? "ws " : "");
        pattern += n + (pattern[n] == '~');
    }
}

void serve_writer_alternatives(struct serve_writer *writer, const char *const *patterns)
{
    serve_writer_add(writer, "(");
    for (size_t i = 0; patterns[i]; i++) {
        serve_writer_add(writer, i > 0 ? "| " : "");
        serve_writer_pattern(writer, patterns[i][0] ? patterns[i] : NULL);
        serve_writer_add(writer, patterns[i][0] ? "" : "\"\" ");
    }
    serve_writer_add(writer, ") ");
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
        const cJSON *all = cli_json_get(parameters, names[i]);
        if (all && !cli_json_get(own, names[i])) {
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
