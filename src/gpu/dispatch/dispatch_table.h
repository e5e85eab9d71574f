// A recorded run of dispatches and its replay. Recording resolves everything: program, storage
// ranges, parameter block (all blocks of a table lie in one uniform buffer), grid, and the barrier
// that must follow, which is worked out from what each dispatch reads and writes. Replaying is a
// few GL calls an entry: no decision but the grid's, no allocation, no look-up.
//
// Bindings of every kernel: SSBO 0..4 as recorded (or a buffer texture of that unit), UBO 0 its
// Params, UBO 1 the step_state, UBO 2 as recorded.
#pragma once

#include "gpu/memory/buffer.h"
#include "gpu/program/program_table.h"

#include <stddef.h>

#define GI_MAX_BINDINGS 5 // ES 3.1 has four: only programs that need FIVE_BLOCKS use the last

// How a grid grows. size[axis] holds, for KEYS, the most groups, 0 for no limit; for TOKENS the
// largest count that there will be, which gi_dispatch_table_record checks.
enum gi_grid_rule {
    GI_GRID_FIXED,  // size as it stands
    GI_GRID_KEYS,   // count[axis] = min(ceil((n_past + n_tokens) / divisor), size[axis])
    GI_GRID_TOKENS, // count[axis] = ceil(n_tokens * (1 + times) / divisor) + added
};

struct gi_grid {
    uint32_t size[3];
    enum gi_grid_rule rule;
    uint32_t axis, divisor; // of a rule that is not FIXED
    uint32_t times, added;  // of TOKENS in a table that is always direct
    bool is_whole;          // KEYS: size[axis] covers a full context, so it is not a limit
    // The dispatch may run in pieces along an axis that has no rule: glsl/lib/first_group.glsl.
    bool is_divisible;
    uint32_t divisible_axis;
};

// How a binding is read: as a storage block, or through a buffer texture of the same number, texel
// by texel, which needs gi_limits.has_texture_buffer.
enum gi_texel {
    GI_TEXEL_NONE,  // a storage block
    GI_TEXEL_VEC4,  // samplerBuffer
    GI_TEXEL_UVEC4, // usamplerBuffer
    GI_TEXEL_UINT,  // usamplerBuffer, one component
};

// The form that an executor asks of all entries of a list; all zero: each as suits it.
struct gi_list_form {
    uint32_t group_size; // invocations of a group
    uint32_t n_groups;   // that work at a time
};

// How much of a dispatch's results at binding 0 carries tags that tell when it was written, so that
// an executor may have the next dispatch look for them in place of a barrier.
enum gi_publish {
    GI_PUBLISH_NONE,
    GI_PUBLISH_SOME,
    GI_PUBLISH_ALL, // all that the next dispatch may read there
};

// The rows of binding 0 that the invocations of a dispatch own: each group takes per_group of them
// at a time, in order.
struct gi_owners {
    uint32_t begin, count; // count 0: not said
    uint32_t per_group;
};

// The bit of gi_dispatch.runtime_params for a field of a Params struct.
#define GI_PARAM_BIT(params, field) (UINT64_C(1) << (offsetof(params, field) / sizeof(uint32_t)))

struct gi_dispatch {
    const char *label; // a literal: "attn_out"; kept
    uint32_t program;  // from gi_program_table_request
    struct gi_range bindings[GI_MAX_BINDINGS];
    enum gi_texel texels[GI_MAX_BINDINGS];
    struct gi_range uniform; // a part of binding 1, bound as UBO 2 too; buffer NULL: none
    struct gi_range state;   // bound as UBO 1 in place of the table's; buffer NULL: the table's
    uint32_t slot;     // of a joint list: whose keys a grid counts, from 1; 0: gpu/dispatch/joint.h
    uint32_t writes;   // bit i: binding i is written
    bool writes_state; // step_state, and the counts of an indirect table, are written (sampling)
    const void *params;   // copied, and padded with zeros to a multiple of 16 bytes
    uint32_t params_size; // at most 256
    struct gi_grid grid;
    // How it works together with others, for executors that do without the barrier between two:
    uint32_t wg_size; // invocations of a group; 0: not said
    struct gi_owners owners;
    enum gi_publish publishes;
    bool consumes;     // consumes the values that the previous entry publishes, in its binding 1
    bool works_beside; // reads what the next entry reads; the next consumes its values, too
    uint32_t n_split; // groups that work out one result together and publish to each other; 0: none
    uint64_t runtime_params; // bit i: word i of params depends on the context or is not constant
    uint32_t runtime_begins; // bit i: where binding i begins depends on the context or slot
    // For figures and tuning only:
    uint32_t site;         // where its shape was chosen, counted from 1; 0: nowhere
    uint64_t weight_bytes; // that it reads
    uint64_t n_weight;     // weights that each of its tokens is multiplied by
    uint64_t key_bytes;    // that it reads for each key in the cache, the value included
    uint64_t key_flops;    // that it does for each token and key
    uint32_t window;       // keys that a token sees at most; 0: all
    uint32_t after;        // keys of its batch after its own that a token sees at most
    uint32_t n_key;        // keys of another text that every token sees at most; 0: its own text's
};

// Counts of an indirect table: GI_MAX_SLOTS of these, the first three words being what
// glDispatchComputeIndirect reads. glsl/sample/step.glsl rewrites `count` of each from the rest.
#define GI_MAX_SLOTS 32
struct gi_grid_slot {
    uint32_t count[3];
    uint32_t rule;
    uint32_t size[3];
    uint32_t axis_divisor; // axis in bits 30..31, divisor below
};

struct gi_dispatch_table_params {
    struct gi_range state;  // step_state, bound as UBO 1
    struct gi_range counts; // GI_MAX_SLOTS gi_grid_slot; buffer NULL: the table is always direct
};

struct gi_dispatch_table;

struct gi_dispatch_table *gi_dispatch_table_create(struct gi_gpu *gpu,
                                                   const struct gi_program_table *programs,
                                                   const struct gi_dispatch_table_params *params,
                                                   struct glinfer_error *err);
void gi_dispatch_table_destroy(struct gi_dispatch_table *table);

// Appends a dispatch; no effect after a failure. Sets the table's failure to NO_MEMORY, UNSUPPORTED
// (a range over the largest storage block or buffer texture, a grid over the group count, too many
// slots): both name the label.
void gi_dispatch_table_record(struct gi_dispatch_table *table, const struct gi_dispatch *dispatch);
// Returns the sticky error of the recording, which the recorder writes, too, and checks once at the
// end. Its status is 0 until a dispatch fails.
struct glinfer_error *gi_dispatch_table_failure(struct gi_dispatch_table *table);
// Ends recording: uploads parameter blocks and, for an indirect table, the slots. Needs built
// programs. Fails with the first failure of recording, with DRIVER and the driver's words if a
// program was refused, NO_MEMORY.
bool gi_dispatch_table_seal(struct gi_dispatch_table *table, struct glinfer_error *err);

uint32_t gi_dispatch_table_count(const struct gi_dispatch_table *table);
uint64_t gi_dispatch_table_weight_bytes(const struct gi_dispatch_table *table);
// Returns entry i.
const struct gi_dispatch *gi_dispatch_table_at(const struct gi_dispatch_table *table, uint32_t i);
// Returns true if no earlier entry than i has its program.
bool gi_dispatch_table_is_first(const struct gi_dispatch_table *table, uint32_t i);

// Returns the parameter block of entry i: params_size bytes with its padding.
const void *gi_dispatch_table_params(const struct gi_dispatch_table *table, uint32_t i);
// Returns the label of entry i's program (gi_program_label).
const char *gi_dispatch_table_program_label(const struct gi_dispatch_table *table, uint32_t i);
// Returns step_state as it was given.
const struct gi_range *gi_dispatch_table_state(const struct gi_dispatch_table *table);

// Returns GL's barrier bits before entry i, or those at the end for i = count. For tests.
uint32_t gi_dispatch_table_barrier(const struct gi_dispatch_table *table, uint32_t i);

// Returns true if grids with a rule are dispatched with counts that the GPU keeps.
bool gi_dispatch_table_is_indirect(const struct gi_dispatch_table *table);

// Writes the counts of all slots for n_past from the host, before a chain that follows a host write
// of step_state.
bool gi_dispatch_table_prime(struct gi_dispatch_table *table, uint32_t n_past, uint32_t n_tokens,
                             struct glinfer_error *err);
