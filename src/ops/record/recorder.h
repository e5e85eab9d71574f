// A recorder collects the dispatches of ops: a dispatch table under construction and the programs
// that it needs. An op checks shapes (asserts: they are ours), requests its program and appends its
// dispatches; it owns nothing. Ops return nothing: the table keeps the first failure, after which
// they append no more, and whoever began the table asks once at the end (gi_recorder_check).
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
void gi_recorder_add_slots(const struct gi_recorder *recorder, uint32_t axis,
                           struct gi_program_key *key, struct gi_dispatch *dispatch);

// Begins a table. If there is no memory for it, err says so, and ops do nothing.
void gi_recorder_begin(struct gi_recorder *recorder, const struct gi_dispatch_table_params *params,
                       struct glinfer_error *err);
// Returns the table, which the caller owns. Destroys it and returns NULL with the first failure if
// there is one; NULL, too, if it was not begun.
struct gi_dispatch_table *gi_recorder_end(struct gi_recorder *recorder, struct glinfer_error *err);

// Appends a dispatch of the program with this key, which it requests. The recording fails with what
// gi_program_table_request and gi_dispatch_table_record fail with, and with UNSUPPORTED if the
// loops of the dispatch are too long for the driver (loop_turns.h).
void gi_recorder_add(const struct gi_recorder *recorder, const struct gi_program_key *key,
                     struct gi_dispatch *dispatch);
// Makes the recording fail with UNSUPPORTED and a sentence made as printf makes it.
void gi_recorder_refuse(const struct gi_recorder *recorder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Returns false with the first failure, if there is one.
bool gi_recorder_check(const struct gi_recorder *recorder, struct glinfer_error *err);

// A named matrix of activations, a row a token: (n_tokens, stride), f32, row-major.
struct gi_rows {
    struct gi_range range;
    uint32_t stride; // floats, a multiple of 32; what lies past a row's width is finite
    bool is_half;    // in f16 instead: ops/gemm/half_rows.h or ops/gemm/pack_rows.h
};

#endif
