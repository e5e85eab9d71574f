#include "grammar/schema/schema_compiler.h"

#include "grammar/schema/schema_json.h"
#include "grammar/schema/schema_refs.h"
#include "grammar/schema/schema_set.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char purpose[] = "a schema's grammar";

void gi_schema_compiler_finish(struct gi_schema_compiler *c)
{
    gi_schema_free_automata(c);
    gi_schema_memo_destroy(c->memo);
    gi_schema_index_destroy(c->index);
    gi_builder_finish(&c->build);
    memset(c, 0, sizeof(*c));
}

//-- failures --------------------------------------------------------------------------------------

static void fail_at(const struct gi_schema_compiler *c, struct glinfer_error *err,
                    const char *format, va_list args)
{
    char text[600], path[400];
    vsnprintf(text, sizeof(text), format, args);
    gi_schema_path(c->root, c->place, path, sizeof(path));
    gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "JSON schema, #%s: %s", path, text);
    for (char *at = err ? err->message : NULL; at && *at; at++) {
        *at = (uint8_t)*at < 0x20 ? ' ' : *at; // of names
    }
}

void gi_schema_refuse(struct gi_schema_compiler *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!c->build.has_failed && !c->is_lenient) {
        c->build.has_failed = true;
        fail_at(c, c->build.err, format, args);
    }
    va_end(args);
}

void gi_schema_stop(struct gi_schema_compiler *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!c->build.has_failed) {
        c->build.has_failed = true;
        fail_at(c, c->build.err, format, args);
    }
    va_end(args);
}

void gi_schema_note_dead(struct gi_schema_compiler *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!c->dead.message[0]) {
        fail_at(c, &c->dead, format, args);
    }
    va_end(args);
}

void gi_schema_no_memory(struct gi_schema_compiler *c)
{
    if (!c->build.has_failed) {
        c->build.has_failed = true;
        gi_error_no_memory(c->build.err, 0, purpose);
    }
}

void *gi_schema_zeroed(struct gi_schema_compiler *c, size_t count, size_t size)
{
    struct glinfer_error *err = c->build.err;
    void *data = c->build.has_failed ? NULL : gi_array_zeroed(count, size, purpose, err);
    gi_schema_note(c, data != NULL);
    return data;
}

//-- nodes -----------------------------------------------------------------------------------------

uint32_t gi_schema_build_text(struct gi_schema_compiler *c, const char *text, uint32_t next)
{
    return gi_build_text(&c->build, text, strlen(text), next);
}

uint32_t gi_schema_build_shared(struct gi_schema_compiler *c, enum gi_schema_rule rule,
                                uint32_t next)
{
    return gi_build_call(&c->build, c->shared[rule], next);
}

uint32_t gi_schema_build_comma(struct gi_schema_compiler *c, uint32_t next)
{
    return gi_schema_build_text(c, ",", gi_schema_build_shared(c, GI_RULE_WS, next));
}

uint32_t gi_schema_build_value(struct gi_schema_compiler *c, uint32_t rule, uint32_t next)
{
    return gi_build_call(&c->build, rule, gi_schema_build_shared(c, GI_RULE_WS, next));
}
