#include "engine/model/position_table.h"

#include "base/array.h"
#include "engine/model/weight_store.h"
#include "quant/quant.h"

#include <stdlib.h>

// Finds a tensor of rows of n_embd, at least n_rows of them; *out is NULL if it is not there.
static bool find(const struct gi_gguf *gguf, const char *name, uint32_t n_embd, uint32_t n_rows,
                 const struct gi_gguf_tensor **out, struct glinfer_error *err)
{
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_find(gguf, name);
    *out = tensor;
    if (tensor && !gi_quant_find(tensor->type->type)) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: %s is of type %s, which has no kernel", gi_gguf_path(gguf), name,
                            tensor->type->name);
    }
    return !tensor || (tensor->dims[0] == n_embd && tensor->dims[1] >= n_rows) ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: %s has shape %llu x %llu, expected %u x %u or more",
                        gi_gguf_path(gguf), name, (unsigned long long)tensor->dims[0],
                        (unsigned long long)tensor->dims[1], n_embd, n_rows);
}

static void add_row(float *table, const float *row, uint32_t n_rows, uint32_t n_embd)
{
    for (size_t i = 0; i < (size_t)n_rows * n_embd; i++) {
        table[i] += row[i % n_embd];
    }
}

static bool read_table(const struct gi_gguf *gguf, const struct gi_gguf_tensor *positions,
                       const struct gi_gguf_tensor *types, const struct gi_hparams *hparams,
                       float *table, struct glinfer_error *err)
{
    const uint32_t n_embd = hparams->n_embd, n_rows = hparams->n_ctx_train;
    float *row = gi_array_zeroed(n_embd, sizeof(*row), "the types of tokens", err);
    const bool ok =
        row &&
        (!positions || gi_read_vector(gguf, positions, (size_t)n_rows * n_embd, table, err)) &&
        (!types || gi_read_vector(gguf, types, n_embd, row, err));
    if (ok) {
        add_row(table, row, n_rows, n_embd);
    }
    free(row);
    return ok;
}

bool gi_read_positions(const struct gi_gguf *gguf, const struct gi_hparams *hparams, float **out,
                       struct glinfer_error *err)
{
    const struct gi_gguf_tensor *positions, *types;
    const uint32_t n_embd = hparams->n_embd;
    if (!hparams->has_positions) {
        return true;
    }
    if (!find(gguf, "position_embd.weight", n_embd, hparams->n_ctx_train, &positions, err) ||
        !find(gguf, "token_types.weight", n_embd, 1, &types, err)) {
        return false;
    }
    *out =
        gi_array_zeroed((size_t)hparams->n_ctx_train * n_embd, sizeof(**out), "the positions", err);
    return *out && read_table(gguf, positions, types, hparams, *out, err);
}
