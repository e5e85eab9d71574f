#include "ops/record/recorder.h"

#include "ops/record/loop_turns.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gi_recorder_add_slots(const struct gi_recorder *recorder, uint32_t axis,
                           struct gi_program_key *key, struct gi_dispatch *dispatch)
{
    if (gi_recorder_is_joint(recorder)) {
        gi_key_define(key, "ROWS", recorder->slots.n);
        dispatch->grid.size[axis] *= recorder->slots.n;
        dispatch->state = recorder->slots.states;
        dispatch->key_bytes *= recorder->slots.n;
        dispatch->key_flops *= recorder->slots.n;
    }
}

// Returns the error of the recording, whose status is 0 until one occurs; NULL if the table was not
// begun.
static struct glinfer_error *find_failure(const struct gi_recorder *recorder)
{
    return recorder->table ? gi_dispatch_table_failure(recorder->table) : NULL;
}

static bool is_movable(const struct gi_recorder *recorder, const struct gi_range *range)
{
    const struct gi_range *movable = &recorder->movable;
    bool is_later = false;
    for (uint32_t i = 1; i <= recorder->n_later; i++) {
        is_later = is_later || range->buffer == movable->buffer + i;
    }
    return range->buffer &&
           (is_later || (range->buffer == movable->buffer && range->offset >= movable->offset));
}

uint32_t gi_key_value(const struct gi_program_key *key, const char *name, uint32_t fallback)
{
    for (uint32_t i = 0; i < key->n_defines; i++) {
        if (strcmp(key->defines[i].name, name) == 0) {
            return (uint32_t)key->defines[i].value;
        }
    }
    return fallback;
}

void gi_recorder_begin(struct gi_recorder *recorder, const struct gi_dispatch_table_params *params,
                       struct glinfer_error *err)
{
    recorder->table = gi_dispatch_table_create(recorder->gpu, recorder->programs, params, err);
}

struct gi_dispatch_table *gi_recorder_end(struct gi_recorder *recorder, struct glinfer_error *err)
{
    if (!gi_recorder_check(recorder, err)) {
        gi_dispatch_table_destroy(recorder->table);
        recorder->table = NULL;
    }
    return recorder->table;
}

bool gi_recorder_check(const struct gi_recorder *recorder, struct glinfer_error *err)
{
    const struct glinfer_error *failure = find_failure(recorder);
    return failure && (!failure->status || gi_error_pass(err, failure));
}

void gi_recorder_add(const struct gi_recorder *recorder, const struct gi_program_key *key,
                     struct gi_dispatch *dispatch)
{
    struct glinfer_error *failure = find_failure(recorder);
    if (!failure || failure->status) {
        return;
    }
    dispatch->writes = dispatch->writes ? dispatch->writes : 1u << 0;
    dispatch->wg_size = dispatch->wg_size ? dispatch->wg_size : gi_key_value(key, "WG_SIZE", 0);
    for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
        dispatch->runtime_begins |= (uint32_t)is_movable(recorder, &dispatch->bindings[i]) << i;
    }
    if (recorder->state.buffer) {
        dispatch->state = recorder->state;
        dispatch->slot = recorder->slot;
    }
    if (gi_loops_check(recorder->gpu, key, dispatch, failure) &&
        gi_program_table_request(recorder->programs, key, &dispatch->program, failure)) {
        gi_dispatch_table_record(recorder->table, dispatch);
    }
}

void gi_recorder_refuse(const struct gi_recorder *recorder, const char *format, ...)
{
    struct glinfer_error *failure = find_failure(recorder);
    char reason[sizeof(failure->message)];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    if (failure && !failure->status) {
        gi_error_set(failure, GLINFER_STATUS_UNSUPPORTED, "%s", reason);
    }
}
