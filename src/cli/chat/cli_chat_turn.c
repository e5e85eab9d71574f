#include "cli/chat/cli_chat_turn.h"

#include <stdlib.h>

//-- ids -------------------------------------------------------------------------------------------

static bool reserve(struct cli_ids *ids, size_t count)
{
    if (count <= ids->capacity) {
        return true;
    }
    const size_t capacity = count < 512 ? 1024 : 2 * count;
    int32_t *data = realloc(ids->data, capacity * sizeof(*data));
    if (data) {
        ids->data = data;
        ids->capacity = capacity;
    }
    return data != NULL;
}

static bool append(struct cli_ids *ids, const int32_t *data, size_t count)
{
    if (!reserve(ids, ids->count + count)) {
        return false;
    }
    if (count > 0) {
        memcpy(ids->data + ids->count, data, count * sizeof(*data));
    }
    ids->count += count;
    return true;
}

static size_t count_common(const struct cli_ids *a, const struct cli_ids *b)
{
    size_t n = 0;
    while (n < a->count && n < b->count && a->data[n] == b->data[n]) {
        n++;
    }
    return n;
}

//-- what fits -------------------------------------------------------------------------------------

static bool encode_messages(struct cli_turns *turns, const struct glinfer_message *messages,
                            size_t count)
{
    struct glinfer_error err;
    struct cli_ids *ids = &turns->ids;
    const struct glinfer_tokenizer *tokenizer = glinfer_model_tokenizer(turns->session->model);
    size_t n = 0;
    do { // a second time once there is room
        if (!reserve(ids, n)) {
            cli_fail(0, "no memory for a conversation of %zu tokens", n);
            return false;
        }
        if (!glinfer_chat_tokenize(tokenizer, messages, count, ids->data, ids->capacity, &n,
                                   &err)) {
            cli_fail_error(&err);
            return false;
        }
    } while (n > ids->capacity);
    ids->count = n;
    return true;
}

// Encodes the conversation without the first n messages behind the system's.
static bool encode_without(struct cli_turns *turns, size_t n)
{
    const struct cli_conversation *conversation = &turns->conversation;
    const size_t n_system = cli_conversation_count_system(conversation);
    if (n == 0) {
        return encode_messages(turns, conversation->messages, conversation->count);
    }
    struct glinfer_message *view = calloc(conversation->count - n, sizeof(*view));
    if (!view) {
        cli_fail(0, "no memory for a conversation of %zu messages", conversation->count);
        return false;
    }
    memcpy(view, conversation->messages, n_system * sizeof(*view));
    memcpy(view + n_system, conversation->messages + n_system + n,
           (conversation->count - n_system - n) * sizeof(*view));
    const bool is_encoded = encode_messages(turns, view, conversation->count - n);
    free(view);
    return is_encoded;
}

// The next n at which a user's message is the first that is left; 0: there is none.
static size_t forget_more(const struct cli_turns *turns, size_t n)
{
    const struct cli_conversation *conversation = &turns->conversation;
    const size_t n_system = cli_conversation_count_system(conversation);
    for (n++; n_system + n < conversation->count; n++) {
        if (strcmp(conversation->messages[n_system + n].role, "user") == 0) {
            return n;
        }
    }
    return 0;
}

static bool refuse_size(const struct cli_turns *turns, size_t n_ctx)
{
    cli_fail(0,
             "the message takes %zu tokens and the context has %zu, which leaves no room for an "
             "answer: shorten it, or start with a larger -c",
             turns->ids.count, n_ctx);
    return false;
}

// Encodes what of the conversation leaves room for an answer, the oldest messages left out first.
static bool fit(struct cli_turns *turns)
{
    const size_t n_ctx = turns->session->info.n_ctx;
    const size_t wanted = turns->n_predict > 0 ? (size_t)turns->n_predict : n_ctx;
    const size_t room = wanted < n_ctx / 4 ? wanted : n_ctx / 4;
    size_t n = turns->n_forgotten;
    if (!encode_without(turns, n)) {
        return false;
    }
    while (turns->ids.count + room > n_ctx) {
        const size_t more = forget_more(turns, n);
        if (more == 0) {
            break;
        }
        n = more;
        if (!encode_without(turns, n)) {
            return false;
        }
    }
    if (turns->ids.count >= n_ctx) {
        return refuse_size(turns, n_ctx);
    }
    if (n > turns->n_forgotten) {
        fprintf(stderr,
                "glinfer: note: the context of %zu tokens is full: the model no longer sees the "
                "oldest %zu messages\n",
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
    turns->is_out_of_memory = !cli_bytes_append(&turns->answer, token->text, token->text_size) ||
                              (token->id >= 0 && !append(&turns->answer_ids, &token->id, 1));
    if (turns->is_out_of_memory || cli_is_interrupted()) {
        return false;
    }
    if (token->text_size == 0) {
        return true;
    }
    turns->is_line_open = token->text[token->text_size - 1] != '\n';
    return cli_write(token->text, token->text_size);
}

// What the session holds and the conversation begins with stays; the rest is the prompt.
static void reuse(struct cli_turns *turns)
{
    size_t n = count_common(&turns->held, &turns->ids);
    n = n < turns->ids.count ? n : turns->ids.count - 1;
    const size_t n_held = glinfer_session_rewind(turns->session->session, n);
    if (n_held != n) {
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
    params.prompt = turns->ids.data + turns->n_reused;
    params.n_prompt = turns->ids.count - turns->n_reused;
    params.n_predict = (int32_t)turns->n_predict;
    cli_sampling_fill(turns->sampling, turns->seed + turns->n_turns, &params);
    params.on_token = receive_token;
    params.token_user = turns;
    params.progress = cli_progress;
    params.progress_user = &turns->session->bar;
    memset(&turns->stats, 0, sizeof(turns->stats));
    turns->stats.struct_size = sizeof(turns->stats);
    cli_bar_wait(&turns->session->bar, "reading the prompt", true);
    const bool is_done = glinfer_generate(turns->session->session, &params, &turns->stats, err);
    cli_bar_clear(&turns->session->bar);
    if (is_done) { // the last token of an answer that was cut may be known and yet to be processed
        turns->n_reused = turns->ids.count - turns->stats.prompt_n;
    }
    if (turns->is_line_open) {
        cli_write("\n", 1);
    }
    return is_done;
}

// Without memory the session counts as empty: slower, and right.
static void note_held(struct cli_turns *turns)
{
    const size_t n = turns->held.count;
    if (!append(&turns->held, turns->ids.data + n, turns->ids.count - n) ||
        !append(&turns->held, turns->answer_ids.data, turns->answer_ids.count)) {
        turns->held.count = 0;
    }
}

static enum cli_turn keep_answer(struct cli_turns *turns)
{
    const bool is_full = turns->stats.stop == GLINFER_STOP_LIMIT &&
                         turns->stats.n_past == turns->session->info.n_ctx;
    note_held(turns);
    if (!cli_conversation_add(&turns->conversation, "assistant",
                              turns->answer.data ? turns->answer.data : "", turns->answer.size)) {
        cli_fail(0, "no memory for the answer");
        return CLI_TURN_REFUSED;
    }
    turns->n_turns++;
    if (is_full) {
        fprintf(stderr, "glinfer: note: the context of %u tokens is full: the answer ends here\n",
                turns->session->info.n_ctx);
    }
    return CLI_TURN_DONE;
}

static enum cli_turn answer(struct cli_turns *turns)
{
    struct glinfer_error err = {.status = GLINFER_STATUS_OK};
    turns->answer.size = turns->answer_ids.count = 0;
    turns->is_line_open = turns->is_out_of_memory = false;
    reuse(turns);
    const bool is_done = generate(turns, &err);
    if (turns->is_out_of_memory) {
        cli_fail(0, "no memory for the answer");
        return CLI_TURN_REFUSED;
    }
    if (!is_done && err.status != GLINFER_STATUS_CANCELLED) {
        turns->held.count = 0;
        glinfer_session_reset(turns->session->session);
        cli_fail_error(&err);
        return CLI_TURN_REFUSED;
    }
    if (cli_is_interrupted()) {
        const bool is_begun = turns->answer_ids.count > 0;
        return is_begun && keep_answer(turns) == CLI_TURN_REFUSED ? CLI_TURN_REFUSED
                                                                  : CLI_TURN_STOPPED;
    }
    if (!is_done || turns->stats.stop == GLINFER_STOP_CALLBACK) {
        return CLI_TURN_OUTPUT;
    }
    return keep_answer(turns);
}

enum cli_turn cli_turns_ask(struct cli_turns *turns, const struct cli_bytes *text)
{
    const size_t before = turns->conversation.count;
    enum cli_turn result = CLI_TURN_REFUSED;
    if (!cli_conversation_add(&turns->conversation, "user", text->data, text->size)) {
        cli_fail(0, "no memory for a message of %zu bytes", text->size);
    } else if (fit(turns)) {
        result = answer(turns);
    }
    if (turns->conversation.count == before + 1) { // a question without an answer is none
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
    free(turns->ids.data);
    free(turns->held.data);
    free(turns->answer_ids.data);
}
