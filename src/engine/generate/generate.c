// The way of an answer: batches of the prompt, then chains of decode steps, two in flight. A chain
// is read while the next one runs; the first "chain" is the token that the prompt itself gives.
#include "engine/generate/generate.h"

#include "base/clock.h"
#include "engine/api/arguments.h"
#include "engine/generate/joint_run.h"
#include "engine/run/step_executors.h"
#include "engine/state/context_full.h"
#include "gpu/device/fence.h"

//-- delivery ------------------------------------------------------------------------------------

static bool is_stop_id(const struct gi_generation *run, uint32_t id)
{
    for (uint32_t i = 0; !run->params.ignore_eos && i < run->session->n_stop_ids; i++) {
        if ((uint32_t)run->session->stop_ids[i] == id) {
            return true;
        }
    }
    return false;
}

void gi_generation_finish(struct gi_generation *run, enum glinfer_stop stop)
{
    run->stats.stop = stop;
    run->state = GI_GENERATION_ENDS;
}

static void deliver_text(struct gi_generation *run, int32_t id, struct gi_text text,
                         const struct gi_ring_entry *entry)
{
    run->token = (struct glinfer_token){
        .id = id, .text = text.data, .text_size = text.size, .probs = run->probs};
    for (uint32_t i = 0; entry && i < run->params.n_probs; i++) {
        run->probs[i] = (struct glinfer_prob){(int32_t)entry->probs[i].id, entry->probs[i].logprob};
        run->token.n_probs++;
    }
    run->event.kind = GLINFER_EVENT_TOKEN;
    run->event.token = &run->token;
    if (run->stats.ttft_ms == 0) {
        run->stats.ttft_ms = (double)(gi_clock_ns() - run->clock.start_ns) / 1e6;
    }
    if (run->params.on_token && !run->params.on_token(run->params.token_user, &run->token)) {
        gi_generation_finish(run, GLINFER_STOP_CALLBACK);
    }
}

struct gi_text gi_generation_bytes(const struct gi_generation *run, int32_t id)
{
    const struct gi_tokenizer *tokenizer = run->session->model->tokenizer.core;
    return gi_tokenizer_is_control(tokenizer, id) ? (struct gi_text){NULL, 0}
                                                  : gi_tokenizer_bytes(tokenizer, id);
}

static void deliver(struct gi_generation *run, const struct gi_ring_entry *entry)
{
    struct gi_sequence *sequence = &run->session->sequence;
    const int32_t id = (int32_t)entry->token;
    run->stats.predicted_n++;
    sequence->pending = id;
    gi_adjust_accept(&run->adjusting, entry->token);
    gi_sequence_note_step(sequence, sequence->n_past, entry->token);
    if (is_stop_id(run, entry->token)) {
        sequence->n_state = sequence->n_past; // what was submitted behind it does nothing
        gi_generation_finish(run, GLINFER_STOP_EOS);
        return;
    }
    deliver_text(run, id, gi_text_stream_push(&run->text, gi_generation_bytes(run, id)), entry);
    if (run->text.is_stopped) {
        run->stats.stop_index = (uint32_t)run->text.stop_index;
        gi_generation_finish(run, GLINFER_STOP_WORD);
    } else if (!gi_generation_is_finished(run) && run->stats.predicted_n == run->max_steps) {
        gi_generation_reach_limit(run);
    }
}

// Takes the time of a chain as that of its steps. Stepped, a chain may have been submitted by
// several calls, and may have been over for long when it is taken: it then took no longer than
// since its submission began, which counts if it is less than is known.
static void learn_step(struct gi_generation *run, const struct gi_landing *landing, uint64_t now)
{
    struct gi_runner *runner = &run->session->runner;
    const uint64_t last = run->clock.last_ns + run->clock.rested_ns;
    const bool is_behind =
        !gi_generation_is_stepped(run) || (run->clock.is_end_seen && last > landing->begin_ns);
    const struct gi_speculation *draft = &run->speculation;
    const bool is_draft = draft->phase == GI_SPECULATION_FLYING;
    const uint64_t begin = is_behind ? last : is_draft ? draft->begin_ns : landing->begin_ns;
    const uint64_t ns = now > begin ? now - begin : 1;
    const uint64_t step_ns = ns / landing->n_steps;
    run->clock.is_end_seen =
        !gi_generation_is_stepped(run) || (now - run->clock.polled_ns) * 4 < ns;
    run->clock.landing_ns = run->clock.is_end_seen ? ns : 0;
    if (runner->step_ns == 0 ||
        (!is_draft && !draft->is_alone && (run->clock.is_end_seen || step_ns < runner->step_ns))) {
        runner->step_ns = step_ns;
    }
}

static void learn_time(struct gi_generation *run, const struct gi_landing *landing)
{
    const uint64_t now = gi_clock_ns();
    run->clock.last_cpu_ns = gi_clock_cpu_ns();
    if (landing->first == 0) {
        run->clock.first_ns = now;
        run->clock.first_cpu_ns = run->clock.last_cpu_ns;
        run->clock.landing_ns = 0;
    } else {
        learn_step(run, landing, now);
    }
    run->clock.last_ns = now;
    run->clock.rested_ns = 0;
}

bool gi_generation_go_on(struct gi_generation *run)
{
    struct glinfer_session *session = run->session;
    const uint32_t position = run->base + run->n_submitted - 1;
    run->logits_ns = 0;
    return gi_generation_find_executors(run) && gi_adjust_write(run, position) &&
           gi_generation_write_state(run, (uint32_t)session->sequence.pending, position, 1);
}

// Drops the chains behind one that its executor gave up, which did nothing, and goes on by many
// dispatches from the last token that was delivered.
static bool recover(struct gi_generation *run, const struct gi_landing *landing)
{
    struct glinfer_session *session = run->session;
    run->n_submitted = landing->first;
    run->step = run->logits = NULL;              // they may be destroyed
    gi_gpu_watch(gi_session_gpu(session), NULL); // half a recovery would leave half a state
    if (!gi_step_executors_settle(session, true, run->err)) {
        return false;
    }
    gi_gpu_watch(gi_session_gpu(session), &session->is_cancelled);
    if (session->sequence.is_recurrent) { // states went on an unknown way
        return gi_error_set(run->err, GLINFER_STATUS_GPU_FAULT,
                            "a chain of steps was given up in the middle; asked again, the "
                            "session goes on without such");
    }
    return gi_runner_begin(&session->runner, run->err) && gi_generation_go_on(run);
}

// Returns the steps of a chain up to the one that ends the answer, or is the last that a draft has
// right.
static uint32_t count_live(const struct gi_generation *run, const struct gi_landing *landing)
{
    uint32_t n = 1;
    while (n < landing->n_steps && !is_stop_id(run, landing->entries[n - 1].token) &&
           gi_speculation_is_right(run, landing, n - 1)) {
        n++;
    }
    return n;
}

// True if all that the chain did up to its n_live'th step can be believed.
static bool check_chain(const struct gi_generation *run, const struct gi_landing *landing,
                        uint32_t n_live)
{
    const struct glinfer_session *session = run->session;
    for (uint32_t i = 0; i < n_live; i++) {
        if (!gi_runner_check_entry(&session->runner, &landing->entries[i], landing->first + i,
                                   session->model->hparams.n_vocab, run->err)) {
            return false;
        }
    }
    return gi_runner_check_count(&session->runner, landing, n_live, run->err);
}

// Throws the token away that a prompt gives which nothing follows.
static void end_prompt(struct gi_generation *run)
{
    struct gi_sequence *sequence = &run->session->sequence;
    sequence->pending = GI_NO_TOKEN;
    sequence->n_past = run->base;
    run->state = GI_GENERATION_ENDS;
}

// Begins to deliver the tokens of a chain that has run.
static bool take_landing(struct gi_generation *run)
{
    struct glinfer_session *session = run->session;
    struct gi_landing *landing = &run->landing;
    const uint32_t n_live = count_live(run, landing);
    if (!check_chain(run, landing, n_live) || !gi_host_sample_choose(run, landing)) {
        return false;
    }
    gi_speculation_land(run, landing, n_live, run->clock.landing_ns);
    session->sequence.is_stale = false;
    run->n_live = n_live;
    run->next = 0;
    if (run->params.n_predict == 0) {
        run->n_live = 0;
        end_prompt(run);
    }
    return true;
}

// Waits for the oldest chain, whose tokens are to be delivered.
static bool take_chain(struct gi_generation *run)
{
    struct gi_landing *landing = &run->landing;
    if (!gi_runner_take(&run->session->runner, landing, run->err)) {
        return false;
    }
    if (landing->is_faulty) {
        return recover(run, landing);
    }
    learn_time(run, landing);
    return take_landing(run);
}

static void deliver_next(struct gi_generation *run)
{
    const struct gi_landing *landing = &run->landing;
    const uint32_t i = run->next++;
    run->session->sequence.n_past = run->base + landing->first + i;
    const uint64_t steps_ns = run->session->runner.step_ns * landing->n_steps;
    deliver(run, &landing->entries[i]);
    gi_speculation_note(run, landing, i);
    if (!gi_generation_is_finished(run) && run->next == run->n_live && landing->first > 0) {
        gi_generation_rest(run, run->speculation.was_draft ? run->clock.landing_ns : steps_ns);
    }
}

//-- the whole -----------------------------------------------------------------------------------

// Sets is_waiting if nothing can be done now without waiting. Fails with GPU_LOST.
static bool look(struct gi_generation *run, bool takes)
{
    bool is_ready = true;
    if (takes && !gi_runner_poll(&run->session->runner, &is_ready, run->err)) {
        return false;
    }
    const uint64_t now = gi_clock_ns();
    run->clock.polled_ns = is_ready ? run->clock.polled_ns : now;
    run->is_waiting = !is_ready || now < run->clock.rest_until;
    return true;
}

static bool advance_jointly(struct gi_generation *run)
{
    bool has_landed = false;
    return gi_joint_run_advance(run, &has_landed) && (!has_landed || take_landing(run));
}

static bool is_slow(const struct glinfer_session *session)
{
    return gi_gpu_platform(gi_session_gpu(session))->is_software || session->gpu_duty < 100;
}

// Returns how many chains may be in flight. A software renderer computes while we submit, so a
// second chain would only hold the first one back; behind one that rests the GPU is idle, where the
// host chooses tokens there is nothing to submit, and a draft needs the latest token. With a mask
// the logits of the next step are, which the GPU computes while the host works out what may come.
static uint32_t choose_flights(const struct gi_generation *run)
{
    const bool is_alone =
        is_slow(run->session) || gi_generation_needs_tokens(run) || gi_speculation_holds(run);
    return is_alone ? 1 : GI_CHAINS_IN_FLIGHT;
}

// Submits a chain or takes one: whichever comes next.
static bool submit_or_take(struct gi_generation *run)
{
    const struct glinfer_session *session = run->session;
    const bool is_joint = gi_joint_run_suits(run);
    const bool wants_logits = gi_generation_wants_logits(run);
    if (wants_logits && !is_joint && !is_slow(session) && session->runner.n_flights > 0) {
        return gi_generation_submit_logits(run);
    }
    const bool is_full = session->runner.n_flights >= choose_flights(run);
    const bool takes =
        is_full || is_joint || (run->n_submitted > 0 && run->n_submitted >= run->max_steps);
    if (is_joint && session->runner.n_flights == 0) {
        return advance_jointly(run);
    }
    if (gi_generation_is_stepped(run) && !look(run, takes)) {
        return false;
    }
    if (run->is_waiting) {
        return true;
    }
    if (takes) {
        return take_chain(run);
    }
    return run->n_submitted == 0        ? gi_generation_submit_prompt(run)
           : wants_logits               ? gi_generation_submit_logits(run)
           : gi_speculation_choose(run) ? gi_speculation_submit(run)
                                        : gi_generation_submit_chain(run);
}

// True if the answer goes on behind the tokens that are to be delivered, so that the next chain is
// submitted before them: in steps a caller takes a call for each, and the GPU would run out of
// work. One that is submitted in pieces waits until they are delivered.
static bool can_refill(const struct gi_generation *run)
{
    const struct gi_runner *runner = &run->session->runner;
    const uint32_t n_flights = choose_flights(run);
    return gi_generation_is_stepped(run) && !gi_generation_is_finished(run) &&
           !run->open.executor && n_flights > 1 && runner->n_flights < n_flights &&
           run->n_submitted < run->max_steps && run->n_live == run->landing.n_steps &&
           !is_stop_id(run, run->landing.entries[run->n_live - 1].token) &&
           !gi_generation_is_boxed(run) && !gi_joint_run_suits(run);
}

bool gi_generation_has_token(const struct gi_generation *run)
{
    return run->next < run->n_live && !gi_generation_is_finished(run) && !can_refill(run);
}

// Delivers what was held back, and looks for errors behind the whole answer. One that comes too
// late to touch it shows the next time.
static bool end(struct gi_generation *run)
{
    struct glinfer_error own = {0};
    const struct gi_text rest = gi_text_stream_flush(&run->text);
    if (rest.size > 0 && run->stats.stop != GLINFER_STOP_CALLBACK) {
        deliver_text(run, GI_NO_TOKEN, rest, NULL);
    }
    run->state = GI_GENERATION_IS_OVER;
    return gi_gpu_check(gi_session_gpu(run->session), "generating", &own) ||
           own.status == GLINFER_STATUS_GPU_LOST ||
           gi_error_set(run->err, own.status, "%s", own.message);
}

static bool advance(struct gi_generation *run)
{
    if (run->state == GI_GENERATION_ENDS) {
        return end(run);
    }
    const bool is_chosen = gi_generation_needs_tokens(run) && run->next < run->n_live;
    if (!is_chosen && !gi_session_check_cancel(run->session, "the generation", run->err)) {
        return false; // what is known to a chain on the host or a grammar has to be delivered
    }
    if (run->open.executor) {
        return gi_generation_submit_open(run);
    }
    if (run->next < run->n_live && !can_refill(run)) {
        deliver_next(run);
        return true;
    }
    if (run->next < run->n_live) {
        return gi_generation_submit_chain(run);
    }
    switch (run->state) {
    case GI_GENERATION_REBUILDS:
        return gi_generation_submit_rebuild(run);
    case GI_GENERATION_SHIFTS:
        return gi_generation_make_room(run);
    default:
        return submit_or_take(run);
    }
}

bool gi_generation_advance(struct gi_generation *run)
{
    run->event.kind = GLINFER_EVENT_NONE;
    run->is_waiting = false;
    if (run->failure.status != GLINFER_STATUS_OK || !advance(run)) {
        return false;
    }
    run->failure.status = GLINFER_STATUS_OK; // of what was tried and replaced
    return true;
}
