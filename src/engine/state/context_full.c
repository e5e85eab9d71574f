#include "engine/state/context_full.h"

#include "base/clock.h"
#include "gpu/dispatch/multi_executor.h"

size_t gi_generation_prompt_size(const struct gi_generation *run)
{
    const struct glinfer_generate_params *params = &run->params;
    const bool may_shift = params->context_full == GLINFER_CONTEXT_FULL_SHIFT &&
                           run->max_steps < (uint32_t)params->n_predict;
    return may_shift ? 0 : run->n_prompt;
}

void gi_generation_reach_limit(struct gi_generation *run)
{
    const struct glinfer_generate_params *params = &run->params;
    if (run->max_steps == (uint32_t)params->n_predict) {
        gi_generation_finish(run, GLINFER_STOP_LIMIT);
    } else if (params->context_full == GLINFER_CONTEXT_FULL_STOP) {
        gi_generation_finish(run, GLINFER_STOP_CONTEXT);
    } else {
        run->state = GI_GENERATION_SHIFTS;
    }
}

// Cuts the tokens from `at` on into batches as a prompt would have them.
static bool plan_batches(const struct gi_generation *run, uint32_t at)
{
    struct glinfer_session *session = run->session;
    struct gi_sequence *sequence = &session->sequence;
    for (uint32_t count; at < sequence->n_past; at += count) {
        const uint32_t n_left = sequence->n_past - at;
        const struct gi_executor *executor = gi_tables_prompt(&session->tables, n_left, run->err);
        if (!executor) {
            return false;
        }
        count = gi_session_choose_batch(session, gi_multi_executor_list(executor),
                                        &session->runner.box, at, n_left, false);
        gi_sequence_join_batch(sequence, at, count);
    }
    return true;
}

void gi_generation_count_anew(struct gi_generation *run)
{
    const struct gi_sequence *sequence = &run->session->sequence;
    const uint32_t wanted = (uint32_t)run->params.n_predict;
    const uint32_t room = sequence->n_ctx - sequence->n_past;
    run->base = sequence->n_past + 1 - run->n_submitted;
    run->max_steps = wanted - run->n_submitted > room ? run->n_submitted + room : wanted;
    run->clock.last_ns = gi_clock_ns();
}

bool gi_generation_make_room(struct gi_generation *run)
{
    const struct glinfer_generate_params *params = &run->params;
    struct gi_sequence *sequence = &run->session->sequence;
    if (params->context_full == GLINFER_CONTEXT_FULL_ERROR) {
        return gi_error_set(run->err, GLINFER_STATUS_CONTEXT_FULL,
                            "the context of %u tokens is full behind %u of the answer: ask for a "
                            "larger context",
                            sequence->n_ctx, run->stats.predicted_n);
    }
    if (run->n_shifts == 0) {
        run->n_keep = params->n_keep < 0 ? run->base : (uint32_t)params->n_keep;
    }
    const uint32_t n_past = sequence->n_past;
    const uint32_t n_drop = n_past > run->n_keep ? (n_past - run->n_keep) / 2 : 0;
    if (n_drop == 0) {
        gi_generation_finish(run, GLINFER_STOP_CONTEXT);
        return true;
    }
    gi_sequence_shift(sequence, run->n_keep, n_drop);
    run->n_shifts++;
    return plan_batches(run, run->n_keep) && gi_generation_rebuild(run);
}
