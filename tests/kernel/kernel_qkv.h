// q, k and v on their way from a projection into a layer's cache, in tests: what the cases of rotation and of attention that
// turns them itself share.
#ifndef KERNEL_QKV_H
#define KERNEL_QKV_H

#include "kernel_layer.h"
#include "ops/batch.h"

#define KT_ROPE_RATE 10000.0
#define KT_NORM_EPS  1e-5f

struct kt_rope_case {
    struct kt_layer_shape shape;
    uint32_t n_rot, n_tokens, n_past;
};

// Random q, k and v of a batch: natural (pair order) and as the stacked projection lays them out.
struct kt_qkv {
    struct gi_qkv_layout layout;
    uint32_t width; // of the natural row: q, k, v after each other
    float *natural, *stacked;
    struct gi_rows rows;
};
void kt_qkv_init(struct kt_qkv *qkv, struct kt_run *run, const struct kt_layer_shape *shape,
                 uint32_t n_tokens);
void kt_qkv_finish(struct kt_qkv *qkv);

// The table of rotations, then the weights of both norms: of each head, or with `whole` of all of q and of k. The caller
// frees values.
struct gi_vectors kt_normed_table(struct kt_run *run, const struct kt_rope_case *c, bool whole,
                                  struct gi_head_norm *norm, float **values);
// Norms q and k as natural has them, rounded as an f32 result is.
void kt_norm_qkv(struct kt_qkv *qkv, const struct kt_rope_case *c, const struct gi_head_norm *norm,
                 const float *values);

// Holds a head of k or v at a row of the cache; bound is changed.
bool kt_check_row(struct kt_run *run, bool is_k, const struct gi_kv_layer *kv, size_t row,
                  const double *want, double *bound);
// What lies outside the positions of the case is as it was.
bool kt_check_untouched(struct kt_run *run, const struct kt_rope_case *c,
                        const struct kt_layer *layer);

#endif
