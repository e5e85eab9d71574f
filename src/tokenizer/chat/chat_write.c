#include "base/array.h"
#include "tokenizer/chat/chat_format.h"
#include "tokenizer/tokenizer_impl.h"

#include <assert.h>

//-- segments ----------------------------------------------------------------------------------

// A conversation while it is written; is_done becomes false if memory runs out.
struct script {
    const struct gi_tokenizer *tokenizer;
    const struct gi_chat_format *format;
    struct gi_segments *segments;
    bool is_done;
    struct glinfer_error *err;
};

static void add_segment(struct script *script, struct gi_text text, bool parse_special)
{
    script->is_done =
        script->is_done && GI_ARRAY_PUSH(script->segments, "a conversation", script->err,
                                         (struct gi_segment){text, parse_special, false});
}

static void add_token(struct script *script, int32_t id)
{
    bool is_first = script->segments->count == 0 && id == script->tokenizer->bos;
    if (id >= 0 && !(is_first && script->tokenizer->is_bos_added)) {
        add_segment(script, gi_text_list_at(&script->tokenizer->texts, (size_t)id), true);
    }
}

// Writes a string of the format.
static void add_string(struct script *script, const char *string)
{
    static const char marks[] = GI_CHAT_BOS GI_CHAT_EOS GI_CHAT_DATE;
    while (string && *string) {
        size_t size = strcspn(string, marks);
        if (size) {
            add_segment(script, (struct gi_text){string, size}, true);
        } else if (*string == GI_CHAT_DATE[0]) {
            add_segment(script, gi_text_of(script->tokenizer->chat.date), true);
        } else {
            add_token(script,
                      *string == GI_CHAT_BOS[0] ? script->tokenizer->bos : script->tokenizer->eos);
        }
        string += size ? size : 1;
    }
}

// Removes the white space at both ends of the segments from first on, taken as one text.
static void trim_segments(struct script *script, size_t first)
{
    bool is_blank = true;
    for (size_t i = first; is_blank && i < script->segments->count; i++) {
        struct gi_text *text = &script->segments->data[i].text;
        while (text->size && gi_is_white(text->data[0])) {
            *text = gi_text_from(*text, 1);
        }
        is_blank = !text->size;
    }
    is_blank = true;
    for (size_t i = script->segments->count; is_blank && i-- > first;) {
        struct gi_text *text = &script->segments->data[i].text;
        while (text->size && gi_is_white(text->data[text->size - 1])) {
            text->size--;
        }
        is_blank = !text->size;
    }
}

static void add_content(struct script *script, struct gi_text content, unsigned trim)
{
    size_t first = script->segments->count;
    add_segment(script, content, false);
    if (script->format->trims & trim) {
        trim_segments(script, first);
    }
}

//-- turns -------------------------------------------------------------------------------------

// Removes all text up to the last </think>; false if the text has no </think>.
static bool strip_thoughts(struct gi_text *content)
{
    static const char end[] = "</think>";
    const char *found;
    bool has_any = false;
    while ((found = gi_text_find(*content, end))) {
        *content = gi_text_from(*content, (size_t)(found - content->data) + strlen(end));
        has_any = true;
    }
    return has_any;
}

// Returns what an answer is once it is history.
static struct gi_text history_of(struct gi_text content, unsigned trims)
{
    bool is_stripped = (trims & GI_CHAT_TRIM_THINKING) && strip_thoughts(&content);
    if ((trims & GI_CHAT_TRIM_LINES) || ((trims & GI_CHAT_TRIM_THINKING_LINE) && is_stripped)) {
        while (content.size && content.data[0] == '\n') {
            content = gi_text_from(content, 1);
        }
    }
    return content;
}

// Writes the end of a turn, unless the model continues its content.
static void add_after(struct script *script, const struct gi_chat_turn *turn, bool is_open)
{
    if (!is_open) {
        add_string(script, turn->after);
    }
}

static void add_system(struct script *script, const struct gi_text *content, bool is_open)
{
    add_string(script, script->format->system.before);
    add_content(script, *content, GI_CHAT_TRIM_SYSTEM);
    add_after(script, &script->format->system, is_open);
}

// Writes a user's turn, with the system message in it unless that is NULL.
static void add_user(struct script *script, struct gi_text content, const struct gi_text *system,
                     bool is_open)
{
    add_string(script, script->format->user.before);
    size_t first = script->segments->count;
    if (system) {
        add_system(script, system, false);
    }
    add_content(script, content, GI_CHAT_TRIM_USER);
    if (script->format->trims & GI_CHAT_TRIM_USER_TURN) {
        trim_segments(script, first);
    }
    add_after(script, &script->format->user, is_open);
}

static bool is_role(const struct glinfer_message *message, const char *role)
{
    return strcmp(message->role, role) == 0;
}

static void add_turn(struct script *script, const struct glinfer_message *message,
                     const struct gi_text *system, bool is_open)
{
    struct gi_text content = gi_text_of(message->content);
    if (is_role(message, "user")) {
        add_user(script, content, system, is_open);
    } else if (is_role(message, "assistant")) {
        add_string(script, script->format->assistant.before);
        add_content(script, history_of(content, script->format->trims), GI_CHAT_TRIM_ASSISTANT);
        add_after(script, &script->format->assistant, is_open);
    } else {
        add_system(script, &content, is_open);
    }
}

static void add_conversation(struct script *script, const struct glinfer_message *messages,
                             size_t n_messages, enum glinfer_chat_end end)
{
    const struct gi_chat_format *format = script->format;
    assert(format);
    enum gi_chat_place place = format->place;
    const struct gi_chat *chat = &script->tokenizer->chat;
    bool is_given = n_messages && is_role(&messages[0], "system");
    struct gi_text system = is_given                   ? gi_text_of(messages[0].content)
                            : chat->has_default_system ? chat->default_system
                                                       : (struct gi_text){"", 0};
    bool has_system =
        is_given || (n_messages && chat->has_default_system) || format->has_empty_system;
    bool is_in_user = place == GI_CHAT_PLACE_FIRST_USER || place == GI_CHAT_PLACE_LAST_USER;
    bool is_waiting = has_system && is_in_user;
    add_string(script, format->begin);
    if (has_system && !is_in_user) {
        add_system(script, &system, false);
    }
    for (size_t i = is_given; i < n_messages; i++) {
        bool is_user = is_role(&messages[i], "user");
        bool is_here =
            is_waiting && is_user && (place == GI_CHAT_PLACE_FIRST_USER || i + 1 == n_messages);
        const bool is_open = end == GLINFER_CHAT_END_CONTINUE && i + 1 == n_messages;
        add_turn(script, &messages[i], is_here ? &system : NULL, is_open);
        is_waiting = is_waiting && !is_here;
    }
    add_string(script, end == GLINFER_CHAT_END_ANSWER ? format->answer : "");
}

bool gi_chat_write(const struct gi_tokenizer *tokenizer, const struct glinfer_message *messages,
                   size_t n_messages, enum glinfer_chat_end end, struct gi_segments *segments,
                   struct glinfer_error *err)
{
    struct script script = {tokenizer, tokenizer->chat.format, segments, true, err};
    add_conversation(&script, messages, n_messages, end);
    return script.is_done;
}
