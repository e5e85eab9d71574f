// Rows of weights from the file, kept for the self-test, which computes their products on the CPU:
// a few tiles of some parts of each kind. A kind is what a program may depend on: slot, type and
// shape.
#pragma once

#include "engine/model/plan/model_plan.h"

#define GI_SAMPLE_TILES 8

struct gi_weight_sample {
    struct gi_range quads; // of the part on the GPU; identifies the sample
    const struct gi_quant *quant;
    uint32_t slot; // place in a layer, or the embedding's or the output's
    uint32_t n_rows, n_cols;
    uint32_t tiles[GI_SAMPLE_TILES]; // of the part, or of each of its experts
    uint32_t n_tiles;
    size_t row_size;                               // bytes in the file
    uint8_t *rows;                                 // (n_tiles, GI_TILE_ROWS, row_size)
    bool is_there[GI_SAMPLE_TILES * GI_TILE_ROWS]; // false: padding
    float factors[GI_SAMPLE_TILES * GI_TILE_ROWS]; // that multiply rows
};

struct gi_weight_samples {
    struct gi_weight_sample *data;
    size_t count, capacity;
};

// Keeps rows of a part of weight `index` of the plan, if it is one of the first two of its kind or
// the last.
// part has its ranges on the GPU, factors are those of gi_plan_factor. Fails with IO, NO_MEMORY.
bool gi_weight_samples_keep(struct gi_weight_samples *samples, const struct gi_model_plan *plan,
                            uint32_t index, const struct gi_weight_part *part,
                            float *const factors[GI_MAX_SOURCES], struct glinfer_error *err);
// Keeps rows of a part whose rows in f16, (part->n_rows, n_cols), are in memory. Fails with
// NO_MEMORY.
bool gi_weight_samples_add(struct gi_weight_samples *samples, const struct gi_weight_part *part,
                           uint32_t n_cols, const uint16_t *rows, struct glinfer_error *err);
void gi_weight_samples_finish(struct gi_weight_samples *samples);

// Returns the sample of the part with these quads, NULL if none was kept.
const struct gi_weight_sample *gi_weight_samples_find(const struct gi_weight_samples *samples,
                                                      const struct gi_range *quads);
// Dequantises a GPU row of the part, n_cols floats. Returns false if it was not kept.
bool gi_weight_sample_row(const struct gi_weight_sample *sample, uint32_t row, float *values);
