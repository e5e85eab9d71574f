// Chat templates: which one a file's Jinja text is, and a conversation written in it. The text is
// run if that can be done (chat_template.c). It is also recognised by what it contains, as one of
// the formats of the table in chat_format.c. A format gives the template its name, writes what the
// template itself refuses (a system message in Gemma's), and what a user chose by name.
#pragma once

#include "tokenizer/tokenizer.h"

struct gi_chat_format;
struct gi_jinja;

struct gi_chat {
    const struct gi_chat_format *format; // NULL: no template, or one that is not recognised
    struct gi_jinja *plain;              // writes the format; NULL without one; owned
    struct gi_jinja *jinja; // the file's; NULL: it cannot be run, or is not used; owned
    char answer[64];        // begins an answer, if the file's template forgets to
    char fault[256];        // why the file's cannot be run, if so
    char *source;           // Jinja text of the file, or of the user; NULL: none; owned
    bool has_template;
};

// Recognises the Jinja text of a file and tries it; an empty text counts as missing. Called last
// when a tokenizer is built. Fails with NO_MEMORY.
bool gi_chat_init(struct gi_tokenizer *tokenizer, struct gi_text jinja, struct glinfer_error *err);
void gi_chat_finish(struct gi_chat *chat);
