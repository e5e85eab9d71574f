#include "engine/model/adapter/adapter_merge.h"

#include "base/array.h"
#include "base/thread_pool.h"
#include "quant/quant.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 64 }; // that are floats at a time

struct merge {
    const struct gi_gguf *model; // borrowed: owns the merge
    struct gi_adapter adapter;   // owned
    float scale;
    struct gi_thread_pool *pool;
};

// Rows [first, first + n) of a tensor, which are changed where they lie.
struct job {
    const struct gi_quant *quant;
    size_t n_cols, row_size, rank;
    uint8_t *rows;
    float *floats;      // (BLOCK_ROWS, n_cols)
    const float *a, *b; // (rank, n_cols), (n, rank)
    float factor;
    size_t done; // rows before the block
};

static void destroy(void *user)
{
    struct merge *merge = user;
    gi_thread_pool_destroy(merge->pool);
    gi_adapter_close(&merge->adapter);
    free(merge);
}

static void change_row(void *user, uint32_t item)
{
    const struct job *job = user;
    const size_t row = job->done + item, n_cols = job->n_cols;
    uint8_t *bytes = job->rows + row * job->row_size;
    float *restrict sums = job->floats + item * n_cols;
    gi_quant_dequantize_row(job->quant, bytes, n_cols, sums);
    for (size_t i = 0; i < job->rank; i++) {
        const float factor = job->b[row * job->rank + i] * job->factor;
        const float *restrict a = job->a + i * n_cols;
        for (size_t j = 0; j < n_cols; j++) {
            sums[j] += factor * a[j];
        }
    }
    gi_quant_quantize_row((enum gi_ggml_type)job->quant->type, sums, n_cols, bytes);
}

// Adds the product of a pair to n rows of its tensor.
static bool change_rows(const struct merge *merge, const struct gi_adapter_pair *pair,
                        const struct gi_gguf_tensor *tensor, size_t first, size_t n, uint8_t *rows,
                        struct glinfer_error *err)
{
    const size_t rank = (size_t)pair->a->dims[1], n_cols = (size_t)tensor->dims[0];
    float *floats = gi_array_zeroed(BLOCK_ROWS * n_cols, sizeof(*floats), "a merged adapter", err);
    float *a = floats ? gi_adapter_read(&merge->adapter, pair->a, 0, rank, err) : NULL;
    float *b = a ? gi_adapter_read(&merge->adapter, pair->b, first, n, err) : NULL;
    struct job job = {
        .quant = gi_quant_find(tensor->type->type),
        .n_cols = n_cols,
        .row_size = (size_t)(tensor->size / tensor->dims[1]),
        .rank = rank,
        .floats = floats,
        .a = a,
        .b = b,
        .factor = merge->scale * gi_adapter_factor(&merge->adapter, pair),
    };
    bool ok = b;
    for (size_t i = 0; ok && i < n * rank; i++) {
        ok = gi_adapter_check_value(&merge->adapter, pair, b[i] * job.factor, err);
    }
    job.rows = rows;
    for (; ok && job.done < n; job.done += BLOCK_ROWS) {
        const size_t left = n - job.done;
        gi_thread_pool_begin(merge->pool, change_row, &job,
                             (uint32_t)(left < BLOCK_ROWS ? left : BLOCK_ROWS));
        gi_thread_pool_end(merge->pool);
    }
    free(floats);
    free(a);
    free(b);
    return ok;
}

static bool read_merged(void *user, const struct gi_gguf_tensor *tensor, uint64_t offset,
                        size_t size, void *out, struct glinfer_error *err)
{
    const struct merge *merge = user;
    const struct gi_adapter_pair *pair = gi_adapter_find(&merge->adapter, tensor->name);
    if (!pair || size == 0) {
        return gi_gguf_tensor_read_unfiltered(merge->model, tensor, offset, size, out, err);
    }
    const uint64_t row_size = tensor->size / tensor->dims[1], first = offset / row_size;
    const size_t n = (size_t)((offset + size - 1) / row_size + 1 - first);
    const size_t all = n * (size_t)row_size;
    uint8_t *own = all == size ? NULL : gi_array_zeroed(all, 1, "a merged adapter", err);
    uint8_t *rows = all == size ? out : own;
    const bool ok =
        rows &&
        gi_gguf_tensor_read_unfiltered(merge->model, tensor, first * row_size, all, rows, err) &&
        change_rows(merge, pair, tensor, (size_t)first, n, rows, err);
    if (ok && own) {
        memcpy(out, own + offset % row_size, size);
    }
    free(own);
    return ok;
}

static bool check_pair(const struct gi_adapter *adapter, const struct gi_adapter_pair *pair,
                       const struct gi_gguf *model, struct glinfer_error *err)
{
    static const char embedding[] = "token_embd.weight"; // its adapter changes columns
    const struct gi_gguf_tensor *tensor = gi_adapter_base(pair, model);
    if (!tensor || tensor->n_dims != 2 ||
        (pair->base.size == sizeof(embedding) - 1 &&
         memcmp(pair->base.data, embedding, pair->base.size) == 0)) {
        return gi_adapter_refuse(adapter, pair, model, err);
    }
    return gi_adapter_check_shape(adapter, pair, model, tensor, err) &&
           ((gi_quant_find(tensor->type->type) &&
             gi_quant_can_quantize((enum gi_ggml_type)tensor->type->type)) ||
            gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                         "%s: cannot merge the adapter into %.*s, whose type %s glinfer does not "
                         "write: load the adapter without merging it, or merge it into a model of "
                         "f32, f16, bf16, q8_0, q5_1, q5_0, q4_1 or q4_0",
                         gi_gguf_path(adapter->gguf), (int)pair->base.size, pair->base.data,
                         tensor->type->name));
}

bool gi_adapter_merge(struct gi_adapter_set *set, struct gi_gguf *model, float scale,
                      struct glinfer_error *err)
{
    const struct gi_adapter *adapter = &set->adapters[0];
    bool ok =
        (set->n == 1 ||
         gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                      "cannot merge adapters: exactly one is needed, but %u are given", set->n)) &&
        gi_adapter_check_model(adapter, model, err);
    for (size_t i = 0; ok && i < adapter->n_pairs; i++) {
        ok = check_pair(adapter, &adapter->pairs[i], model, err);
    }
    struct merge *merge = ok ? gi_array_zeroed(1, sizeof(*merge), "an adapter", err) : NULL;
    if (!merge) {
        return false;
    }
    merge->pool = gi_thread_pool_create(0);
    if (!merge->pool) {
        free(merge);
        return gi_error_no_memory(err, 1, "threads that merge an adapter");
    }
    merge->model = model;
    merge->adapter = *adapter;
    merge->scale = scale;
    gi_gguf_set_filter(model, &(struct gi_gguf_filter){merge, read_merged, destroy});
    *set = (struct gi_adapter_set){0};
    return true;
}
