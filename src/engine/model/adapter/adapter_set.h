// The LoRA adapters of a model: GGUF files that have, for some matrices W of the model, a pair of
// low-rank matrices: W x + scale * alpha / rank * B (A x). Opens and checks the files and finds
// their pairs by the names of the model's tensors. Owns the open files; knows no GPU.
#pragma once

#include "gguf/gguf.h"

#define GI_MAX_ADAPTERS     16u
#define GI_MAX_ADAPTER_RANK 1024u // of all adapters together

// The matrices of a tensor: a (rank, n_cols of W), b (n_rows of W, rank).
struct gi_adapter_pair {
    struct gi_gguf_string base; // name of the model's tensor
    const struct gi_gguf_tensor *a, *b;
    bool is_used; // a matrix of the plan has it
};

struct gi_adapter {
    struct gi_gguf *gguf;
    float alpha;                   // 0: the scale is not divided by the rank
    uint32_t rank, begin;          // columns in matrices of all adapters, and the first of them
    struct gi_adapter_pair *pairs; // n_pairs, in the order of their names
    size_t n_pairs;
};

struct gi_adapter_set {
    struct gi_adapter adapters[GI_MAX_ADAPTERS];
    uint32_t n;
    uint32_t rank; // of all together, rounded up to a multiple of 4
};

// Opens n adapters of a model, which are GGUF files or, unless model is NULL, folders of PEFT.
// Fails as gi_gguf_open and gi_hf_open_adapter do, and with BAD_FILE (a missing half or key, a
// wrong shape), UNSUPPORTED (a kind of adapter or a tensor type), INVALID_ARGUMENT (more than
// GI_MAX_ADAPTERS); the set is then all zero.
bool gi_adapter_set_open(struct gi_adapter_set *set, const struct gi_gguf *model,
                         const struct glinfer_source *const *sources, uint32_t n,
                         struct glinfer_error *err);
// Takes a file that is open, which gi_adapter_close closes in all cases. Fails as
// gi_adapter_set_open does of a file.
bool gi_adapter_take(struct gi_adapter *adapter, struct gi_gguf *gguf, struct glinfer_error *err);
// Closes the files. Accepts all-zero.
void gi_adapter_set_close(struct gi_adapter_set *set);

// Closes the file of an adapter of a set.
void gi_adapter_close(struct gi_adapter *adapter);

// Returns the pair of a tensor of the model; NULL if the adapter has none.
struct gi_adapter_pair *gi_adapter_find(const struct gi_adapter *adapter,
                                        struct gi_gguf_string base);
// Return the tensor of a model that a pair changes, NULL if the model lacks it, and the factor
// alpha / rank of the product of a pair.
const struct gi_gguf_tensor *gi_adapter_base(const struct gi_adapter_pair *pair,
                                             const struct gi_gguf *model);
float gi_adapter_factor(const struct gi_adapter *adapter, const struct gi_adapter_pair *pair);
// Fails with BAD_FILE if the product of a value of matrix B and the factor does not fit a half.
bool gi_adapter_check_value(const struct gi_adapter *adapter, const struct gi_adapter_pair *pair,
                            float value, struct glinfer_error *err);
// Fail with BAD_FILE unless the adapter is made for the model's architecture; unless the matrices
// of a pair, with the columns and rows that the message names, fit a tensor of the model.
bool gi_adapter_check_model(const struct gi_adapter *adapter, const struct gi_gguf *model,
                            struct glinfer_error *err);
bool gi_adapter_check_shape(const struct gi_adapter *adapter, const struct gi_adapter_pair *pair,
                            const struct gi_gguf *model, const struct gi_gguf_tensor *tensor,
                            struct glinfer_error *err);
// Refuses an adapter for a pair whose tensor the model lacks (BAD_FILE) or that may not be changed
// (UNSUPPORTED). Returns false.
bool gi_adapter_refuse(const struct gi_adapter *adapter, const struct gi_adapter_pair *pair,
                       const struct gi_gguf *model, struct glinfer_error *err);

// Reads rows [first, first + n) of a matrix as floats. Returns memory that the caller frees. NULL
// with BAD_FILE if a value does not fit a half, IO, NO_MEMORY.
float *gi_adapter_read(const struct gi_adapter *adapter, const struct gi_gguf_tensor *tensor,
                       size_t first, size_t n, struct glinfer_error *err);
