#include "engine/speech/speech_chain.h"

#include "base/clock.h"
#include "base/round.h"
#include "ops/sample/speech_choice.h"

//-- before a chain --------------------------------------------------------------------------------

// Returns the number of steps of the next chain. Chains begin short, as most texts are, and grow.
// Steps after the end of a text cost little with indirect grids; with grids that the host sets they
// do all of their work, so those chains are bounded more tightly.
static uint32_t choose_length(const struct gi_speech_towers *towers,
                              const struct glinfer_session *session, uint32_t n_chosen)
{
    enum { FIRST = 4, IN_VAIN_NS = 8000000 };
    const struct gi_runner *runner = &session->runner;
    const uint64_t now = gi_clock_ns();
    uint64_t most_ns = runner->budget_ns;
    if (!gi_gpu_limits(runner->gpu)->is_indirect && most_ns > IN_VAIN_NS) {
        most_ns = IN_VAIN_NS;
    }
    if (towers->call.pause_ns > 0) {
        const uint64_t end = towers->call.pause_ns, left = end > now ? end - now : 0;
        most_ns = left < most_ns ? left : most_ns;
    }
    const uint32_t ramp = gi_min_u32(gi_max_u32(FIRST, n_chosen), GI_NET_TOKENS);
    const uint64_t fit = runner->step_ns ? most_ns / runner->step_ns : 1;
    return fit < 1 ? 1 : fit < ramp ? (uint32_t)fit : ramp;
}

static bool write_rules(const struct gi_speech_call *call, const struct gi_net_text *text)
{
    struct glinfer_session *session = call->session;
    const struct gi_whisper_window *window = text->window;
    const struct gi_whisper_ids *ids = window->ids;
    const struct gi_whisper_mask mask = gi_whisper_next_mask(window);
    const struct gi_graph *graph = &session->tables.graph;
    const struct gi_range range = gi_speech_rules_range(&graph->logits);
    const struct gi_speech_rules rules = {
        .text_begin = mask.has_text ? 0 : ids->end,
        .text_end = mask.has_end ? ids->end + 1 : ids->end,
        .time_begin = mask.time_begin,
        .time_end = mask.time_end,
        .banned = mask.has_blank ? UINT32_MAX : text->choice->blank,
        .most_time = window->without_times ? ids->time : ids->n_vocab,
    };
    struct gi_range bits = graph->adjust.range;
    bits.offset += (uint64_t)graph->adjust.mask * sizeof(uint32_t);
    bits.size -= (uint64_t)graph->adjust.mask * sizeof(uint32_t);
    return gi_runner_fill(&session->runner, &range, &rules, sizeof(rules), call->failure) &&
           (window->count > 0 ||
            gi_runner_fill(&session->runner, &bits, text->choice->suppressed,
                           gi_divide_up(ids->n_vocab, 32) * sizeof(uint32_t), call->failure));
}

// The text ends with the token that ends it or with a timestamp that reaches the end of the sound,
// mostly one of the nearest.
static struct gi_step_state first_state(const struct gi_net_text *text)
{
    const struct gi_whisper_window *window = text->window;
    const struct gi_whisper_ids *ids = window->ids;
    const uint32_t last_time = gi_whisper_last_time(window);
    struct gi_step_state state = {
        .token = text->tokens[text->n - 1],
        .n_past = text->n_past + text->n - 1,
        .n_tokens = 1,
        .step = (uint32_t)window->count,
        .max_steps = window->max_tokens,
    };
    state.stop[state.n_stop++] = ids->end;
    for (uint32_t id = last_time; id < ids->n_vocab && state.n_stop < GI_MAX_STOP_IDS; id++) {
        state.stop[state.n_stop++] = id;
    }
    return state;
}

//-- after a chain ---------------------------------------------------------------------------------

static bool is_last(const struct gi_step_state *state, uint32_t token)
{
    bool is_stop = false;
    for (uint32_t i = 0; i < state->n_stop; i++) {
        is_stop = is_stop || state->stop[i] == token;
    }
    return is_stop;
}

// Reads the tokens of a chain up to the last of the text.
static bool take_tokens(const struct gi_speech_call *call, const struct gi_step_state *state,
                        struct gi_whisper_token *out, uint32_t *n_out, float *no_speech)
{
    struct glinfer_session *session = call->session;
    struct gi_runner *runner = &session->runner;
    struct gi_landing landing;
    bool is_over = false;
    uint32_t n = 0;
    if (!gi_runner_take(runner, &landing, call->failure)) {
        return false;
    }
    while (n < landing.n_steps && !is_over) {
        const struct gi_ring_entry *entry = &landing.entries[n];
        if (!gi_runner_check_entry(runner, entry, state->step + n, session->model->hparams.n_vocab,
                                   call->failure)) {
            return false;
        }
        out[n++] =
            (struct gi_whisper_token){entry->token, entry->probs[0].id, entry->probs[0].logprob};
        is_over = is_last(state, entry->token);
    }
    if (state->step == 0) {
        *no_speech = landing.entries[0].probs[1].logprob;
    }
    *n_out = n;
    const bool is_timed = state->step > 0 && !call->is_divided; // nothing but steps
    if (is_timed && n > 0 && n == landing.n_steps) {            // in full
        runner->step_ns = landing.time.ns / n;
    }
    return gi_runner_check_count(runner, &landing, n, call->failure);
}

// Submits the chain, or as much of it as the step has time for: steps that may not fit a
// submission.
static enum gi_net_result submit(struct gi_speech_call *call, const struct gi_step_state *state)
{
    struct glinfer_session *session = call->session;
    struct gi_runner *runner = &session->runner;
    const bool is_boxed =
        call->is_open || runner->step_ns == 0 || runner->step_ns * call->n_step > runner->budget_ns;
    struct gi_executor *executor = gi_tables_find(&session->tables, GI_LIST_SPEECH, call->failure);
    const struct gi_chain chain = {.n_past = state->n_past,
                                   .n_tokens = 1,
                                   .n_steps = call->n_step,
                                   .begin_ns = gi_clock_ns(),
                                   .box = is_boxed ? &runner->box : NULL,
                                   .cursor = is_boxed ? &call->cursor : NULL};
    if (!executor ||
        (is_boxed &&
         !gi_time_box_reserve(&runner->box, session->model->device->programs, call->failure)) ||
        !gi_runner_submit(runner, executor, &chain, state->step, call->failure)) {
        return GI_NET_FAILED;
    }
    call->is_open = call->cursor.is_paused;
    return call->is_open ? gi_speech_call_pause(call) : GI_NET_DONE;
}

enum gi_net_result gi_speech_write(void *user, const struct gi_net_text *text,
                                   struct gi_whisper_token out[GI_NET_TOKENS], uint32_t *n_out,
                                   float *no_speech)
{
    enum { READ, STEPS, TAKE };
    struct gi_speech_towers *towers = user;
    struct gi_speech_call *call = &towers->call;
    struct glinfer_session *session = towers->decoders[text->seq];
    const struct gi_step_state state = first_state(text);
    enum gi_net_result result = gi_speech_call_enter(call, session);
    if (result == GI_NET_DONE && call->stage == READ) {
        result = gi_speech_read(towers, text->n_past, text->tokens, text->n);
        if (result == GI_NET_DONE && (!write_rules(call, text) ||
                                      !gi_runner_write(&session->runner, &state, call->failure))) {
            result = GI_NET_FAILED;
        }
        const uint32_t n_left =
            gi_min_u32(state.max_steps - state.step, session->sequence.n_ctx - state.n_past);
        call->n_step = gi_min_u32(n_left, choose_length(towers, session, state.step));
        call->stage += result == GI_NET_DONE;
    }
    if (result == GI_NET_DONE && call->stage == STEPS) {
        result = submit(call, &state);
        call->stage += result == GI_NET_DONE;
    }
    if (result == GI_NET_DONE) {
        result = gi_speech_call_wait(call);
    }
    if (result == GI_NET_DONE && !take_tokens(call, &state, out, n_out, no_speech)) {
        result = GI_NET_FAILED;
    }
    return gi_speech_call_leave(call, result);
}
