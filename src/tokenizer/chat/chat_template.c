#include "tokenizer/chat/chat_template.h"

#include "base/array.h"
#include "jinja/jinja.h"
#include "tokenizer/chat/chat_format.h"
#include "tokenizer/tokenizer_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gi_text token_text(const struct gi_tokenizer *tokenizer, int32_t id)
{
    return id >= 0 ? gi_text_list_at(&tokenizer->texts, (size_t)id) : (struct gi_text){"", 0};
}

// Runs a template.
static bool render(const struct gi_tokenizer *tokenizer, const struct gi_jinja *jinja,
                   struct gi_jinja_input input, struct gi_jinja_output *output,
                   struct glinfer_error *err)
{
    const struct gi_text bos = token_text(tokenizer, tokenizer->bos);
    const struct gi_text eos = token_text(tokenizer, tokenizer->eos);
    input.bos = bos.data;
    input.eos = eos.data;
    input.bos_size = bos.size;
    input.eos_size = eos.size;
    return gi_jinja_render(jinja, &input, output, err);
}

//-- trials ----------------------------------------------------------------------------------------

// Conversations that templates are tried with.
#define ANSWER "second"
static const struct glinfer_message talk[] = {
    {"system", "zeroth"}, {"user", "first"}, {"assistant", ANSWER}, {"user", "third"}};
enum { QUESTION, WHOLE, TOLD_QUESTION, TOLD_WHOLE, N_TRIALS };
static const struct gi_jinja_input trials[N_TRIALS] = {
    {.messages = &talk[1], .n_messages = 1},
    {.messages = &talk[1], .n_messages = 3},
    {.messages = talk, .n_messages = 2},
    {.messages = talk, .n_messages = 4},
};

// Returns true if the template writes the content of a user's message.
static bool is_sound(const struct gi_tokenizer *tokenizer, struct gi_jinja_output *question,
                     struct glinfer_error *err)
{
    if (!render(tokenizer, tokenizer->chat.jinja, trials[QUESTION], question, err)) {
        return false;
    }
    size_t n_data = 0;
    for (size_t i = 0; i < question->size; i++) {
        n_data += question->is_data[i];
    }
    return n_data >= strlen(talk[1].content) ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "it does not write the user's message");
}

// Returns an output without the BOS token that it begins with, unless is_kept.
static struct gi_text skip_bos(const struct gi_tokenizer *tokenizer,
                               const struct gi_jinja_output *output, bool is_kept)
{
    const struct gi_text text = {output->data, output->size};
    const struct gi_text bos = token_text(tokenizer, tokenizer->bos);
    const bool is_there = bos.size && gi_text_begins(text, bos) && !output->is_data[0];
    return gi_text_from(text, is_there && !is_kept ? bos.size : 0);
}

// Returns true if an output, what the template writes of a trial, is what the format does, which
// may lack a default system message. Without output the template does not accept the conversation.
static bool is_alike(const struct gi_tokenizer *tokenizer, const struct gi_jinja_output *output,
                     int trial, bool has_no_answer)
{
    const struct gi_chat *chat = &tokenizer->chat;
    const bool is_bos_kept = !tokenizer->is_bos_added; // encoding puts one in front
    struct gi_jinja_input input = trials[trial];
    struct gi_jinja_output plain = {0};
    input.has_no_answer = has_no_answer;
    if (!output->data || !render(tokenizer, chat->plain, input, &plain, NULL)) {
        return !output->data;
    }
    struct gi_text text = skip_bos(tokenizer, output, is_bos_kept);
    struct gi_text own = skip_bos(tokenizer, &plain, is_bos_kept);
    const struct gi_text turns = skip_bos(tokenizer, &plain, false);
    if (trial < TOLD_QUESTION && chat->format->default_system != GI_CHAT_DEFAULT_NEVER &&
        turns.size < text.size) {
        text = gi_text_from(text, text.size - turns.size);
        own = turns;
    }
    const bool is_same = text.size == own.size && gi_text_begins(text, own);
    gi_jinja_output_finish(&plain);
    return is_same;
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

static void drop_format(struct gi_chat *chat)
{
    gi_jinja_destroy(chat->plain);
    chat->plain = NULL;
    chat->format = NULL;
}

// Compares all trials with the format, those with a system message only if the others are alike.
static bool is_like_format(const struct gi_tokenizer *tokenizer,
                           struct gi_jinja_output outputs[N_TRIALS], bool has_no_answer)
{
    bool is_like = tokenizer->chat.format;
    for (int i = 0; is_like && i < N_TRIALS; i++) {
        if (i >= TOLD_QUESTION && !outputs[i].data) {
            render(tokenizer, tokenizer->chat.jinja, trials[i], &outputs[i], NULL);
        }
        is_like = is_alike(tokenizer, &outputs[i], i, has_no_answer);
    }
    return is_like;
}

// Notes how the format begins an answer.
static bool note_answer(struct gi_tokenizer *tokenizer, struct glinfer_error *err)
{
    struct gi_chat *chat = &tokenizer->chat;
    struct gi_jinja_output without = {0}, with = {0};
    const bool is_done =
        render(tokenizer, chat->plain, (struct gi_jinja_input){.has_no_answer = true}, &without,
               err) &&
        render(tokenizer, chat->plain, (struct gi_jinja_input){.has_no_answer = false}, &with, err);
    snprintf(chat->answer, sizeof(chat->answer), "%.*s", (int)(with.size - without.size),
             is_done ? with.data + without.size : "");
    gi_jinja_output_finish(&without);
    gi_jinja_output_finish(&with);
    return is_done;
}

// Learns from what the template writes the token that ends an answer, and whether the format is
// right.
static bool learn(struct gi_tokenizer *tokenizer, struct gi_jinja_output outputs[N_TRIALS],
                  struct glinfer_error *err)
{
    render(tokenizer, tokenizer->chat.jinja, trials[WHOLE], &outputs[WHOLE], NULL);
    add_end_of_answer(tokenizer, &outputs[WHOLE]);
    if (is_like_format(tokenizer, outputs, false)) {
        return true;
    }
    if (is_like_format(tokenizer, outputs, true)) {
        return note_answer(tokenizer, err);
    }
    drop_format(&tokenizer->chat);
    return true;
}

// Keeps why a template cannot be run; fails where memory ran out.
static bool refuse(struct gi_chat *chat, const struct glinfer_error *why, struct glinfer_error *err)
{
    gi_jinja_destroy(chat->jinja);
    chat->jinja = NULL;
    if (chat->format && chat->format->default_system == GI_CHAT_DEFAULT_ALWAYS) {
        drop_format(chat);
    }
    snprintf(chat->fault, sizeof(chat->fault), "%.*s", (int)sizeof(chat->fault) - 1, why->message);
    return why->status != GLINFER_STATUS_NO_MEMORY || gi_error_pass(err, why);
}

bool gi_chat_template_init(struct gi_tokenizer *tokenizer, struct gi_text jinja,
                           struct glinfer_error *err)
{
    struct gi_chat *chat = &tokenizer->chat;
    struct gi_jinja_output outputs[N_TRIALS] = {0};
    struct glinfer_error own = {0};
    chat->jinja = gi_jinja_create(jinja.data, jinja.size, &own);
    const bool ok = chat->jinja && is_sound(tokenizer, &outputs[QUESTION], &own)
                        ? learn(tokenizer, outputs, err)
                        : refuse(chat, &own, err);
    for (int i = 0; i < N_TRIALS; i++) {
        gi_jinja_output_finish(&outputs[i]);
    }
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

// Appends the texts of segments.
static bool join(const struct gi_segments *segments, struct gi_chars *text,
                 struct glinfer_error *err)
{
    for (size_t i = 0; i < segments->count; i++) {
        const struct gi_text part = segments->data[i].text;
        if (!GI_ARRAY_RESERVE(text, text->count + part.size + 1, "a conversation", err)) {
            return false;
        }
        memcpy(text->data + text->count, part.size > 0 ? part.data : "", part.size);
        text->count += part.size;
    }
    return true;
}

static bool encode_input(const struct gi_tokenizer *tokenizer, bool is_plain,
                         struct gi_jinja_input input, const char *fence, enum glinfer_chat_end end,
                         const struct gi_chat_out *out, struct glinfer_error *err)
{
    const struct gi_chat *chat = &tokenizer->chat;
    struct gi_jinja_output output;
    struct gi_segments segments = {0};
    input.has_no_answer = end != GLINFER_CHAT_END_ANSWER;
    if (!render(tokenizer, is_plain ? chat->plain : chat->jinja, input, &output, err)) {
        return false;
    }
    if (end == GLINFER_CHAT_END_CONTINUE) {
        open_last(&output);
    }
    const size_t begin = output.size - skip_bos(tokenizer, &output, !tokenizer->is_bos_added).size;
    const char *answer = is_plain || input.has_no_answer ? "" : chat->answer;
    const bool is_done = cut(&output, begin, fence, &segments, err) &&
                         GI_ARRAY_PUSH(&segments, "a conversation", err,
                                       (struct gi_segment){gi_text_of(answer), true, false}) &&
                         (out->text ? join(&segments, out->text, err)
                                    : gi_tokenizer_encode_segments(tokenizer, &segments, true,
                                                                   false, out->ids, err));
    free(segments.data);
    gi_jinja_output_finish(&output);
    return is_done;
}

bool gi_chat_template_encode(const struct gi_tokenizer *tokenizer, bool is_plain,
                             const struct glinfer_message *messages, size_t n_messages,
                             enum glinfer_chat_end end, const struct gi_chat_out *out,
                             struct glinfer_error *err)
{
    const struct gi_jinja_input input = {.messages = messages, .n_messages = n_messages};
    return encode_input(tokenizer, is_plain, input, NULL, end, out, err);
}

bool gi_chat_template_encode_json(const struct gi_tokenizer *tokenizer,
                                  const struct glinfer_chat_json *chat,
                                  const struct gi_chat_out *out, struct glinfer_error *err)
{
    const struct gi_jinja_input input = {.json_messages = chat->messages,
                                         .json_tools = chat->tools,
                                         .json_variables = chat->variables};
    return encode_input(tokenizer, false, input, chat->control_fence, chat->end, out, err);
}
