// Weights of a folder that MLX quantised. They take the place of their parts among the names of the
// folder, so that families see matrices as in any other folder. Private to src/hf.
#pragma once

#include "hf/hf_source.h"
#include "hf/mlx/mlx.h"

struct gi_hf_mlx {
    struct gi_safetensor tensor; // as families see it: the shape of the matrix, BF16
    struct gi_mlx_format format;
    const struct gi_safetensor *quants, *scales, *biases; // biases NULL: none
};

// Finds the weights and reads their modes from config.json. Keeps UNSUPPORTED (an unknown
// mode, bits or group, named), BAD_FILE (shapes that do not agree with config.json or with each
// other, a missing part), NO_MEMORY, or an error of reading. Adds the format of most weights in the
// words of config.json, unless the head is for a file: glinfer.mlx.format, and the bits of affine
// weights, glinfer.mlx.bits.
void gi_hf_mlx_find(struct gi_hf_build *b);

// Reads n rows from `row` on as records: mlx.h. memory and capacity are an array of the caller's.
bool gi_hf_mlx_read(const struct gi_hf_mlx *mlx, const struct gi_safetensors *files, uint64_t row,
                    uint64_t n, uint8_t *out, uint8_t **memory, size_t *capacity,
                    struct glinfer_error *err);
