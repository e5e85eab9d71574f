// Runs the template language in which model files say how a conversation is written: as much of
// Jinja as chat templates use, as their makers run it (trim_blocks, lstrip_blocks). A template
// comes from a file and is not trusted: nesting, steps and memory are bounded, and all it can do is
// write text. Plain C, no GL.
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

// A template that was read. Immutable; borrows nothing.
struct gi_jinja;

// Reads a template of size bytes. Fails with UNSUPPORTED (what is not known, and the line) and
// NO_MEMORY. Freed with gi_jinja_destroy, which accepts NULL.
struct gi_jinja *gi_jinja_create(const char *text, size_t size, struct glinfer_error *err);
void gi_jinja_destroy(struct gi_jinja *jinja);

// The input of a template. It is also given no documents, and the date: date_string, as 05 Dec
// 2026, and datetime, as Dec 05 2026, and functions, the text of json_tools, unless json_variables
// has them.
struct gi_jinja_input {
    const struct glinfer_message *messages;
    size_t n_messages;
    // JSON texts, or NULL: an array in place of messages, an array of tools, an object of further
    // variables.
    const char *json_messages, *json_tools, *json_variables;
    const char *bos, *eos; // the texts of these tokens, not terminated
    size_t bos_size, eos_size;
    bool has_no_answer; // the template does not begin the assistant's answer
};

// The text that a template writes. is_data[i] is 1 if byte i is from the content of a message.
struct gi_jinja_output {
    char *data;
    uint8_t *is_data;
    size_t size;
};

// Writes a conversation. Fails with INVALID_ARGUMENT where the template itself refuses it (in its
// words) or JSON is wrong, UNSUPPORTED (what it asks for is not known, or takes too long),
// NO_MEMORY. On success the output is freed with gi_jinja_output_finish.
bool gi_jinja_render(const struct gi_jinja *jinja, const struct gi_jinja_input *input,
                     struct gi_jinja_output *output, struct glinfer_error *err);
void gi_jinja_output_finish(struct gi_jinja_output *output);
