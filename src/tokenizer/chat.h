// Chat templates: which one a file's Jinja text is, and a conversation written in it. The Jinja
// text is not run; it is recognised by what it contains, and the formats are a table in
// chat_format.c.
#ifndef GI_TOKENIZER_CHAT_H
#define GI_TOKENIZER_CHAT_H

#include "tokenizer/tokenizer.h"

struct gi_chat_format;

struct gi_chat {
    const struct gi_chat_format *format; // NULL: no template, or one that is not recognised
    bool has_template;
    bool has_default_system;
    struct gi_text default_system; // what stands for a missing system message; owned
    char date[64];                 // of the day the format was chosen; empty where it has none
};

// Recognises the Jinja text of a file; an empty one is none. Fails with NO_MEMORY.
bool gi_chat_init(struct gi_chat *chat, struct gi_text jinja, struct glinfer_error *err);
void gi_chat_finish(struct gi_chat *chat);
// Takes the format of that name; nothing is left of the file's own, if that is another. Fails with
// INVALID_ARGUMENT (names all).
bool gi_chat_choose(struct gi_chat *chat, const char *name, struct glinfer_error *err);
// The format's name, "none" or "unknown".
const char *gi_chat_name(const struct gi_chat *chat);

#endif
