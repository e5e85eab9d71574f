// Writes rules of the grammar of calls: texts with their marks, values by schemas. A rule may be
// begun while another one is written.
#pragma once

#include "cli/serve/calls/serve_styles.h"
#include "cli/serve/schedule/serve_task.h"

struct serve_writer {
    const struct glinfer_tokenizer *tokenizer;
    const struct serve_call_style *style;
    struct cli_bytes rules, line; // the complete rules, and the one in progress
    struct serve_task *task;      // gets the schemas
    size_t schemas_size;          // bytes of these
    size_t n_rules;               // rules with a number
    bool is_full;                 // one more schema did not fit
};

// Begins a rule and returns the one that was being written; the other completes the new rule and
// resumes that one.
struct cli_bytes serve_writer_begin(struct serve_writer *writer);
void serve_writer_end(struct serve_writer *writer, struct cli_bytes outer);

// Appends formatted text of at most 127 bytes.
void serve_writer_add(struct serve_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Appends UTF-8 as it stands in a literal or a class.
void serve_writer_escape(struct serve_writer *writer, const char *text, size_t size);
// Appends a text as a literal, in which marks may also be the control tokens of their names.
void serve_writer_text(struct serve_writer *writer, const char *text);
// Appends a text of the style, in which '~' is any white space; NULL: nothing.
void serve_writer_pattern(struct serve_writer *writer, const char *pattern);
// Appends patterns as alternatives; the list ends with NULL.
void serve_writer_alternatives(struct serve_writer *writer, const char *const *patterns);
// Gives the grammar a schema, with the definitions that parameters have, and appends the name of
// its rule.
void serve_writer_json(struct serve_writer *writer, const cJSON *schema, const cJSON *parameters);

// Returns the id of the control token of a name, -1 if the vocabulary has none.
int32_t serve_find_mark(const struct glinfer_tokenizer *tokenizer, const char *name, size_t size);
