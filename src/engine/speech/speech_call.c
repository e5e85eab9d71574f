#include "engine/speech/speech_call.h"

#include "base/clock.h"
#include "base/round.h"
#include "gpu/dispatch/run_count.h"

#include <string.h>

//-- results ---------------------------------------------------------------------------------------

// Creates the session's readback, with room for the logits of a token of each session of its group,
// the queries of a batch and the count of dispatches.
static bool open_readback(const struct gi_speech_call *call)
{
    struct glinfer_session *session = call->session;
    const struct gi_tables *tables = &session->tables;
    const struct gi_hparams *hparams = &session->model->hparams;
    const uint64_t n_query = (uint64_t)tables->n_batch * hparams->n_head * hparams->head_dim;
    const uint64_t n_logit = (uint64_t)session->group->n_slots * hparams->n_vocab;
    const uint64_t n = hparams->is_encoder ? 0 : gi_max_u64(n_logit, n_query);
    return session->logits.capacity > 0 ||
           gi_readback_init(&session->logits, gi_session_gpu(session), (n + 1) * sizeof(float),
                            call->failure);
}

// Begins to read n ranges and the count of dispatches, which also marks the end of all that was
// submitted.
static bool begin_fetch(struct gi_speech_call *call, const struct gi_range *ranges, uint32_t n,
                        uint64_t size)
{
    struct glinfer_session *session = call->session;
    struct gi_gpu *gpu = gi_session_gpu(session);
    struct gi_readback *readback = &session->logits;
    if (!open_readback(call)) {
        return false;
    }
    gi_readback_begin(readback);
    for (uint32_t i = 0; i < n; i++) {
        gi_readback_add_checked(readback, gpu, ranges[i].buffer, ranges[i].offset, size);
    }
    gi_run_count_add(gpu, readback);
    call->n_submitted = gi_run_count_submitted(gpu).n;
    if (!gi_readback_end(readback, gpu, call->failure)) {
        return false;
    }
    gi_time_box_forget(&session->runner.box);
    call->is_fetching = true;
    call->since_ns = gi_clock_ns();
    return true;
}

// Waits for the oldest chain or else for what is fetched, in a divided call no longer than the step
// may.
static enum gi_net_result wait_for(const struct gi_speech_call *call, bool is_chain)
{
    struct glinfer_session *session = call->session;
    const struct gi_fence *fence = &session->logits.fence;
    enum { SLICE_NS = 50000 };
    for (bool is_done = call->pause_ns == 0; !is_done;) {
        if (!(is_chain ? gi_runner_poll(&session->runner, &is_done, call->failure)
                       : gi_fence_poll(gi_session_gpu(session), fence, call->since_ns, &is_done,
                                       call->failure))) {
            return GI_NET_FAILED;
        }
        if (!is_done && gi_clock_ns() >= call->pause_ns) {
            return GI_NET_BUSY;
        }
        if (!is_done) {
            gi_clock_sleep(SLICE_NS);
        }
    }
    return GI_NET_DONE;
}

enum gi_net_result gi_speech_call_wait(struct gi_speech_call *call)
{
    return wait_for(call, true);
}

static enum gi_net_result end_fetch(struct gi_speech_call *call)
{
    struct gi_readback *readback = &call->session->logits;
    struct gi_gpu *gpu = gi_session_gpu(call->session);
    const enum gi_net_result result = wait_for(call, false);
    uint32_t n_ran;
    if (result != GI_NET_DONE) {
        return result;
    }
    call->is_fetching = false;
    const uint8_t *data = gi_readback_wait(readback, gpu, call->failure);
    if (!data) {
        return GI_NET_FAILED;
    }
    memcpy(&n_ran, data + readback->size - sizeof(n_ran), sizeof(n_ran));
    return gi_run_count_check(gpu, n_ran, call->n_submitted, call->failure) ? GI_NET_DONE
                                                                            : GI_NET_FAILED;
}

enum gi_net_result gi_speech_call_pause(struct gi_speech_call *call)
{
    call->is_divided = true;
    return begin_fetch(call, NULL, 0, 0) ? GI_NET_BUSY : GI_NET_FAILED;
}

enum gi_net_result gi_speech_call_fetch(struct gi_speech_call *call, const struct gi_range *ranges,
                                        uint32_t n, uint64_t size)
{
    return begin_fetch(call, ranges, n, size) ? end_fetch(call) : GI_NET_FAILED;
}

//-- steps -----------------------------------------------------------------------------------------

enum gi_net_result gi_speech_call_enter(struct gi_speech_call *call,
                                        struct glinfer_session *session)
{
    struct gi_runner *runner = &session->runner;
    const uint32_t ms = session->params.max_batch_ms ? session->params.max_batch_ms : 100;
    const uint64_t own_ns = ms * UINT64_C(1000000);
    enum gi_net_result result = GI_NET_DONE;
    if (call->session != session) {
        call->session = session;
        result = gi_runner_begin(runner, call->failure) ? GI_NET_DONE : GI_NET_FAILED;
    } else if (call->is_fetching) {
        result = end_fetch(call);
        // Others may have submitted steps that do not run.
        if (result == GI_NET_DONE && !gi_run_count_begin(runner->gpu, call->failure)) {
            result = GI_NET_FAILED;
        }
    }
    gi_runner_set_budget(runner, call->budget_ns > 0 && call->budget_ns < own_ns ? call->budget_ns
                                                                                 : own_ns);
    runner->box.pause_ns = call->pause_ns;
    runner->box.has_begun = false;
    return result;
}

enum gi_net_result gi_speech_call_submit(struct gi_speech_call *call, struct gi_executor *executor,
                                         const struct gi_chain *chain)
{
    struct glinfer_session *session = call->session;
    struct gi_runner *runner = &session->runner;
    struct gi_replay_cursor *cursor = &call->cursor;
    struct gi_chain own = *chain;
    own.n_steps = 1;
    own.box = &runner->box;
    own.cursor = cursor;
    if (!gi_time_box_reserve(&runner->box, session->model->device->programs, call->failure) ||
        !gi_runner_run(runner, executor, &own, call->failure)) {
        return GI_NET_FAILED;
    }
    const bool is_at_stop = cursor->is_paused && cursor->stop > 0 && cursor->entry == cursor->stop;
    call->is_open = cursor->is_paused;
    if (cursor->is_paused && !is_at_stop) {
        return gi_speech_call_pause(call);
    }
    if (!cursor->is_paused) {
        *cursor = (struct gi_replay_cursor){0};
    }
    return call->pause_ns > 0 || gi_time_box_close(&runner->box, call->failure) ? GI_NET_DONE
                                                                                : GI_NET_FAILED;
}

enum gi_net_result gi_speech_call_run(struct gi_speech_call *call, uint32_t list,
                                      const struct gi_step_state *state)
{
    struct glinfer_session *session = call->session;
    struct gi_executor *executor = gi_tables_find(&session->tables, list, call->failure);
    const struct gi_chain chain = {.n_past = state->n_past, .n_tokens = state->n_tokens};
    return executor && (call->is_open || gi_runner_write(&session->runner, state, call->failure))
               ? gi_speech_call_submit(call, executor, &chain)
               : GI_NET_FAILED;
}

enum gi_net_result gi_speech_call_leave(struct gi_speech_call *call, enum gi_net_result result)
{
    call->session->runner.box.pause_ns = 0;
    if (result != GI_NET_BUSY) {
        *call = (struct gi_speech_call){
            .failure = call->failure, .pause_ns = call->pause_ns, .budget_ns = call->budget_ns};
    }
    return result;
}
