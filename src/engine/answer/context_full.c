#include "engine/answer/context_full.h"

#include "gpu/dispatch/multi_executor.h"

size_t gi_answer_prompt_size(const struct gi_answer *answer)
{
    const struct glinfer_generate_params *params = &answer->params;
    const bool may_shift = params->context_full == GLINFER_CONTEXT_FULL_SHIFT &&
                           answer->max_steps < (uint32_t)params->n_predict;
    return may_shift ? 0 : answer->prompt.n_tokens;
}

void gi_answer_reach_limit(struct gi_answer *answer)
{
    const struct glinfer_generate_params *params = &answer->params;
    if (answer->max_steps == (uint32_t)params->n_predict) {
        gi_answer_finish(answer, GLINFER_STOP_LIMIT);
    } else if (params->context_full == GLINFER_CONTEXT_FULL_STOP) {
        gi_answer_finish(answer, GLINFER_STOP_CONTEXT);
    } else {
        answer->state = GI_ANSWER_SHIFTS;
    }
}

// Cuts the tokens from `at` on into batches as a prompt would have them.
static bool plan_batches(struct gi_answer *answer, uint32_t at)
{
    struct glinfer_session *session = answer->session;
    struct gi_sequence *sequence = &session->sequence;
    for (uint32_t count; at < sequence->n_past; at += count) {
        const uint32_t n_left = sequence->n_past - at;
        const struct gi_executor *executor =
            gi_tables_prompt(&session->tables, n_left, &answer->err);
        if (!executor) {
            return false;
        }
        count = gi_tables_choose_batch(&session->tables, gi_multi_executor_list(executor),
                                       &session->runner.box, at, n_left, false);
        gi_sequence_join_batch(sequence, at, count);
    }
    return true;
}

bool gi_answer_make_room(struct gi_answer *answer)
{
    struct glinfer_generate_params *params = &answer->params;
    struct gi_sequence *sequence = &answer->session->sequence;
    if (params->context_full == GLINFER_CONTEXT_FULL_ERROR) {
        return gi_error_set(&answer->err, GLINFER_STATUS_CONTEXT_FULL,
                            "the context of %u tokens is full after %u tokens of the answer: ask "
                            "for a larger context",
                            sequence->n_ctx, answer->stats.predicted_n);
    }
    if (params->n_keep < 0) {
        params->n_keep = (int32_t)answer->base; // which a shift changes
    }
    const uint32_t n_past = sequence->n_past, n_keep = (uint32_t)params->n_keep;
    const uint32_t n_drop = n_past > n_keep ? (n_past - n_keep) / 2 : 0;
    if (n_drop == 0) {
        gi_answer_finish(answer, GLINFER_STOP_CONTEXT);
        return true;
    }
    gi_sequence_shift(sequence, n_keep, n_drop);
    answer->n_shifts++;
    return plan_batches(answer, n_keep) && gi_answer_rebuild(answer);
}
