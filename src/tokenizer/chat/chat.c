#include "tokenizer/chat/chat.h"

#include "jinja/jinja.h"
#include "jinja/jinja_date.h"
#include "tokenizer/array.h"
#include "tokenizer/chat/chat_format.h"
#include "tokenizer/chat/chat_template.h"
#include "tokenizer/chat/jinja_text.h"
#include "tokenizer/tokenizer_impl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_SYSTEM_MAX 65536
#define WHITE_SPACE        " \t\n\v\f\r"

static const char *const chat_roles[] = {"system", "user", "assistant"};

#define N_CHAT_ROLES (sizeof(chat_roles) / sizeof(chat_roles[0]))

static struct gi_text text_of(const char *string)
{
    return (struct gi_text){string, string ? strlen(string) : 0};
}

//-- recognise ---------------------------------------------------------------------------------

static bool is_format(const struct gi_chat_format *format, struct gi_text jinja)
{
    for (size_t i = 0; i < GI_CHAT_TELLS_MAX; i++) {
        if (format->tells[i] && !gi_text_find(jinja, format->tells[i])) {
            return false;
        }
        if (format->denials[i] && gi_text_find(jinja, format->denials[i])) {
            return false;
        }
    }
    return true;
}

static const struct gi_chat_format *find_format(struct gi_text jinja)
{
    const struct gi_chat_format *format;
    for (size_t f = 0; (format = gi_chat_format_at(f)); f++) {
        if (is_format(format, jinja)) {
            return format;
        }
    }
    return NULL;
}

// Steps over a newline as it stands in Jinja, bare or escaped.
static bool skip_newline(struct gi_text *text)
{
    size_t size = text->size && text->data[0] == '\n'                   ? 1
                  : text->size > 1 && memcmp(text->data, "\\n", 2) == 0 ? 2
                                                                        : 0;
    *text = gi_text_after(*text, text->data + size);
    return size != 0;
}

// The next constant system turn in jinja. What is put together from pieces has a quote or a brace
// in it and is not constant.
static bool find_constant_turn(const struct gi_chat_format *format, struct gi_text *jinja,
                               struct gi_text *content)
{
    struct gi_text before = text_of(format->system.before);
    before.size = strcspn(before.data, "\n");
    const char *begin = memmem(jinja->data, jinja->size, before.data, before.size);
    if (!begin) {
        *jinja = (struct gi_text){NULL, 0};
        return false;
    }
    *jinja = gi_text_after(*jinja, begin + before.size);
    struct gi_text rest = *jinja;
    if (!skip_newline(&rest)) {
        return false;
    }
    size_t end_size = strcspn(format->system.after, "\n");
    const char *end =
        rest.size ? memmem(rest.data, rest.size, format->system.after, end_size) : NULL;
    *content = (struct gi_text){rest.data, end ? (size_t)(end - rest.data) : 0};
    return end && !memchr(content->data, '\'', content->size) &&
           !memchr(content->data, '"', content->size) && !memchr(content->data, '{', content->size);
}

// Copies a constant of Jinja, with its escaped newlines made bare.
static bool copy_constant(struct gi_text *copy, struct gi_text constant, struct glinfer_error *err)
{
    char *data = gi_array_zeroed(constant.size, 1, "a chat template", err);
    if (!data) {
        return false;
    }
    size_t n = 0;
    while (constant.size) {
        if (skip_newline(&constant)) {
            data[n++] = '\n';
        } else {
            data[n++] = constant.data[0];
            constant = gi_text_after(constant, constant.data + 1);
        }
    }
    *copy = (struct gi_text){data, n};
    return true;
}

static bool read_constant_system(struct gi_chat *chat, struct gi_text jinja,
                                 struct glinfer_error *err)
{
    while (jinja.size && !chat->has_default_system) {
        struct gi_text content;
        chat->has_default_system = find_constant_turn(chat->format, &jinja, &content);
        if (chat->has_default_system && !copy_constant(&chat->default_system, content, err)) {
            return false;
        }
    }
    return true;
}

// Evaluates the expression that holds the mark: it begins where the mark's own literal does.
static bool evaluate_at(struct gi_text jinja, const char *mark, char *out, size_t capacity,
                        size_t *size)
{
    const char *found = gi_text_find(jinja, mark);
    const char *quote = strchr(mark, '"');
    size_t skipped = quote ? (size_t)(quote - mark) : strlen(mark);
    return found && gi_jinja_text_evaluate(jinja, gi_text_after(jinja, found + skipped), out,
                                           capacity, size);
}

// A format that has marks is unknown where they hold no constants.
static bool read_marked_system(struct gi_chat *chat, struct gi_text jinja,
                               struct glinfer_error *err)
{
    char *data = gi_array_zeroed(DEFAULT_SYSTEM_MAX, 1, "a chat template", err);
    if (!data) {
        return false;
    }
    size_t size = 0;
    bool is_read = true;
    for (size_t i = 0; is_read && i < GI_CHAT_MARKS_MAX && chat->format->default_marks[i]; i++) {
        is_read =
            evaluate_at(jinja, chat->format->default_marks[i], data, DEFAULT_SYSTEM_MAX, &size);
    }
    chat->default_system = (struct gi_text){data, size};
    chat->has_default_system = is_read;
    chat->format = is_read ? chat->format : NULL;
    return true;
}

static void set_format(struct gi_chat *chat, const struct gi_chat_format *format)
{
    chat->format = format;
    if (format && format->date_format) {
        gi_jinja_today(format->date_format, chat->date, sizeof(chat->date));
    }
}

bool gi_chat_init(struct gi_chat *chat, struct gi_text jinja, struct glinfer_error *err)
{
    chat->has_template = jinja.size != 0;
    set_format(chat, find_format(jinja));
    if (chat->format && chat->format->default_marks[0]) {
        return read_marked_system(chat, jinja, err);
    }
    return !chat->format || !chat->format->has_constant_system ||
           read_constant_system(chat, jinja, err);
}

void gi_chat_finish(struct gi_chat *chat)
{
    free((char *)chat->default_system.data);
    gi_jinja_destroy(chat->jinja);
    memset(chat, 0, sizeof(*chat));
}

const char *gi_chat_name(const struct gi_chat *chat)
{
    return chat->format         ? chat->format->name
           : chat->jinja        ? "jinja"
           : chat->has_template ? "unknown"
                                : "none";
}

//-- choose ------------------------------------------------------------------------------------

const char *gi_tokenizer_template_at(size_t index)
{
    const struct gi_chat_format *format = gi_chat_format_at(index);
    return format ? format->name : NULL;
}

static void list_names(char *names, size_t size)
{
    size_t n = 0;
    names[0] = 0;
    for (size_t i = 0; gi_tokenizer_template_at(i) && n < size; i++) {
        n += (size_t)snprintf(names + n, size - n, "%s%s", i ? ", " : "",
                              gi_tokenizer_template_at(i));
    }
}

bool gi_chat_choose(struct gi_chat *chat, const char *name, struct glinfer_error *err)
{
    size_t i = 0;
    while (gi_tokenizer_template_at(i) && strcmp(gi_tokenizer_template_at(i), name) != 0) {
        i++;
    }
    const struct gi_chat_format *format = gi_chat_format_at(i);
    if (!format) {
        char names[512];
        list_names(names, sizeof(names));
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "no chat template is called '%.64s'; these are: %s", name, names);
    }
    if (format != chat->format) {
        gi_chat_finish(chat);
        set_format(chat, format);
    }
    chat->has_template = true;
    return true;
}

bool gi_tokenizer_set_template(struct gi_tokenizer *tokenizer, const char *name,
                               struct glinfer_error *err)
{
    return gi_chat_choose(&tokenizer->chat, name, err);
}

//-- segments ----------------------------------------------------------------------------------

// A conversation while it is written; is_done turns false when memory ends.
struct script {
    const struct gi_tokenizer *tokenizer;
    const struct gi_chat_format *format;
    struct gi_segment *data;
    size_t count, capacity;
    bool is_done;
    struct glinfer_error *err;
};

static void add_segment(struct script *script, struct gi_text text, bool parse_special)
{
    struct gi_segment *data =
        !script->is_done ? NULL
                         : gi_array_grow(script->data, &script->capacity, script->count + 1,
                                         sizeof(*data), "a conversation", script->err);
    script->is_done = data;
    if (data) {
        script->data = data;
        data[script->count++] = (struct gi_segment){text, parse_special};
    }
}

static void add_token(struct script *script, int32_t id)
{
    bool is_first = script->count == 0 && id == script->tokenizer->bos;
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
            add_segment(script, text_of(script->tokenizer->chat.date), true);
        } else {
            add_token(script,
                      *string == GI_CHAT_BOS[0] ? script->tokenizer->bos : script->tokenizer->eos);
        }
        string += size ? size : 1;
    }
}

static bool is_white(char byte)
{
    return byte && strchr(WHITE_SPACE, byte);
}

// Takes the white space away that the segments from first on begin and end with.
static void trim_segments(struct script *script, size_t first)
{
    bool is_blank = true;
    for (size_t i = first; is_blank && i < script->count; i++) {
        struct gi_text *text = &script->data[i].text;
        while (text->size && is_white(text->data[0])) {
            *text = gi_text_after(*text, text->data + 1);
        }
        is_blank = !text->size;
    }
    is_blank = true;
    for (size_t i = script->count; is_blank && i-- > first;) {
        struct gi_text *text = &script->data[i].text;
        while (text->size && is_white(text->data[text->size - 1])) {
            text->size--;
        }
        is_blank = !text->size;
    }
}

static void add_content(struct script *script, struct gi_text content, unsigned trim)
{
    size_t first = script->count;
    add_segment(script, content, false);
    if (script->format->trims & trim) {
        trim_segments(script, first);
    }
}

//-- turns -------------------------------------------------------------------------------------

static bool has_thoughts(struct gi_text *content)
{
    static const char end[] = "</think>";
    const char *found;
    bool has_any = false;
    while ((found = gi_text_find(*content, end))) {
        *content = gi_text_after(*content, found + strlen(end));
        has_any = true;
    }
    return has_any;
}

static struct gi_text strip_thoughts(struct gi_text content, unsigned trims)
{
    bool is_stripped = (trims & GI_CHAT_TRIM_THINKING) && has_thoughts(&content);
    if ((trims & GI_CHAT_TRIM_LINES) || ((trims & GI_CHAT_TRIM_THINKING_LINE) && is_stripped)) {
        while (content.size && content.data[0] == '\n') {
            content = gi_text_after(content, content.data + 1);
        }
    }
    return content;
}

static void add_system(struct script *script, const struct gi_text *content)
{
    add_string(script, script->format->system.before);
    add_content(script, *content, GI_CHAT_TRIM_SYSTEM);
    add_string(script, script->format->system.after);
}

// system: NULL unless it is written within this turn.
static void add_user(struct script *script, struct gi_text content, const struct gi_text *system)
{
    add_string(script, script->format->user.before);
    size_t first = script->count;
    if (system) {
        add_system(script, system);
    }
    add_content(script, content, GI_CHAT_TRIM_USER);
    if (script->format->trims & GI_CHAT_TRIM_USER_TURN) {
        trim_segments(script, first);
    }
    add_string(script, script->format->user.after);
}

static void add_assistant(struct script *script, struct gi_text content)
{
    add_string(script, script->format->assistant.before);
    add_content(script, strip_thoughts(content, script->format->trims), GI_CHAT_TRIM_ASSISTANT);
    add_string(script, script->format->assistant.after);
}

static bool is_role(const struct glinfer_message *message, const char *role)
{
    return strcmp(message->role, role) == 0;
}

// The system message that comes first, or what stands for a missing one; false: there is none.
static bool find_system(const struct gi_chat *chat, const struct glinfer_message *messages,
                        size_t n_messages, struct gi_text *system)
{
    bool is_given = n_messages && is_role(&messages[0], "system");
    *system = is_given                   ? text_of(messages[0].content)
              : chat->has_default_system ? chat->default_system
                                         : (struct gi_text){"", 0};
    return is_given || (n_messages && chat->has_default_system) || chat->format->has_empty_system;
}

static void add_turn(struct script *script, const struct glinfer_message *message,
                     const struct gi_text *system)
{
    struct gi_text content = text_of(message->content);
    if (is_role(message, "user")) {
        add_user(script, content, system);
    } else if (is_role(message, "assistant")) {
        add_assistant(script, content);
    } else {
        add_system(script, &content);
    }
}

static void add_conversation(struct script *script, const struct glinfer_message *messages,
                             size_t n_messages)
{
    const struct gi_chat_format *format = script->format;
    assert(format);
    enum gi_chat_place place = format->place;
    struct gi_text system;
    bool has_system = find_system(&script->tokenizer->chat, messages, n_messages, &system);
    bool is_in_user = place == GI_CHAT_PLACE_FIRST_USER || place == GI_CHAT_PLACE_LAST_USER;
    bool is_waiting = has_system && is_in_user;
    add_string(script, format->begin);
    if (has_system && !is_in_user) {
        add_system(script, &system);
    }
    for (size_t i = n_messages && is_role(&messages[0], "system"); i < n_messages; i++) {
        bool is_user = is_role(&messages[i], "user");
        bool is_here =
            is_waiting && is_user && (place == GI_CHAT_PLACE_FIRST_USER || i + 1 == n_messages);
        add_turn(script, &messages[i], is_here ? &system : NULL);
        is_waiting = is_waiting && !is_here;
    }
    add_string(script, format->answer);
}

//-- encode ------------------------------------------------------------------------------------

static bool is_known_role(const char *role)
{
    for (size_t i = 0; role && i < N_CHAT_ROLES; i++) {
        if (strcmp(role, chat_roles[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool refuse_missing_template(const struct gi_chat *chat, struct glinfer_error *err)
{
    char names[512];
    list_names(names, sizeof(names));
    return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "%s%s%s; prompts can be given as plain text, or one of these be chosen: %s",
                        chat->has_template ? "the model's chat template is not one that is known"
                                           : "the model has no chat template",
                        chat->fault[0] ? ", and cannot be run: " : "", chat->fault, names);
}

static bool check_conversation(const struct gi_chat *chat, const struct glinfer_message *messages,
                               size_t n_messages, struct glinfer_error *err)
{
    if (!chat->format && !chat->jinja) {
        return refuse_missing_template(chat, err);
    }
    for (size_t i = 0; i < n_messages; i++) {
        const char *role = messages[i].role;
        if (!is_known_role(role)) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "message %zu has the role '%s'; the chat template %s knows system, "
                                "user and assistant",
                                i, role ? role : "", gi_chat_name(chat));
        }
    }
    return true;
}

static bool check_places(const struct gi_chat *chat, const struct glinfer_message *messages,
                         size_t n_messages, struct glinfer_error *err)
{
    for (size_t i = 0; i < n_messages; i++) {
        const char *role = messages[i].role;
        if (i && chat->format->place != GI_CHAT_PLACE_TURN && strcmp(role, "system") == 0) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "message %zu has the role 'system'; the chat template %s has a "
                                "place for it only in front of all others",
                                i, chat->format->name);
        }
    }
    return true;
}

bool gi_chat_write(const struct gi_tokenizer *tokenizer, const struct glinfer_message *messages,
                   size_t n_messages, struct gi_segment **segments, size_t *n_segments,
                   struct glinfer_error *err)
{
    struct script script = {
        .tokenizer = tokenizer, .format = tokenizer->chat.format, .is_done = true, .err = err};
    add_conversation(&script, messages, n_messages);
    *segments = script.data;
    *n_segments = script.count;
    return script.is_done;
}

static bool encode_format(const struct gi_tokenizer *tokenizer,
                          const struct glinfer_message *messages, size_t n_messages,
                          struct gi_ids *ids, struct glinfer_error *err)
{
    struct gi_segment *segments = NULL;
    size_t n_segments = 0;
    bool is_done =
        check_places(&tokenizer->chat, messages, n_messages, err) &&
        gi_chat_write(tokenizer, messages, n_messages, &segments, &n_segments, err) &&
        gi_tokenizer_encode_segments(tokenizer, segments, n_segments, true, false, ids, err);
    free(segments);
    return is_done;
}

// The file's own template writes what it takes; the format it was recognised as writes the rest.
bool gi_tokenizer_encode_chat(const struct gi_tokenizer *tokenizer,
                              const struct glinfer_message *messages, size_t n_messages,
                              struct gi_ids *ids, struct glinfer_error *err)
{
    const struct gi_chat *chat = &tokenizer->chat;
    struct glinfer_error own = {0};
    if (!check_conversation(chat, messages, n_messages, err)) {
        return false;
    }
    if (!chat->jinja) {
        return encode_format(tokenizer, messages, n_messages, ids, err);
    }
    if (gi_chat_template_encode(tokenizer, messages, n_messages, ids, &own)) {
        return true;
    }
    if (own.status == GLINFER_STATUS_INVALID_ARGUMENT && chat->format) {
        return encode_format(tokenizer, messages, n_messages, ids, err);
    }
    return gi_error_set(err, own.status, "%s", own.message);
}
