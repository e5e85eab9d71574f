#include "tokenizer/chat/chat_template.h"

#include "base/array.h"
#include "jinja/jinja.h"
#include "tokenizer/chat/chat_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gi_text token_text(const struct gi_tokenizer *tokenizer, int32_t id)
{
    return id >= 0 ? gi_text_list_at(&tokenizer->texts, (size_t)id) : (struct gi_text){"", 0};
}

static bool render_input(const struct gi_tokenizer *tokenizer, struct gi_jinja_input input,
                         struct gi_jinja_output *output, struct glinfer_error *err)
{
    const struct gi_text bos = token_text(tokenizer, tokenizer->bos);
    const struct gi_text eos = token_text(tokenizer, tokenizer->eos);
    input.bos = bos.data;
    input.eos = eos.data;
    input.bos_size = bos.size;
    input.eos_size = eos.size;
    return gi_jinja_render(tokenizer->chat.jinja, &input, output, err);
}

static bool render(const struct gi_tokenizer *tokenizer, const struct glinfer_message *messages,
                   size_t n_messages, struct gi_jinja_output *output, struct glinfer_error *err)
{
    const struct gi_jinja_input input = {.messages = messages, .n_messages = n_messages};
    return render_input(tokenizer, input, output, err);
}

//-- trials ----------------------------------------------------------------------------------------

// Conversations that templates are tried with.
#define ANSWER "second"
static const struct glinfer_message talk[] = {
    {"user", "first"}, {"assistant", ANSWER}, {"user", "third"}};
static const struct glinfer_message told_talk[] = {
    {"system", "zeroth"}, {"user", "first"}, {"assistant", ANSWER}, {"user", "third"}};

// Returns true if the template writes the content of a user's message.
static bool is_sound(const struct gi_tokenizer *tokenizer, struct gi_jinja_output *question,
                     struct glinfer_error *err)
{
    if (!render(tokenizer, talk, 1, question, err)) {
        return false;
    }
    size_t n_data = 0;
    for (size_t i = 0; i < question->size; i++) {
        n_data += question->is_data[i];
    }
    return n_data >= strlen(talk[0].content) ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "it does not write the user's message");
}

// Returns true if the first n segments make up the text.
static bool is_same(const struct gi_segments *segments, size_t n, struct gi_text text)
{
    for (size_t i = 0; i < n; i++) {
        if (!gi_text_begins(text, segments->data[i].text)) {
            return false;
        }
        text = gi_text_from(text, segments->data[i].text.size);
    }
    return text.size == 0;
}

// Returns an output without the BOS token that encoding puts in front.
static struct gi_text skip_bos(const struct gi_tokenizer *tokenizer,
                               const struct gi_jinja_output *output)
{
    const struct gi_text text = {output->data, output->size};
    const struct gi_text bos = token_text(tokenizer, tokenizer->bos);
    const bool is_there =
        tokenizer->is_bos_added && bos.size && gi_text_begins(text, bos) && !output->is_data[0];
    return gi_text_from(text, is_there ? bos.size : 0);
}

// Says how what a format writes compares with what the template does.
enum likeness {
    LIKENESS_NONE,
    LIKENESS_WHOLE,
    LIKENESS_BUT_ANSWER, // the template leaves out what an answer begins with
};

// Compares an output, what the template writes of the messages, with what the format does.
// LIKENESS_WHOLE without output, because the template does not accept such a conversation.
static enum likeness compare(const struct gi_tokenizer *tokenizer,
                             const struct gi_jinja_output *output,
                             const struct glinfer_message *messages, size_t n_messages)
{
    struct gi_segments segments = {0};
    if (!output->data) {
        return LIKENESS_WHOLE;
    }
    const struct gi_text text = skip_bos(tokenizer, output);
    enum likeness likeness = LIKENESS_NONE;
    if (gi_chat_write(tokenizer, messages, n_messages, GLINFER_CHAT_END_ANSWER, &segments, NULL)) {
        const size_t n = segments.count;
        likeness = is_same(&segments, n, text)                ? LIKENESS_WHOLE
                   : n > 1 && is_same(&segments, n - 1, text) ? LIKENESS_BUT_ANSWER
                                                              : LIKENESS_NONE;
    }
    free(segments.data);
    return likeness;
}

static enum likeness compare_told(const struct gi_tokenizer *tokenizer, size_t n_messages)
{
    struct gi_jinja_output output = {0};
    render(tokenizer, told_talk, n_messages, &output, NULL);
    const enum likeness likeness = compare(tokenizer, &output, told_talk, n_messages);
    gi_jinja_output_finish(&output);
    return likeness;
}

//-- the default system message --------------------------------------------------------------------

// Sets the default system message to the n bytes that an output has where the format writes one.
// False if the format then writes something else.
static bool try_default_system(struct gi_tokenizer *tokenizer,
                               const struct gi_jinja_output *question, size_t begin, size_t size)
{
    const struct gi_text text = skip_bos(tokenizer, question);
    tokenizer->chat.default_system = (struct gi_text){text.data + begin, size};
    return begin + size <= text.size && compare(tokenizer, question, talk, 1) != LIKENESS_NONE;
}

// Finds what a template writes of a question in place of a system message. The format is written
// with a mark for it, so that the sizes of the text before it, after it and in its place are known.
static bool find_default_system(struct gi_tokenizer *tokenizer,
                                const struct gi_jinja_output *question)
{
    static const char mark[] = "?";
    const size_t size = skip_bos(tokenizer, question).size;
    struct gi_segments segments = {0};
    size_t begin = 0, rest = 0, answer = 0;
    tokenizer->chat.default_system = gi_text_of(mark);
    bool is_behind = false;
    const bool is_written =
        gi_chat_write(tokenizer, talk, 1, GLINFER_CHAT_END_ANSWER, &segments, NULL);
    for (size_t i = 0; is_written && i < segments.count; i++) {
        const struct gi_text text = segments.data[i].text;
        const bool is_mark = text.data == mark;
        *(is_behind ? &rest : &begin) += is_mark ? 0 : text.size;
        is_behind = is_behind || is_mark;
        answer = text.size; // of the last
    }
    free(segments.data);
    const size_t known = begin + rest;
    return is_behind &&
           ((known <= size && try_default_system(tokenizer, question, begin, size - known)) ||
            (known - answer <= size &&
             try_default_system(tokenizer, question, begin, size - (known - answer))));
}

static bool learn_default_system(struct gi_tokenizer *tokenizer,
                                 const struct gi_jinja_output *question, struct glinfer_error *err)
{
    struct gi_chat *chat = &tokenizer->chat;
    if (!chat->format || chat->format->default_system == GI_CHAT_DEFAULT_NEVER ||
        compare(tokenizer, question, talk, 1) != LIKENESS_NONE) {
        return true;
    }
    chat->has_default_system = true; // while it is looked for
    chat->has_default_system = find_default_system(tokenizer, question);
    const struct gi_text found = chat->default_system;
    chat->default_system = (struct gi_text){NULL, 0};
    if (!chat->has_default_system) {
        return true;
    }
    char *copy = gi_array_zeroed(found.size, 1, "a chat template", err);
    if (copy && found.size) {
        memcpy(copy, found.data, found.size);
    }
    chat->default_system = (struct gi_text){copy, copy ? found.size : 0};
    return copy;
}

//-- the end of an answer --------------------------------------------------------------------------

// Returns the longest control token that the text begins with; GI_NO_TOKEN if it begins with
// other text.
static int32_t control_at(const struct gi_tokenizer *tokenizer, struct gi_text text)
{
    int32_t found = GI_NO_TOKEN;
    size_t longest = 0;
    for (size_t i = 0; i < tokenizer->texts.count; i++) {
        const struct gi_text token = gi_text_list_at(&tokenizer->texts, i);
        if (tokenizer->types[i] == GI_TOKEN_TYPE_CONTROL && token.size > longest &&
            gi_text_begins(text, token)) {
            longest = token.size;
            found = (int32_t)i;
        }
    }
    return found;
}

// Adds the token that the template writes after an answer, because files name few of the tokens
// that end one.
static void add_end_of_answer(struct gi_tokenizer *tokenizer, const struct gi_jinja_output *whole)
{
    if (!whole->data) {
        return;
    }
    const struct gi_text text = {whole->data, whole->size};
    const char *found = gi_text_find(text, ANSWER);
    size_t end = found ? (size_t)(found - whole->data) + strlen(ANSWER) : whole->size;
    while (end < whole->size && strchr(" \n", whole->data[end])) {
        end++;
    }
    gi_special_add_stop(&tokenizer->special, control_at(tokenizer, gi_text_from(text, end)));
}

//-- set up ----------------------------------------------------------------------------------------

static void drop_template(struct gi_chat *chat)
{
    gi_jinja_destroy(chat->jinja);
    chat->jinja = NULL;
}

// Learns from what the template writes the default system message, the token that ends an answer,
// and whether the format is right.
static bool learn(struct gi_tokenizer *tokenizer, const struct gi_jinja_output *question,
                  struct glinfer_error *err)
{
    struct gi_chat *chat = &tokenizer->chat;
    struct gi_jinja_output whole = {0};
    if (!learn_default_system(tokenizer, question, err)) {
        return false;
    }
    render(tokenizer, talk, 3, &whole, NULL);
    add_end_of_answer(tokenizer, &whole);
    const enum likeness likeness =
        chat->format ? compare(tokenizer, question, talk, 1) : LIKENESS_NONE;
    const bool is_like =
        likeness != LIKENESS_NONE && compare(tokenizer, &whole, talk, 3) == likeness &&
        compare_told(tokenizer, 2) == likeness && compare_told(tokenizer, 4) == likeness;
    gi_jinja_output_finish(&whole);
    if (!is_like) {
        chat->format = NULL;
    } else if (likeness == LIKENESS_BUT_ANSWER) {
        drop_template(chat);
    }
    return true;
}

// Keeps why a template cannot be run; fails where memory ran out.
static bool refuse(struct gi_chat *chat, const struct glinfer_error *why, struct glinfer_error *err)
{
    drop_template(chat);
    if (chat->format && chat->format->default_system == GI_CHAT_DEFAULT_ALWAYS) {
        chat->format = NULL;
    }
    snprintf(chat->fault, sizeof(chat->fault), "%.*s", (int)sizeof(chat->fault) - 1, why->message);
    return why->status != GLINFER_STATUS_NO_MEMORY ||
           gi_error_set(err, why->status, "%s", why->message);
}

bool gi_chat_template_init(struct gi_tokenizer *tokenizer, struct gi_text jinja,
                           struct glinfer_error *err)
{
    struct gi_chat *chat = &tokenizer->chat;
    struct gi_jinja_output question = {0};
    struct glinfer_error own = {0};
    if (!chat->has_template) {
        return true;
    }
    chat->jinja = gi_jinja_create(jinja.data, jinja.size, &own);
    const bool ok = chat->jinja && is_sound(tokenizer, &question, &own)
                        ? learn(tokenizer, &question, err)
                        : refuse(chat, &own, err);
    gi_jinja_output_finish(&question);
    return ok;
}

//-- encode ----------------------------------------------------------------------------------------

// Cuts a run of contents at fences, between which control tokens are spelled.
static bool cut_data(struct gi_text text, const char *fence, struct gi_segments *segments,
                     struct glinfer_error *err)
{
    const size_t n = fence ? strlen(fence) : 0;
    bool is_within = false;
    while (text.size > 0) {
        const char *found = n > 0 ? memmem(text.data, text.size, fence, n) : NULL;
        const size_t size = found ? (size_t)(found - text.data) : text.size;
        const struct gi_segment part = {{text.data, size}, is_within, false};
        if (size > 0 && !GI_ARRAY_PUSH(segments, "a conversation", err, part)) {
            return false;
        }
        text = gi_text_from(text, found ? size + n : size);
        is_within = !is_within;
    }
    return true;
}

// Cuts an output into runs of the template's own text and of contents.
static bool cut(const struct gi_jinja_output *output, size_t begin, const char *fence,
                struct gi_segments *segments, struct glinfer_error *err)
{
    for (size_t end; begin < output->size; begin = end) {
        for (end = begin + 1; end < output->size && output->is_data[end] == output->is_data[begin];
             end++) {
        }
        const struct gi_text text = {output->data + begin, end - begin};
        const bool is_cut = output->is_data[begin]
                                ? cut_data(text, fence, segments, err)
                                : GI_ARRAY_PUSH(segments, "a conversation", err,
                                                (struct gi_segment){text, true, false});
        if (!is_cut) {
            return false;
        }
    }
    return true;
}

// Removes what the template writes after the last text of a message.
static void open_last(struct gi_jinja_output *output)
{
    size_t end = output->size;
    while (end > 0 && !output->is_data[end - 1]) {
        end--;
    }
    output->size = end > 0 ? end : output->size;
}

static bool encode_input(const struct gi_tokenizer *tokenizer, struct gi_jinja_input input,
                         const char *fence, enum glinfer_chat_end end, struct gi_ids *ids,
                         struct glinfer_error *err)
{
    struct gi_jinja_output output;
    struct gi_segments segments = {0};
    input.has_no_answer = end != GLINFER_CHAT_END_ANSWER;
    if (!render_input(tokenizer, input, &output, err)) {
        return false;
    }
    if (end == GLINFER_CHAT_END_CONTINUE) {
        open_last(&output);
    }
    const size_t begin = output.size - skip_bos(tokenizer, &output).size;
    const bool is_done = cut(&output, begin, fence, &segments, err) &&
                         gi_tokenizer_encode_segments(tokenizer, &segments, true, false, ids, err);
    free(segments.data);
    gi_jinja_output_finish(&output);
    return is_done;
}

bool gi_chat_template_encode(const struct gi_tokenizer *tokenizer,
                             const struct glinfer_message *messages, size_t n_messages,
                             enum glinfer_chat_end end, struct gi_ids *ids,
                             struct glinfer_error *err)
{
    const struct gi_jinja_input input = {.messages = messages, .n_messages = n_messages};
    return encode_input(tokenizer, input, NULL, end, ids, err);
}

bool gi_chat_template_encode_json(const struct gi_tokenizer *tokenizer,
                                  const struct glinfer_chat_json *chat, struct gi_ids *ids,
                                  struct glinfer_error *err)
{
    const struct gi_jinja_input input = {.json_messages = chat->messages,
                                         .json_tools = chat->tools,
                                         .json_variables = chat->variables};
    return encode_input(tokenizer, input, chat->control_fence, chat->end, ids, err);
}
