// A recorder collects the dispatches of ops: a dispatch table under construction and the programs
// that it needs. An op asserts its shapes, requests its program and appends its dispatches; it owns
// nothing and returns nothing. The table keeps the first failure, after which ops append nothing;
// the caller that began the table checks once at the end (gi_recorder_check).
#pragma once

#include "gpu/dispatch/dispatch_table.h"
#include "ops/record/tuning_site.h"

#include <assert.h>

// The slots of a joint list (src/README.md). An op for a sequence then records one dispatch for all
// slots, which reads their differences from the step_state of each. Nothing is written for
// a slot that takes no part, nor into the cache of a slot that is done.
struct gi_slots {
    uint32_t n; // at most GI_MAX_ROWS; 0: the list is for one sequence
    // n + 1 step states, GI_STEP_STATE_STRIDE apart. Bit i of the last one's token is set if slot i
    // takes part.
    struct gi_range states;
};

struct gi_recorder {
    struct gi_gpu *gpu;                // borrowed
    struct gi_program_table *programs; // borrowed
    struct gi_dispatch_table *table;   // borrowed
    const struct gi_tuning *tuning;    // borrowed; NULL: ops choose shapes by class only
    struct gi_tuning_sites *sites;     // borrowed; collects the tuning sites; NULL: not collected
    bool is_half;                      // products in f16, if an op has them and they are faster
    bool packs_rows;                   // inputs of products in f16: ops/gemm/pack_rows.h
    struct gi_list_form form;          // the form that the list's executor asks for
    struct gi_slots slots;
    // Memory whose place depends on the size of the context or on the slot: everything from the
    // start of this range on in its buffer, and the n_later buffers after that one.
    struct gi_range movable;
    uint32_t n_later;
    // Set for projections of a decode step with adapters: the offset of the scales, in floats of
    // the range that has x; the product of matrix A follows (glsl/gemv/gemv_adapter.glsl).
    uint32_t adapter;
    // Set while one sequence of a joint step is recorded; 0: all sequences, or the only one.
    struct gi_range state;
    uint32_t slot; // from 1
};

// Returns true if all entries of the list have groups of one size, and pass results on with tags if
// their kernels can (gi_publish).
static inline bool gi_recorder_is_uniform(const struct gi_recorder *recorder)
{
    return recorder->form.group_size > 0;
}

// Returns the workgroup size of a kernel in this list; `usual` is its size in other lists.
static inline uint32_t gi_recorder_wg_size(const struct gi_recorder *recorder, uint32_t usual)
{
    return gi_recorder_is_uniform(recorder) ? recorder->form.group_size : usual;
}

// Returns the number of groups of a kernel in this list; `usual` is the number in other lists.
static inline uint32_t gi_recorder_n_groups(const struct gi_recorder *recorder, uint32_t usual)
{
    return gi_recorder_is_uniform(recorder) ? recorder->form.n_groups : usual;
}

// Returns true if the list is joint.
static inline bool gi_recorder_is_joint(const struct gi_recorder *recorder)
{
    return recorder->slots.n > 0;
}

// Extends a dispatch of a kernel with lib/slot.glsl to all slots, by multiplying its grid along
// `axis` by their number. Does nothing in a list for one sequence.
void gi_recorder_add_slots(const struct gi_recorder *recorder, uint32_t axis,
                           struct gi_program_key *key, struct gi_dispatch *dispatch);

// Begins a table. Without memory for it sets err to NO_MEMORY, and ops do nothing.
void gi_recorder_begin(struct gi_recorder *recorder, const struct gi_dispatch_table_params *params,
                       struct glinfer_error *err);
// Returns the table, which the caller owns. After a failure destroys it and returns NULL with the
// first error; returns NULL, too, if the table was not begun.
struct gi_dispatch_table *gi_recorder_end(struct gi_recorder *recorder, struct glinfer_error *err);

// The key of a program that unpacks weights of a type, and of one that reads no weights, with the
// defines {"NAME", value}, ...
#define GI_WEIGHT_KEY(program, type, ...)                                                          \
    ((struct gi_program_key){.id = (program),                                                      \
                             .quant = (type),                                                      \
                             .n_defines = sizeof((struct gi_define[]){__VA_ARGS__}) /              \
                                          sizeof(struct gi_define),                                \
                             .defines = {__VA_ARGS__}})
#define GI_KEY(program, ...) GI_WEIGHT_KEY(program, GI_QUANT_NONE, __VA_ARGS__)
// Adds a define. name is a literal.
static inline void gi_key_define(struct gi_program_key *key, const char *name, uint32_t value)
{
    assert(key->n_defines < GI_MAX_DEFINES);
    key->defines[key->n_defines++] = (struct gi_define){name, (int32_t)value};
}
// Adds a define unless its value is 0.
static inline void gi_key_option(struct gi_program_key *key, const char *name, uint32_t value)
{
    if (value > 0) {
        gi_key_define(key, name, value);
    }
}
// Returns the value of a define, `fallback` without it.
uint32_t gi_key_value(const struct gi_program_key *key, const char *name, uint32_t fallback);

// Initializes params and params_size of a gi_dispatch.
#define GI_PARAMS_OF(object) .params = &(object), .params_size = sizeof(object)

// Returns the grid of n groups for each row of a batch, or for the only row of a step.
static inline struct gi_grid gi_grid_rows(uint32_t n, bool is_batch)
{
    return (struct gi_grid){.size = {n, 1, 1},
                            .rule = is_batch ? GI_GRID_TOKENS : GI_GRID_FIXED,
                            .axis = 1,
                            .divisor = 1};
}

// Makes a dispatch read x, quads and aux, bindings 1 to 3, through buffer textures.
static inline void gi_dispatch_read_texels(struct gi_dispatch *dispatch)
{
    dispatch->texels[1] = GI_TEXEL_VEC4;
    dispatch->texels[2] = GI_TEXEL_UVEC4;
    dispatch->texels[3] = GI_TEXEL_UINT;
}

// Requests the program with this key and appends a dispatch of it, which writes binding 0 if it
// does not say what it writes, and has groups of the key's WG_SIZE if it does not say their size.
// The recording fails with the errors of gi_program_table_request and gi_dispatch_table_record, and
// with UNSUPPORTED if the loops of the dispatch are too long for the driver (loop_turns.h).
void gi_recorder_add(const struct gi_recorder *recorder, const struct gi_program_key *key,
                     struct gi_dispatch *dispatch);
// Makes the recording fail with UNSUPPORTED and a message formatted like printf.
void gi_recorder_refuse(const struct gi_recorder *recorder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Returns false with the first error if the recording has failed, and false without an error if the
// table was not begun.
bool gi_recorder_check(const struct gi_recorder *recorder, struct glinfer_error *err);

// A matrix of activations with one row for each token: (n_tokens, stride), f32, row-major.
struct gi_rows {
    struct gi_range range;
    uint32_t stride; // floats, a multiple of 32; values after a row's width are finite
    bool is_half;    // in f16 instead: ops/gemm/half_rows.h or ops/gemm/pack_rows.h
};
// Returns the number of rows in f32 that the range has room for.
static inline uint32_t gi_rows_room(const struct gi_rows *rows)
{
    return (uint32_t)(rows->range.size / (rows->stride * sizeof(float)));
}
