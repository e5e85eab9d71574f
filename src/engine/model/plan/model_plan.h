// Plans the loading of a file before anything is allocated: the family, its hparams, and for every
// weight matrix the tensors it is made of, checked for presence, shape and type, and its layout on
// the GPU. Borrows the gguf, which must outlive it.
#pragma once

#include "engine/model/adapter/adapter_set.h"
#include "graph/model_family.h"

// Rows of a tensor: all of them, or a slice of a tensor that stacks several matrices.
struct gi_plan_source {
    const struct gi_gguf_tensor *tensor;
    const struct gi_gguf_tensor *bias; // NULL: none
    // (n_matrix) numbers by which the matrices are multiplied; NULL: none.
    const struct gi_gguf_tensor *factor;
    uint32_t row_begin, n_rows;
    // Rows of a slice come n_run at a time, every run_step rows; 0: all at once.
    uint32_t n_run, run_step;
    // Taps of a convolution: columns of the file are (n_cols / n_tap, n_tap) of the GPU's
    // (n_tap, n_col of a row); 0: columns are as in the file.
    uint32_t n_tap, n_col;
};

// One weight matrix. weight has its parts laid out, with ranges whose buffer is still NULL and
// whose offset counts from 0 within the part's own bytes: quads first, then aux.
struct gi_plan_weight {
    char name[64];
    enum gi_weight_order order;
    uint32_t layer;
    uint32_t n_sources;
    struct gi_plan_source sources[GI_MAX_SOURCES];
    const struct gi_gguf_tensor *gamma; // of the norm that travels with it; NULL: none
    const struct gi_gguf_tensor *post;  // gamma of the norm of its result; NULL: none
    const struct gi_gguf_tensor *scale; // the factor of the layer after that norm; NULL: none
    bool can_adapt;                     // adapters may change it
    // The weight of an earlier layer that is the same, ranges too; NULL: none.
    const struct gi_plan_weight *same;
    // The weight that a matrix A of adapters, which has no sources, belongs to; else NULL.
    const struct gi_plan_weight *adapts;
    struct gi_weight weight;
};

#define GI_MAX_ENDS 8u // weights outside the layers

// A part of a model that has hyperparameters, weights and lists of its own.
struct gi_tower {
    const char *family; // name; NULL: the file's general.architecture
    const char *prefix; // of the names of its tensors: "enc."; NULL: none
};

// The limits of a layout.
struct gi_plan_limits {
    uint64_t max_range; // bytes of a storage range
    uint32_t alignment; // of a range
};

struct gi_model_plan {
    const struct gi_gguf *gguf; // borrowed
    struct gi_tower tower;
    const struct gi_model_family *family;
    struct gi_hparams hparams;
    struct gi_qkv_layout qkv_layout;
    struct gi_norm_layout norm_layout;
    struct gi_adapter_set *adapters; // borrowed; NULL: none
    // (n_layer, GI_SLOT_COUNT), the embedding (of an encoder of sound: two convolutions), the
    // output unless it is tied, then, if present, the layers' own inputs (embeddings, projection)
    // and the residual streams (one matrix that makes all streams but the first, and one for each
    // that reads it back). The matrices A of adapters follow.
    struct gi_plan_weight *weights;
    uint32_t n_weights;
    bool is_tied;
    // (n_layer, GI_NORM_COUNT), then the output's gamma and the vector added after it; NULL entries
    // are absent.
    const struct gi_gguf_tensor **norms;
    // NULL: none. Both are the same but where a file has one for a context that was stretched.
    const struct gi_gguf_tensor *rope_factors, *long_rope_factors;
    uint64_t weight_bytes;  // on the GPU, padding and alignment included
    uint64_t largest_range; // bytes
    struct gi_plan_limits limits;
    struct glinfer_error failure; // the first; after it nothing more is planned
};

// tower may be NULL: the file is one; adapters, too: none. Notes in them which pairs are used.
// Fails with BAD_FILE and UNSUPPORTED (family, type or shape; names the tensor), NO_MEMORY.
bool gi_model_plan_init(struct gi_model_plan *plan, const struct gi_gguf *gguf,
                        const struct gi_tower *tower, const struct gi_plan_limits *limits,
                        struct gi_adapter_set *adapters, struct glinfer_error *err);
void gi_model_plan_finish(struct gi_model_plan *plan);

// Returns the bytes of one part: quads, aux and the padding between.
uint64_t gi_plan_part_size(const struct gi_weight_part *part, uint32_t alignment);
