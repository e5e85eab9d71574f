#include "cli/chat/cli_chat_turn.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

//-- what fits -------------------------------------------------------------------------------------

static bool is_user(const struct glinfer_message *message)
{
    return strcmp(message->role, "user") == 0;
}

// Fills a conversation without the first n messages after the system message. Questions that follow
// each other, as an interrupt leaves them, are one: some templates want turns that alternate.
static void fill_view(const struct cli_conversation *conversation, size_t n,
                      struct cli_conversation *view)
{
    const size_t n_system = cli_conversation_count_system(conversation);
    struct cli_bytes text = {0};
    for (size_t i = 0; i < conversation->count; i++) {
        const struct glinfer_message *message = &conversation->items[i];
        if (i >= n_system && i < n_system + n) {
            continue;
        }
        cli_bytes_add(&text, message->content);
        if (is_user(message) && i + 1 < conversation->count && is_user(message + 1)) {
            cli_bytes_append(&text, "\n\n", 2);
            continue;
        }
        cli_conversation_add(view, message->role, text.data, text.size);
        text.size = 0;
    }
    cli_bytes_finish(&text);
}

// Encodes the conversation without the first n messages after the system message.
static bool encode_without(struct cli_turns *turns, size_t n)
{
    struct cli_conversation view = {0};
    fill_view(&turns->conversation, n, &view);
    struct glinfer_error err;
    const bool is_encoded =
        cli_session_encode(turns->session, view.items, view.count, &turns->ids, &err);
    cli_conversation_finish(&view);
    return is_encoded || cli_fail_error(&err);
}

// Returns the smallest number above n of oldest messages to leave out so that the rest begins with
// a user's message; 0 if no user's message is left.
static size_t forget_more(const struct cli_turns *turns, size_t n)
{
    const struct cli_conversation *conversation = &turns->conversation;
    const size_t n_system = cli_conversation_count_system(conversation);
    for (n++; n_system + n < conversation->count; n++) {
        if (is_user(&conversation->items[n_system + n])) {
            return n;
        }
    }
    return 0;
}

// Encodes the conversation, without the oldest messages if they leave no room for an answer.
static bool fit(struct cli_turns *turns)
{
    const size_t n_ctx = turns->session->info.n_ctx;
    const size_t wanted = turns->n_predict > 0 ? (size_t)turns->n_predict : n_ctx;
    const size_t room = wanted < n_ctx / 4 ? wanted : n_ctx / 4;
    size_t n = turns->n_forgotten;
    bool is_encoded = encode_without(turns, n);
    while (is_encoded && turns->ids.count + room > n_ctx && forget_more(turns, n) > 0) {
        n = forget_more(turns, n);
        is_encoded = encode_without(turns, n);
    }
    if (!is_encoded) {
        return false;
    }
    if (turns->ids.count >= n_ctx) {
        return cli_fail(CLI_EXIT_FAILED,
                        "cannot answer: the message takes %zu of the %zu tokens of the context; "
                        "shorten it, or start with a larger -c",
                        turns->ids.count, n_ctx);
    }
    if (n > turns->n_forgotten) {
        cli_note("the context of %zu tokens is full: the model no longer sees %zu message%s at the "
                 "beginning",
                 n_ctx, n, cli_plural(n));
    }
    turns->n_forgotten = n;
    return true;
}

//-- the answer ------------------------------------------------------------------------------------

// Keeps only the text that is shown: tokens after an interrupt are dropped.
static bool receive_token(void *user, const struct glinfer_token *token)
{
    struct cli_turns *turns = user;
    size_t size;
    cli_bar_clear(&turns->session->bar);
    if (cli_is_interrupted()) {
        return false;
    }
    const char *text = cli_reasoning_text(&turns->thoughts.reasoning,
                                          glinfer_model_tokenizer(turns->session->model), token->id,
                                          token->text, token->text_size, &size);
    cli_bytes_append(&turns->answer, text, size);
    if (token->id >= 0) {
        cli_ids_append(&turns->answer_ids, &token->id, 1);
    }
    return size == 0 || cli_thoughts_write(&turns->thoughts, text, size);
}

// Returns the number of tokens that the request begins with and that another conversation begins
// with, too: the first messages of the view, then one or two messages that differ from what comes
// next. 0 if the template refuses that conversation.
static uint32_t count_common(const struct cli_turns *turns, const struct cli_conversation *view,
                             size_t first)
{
    const bool is_next = first == view->count; // the answer and another question follow
    const char *text = is_next ? "0" : view->items[first].content[0] == '0' ? "1" : "0";
    struct cli_conversation other = {0};
    struct cli_ids ids = {0};
    struct glinfer_error err;
    uint32_t n = 0;
    for (size_t i = 0; i < first; i++) {
        const struct glinfer_message *message = &view->items[i];
        cli_conversation_add(&other, message->role, message->content, strlen(message->content));
    }
    if (is_next) {
        cli_conversation_add(&other, "assistant", text, 1);
    }
    cli_conversation_add(&other, "user", text, 1);
    if (cli_session_encode(turns->session, other.items, other.count, &ids, &err)) {
        while (n < ids.count && n < turns->ids.count && ids.items[n] == turns->ids.items[n]) {
            n++;
        }
    }
    cli_conversation_finish(&other);
    free(ids.items);
    return n < turns->ids.count ? n : 0;
}

// Fills the checkpoints of the prompt, for models with recurrent states, where later requests may
// part from it: after the system message (/reset), before the question (/undo), and where the next
// request has the answer, which a template may write without its thoughts. Returns their number.
static size_t find_checkpoints(const struct cli_turns *turns,
                               uint32_t checkpoints[CLI_MAX_CHECKPOINTS])
{
    struct cli_conversation view = {0};
    if (turns->session->info.checkpoint == 0) {
        return 0;
    }
    fill_view(&turns->conversation, turns->n_forgotten, &view);
    const size_t firsts[] = {cli_conversation_count_system(&view), view.count - 1, view.count};
    uint32_t places[3];
    size_t n = 0;
    for (int i = firsts[0] > 0 ? 0 : 1; i < 3; i++) {
        places[n++] = count_common(turns, &view, firsts[i]);
    }
    cli_conversation_finish(&view);
    return cli_fill_checkpoints(places, n, turns->n_reused, turns->ids.count - turns->n_reused,
                                checkpoints);
}

// Keeps the tokens in the session that the conversation begins with; the rest is the prompt.
static void reuse(struct cli_turns *turns)
{
    const struct cli_ids *held = &turns->held, *ids = &turns->ids;
    size_t n = 0;
    while (n < held->count && n + 1 < ids->count && held->items[n] == ids->items[n]) {
        n++;
    }
    n = glinfer_session_rewind(turns->session->session, n);
    turns->held.count = n;
    turns->n_reused = n;
}

static bool generate(struct cli_turns *turns, struct glinfer_error *err)
{
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.prompt = turns->ids.items + turns->n_reused;
    params.n_prompt = turns->ids.count - turns->n_reused;
    params.n_predict = (int32_t)turns->n_predict;
    uint32_t checkpoints[CLI_MAX_CHECKPOINTS];
    params.n_checkpoints = find_checkpoints(turns, checkpoints);
    params.checkpoints = checkpoints;
    cli_sampling_fill(turns->sampling, turns->seed + turns->n_turns, &params);
    params.on_token = receive_token;
    params.token_user = turns;
    const bool is_done = cli_generate(turns->session, &params, &turns->stats, err);
    if (is_done) { // the last token of an answer that was cut may be known and yet to be processed
        turns->n_reused = turns->ids.count - turns->stats.prompt_n;
    }
    cli_thoughts_end(&turns->thoughts);
    return is_done;
}

// Ends a thought that was cut, so that templates know it for one. Of messages with channels, which
// templates refuse to find in a message, only what they say is kept.
static void close_thought(struct cli_turns *turns)
{
    const struct cli_reasoning *reasoning = &turns->thoughts.reasoning;
    if (reasoning->has_channels) {
        struct cli_bytes content = {0};
        cli_bytes_append(&content, "", 0);
        cli_reasoning_strip(CLI_REASONING_CHANNELS, turns->answer.data, turns->answer.size,
                            &content);
        cli_bytes_finish(&turns->answer);
        turns->answer = content;
    } else if (reasoning->is_thinking) {
        cli_bytes_append(&turns->answer, "\n", 1);
        cli_bytes_add(&turns->answer, reasoning->end);
        cli_bytes_append(&turns->answer, "\n\n", 2);
    }
}

static enum cli_turn answer(struct cli_turns *turns)
{
    struct glinfer_error err = {.status = GLINFER_STATUS_OK};
    turns->answer.size = turns->answer_ids.count = 0;
    cli_thoughts_begin(
        &turns->thoughts,
        cli_reasoning_find_open(glinfer_model_tokenizer(turns->session->model), &turns->ids));
    reuse(turns);
    const bool is_done = generate(turns, &err);
    if (!is_done && err.status != GLINFER_STATUS_CANCELLED) {
        turns->held.count = 0;
        glinfer_session_reset(turns->session->session);
        cli_fail_error(&err);
        return CLI_TURN_REFUSED;
    }
    const bool is_stopped = cli_is_interrupted();
    if (!is_stopped && (!is_done || turns->stats.stop == GLINFER_STOP_CALLBACK)) {
        return CLI_TURN_OUTPUT;
    }
    turns->n_turns++;
    if (!is_stopped || turns->answer.size > 0) {
        const size_t n = turns->held.count;
        cli_ids_append(&turns->held, turns->ids.items + n, turns->ids.count - n);
        cli_ids_append(&turns->held, turns->answer_ids.items, turns->answer_ids.count);
        close_thought(turns);
        cli_conversation_add(&turns->conversation, "assistant", turns->answer.data,
                             turns->answer.size);
    }
    if (!is_stopped && turns->stats.stop == GLINFER_STOP_CONTEXT) {
        cli_note("the context of %u tokens is full: the answer ends here",
                 turns->session->info.n_ctx);
    } else if (!is_stopped && turns->stats.stop == GLINFER_STOP_LIMIT && isatty(STDERR_FILENO)) {
        cli_note("the answer is cut after the %u token%s that -n, or /set tokens, allows",
                 turns->stats.predicted_n, cli_plural(turns->stats.predicted_n));
    }
    return is_stopped ? CLI_TURN_STOPPED : CLI_TURN_DONE;
}

static enum cli_turn answer_last(struct cli_turns *turns)
{
    return fit(turns) ? answer(turns) : CLI_TURN_REFUSED;
}

enum cli_turn cli_turns_ask(struct cli_turns *turns, const struct cli_bytes *text)
{
    const size_t before = turns->conversation.count;
    cli_conversation_add(&turns->conversation, "user", text->data, text->size);
    const enum cli_turn result = answer_last(turns);
    if (result == CLI_TURN_REFUSED || result == CLI_TURN_OUTPUT) {
        cli_conversation_cut(&turns->conversation, before);
    }
    return result;
}

//-- turns before ----------------------------------------------------------------------------------

// Returns the place of the last question; the number of messages if there is none.
static size_t find_question(const struct cli_conversation *conversation)
{
    size_t i = conversation->count;
    while (i > 0 && !is_user(&conversation->items[i - 1])) {
        i--;
    }
    return i > 0 ? i - 1 : conversation->count;
}

bool cli_turns_is_open(const struct cli_turns *turns)
{
    const struct cli_conversation *conversation = &turns->conversation;
    return conversation->count > 0 && is_user(&conversation->items[conversation->count - 1]);
}

bool cli_turns_undo(struct cli_turns *turns)
{
    const size_t question = find_question(&turns->conversation);
    const bool is_there = question < turns->conversation.count;
    cli_conversation_cut(&turns->conversation, question);
    turns->n_forgotten = 0;
    return is_there;
}

enum cli_turn cli_turns_retry(struct cli_turns *turns)
{
    struct cli_conversation *conversation = &turns->conversation;
    const size_t question = find_question(conversation);
    struct cli_conversation before = {0};
    for (size_t i = 0; i < conversation->count; i++) {
        const struct glinfer_message *message = &conversation->items[i];
        cli_conversation_add(&before, message->role, message->content, strlen(message->content));
    }
    cli_conversation_cut(conversation, question + 1);
    turns->n_forgotten = 0;
    const enum cli_turn result = question < before.count ? answer_last(turns) : CLI_TURN_REFUSED;
    if (result != CLI_TURN_DONE && cli_turns_is_open(turns)) { // there is no new answer
        cli_conversation_finish(conversation);
        *conversation = before;
    } else {
        cli_conversation_finish(&before);
    }
    return result;
}

void cli_turns_begin(struct cli_turns *turns)
{
    turns->n_forgotten = 0;
    turns->stats = (struct glinfer_stats){.struct_size = 0};
}

void cli_turns_reset(struct cli_turns *turns)
{
    cli_conversation_cut(&turns->conversation, cli_conversation_count_system(&turns->conversation));
    cli_turns_begin(turns);
}

void cli_turns_finish(struct cli_turns *turns)
{
    cli_conversation_finish(&turns->conversation);
    cli_bytes_finish(&turns->answer);
    cli_thoughts_finish(&turns->thoughts);
    free(turns->ids.items);
    free(turns->held.items);
    free(turns->answer_ids.items);
}
