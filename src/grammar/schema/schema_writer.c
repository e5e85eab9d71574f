#include "grammar/schema/schema_writer.h"

#include "base/array.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RULES = 50000, MAX_TEXT = 4 << 20 };

static const char purpose[] = "a schema's grammar";

void gi_schema_writer_finish(struct gi_schema_writer *writer)
{
    for (size_t i = 0; i < writer->merged.count; i++) {
        cJSON_Delete(writer->merged.data[i]);
    }
    free(writer->merged.data);
    free(writer->targets.data);
    free(writer->text.data);
    memset(writer, 0, sizeof(*writer));
}

//-- failures --------------------------------------------------------------------------------------

void gi_schema_refuse(struct gi_schema_writer *writer, const char *format, ...)
{
    if (writer->has_failed) {
        return;
    }
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    writer->has_failed = true;
    gi_error_set(writer->err, GLINFER_STATUS_UNSUPPORTED, "JSON schema, #%.*s: %s",
                 (int)(writer->path_size < sizeof(writer->path) ? writer->path_size
                                                                : sizeof(writer->path) - 1),
                 writer->path, text);
}

void gi_schema_no_memory(struct gi_schema_writer *writer)
{
    if (!writer->has_failed) {
        writer->has_failed = true;
        gi_error_no_memory(writer->err, writer->text.count, purpose);
    }
}

size_t gi_schema_enter(struct gi_schema_writer *writer, const char *keyword, const char *name)
{
    const size_t before = writer->path_size;
    if (before < sizeof(writer->path)) {
        const int n = snprintf(writer->path + before, sizeof(writer->path) - before, "/%s%s%s",
                               keyword, name ? "/" : "", name ? name : "");
        writer->path_size += n > 0 ? (size_t)n : 0;
    }
    return before;
}

void gi_schema_leave(struct gi_schema_writer *writer, size_t path_size)
{
    writer->path_size = path_size;
}

//-- text ------------------------------------------------------------------------------------------

static bool reserve(struct gi_schema_writer *writer, size_t more)
{
    if (writer->has_failed) {
        return false;
    }
    if (writer->text.count + more > MAX_TEXT) {
        gi_schema_refuse(writer, "the schema's grammar would have more than %d bytes", MAX_TEXT);
        return false;
    }
    if (!GI_ARRAY_RESERVE(&writer->text, writer->text.count + more, purpose, writer->err)) {
        writer->has_failed = true;
        return false;
    }
    return true;
}

void gi_schema_write(struct gi_schema_writer *writer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    if (n > 0 && reserve(writer, (size_t)n + 1)) {
        vsnprintf(writer->text.data + writer->text.count, (size_t)n + 1, format, again);
        writer->text.count += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void gi_schema_write_char(struct gi_schema_writer *writer, uint32_t code)
{
    if (code < 0x20 || code == 0x7f || (code > 0x7f && code < 0xa0)) {
        gi_schema_write(writer, "\\x%02X", code);
    } else if (code > 0x7f) {
        gi_schema_write(writer, "\\U%08X", code);
    } else {
        gi_schema_write(writer, "%s%c", strchr("\"\\[]-", (int)code) ? "\\" : "", (char)code);
    }
}

void gi_schema_write_literal(struct gi_schema_writer *writer, const char *text)
{
    gi_schema_write(writer, "\"");
    for (; *text && !writer->has_failed; text++) {
        const uint8_t byte = (uint8_t)*text;
        if (byte < 0x80) {
            gi_schema_write_char(writer, byte);
        } else {
            gi_schema_write(writer, "%c", *text);
        }
    }
    gi_schema_write(writer, "\"");
}

uint32_t gi_schema_new_rule(struct gi_schema_writer *writer)
{
    if (writer->n_rules == MAX_RULES) {
        gi_schema_refuse(writer, "the schema's grammar would have more than %d rules", MAX_RULES);
        return GI_SCHEMA_NO_RULE;
    }
    return ++writer->n_rules;
}

//-- keywords --------------------------------------------------------------------------------------

const cJSON *gi_schema_get(const cJSON *schema, const char *keyword)
{
    return cJSON_GetObjectItemCaseSensitive(schema, keyword);
}

uint32_t gi_schema_count(struct gi_schema_writer *writer, const cJSON *schema, const char *keyword,
                         uint32_t absent)
{
    const cJSON *item = gi_schema_get(schema, keyword);
    if (!item) {
        return absent;
    }
    const double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(value >= 0) || value != floor(value)) {
        gi_schema_refuse(writer, "'%s' is not a whole number from 0 on", keyword);
        return 0;
    }
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}
