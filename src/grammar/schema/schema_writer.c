#include "grammar/schema/schema_writer.h"

#include "base/array.h"
#include "grammar/schema/schema_json.h"
#include "grammar/schema/schema_number.h"
#include "grammar/schema/schema_refs.h"
#include "grammar/schema/schema_set.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RULES = 100000, MAX_TEXT = 4 << 20 };

static const char purpose[] = "a schema's grammar";

void gi_schema_writer_finish(struct gi_schema_writer *writer)
{
    gi_schema_free_automata(writer);
    gi_schema_memo_destroy(writer->memo);
    gi_schema_index_destroy(writer->index);
    free(writer->text.data);
    memset(writer, 0, sizeof(*writer));
}

//-- failures --------------------------------------------------------------------------------------

static void fail_at(const struct gi_schema_writer *writer, struct glinfer_error *err,
                    const char *format, va_list args)
{
    char text[600], path[400];
    vsnprintf(text, sizeof(text), format, args);
    gi_schema_path(writer->root, writer->place, path, sizeof(path));
    gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "JSON schema, #%s: %s", path, text);
    for (char *at = err ? err->message : NULL; at && *at; at++) {
        *at = (uint8_t)*at < 0x20 ? ' ' : *at; // of names
    }
}

void gi_schema_refuse(struct gi_schema_writer *writer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!writer->has_failed && !writer->is_lenient) {
        writer->has_failed = true;
        fail_at(writer, writer->err, format, args);
    }
    va_end(args);
}

void gi_schema_stop(struct gi_schema_writer *writer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!writer->has_failed) {
        writer->has_failed = true;
        fail_at(writer, writer->err, format, args);
    }
    va_end(args);
}

void gi_schema_note_dead(struct gi_schema_writer *writer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!writer->dead.message[0]) {
        fail_at(writer, &writer->dead, format, args);
    }
    va_end(args);
}

void gi_schema_no_memory(struct gi_schema_writer *writer)
{
    if (!writer->has_failed) {
        writer->has_failed = true;
        gi_error_no_memory(writer->err, writer->text.count, purpose);
    }
}

//-- text ------------------------------------------------------------------------------------------

static bool reserve(struct gi_schema_writer *writer, size_t more)
{
    if (writer->has_failed) {
        return false;
    }
    if (writer->text.count + more > MAX_TEXT) {
        gi_schema_stop(writer, "the schema's grammar would have more than %d bytes", MAX_TEXT);
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
    if (code < 0x20 || code == 0x7f || (code > 0x7f && code < 0xa0) || code == '^') {
        gi_schema_write(writer, "\\x%02X", code); // ^ would negate a class that begins with it
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
        gi_schema_stop(writer, "the schema's grammar would have more than %d rules", MAX_RULES);
        return GI_SCHEMA_NO_RULE;
    }
    return ++writer->n_rules;
}

//-- keywords --------------------------------------------------------------------------------------

const cJSON *gi_schema_get(const cJSON *schema, const char *keyword)
{
    return cJSON_GetObjectItemCaseSensitive(schema, keyword);
}

uint32_t gi_schema_count(struct gi_schema_writer *writer, const cJSON *item, uint32_t absent)
{
    struct gi_decimal value;
    if (!item) {
        return absent;
    }
    if (!gi_schema_is_number(item) || !gi_decimal_read(item->valuestring, &value) ||
        value.is_negative || !gi_decimal_is_whole(&value)) {
        writer->place = item;
        gi_schema_refuse(writer, "this is not a whole number from 0 on");
        return absent;
    }
    uint32_t count = 0;
    for (int i = 0; i < value.point; i++) {
        if (count > UINT32_MAX / 10 - 1) {
            return UINT32_MAX;
        }
        count = count * 10 + (i < value.n ? (uint32_t)(value.digits[i] - '0') : 0);
    }
    return count;
}
