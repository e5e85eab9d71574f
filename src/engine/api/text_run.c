#include "engine/api/text_run.h"

#include "engine/api/call.h"
#include "gpu/dispatch/time_box.h"

bool gi_text_run_check(const struct gi_text_run *run)
{
    const uint32_t n_ctx = run->session->sequence.n_ctx;
    const uint32_t n_vocab = run->session->model->hparams.n_vocab;
    if (run->n > n_ctx) {
        return gi_error_set(run->err, GLINFER_STATUS_CONTEXT_FULL,
                            "%zu tokens do not fit the context of %u", run->n, n_ctx);
    }
    for (size_t i = 0; i < run->n; i++) {
        if (run->ids[i] < 0 || (uint32_t)run->ids[i] >= n_vocab) {
            return gi_error_set(run->err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "token %zu is %d, the vocabulary has %u", i, run->ids[i], n_vocab);
        }
    }
    return true;
}

bool gi_text_run_call(struct gi_text_run *run, bool (*work)(struct gi_text_run *run))
{
    struct glinfer_session *session = run->session;
    struct gi_platform_saved saved;
    if (!gi_call_begin(session, &saved, run->err)) {
        return false;
    }
    gi_session_reset(session);
    gi_gpu_watch(gi_session_gpu(session), &session->is_cancelled);
    const bool ok = work(run);
    gi_gpu_watch(gi_session_gpu(session), NULL);
    gi_call_leave(session, &saved);
    return ok;
}

static bool submit(struct gi_text_run *run, size_t begin, uint32_t count)
{
    struct glinfer_session *session = run->session;
    struct gi_runner *runner = &session->runner;
    struct glinfer_error *err = run->err;
    struct gi_executor *prompt = gi_tables_prompt(&session->tables, count, err);
    const struct gi_step_state state = {.n_past = session->sequence.n_past, .n_tokens = count};
    const struct gi_chain chain = {
        .n_past = state.n_past, .n_tokens = count, .n_steps = 1, .box = &runner->box};
    return prompt && gi_time_box_reserve(&runner->box, session->model->device->programs, err) &&
           gi_runner_fill(runner, &session->tables.ranges[GI_SESSION_TOKENS], run->ids + begin,
                          count * sizeof(run->ids[0]), err) &&
           (!run->write || run->write(run, begin, count)) && gi_runner_write(runner, &state, err) &&
           gi_runner_run(runner, prompt, &chain, err) &&
           (!run->reader || gi_runner_run(runner, run->reader, &chain, err)) &&
           gi_time_box_close(&runner->box, err);
}

bool gi_text_run_batches(struct gi_text_run *run)
{
    struct glinfer_session *session = run->session;
    struct gi_sequence *sequence = &session->sequence;
    if (!gi_runner_begin(&session->runner, run->err)) {
        return false;
    }
    for (size_t done = 0; done < run->n;) {
        const size_t left = run->n - done;
        const uint32_t count = left < run->n_batch ? (uint32_t)left : run->n_batch;
        sequence->n_state = GI_NO_STATE; // until the batch has run
        if (!submit(run, done, count) || !run->take(run, done, count)) {
            return false;
        }
        gi_sequence_note_batch(sequence, sequence->n_past, (const uint32_t *)run->ids + done,
                               count);
        sequence->n_past += count;
        sequence->n_state = sequence->n_past;
        done += count;
        if (!gi_session_check_cancel(session, run->what, run->err)) {
            return false;
        }
    }
    return gi_gpu_check(gi_session_gpu(session), run->what, run->err);
}
