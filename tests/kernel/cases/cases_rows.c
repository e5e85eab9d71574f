// Operations on single rows of a batch, or on that of a step: norms, activations, the last row of a
// prompt, and the forms that products read rows in.
#include "ops/gemm/batch.h"
#include "ops/gemm/half_rows.h"
#include "ops/gemm/pack_rows.h"
#include "ops/gemv/gemv.h"
#include "quant/quant.h"
#include "tests/kernel/fixture/kernel_axes.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <stdlib.h>

#define EPS 1e-5f

#define WIDTHS KT_NUMBERS("width", 32, 96, 576, 1536, 2048)
#define TOKENS KT_NUMBERS("tokens", 1, 7, 33, 130)

// Returns rows of NaN. What a range has room for decides about tiles, not the stride of f16.
static struct gi_rows output_rows(struct kt_run *run, uint32_t n_tokens, uint32_t width,
                                  enum gi_half_form form)
{
    const uint32_t n_tile = gi_half_row_tiles(width), n_each = form == GI_HALF_FORM_SMALL ? 8 : 128;
    const size_t tiles = (size_t)((n_tokens + n_each - 1) / n_each) * n_tile * n_each * 132;
    return form == GI_HALF_FORM_NONE
               ? kt_rows(run, "y", NULL, n_tokens, width)
               : (struct gi_rows){kt_range(run, "y", NULL, tiles),
                                  form == GI_HALF_FORM_SMALL ? 64 * n_tile + 64 : width, true};
}

static uint64_t record_last_row(struct kt_run *run, const uint32_t *v)
{
    const uint32_t width = v[0], n_tokens = v[1];
    const struct gi_rows x = kt_random_rows(run, "x", n_tokens, width + 64, 2);
    const struct gi_vectors vectors = kt_random_vectors(run, width);
    struct gi_stream stream = kt_stream(run, width, 2, 0, 1);
    gi_op_last_row(&run->recorder, &x, &vectors, 0, &stream);
    return 12ull * width;
}

static const struct kt_axis row_axes[] = {WIDTHS, TOKENS};
KT_DESCRIBE(last_row, row_axes);

//-- norms -----------------------------------------------------------------------------------------

enum norm_form { NORM_F32, NORM_HALF, NORM_ADDED, NORM_SCALED, NORM_IN_PLACE };
static const char *const rmsnorm_forms[] = {"f32", "f16", "added", "added and scaled", "in place"};

static uint64_t record_rmsnorm(struct kt_run *run, const uint32_t *v)
{
    const uint32_t width = v[0], n_tokens = v[1];
    const enum norm_form form = (enum norm_form)v[2];
    const struct gi_rows x = kt_random_rows(run, "x", n_tokens, width + 32, 2);
    const struct gi_vectors vectors = kt_random_vectors(run, 2 * (size_t)width);
    if (form == NORM_ADDED || form == NORM_SCALED) {
        const struct gi_rows y = kt_random_rows(run, "y", n_tokens, width, 1);
        gi_op_rmsnorm_add(&run->recorder, "norm", &x, width, &vectors, 0,
                          form == NORM_SCALED ? width : UINT32_MAX, 0, &y);
        return 12ull * width * n_tokens;
    }
    if (form == NORM_IN_PLACE) {
        gi_op_rmsnorm(&run->recorder, "norm", &x, width, &vectors, 0, EPS, &x);
        return 8ull * width * n_tokens;
    }
    const struct gi_rows y = output_rows(run, n_tokens, width, form == NORM_HALF);
    gi_op_rmsnorm(&run->recorder, "norm", &x, width, &vectors, 0, EPS, &y);
    return 8ull * width * n_tokens;
}

static const struct kt_axis rmsnorm_axes[] = {WIDTHS, TOKENS, KT_NAMED("form", 5, rmsnorm_forms)};
KT_DESCRIBE(rmsnorm, rmsnorm_axes);

// Rows with a mean of their own.
static uint64_t record_layernorm(struct kt_run *run, const uint32_t *v)
{
    const uint32_t width = v[0], n_tokens = v[1];
    float *values = kt_alloc((size_t)n_tokens * (width + 32), sizeof(*values));
    kt_fill(run, values, (size_t)n_tokens * (width + 32), -1, 2);
    const struct gi_rows x = {
        kt_range(run, "x", values, (size_t)n_tokens * (width + 32) * sizeof(*values)), width + 32,
        false};
    const struct gi_vectors vectors = kt_random_vectors(run, 2 * (size_t)width);
    const struct gi_rows y = output_rows(run, n_tokens, width, v[2] == NORM_HALF);
    gi_op_layernorm(&run->recorder, "norm", &x, width, &vectors, 0, width, EPS, &y);
    free(values);
    return 8ull * width * n_tokens;
}

static const struct kt_axis layernorm_axes[] = {WIDTHS, TOKENS, KT_NAMED("form", 2, rmsnorm_forms)};
KT_DESCRIBE(layernorm, layernorm_axes);

static const char *const stages[] = {"alone", "as a stage"};

static uint64_t record_layernorm_step(struct kt_run *run, const uint32_t *v)
{
    const struct gi_vectors vectors = kt_random_vectors(run, 2 * (size_t)v[0]);
    struct gi_stream stream = kt_stream(run, v[0], 2, EPS, 1);
    run->recorder.form.group_size = v[1] ? kt_uniform_size(run) : 0;
    gi_op_layernorm_step(&run->recorder, "norm", &vectors, 0, v[0], &stream);
    return 8ull * v[0];
}

static const struct kt_axis step_axes[] = {WIDTHS, KT_NAMED("stage", 2, stages)};
KT_DESCRIBE(layernorm_step, step_axes);

static const char *const post_forms[] = {"at the end", "before a norm", "before a norm, scaled"};

static uint64_t record_post_norm(struct kt_run *run, const uint32_t *v)
{
    const uint32_t width = v[0];
    const struct gi_range y = kt_random_rows(run, "y", 1, width, 3).range;
    const struct gi_vectors vectors = kt_random_vectors(run, 2 * (size_t)width);
    struct gi_stream stream = kt_stream(run, width, 2, EPS, 1);
    gi_op_post_norm(&run->recorder, "post_norm", y, &vectors, 0, v[1] > 0 ? width : UINT32_MAX,
                    v[1] == 2 ? 0 : UINT32_MAX, &stream);
    return 16ull * width;
}

static const struct kt_axis post_axes[] = {WIDTHS, KT_NAMED("form", 3, post_forms)};
KT_DESCRIBE(post_norm, post_axes);

//-- activations -----------------------------------------------------------------------------------

enum glu_form { GLU_WHOLE, GLU_PARTS, GLU_APART, GLU_HALF, GLU_HALF_PARTS, N_GLU_FORM };
static const char *const glu_forms[] = {"whole", "in parts", "apart", "f16", "f16 in parts"};

// Sets the rows of the parts of a gate_up weight, all that glu reads.
static struct gi_weight gate_up_weight(uint32_t n_ff, enum glu_form form,
                                       enum gi_activation activation)
{
    const bool is_ungated = kt_is_ungated(activation);
    const bool is_split = form == GLU_APART && !is_ungated;
    struct gi_weight weight = {.name = "gate_up",
                               .n_rows = is_ungated ? (n_ff + 15) / 16 * 16
                                         : is_split ? (n_ff + 15) / 16 * 32
                                                    : (n_ff + 7) / 8 * 16,
                               .is_split = is_split,
                               .is_ungated = is_ungated};
    const uint32_t n_part = form == GLU_PARTS        ? weight.n_rows / 3 / 16 * 16 + 16
                            : form == GLU_HALF_PARTS ? 1024
                                                     : weight.n_rows;
    for (uint32_t begin = 0; begin < weight.n_rows; begin += n_part) {
        const uint32_t left = weight.n_rows - begin;
        weight.parts[weight.n_parts++] =
            (struct gi_weight_part){.row_begin = begin, .n_rows = left < n_part ? left : n_part};
    }
    return weight;
}

static uint64_t record_glu(struct kt_run *run, const uint32_t *v)
{
    const enum gi_activation activation = (enum gi_activation)v[0];
    const enum glu_form form = (enum glu_form)v[1];
    const uint32_t n_ff = v[2], n_tokens = v[3];
    const bool is_half = form == GLU_HALF || form == GLU_HALF_PARTS;
    const struct gi_activation_rule rule = kt_activation(activation);
    const struct gi_weight weight = gate_up_weight(n_ff, form, activation);
    const struct gi_rows gate_up =
        kt_random_rows(run, "gate_up", n_tokens, kt_pad32(weight.n_rows), 12);
    struct gi_rows act = output_rows(run, n_tokens, is_half ? n_ff : kt_pad32(n_ff), is_half);
    act.stride = kt_pad32(n_ff);
    gi_op_glu(&run->recorder, "glu", &weight, &gate_up, n_ff, &rule, &act);
    return 12ull * n_tokens * n_ff;
}

static const struct kt_axis glu_axes[] = {
    KT_ALL_ACTIVATIONS, KT_NAMED("form", N_GLU_FORM, glu_forms),
    KT_NUMBERS("columns", 32, 100, 1536, 2052), KT_NUMBERS("tokens", 1, 7, 33, 190)};
KT_DESCRIBE(glu, glu_axes);

//-- forms of rows ---------------------------------------------------------------------------------

static const char *const sizes[] = {"1e-36", "1e-6", "1", "1e30"};
static const float size_values[] = {1e-36f, 1e-6f, 1, 1e30f};
static const char *const half_forms[] = {"large tiles", "small tiles", "packed"};

// Packs rows as inputs of a weight of q4_0.
static void record_pack_rows(struct kt_run *run, struct gi_rows *x, uint32_t width)
{
    const struct gi_weight weight = {.n_parts = 1,
                                     .parts = {{.quant = gi_quant_find(GI_GGML_TYPE_Q4_0)}}};
    kt_set(run, "GLINFER_BATCH", "lane");
    run->recorder.packs_rows = true;
    gi_op_pack_rows(&run->recorder, "pack_rows", x, width, &weight);
    if (!x->is_half) {
        kt_fail(run, "rows are not packed");
    }
}

// Tiles of few tokens and packed rows of as many as there are in such batches.
static uint64_t record_half_rows(struct kt_run *run, const uint32_t *v)
{
    const uint32_t width = v[1], is_small = v[2] == 1;
    const uint32_t n_tokens = v[3], stride = kt_pad32(width) + 32;
    const uint32_t n_rows = n_tokens < 33 && v[2] == 2 ? 33 : n_tokens;
    struct gi_rows x = kt_random_rows(run, "x", n_rows, stride, size_values[v[0]]);
    if (v[2] == 2) {
        record_pack_rows(run, &x, width);
        return 6ull * n_tokens * width;
    }
    const struct gi_rows y = output_rows(
        run, n_tokens, width,
        is_small && n_tokens <= GI_SMALL_BATCH ? GI_HALF_FORM_SMALL : GI_HALF_FORM_LARGE);
    gi_op_half_rows(&run->recorder, "half_rows", &x, width, &y);
    return 6ull * n_tokens * width;
}

static const struct kt_axis half_axes[] = {
    KT_NAMED("up to", 4, sizes), KT_NUMBERS("width", 32, 96, 320, 612),
    KT_NAMED("form", 3, half_forms), KT_NUMBERS("tokens", 1, 5, 32, 257)};
KT_DESCRIBE(half_rows, half_axes);
