// The small matrices after the pooling of an embedding model, on the host: projections of an
// embedding, and the classifier of a reranker. They multiply one vector per text.
#pragma once

#include "graph/hparams.h"

struct gi_dense_layer {
    uint32_t n_in, n_out; // n_out 0: there is no such layer
    float *weight;        // (n_out, n_in)
    float *bias;          // (n_out), or NULL
};

struct gi_dense_head {
    struct gi_dense_layer projections[2]; // dense_2, dense_3
    struct gi_dense_layer hidden, scores; // cls and cls.output
    // After cls: tanh or GELU, then, if the file has its gamma, a layernorm without beta.
    bool has_gelu;
    float *hidden_gamma; // (hidden.n_out), or NULL
    float eps;
};

// Reads the matrices that the file has. Fails with BAD_FILE (a shape that does not fit),
// UNSUPPORTED (a type without a kernel), IO, NO_MEMORY; the caller then calls finish.
bool gi_dense_head_read(struct gi_dense_head *head, const struct gi_gguf *gguf,
                        const struct gi_hparams *hparams, struct glinfer_error *err);
// Accepts all-zero.
void gi_dense_head_finish(struct gi_dense_head *head);

bool gi_dense_head_has_scores(const struct gi_dense_head *head);
// Return how many numbers come of n_embd.
uint32_t gi_dense_head_embedding_size(const struct gi_dense_head *head, uint32_t n_embd);
uint32_t gi_dense_head_score_count(const struct gi_dense_head *head);

// Write the embedding, or the scores, of x (n_embd) to y. Fail with NO_MEMORY.
bool gi_dense_head_project(const struct gi_dense_head *head, const float *x, uint32_t n_embd,
                           float *y, struct glinfer_error *err);
bool gi_dense_head_score(const struct gi_dense_head *head, const float *x, uint32_t n_embd,
                         float *y, struct glinfer_error *err);
