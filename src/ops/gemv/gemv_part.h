// The common code of the ops of gemv.h: records the dispatch of one part of a weight. An op begins
// the part, adds the defines and parameters of its kernel, and records the part. Private to
// this folder.
#pragma once

#include "ops/gemv/gemv_shape.h"
#include "ops/record/weight.h"

enum gi_gemv_kernel {
    GI_GEMV_QKV,
    GI_GEMV_RESIDUAL,
    GI_GEMV_GLU,
    GI_GEMV_VOCAB,
    GI_GEMV_PLAIN,
    GI_GEMV_EXPERT_GLU,
    GI_GEMV_EXPERT,
    GI_GEMV_GATE_INPUT,
    GI_GEMV_POST,
};

struct gi_gemv_part {
    const struct gi_weight_part *weight; // borrowed
    struct gi_gemv_shape shape;
    uint32_t n_block, n_pair;
    uint32_t k_splits; // groups of a row, which have n_block blocks each
    enum gi_publish publishes;
    bool consumes, works_beside;
    uint32_t site; // the tuner's number of it
    double share;  // of the weights that one token reads, for experts; 0: all
    struct gi_program_key key;
};

// Chooses shape and program of part `index` of a weight, and adds the defines of every kernel.
void gi_gemv_begin_part(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                        enum gi_gemv_kernel kernel, const struct gi_weight *weight, uint32_t index);
// Adds the defines that say whether sums follow x and whether x can be read as a uniform block.
// x is at `begin` vec4 of binding 1.
void gi_gemv_add_source(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                        uint32_t begin, bool has_sums, struct gi_dispatch *dispatch);
// Returns true if all parts write the sums of their rows, `rows` rows each, aligned to that number.
// Adds the matching define to the part's key.
bool gi_gemv_writes_sums(const struct gi_weight *weight, uint32_t rows, struct gi_gemv_part *part);
// Requests the part's program and records its dispatch. The caller has set label, bindings 0 and 1
// and parameters.
void gi_gemv_record_part(struct gi_gemv_part *part, struct gi_recorder *recorder,
                         struct gi_dispatch *dispatch);
