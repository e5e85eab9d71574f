#include "base/round.h"
#include "tests/kernel/cases/cases_gemv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct residual_size {
    uint32_t n_embd, n_cols, part_rows;
    float scale;
    bool has_bias, has_gamma;
};

static const struct residual_size residual_sizes[] = {
    {16, 32, 0, 1, false, true},     {48, 96, 16, 0.25f, true, true}, {40, 64, 0, 1, false, false},
    {128, 352, 48, -2, true, false}, {576, 2048, 0, 1, false, true},  {576, 576, 0, 1, false, true},
    {576, 1536, 0, 1, false, true},
};
static void name_residual(size_t index, char *text, size_t size)
{
    struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    const struct residual_size *s = &residual_sizes[variant.size];
    int n = kt_gemv_print(&variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u x %u scale %g%s%s%s", s->n_embd, s->n_cols,
             (double)s->scale, s->part_rows ? " parts" : "", s->has_bias ? " bias" : "",
             s->has_gamma ? " gamma" : "");
}

static bool compare_ssq(struct kt_run *run, const struct gi_stream *stream, double want)
{
    float *parts = kt_alloc(stream->n_ssq, sizeof(*parts));
    double sum = 0;
    bool is_good = kt_read(run, &stream->range, stream->ssq * sizeof(float), parts,
                           stream->n_ssq * sizeof(float));
    for (uint32_t i = 0; i < stream->n_ssq; i++) {
        sum += (double)parts[i];
    }
    free(parts);
    // The residual's own kt_gemv_roundings() count twice in its square.
    double bound = 4 * kt_gemv_roundings() * (double)FLT_EPSILON * want;
    return is_good && (fabs(sum - want) <= bound ||
                       kt_fail(run, "ssq adds up to %.9g, want %.9g +- %.3g", sum, want, bound));
}

static bool compare_residual(struct kt_run *run, const struct kt_gemv_stream *test,
                             const struct kt_weight *weight, const struct ref_value *y)
{
    const struct gi_stream *stream = &test->stream;
    size_t n = stream->n_embd;
    struct ref_value *residual = kt_alloc(n, sizeof(*residual));
    struct ref_value *norm = kt_alloc(n, sizeof(*norm));
    double ssq = 0;
    for (size_t i = 0; i < n; i++) {
        double before = (double)test->values[stream->residual + i];
        residual[i].value = before + y[i].value;
        residual[i].magnitude = fabs(before) + y[i].magnitude;
        norm[i].value = residual[i].value * (double)weight->gamma[i];
        norm[i].magnitude = residual[i].magnitude * (double)weight->gamma[i];
        ssq += residual[i].value * residual[i].value;
    }
    bool is_good =
        kt_gemv_compare(run, "residual", &stream->range, stream->residual * sizeof(float), residual,
                        n) &&
        kt_gemv_compare(run, "norm", &stream->range, stream->norm * sizeof(float), norm, n) &&
        compare_ssq(run, stream, ssq);
    free(residual);
    free(norm);
    return is_good;
}

// Writes the sums of x after x, which begins at values[skipped].
static void add_sums(struct kt_run *run, const struct gi_range *range, const float *x,
                     uint32_t skipped, uint32_t n_cols)
{
    const uint32_t begin = skipped + (uint32_t)gi_round_up(n_cols, 64);
    for (uint32_t i = 0; i < n_cols / 16; i++) {
        float sum = 0;
        for (uint32_t k = 0; k < 16; k++) {
            sum += x[skipped + 16 * i + k];
        }
        kt_write(run, range, (begin + i) * sizeof(float), &sum, sizeof(sum));
    }
}

// The sums of norm are those of what was written there.
static bool compare_sums(struct kt_run *run, const struct gi_stream *stream)
{
    const uint32_t n = gi_x_size(stream->n_embd);
    const uint32_t begin = (uint32_t)gi_round_up(stream->n_embd, 64);
    float *norm = kt_alloc(n, sizeof(*norm));
    bool is_good = !stream->has_sums || kt_read(run, &stream->range, stream->norm * sizeof(float),
                                                norm, n * sizeof(float));
    for (uint32_t i = 0; stream->has_sums && is_good && 16 * i < stream->n_embd; i++) {
        double sum = 0, magnitude = 0;
        for (uint32_t k = 16 * i; k < 16 * i + 16 && k < stream->n_embd; k++) {
            sum += (double)norm[k];
            magnitude += fabs((double)norm[k]);
        }
        is_good = fabs((double)norm[begin + i] - sum) <= 16 * (double)FLT_EPSILON * magnitude ||
                  kt_fail(run, "sum %u of norm: %.9g, want %.9g", i, (double)norm[begin + i], sum);
    }
    free(norm);
    return is_good;
}

static bool check_residual(struct kt_run *run, const struct kt_gemv_variant *variant,
                           const struct residual_size *size)
{
    const uint32_t skipped = 32; // floats before x
    const bool has_sums = variant->shape >= KT_GEMV_SHAPES && variant->size != 1;
    struct kt_gemv_stream stream;
    struct kt_weight weight;
    struct gi_range range;
    const struct kt_weight_params params = {.type = variant->type,
                                            .n_rows = size->n_embd,
                                            .n_cols = size->n_cols,
                                            .max_part_rows = size->part_rows,
                                            .has_bias = size->has_bias,
                                            .has_gamma = size->has_gamma};
    float *x =
        kt_gemv_x(run, skipped + (has_sums ? gi_x_size(size->n_cols) : size->n_cols), &range);
    if (has_sums) {
        add_sums(run, &range, x, skipped, size->n_cols);
    }
    bool is_good = kt_gemv_stream_init(&stream, run, size->n_embd, 0, 1) &
                   kt_weight_init(&weight, run, &params);
    struct ref_value *y = kt_alloc(weight.weight.n_rows, sizeof(*y));
    ref_gemv(y, weight.dense, x + skipped, weight.bias, size->n_embd, size->n_cols, 1);
    for (uint32_t i = 0; i < size->n_embd; i++) {
        y[i].value *= (double)size->scale;
        y[i].magnitude *= fabs((double)size->scale);
    }
    is_good = is_good && kt_gemv_set_shape(run, variant);
    if (is_good) {
        gi_op_gemv_residual(&run->recorder, "attn_out", &weight.weight, range, skipped, has_sums,
                            size->scale, &stream.stream);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, 0, 1) &&
              compare_residual(run, &stream, &weight, y) && compare_sums(run, &stream.stream) &&
              kt_bench(run, 0, 1, kt_weight_bytes(&weight.weight));
    free(x);
    free(y);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

static bool run_residual(struct kt_run *run, size_t index)
{
    struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    return check_residual(run, &variant, &residual_sizes[variant.size]);
}

const struct kt_suite kt_gemv_residual = {
    .kernel = "gemv_residual",
    .n_case = COUNT(residual_sizes) * KT_GEMV_TYPES * KT_GEMV_SHAPES,
    .name = name_residual,
    .run = run_residual,
};

static void print_residual(const struct kt_gemv_variant *variant, const struct residual_size *s,
                           char *text, size_t size)
{
    const int n = kt_gemv_print(variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u x %u%s", s->n_embd, s->n_cols,
             s->part_rows ? " parts" : "");
}

//-- the other weight types ------------------------------------------------------------------------

// Types and shapes take turns at these. Columns are rounded up to blocks of the type: odd numbers
// of blocks and of super-blocks.
static const struct residual_size quant_sizes[] = {
    {40, 224, 0, 1, false, true},
    {48, 768, 16, 0.25f, true, true},
};

static struct kt_gemv_variant get_quant_variant(size_t index, struct residual_size *size)
{
    const size_t shape = index % KT_GEMV_SHAPES, type = index / KT_GEMV_SHAPES;
    const uint32_t block = gi_ggml_type_find(kt_other_type(type))->block_size;
    const struct kt_gemv_variant variant = {kt_other_type(type),
                                            (type + shape) % COUNT(quant_sizes), shape};
    *size = quant_sizes[variant.size];
    size->n_cols = (size->n_cols + block - 1) / block * block;
    return variant;
}

static void name_quant(size_t index, char *text, size_t size)
{
    struct residual_size s;
    const struct kt_gemv_variant variant = get_quant_variant(index, &s);
    print_residual(&variant, &s, text, size);
}

static bool run_quant(struct kt_run *run, size_t index)
{
    struct residual_size size;
    struct kt_gemv_variant variant = get_quant_variant(index, &size);
    return check_residual(run, &variant, &size);
}

const struct kt_suite kt_gemv_quant = {
    .kernel = "gemv_quant",
    .n_case = KT_OTHER_TYPES * KT_GEMV_SHAPES,
    .name = name_quant,
    .run = run_quant,
};

//-- the forms of the dot product ------------------------------------------------------------------

static const uint32_t dot_types[] = {
    GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q8_0, GI_GGML_TYPE_Q4_K, GI_GGML_TYPE_Q6_K,
    GI_GGML_TYPE_Q5_0, GI_GGML_TYPE_Q5_1, GI_GGML_TYPE_Q5_K, GI_GGML_TYPE_Q3_K, GI_GGML_TYPE_Q2_K};

// Types that the form by bytes takes by quads.
static const uint32_t quad_types[] = {GI_GGML_TYPE_IQ4_NL, GI_GGML_TYPE_IQ2_XS, GI_GGML_TYPE_IQ1_M,
                                      GI_GGML_TYPE_TQ1_0};

// Odd and even numbers of blocks; x too large for the smallest uniform block.
static const struct residual_size dot_sizes[] = {
    {40, 256, 0, 1, false, true},
    {48, 768, 16, 0.25f, true, true},
    {128, 4608, 48, -2, true, true},
};

enum {
    N_DOT_CASE = COUNT(dot_sizes) * COUNT(dot_types) * KT_GEMV_DOTS,
    SHAPE_BYTES = KT_GEMV_SHAPES + 1,
};

static struct kt_gemv_variant get_dot_variant(size_t index, struct residual_size *size)
{
    struct kt_gemv_variant variant = {dot_types[index / KT_GEMV_DOTS % COUNT(dot_types)],
                                      index / KT_GEMV_DOTS / COUNT(dot_types),
                                      KT_GEMV_SHAPES + index % KT_GEMV_DOTS};
    if (index >= N_DOT_CASE) {
        index -= N_DOT_CASE;
        variant = (struct kt_gemv_variant){quad_types[index], index % 2, SHAPE_BYTES};
    }
    *size = dot_sizes[variant.size];
    size->n_cols -= variant.size == 1 && gi_ggml_type_find(variant.type)->block_size == 32 ? 32 : 0;
    return variant;
}

static void name_dot(size_t index, char *text, size_t size)
{
    struct residual_size s;
    const struct kt_gemv_variant variant = get_dot_variant(index, &s);
    print_residual(&variant, &s, text, size);
}

static bool run_dot(struct kt_run *run, size_t index)
{
    struct residual_size size;
    struct kt_gemv_variant variant = get_dot_variant(index, &size);
    return check_residual(run, &variant, &size);
}

const struct kt_suite kt_gemv_dot = {
    .kernel = "gemv_dot",
    .n_case = N_DOT_CASE + COUNT(quad_types),
    .name = name_dot,
    .run = run_dot,
};

//-- stages ------------------------------------------------------------------------------

static const uint32_t stage_types[] = {GI_GGML_TYPE_F32, GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q8_0,
                                       GI_GGML_TYPE_Q4_K};

// Slices of one block, of some and of many; fewer pairs than groups and many turns; x in parts.
static const struct residual_size stage_sizes[] = {
    {40, 256, 0, 1, false, true},  {48, 768, 16, 0.25f, true, true}, {512, 2304, 0, -2, true, true},
    {80, 8192, 0, 1, false, true}, {112, 14336, 0, 1, false, true},  {64, 16384, 0, 1, false, true},
};

static struct kt_gemv_variant get_stage_variant(size_t index, struct residual_size *size)
{
    const size_t type = index / KT_GEMV_STAGES % COUNT(stage_types);
    const struct kt_gemv_variant variant = {stage_types[type],
                                            index / KT_GEMV_STAGES / COUNT(stage_types),
                                            KT_GEMV_NAMED + index % KT_GEMV_STAGES};
    *size = stage_sizes[variant.size];
    return variant;
}

static void name_stage(size_t index, char *text, size_t size)
{
    struct residual_size s;
    const struct kt_gemv_variant variant = get_stage_variant(index, &s);
    print_residual(&variant, &s, text, size);
}

static bool run_stage(struct kt_run *run, size_t index)
{
    struct residual_size size;
    const struct kt_gemv_variant variant = get_stage_variant(index, &size);
    return !kt_gemv_fits(run, &variant) || check_residual(run, &variant, &size);
}

const struct kt_suite kt_gemv_pipeline = {
    .kernel = "gemv_pipeline",
    .n_case = COUNT(stage_sizes) * COUNT(stage_types) * KT_GEMV_STAGES,
    .name = name_stage,
    .run = run_stage,
};
