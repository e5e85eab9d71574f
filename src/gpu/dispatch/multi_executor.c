// The multi-dispatch executor: gpu/dispatch/dispatch_replay.c, once a step.

#include "gpu/dispatch/multi_executor.h"

#include "base/array.h"
#include "gpu/dispatch/dispatch_replay.h"

#include <stdlib.h>

// Returns by how many tokens a step takes each sequence on.
static uint32_t tokens_of_step(const struct gi_chain *chain)
{
    return chain->joint ? 1 : chain->n_tokens;
}

static bool submit_boxed(struct gi_dispatch_table *list, const struct gi_chain *chain,
                         struct glinfer_error *err)
{
    struct gi_replay_cursor whole = {0};
    struct gi_replay_cursor *cursor = chain->cursor ? chain->cursor : &whole;
    const uint32_t n_each = tokens_of_step(chain);
    for (; cursor->step < chain->n_steps; cursor->step++) {
        const struct gi_replay replay = {.n_past = chain->n_past + cursor->step * n_each,
                                         .n_tokens = chain->n_tokens,
                                         .joint = chain->joint,
                                         .joint_step = cursor->step};
        if (!gi_dispatch_table_replay_boxed(list, &replay, chain->box, cursor, err)) {
            return false;
        }
        if (cursor->is_paused) {
            return true;
        }
    }
    return true;
}

// Counts of grids in the indirect mode go on from where the last step of the same list left them.
static bool submit(struct gi_executor *self, const struct gi_chain *chain,
                   struct glinfer_error *err)
{
    struct gi_dispatch_table *list = gi_multi_executor_list(self);
    if (!chain->is_continued &&
        !gi_dispatch_table_prime(list, chain->n_past, chain->n_tokens, err)) {
        return false;
    }
    if (chain->box) {
        return submit_boxed(list, chain, err);
    }
    struct gi_replay replay = {.n_past = chain->n_past,
                               .n_tokens = chain->n_tokens,
                               .joint = chain->joint,
                               .flush_interval = chain->flush_interval};
    replay.selection = chain->selection ? *chain->selection : replay.selection;
    for (uint32_t i = 0; i < chain->n_steps; i++) {
        gi_dispatch_table_replay(list, &replay);
        replay.n_past += tokens_of_step(chain);
        replay.joint_step++;
    }
    return true;
}

static void destroy(struct gi_executor *self)
{
    struct gi_multi_executor *executor = (struct gi_multi_executor *)self;
    if (executor->is_owner) {
        gi_dispatch_table_destroy(executor->list);
        free(executor);
    }
}

static const struct gi_executor_class direct_class = {
    .dispatch = GLINFER_DISPATCH_DIRECT, .submit = submit, .destroy = destroy};
static const struct gi_executor_class indirect_class = {
    .dispatch = GLINFER_DISPATCH_INDIRECT, .submit = submit, .destroy = destroy};

struct gi_multi_executor gi_multi_executor_of(struct gi_dispatch_table *list)
{
    return (struct gi_multi_executor){
        .base.class = gi_dispatch_table_is_indirect(list) ? &indirect_class : &direct_class,
        .list = list};
}

struct gi_executor *gi_multi_executor_create(struct gi_dispatch_table *list,
                                             struct glinfer_error *err)
{
    struct gi_multi_executor *executor = gi_array_zeroed(1, sizeof(*executor), "an executor", err);
    if (!executor) {
        gi_dispatch_table_destroy(list);
        return NULL;
    }
    *executor = gi_multi_executor_of(list);
    executor->is_owner = true;
    return &executor->base;
}

struct gi_dispatch_table *gi_multi_executor_list(const struct gi_executor *executor)
{
    return ((const struct gi_multi_executor *)executor)->list;
}
