// Advances an answer: batches of the prompt, then chains of decode steps, two in flight. A chain is
// read back while the next one runs. The first chain is the token that follows the prompt.
#include "engine/answer/answer.h"

#include "base/clock.h"
#include "engine/answer/context_full.h"
#include "engine/answer/joint_run.h"
#include "engine/session/step_executors.h"
#include "gpu/device/fence.h"

//-- delivery ------------------------------------------------------------------------------------

static bool is_stop_id(const struct gi_answer *answer, uint32_t id)
{
    for (uint32_t i = 0; !answer->params.ignore_eos && i < answer->session->n_stop_ids; i++) {
        if ((uint32_t)answer->session->stop_ids[i] == id) {
            return true;
        }
    }
    return false;
}

static void deliver_text(struct gi_answer *answer, int32_t id, struct gi_text text,
                         const struct gi_ring_entry *entry)
{
    answer->delivery.token = (struct glinfer_token){
        .id = id, .text = text.data, .text_size = text.size, .probs = answer->delivery.probs};
    for (uint32_t i = 0; entry && i < answer->params.n_probs; i++) {
        answer->delivery.probs[i] =
            (struct glinfer_prob){(int32_t)entry->probs[i].id, entry->probs[i].logprob};
        answer->delivery.token.n_probs++;
    }
    answer->delivery.event.kind = GLINFER_EVENT_TOKEN;
    answer->delivery.event.token = &answer->delivery.token;
    if (answer->stats.ttft_ms == 0) {
        answer->stats.ttft_ms = (double)(gi_clock_ns() - answer->clock.start_ns) / 1e6;
    }
    if (answer->params.on_token &&
        !answer->params.on_token(answer->params.token_user, &answer->delivery.token)) {
        gi_answer_finish(answer, GLINFER_STOP_CALLBACK);
    }
}

struct gi_text gi_answer_bytes(const struct gi_answer *answer, int32_t id)
{
    const struct gi_tokenizer *tokenizer = answer->session->model->tokenizer.core;
    return gi_tokenizer_is_control(tokenizer, id) ? (struct gi_text){NULL, 0}
                                                  : gi_tokenizer_bytes(tokenizer, id);
}

static void deliver(struct gi_answer *answer, const struct gi_ring_entry *entry)
{
    struct gi_sequence *sequence = &answer->session->sequence;
    const int32_t id = (int32_t)entry->token;
    answer->stats.predicted_n++;
    sequence->pending = id;
    gi_adjust_accept(&answer->adjusting, entry->token);
    gi_sequence_note_step(sequence, sequence->n_past, entry->token);
    if (is_stop_id(answer, entry->token)) {
        sequence->n_state = sequence->n_past; // steps submitted after it are no-ops
        gi_answer_finish(answer, GLINFER_STOP_EOS);
        return;
    }
    deliver_text(answer, id, gi_text_stream_push(&answer->text, gi_answer_bytes(answer, id)),
                 entry);
    if (answer->text.is_stopped) {
        answer->stats.stop_index = (uint32_t)answer->text.stop_index;
        gi_answer_finish(answer, GLINFER_STOP_WORD);
    } else if (!gi_answer_is_finished(answer) && answer->stats.predicted_n == answer->max_steps) {
        gi_answer_reach_limit(answer);
    }
}

// Divides the time of a chain, and of the draft that it checks, among its steps.
static void learn_step(struct gi_answer *answer, const struct gi_chain_time *time)
{
    struct gi_runner *runner = &answer->session->runner;
    const struct gi_speculation *draft = &answer->speculation;
    const bool is_draft = draft->phase == GI_SPECULATION_FLYING;
    const uint64_t ns = is_draft ? time->end_ns - draft->begin_ns : time->ns;
    answer->clock.landing_ns = time->is_exact ? ns : 0;
    if (runner->step_ns == 0 || (!is_draft && !draft->is_alone)) {
        runner->step_ns = gi_chain_time_learn(time, runner->step_ns, ns / answer->landing.n_steps);
    }
}

static void learn_time(struct gi_answer *answer)
{
    struct gi_landing *landing = &answer->landing;
    answer->clock.last_cpu_ns = gi_clock_cpu_ns();
    answer->clock.last_ns = landing->time.end_ns;
    if (landing->first == 0) {
        answer->clock.first_ns = answer->clock.last_ns;
        answer->clock.first_cpu_ns = answer->clock.last_cpu_ns;
        answer->clock.landing_ns = 0;
    } else {
        learn_step(answer, &landing->time);
    }
    landing->step_ns = answer->session->runner.step_ns;
}

// Discards the chains after one that its executor gave up, which are no-ops, and continues with the
// multi-dispatch executor after the last delivered token. is_own: the session's executor is given
// up; else joint_run.c has given up that of joint steps.
static bool recover(struct gi_answer *answer, const struct gi_landing *landing, bool is_own)
{
    struct glinfer_session *session = answer->session;
    answer->n_submitted = landing->first;
    answer->step = answer->logits = NULL;        // they may be destroyed
    gi_gpu_watch(gi_session_gpu(session), NULL); // no cancellation in the middle of the recovery
    if (!gi_step_executors_settle(session, is_own, &answer->err)) {
        return false;
    }
    gi_gpu_watch(gi_session_gpu(session), &session->is_cancelled);
    if (session->sequence.is_recurrent) { // the states are unknown
        return gi_error_set(&answer->err, GLINFER_STATUS_GPU_FAULT,
                            "a chain of steps was given up in the middle; asked again, the "
                            "session goes on without such");
    }
    return gi_runner_begin(&session->runner, &answer->err) && gi_answer_go_on(answer);
}

// Returns the number of steps of a chain up to the one that ends the answer or disagrees with a
// draft.
static uint32_t count_live(const struct gi_answer *answer, const struct gi_landing *landing)
{
    uint32_t n = 1;
    while (n < landing->n_steps && !is_stop_id(answer, landing->entries[n - 1].token) &&
           gi_speculation_is_right(answer, landing, n - 1)) {
        n++;
    }
    return n;
}

// Checks that the results of the chain up to step n_live are valid.
static bool check_chain(struct gi_answer *answer, const struct gi_landing *landing, uint32_t n_live)
{
    const struct glinfer_session *session = answer->session;
    for (uint32_t i = 0; i < n_live; i++) {
        if (!gi_runner_check_entry(&session->runner, &landing->entries[i], landing->first + i,
                                   session->model->hparams.n_vocab, &answer->err)) {
            return false;
        }
    }
    return gi_runner_check_count(&session->runner, landing, n_live, &answer->err);
}

// Checks a chain that has run and begins to deliver its tokens.
static bool take_landing(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    struct gi_landing *landing = &answer->landing;
    const uint32_t n_live = count_live(answer, landing);
    if (!check_chain(answer, landing, n_live) || !gi_host_sample_choose(answer, landing)) {
        return false;
    }
    gi_speculation_land(answer, landing, n_live, answer->clock.landing_ns);
    session->sequence.is_stale = false;
    answer->n_live = n_live;
    answer->next = 0;
    if (answer->params.n_predict == 0) { // the call only processes a prompt: no token counts
        answer->n_live = 0;
        session->sequence.pending = GI_NO_TOKEN;
        session->sequence.n_past = answer->base;
        answer->state = GI_ANSWER_ENDS;
    }
    return true;
}

// Waits for the oldest chain in flight and begins to deliver its tokens.
static bool take_chain(struct gi_answer *answer)
{
    struct gi_landing *landing = &answer->landing;
    if (!gi_runner_take(&answer->session->runner, landing, &answer->err)) {
        return false;
    }
    if (landing->is_faulty) {
        return recover(answer, landing, true);
    }
    learn_time(answer);
    return take_landing(answer);
}

// Submits or retires the next joint chain.
static bool advance_joint(struct gi_answer *answer)
{
    bool has_landed = false;
    if (!gi_joint_run_advance(answer, &has_landed)) {
        return false;
    }
    return !has_landed                 ? true
           : answer->landing.is_faulty ? recover(answer, &answer->landing, false)
                                       : take_landing(answer);
}

static void deliver_next(struct gi_answer *answer)
{
    const struct gi_landing *landing = &answer->landing;
    const uint32_t i = answer->next++;
    answer->session->sequence.n_past = answer->base + landing->first + i;
    const uint64_t steps_ns = landing->step_ns * landing->n_steps;
    deliver(answer, &landing->entries[i]);
    gi_speculation_note(answer, landing, i);
    if (!gi_answer_is_finished(answer) && answer->next == answer->n_live && landing->first > 0) {
        gi_answer_rest(answer, answer->speculation.was_draft ? answer->clock.landing_ns : steps_ns);
    }
}

//-- the whole -----------------------------------------------------------------------------------

// Sets is_waiting if the answer has to wait for the GPU or the end of a rest. Fails with GPU_LOST.
static bool look(struct gi_answer *answer, bool takes)
{
    bool is_ready = true;
    if (takes && !gi_runner_poll(&answer->session->runner, &is_ready, &answer->err)) {
        return false;
    }
    const uint64_t now = gi_clock_ns();
    answer->is_waiting = !is_ready || now < answer->clock.rest_until;
    return true;
}

static bool is_slow(const struct glinfer_session *session)
{
    return gi_gpu_platform(gi_session_gpu(session))->is_software || session->gpu_duty < 100;
}

// Returns the maximum number of chains in flight. It is 1 for a software renderer, which computes
// during the submission, for a GPU that must rest between chains, if the host chooses tokens or a
// mask depends on them, and if a draft is next. With a mask, the logits of the next step are
// submitted early.
static uint32_t choose_flights(const struct gi_answer *answer)
{
    const bool is_alone =
        is_slow(answer->session) || gi_answer_needs_tokens(answer) || gi_speculation_holds(answer);
    return is_alone ? 1 : GI_CHAINS_IN_FLIGHT;
}

// Submits the next chain or retires the oldest one.
static bool submit_or_take(struct gi_answer *answer)
{
    const struct glinfer_session *session = answer->session;
    const bool is_joint = gi_joint_run_suits(answer);
    const bool wants_logits = gi_answer_wants_logits(answer);
    if (wants_logits && !is_joint && !is_slow(session) && session->runner.n_flights > 0) {
        return gi_answer_submit_logits(answer);
    }
    const bool is_full = session->runner.n_flights >= choose_flights(answer);
    const bool takes = is_full || is_joint ||
                       (answer->n_submitted > 0 && answer->n_submitted >= answer->max_steps);
    if (is_joint && session->runner.n_flights == 0) {
        return advance_joint(answer);
    }
    if (gi_answer_is_stepped(answer) && !look(answer, takes)) {
        return false;
    }
    if (answer->is_waiting) {
        return true;
    }
    if (takes) {
        return take_chain(answer);
    }
    return answer->n_submitted == 0        ? gi_answer_submit_prompt(answer)
           : wants_logits                  ? gi_answer_submit_logits(answer)
           : gi_speculation_choose(answer) ? gi_speculation_submit(answer)
                                           : gi_answer_submit_chain(answer);
}

// Returns true if the next chain should be submitted before the remaining tokens are delivered:
// with glinfer_step each token takes a call, and the GPU would run out of work. A chain that is
// submitted in pieces is not.
static bool can_refill(const struct gi_answer *answer)
{
    const struct gi_runner *runner = &answer->session->runner;
    const uint32_t n_flights = choose_flights(answer);
    return gi_answer_is_stepped(answer) && !gi_answer_is_finished(answer) &&
           !answer->open.executor && n_flights > 1 && runner->n_flights < n_flights &&
           answer->n_submitted < answer->max_steps && answer->n_live == answer->landing.n_steps &&
           !is_stop_id(answer, answer->landing.entries[answer->n_live - 1].token) &&
           !gi_answer_is_boxed(answer) && !gi_joint_run_suits(answer);
}

bool gi_answer_has_token(const struct gi_answer *answer)
{
    return answer->next < answer->n_live && !gi_answer_is_finished(answer) && !can_refill(answer);
}

// Delivers the text that was held back, and checks for GL errors during the whole answer. A later
// error is found by the next answer.
static bool end(struct gi_answer *answer)
{
    struct glinfer_error own = {0};
    const struct gi_text rest = gi_text_stream_flush(&answer->text);
    if (rest.size > 0 && answer->stats.stop != GLINFER_STOP_CALLBACK) {
        deliver_text(answer, GI_NO_TOKEN, rest, NULL);
    }
    answer->state = GI_ANSWER_IS_OVER;
    return gi_gpu_check(gi_session_gpu(answer->session), "generating", &own) ||
           own.status == GLINFER_STATUS_GPU_LOST || gi_error_pass(&answer->err, &own);
}

bool gi_answer_advance(struct gi_answer *answer)
{
    answer->delivery.event.kind = GLINFER_EVENT_NONE;
    answer->is_waiting = false;
    if (answer->state == GI_ANSWER_ENDS) {
        return end(answer);
    }
    const bool is_chosen = gi_answer_needs_tokens(answer) && answer->next < answer->n_live;
    if (!is_chosen && !gi_session_check_cancel(answer->session, "the answer", &answer->err)) {
        return false; // tokens that the host has already accepted must be delivered
    }
    if (answer->open.executor) {
        return gi_answer_submit_open(answer);
    }
    if (answer->next < answer->n_live && !can_refill(answer)) {
        deliver_next(answer);
        return true;
    }
    if (answer->has_failed) {
        return false;
    }
    if (answer->next < answer->n_live) {
        return gi_answer_submit_chain(answer);
    }
    switch (answer->state) {
    case GI_ANSWER_REBUILDS:
        return gi_answer_submit_rebuild(answer);
    case GI_ANSWER_SHIFTS:
        return gi_answer_make_room(answer);
    default:
        return submit_or_take(answer);
    }
}
