#include "grammar/schema/json_schema.h"

#include "grammar/schema/schema_json.h"
#include "grammar/schema/schema_scalar.h"
#include "grammar/schema/schema_visit.h"

#include <stdlib.h>
#include <string.h>

static void write_root(struct gi_schema_writer *writer, const struct gi_schema_frame *frame,
                       uint32_t rule)
{
    if (!frame->before && !frame->after && frame->max_count < 2) {
        gi_schema_write(writer, "root ::= v%u\n", rule);
        return;
    }
    gi_schema_write(writer, "framed ::= (");
    gi_schema_write_literal(writer, frame->before ? frame->before : "");
    if (frame->token) {
        gi_schema_write(writer, " | <[%d]>", *frame->token);
    }
    gi_schema_write(writer, ") v%u ", rule);
    gi_schema_write_literal(writer, frame->after ? frame->after : "");
    gi_schema_write(writer, "\nroot ::= framed{1,%u}\n", frame->max_count ? frame->max_count : 1);
}

bool gi_json_schema_grammar(const char *text, size_t size, struct gi_schema_grammar *grammar,
                            struct glinfer_error *err)
{
    const struct gi_schema_frame none = {NULL, NULL, 0, NULL};
    return gi_json_schema_grammar_framed(text, size, &none, grammar, err);
}

// Gives the text away unless something failed.
static bool finish(struct gi_schema_writer *writer, struct gi_schema_grammar *grammar)
{
    const bool is_ok = !writer->has_failed;
    if (is_ok) {
        grammar->data = writer->text.data;
        grammar->size = writer->text.count;
        grammar->dead = writer->dead;
        writer->text.data = NULL;
    }
    gi_schema_writer_finish(writer);
    return is_ok;
}

bool gi_json_schema_grammar_framed(const char *text, size_t size,
                                   const struct gi_schema_frame *frame,
                                   struct gi_schema_grammar *grammar, struct glinfer_error *err)
{
    cJSON *root = gi_schema_read(text, size, err);
    if (!root) {
        return false;
    }
    struct gi_schema_writer writer = {.root = root, .err = err};
    gi_schema_write_shared(&writer);
    const uint32_t rule = gi_schema_visit(&writer);
    write_root(&writer, frame, rule);
    const bool is_ok = finish(&writer, grammar);
    cJSON_Delete(root);
    return is_ok;
}

bool gi_json_schema_rules(const char *gbnf, const char *const *schemas, size_t n, bool is_lenient,
                          struct gi_schema_grammar *grammar, struct glinfer_error *err)
{
    struct gi_schema_writer writer = {.err = err, .is_lenient = is_lenient};
    gi_schema_write(&writer, "%s\n", gbnf);
    gi_schema_write_shared(&writer);
    for (size_t i = 0; i < n && !writer.has_failed; i++) {
        cJSON *root = gi_schema_read(schemas[i], strlen(schemas[i]), err);
        if (!root) {
            writer.has_failed = true;
            break;
        }
        writer.root = root;
        writer.place = NULL;
        const uint32_t rule = gi_schema_visit(&writer);
        gi_schema_write(&writer, "json-%zu ::= v%u\n", i + 1, rule);
        writer.root = NULL;
        cJSON_Delete(root);
    }
    return finish(&writer, grammar);
}

struct gi_grammar *gi_schema_grammar_create(const struct gi_schema_grammar *text,
                                            const struct gi_grammar_names *names,
                                            struct glinfer_error *err)
{
    struct glinfer_error why = {0};
    struct gi_grammar *grammar = gi_grammar_create(text->data, text->size, names, &why);
    if (!grammar && strstr(why.message, "never ends")) {
        gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "%s",
                     text->dead.message[0] ? text->dead.message
                                           : "JSON schema: every value that it allows has another "
                                             "one within, without an end");
    } else if (!grammar) {
        gi_error_set(err, why.status, "%s", why.message);
    }
    return grammar;
}
