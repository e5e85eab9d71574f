// The plan of glinfer_profile: how a prompt or a step would be submitted, before anything was
// measured: recorded lists, estimates from the device's class, time boxes that submit nothing.
#include "engine/measure/profile_plan.h"

#include "gpu/dispatch/dispatch_replay.h"

struct plan {
    struct glinfer_session *session;
    const struct glinfer_profile_params *params;
    struct glinfer_error *err;
    struct gi_time_box box;
    const struct gi_dispatch_table *list; // that is walked
    uint32_t n_tokens;                    // of the batch
};

static void hand_over(void *user, const struct gi_box_event *event)
{
    const struct plan *plan = user;
    const struct glinfer_planned planned = {
        .label = event->label,
        .program = event->label ? gi_dispatch_table_program_label(plan->list, event->entry) : NULL,
        .n_tokens = plan->n_tokens,
        .n_pieces = event->n_pieces,
        .ns = event->ns,
    };
    plan->params->on_planned(plan->params->user, &planned);
}

// Walks a list, recorded if it is not; lists are recorded in the order of their walks.
static bool walk(struct plan *plan, struct glinfer_session *session, uint32_t index,
                 uint32_t n_past, uint32_t n_tokens)
{
    const struct gi_program_table *programs = session->model->device->programs;
    struct gi_dispatch_table *list = gi_tables_list(&session->tables, index, plan->err);
    plan->list = list;
    plan->n_tokens = n_tokens;
    const struct gi_replay replay = {.n_past = n_past, .n_tokens = n_tokens};
    return list && gi_time_box_reserve(&plan->box, programs, plan->err) &&
           gi_dispatch_table_replay_boxed(list, &replay, &plan->box, &(struct gi_replay_cursor){0},
                                          plan->err);
}

static bool walk_sound(struct plan *plan)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < GI_SOUND_LISTS; i++) {
        ok = walk(plan, plan->session->encoder, gi_sound_lists[i].list, 0,
                  gi_sound_lists[i].n_rows * plan->params->n_prompt) &&
             gi_time_box_close(&plan->box, plan->err);
    }
    return ok;
}

static bool walk_prompt(struct plan *plan)
{
    struct gi_tables *tables = &plan->session->tables;
    const uint32_t n_prompt = plan->params->n_prompt, depth = plan->params->depth;
    const struct gi_program_table *programs = plan->session->model->device->programs;
    uint32_t count = 0;
    for (uint32_t done = 0; done < n_prompt; done += count) {
        const uint32_t list = gi_tables_prompt_list(tables, n_prompt - done);
        const struct gi_dispatch_table *table = gi_tables_list(tables, list, plan->err);
        if (!table || !gi_time_box_reserve(&plan->box, programs, plan->err)) {
            return false;
        }
        count = gi_tables_choose_batch(tables, table, &plan->box, depth + done, n_prompt - done,
                                       done == 0);
        if (!walk(plan, plan->session, gi_tables_prompt_list(tables, count), depth + done, count) ||
            !gi_time_box_close(&plan->box, plan->err)) {
            return false;
        }
    }
    return walk(plan, plan->session, GI_LIST_PROMPT_END + GI_STEP_END_GREEDY, depth + n_prompt - 1,
                1) &&
           gi_time_box_close(&plan->box, plan->err);
}

static bool walk_steps(struct plan *plan)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < plan->params->n_runs; i++) {
        ok = walk(plan, plan->session, GI_LIST_STEP + GI_STEP_END_GREEDY, plan->params->depth + i,
                  1) &&
             gi_time_box_close(&plan->box, plan->err);
    }
    return ok;
}

bool gi_profile_plan(struct glinfer_session *session, const struct glinfer_profile_params *params,
                     struct glinfer_error *err)
{
    struct plan plan = {.session = session, .params = params, .err = err};
    gi_time_box_init(&plan.box, gi_session_gpu(session), session->runner.budget_ns);
    plan.box.plan = hand_over;
    plan.box.user = &plan;
    const bool ok = params->n_prompt == 0 ? walk_steps(&plan)
                    : session->encoder    ? walk_sound(&plan)
                                          : walk_prompt(&plan);
    gi_time_box_finish(&plan.box);
    return ok;
}
