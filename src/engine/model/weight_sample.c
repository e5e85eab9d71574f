#include "engine/model/weight_sample.h"

#include "base/array.h"
#include "engine/model/plan/plan_rows.h"

#include <stdlib.h>
#include <string.h>

// Tiles of both ends and of the middle, of each a pair as projections with pairs of rows have it
// (2 i, 2 i + 1), and as gated networks have it (i, n / 2 + i).
static void choose_tiles(struct gi_weight_sample *sample, uint32_t n)
{
    const uint32_t half = n / 2, before = (half > 0 ? half - 1 : 0) & ~1u, at = half & ~1u;
    const uint32_t wanted[GI_SAMPLE_TILES] = {0, 1, before, before + 1, at, at + 1, n - 2, n - 1};
    for (uint32_t i = 0; i < GI_SAMPLE_TILES; i++) {
        bool is_new = wanted[i] < n;
        for (uint32_t j = 0; j < sample->n_tiles; j++) {
            is_new = is_new && sample->tiles[j] != wanted[i];
        }
        if (is_new) {
            sample->tiles[sample->n_tiles++] = wanted[i];
        }
    }
}

// Returns the slot of a weight of the plan: its place in a layer, or in the plan.
static uint32_t find_slot(const struct gi_model_plan *plan, uint32_t index)
{
    return index < plan->hparams.n_layer * GI_SLOT_COUNT ? index % GI_SLOT_COUNT : index;
}

// Returns true if a later weight has parts of this kind.
static bool is_followed(const struct gi_model_plan *plan, uint32_t index,
                        const struct gi_weight_sample *kind)
{
    for (uint32_t i = index + 1; i < plan->n_weights; i++) {
        const struct gi_weight *weight = &plan->weights[i].weight;
        const bool is_slot = find_slot(plan, i) == kind->slot && !plan->weights[i].same;
        for (uint32_t j = 0; is_slot && j < weight->n_parts; j++) {
            if (weight->parts[j].quant == kind->quant && weight->parts[j].n_rows == kind->n_rows &&
                weight->n_cols == kind->n_cols) {
                return true;
            }
        }
    }
    return false;
}

// Returns true if two parts of this kind were kept: programs of the first layer may differ from the
// others', by what precedes it.
static bool is_known(const struct gi_weight_samples *samples, const struct gi_weight_sample *kind)
{
    uint32_t n = 0;
    for (size_t i = 0; i < samples->count; i++) {
        const struct gi_weight_sample *known = &samples->data[i];
        n += known->slot == kind->slot && known->quant == kind->quant &&
             known->n_rows == kind->n_rows && known->n_cols == kind->n_cols;
    }
    return n >= 2;
}

static bool read_rows(struct gi_weight_sample *sample, const struct gi_model_plan *plan,
                      const struct gi_plan_weight *weight, const struct gi_weight_part *part,
                      float *const factors[GI_MAX_SOURCES], struct glinfer_error *err)
{
    const size_t size = sample->row_size;
    bool ok = true;
    for (uint32_t i = 0; ok && i < sample->n_tiles * GI_TILE_ROWS; i++) {
        const uint32_t row = sample->tiles[i / GI_TILE_ROWS] * GI_TILE_ROWS + i % GI_TILE_ROWS;
        uint32_t source, source_row;
        sample->is_there[i] = gi_plan_weight_row(plan, weight, part, row, &source, &source_row);
        if (sample->is_there[i]) {
            const struct gi_gguf_tensor *tensor = weight->sources[source].tensor;
            sample->factors[i] = gi_plan_factor(weight, factors, source, source_row);
            const uint64_t whole = tensor->size / (tensor->dims[1] * tensor->dims[2]);
            const uint64_t begin = source_row * whole + gi_plan_row_offset(plan, weight, part, row);
            uint8_t *out = sample->rows + i * size;
            ok = weight->sources[source].n_tap > 0
                     ? gi_read_taps(plan->gguf, &weight->sources[source], source_row, 1, out, err)
                     : gi_gguf_tensor_read(plan->gguf, tensor, begin, size, out, err);
        }
    }
    return ok;
}

bool gi_weight_samples_keep(struct gi_weight_samples *samples, const struct gi_model_plan *plan,
                            uint32_t index, const struct gi_weight_part *part,
                            float *const factors[GI_MAX_SOURCES], struct glinfer_error *err)
{
    const struct gi_plan_weight *weight = &plan->weights[index];
    const struct gi_gguf_tensor *tensor = weight->sources[0].tensor;
    const bool has_experts = gi_plan_has_experts(weight->order);
    struct gi_weight_sample sample = {
        .quads = part->quads,
        .quant = part->quant,
        .slot = find_slot(plan, index),
        .n_rows = part->n_rows,
        .n_cols = weight->weight.n_cols,
    };
    if (part->n_rows == 0 || (is_known(samples, &sample) && is_followed(plan, index, &sample))) {
        return true;
    }
    for (uint32_t i = 0; i < weight->n_sources && tensor->type->type != part->quant->type; i++) {
        tensor = weight->sources[i].tensor;
    }
    sample.row_size = (size_t)sample.n_cols / tensor->type->block_size * tensor->type->block_bytes;
    choose_tiles(&sample,
                 (has_experts ? gi_plan_expert_rows(weight) : part->n_rows) / GI_TILE_ROWS);
    sample.rows = gi_array_zeroed((size_t)sample.n_tiles * GI_TILE_ROWS, sample.row_size,
                                  "rows for the self-test", err);
    if (!sample.rows || !read_rows(&sample, plan, weight, part, factors, err) ||
        !GI_ARRAY_PUSH(samples, "rows for the self-test", err, sample)) {
        free(sample.rows);
        return false;
    }
    return true;
}

bool gi_weight_samples_add(struct gi_weight_samples *samples, const struct gi_weight_part *part,
                           uint32_t n_cols, const uint16_t *rows, struct glinfer_error *err)
{
    struct gi_weight_sample sample = {
        .quads = part->quads,
        .quant = part->quant,
        .slot = UINT32_MAX,
        .n_rows = part->n_rows,
        .n_cols = n_cols,
        .row_size = n_cols * sizeof(*rows),
    };
    choose_tiles(&sample, part->n_rows / GI_TILE_ROWS);
    sample.rows = gi_array_zeroed((size_t)sample.n_tiles * GI_TILE_ROWS, sample.row_size,
                                  "rows for the self-test", err);
    for (uint32_t i = 0; sample.rows && i < sample.n_tiles * GI_TILE_ROWS; i++) {
        const size_t row = sample.tiles[i / GI_TILE_ROWS] * GI_TILE_ROWS + i % GI_TILE_ROWS;
        memcpy(sample.rows + i * sample.row_size, rows + row * n_cols, sample.row_size);
        sample.is_there[i] = true;
        sample.factors[i] = 1;
    }
    if (!sample.rows || !GI_ARRAY_PUSH(samples, "rows for the self-test", err, sample)) {
        free(sample.rows);
        return false;
    }
    return true;
}

void gi_weight_samples_finish(struct gi_weight_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        free(samples->data[i].rows);
    }
    free(samples->data);
    *samples = (struct gi_weight_samples){0};
}

const struct gi_weight_sample *gi_weight_samples_find(const struct gi_weight_samples *samples,
                                                      const struct gi_range *quads)
{
    for (size_t i = 0; i < samples->count; i++) {
        const struct gi_range *own = &samples->data[i].quads;
        if (own->buffer == quads->buffer && own->offset == quads->offset) {
            return &samples->data[i];
        }
    }
    return NULL;
}

bool gi_weight_sample_row(const struct gi_weight_sample *sample, uint32_t row, float *values)
{
    for (uint32_t i = 0; i < sample->n_tiles; i++) {
        if (sample->tiles[i] == row / GI_TILE_ROWS) {
            const uint32_t at = i * GI_TILE_ROWS + row % GI_TILE_ROWS;
            memset(values, 0, sample->n_cols * sizeof(float));
            if (sample->is_there[at]) {
                gi_quant_dequantize_row(sample->quant, sample->rows + at * sample->row_size,
                                        sample->n_cols, values);
                for (uint32_t j = 0; j < sample->n_cols; j++) {
                    values[j] *= sample->factors[at];
                }
            }
            return true;
        }
    }
    return false;
}
