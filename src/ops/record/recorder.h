// A recorder is what an op records into: a dispatch table under construction and the programs it
// asks for. An op checks shapes (asserts: they are ours), requests its program and appends its
// dispatches; it owns nothing. All ops fail with what gi_program_table_request and
// gi_dispatch_table_record fail with.
#ifndef GI_OPS_RECORDER_H
#define GI_OPS_RECORDER_H

#include "gpu/dispatch/dispatch_table.h"
#include "ops/record/tuning_site.h"

// The slots of a joint list (src/README.md). Ops for a sequence then record one dispatch for all of
// them, which reads what differs between slots from the step_state of each. Nothing is written for
// a slot that takes no part, nor into the cache of one that is done.
struct gi_slots {
    uint32_t n; // at most GI_MAX_ROWS; 0: the list is of one sequence
    // n + 1 step states, GI_STEP_STATE_STRIDE apart. Bit i of the last one's token is set if slot i
    // takes part.
    struct gi_range states;
};

struct gi_recorder {
    struct gi_gpu *gpu;                // borrowed
    struct gi_program_table *programs; // borrowed
    struct gi_dispatch_table *table;   // borrowed
    const struct gi_tuning *tuning;    // borrowed; NULL: ops choose shapes by class alone
    struct gi_tuning_sites *sites; // borrowed; collects where shapes are chosen; NULL: nobody asks
    bool is_half;                  // products in f16, where an op has them and they are faster
    bool packs_rows;               // inputs of products in f16: ops/gemm/pack_rows.h
    struct gi_list_form form;      // that the list's executor asks for
    struct gi_slots slots;
    // Places that depend on the size of the context: what lies from this range on in its
    // buffer, and all in the n_later buffers behind that one.
    struct gi_range movable;
    uint32_t n_later;
    // Are set while one sequence of a joint step is recorded; zero: all of them, or the only one.
    struct gi_range state;
    uint32_t slot; // from 1
};

// True if all entries of the list have groups of one size, and hand results on by tags where their
// kernels can (gi_publish).
static inline bool gi_recorder_is_uniform(const struct gi_recorder *recorder)
{
    return recorder->form.group_size > 0;
}

// Invocations of a group of a kernel that would have `usual`.
static inline uint32_t gi_recorder_wg_size(const struct gi_recorder *recorder, uint32_t usual)
{
    return gi_recorder_is_uniform(recorder) ? recorder->form.group_size : usual;
}

// Groups that share the work of a kernel that would have `usual`.
static inline uint32_t gi_recorder_n_groups(const struct gi_recorder *recorder, uint32_t usual)
{
    return gi_recorder_is_uniform(recorder) ? recorder->form.n_groups : usual;
}

// True if the list is joint.
static inline bool gi_recorder_is_joint(const struct gi_recorder *recorder)
{
    return recorder->slots.n > 0;
}

// Makes a dispatch of a kernel with lib/slot.glsl that of all slots: along `axis` of its grid there
// are as many times more groups. Does nothing in a list of one sequence.
static inline void gi_recorder_add_slots(const struct gi_recorder *recorder, uint32_t axis,
                                         struct gi_program_key *key, struct gi_dispatch *dispatch)
{
    if (gi_recorder_is_joint(recorder)) {
        key->defines[key->n_defines++] = (struct gi_define){"ROWS", (int32_t)recorder->slots.n};
        dispatch->grid.size[axis] *= recorder->slots.n;
        dispatch->state = recorder->slots.states;
        dispatch->key_bytes *= recorder->slots.n;
        dispatch->key_flops *= recorder->slots.n;
    }
}

static inline bool gi_recorder_is_movable(const struct gi_recorder *recorder,
                                          const struct gi_range *range)
{
    const struct gi_range *movable = &recorder->movable;
    bool is_later = false;
    for (uint32_t i = 1; i <= recorder->n_later; i++) {
        is_later = is_later || range->buffer == movable->buffer + i;
    }
    return range->buffer &&
           (is_later || (range->buffer == movable->buffer && range->offset >= movable->offset));
}

// Fails with UNSUPPORTED if the loops of a dispatch are too long for the driver (loop_turns.h).
bool gi_recorder_check_loops(const struct gi_recorder *recorder, const struct gi_program_key *key,
                             const struct gi_dispatch *dispatch, struct glinfer_error *err);

// Appends a dispatch of the program with this key, which it requests.
static inline bool gi_recorder_add(struct gi_recorder *recorder, const struct gi_program_key *key,
                                   struct gi_dispatch *dispatch, struct glinfer_error *err)
{
    for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
        dispatch->runtime_begins |=
            (uint32_t)gi_recorder_is_movable(recorder, &dispatch->bindings[i]) << i;
    }
    if (recorder->state.buffer) {
        dispatch->state = recorder->state;
        dispatch->slot = recorder->slot;
    }
    return gi_recorder_check_loops(recorder, key, dispatch, err) &&
           gi_program_table_request(recorder->programs, key, &dispatch->program, err) &&
           gi_dispatch_table_record(recorder->table, dispatch, err);
}

// A named matrix of activations, a row a token: (n_tokens, stride), f32, row-major.
struct gi_rows {
    struct gi_range range;
    uint32_t stride; // floats, a multiple of 32; what lies past a row's width is finite
    bool is_half;    // in f16 instead: ops/gemm/half_rows.h or ops/gemm/pack_rows.h
};

#endif
