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
    struct gi_jinja *jinja;              // NULL: it cannot be run, or is not the file's; owned
    char fault[256];                     // why the file's cannot be run, if so
    bool has_template;
    bool has_default_system;
    struct gi_text default_system; // stands for a missing system message; owned
    char date[64];                 // of the day the format was chosen, if it writes one
};

// Recognises the Jinja text of a file; an empty text counts as missing.
void gi_chat_init(struct gi_chat *chat, struct gi_text jinja);
void gi_chat_finish(struct gi_chat *chat);
