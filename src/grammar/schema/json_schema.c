#include "grammar/schema/json_schema.h"

#include "base/array.h"
#include "grammar/gbnf/grammar_reader.h"
#include "grammar/schema/schema_scalar.h"
#include "grammar/schema/schema_visit.h"

#include <string.h>

enum { MAX_SIZE = 1 << 20 };

static bool fail_text(struct glinfer_error *err, size_t at, const char *what)
{
    return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "JSON schema, byte %zu: %s", at,
                        what);
}

// Refuses what the reader of JSON would cut or pass on.
static bool check_text(const char *text, size_t size, struct glinfer_error *err)
{
    struct gi_reader reader = {.text = text, .size = size};
    if (size > MAX_SIZE) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the JSON schema has %zu bytes, more than %d", size, MAX_SIZE);
    }
    while (reader.at < size) {
        uint32_t code;
        if (gi_reader_take(&reader, "\\u0000")) {
            return fail_text(err, reader.at, "the character \\u0000 is not supported");
        }
        if (gi_reader_peek(&reader) == 0 || !gi_reader_take_utf8(&reader, &code)) {
            return fail_text(err, reader.at, "these bytes are not UTF-8 text");
        }
    }
    return true;
}

static cJSON *parse(const char *text, size_t size, struct glinfer_error *err)
{
    const char *end = text;
    if (!check_text(text, size, err)) {
        return NULL;
    }
    cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, false);
    if (!root) {
        fail_text(err, (size_t)(end - text), "this is not JSON");
        return NULL;
    }
    for (; end < text + size; end++) {
        if (!strchr(" \t\r\n", *end)) {
            fail_text(err, (size_t)(end - text), "something follows the schema");
            cJSON_Delete(root);
            return NULL;
        }
    }
    return root;
}

static void write_root(struct gi_schema_writer *writer, const struct gi_schema_frame *frame)
{
    if (!frame->before && !frame->after && frame->max_count < 2) {
        gi_schema_write(writer, "root ::= v1\n");
        return;
    }
    gi_schema_write(writer, "framed ::= (");
    gi_schema_write_literal(writer, frame->before ? frame->before : "");
    if (frame->token) {
        gi_schema_write(writer, " | <[%d]>", *frame->token);
    }
    gi_schema_write(writer, ") v1 ");
    gi_schema_write_literal(writer, frame->after ? frame->after : "");
    gi_schema_write(writer, "\nroot ::= framed{1,%u}\n", frame->max_count ? frame->max_count : 1);
}

bool gi_json_schema_grammar(const char *text, size_t size, struct gi_schema_grammar *grammar,
                            struct glinfer_error *err)
{
    const struct gi_schema_frame none = {NULL, NULL, 0, NULL};
    return gi_json_schema_grammar_framed(text, size, &none, grammar, err);
}

// Writes the rules of the writer's schema; returns the number of the first, after a failure any.
static uint32_t write_schema(struct gi_schema_writer *writer)
{
    // A $ref to the whole leads to the rule that comes next.
    const struct gi_schema_target whole = {writer->root, writer->n_rules + 1};
    if (!GI_ARRAY_PUSH(&writer->targets, "a schema", writer->err, whole)) {
        writer->has_failed = true;
        return GI_SCHEMA_NO_RULE;
    }
    gi_schema_visit(writer, writer->root);
    return whole.rule;
}

// Gives the text away unless something failed.
static bool finish(struct gi_schema_writer *writer, struct gi_schema_grammar *grammar)
{
    const bool is_ok = !writer->has_failed;
    if (is_ok) {
        grammar->data = writer->text.data;
        grammar->size = writer->text.count;
        writer->text.data = NULL;
    }
    gi_schema_writer_finish(writer);
    return is_ok;
}

bool gi_json_schema_grammar_framed(const char *text, size_t size,
                                   const struct gi_schema_frame *frame,
                                   struct gi_schema_grammar *grammar, struct glinfer_error *err)
{
    cJSON *root = parse(text, size, err);
    if (!root) {
        return false;
    }
    struct gi_schema_writer writer = {.root = root, .err = err};
    write_root(&writer, frame);
    gi_schema_write_shared(&writer);
    write_schema(&writer);
    const bool is_ok = finish(&writer, grammar);
    cJSON_Delete(root);
    return is_ok;
}

bool gi_json_schema_rules(const char *gbnf, const char *const *schemas, size_t n,
                          struct gi_schema_grammar *grammar, struct glinfer_error *err)
{
    struct gi_schema_writer writer = {.err = err};
    gi_schema_write(&writer, "%s\n", gbnf);
    gi_schema_write_shared(&writer);
    for (size_t i = 0; i < n && !writer.has_failed; i++) {
        cJSON *root = parse(schemas[i], strlen(schemas[i]), err);
        if (!root) {
            writer.has_failed = true;
            break;
        }
        writer.root = root;
        writer.targets.count = 0;
        const uint32_t rule = write_schema(&writer);
        gi_schema_write(&writer, "json-%zu ::= v%u\n", i + 1, rule);
        cJSON_Delete(root);
    }
    return finish(&writer, grammar);
}
