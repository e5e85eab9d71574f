#include "tokenizer/chat/chat_template.h"

#include "jinja/jinja.h"
#include "tokenizer/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gi_text token_text(const struct gi_tokenizer *tokenizer, int32_t id)
{
    return id >= 0 ? gi_text_list_at(&tokenizer->texts, (size_t)id) : (struct gi_text){"", 0};
}

static bool render(const struct gi_tokenizer *tokenizer, const struct glinfer_message *messages,
                   size_t n_messages, struct gi_jinja_output *output, struct glinfer_error *err)
{
    const struct gi_text bos = token_text(tokenizer, tokenizer->bos);
    const struct gi_text eos = token_text(tokenizer, tokenizer->eos);
    const struct gi_jinja_input input = {
        .messages = messages,
        .n_messages = n_messages,
        .bos = bos.data,
        .eos = eos.data,
        .bos_size = bos.size,
        .eos_size = eos.size,
    };
    return gi_jinja_render(tokenizer->chat.jinja, &input, output, err);
}

//-- trials ----------------------------------------------------------------------------------------

// The conversations that templates are tried with.
#define ANSWER "second"
static const struct glinfer_message talk[] = {
    {"user",      "first"},
    {"assistant", ANSWER },
    {"user",      "third"}
};
static const struct glinfer_message told_talk[] = {
    {"system",    "zeroth"},
    {"user",      "first" },
    {"assistant", ANSWER  },
    {"user",      "third" }
};

// A template is sound if it writes a question, as a message's content.
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
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "it does not write what a user says");
}

static bool is_same(const struct gi_segment *segments, size_t n_segments, struct gi_text text)
{
    for (size_t i = 0; i < n_segments; i++) {
        const struct gi_text segment = segments[i].text;
        if (segment.size > text.size || memcmp(segment.data, text.data, segment.size) != 0) {
            return false;
        }
        text = (struct gi_text){text.data + segment.size, text.size - segment.size};
    }
    return text.size == 0;
}

// What an output is without the BOS token that encoding puts in front.
static size_t skip_bos(const struct gi_tokenizer *tokenizer, const struct gi_jinja_output *output)
{
    const struct gi_text bos = token_text(tokenizer, tokenizer->bos);
    const bool is_there = tokenizer->is_bos_added && bos.size && output->size >= bos.size &&
                          memcmp(output->data, bos.data, bos.size) == 0 && !output->is_data[0];
    return is_there ? bos.size : 0;
}

// How what a format writes compares with what the template does.
enum likeness {
    LIKENESS_NONE,
    LIKENESS_WHOLE,
    LIKENESS_BUT_ANSWER, // the template leaves out what an answer begins with
};

// The output is what the template writes of the messages. LIKENESS_WHOLE where there is none: it does not take
// such a conversation.
static enum likeness compare(const struct gi_tokenizer *tokenizer,
                             const struct gi_jinja_output *output,
                             const struct glinfer_message *messages, size_t n_messages)
{
    struct gi_segment *segments = NULL;
    size_t n_segments = 0;
    if (!output->data) {
        return LIKENESS_WHOLE;
    }
    const size_t begin = skip_bos(tokenizer, output);
    const struct gi_text text = {output->data + begin, output->size - begin};
    enum likeness likeness = LIKENESS_NONE;
    if (gi_chat_write(tokenizer, messages, n_messages, &segments, &n_segments, NULL)) {
        likeness = is_same(segments, n_segments, text)                         ? LIKENESS_WHOLE
                   : n_segments > 1 && is_same(segments, n_segments - 1, text) ? LIKENESS_BUT_ANSWER
                                                                               : LIKENESS_NONE;
    }
    free(segments);
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

// Given what the template writes of the question alone, and of the whole talk.
static enum likeness compare_all(const struct gi_tokenizer *tokenizer,
                                 const struct gi_jinja_output *question,
                                 const struct gi_jinja_output *whole)
{
    const enum likeness first = compare(tokenizer, question, talk, 1);
    const bool is_like = first != LIKENESS_NONE && compare(tokenizer, whole, talk, 3) == first &&
                         compare_told(tokenizer, 2) == first && compare_told(tokenizer, 4) == first;
    return is_like ? first : LIKENESS_NONE;
}

//-- the end of an answer --------------------------------------------------------------------------

// The longest control token that the text begins with; GI_NO_TOKEN: none.
static int32_t control_at(const struct gi_tokenizer *tokenizer, struct gi_text text)
{
    int32_t found = GI_NO_TOKEN;
    size_t longest = 0;
    for (size_t i = 0; i < tokenizer->texts.count; i++) {
        const struct gi_text token = gi_text_list_at(&tokenizer->texts, i);
        if (tokenizer->types[i] == GI_TOKEN_TYPE_CONTROL && token.size > longest &&
            token.size <= text.size && memcmp(token.data, text.data, token.size) == 0) {
            longest = token.size;
            found = (int32_t)i;
        }
    }
    return found;
}

// Files name few of the tokens that end a turn; the template writes the one that is meant.
static void add_end_of_answer(struct gi_tokenizer *tokenizer, const struct gi_jinja_output *whole)
{
    if (!whole->data) {
        return;
    }
    const char *found = memmem(whole->data, whole->size, ANSWER, strlen(ANSWER));
    size_t end = found ? (size_t)(found - whole->data) + strlen(ANSWER) : whole->size;
    while (end < whole->size && strchr(" \n", whole->data[end])) {
        end++;
    }
    gi_special_add_stop(
        &tokenizer->special,
        control_at(tokenizer, (struct gi_text){whole->data + end, whole->size - end}));
}

//-- set up ----------------------------------------------------------------------------------------

static void drop_template(struct gi_chat *chat)
{
    gi_jinja_destroy(chat->jinja);
    chat->jinja = NULL;
}

// Takes from what the template writes the token that ends an answer, and which format it is.
static void learn(struct gi_tokenizer *tokenizer, const struct gi_jinja_output *question)
{
    struct gi_chat *chat = &tokenizer->chat;
    struct gi_jinja_output whole = {0};
    render(tokenizer, talk, 3, &whole, NULL);
    add_end_of_answer(tokenizer, &whole);
    const enum likeness likeness =
        chat->format ? compare_all(tokenizer, question, &whole) : LIKENESS_NONE;
    gi_jinja_output_finish(&whole);
    if (likeness == LIKENESS_NONE) {
        chat->format = NULL;
    } else if (likeness == LIKENESS_BUT_ANSWER) {
        drop_template(chat);
    }
}

// Keeps why a template cannot be run; fails where memory ran out.
static bool refuse(struct gi_chat *chat, const struct glinfer_error *why, struct glinfer_error *err)
{
    drop_template(chat);
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
    bool ok = true;
    if (!chat->has_template) {
        return true;
    }
    chat->jinja = gi_jinja_create(jinja.data, jinja.size, &own);
    if (chat->jinja && is_sound(tokenizer, &question, &own)) {
        learn(tokenizer, &question);
    } else {
        ok = refuse(chat, &own, err);
    }
    gi_jinja_output_finish(&question);
    return ok;
}

//-- encode ----------------------------------------------------------------------------------------

// Runs of a template's own text and of contents.
static struct gi_segment *cut(const struct gi_jinja_output *output, size_t begin, size_t *count,
                              struct glinfer_error *err)
{
    struct gi_segment *segments = NULL;
    size_t capacity = 0;
    for (size_t end; begin < output->size; begin = end) {
        for (end = begin + 1; end < output->size && output->is_data[end] == output->is_data[begin];
             end++) {
        }
        struct gi_segment *grown = gi_array_grow(segments, &capacity, *count + 1, sizeof(*segments),
                                                 "a conversation", err);
        if (!grown) {
            free(segments);
            return NULL;
        }
        segments = grown;
        segments[(*count)++] = (struct gi_segment){
            .text = {output->data + begin, end - begin},
              .parse_special = !output->is_data[begin]
        };
    }
    return segments;
}

bool gi_chat_template_encode(const struct gi_tokenizer *tokenizer,
                             const struct glinfer_message *messages, size_t n_messages,
                             struct gi_ids *ids, struct glinfer_error *err)
{
    struct gi_jinja_output output;
    size_t n_segments = 0;
    if (!render(tokenizer, messages, n_messages, &output, err)) {
        return false;
    }
    const size_t begin = skip_bos(tokenizer, &output);
    struct gi_segment *segments = cut(&output, begin, &n_segments, err);
    const bool is_done =
        (segments || begin == output.size) &&
        gi_tokenizer_encode_segments(tokenizer, segments, n_segments, true, false, ids, err);
    free(segments);
    gi_jinja_output_finish(&output);
    return is_done;
}
