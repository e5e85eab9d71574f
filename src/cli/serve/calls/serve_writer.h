// Writes rules of the grammar of calls: texts with their marks, values by schemas.
#ifndef SERVE_WRITER_H
#define SERVE_WRITER_H

#include "cli/serve/calls/serve_calls.h"
#include "cli/serve/schedule/serve_task.h"

struct serve_writer {
    const struct glinfer_tokenizer *tokenizer;
    const struct serve_call_style *style;
    struct cli_bytes text;
    struct serve_task *task; // gets the schemas
    size_t schemas_size;     // bytes of these
    size_t n_rules;          // of values, which have numbers
    bool is_full;            // one more schema did not fit
};

// Appends what a format makes, at most 127 bytes.
void serve_writer_add(struct serve_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Appends bytes of UTF-8 as they stand in a literal or a class.
void serve_writer_escape(struct serve_writer *writer, const char *text, size_t size);
// Appends a text, in which marks may also be the control tokens of their names.
void serve_writer_text(struct serve_writer *writer, const char *text);
// Appends a text as JSON has it.
void serve_writer_constant(struct serve_writer *writer, const char *text);
// Gives the grammar a schema, with the definitions that parameters have, and appends its rule's
// name.
void serve_writer_json(struct serve_writer *writer, const cJSON *schema, const cJSON *parameters);
// Appends the choices of a text as alternatives in quotes, with `first` in front; false if the
// schema has none. Those that quotes would have to escape are left out.
bool serve_writer_choices(struct serve_writer *writer, const cJSON *schema, const char *first,
                          const char *quote);
// Appends the rules of texts that do not contain `end`, whose first byte comes in it once: the rule
// `text-I` is what may follow behind its first I bytes.
void serve_writer_rules_of_text(struct serve_writer *writer, const char *end);

// Ends the rule of entry I of a list of names and values, ENTRY-LIST-I, and writes the rules
// REST-LIST-I-0 and REST-LIST-I-1: what may stand from it on after none, and after others, which
// the separator divides. An entry that is not needed may be left out.
void serve_writer_rules_of_entry(struct serve_writer *writer, const char *rest, const char *entry,
                                 size_t list, size_t i, bool is_needed, const char *separator);
// Writes the rules behind the last of n entries, of which nothing is left.
void serve_writer_rules_of_end(struct serve_writer *writer, const char *rest, size_t list,
                               size_t n);

// Returns the id of the control token of a name, -1 if the vocabulary has none.
int32_t serve_find_mark(const struct glinfer_tokenizer *tokenizer, const char *name, size_t size);

#endif
