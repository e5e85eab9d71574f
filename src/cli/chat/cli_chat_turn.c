#include "cli/chat/cli_chat_turn.h"

#include <stdlib.h>
#include <string.h>

//-- what fits -------------------------------------------------------------------------------------

// Encodes the conversation without the first n messages behind the system's.
static bool encode_without(struct cli_turns *turns, size_t n)
{
    const struct cli_conversation *conversation = &turns->conversation;
    const size_t n_system = cli_conversation_count_system(conversation);
    const size_t count = conversation->count - n;
    struct glinfer_message *view = cli_alloc(count, sizeof(*view));
    memcpy(view, conversation->items, n_system * sizeof(*view));
    memcpy(view + n_system, conversation->items + n_system + n, (count - n_system) * sizeof(*view));
    const bool is_encoded =
        cli_tokenize_chat(glinfer_model_tokenizer(turns->session->model), view, count, &turns->ids);
    free(view);
    return is_encoded;
}

// Returns the next n at which a user's message is the first that is left; 0: there is none.
static size_t forget_more(const struct cli_turns *turns, size_t n)
{
    const struct cli_conversation *conversation = &turns->conversation;
    const size_t n_system = cli_conversation_count_system(conversation);
    for (n++; n_system + n < conversation->count; n++) {
        if (strcmp(conversation->items[n_system + n].role, "user") == 0) {
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
        return cli_fail(
            CLI_EXIT_FAILED,
            "the message takes %zu tokens and the context has %zu, which leaves no room for an "
            "answer: shorten it, or start with a larger -c",
            turns->ids.count, n_ctx);
    }
    if (n > turns->n_forgotten) {
        cli_say("note: the context of %zu tokens is full: the model no longer sees the oldest %zu "
                "messages",
                n_ctx, n);
    }
    turns->n_forgotten = n;
    return true;
}

//-- the answer ------------------------------------------------------------------------------------

static bool receive_token(void *user, const struct glinfer_token *token)
{
    struct cli_turns *turns = user;
    cli_bar_clear(&turns->session->bar);
    cli_bytes_append(&turns->answer, token->text, token->text_size);
    if (token->id >= 0) {
        cli_ids_append(&turns->answer_ids, &token->id, 1);
    }
    if (cli_is_interrupted()) {
        return false;
    }
    if (token->text_size == 0) {
        return true;
    }
    turns->is_line_open = token->text[token->text_size - 1] != '\n';
    return cli_write(token->text, token->text_size);
}

// Keeps the tokens in the session that the conversation begins with; the rest is the prompt.
static void reuse(struct cli_turns *turns)
{
    const struct cli_ids *held = &turns->held, *ids = &turns->ids;
    size_t n = 0;
    while (n < held->count && n + 1 < ids->count && held->items[n] == ids->items[n]) {
        n++;
    }
    if (glinfer_session_rewind(turns->session->session, n) != n) {
        glinfer_session_reset(turns->session->session);
        n = 0;
    }
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
    cli_sampling_fill(turns->sampling, turns->seed + turns->n_turns, &params);
    params.on_token = receive_token;
    params.token_user = turns;
    const bool is_done = cli_generate(turns->session, &params, &turns->stats, err);
    if (is_done) { // the last token of an answer that was cut may be known and yet to be processed
        turns->n_reused = turns->ids.count - turns->stats.prompt_n;
    }
    if (turns->is_line_open) {
        cli_write("\n", 1);
    }
    return is_done;
}

static void keep_answer(struct cli_turns *turns)
{
    const struct glinfer_stats *stats = &turns->stats;
    const uint32_t n_ctx = turns->session->info.n_ctx;
    const size_t n = turns->held.count;
    cli_ids_append(&turns->held, turns->ids.items + n, turns->ids.count - n);
    cli_ids_append(&turns->held, turns->answer_ids.items, turns->answer_ids.count);
    cli_conversation_add(&turns->conversation, "assistant", turns->answer.data, turns->answer.size);
    turns->n_turns++;
    if (stats->stop == GLINFER_STOP_CONTEXT) {
        cli_say("note: the context of %u tokens is full: the answer ends here", n_ctx);
    }
}

static enum cli_turn answer(struct cli_turns *turns)
{
    struct glinfer_error err = {.status = GLINFER_STATUS_OK};
    turns->answer.size = turns->answer_ids.count = 0;
    turns->is_line_open = false;
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
    if (!is_stopped || turns->answer_ids.count > 0) {
        keep_answer(turns);
    }
    return is_stopped ? CLI_TURN_STOPPED : CLI_TURN_DONE;
}

enum cli_turn cli_turns_ask(struct cli_turns *turns, const struct cli_bytes *text)
{
    const size_t before = turns->conversation.count;
    cli_conversation_add(&turns->conversation, "user", text->data, text->size);
    const enum cli_turn result = fit(turns) ? answer(turns) : CLI_TURN_REFUSED;
    if (turns->conversation.count == before + 1) { // drops a question without an answer
        cli_conversation_cut(&turns->conversation, before);
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
    free(turns->ids.items);
    free(turns->held.items);
    free(turns->answer_ids.items);
}
