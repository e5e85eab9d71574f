// Shared by families with Mamba-2 layers: their hyperparameters and tables' rows.
#pragma once

#include "models/decoder_weights.h"

// Reads the sizes of a state space model. has_norm: the file must have a norm of what it gives,
// else it may. Fails with BAD_FILE, and UNSUPPORTED (sizes that the kernels do not have).
bool gi_mamba2_hparams(const struct gi_hparams_reader *reader, bool has_norm,
                       struct gi_hparams *hparams);

// Layers of a norm and a state space model, without a network.
extern const struct gi_layer_tables gi_mamba2_layers;

// Rows of tables: the projections to and from it, of which the second carries the gamma of a norm,
// and the vectors between.
#define GI_MAMBA2_WEIGHTS(norm)                                                                    \
    {                                                                                              \
        .slot = GI_SLOT_SSM_IN,                                                                    \
        .name = "ssm_in",                                                                          \
        .order = GI_WEIGHT_ORDER_STACKED,                                                          \
        .cols = GI_DIM_EMBD,                                                                       \
        .sources[0] = {"blk.%u.ssm_in", GI_DIM_STATE},                                             \
        .sources[1] = {"blk.%u.ssm_in", GI_DIM_CHANNEL},                                           \
        .sources[2] = {"blk.%u.ssm_in", GI_DIM_STATE_HEADS},                                       \
        .next_norm = GI_NORM_NONE,                                                                 \
    },                                                                                             \
        GI_WEIGHT_ONE(GI_SLOT_SSM_OUT, "ssm_out", GI_WEIGHT_ORDER_PLAIN, GI_DIM_STATE, "ssm_out",  \
                      GI_DIM_EMBD, norm)
#define GI_MAMBA2_NORMS                                                                            \
    {GI_NORM_CONV, "blk.%u.ssm_conv1d", GI_DIM_CONV},                                              \
        {GI_NORM_CONV_SHIFT, "blk.%u.ssm_conv1d", GI_DIM_CHANNEL},                                 \
        {GI_NORM_STATE, "blk.%u.ssm_norm", GI_DIM_STATE_NORM},                                     \
        {GI_NORM_DECAY_BIAS, "blk.%u.ssm_dt", GI_DIM_STATE_HEADS},                                 \
        {GI_NORM_DECAY_RATE, "blk.%u.ssm_a", GI_DIM_STATE_RATES},                                  \
    {                                                                                              \
        GI_NORM_SKIP, "blk.%u.ssm_d", GI_DIM_STATE_RATES                                           \
    }
