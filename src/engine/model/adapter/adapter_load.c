#include "engine/model/adapter/adapter_load.h"

#include "base/array.h"
#include "engine/model/plan/plan_rows.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool write_range(struct gi_gpu *gpu, const struct gi_range *to, const void *data,
                        uint64_t size, struct glinfer_error *err)
{
    return size == 0 || gi_buffer_write(to->buffer, gpu, to->offset, data, size, err);
}

void gi_adapter_link(const struct gi_model_plan *plan, struct gi_weight *weights)
{
    for (uint32_t i = 0; i < plan->n_weights; i++) {
        const struct gi_plan_weight *base = plan->weights[i].adapts;
        if (base) {
            weights[base - plan->weights].adapter = &weights[i];
            weights[i].adapts = true;
        }
    }
}

//-- matrix A --------------------------------------------------------------------------------------

// Fills the rows of matrix A, (n_rows, n_cols) halves.
static bool fill_a(const struct gi_model_plan *plan, const struct gi_plan_weight *base,
                   uint32_t n_cols, uint16_t *rows, struct glinfer_error *err)
{
    const struct gi_adapter_set *set = plan->adapters;
    for (uint32_t i = 0; i < base->n_sources * set->n; i++) {
        const uint32_t source = i / set->n;
        const struct gi_adapter *adapter = &set->adapters[i % set->n];
        const struct gi_adapter_pair *pair =
            gi_adapter_find(adapter, base->sources[source].tensor->name);
        if (!pair) {
            continue;
        }
        float *values = gi_adapter_read(adapter, pair->a, 0, (size_t)pair->a->dims[1], err);
        uint16_t *out = rows + (size_t)(source * set->rank + adapter->begin) * n_cols;
        if (!values) {
            return false;
        }
        for (size_t j = 0; j < n_cols * (size_t)pair->a->dims[1]; j++) {
            out[j] = gi_float_to_half(values[j]);
        }
        free(values);
    }
    return true;
}

static bool write_a(struct gi_gpu *gpu, const struct gi_weight_part *part, uint32_t n_cols,
                    const uint16_t *rows, struct glinfer_error *err)
{
    const size_t size = (size_t)gi_quant_quads_size(part->quant, GI_TILE_ROWS, n_cols);
    uint32_t *quads = gi_array_zeroed(size, 1, "an adapter", err);
    struct gi_range to = part->quads;
    bool ok = quads;
    assert(part->quant->table_words == 0);
    for (uint32_t i = 0; ok && i < part->n_rows / GI_TILE_ROWS; i++) {
        const void *tile[GI_TILE_ROWS];
        for (size_t j = 0; j < GI_TILE_ROWS; j++) {
            tile[j] = rows + (i * GI_TILE_ROWS + j) * n_cols;
        }
        memset(quads, 0, size);
        gi_quant_repack_tile(part->quant, tile, n_cols, quads, NULL);
        ok = write_range(gpu, &to, quads, size, err);
        to.offset += size;
    }
    free(quads);
    return ok;
}

bool gi_adapter_load_a(struct gi_gpu *gpu, const struct gi_model_plan *plan,
                       const struct gi_plan_weight *weight, const struct gi_weight_part *part,
                       struct gi_weight_samples *samples, struct glinfer_error *err)
{
    const uint32_t n_cols = weight->weight.n_cols;
    uint16_t *rows =
        gi_array_zeroed((size_t)part->n_rows * n_cols, sizeof(*rows), "an adapter", err);
    bool ok = rows && fill_a(plan, weight->adapts, n_cols, rows, err) &&
              write_a(gpu, part, n_cols, rows, err);
    if (ok && (weight->layer < 2 || weight->layer + 1 == plan->hparams.n_layer)) {
        ok = gi_weight_samples_add(samples, part, n_cols, rows, err);
    }
    free(rows);
    return ok;
}

//-- matrix B --------------------------------------------------------------------------------------

// Adds the columns of an adapter's B to the words of a part, for the rows of one source.
static bool add_b(const struct gi_model_plan *plan, const struct gi_plan_weight *weight,
                  const struct gi_weight_part *part, uint32_t source,
                  const struct gi_adapter *adapter, uint32_t *words, struct glinfer_error *err)
{
    const struct gi_adapter_pair *pair =
        gi_adapter_find(adapter, weight->sources[source].tensor->name);
    float *values =
        pair ? gi_adapter_read(adapter, pair->b, 0, (size_t)pair->b->dims[1], err) : NULL;
    if (!values) {
        return !pair;
    }
    const uint32_t rank = (uint32_t)pair->b->dims[0];
    const uint32_t n_word = weight->weight.adapter_rank / 2 + 1;
    const float factor = gi_adapter_factor(adapter, pair);
    bool ok = true;
    for (uint32_t row = 0; ok && row < part->n_rows; row++) {
        uint32_t own, source_row;
        if (!gi_plan_weight_row(plan, weight, part, row, &own, &source_row) || own != source) {
            continue;
        }
        uint32_t *tile = words + (size_t)(row / GI_TILE_ROWS) * GI_TILE_ROWS * n_word;
        for (uint32_t j = 0; ok && j < rank; j++) {
            const uint32_t column = adapter->begin + j;
            const float value = values[(size_t)source_row * rank + j] * factor;
            ok = gi_adapter_check_value(adapter, pair, value, err);
            tile[(column / 2 + 1) * GI_TILE_ROWS + row % GI_TILE_ROWS] |=
                ok ? (uint32_t)gi_float_to_half(value) << 16 * (column % 2) : 0;
        }
    }
    free(values);
    return ok;
}

bool gi_adapter_load_b(struct gi_gpu *gpu, const struct gi_model_plan *plan,
                       const struct gi_plan_weight *weight, const struct gi_weight_part *part,
                       struct glinfer_error *err)
{
    const struct gi_adapter_set *set = plan->adapters;
    const uint32_t rank = weight->weight.adapter_rank, n_word = rank / 2 + 1;
    const size_t n = gi_adapter_words(part->n_rows, rank);
    if (rank == 0) {
        return true;
    }
    uint32_t *words = gi_array_zeroed(n, sizeof(*words), "an adapter", err);
    bool ok = words;
    for (uint32_t row = 0; ok && row < part->n_rows; row++) {
        uint32_t source, source_row;
        if (gi_plan_weight_row(plan, weight, part, row, &source, &source_row)) {
            words[(size_t)(row / GI_TILE_ROWS) * GI_TILE_ROWS * n_word + row % GI_TILE_ROWS] =
                source * rank / 4;
        }
    }
    for (uint32_t i = 0; ok && i < weight->n_sources * set->n; i++) {
        ok = add_b(plan, weight, part, i / set->n, &set->adapters[i % set->n], words, err);
    }
    struct gi_range to = part->aux;
    to.offset += sizeof(*words) * (uint64_t)(part->bias + part->n_rows);
    ok = ok && write_range(gpu, &to, words, n * sizeof(*words), err);
    free(words);
    return ok;
}
