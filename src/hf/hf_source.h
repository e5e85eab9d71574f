// The rows of the folder that the tensors of a head are made from. Private to this folder.
#pragma once

#include "hf/hf_build.h"

struct gi_hf_mlx; // hf/mlx/mlx_folder.h

// A tensor of the folder under the name that rows of families give it.
struct gi_hf_name {
    const char *name; // within that of the tensor
    const struct gi_safetensor *tensor;
    const struct gi_hf_mlx *mlx; // of a matrix that MLX quantised, else NULL
    bool is_used;
};

// Rows [begin, begin + n_rows) of a tensor, which are rows [first, first + n_rows) of all that a
// tensor of the head is made from.
struct gi_hf_rows {
    const struct gi_safetensor *tensor;
    const struct gi_hf_mlx *mlx;
    uint64_t begin, n_rows, first;
    uint64_t row_size; // bytes in the file
};

// One tensor of the head: matrices of n_rows rows, each from rows of a matrix of n_source_rows.
struct gi_hf_source {
    enum gi_hf_change change;
    const struct gi_ggml_type_info *type;
    uint64_t n_cols;                // elements of a row
    uint64_t n_source_cols;         // of a row in the file
    uint64_t n_rows, n_source_rows; // of one matrix
    uint64_t head_rows;             // of ROPE_PAIRS
    uint32_t n_groups, head_cols;   // of HEAD_COLUMNS
    size_t first, n;                // in gi_hf_sources.rows; n 0: values of its own
    size_t values;                  // in gi_hf_sources.values
    bool is_packed;                 // two entries of rows: blocks and scales
};

struct gi_hf_sources {
    struct gi_hf_name *names; // n_names, sorted, owned
    size_t n_names;
    struct gi_hf_mlx *mlx; // owned; NULL: none
    struct {
        struct gi_hf_rows *data;
        size_t count, capacity;
    } rows;
    struct {
        struct gi_hf_source *data; // in the order of the head
        size_t count, capacity;
    } tensors;
    struct {
        float *data;
        size_t count, capacity;
    } values;
};

// Return true for changes that make rows of columns, and that move elements within a row.
static inline bool gi_hf_transposes(enum gi_hf_change change)
{
    return change == GI_HF_TRANSPOSE || change == GI_HF_TRANSPOSE_EVEN ||
           change == GI_HF_TRANSPOSE_ODD;
}
static inline bool gi_hf_moves_columns(enum gi_hf_change change)
{
    return change == GI_HF_EVEN_COLUMNS || change == GI_HF_ODD_COLUMNS ||
           change == GI_HF_HEAD_COLUMNS;
}

// Collects the names of the folder. Fails with BAD_FILE (two tensors under one name), NO_MEMORY.
bool gi_hf_sources_init(struct gi_hf_sources *sources, const struct gi_safetensors *files,
                        struct glinfer_error *err);
// Accepts all-zero.
void gi_hf_sources_finish(struct gi_hf_sources *sources);
// Returns a name without its starts that differ between folders of one model.
const char *gi_hf_skip_starts(const char *name);
// Returns NULL if there is no tensor of that name.
struct gi_hf_name *gi_hf_sources_find(const struct gi_hf_sources *sources, const char *name);
// Keeps an error that names the first unused tensor.
void gi_hf_check_used(struct gi_hf_build *b);

// Computes a row of a tensor that is packed. memory has room for twice its bytes.
bool gi_hf_packed_row(const struct gi_hf_sources *sources, const struct gi_safetensors *files,
                      const struct gi_hf_source *source, uint64_t row, uint8_t *memory,
                      uint8_t *out, struct glinfer_error *err);

// Reads bytes [offset, offset + size) of a tensor of the head. May be called by several threads at
// a time. Fails as gi_safetensors_read does, and with NO_MEMORY.
bool gi_hf_source_read(const struct gi_hf_sources *sources, const struct gi_safetensors *files,
                       size_t tensor, uint64_t offset, size_t size, void *out,
                       struct glinfer_error *err);
