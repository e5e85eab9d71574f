#include "tokenizer/chat.h"

#include "tokenizer/array.h"
#include "tokenizer/tokenizer_impl.h"

#include <stdlib.h>

#define TELLS_MAX 3

// A turn is: before_role, the role, after_role, the content, after_content. An answer begins with
// before_role, "assistant", after_role.
struct gi_chat_format {
    const char *name;
    const char *tells[TELLS_MAX];   // a Jinja text that has all of these is in this format,
    const char *denials[TELLS_MAX]; // unless it has one of these
    const char *before_role, *after_role, *after_content;
};

// The first that fits is taken. ChatML is denied to SmolLM3, which puts the date and more into the
// system message, and to templates that are made for tools alone.
static const struct gi_chat_format chat_formats[] = {
    {.name = "chatml",
     .tells = {"<|im_start|>", "<|im_end|>"},
     .denials = {"## Metadata", "You are a function calling AI model"},
     .before_role = "<|im_start|>",
     .after_role = "\n",
     .after_content = "<|im_end|>\n"},
};

#define N_CHAT_FORMATS (sizeof(chat_formats) / sizeof(chat_formats[0]))

static const char *const chat_roles[] = {"system", "user", "assistant"};

#define N_CHAT_ROLES (sizeof(chat_roles) / sizeof(chat_roles[0]))

static struct gi_text text_of(const char *string)
{
    return (struct gi_text){string, strlen(string)};
}

//-- recognise ---------------------------------------------------------------------------------

static const char *find_in(struct gi_text text, const char *what)
{
    return text.size ? memmem(text.data, text.size, what, strlen(what)) : NULL;
}

static bool is_format(const struct gi_chat_format *format, struct gi_text jinja)
{
    for (size_t i = 0; i < TELLS_MAX; i++) {
        if (format->tells[i] && !find_in(jinja, format->tells[i])) {
            return false;
        }
        if (format->denials[i] && find_in(jinja, format->denials[i])) {
            return false;
        }
    }
    return true;
}

static const struct gi_chat_format *find_format(struct gi_text jinja)
{
    for (size_t f = 0; f < N_CHAT_FORMATS; f++) {
        if (is_format(&chat_formats[f], jinja)) {
            return &chat_formats[f];
        }
    }
    return NULL;
}

static struct gi_text text_after(struct gi_text text, const char *position)
{
    return (struct gi_text){position, text.size - (size_t)(position - text.data)};
}

// Steps over a newline as it stands in Jinja, bare or escaped.
static bool skip_newline(struct gi_text *text)
{
    size_t size = text->size && text->data[0] == '\n'                   ? 1
                  : text->size > 1 && memcmp(text->data, "\\n", 2) == 0 ? 2
                                                                        : 0;
    *text = text_after(*text, text->data + size);
    return size != 0;
}

// The next constant system turn in jinja: before_role "system" newline text after_content. What is
// put together from pieces has a quote or a brace in it and is not constant.
static bool find_constant_turn(const struct gi_chat_format *format, struct gi_text *jinja,
                               struct gi_text *content)
{
    const char *begin = find_in(*jinja, format->before_role);
    if (!begin) {
        *jinja = (struct gi_text){NULL, 0};
        return false;
    }
    *jinja = text_after(*jinja, begin + strlen(format->before_role));
    size_t role_size = strlen("system");
    if (jinja->size < role_size || memcmp(jinja->data, "system", role_size) != 0) {
        return false;
    }
    struct gi_text rest = text_after(*jinja, jinja->data + role_size);
    if (!skip_newline(&rest)) {
        return false;
    }
    size_t end_size = strcspn(format->after_content, "\n");
    const char *end =
        rest.size ? memmem(rest.data, rest.size, format->after_content, end_size) : NULL;
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
            constant = text_after(constant, constant.data + 1);
        }
    }
    *copy = (struct gi_text){data, n};
    return true;
}

bool gi_chat_init(struct gi_chat *chat, struct gi_text jinja, struct glinfer_error *err)
{
    chat->has_template = jinja.size != 0;
    chat->format = find_format(jinja);
    while (chat->format && jinja.size && !chat->has_default_system) {
        struct gi_text content;
        chat->has_default_system = find_constant_turn(chat->format, &jinja, &content);
        if (chat->has_default_system && !copy_constant(&chat->default_system, content, err)) {
            return false;
        }
    }
    return true;
}

void gi_chat_finish(struct gi_chat *chat)
{
    free((char *)chat->default_system.data);
    memset(chat, 0, sizeof(*chat));
}

const char *gi_chat_name(const struct gi_chat *chat)
{
    return chat->format ? chat->format->name : chat->has_template ? "unknown" : "none";
}

//-- encode ------------------------------------------------------------------------------------

struct segments {
    struct gi_segment *data;
    size_t count;
};

// Segments of a turn, all but the content the template's own.
#define SEGMENTS_A_TURN 5

static void add_segment(struct segments *segments, struct gi_text text, bool parse_special)
{
    segments->data[segments->count++] = (struct gi_segment){text, parse_special};
}

static void begin_turn(struct segments *segments, const struct gi_chat_format *format,
                       const char *role)
{
    add_segment(segments, text_of(format->before_role), true);
    add_segment(segments, text_of(role), true);
    add_segment(segments, text_of(format->after_role), true);
}

static void add_turn(struct segments *segments, const struct gi_chat_format *format,
                     const char *role, struct gi_text content)
{
    begin_turn(segments, format, role);
    add_segment(segments, content, false);
    add_segment(segments, text_of(format->after_content), true);
}

static bool is_role(const char *role)
{
    for (size_t i = 0; role && i < N_CHAT_ROLES; i++) {
        if (strcmp(role, chat_roles[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool check_conversation(const struct gi_chat *chat, const struct glinfer_message *messages,
                               size_t n_messages, struct glinfer_error *err)
{
    if (!chat->format) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            chat->has_template
                                ? "the model's chat template is not one that is known (chatml); "
                                  "prompts can be given as plain text"
                                : "the model has no chat template; prompts can be given as plain "
                                  "text");
    }
    for (size_t i = 0; i < n_messages; i++) {
        if (!is_role(messages[i].role)) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "message %zu has the role '%s'; the chat template %s knows system, "
                                "user and assistant",
                                i, messages[i].role ? messages[i].role : "", chat->format->name);
        }
    }
    return true;
}

static void add_conversation(struct segments *segments, const struct gi_chat *chat,
                             const struct glinfer_message *messages, size_t n_messages)
{
    if (n_messages && chat->has_default_system && strcmp(messages[0].role, "system") != 0) {
        add_turn(segments, chat->format, "system", chat->default_system);
    }
    for (size_t i = 0; i < n_messages; i++) {
        const char *content = messages[i].content ? messages[i].content : "";
        add_turn(segments, chat->format, messages[i].role, text_of(content));
    }
    begin_turn(segments, chat->format, "assistant");
}

bool gi_tokenizer_encode_chat(const struct gi_tokenizer *tokenizer,
                              const struct glinfer_message *messages, size_t n_messages,
                              struct gi_ids *ids, struct glinfer_error *err)
{
    if (!check_conversation(&tokenizer->chat, messages, n_messages, err)) {
        return false;
    }
    struct segments segments = {0};
    if (n_messages > SIZE_MAX / SEGMENTS_A_TURN - 2) {
        return gi_error_no_memory(err, n_messages, "a conversation");
    }
    segments.data = gi_array_zeroed((n_messages + 2) * SEGMENTS_A_TURN, sizeof(*segments.data),
                                    "a conversation", err);
    if (!segments.data) {
        return false;
    }
    add_conversation(&segments, &tokenizer->chat, messages, n_messages);
    bool is_done = gi_tokenizer_encode_segments(tokenizer, segments.data, segments.count, true,
                                                false, ids, err);
    free(segments.data);
    return is_done;
}
