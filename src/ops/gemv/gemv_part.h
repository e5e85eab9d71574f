// One part of a weight on its way into the table: what the ops of gemv.h have in common. An op
// begins the part, adds the defines and parameters of its kernel, and records it. Private to
// this folder.
#ifndef GI_OPS_GEMV_PART_H
#define GI_OPS_GEMV_PART_H

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
    enum gi_publish publishes;
    bool consumes;
    uint32_t site; // of a tuner
    double share;  // of the weights that a token meets, where those are of experts; 0: all
    struct gi_program_key key;
};

// Chooses shape and program of part `index` of a weight, and adds the defines of every kernel.
void gi_gemv_begin_part(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                        enum gi_gemv_kernel kernel, const struct gi_weight *weight, uint32_t index);
// name is a literal.
void gi_gemv_add_define(struct gi_program_key *key, const char *name, uint32_t value);
// Adds what is known of x, at `begin` vec4 of binding 1: the sums behind it, and whether it can be
// read as a uniform block.
void gi_gemv_add_source(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                        uint32_t begin, bool has_sums, struct gi_dispatch *dispatch);
// True if the rows of all parts leave sums, each of `rows` rows from a multiple of them on. Adds
// the define that says so to the key of a part.
bool gi_gemv_writes_sums(const struct gi_weight *weight, uint32_t rows, struct gi_gemv_part *part);
// Requests the part's program and records its dispatch, of which label, bindings 0 and 1 and the
// parameters are set.
void gi_gemv_record_part(struct gi_gemv_part *part, struct gi_recorder *recorder,
                         struct gi_dispatch *dispatch);

#endif
