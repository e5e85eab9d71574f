// A layer's cache of random contents in tests: what the cases of rotation and of attention share.
#ifndef KERNEL_LAYER_H
#define KERNEL_LAYER_H

#include "kernel_test.h"
#include "ops/stream.h"

// For tables of cases.
#define F16 GI_CACHE_F16
#define F32 GI_CACHE_F32
#define Q8  GI_CACHE_Q8_0

extern const char *const kt_cache_names[]; // of enum gi_cache_type

struct kt_layer_shape {
    uint32_t n_head, n_kv_head, head_dim, n_ctx;
    enum gi_cache_type type_k, type_v;
};

// A layer's cache in a range, with the values that k and v hold: (n_kv_head, n_ctx, head_dim) each.
struct kt_layer {
    struct gi_kv_layer kv; // its range belongs to the run
    float *k, *v;
    uint32_t *words; // of the whole range
    uint64_t size;
};

// Random k and v in the first n_written places, q zero. What lies behind them is NaN, as in memory that nobody has
// written; k and v have values there, too.
void kt_layer_init(struct kt_layer *layer, struct kt_run *run, const struct kt_layer_shape *shape,
                   uint32_t n_written);
void kt_layer_finish(struct kt_layer *layer);

#endif
