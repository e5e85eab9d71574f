// Inputs that the layers of some models have in addition to the residual: each token has a vector
// for every layer, made from an embedding and a projection of the first residual. Rows are those of
// a batch or the only row of a step. All ops fail like gi_recorder_add.
#pragma once

#include "ops/embed/embed.h"
#include "ops/record/activation.h"

// The norm of the projection: over each of n slices of width columns, a multiple of 4.
struct gi_input_norm {
    uint32_t width, n;
    uint32_t gamma; // (width) of the vectors, an offset in floats
    float eps;
};

// inputs = scale * W[step_state.token]: the embedding of a decode step's token.
//   W  (n_vocab, n_cols), may have several parts     inputs  one row, n_cols columns
// Columns are written in blocks of 32: the row must have room for a whole last block.
void gi_op_embed_row(struct gi_recorder *recorder, const struct gi_weight *weight, float scale,
                     const struct gi_rows *inputs);

// inputs[m] = (norm(y[m]) + inputs[m]) / sqrt(2).
//   y, inputs  (n_tokens, norm->n * norm->width)
void gi_op_add_inputs(struct gi_recorder *recorder, const char *label,
                      const struct gi_input_norm *norm, const struct gi_rows *y,
                      const struct gi_vectors *vectors, const struct gi_rows *inputs);

// act[m][i] = f(gate[m][i]) * inputs[m][begin + i] for i < width, a multiple of 4 as begin is.
void gi_op_gate_input(struct gi_recorder *recorder, const char *label, const struct gi_rows *gate,
                      const struct gi_rows *inputs, uint32_t begin, uint32_t width,
                      enum gi_activation activation, const struct gi_rows *act);
