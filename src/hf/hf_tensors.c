// Tensors of the head: shapes, types, and the rows that each is made from.
#include "base/array.h"
#include "hf/hf_source.h"
#include "hf/mlx/mlx_folder.h"

#include <stdio.h>

enum { NAME_SIZE = 256, MAX_LAYERS = 4096, MAX_EXPERTS = 65536 };
static const char purpose[] = "the tensors of a folder";

// A tensor of the head while it is described. dims are slowest first, as the folder has them.
struct shape {
    const char *to;
    enum gi_hf_change change;
    uint32_t n_dims;
    uint64_t dims[GI_SAFETENSORS_MAX_DIMS];
    enum gi_safetensors_type type;
};

//-- types -----------------------------------------------------------------------------------------

// Returns true for biases and the like, and for matrices that kernels take as f32 only.
static bool is_plain(const char *to)
{
    const char *dot = strrchr(to, '.');
    if (!dot || strcmp(dot, ".weight") != 0) {
        return true;
    }
    static const char *const words[] = {"ffn_gate_inp", "ssm_conv1d",    "shortconv.conv",
                                        "ssm_a",        "position_embd", "token_types",
                                        "altup_",       "ssm_norm",      "time_mix"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(to, words[i])) {
            return true;
        }
    }
    return false;
}

static enum gi_ggml_type find_type(const struct gi_hf_build *b, const struct shape *s)
{
    enum { LARGE = 1 << 16 }; // elements
    uint64_t n = 1;
    for (uint32_t i = 0; i < s->n_dims; i++) {
        n *= s->dims[i];
    }
    if (s->n_dims < 2 || is_plain(s->to) || s->change == GI_HF_PLUS_ONE ||
        s->change == GI_HF_NEGATIVE_EXP) {
        return GI_GGML_TYPE_F32;
    }
    const struct gi_ggml_type_info *wanted = gi_ggml_type_find(b->type);
    if (!b->keeps && n >= LARGE && s->dims[s->n_dims - 1] % wanted->block_size == 0) {
        return b->type;
    }
    return s->type == GI_SAFETENSORS_F32   ? GI_GGML_TYPE_F32
           : s->type == GI_SAFETENSORS_F16 ? GI_GGML_TYPE_F16
                                           : GI_GGML_TYPE_BF16;
}

static bool is_same_format(const struct gi_hf_mlx *a, const struct gi_hf_mlx *b)
{
    const struct gi_mlx_format *f = a ? &a->format : NULL, *g = b ? &b->format : NULL;
    return f == g || (f && g && f->mode == g->mode && f->bits == g->bits && f->group == g->group &&
                      f->scale == g->scale && f->factor == g->factor);
}

// Returns the type of a matrix that MLX quantised: that which has its weights as they are, or one
// as of other matrices.
static enum gi_ggml_type find_mlx_type(const struct gi_hf_build *b, const struct shape *s,
                                       const struct gi_hf_source *source,
                                       const struct gi_hf_mlx *mlx)
{
    const enum gi_ggml_type wanted = find_type(b, s), own = gi_mlx_type(&mlx->format);
    const uint32_t block = gi_ggml_type_find(own)->block_size;
    const bool moves_blocks = s->change == GI_HF_HEAD_COLUMNS && source->head_cols % block == 0;
    const bool is_possible = own != GI_GGML_TYPE_Q8_M || !b->is_for_file;
    const bool is_own = is_possible && own != GI_GGML_TYPE_F32 && wanted != GI_GGML_TYPE_F32 &&
                        source->n_cols % block == 0 &&
                        (moves_blocks || !gi_hf_moves_columns(s->change));
    return is_own ? own : wanted;
}

//-- one tensor ------------------------------------------------------------------------------------

// Fails unless the elements of a tensor are floating-point numbers.
static bool check_floats(struct gi_hf_build *b, const struct gi_safetensor *t)
{
    if (!gi_hf_ok(b) || !gi_safetensors_check_type(b->files, t, &b->out->error)) {
        return false;
    }
    if (t->type != GI_SAFETENSORS_F32 && t->type != GI_SAFETENSORS_F16 &&
        t->type != GI_SAFETENSORS_BF16) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "tensor %s has type %s, expected BF16, F16 or F32", t->name,
                   gi_safetensors_type_name(t->type));
    }
    return gi_hf_ok(b);
}

static void squeeze(struct shape *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_dims; i++) {
        if (s->dims[i] != 1) {
            s->dims[n++] = s->dims[i];
        }
    }
    s->n_dims = n > 0 ? n : 1;
    s->dims[0] = n > 0 ? s->dims[0] : 1;
}

static bool halves_rows(enum gi_hf_change change)
{
    return change == GI_HF_EVEN_ROWS || change == GI_HF_ODD_ROWS || change == GI_HF_FIRST_HALF ||
           change == GI_HF_SECOND_HALF || change == GI_HF_TRANSPOSE_EVEN ||
           change == GI_HF_TRANSPOSE_ODD;
}

// Halves a number of rows or columns.
static void halve(struct gi_hf_build *b, const struct shape *s, uint64_t *n)
{
    if (*n % 2 != 0) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "tensor %s has %llu rows or columns, expected an even number", s->to,
                   (unsigned long long)*n);
    }
    *n /= 2;
}

// Gives the shape that a change leaves; the source's sizes are those of one matrix before it.
static void change_shape(struct gi_hf_build *b, struct shape *s, struct gi_hf_source *source)
{
    if (s->change == GI_HF_SQUEEZE) {
        squeeze(s);
    }
    if (s->n_dims < 1 || s->n_dims > 4) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED, "tensor %s has %u dimensions, expected 1 to 4",
                   s->to, s->n_dims);
        return;
    }
    // A vector has rows of one element where rows are moved.
    const bool has_rows = s->n_dims > 1;
    uint64_t *rows = &s->dims[has_rows ? s->n_dims - 2 : 0], *cols = &s->dims[s->n_dims - 1];
    source->n_source_rows = *rows;
    source->n_source_cols = has_rows ? *cols : 1;
    if (gi_hf_transposes(s->change)) {
        const uint64_t n = *cols;
        *cols = *rows;
        *rows = n;
    }
    if (halves_rows(s->change)) {
        halve(b, s, rows);
    } else if (s->change == GI_HF_EVEN_COLUMNS || s->change == GI_HF_ODD_COLUMNS) {
        halve(b, s, cols);
    }
    if (gi_hf_moves_columns(s->change) && !has_rows) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "tensor %s has one dimension, expected two", s->to);
    }
    source->n_rows = *rows;
    source->n_cols = has_rows ? *cols : 1;
}

static void find_head_rows(struct gi_hf_build *b, const struct shape *s,
                           struct gi_hf_source *source)
{
    const uint32_t n_head = gi_hf_u32(b, "num_attention_heads|n_heads|n_head");
    const uint32_t n = s->change == GI_HF_ROPE_PAIRS_Q
                           ? n_head
                           : gi_hf_u32_or(b, "num_key_value_heads|n_kv_heads", n_head);
    if (gi_hf_ok(b) && (n == 0 || source->n_source_rows % (2 * (uint64_t)n) != 0)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "tensor %s has %llu rows, expected those of %u heads of even size", s->to,
                   (unsigned long long)source->n_source_rows, n);
    }
    source->head_rows = n > 0 ? source->n_source_rows / n : 0;
}

static void find_head_columns(struct gi_hf_build *b, const struct shape *s,
                              struct gi_hf_source *source)
{
    const uint32_t n_groups = gi_hf_u32(b, "linear_num_key_heads");
    const uint32_t cols = gi_hf_u32(b, "linear_value_head_dim");
    const uint64_t group = (uint64_t)n_groups * cols;
    if (gi_hf_ok(b) && (group == 0 || source->n_cols % group != 0)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "tensor %s has %llu columns, expected those of %u groups of heads of %u", s->to,
                   (unsigned long long)source->n_cols, n_groups, cols);
    }
    source->n_groups = n_groups;
    source->head_cols = cols;
}

// Adds the entry of a tensor whose rows from `first` on are in the list.
static void add_tensor(struct gi_hf_build *b, struct shape *s, size_t first)
{
    struct gi_hf_sources *sources = b->sources;
    struct gi_hf_source source = {.change = s->change, .first = first};
    uint64_t dims[4] = {1, 1, 1, 1};
    change_shape(b, s, &source);
    if (s->change == GI_HF_ROPE_PAIRS_Q || s->change == GI_HF_ROPE_PAIRS_K) {
        find_head_rows(b, s, &source);
    } else if (s->change == GI_HF_HEAD_COLUMNS) {
        find_head_columns(b, s, &source);
    }
    if (!gi_hf_ok(b)) {
        return;
    }
    const struct gi_hf_mlx *mlx = sources->rows.data[first].mlx;
    const enum gi_ggml_type type = mlx ? find_mlx_type(b, s, &source, mlx) : find_type(b, s);
    source.type = gi_ggml_type_find(type);
    source.n = sources->rows.count - first;
    uint64_t n_rows = 0;
    for (size_t i = first; i < sources->rows.count; i++) {
        struct gi_hf_rows *rows = &sources->rows.data[i];
        const struct gi_safetensor *t = rows->tensor;
        rows->row_size = source.n_source_cols * gi_safetensors_type_bits(t->type) / 8;
        if (s->n_dims > 1 && t->n_dims == 1) { // a stacked vector
            rows->n_rows = t->n_elements / source.n_source_cols;
        }
        if (!is_same_format(rows->mlx, mlx)) {
            gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                       "the tensors %s and %s, which glinfer joins, are quantised differently",
                       sources->rows.data[first].tensor->name, t->name);
        }
        if (mlx) {
            rows->row_size = gi_mlx_row_size(&mlx->format, source.n_source_cols);
        }
        rows->first = n_rows;
        n_rows += rows->n_rows;
    }
    for (uint32_t i = 0; i < s->n_dims; i++) {
        dims[i] = s->dims[s->n_dims - 1 - i];
    }
    gi_gguf_add_tensor(b->out, s->to, type, s->n_dims, dims);
    if (gi_hf_ok(b)) {
        GI_ARRAY_PUSH(&sources->tensors, purpose, &b->out->error, source);
    }
}

// Returns the rows of a tensor; of one dimension, its elements.
static uint64_t count_rows(const struct gi_safetensor *t, enum gi_hf_change change)
{
    const uint32_t n = t->n_dims > 1 ? t->n_dims - 1 : t->n_dims;
    uint64_t n_rows = 1;
    if (change == GI_HF_SQUEEZE) { // the last dimension that is not 1 becomes that of columns
        struct shape s = {.n_dims = t->n_dims};
        memcpy(s.dims, t->dims, sizeof(s.dims));
        squeeze(&s);
        return s.n_dims > 1 ? t->n_elements / s.dims[s.n_dims - 1] : t->n_elements;
    }
    for (uint32_t i = 0; i < n; i++) {
        n_rows *= t->dims[i];
    }
    return n_rows;
}

// Appends the rows of a tensor, all of them for begin and end 0.
static void use_rows(struct gi_hf_build *b, struct gi_hf_name *name, uint64_t begin, uint64_t end,
                     enum gi_hf_change change)
{
    const struct gi_safetensor *t = name->tensor;
    const uint64_t n = count_rows(t, change);
    name->is_used = true;
    end = end == 0 ? n : end;
    if (!check_floats(b, t)) {
        return;
    }
    if (name->mlx && (gi_hf_transposes(change) || change == GI_HF_SQUEEZE)) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED, "tensor %s is quantised, expected floats",
                   t->name);
        return;
    }
    if (begin >= end || end > n) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "tensor %s has %llu rows, expected at least %llu",
                   t->name, (unsigned long long)n, (unsigned long long)end);
        return;
    }
    GI_ARRAY_PUSH(
        &b->sources->rows, purpose, &b->out->error,
        (struct gi_hf_rows){.tensor = t, .mlx = name->mlx, .begin = begin, .n_rows = end - begin});
}

// Returns true if two tensors can be stacked or joined.
static bool check_alike(struct gi_hf_build *b, const struct gi_safetensor *t,
                        const struct gi_safetensor *first, uint32_t from_dim)
{
    bool is_alike = t->n_dims == first->n_dims && t->type == first->type;
    for (uint32_t i = from_dim; is_alike && i < t->n_dims; i++) {
        is_alike = t->dims[i] == first->dims[i];
    }
    if (!is_alike) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "the tensors %s and %s differ in shape or type",
                   first->name, t->name);
    }
    return is_alike;
}

static void take_shape(struct shape *s, const struct gi_safetensor *t)
{
    s->type = t->type;
    s->n_dims = t->n_dims;
    memcpy(s->dims, t->dims, sizeof(s->dims));
    if (t->n_dims == 0) { // a scalar is a vector of one
        s->n_dims = 1;
    }
}

//-- rows of families ------------------------------------------------------------------------------

// Writes a name with numbers in place of % and #.
static void make_name(char out[NAME_SIZE], const char *pattern, uint32_t layer, uint32_t expert)
{
    size_t used = 0;
    for (; *pattern && used + 12 < NAME_SIZE; pattern++) {
        if (*pattern == '%' || *pattern == '#') {
            used += (size_t)snprintf(out + used, NAME_SIZE - used, "%u",
                                     *pattern == '%' ? layer : expert);
        } else {
            out[used++] = *pattern;
        }
    }
    out[used] = 0;
}

// Stacks the tensors of all experts.
static void add_experts(struct gi_hf_build *b, const struct gi_hf_row *row, uint32_t layer)
{
    char name[NAME_SIZE], to[NAME_SIZE];
    const size_t first = b->sources->rows.count;
    struct shape s = {.to = to, .change = row->change};
    const struct gi_safetensor *one = NULL;
    uint32_t n = 0;
    for (; n < MAX_EXPERTS && gi_hf_ok(b); n++) {
        make_name(name, row->from, layer, n);
        struct gi_hf_name *found = gi_hf_sources_find(b->sources, name);
        if (!found) {
            break;
        }
        one = one ? one : found->tensor;
        if (check_alike(b, found->tensor, one, 0)) {
            use_rows(b, found, 0, 0, row->change);
        }
    }
    if (!one || !gi_hf_ok(b)) {
        return;
    }
    if (one->n_dims > 3) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED, "tensor %s has %u dimensions, expected 1 to 3",
                   one->name, one->n_dims);
        return;
    }
    make_name(to, row->to, layer, 0);
    take_shape(&s, one);
    memmove(s.dims + 1, s.dims, 3 * sizeof(s.dims[0]));
    s.dims[0] = n;
    s.n_dims++;
    add_tensor(b, &s, first);
}

// Makes a matrix with rows of n_cols of the elements of a tensor, the last one whose rows are used.
static void fold(struct gi_hf_build *b, struct shape *s, uint64_t n_cols)
{
    struct gi_hf_rows *rows = &b->sources->rows.data[b->sources->rows.count - 1];
    const uint64_t n = rows->tensor->n_elements;
    if (rows->mlx || n == 0 || n_cols == 0 || n % n_cols != 0) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "tensor %s has %llu elements, expected rows of %llu",
                   rows->tensor->name, (unsigned long long)n, (unsigned long long)n_cols);
        return;
    }
    s->n_dims = 2;
    s->dims[0] = rows->n_rows = n / n_cols;
    s->dims[1] = n_cols;
}

// n_cols: of a matrix to make of the elements, 0: none.
static void add_row(struct gi_hf_build *b, const struct gi_hf_row *row, uint32_t layer,
                    uint64_t n_cols)
{
    char name[NAME_SIZE], to[NAME_SIZE];
    struct shape s = {.to = to, .change = row->change};
    if (strchr(row->from, '#')) {
        add_experts(b, row, layer);
        return;
    }
    make_name(name, row->from, layer, 0);
    make_name(to, row->to, layer, 0);
    struct gi_hf_name *found = gi_hf_sources_find(b->sources, name);
    if (found) {
        const size_t first = b->sources->rows.count;
        take_shape(&s, found->tensor);
        use_rows(b, found, 0, 0, row->change);
        if (n_cols > 0 && gi_hf_ok(b)) {
            fold(b, &s, n_cols);
        }
        add_tensor(b, &s, first);
    }
}

static void add_rows(struct gi_hf_build *b, const struct gi_hf_row *rows, size_t n, uint64_t n_cols)
{
    const uint32_t n_layer = gi_hf_u32(b, "num_hidden_layers|n_layer|n_layers");
    if (n_layer > MAX_LAYERS) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: num_hidden_layers is %u, expected at most %d", n_layer,
                   MAX_LAYERS);
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t end = strchr(rows[i].from, '%') ? n_layer : 1;
        for (uint32_t layer = 0; layer < end && gi_hf_ok(b); layer++) {
            add_row(b, &rows[i], layer, n_cols);
        }
    }
}

void gi_hf_add_rows(struct gi_hf_build *b, const struct gi_hf_row *rows, size_t n)
{
    add_rows(b, rows, n, 0);
}

void gi_hf_add_folded(struct gi_hf_build *b, const struct gi_hf_row *row, uint64_t n_cols)
{
    add_rows(b, row, 1, n_cols);
}

void gi_hf_add_joined(struct gi_hf_build *b, const char *to, const struct gi_hf_piece *pieces,
                      size_t n, enum gi_hf_change change)
{
    const size_t first = b->sources->rows.count;
    struct shape s = {.to = to, .change = change};
    uint64_t n_rows = 0;
    for (size_t i = 0; i < n; i++) {
        if (!gi_hf_find(b, pieces[i].from)) {
            return;
        }
    }
    for (size_t i = 0; i < n && gi_hf_ok(b); i++) {
        struct gi_hf_name *found = gi_hf_sources_find(b->sources, pieces[i].from);
        if (check_alike(b, found->tensor, gi_hf_find(b, pieces[0].from), 1)) {
            use_rows(b, found, pieces[i].begin, pieces[i].end, change);
        }
    }
    for (size_t i = first; i < b->sources->rows.count; i++) {
        n_rows += b->sources->rows.data[i].n_rows;
    }
    if (gi_hf_ok(b)) {
        const struct gi_safetensor *t = gi_hf_find(b, pieces[0].from);
        take_shape(&s, t);
        if (s.n_dims > 2) { // rows of stacked matrices are joined into one
            s.dims[1] = t->n_elements / count_rows(t, change);
            s.n_dims = 2;
        }
        s.dims[0] = n_rows;
        add_tensor(b, &s, first);
    }
}

static void add_values(struct gi_hf_build *b, const char *to, const float *values, uint32_t n_dims,
                       const uint64_t dims[4])
{
    struct gi_hf_sources *sources = b->sources;
    const size_t n = (size_t)(dims[0] * dims[1]);
    const struct gi_hf_source source = {
        .type = gi_ggml_type_find(GI_GGML_TYPE_F32),
        .n_cols = dims[0],
        .n_rows = dims[1],
        .values = sources->values.count,
    };
    gi_gguf_add_tensor(b->out, to, GI_GGML_TYPE_F32, n_dims, dims);
    if (gi_hf_ok(b) &&
        GI_ARRAY_RESERVE(&sources->values, sources->values.count + n, purpose, &b->out->error) &&
        GI_ARRAY_PUSH(&sources->tensors, purpose, &b->out->error, source)) {
        memcpy(sources->values.data + sources->values.count, values, n * sizeof(*values));
        sources->values.count += n;
    }
}

void gi_hf_add_values(struct gi_hf_build *b, const char *to, const float *values, size_t n)
{
    add_values(b, to, values, 1, (const uint64_t[4]){n, 1, 1, 1});
}

void gi_hf_add_matrix(struct gi_hf_build *b, const char *to, const float *values, uint64_t n_rows,
                      uint64_t n_cols)
{
    add_values(b, to, values, 2, (const uint64_t[4]){n_cols, n_rows, 1, 1});
}
