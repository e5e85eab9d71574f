// The grammar of a schema while it is built: the place in the schema for errors, and the builder
// with the first failure, after which all calls do nothing. Inner to src/grammar.
#pragma once

#include "base/array.h"
#include "grammar/gbnf/grammar_builder.h"

#include <cJSON.h>
#include <stddef.h>
#include <stdint.h>

#define GI_SCHEMA_MAX_COUNT 10000 // of a repetition

// The rules that all schemas share, by their names in schema_scalar.c.
enum gi_schema_rule {
    GI_RULE_WS,
    GI_RULE_VALUE,
    GI_RULE_OBJECT,
    GI_RULE_ARRAY,
    GI_RULE_STRING,
    GI_RULE_CHAR,
    GI_RULE_NUMBER,
    GI_RULE_INTEGER,
    GI_N_SHARED_RULES,
};

struct gi_dfa;
struct gi_schema_memo;
struct gi_schema_index;

struct gi_schema_compiler {
    struct gi_builder build;
    uint32_t shared[GI_N_SHARED_RULES]; // indices in the grammar
    const cJSON *root;         // borrowed; numbers are of the type cJSON_Raw, with their text
    const cJSON *place;        // the value that is read, for messages; within root, or NULL
    uint32_t max_states;       // of an automaton that is only tried; 0: as many as there may be
    uint32_t value_depth;      // of constants that are looked into
    uint32_t work, n_looks;    // work so far, which is limited
    bool has_cycle;            // a $ref of the set that is written leads back to it
    bool is_lenient;           // leaves unsupported keywords out instead of refusing them
    struct glinfer_error dead; // why the first schema that allows nothing does so
    struct {
        struct gi_dfa **data; // owned
        size_t count, capacity;
    } automata;
    struct gi_schema_memo *memo;   // rules of sets of schemas; owned
    struct gi_schema_index *index; // where $ref leads to; owned
};

void gi_schema_compiler_finish(struct gi_schema_compiler *c);
void gi_schema_free_automata(struct gi_schema_compiler *c);

// Builds a string literal.
uint32_t gi_schema_build_text(struct gi_schema_compiler *c, const char *text, uint32_t next);
// Builds a call of a shared rule.
uint32_t gi_schema_build_shared(struct gi_schema_compiler *c, enum gi_schema_rule rule,
                                uint32_t next);
// Builds a comma between members or items.
uint32_t gi_schema_build_comma(struct gi_schema_compiler *c, uint32_t next);
// Builds a call of the rule of a value and the white space after it.
uint32_t gi_schema_build_value(struct gi_schema_compiler *c, uint32_t rule, uint32_t next);

// Refuses something at the compiler's place: fails with UNSUPPORTED, the path and a sentence as
// printf makes it; the first failure counts. If the compiler is lenient nothing fails, and the
// caller goes on without what it read.
void gi_schema_refuse(struct gi_schema_compiler *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Fails with UNSUPPORTED even if the compiler is lenient: the schema is too large.
void gi_schema_stop(struct gi_schema_compiler *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Notes that nothing satisfies the schema at the compiler's place, which fails only if the whole
// schema depends on it.
void gi_schema_note_dead(struct gi_schema_compiler *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gi_schema_no_memory(struct gi_schema_compiler *c);

// Returns zeroed memory, NULL after a failure.
void *gi_schema_zeroed(struct gi_schema_compiler *c, size_t count, size_t size);
// Makes room in an array, or appends an element; false after a failure.
#define GI_SCHEMA_RESERVE(c, array, needed)                                                        \
    gi_schema_note(c, GI_ARRAY_RESERVE(array, needed, "a schema", (c)->build.err))
#define GI_SCHEMA_PUSH(c, array, ...)                                                              \
    (GI_SCHEMA_RESERVE(c, array, (array)->count + 1) &&                                            \
     ((array)->data[(array)->count++] = (__VA_ARGS__), true))
// Notes whether an allocation succeeded; false after a failure.
static inline bool gi_schema_note(struct gi_schema_compiler *c, bool is_ok)
{
    c->build.has_failed |= !is_ok;
    return !c->build.has_failed;
}
