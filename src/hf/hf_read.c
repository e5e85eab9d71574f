// Computes the bytes of a tensor of the head from the rows of the folder, in ranges of rows.
#include "base/array.h"
#include "base/bytes.h"
#include "base/round.h"
#include "hf/hf_source.h"
#include "hf/mlx/mlx_folder.h"
#include "quant/quant.h"

#include <math.h>
#include <stdlib.h>

enum { CHUNK_BYTES = 1 << 20 }; // of rows in the file that are read at a time

struct memory {
    uint8_t *span;   // rows as in the file
    float *row;      // one row
    uint8_t *part;   // one row of the result, of which the caller wants some bytes
    uint8_t *moved;  // one row as in the file, its elements in another order
    uint8_t *pieces; // of rows that MLX quantised
    size_t span_capacity, row_capacity, part_capacity, moved_capacity, pieces_capacity;
};

struct job {
    const struct gi_hf_sources *sources;
    const struct gi_safetensors *files;
    const struct gi_hf_source *source;
    struct memory *memory;
    struct glinfer_error *err;
};

static uint64_t result_size(const struct gi_hf_source *source)
{
    return source->n_cols / source->type->block_size * source->type->block_bytes;
}

//-- rows of the folder ----------------------------------------------------------------------------

// Returns the row of the folder, counted over all of them, that a row of the result is made from.
static uint64_t find_row(const struct gi_hf_source *source, uint64_t row)
{
    const uint64_t matrix = row / source->n_rows, r = row % source->n_rows;
    const uint64_t head = source->head_rows, start = matrix * source->n_source_rows;
    switch (source->change) {
    case GI_HF_ROPE_PAIRS_Q:
    case GI_HF_ROPE_PAIRS_K:
        return start + r / head * head + r % 2 * (head / 2) + r % head / 2;
    case GI_HF_EVEN_ROWS:
        return start + 2 * r;
    case GI_HF_ODD_ROWS:
        return start + 2 * r + 1;
    case GI_HF_SECOND_HALF:
        return start + source->n_rows + r;
    case GI_HF_FIRST_HALF:
    case GI_HF_NONE:
    case GI_HF_PLUS_ONE:
    case GI_HF_NEGATIVE_EXP:
    case GI_HF_SQUEEZE:
    case GI_HF_TRANSPOSE:
    case GI_HF_TRANSPOSE_EVEN:
    case GI_HF_TRANSPOSE_ODD:
    case GI_HF_EVEN_COLUMNS:
    case GI_HF_ODD_COLUMNS:
    case GI_HF_HEAD_COLUMNS:
        break;
    }
    return start + r;
}

static const struct gi_hf_rows *find_entry(const struct job *job, uint64_t row)
{
    const struct gi_hf_rows *rows = job->sources->rows.data + job->source->first;
    size_t low = 0, high = job->source->n - 1;
    while (low < high) {
        const size_t middle = (low + high + 1) / 2;
        if (rows[middle].first <= row) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return &rows[low];
}

static bool read_entry(const struct job *job, const struct gi_hf_rows *rows, uint64_t row,
                       uint64_t n, uint8_t *out)
{
    struct memory *memory = job->memory;
    return rows->mlx ? gi_hf_mlx_read(rows->mlx, job->files, row, n, out, &memory->pieces,
                                      &memory->pieces_capacity, job->err)
                     : gi_safetensors_read(job->files, rows->tensor, row * rows->row_size,
                                           (size_t)(n * rows->row_size), out, job->err);
}

// Reads rows [begin, end), which may lie in several tensors, one after another into out.
static bool read_rows(const struct job *job, uint64_t begin, uint64_t end, uint8_t *out)
{
    while (begin < end) {
        const struct gi_hf_rows *rows = find_entry(job, begin);
        const uint64_t left = rows->first + rows->n_rows - begin;
        const uint64_t n = end - begin < left ? end - begin : left;
        if (!read_entry(job, rows, rows->begin + begin - rows->first, n, out)) {
            return false;
        }
        out += n * rows->row_size;
        begin += n;
    }
    return true;
}

//-- conversion ------------------------------------------------------------------------------------

static void to_floats(enum gi_safetensors_type type, const uint8_t *from, size_t n, float *to)
{
    if (type == GI_SAFETENSORS_F32) {
        for (size_t i = 0; i < n; i++) {
            to[i] = gi_load_f32(from + 4 * i);
        }
    } else if (type == GI_SAFETENSORS_F16) {
        for (size_t i = 0; i < n; i++) {
            to[i] = gi_half_to_float(gi_load_u16(from + 2 * i));
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            to[i] = gi_bf16_to_float(gi_load_u16(from + 2 * i));
        }
    }
}

static void change_values(enum gi_hf_change change, float *values, size_t n)
{
    for (size_t i = 0; i < n && change == GI_HF_PLUS_ONE; i++) {
        values[i] += 1.0f;
    }
    for (size_t i = 0; i < n && change == GI_HF_NEGATIVE_EXP; i++) {
        values[i] = -expf(values[i]);
    }
}

static bool is_same_type(enum gi_safetensors_type from, uint32_t to)
{
    return (from == GI_SAFETENSORS_F32 && to == GI_GGML_TYPE_F32) ||
           (from == GI_SAFETENSORS_F16 && to == GI_GGML_TYPE_F16) ||
           (from == GI_SAFETENSORS_BF16 && to == GI_GGML_TYPE_BF16);
}

// Returns the element of a row in the file that an element of the result is.
static uint64_t find_column(const struct gi_hf_source *source, uint64_t i)
{
    if (source->change != GI_HF_HEAD_COLUMNS) {
        return 2 * i + (source->change == GI_HF_ODD_COLUMNS);
    }
    const uint64_t head = i / source->head_cols, n_groups = source->n_groups;
    const uint64_t n_heads = source->n_cols / source->head_cols / n_groups; // of a group
    return (head % n_groups * n_heads + head / n_groups) * source->head_cols +
           i % source->head_cols;
}

// Puts the n elements of a row, each of `size` bytes that stand for `per` columns, in the order of
// the result.
static void move_columns(const struct job *job, const uint8_t *from, size_t n, size_t size,
                         size_t per, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(to + i * size, from + find_column(job->source, i * per) / per * size, size);
    }
}

static bool is_changed(const struct gi_hf_source *source)
{
    return source->change == GI_HF_PLUS_ONE || source->change == GI_HF_NEGATIVE_EXP;
}

static void finish_row(const struct gi_hf_source *source, float *row, uint8_t *out)
{
    const size_t n = (size_t)source->n_cols;
    change_values(source->change, row, n);
    if (source->type->type == GI_GGML_TYPE_F32) {
        memcpy(out, row, n * sizeof(*row));
    } else {
        gi_quant_quantize_row((enum gi_ggml_type)source->type->type, row, n, out);
    }
}

// Converts one row that MLX quantised to the type of the result.
static void convert_mlx_row(const struct job *job, const struct gi_mlx_format *mlx,
                            const uint8_t *from, uint8_t *out)
{
    const struct gi_hf_source *source = job->source;
    const enum gi_ggml_type to = (enum gi_ggml_type)source->type->type;
    const size_t n = (size_t)source->n_cols, n_source = (size_t)source->n_source_cols;
    const bool is_moved = gi_hf_moves_columns(source->change);
    uint8_t *moved = job->memory->moved;
    float *row = job->memory->row;
    if (to != GI_GGML_TYPE_F32 && to == gi_mlx_type(mlx)) {
        const size_t block = source->type->block_size;
        gi_mlx_convert_row(mlx, from, n, to, is_moved ? moved : out);
        if (is_moved) {
            move_columns(job, moved, n / block, source->type->block_bytes, block, out);
        }
        return;
    }
    gi_mlx_dequantize_row(mlx, from, n_source, row);
    if (is_moved) {
        move_columns(job, (const uint8_t *)row, n, sizeof(*row), 1, moved);
        memcpy(row, moved, n * sizeof(*row));
    }
    finish_row(source, row, out);
}

// Converts one row as the file has it to the type of the result.
static void convert_row(const struct job *job, const struct gi_hf_rows *rows, const uint8_t *from,
                        uint8_t *out)
{
    const enum gi_safetensors_type type = rows->tensor->type;
    const struct gi_hf_source *source = job->source;
    const size_t n = (size_t)source->n_cols;
    if (rows->mlx) {
        convert_mlx_row(job, &rows->mlx->format, from, out);
        return;
    }
    if (gi_hf_moves_columns(source->change)) {
        move_columns(job, from, n, gi_safetensors_type_bits(type) / 8, 1, job->memory->moved);
        from = job->memory->moved;
    }
    if (!is_changed(source) && is_same_type(type, source->type->type)) {
        memcpy(out, from, (size_t)result_size(source));
        return;
    }
    to_floats(type, from, n, job->memory->row);
    finish_row(source, job->memory->row, out);
}

//-- rows of the result ----------------------------------------------------------------------------

// Reads the rows that k rows of the result from `row` on, all of one matrix, are made from, and
// converts them.
static bool make_rows(const struct job *job, uint64_t row, uint64_t k, uint8_t *out)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (uint64_t i = 0; i < k; i++) {
        const uint64_t at = find_row(job->source, row + i);
        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    const struct gi_hf_rows *rows = &job->sources->rows.data[job->source->first];
    const size_t size = (size_t)rows->row_size;
    struct memory *memory = job->memory;
    if (!gi_array_grow(&memory->span, &memory->span_capacity, (size_t)(high - low + 1) * size, 1,
                       "rows of a folder", job->err) ||
        !read_rows(job, low, high + 1, memory->span)) {
        return false;
    }
    for (uint64_t i = 0; i < k; i++) {
        const uint64_t at = find_row(job->source, row + i) - low;
        convert_row(job, rows, memory->span + at * size, out + i * result_size(job->source));
    }
    return true;
}

// Makes k rows of the result from columns of a matrix.
static bool make_columns(const struct job *job, uint64_t row, uint64_t k, uint8_t *out)
{
    const struct gi_hf_source *source = job->source;
    const uint64_t start = row / source->n_rows * source->n_source_rows;
    const struct gi_hf_rows *first = &job->sources->rows.data[source->first];
    const enum gi_safetensors_type type = first->tensor->type;
    const size_t element = gi_safetensors_type_bits(type) / 8, n = (size_t)source->n_cols;
    struct memory *memory = job->memory;
    const size_t step = source->change == GI_HF_TRANSPOSE ? 1 : 2;
    const size_t odd = source->change == GI_HF_TRANSPOSE_ODD ? 1 : 0;
    const size_t some = (size_t)k * step * element; // of a row in the file
    if (!gi_array_grow(&memory->span, &memory->span_capacity, (n + 1) * some, 1, "rows of a folder",
                       job->err)) {
        return false;
    }
    uint8_t *columns = memory->span + some;
    for (size_t i = 0; i < n; i++) {
        const struct gi_hf_rows *rows = find_entry(job, start + i);
        const uint64_t at = (rows->begin + start + i - rows->first) * rows->row_size;
        if (!gi_safetensors_read(job->files, rows->tensor,
                                 at + row % source->n_rows * step * element, some, memory->span,
                                 job->err)) {
            return false;
        }
        for (size_t j = 0; j < k; j++) {
            memcpy(columns + (j * n + i) * element, memory->span + (j * step + odd) * element,
                   element);
        }
    }
    for (size_t j = 0; j < k; j++) {
        convert_row(job, first, columns + j * n * element, out + j * result_size(source));
    }
    return true;
}

static bool make_packed(const struct job *job, uint64_t row, uint64_t k, uint8_t *out)
{
    struct memory *memory = job->memory;
    const size_t size = (size_t)result_size(job->source);
    if (!gi_array_grow(&memory->span, &memory->span_capacity, 2 * size, 1, "rows of a folder",
                       job->err)) {
        return false;
    }
    for (uint64_t i = 0; i < k; i++) {
        if (!gi_hf_packed_row(job->sources, job->files, job->source, row + i, memory->span,
                              out + i * size, job->err)) {
            return false;
        }
    }
    return true;
}

static bool make_some(const struct job *job, uint64_t row, uint64_t k, uint8_t *out)
{
    if (job->source->is_packed) {
        return make_packed(job, row, k, out);
    }
    return gi_hf_transposes(job->source->change) ? make_columns(job, row, k, out)
                                                 : make_rows(job, row, k, out);
}

// Makes the bytes [offset, offset + size), which begin or end within rows.
static bool make_bytes(const struct job *job, uint64_t offset, size_t size, uint8_t *out)
{
    const struct gi_hf_source *source = job->source;
    const uint64_t row_size = result_size(source),
                   span = job->sources->rows.data[source->first].row_size;
    const uint64_t most = span < CHUNK_BYTES ? CHUNK_BYTES / span : 1;
    while (size > 0) {
        const uint64_t row = offset / row_size, skip = offset % row_size;
        uint64_t k = size / row_size, n;
        if (skip > 0 || k == 0) {
            n = row_size - skip < size ? row_size - skip : size;
            if (!make_some(job, row, 1, job->memory->part)) {
                return false;
            }
            memcpy(out, job->memory->part + skip, (size_t)n);
        } else {
            const uint64_t left = source->n_rows - row % source->n_rows;
            k = k < most ? k : most;
            k = k < left ? k : left;
            n = k * row_size;
            if (!make_some(job, row, k, out)) {
                return false;
            }
        }
        offset += n;
        out += n;
        size -= (size_t)n;
    }
    return true;
}

bool gi_hf_source_read(const struct gi_hf_sources *sources, const struct gi_safetensors *files,
                       size_t tensor, uint64_t offset, size_t size, void *out,
                       struct glinfer_error *err)
{
    const struct gi_hf_source *source = &sources->tensors.data[tensor];
    struct memory memory = {0};
    const struct job job = {sources, files, source, &memory, err};
    if (source->n == 0) {
        memcpy(out, (const uint8_t *)(sources->values.data + source->values) + offset, size);
        return true;
    }
    const uint64_t n_row = gi_max_u64(source->n_cols, source->n_source_cols);
    const bool ok =
        gi_array_grow(&memory.row, &memory.row_capacity, (size_t)n_row, sizeof(float),
                      "a row of a folder", err) &&
        gi_array_grow(&memory.part, &memory.part_capacity, (size_t)result_size(source), 1,
                      "a row of a folder", err) &&
        gi_array_grow(&memory.moved, &memory.moved_capacity, (size_t)source->n_cols * sizeof(float),
                      1, "a row of a folder", err) &&
        make_bytes(&job, offset, size, out);
    free(memory.span);
    free(memory.row);
    free(memory.part);
    free(memory.moved);
    free(memory.pieces);
    return ok;
}
