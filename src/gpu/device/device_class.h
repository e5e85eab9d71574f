// Classes of GPUs by their names: how their drivers behave and which shapes of kernels they like.
// Data, not code: a device finds its row once, and others read fields of it (gi_gpu_class). A
// figure that was measured on one GPU is a guess for the others of its row, which glinfer tune
// checks. Knows no GL calls.
#pragma once

#include "gpu/device/kernel_shape.h"

// How an indirect dispatch gets its counts.
enum gi_indirect {
    GI_INDIRECT_UNKNOWN,
    GI_INDIRECT_NO,  // the driver maps the counts on the CPU and stalls, or goes wrong
    GI_INDIRECT_YES, // the GPU reads them
};

// A shape for projections of at least min_pair pairs of rows and min_block blocks a row. One that
// leaves pairs open, 0, gives a group as many as let max_groups take all in one pass, and wg_size
// invocations for each.
struct gi_gemv_row {
    uint32_t min_pair, min_block;
    struct gi_gemv_shape shape;
};

// A shape for projections of a few tokens, of at least min_pair pairs of rows.
struct gi_gemv_batch_row {
    uint32_t min_pair;
    struct gi_gemv_batch_shape shape;
};

// Shapes that tuning tries: powers of two from min to max.
struct gi_gemv_candidates {
    enum gi_gemv_form form;
    uint32_t min_groups; // fewer leave too much of the device idle
    uint32_t min_wg_size, max_wg_size;
    uint32_t min_pairs, max_pairs;
};

// How groups of a step's attention take heads of a kv head together
// (src/ops/attention/attention_heads.h).
struct gi_attention_shape {
    uint32_t wg_size;  // invocations; 0: the device does not want it
    uint32_t heads;    // at most 4
    uint32_t keys;     // that an invocation scores at a time
    uint32_t n_groups; // of a layer at 512 keys
    bool has_dots;     // products of a key are added up one by one: registers are scarce
};

// Blocks of a prompt's attention in GI_BATCH_FORM_LANE (glsl/attention/attention_lane.comp).
struct gi_attention_block {
    uint32_t n_tokens;  // 2 or 4; 0: the common shape
    uint32_t each;      // keys that an invocation scores at a time
    bool reads_q_again; // in place of staging it: reads of shared memory cost registers
};

// The weight types of which an invocation takes the two rows of a pair one after the other in a
// step, since it has no registers for both (SERIAL of glsl/gemv/gemv_row.glsl).
enum gi_serial {
    GI_SERIAL_NONE,
    GI_SERIAL_CODES, // types with scales whose unpackers yield only whole blocks
    GI_SERIAL_MOST,  // all but bytes and nibbles
};

// How an invocation adds up products with weights of one bit in the form by bytes, if it takes four
// rows (glsl/gemv/gemv_fours.glsl).
enum gi_byte_sums {
    GI_BYTE_SUMS_NONE, // it takes two
    GI_BYTE_SUMS_BY_ONE,
    GI_BYTE_SUMS_BY_TWO,
};

struct gi_device_class {
    const char *name;
    // True if it has many cores, fast shared memory, and a cache that may hold a small model's
    // layer.
    bool is_large;
    bool is_llvmpipe;           // its compiler takes code that those of GPUs choke on
    bool is_short_of_registers; // leaves out programs of GI_CAPABILITY_REGISTERS
    bool merges_flushes;        // its driver puts a plain flush off, and merges it with later ones
    enum gi_indirect indirect;  // grids that change
    uint32_t subgroup_size; // size of the subgroups that neighbouring invocations always share; 0:
                            // unknown
    uint64_t large_pages_from; // minimum bytes of a buffer to use large pages; 0: never
    uint32_t max_batch;        // tokens of a prompt batch; 0: GI_MAX_BATCH
    uint32_t wave_groups;      // workgroups of a prompt kernel that run at once
    uint32_t probe_groups;     // that fill the device while it is timed
    uint64_t rate_bytes;       // of the buffers that rates are measured with
    uint64_t
        burst_bytes; // of results of a burst of arithmetic that takes about a millisecond or less
    uint32_t copy_wg_size, copy_loads; // of the kernels that measure rates
    uint32_t first_batch; // tokens of a prompt's first batch, whose time is not known; 0: all

    // Holds the rates that the slowest GPU of the class is trusted with, until it is measured; 0:
    // least of all.
    struct {
        uint32_t mmac_per_s; // 1e6 multiply-adds a second, of prompt kernels
        uint32_t mb_per_s;   // 1e6 bytes a second
        uint32_t launch_us;  // of a dispatch
    } rates;

    // Decode: the first row that is possible is used. The last row fits everything; a row of zeros
    // ends the table.
    const struct gi_gemv_row *gemv;
    const struct gi_gemv_candidates *gemv_candidates;
    uint32_t n_gemv_candidates;
    uint32_t loop_groups[2];   // max_groups that tuning tries
    uint32_t attention_groups; // at most, of a step's attention with subgroups
    // Invocations of a group times elements of a head, up to which a step's attention turns q and k
    // itself.
    uint32_t attention_turning;
    uint32_t attention_keys; // keys per range of the generic decode attention
    struct gi_attention_shape attention;
    enum gi_serial serial;
    enum gi_byte_sums byte_sums;

    // The prompt.
    enum gi_batch_form batch_form;
    const struct gi_gemv_batch_row *gemv_batch; // as gemv
    uint32_t lane_tokens;                       // of a group in GI_BATCH_FORM_LANE
    struct gi_attention_block attention_block;
    enum gi_gemm_tile gemm_tile;     // where it fills the device; WHOLE: by size, or none in
                                     // GI_BATCH_FORM_LANE
    enum gi_gemm_tile unscaled_tile; // of weights without scales; WHOLE: none of its own
    bool is_rolled; // its compilers keep fewer values alive in loops than in straight-line code
    uint32_t tall_head_dim; // maximum head_dim for which tiled prompt attention uses groups of 512
                            // and 64 tokens; above it 256 and 32
    bool packs_rows;    // inputs of its products, in f16 (src/ops/gemm/pack_rows.h): it waits for
                        // loads, or unpacks halves for nothing
    bool is_batch_open; // where the device can, tuning may find that it prefers GI_BATCH_FORM_SPLIT

    // Sampling: invocations of groups, as far as there are programs for them.
    struct {
        uint32_t argmax_size; // of the one group that takes the largest logit
        uint32_t n_groups;    // at most, that look at the logits at once
        uint32_t size;        // of each of these
    } sample;
    uint32_t row_loads; // of logits of a row that an invocation has in flight; 0: one

    // The persistent executor.
    struct {
        bool is_default;           // it was seen to be right and faster
        uint32_t n_groups;         // one a multiprocessor
        uint32_t group_size;       // if there are subgroups
        uint32_t large_group_size; // of models that wait for memory most of all
        uint32_t max_spins;        // of a wait: about a tenth of a second
        uint32_t large_from;  // bytes of a layer's weights for each group, from which it is large
        uint32_t max_step_us; // of multi-dispatch steps that it can make faster
    } persistent;
};

// Finds the class of a device by its GL_RENDERER and GL_VERSION, NULL: any version. Never NULL.
const struct gi_device_class *gi_device_class_find(const char *renderer, const char *version);
