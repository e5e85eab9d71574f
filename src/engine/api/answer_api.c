// The functions of glinfer.h for answers: glinfer_generate runs an answer to its end, glinfer_step
// advances those that were begun within a time budget.
#include "base/arguments.h"
#include "base/clock.h"
#include "engine/answer/answer.h"
#include "engine/answer/answer_wake.h"
#include "engine/answer/constraint.h"
#include "engine/answer/joint_run.h"
#include "engine/api/call.h"
#include "engine/device/wake.h"
#include "engine/session/step_executors.h"
#include "gpu/dispatch/run_count.h"

#define STEP_BOX_NS (8 * UINT64_C(1000000)) // GPU time of a submission of glinfer_step

//-- to the end ------------------------------------------------------------------------------------

static uint32_t count_answers(const struct glinfer_device *device)
{
    uint32_t n = 0;
    for (const struct glinfer_model *model = device->models; model; model = model->next) {
        for (const struct glinfer_session *s = model->sessions; s; s = s->next) {
            n += s->answer != NULL;
        }
    }
    return n;
}

// Resets the dispatch counts after an answer if others are in progress, since the GPU skips the
// steps after an answer's last, which the others would miss. They report a failure themselves.
static void end_count(const struct glinfer_device *device, uint32_t n_others)
{
    if (n_others > 0) {
        (void)gi_run_count_begin(device->gpu, NULL);
    }
}

// Checks the conditions under which a call is refused without affecting the session's last answer,
// which can then still be resumed.
static bool can_begin(const struct glinfer_session *session, struct glinfer_error *err)
{
    return gi_device_is_free(session->model->device, err) &&
           gi_model_check_decoder(session->model, err) &&
           gi_model_check_text(session->model, err) && gi_session_check_idle(session, err);
}

// Copies the error that ended an answer to the caller's error, which may be NULL.
static void pass_failure(const struct gi_answer *answer, bool ok, struct glinfer_error *err)
{
    if (!ok && err) {
        *err = answer->err;
    }
}

bool glinfer_generate(struct glinfer_session *session, const struct glinfer_generate_params *params,
                      struct glinfer_stats *stats, struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(session), GI_SIZED(stats)) || !can_begin(session, err)) {
        return false;
    }
    struct gi_answer *answer = gi_answer_create(session, params, err);
    if (!answer) {
        return false;
    }
    bool ok = gi_session_enter(session, &saved, err);
    if (ok) {
        session->model->device->answering = session;
        gi_gpu_watch(gi_session_gpu(session), &session->is_cancelled);
        ok = gi_answer_start(answer, false);
        while (ok && answer->state != GI_ANSWER_IS_OVER) {
            ok = gi_answer_advance(answer);
        }
        gi_gpu_watch(gi_session_gpu(session), NULL);
        session->model->device->answering = NULL;
        gi_host_sample_end(answer, ok);
        end_count(session->model->device, count_answers(session->model->device));
        gi_answer_fill_stats(answer);
        if (ok) {
            gi_step_executors_request(session, gi_answer_step_kind(answer));
        }
        gi_session_leave(session, &saved);
        pass_failure(answer, ok, err);
    }
    if (stats) {
        gi_sized_give(stats, &answer->stats, sizeof(answer->stats));
    }
    gi_answer_destroy(answer, ok);
    gi_call_end(session->model->device);
    return ok;
}

//-- in steps --------------------------------------------------------------------------------------

// Sets the GPU time of the session's submissions: that of glinfer_step, or the configured one.
static void set_budget(struct glinfer_session *session, bool is_stepped)
{
    const uint32_t ms = session->params.max_batch_ms ? session->params.max_batch_ms : 100;
    const uint64_t ns = ms * UINT64_C(1000000);
    gi_runner_set_budget(&session->runner, is_stepped && ns > STEP_BOX_NS ? STEP_BOX_NS : ns);
    session->runner.box.pause_ns = 0;
}

static void end_answer(struct glinfer_session *session, bool is_whole)
{
    const struct glinfer_device *device = session->model->device;
    struct gi_gpu *gpu = gi_session_gpu(session);
    struct gi_platform_saved saved;
    gi_answers_forget_wake(device);
    gi_joint_run_leave(session->answer);
    gi_host_sample_end(session->answer, is_whole);
    if (gi_gpu_enter_last(gpu, &saved)) {
        end_count(device, count_answers(device) - 1);
        gi_gpu_leave(gpu, &saved);
    }
    gi_answer_destroy(session->answer, is_whole);
    session->answer = NULL;
    session->is_ending = false;
    set_budget(session, false);
    gi_answers_set_wake(device);
}

void gi_session_end_answer(struct glinfer_session *session)
{
    if (session->answer) {
        end_answer(session, false);
    }
}

void glinfer_end(struct glinfer_session *session)
{
    struct glinfer_device *device = session ? session->model->device : NULL;
    if (!device) {
        return;
    }
    if (!device->is_busy) {
        gi_session_end_answer(session);
    } else if (session->answer) {
        session->is_ending = true; // the running call still uses the answer
    } else if (device->answering == session) {
        glinfer_session_cancel(session);
    }
}

//-- turns -----------------------------------------------------------------------------------------

// Returns the next session after `last` that has an answer in progress, cyclically; NULL if no
// session has one.
static struct glinfer_session *find_next(const struct glinfer_device *device,
                                         const struct glinfer_session *last)
{
    struct glinfer_session *first = NULL;
    bool is_behind = false;
    for (struct glinfer_model *model = device->models; model; model = model->next) {
        for (struct glinfer_session *s = model->sessions; s; s = s->next) {
            if (s->answer && is_behind) {
                return s;
            }
            first = s->answer && !first ? s : first;
            is_behind = is_behind || s == last;
        }
    }
    return first;
}

// Advances an answer until it has an event, until it has to wait, or until a clock time.
static bool take_turn(struct glinfer_session *session, uint64_t until_ns)
{
    struct gi_answer *answer = session->answer;
    bool ok = true;
    if (answer->state == GI_ANSWER_IS_OVER) {
        gi_answer_fill_stats(answer);
        gi_step_executors_request(session, gi_answer_step_kind(answer));
        gi_joint_run_request(answer);
        session->stats = answer->stats;
        answer->delivery.event.kind = GLINFER_EVENT_END;
        answer->delivery.event.stats = &session->stats;
        return true;
    }
    session->runner.box.pause_ns = until_ns;
    session->runner.box.has_begun = false;
    gi_joint_run_set_pause(session, until_ns);
    session->runner.wants_fence_fds = session->model->device->wake_fd >= 0;
    gi_gpu_watch(gi_session_gpu(session), &session->is_cancelled);
    do {
        ok = gi_answer_advance(answer);
    } while (ok && answer->state != GI_ANSWER_IS_OVER &&
             answer->delivery.event.kind == GLINFER_EVENT_NONE && !answer->is_waiting &&
             (gi_clock_ns() < until_ns || answer->next < answer->n_live));
    gi_gpu_watch(gi_session_gpu(session), NULL);
    session->runner.box.pause_ns = 0;
    gi_joint_run_set_pause(session, 0);
    return ok;
}

// Advances one session. A token is delivered without entering the GPU, since switching between the
// host's context and ours for each token takes longer than a step of a small model. Sets *is_taken
// to false if the GPU cannot be entered; the answer then continues later.
static bool give_turn(struct glinfer_session *session, uint64_t until_ns, bool *is_taken,
                      struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    struct glinfer_device *device = session->model->device;
    const bool has_token = gi_answer_has_token(session->answer);
    *is_taken = has_token || gi_device_enter(device, &saved, err);
    if (!*is_taken) {
        return false;
    }
    device->is_busy = true;
    const bool ok = has_token ? gi_answer_advance(session->answer) : take_turn(session, until_ns);
    device->is_busy = false;
    pass_failure(session->answer, ok, err);
    if (!has_token) {
        gi_device_leave(device, &saved);
    }
    return ok;
}

// Advances sessions in turn until *event is set, until all wait, or until a clock time.
static bool take_turns(struct glinfer_device *device, uint64_t until_ns,
                       struct glinfer_event *event, struct glinfer_error *err)
{
    const uint32_t n = count_answers(device);
    uint32_t n_waiting = 0;
    bool ok = true, is_over = false, is_taken = true;
    do {
        struct glinfer_session *session = find_next(device, device->last_turn);
        const uint64_t box_ns = gi_clock_ns() + STEP_BOX_NS;
        device->last_turn = session;
        session->has_company = n > 1;
        ok = give_turn(session, n > 1 && box_ns < until_ns ? box_ns : until_ns, &is_taken, err);
        if (!is_taken) {
            return false;
        }
        const struct gi_answer *answer = session->answer;
        // An answer that its callback destroyed ends with this call; its token is dropped.
        const bool is_gone = session->is_doomed || session->is_ending;
        n_waiting = answer->is_waiting ? n_waiting + 1 : 0;
        is_over = !ok || is_gone || answer->delivery.event.kind == GLINFER_EVENT_END;
        *event = ok && !is_gone ? answer->delivery.event : (struct glinfer_event){0};
        event->session = (!ok && !is_gone) || event->kind != GLINFER_EVENT_NONE ? session : NULL;
        if (!ok && event->session) {
            gi_answer_fill_stats(session->answer);
            session->stats = answer->stats;
            event->stats = &session->stats;
        }
        if (is_over) {
            end_answer(session, ok && !is_gone);
        }
    } while (!is_over && event->kind == GLINFER_EVENT_NONE && n_waiting < n &&
             gi_clock_ns() < until_ns);
    return ok;
}

//-- the descriptor --------------------------------------------------------------------------------

int glinfer_device_fd(struct glinfer_device *device, struct glinfer_error *err)
{
    if (!GI_CHECK(err, GI_SET(device))) {
        return -1;
    }
    if (device->wake_fd < 0 && gi_wake_open(device, err)) {
        gi_answers_set_wake(device);
    }
    return device->wake_fd;
}

//-- the calls -------------------------------------------------------------------------------------

bool glinfer_begin(struct glinfer_session *session, const struct glinfer_generate_params *params,
                   struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(session)) || !can_begin(session, err)) {
        return false;
    }
    struct gi_answer *answer = gi_answer_create(session, params, err);
    if (!answer) {
        return false;
    }
    bool ok = gi_session_enter(session, &saved, err);
    if (ok) {
        set_budget(session, true);
        gi_gpu_watch(gi_session_gpu(session), &session->is_cancelled);
        ok = gi_answer_start(answer, true);
        gi_gpu_watch(gi_session_gpu(session), NULL);
        if (!ok) {
            gi_host_sample_end(answer, false);
        }
        gi_session_leave(session, &saved);
        pass_failure(answer, ok, err);
    }
    if (ok) {
        session->answer = answer;
        gi_answers_set_wake(session->model->device);
    } else {
        gi_answer_destroy(answer, false);
    }
    gi_call_end(session->model->device);
    return ok;
}

bool glinfer_step(struct glinfer_device *device, uint32_t budget_us, struct glinfer_event *event,
                  struct glinfer_error *err)
{
    struct glinfer_event full = {0};
    const uint64_t until_ns = gi_clock_ns() + budget_us * UINT64_C(1000);
    if (!GI_CHECK(err, GI_SET(device), GI_SET(event), GI_SIZED(event))) {
        return false;
    }
    gi_sized_give(event, &full, sizeof(full));
    if (!gi_device_is_free(device, err)) {
        return false;
    }
    if (count_answers(device) == 0) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "no session of the device has an answer under way: glinfer_begin "
                            "begins one");
    }
    gi_answers_forget_wake(device);
    const bool ok = take_turns(device, until_ns, &full, err);
    gi_sized_give(event, &full, sizeof(full));
    gi_answers_set_wake(device);
    gi_call_end(device);
    return ok;
}

bool glinfer_grammar_check(const struct glinfer_grammar *grammar, struct glinfer_error *err)
{
    return GI_CHECK(err, GI_SET(grammar)) && gi_constraint_try(grammar, err);
}
