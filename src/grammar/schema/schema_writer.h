// The grammar of a schema while it is written: its text, the place in the schema for errors, and
// the first failure, after which all calls do nothing. Inner to src/grammar.
#ifndef GI_GRAMMAR_SCHEMA_SCHEMA_WRITER_H
#define GI_GRAMMAR_SCHEMA_SCHEMA_WRITER_H

#include "base/error.h"

#include <cJSON.h>
#include <stddef.h>
#include <stdint.h>

#define GI_SCHEMA_MAX_COUNT 10000 // of a repetition
#define GI_SCHEMA_NO_RULE   0     // rules are numbered from 1

struct gi_schema_target {
    const cJSON *schema;
    uint32_t rule;
};

struct gi_schema_writer {
    struct {
        char *data;
        size_t count, capacity;
    } text;
    const cJSON *root; // borrowed
    uint32_t n_rules;
    int depth;
    bool has_failed;
    struct glinfer_error *err;
    char path[512]; // of the schema that is read; cut where it is longer
    size_t path_size;
    struct {
        struct gi_schema_target *data; // what $ref led to, with its rule
        size_t count, capacity;
    } targets;
    struct {
        cJSON **data; // schemas that were merged; owned
        size_t count, capacity;
    } merged;
};

void gi_schema_writer_finish(struct gi_schema_writer *writer);

// Writes text as printf makes it.
void gi_schema_write(struct gi_schema_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Writes a literal of the bytes of text, UTF-8.
void gi_schema_write_literal(struct gi_schema_writer *writer, const char *text);
// Writes a character as it stands in literals and classes.
void gi_schema_write_char(struct gi_schema_writer *writer, uint32_t code);

// Returns the number of a new rule, vN.
uint32_t gi_schema_new_rule(struct gi_schema_writer *writer);

// Fails with UNSUPPORTED: the path, and a sentence as printf makes it. The first failure counts.
void gi_schema_refuse(struct gi_schema_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gi_schema_no_memory(struct gi_schema_writer *writer);

// Goes down to a keyword, and a name or an index below it if it is not NULL; returns what to go up
// to.
size_t gi_schema_enter(struct gi_schema_writer *writer, const char *keyword, const char *name);
void gi_schema_leave(struct gi_schema_writer *writer, size_t path_size);

// Returns a keyword's value, NULL if it is not there.
const cJSON *gi_schema_get(const cJSON *schema, const char *keyword);
// Returns a keyword's count, `absent` if it is not there. Refuses what is no whole number from 0
// on.
uint32_t gi_schema_count(struct gi_schema_writer *writer, const cJSON *schema, const char *keyword,
                         uint32_t absent);

#endif
