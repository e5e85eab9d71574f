// Weights that are packed as MXFP4 in pairs of tensors: blocks, (..., rows, groups, 16) bytes, of
// which byte i has elements 2i and 2i + 1, the first in its low half, and scales, (..., rows,
// groups) exponents.
//   transformers, integrations/mxfp4.py
#include "base/array.h"
#include "hf/hf_source.h"
#include "hf/mlx/mlx.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_SIZE = 128, GROUP_BYTES = 16, GROUP = 32 };
static const char purpose[] = "the tensors of a folder";

// Returns the tensor `name` + end of a layer, whose place in the name is a '%'.
static struct gi_hf_name *find_part(struct gi_hf_build *b, const char *name, uint32_t layer,
                                    const char *end)
{
    char full[NAME_SIZE];
    const size_t start = strcspn(name, "%");
    snprintf(full, sizeof(full), "%.*s%u%s%s", (int)start, name, layer,
             name[start] ? name + start + 1 : "", end);
    return gi_hf_sources_find(b->sources, full);
}

static bool check_shapes(struct gi_hf_build *b, const struct gi_safetensor *blocks,
                         const struct gi_safetensor *scales, bool is_halved)
{
    bool is_sound = blocks->type == GI_SAFETENSORS_U8 && scales->type == GI_SAFETENSORS_U8 &&
                    blocks->n_dims == 4 && scales->n_dims == 3 && blocks->dims[3] == GROUP_BYTES &&
                    blocks->n_elements > 0 && (!is_halved || blocks->dims[1] % 2 == 0);
    for (uint32_t i = 0; i < 3; i++) {
        is_sound = is_sound && blocks->dims[i] == scales->dims[i];
    }
    if (!is_sound) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "the tensors %s and %s are not bytes of the same matrices in groups of 32: the "
                   "file is damaged",
                   blocks->name, scales->name);
    }
    return is_sound;
}

static void add_layer(struct gi_hf_build *b, const struct gi_hf_row *row, uint32_t layer)
{
    struct gi_hf_sources *sources = b->sources;
    struct gi_hf_name *blocks = find_part(b, row->from, layer, "_blocks");
    struct gi_hf_name *scales = find_part(b, row->from, layer, "_scales");
    const bool is_halved = row->change != GI_HF_NONE;
    char to[NAME_SIZE];
    if (!blocks || !scales || !check_shapes(b, blocks->tensor, scales->tensor, is_halved)) {
        return;
    }
    blocks->is_used = scales->is_used = true;
    const uint64_t *dims = blocks->tensor->dims;
    const uint64_t n_rows = dims[1] / (is_halved ? 2 : 1), n_cols = dims[2] * GROUP;
    const struct gi_hf_source source = {
        .change = row->change,
        .type = gi_ggml_type_find(GI_GGML_TYPE_MXFP4),
        .is_packed = true,
        .n_cols = n_cols,
        .n_rows = n_rows,
        .n_source_rows = dims[1],
        .first = sources->rows.count,
        .n = 2,
    };
    const struct gi_hf_rows rows[2] = {
        {.tensor = blocks->tensor, .n_rows = dims[0] * dims[1], .row_size = dims[2] * GROUP_BYTES},
        {.tensor = scales->tensor, .n_rows = dims[0] * dims[1], .row_size = dims[2]},
    };
    const size_t start = strcspn(row->to, "%");
    snprintf(to, sizeof(to), "%.*s%u%s", (int)start, row->to, layer, row->to + start + 1);
    gi_gguf_add_tensor(b->out, to, GI_GGML_TYPE_MXFP4, 3,
                       (const uint64_t[4]){n_cols, n_rows, dims[0], 1});
    if (gi_hf_ok(b) && GI_ARRAY_PUSH(&sources->rows, purpose, &b->out->error, rows[0]) &&
        GI_ARRAY_PUSH(&sources->rows, purpose, &b->out->error, rows[1])) {
        GI_ARRAY_PUSH(&sources->tensors, purpose, &b->out->error, source);
    }
}

void gi_hf_add_packed(struct gi_hf_build *b, const struct gi_hf_row *rows, size_t n)
{
    const uint32_t n_layer = gi_hf_u32(b, "num_hidden_layers");
    for (size_t i = 0; i < n; i++) {
        for (uint32_t layer = 0; layer < n_layer && gi_hf_ok(b); layer++) {
            add_layer(b, &rows[i], layer);
        }
    }
}

bool gi_hf_packed_row(const struct gi_hf_sources *sources, const struct gi_safetensors *files,
                      const struct gi_hf_source *source, uint64_t row, uint8_t *memory,
                      uint8_t *out, struct glinfer_error *err)
{
    // Blocks and scales of a row make a record of MLX.
    static const struct gi_mlx_format format = {GI_MLX_MXFP4, 4, GROUP, GI_MLX_SCALE_U8, 1.0f};
    const struct gi_hf_rows *blocks = &sources->rows.data[source->first], *scales = blocks + 1;
    const uint64_t matrix = row / source->n_rows, step = source->change == GI_HF_NONE ? 1 : 2;
    const uint64_t at = matrix * source->n_source_rows + row % source->n_rows * step +
                        (source->change == GI_HF_ODD_ROWS);
    uint8_t *exponents = memory + blocks->row_size;
    if (!gi_safetensors_read(files, blocks->tensor, at * blocks->row_size, (size_t)blocks->row_size,
                             memory, err) ||
        !gi_safetensors_read(files, scales->tensor, at * scales->row_size, (size_t)scales->row_size,
                             exponents, err)) {
        return false;
    }
    gi_mlx_convert_row(&format, memory, (size_t)source->n_cols, GI_GGML_TYPE_MXFP4, out);
    return true;
}
