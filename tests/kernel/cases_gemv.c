#include "base/round.h"
#include "kernel_test.h"
#include "ops/gemv.h"
#include "ref/ref_gemv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// |gpu - ref| <= ROUNDINGS * FLT_EPSILON * magnitude. An invocation adds up to 8 terms a block and
// component, the blocks one after another; roundings of random sign cancel, so that the constant
// does not grow with n_cols. Q4_0 has the factor 16 / 4 from nibbles that stand 8 too high.
#define ROUNDINGS 16

// With products and sums of a block in f16, of nibbles that stand 8 too high and bytes 128 too high.
#define F16_ROUNDINGS (8 * 4096)

static double roundings = ROUNDINGS; // of the case's shape

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

// How a kernel is spread over invocations: what GLINFER_GEMV takes.
static const char *const shape_names[] = {"split",       "split:96:3",  "row",       "row:64:2",
                                          "texel",       "halves",      "bytes",     "places",
                                          "bits",        "texbits",     "bits:64:2", "f16:64:2",
                                          "f16:256:1:3", "f16:128:4:2", "f16:448:7", "f16:640:5"};
#define N_SHAPE 5                                  // that all kernels are tested with
#define N_DOT   (ARRAY_LEN(shape_names) - N_SHAPE) // behind them, which differ in the dot product

// Groups that stay for many dispatches, behind them: here each for one.
static const struct stay {
    uint32_t size, n; // invocations of a group, groups at most
    bool is_half;
} stays[] = {
    {128, 3, false},
    {128, 2, true },
    {512, 2, false},
    {512, 5, true },
};
#define N_STAY ARRAY_LEN(stays)

static const uint32_t types[] = {GI_GGML_TYPE_F32, GI_GGML_TYPE_F16, GI_GGML_TYPE_Q4_0,
                                 GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q8_0};
#define N_TYPE ARRAY_LEN(types)

// The cases of a kernel are all types and shapes of each row of its table of sizes.
struct variant {
    uint32_t type;
    size_t size; // row of the table
    size_t shape;
};

static struct variant get_variant(size_t index)
{
    return (struct variant){types[index / N_SHAPE % N_TYPE], index / N_SHAPE / N_TYPE,
                            index % N_SHAPE};
}

// NULL: a shape by name.
static const struct stay *find_stay(const struct variant *variant)
{
    const size_t n = ARRAY_LEN(shape_names);
    return variant->shape < n ? NULL : &stays[variant->shape - n];
}

static int print_variant(const struct variant *variant, char *text, size_t size)
{
    const struct stay *stay = find_stay(variant);
    if (stay) {
        return snprintf(text, size, "%s %u groups of %u that stay%s ",
                        gi_ggml_type_find(variant->type)->name, stay->n, stay->size,
                        stay->is_half ? " in f16" : "");
    }
    return snprintf(text, size, "%s %s ", gi_ggml_type_find(variant->type)->name,
                    shape_names[variant->shape]);
}

// softpipe reads wrong texels past 32768; the library does not choose that shape there.
static bool set_shape(struct kt_run *run, const struct variant *variant)
{
    const struct stay *stay = find_stay(variant);
    if (stay) {
        run->recorder.group_size = stay->size;
        run->recorder.n_groups = stay->n;
        run->recorder.is_half = stay->is_half;
        roundings = stay->is_half ? F16_ROUNDINGS : ROUNDINGS;
        return unsetenv("GLINFER_GEMV") == 0;
    }
    bool is_texel = strstr(shape_names[variant->shape], "tex") != NULL;
    roundings = strncmp(shape_names[variant->shape], "f16", 3) == 0 ? F16_ROUNDINGS : ROUNDINGS;
    if (is_texel && strstr(gi_gpu_platform(run->gpu)->renderer, "softpipe")) {
        return unsetenv("GLINFER_GEMV") == 0;
    }
    return setenv("GLINFER_GEMV", shape_names[variant->shape], 1) == 0;
}

//-- the stream ------------------------------------------------------------------------------------

#define NORM_EPS 1e-5f

// A stream with random contents, and the same on the CPU.
struct test_stream {
    struct gi_stream stream;
    float *values; // the whole range
    double inv_rms;
};

static bool make_stream(struct test_stream *test, struct kt_run *run, uint32_t n_embd,
                        uint32_t n_rot, uint32_t n_ssq)
{
    struct gi_stream *stream = &test->stream;
    size_t size = (size_t)gi_stream_layout(stream, n_embd, n_rot, NORM_EPS);
    float *values = test->values = kt_alloc(size, 1);
    kt_fill(run, values, size / sizeof(float), -1, 1);
    kt_fill(run, values + stream->ssq, stream->max_ssq, 0, 2.0f * (float)n_embd / (float)n_ssq);
    double sum = 0;
    for (uint32_t i = 0; i < n_ssq; i++) {
        sum += (double)values[stream->ssq + i];
    }
    for (uint32_t i = 0; i < n_rot; i += 2) {
        float angle = kt_uniform(run, -3, 3);
        values[stream->rope + i] = cosf(angle);
        values[stream->rope + i + 1] = sinf(angle);
    }
    test->inv_rms = ref_inv_rms(sum, n_embd, (double)NORM_EPS);
    stream->n_ssq = n_ssq;
    stream->range = kt_range(run, "stream", values, size);
    return !run->has_failed;
}

// Random but for n values past the end of x: n_cols is rounded up to 32 there.
static float *make_x(struct kt_run *run, uint32_t n_cols, struct gi_range *range)
{
    size_t padded = (n_cols + 31) / 32 * 32;
    float *x = kt_alloc(padded, sizeof(*x));
    kt_fill(run, x, padded, -1, 1);
    *range = kt_range(run, "x", x, padded * sizeof(*x));
    return x;
}

static double *bounds_of(const struct ref_value *values, double *want, size_t n)
{
    double *bounds = kt_alloc(n, sizeof(*bounds));
    for (size_t i = 0; i < n; i++) {
        want[i] = values[i].value;
        bounds[i] = roundings * (double)FLT_EPSILON * values[i].magnitude;
    }
    return bounds;
}

static bool compare_refs(struct kt_run *run, const char *what, const struct gi_range *range,
                         size_t offset, const struct ref_value *values, size_t n, bool is_f16)
{
    double *want = kt_alloc(n, sizeof(*want));
    double *bounds = bounds_of(values, want, n);
    for (size_t i = 0; is_f16 && i < n; i++) {
        bounds[i] += fabs(want[i]) * 0x1p-10 + 0x1p-24; // a unit in the last place of f16
    }
    bool is_good = is_f16 ? kt_compare_f16(run, what, range, offset, want, bounds, n)
                          : kt_compare_f32(run, what, range, offset, want, bounds, n);
    free(bounds);
    free(want);
    return is_good;
}

//-- gemv_qkv --------------------------------------------------------------------------------------

struct qkv_size {
    uint32_t n_embd, n_head, n_kv_head, head_dim, n_rot;
    uint32_t part_rows; // 0: one part
    uint32_t n_ssq;
    bool has_bias, is_k_f32, is_v_f32;
};

static const struct qkv_size qkv_sizes[] = {
    {32,   1, 1, 8,   8,   0,   1,  false, false, false},
    {96,   2, 1, 16,  8,   16,  7,  true,  true,  false},
    {64,   4, 4, 64,  64,  0,   3,  false, false, true },
    {160,  8, 1, 64,  32,  128, 5,  true,  false, false},
    {96,   9, 3, 64,  64,  0,   36, false, false, false},
    {64,   4, 4, 80,  40,  48,  2,  false, true,  true },
    {2048, 2, 1, 128, 128, 0,   64, true,  false, false},
    {576,  9, 3, 64,  64,  0,   36, false, false, false},
};
static void name_qkv(size_t index, char *text, size_t size)
{
    struct variant variant = get_variant(index);
    const struct qkv_size *s = &qkv_sizes[variant.size];
    int n = print_variant(&variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u heads %u/%u x %u rot %u%s%s k %s v %s", s->n_embd,
             s->n_head, s->n_kv_head, s->head_dim, s->n_rot, s->part_rows ? " parts" : "",
             s->has_bias ? " bias" : "", s->is_k_f32 ? "f32" : "f16", s->is_v_f32 ? "f32" : "f16");
}

// The section of GPU rows from row begin on, as n_pair pairs in pair order, turned where asked.
static struct ref_value *take_section(const struct ref_value *y, uint32_t begin, uint32_t n_pair,
                                      uint32_t half_dim, uint32_t n_rot, const float *rope)
{
    struct ref_value *out = kt_alloc(2 * n_pair, sizeof(*out));
    for (uint32_t p = 0; p < n_pair; p++) {
        uint32_t row = begin + p / 8 * 16 + p % 8, i = p % half_dim;
        out[2 * p] = y[row];
        out[2 * p + 1] = y[row + 8];
        if (i < n_rot / 2) {
            ref_turn(&out[2 * p], &out[2 * p + 1], (double)rope[2 * i], (double)rope[2 * i + 1]);
        }
    }
    return out;
}

// One position of one cache, head by head.
static bool compare_cache(struct kt_run *run, const char *what, const struct gi_kv_layer *layer,
                          uint32_t start, bool is_f32, uint32_t n_past,
                          const struct ref_value *values)
{
    size_t element = is_f32 ? 4 : 2;
    for (uint32_t h = 0; h < layer->n_kv_head; h++) {
        size_t at = ((size_t)h * layer->n_ctx + n_past) * layer->head_dim * element;
        if (!compare_refs(run, what, &layer->range, start * sizeof(uint32_t) + at,
                          values + (size_t)h * layer->head_dim, layer->head_dim, !is_f32)) {
            return false;
        }
    }
    return true;
}

static bool compare_qkv(struct kt_run *run, const struct qkv_size *size,
                        const struct gi_qkv_layout *layout, const struct gi_kv_layer *layer,
                        uint32_t n_past, const struct ref_value *y, const float *rope)
{
    uint32_t half = size->head_dim / 2, n_kv = size->n_kv_head * half, n_q = size->n_head * half;
    struct ref_value *q = take_section(y, layout->q_begin, n_q, half, size->n_rot, rope);
    struct ref_value *k = take_section(y, layout->k_begin, n_kv, half, size->n_rot, rope);
    struct ref_value *v = take_section(y, layout->v_begin, n_kv, half, 0, rope);
    bool is_good =
        compare_refs(run, "q", &layer->range, 0, q, 2 * (size_t)n_q, false) &&
        compare_cache(run, "k", layer, layer->k, layer->type_k == GI_CACHE_F32, n_past, k) &&
        compare_cache(run, "v", layer, layer->v, layer->type_v == GI_CACHE_F32, n_past, v);
    free(q);
    free(k);
    free(v);
    return is_good;
}

// Every position but n_past is left as it was.
static bool check_other_positions(struct kt_run *run, const struct gi_kv_layer *layer,
                                  uint32_t start, bool is_f32, uint32_t n_past)
{
    uint32_t words = layer->head_dim / (is_f32 ? 1 : 2);
    uint32_t n = layer->n_kv_head * layer->n_ctx * words;
    uint32_t *found = kt_alloc(n, sizeof(*found));
    bool is_good = kt_read(run, &layer->range, start * sizeof(uint32_t), found, n * sizeof(*found));
    uint32_t untouched = found[(n_past == 0 ? 1 : 0) * words];
    for (uint32_t i = 0; is_good && i < n; i++) {
        if (i / words % layer->n_ctx != n_past && found[i] != untouched) {
            is_good = kt_fail(run, "cache word %u of another position was written", i);
        }
    }
    free(found);
    return is_good;
}

static bool run_qkv(struct kt_run *run, size_t index)
{
    const uint32_t n_ctx = 5, n_past = kt_index(run, n_ctx);
    struct variant variant = get_variant(index);
    const struct qkv_size *size = &qkv_sizes[variant.size];
    struct gi_qkv_layout layout;
    struct gi_kv_layer layer = {0};
    struct test_stream stream;
    struct kt_weight weight;
    struct glinfer_error err;
    gi_qkv_layout_init(&layout, size->n_head, size->n_kv_head, size->head_dim);
    size_t layer_size = (size_t)gi_kv_layer_layout(
        &layer, size->n_head, size->n_kv_head, size->head_dim, n_ctx,
        size->is_k_f32 ? GI_CACHE_F32 : GI_CACHE_F16, size->is_v_f32 ? GI_CACHE_F32 : GI_CACHE_F16);
    layer.range = kt_range(run, "layer", NULL, layer_size);
    const struct kt_weight_params params = {.type = variant.type,
                                            .n_rows = layout.n_rows,
                                            .n_cols = size->n_embd,
                                            .max_part_rows = size->part_rows,
                                            .has_bias = size->has_bias};
    bool is_good = make_stream(&stream, run, size->n_embd, size->n_rot, size->n_ssq) &
                   kt_weight_init(&weight, run, &params);
    struct ref_value *y = kt_alloc(layout.n_rows, sizeof(*y));
    ref_gemv(y, weight.dense, stream.values + stream.stream.norm, weight.bias, layout.n_rows,
             size->n_embd, stream.inv_rms);
    is_good =
        is_good && set_shape(run, &variant) &&
        (gi_op_gemv_qkv(&run->recorder, "attn_qkv", &weight.weight, &layout, stream.stream.n_rot,
                        &stream.stream, &layer, &err) ||
         kt_fail(run, "%s", err.message)) &&
        kt_seal(run) && kt_replay(run, n_past, 1) &&
        compare_qkv(run, size, &layout, &layer, n_past, y, stream.values + stream.stream.rope) &&
        check_other_positions(run, &layer, layer.k, size->is_k_f32, n_past) &&
        check_other_positions(run, &layer, layer.v, size->is_v_f32, n_past) &&
        kt_bench(run, n_past, 1, kt_weight_bytes(&weight.weight));
    free(y);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

const struct kt_suite kt_gemv_qkv = {
    .kernel = "gemv_qkv",
    .n_case = ARRAY_LEN(qkv_sizes) * N_TYPE * N_SHAPE,
    .name = name_qkv,
    .run = run_qkv,
};

//-- gemv_residual ---------------------------------------------------------------------------------

struct residual_size {
    uint32_t n_embd, n_cols, part_rows;
    float scale;
    bool has_bias, has_gamma;
};

static const struct residual_size residual_sizes[] = {
    {16,  32,   0,  1,     false, true },
    {48,  96,   16, 0.25f, true,  true },
    {40,  64,   0,  1,     false, false},
    {128, 352,  48, -2,    true,  false},
    {576, 2048, 0,  1,     false, true },
    {576, 576,  0,  1,     false, true },
    {576, 1536, 0,  1,     false, true },
};
static void name_residual(size_t index, char *text, size_t size)
{
    struct variant variant = get_variant(index);
    const struct residual_size *s = &residual_sizes[variant.size];
    int n = print_variant(&variant, text, size);
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
    // The residual's own roundings count twice in its square.
    double bound = 4 * roundings * (double)FLT_EPSILON * want;
    return is_good && (fabs(sum - want) <= bound ||
                       kt_fail(run, "ssq adds up to %.9g, want %.9g +- %.3g", sum, want, bound));
}

static bool compare_residual(struct kt_run *run, const struct test_stream *test,
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
        compare_refs(run, "residual", &stream->range, stream->residual * sizeof(float), residual, n,
                     false) &&
        compare_refs(run, "norm", &stream->range, stream->norm * sizeof(float), norm, n, false) &&
        compare_ssq(run, stream, ssq);
    free(residual);
    free(norm);
    return is_good;
}

// Puts the sums of x, which begins at values[skipped], behind it.
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

static bool check_residual(struct kt_run *run, const struct variant *variant,
                           const struct residual_size *size)
{
    const uint32_t skipped = 32; // floats before x
    const bool has_sums = variant->shape >= N_SHAPE && variant->size != 1;
    struct test_stream stream;
    struct kt_weight weight;
    struct gi_range range;
    struct glinfer_error err;
    const struct kt_weight_params params = {.type = variant->type,
                                            .n_rows = size->n_embd,
                                            .n_cols = size->n_cols,
                                            .max_part_rows = size->part_rows,
                                            .has_bias = size->has_bias,
                                            .has_gamma = size->has_gamma};
    float *x = make_x(run, skipped + (has_sums ? gi_x_size(size->n_cols) : size->n_cols), &range);
    if (has_sums) {
        add_sums(run, &range, x, skipped, size->n_cols);
    }
    bool is_good =
        make_stream(&stream, run, size->n_embd, 0, 1) & kt_weight_init(&weight, run, &params);
    struct ref_value *y = kt_alloc(weight.weight.n_rows, sizeof(*y));
    ref_gemv(y, weight.dense, x + skipped, weight.bias, size->n_embd, size->n_cols, 1);
    for (uint32_t i = 0; i < size->n_embd; i++) {
        y[i].value *= (double)size->scale;
        y[i].magnitude *= fabs((double)size->scale);
    }
    is_good = is_good && set_shape(run, variant) &&
              (gi_op_gemv_residual(&run->recorder, "attn_out", &weight.weight, range, skipped,
                                   has_sums, size->scale, &stream.stream, &err) ||
               kt_fail(run, "%s", err.message)) &&
              kt_seal(run) && kt_replay(run, 0, 1) && compare_residual(run, &stream, &weight, y) &&
              compare_sums(run, &stream.stream) &&
              kt_bench(run, 0, 1, kt_weight_bytes(&weight.weight));
    free(x);
    free(y);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

static bool run_residual(struct kt_run *run, size_t index)
{
    struct variant variant = get_variant(index);
    return check_residual(run, &variant, &residual_sizes[variant.size]);
}

const struct kt_suite kt_gemv_residual = {
    .kernel = "gemv_residual",
    .n_case = ARRAY_LEN(residual_sizes) * N_TYPE * N_SHAPE,
    .name = name_residual,
    .run = run_residual,
};

static void print_residual(const struct variant *variant, const struct residual_size *s, char *text,
                           size_t size)
{
    const int n = print_variant(variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u x %u%s", s->n_embd, s->n_cols,
             s->part_rows ? " parts" : "");
}

//-- the other weight types, which differ in no more than how a block is read ----------------------

static const uint32_t other_types[] = {
    GI_GGML_TYPE_BF16,   GI_GGML_TYPE_Q5_0,    GI_GGML_TYPE_Q5_1,    GI_GGML_TYPE_Q2_K,
    GI_GGML_TYPE_Q3_K,   GI_GGML_TYPE_Q4_K,    GI_GGML_TYPE_Q5_K,    GI_GGML_TYPE_Q6_K,
    GI_GGML_TYPE_IQ1_S,  GI_GGML_TYPE_IQ1_M,   GI_GGML_TYPE_IQ2_XXS, GI_GGML_TYPE_IQ2_XS,
    GI_GGML_TYPE_IQ2_S,  GI_GGML_TYPE_IQ3_XXS, GI_GGML_TYPE_IQ3_S,   GI_GGML_TYPE_IQ4_NL,
    GI_GGML_TYPE_IQ4_XS, GI_GGML_TYPE_MXFP4,   GI_GGML_TYPE_TQ1_0,   GI_GGML_TYPE_TQ2_0};

// Types and shapes take turns at these. Columns are rounded up to blocks of the type: odd numbers of
// blocks and of super-blocks.
static const struct residual_size quant_sizes[] = {
    {40, 224, 0,  1,     false, true},
    {48, 768, 16, 0.25f, true,  true},
};

static struct variant get_quant_variant(size_t index, struct residual_size *size)
{
    const size_t shape = index % N_SHAPE, type = index / N_SHAPE;
    const uint32_t block = gi_ggml_type_find(other_types[type])->block_size;
    const struct variant variant = {other_types[type], (type + shape) % ARRAY_LEN(quant_sizes),
                                    shape};
    *size = quant_sizes[variant.size];
    size->n_cols = (size->n_cols + block - 1) / block * block;
    return variant;
}

static void name_quant(size_t index, char *text, size_t size)
{
    struct residual_size s;
    const struct variant variant = get_quant_variant(index, &s);
    print_residual(&variant, &s, text, size);
}

static bool run_quant(struct kt_run *run, size_t index)
{
    struct residual_size size;
    struct variant variant = get_quant_variant(index, &size);
    return check_residual(run, &variant, &size);
}

const struct kt_suite kt_gemv_quant = {
    .kernel = "gemv_quant",
    .n_case = ARRAY_LEN(other_types) * N_SHAPE,
    .name = name_quant,
    .run = run_quant,
};

//-- the forms of the dot product -------------------------------------------------------------------

static const uint32_t dot_types[] = {GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q8_0,
                                     GI_GGML_TYPE_Q4_K, GI_GGML_TYPE_Q6_K};

// Odd and even numbers of blocks; x too large for the smallest uniform block.
static const struct residual_size dot_sizes[] = {
    {40,  256,  0,  1,     false, true},
    {48,  768,  16, 0.25f, true,  true},
    {128, 4608, 48, -2,    true,  true},
};

static struct variant get_dot_variant(size_t index, struct residual_size *size)
{
    const size_t type = index / N_DOT % ARRAY_LEN(dot_types);
    const struct variant variant = {dot_types[type], index / N_DOT / ARRAY_LEN(dot_types),
                                    N_SHAPE + index % N_DOT};
    *size = dot_sizes[variant.size];
    size->n_cols -= variant.size == 1 && gi_ggml_type_find(variant.type)->block_size == 32 ? 32 : 0;
    return variant;
}

static void name_dot(size_t index, char *text, size_t size)
{
    struct residual_size s;
    const struct variant variant = get_dot_variant(index, &s);
    print_residual(&variant, &s, text, size);
}

static bool run_dot(struct kt_run *run, size_t index)
{
    struct residual_size size;
    struct variant variant = get_dot_variant(index, &size);
    return check_residual(run, &variant, &size);
}

const struct kt_suite kt_gemv_dot = {
    .kernel = "gemv_dot",
    .n_case = ARRAY_LEN(dot_sizes) * ARRAY_LEN(dot_types) * N_DOT,
    .name = name_dot,
    .run = run_dot,
};

//-- groups that stay ------------------------------------------------------------------------------

static const uint32_t stay_types[] = {GI_GGML_TYPE_F32, GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q8_0,
                                      GI_GGML_TYPE_Q4_K};

// Slices of one block, of some and of many; fewer pairs than groups and many turns; x in parts.
static const struct residual_size stay_sizes[] = {
    {40,  256,   0,  1,     false, true},
    {48,  768,   16, 0.25f, true,  true},
    {512, 2304,  0,  -2,    true,  true},
    {80,  8192,  0,  1,     false, true},
    {112, 14336, 0,  1,     false, true},
};

static struct variant get_stay_variant(size_t index, struct residual_size *size)
{
    const size_t type = index / N_STAY % ARRAY_LEN(stay_types);
    const struct variant variant = {stay_types[type], index / N_STAY / ARRAY_LEN(stay_types),
                                    ARRAY_LEN(shape_names) + index % N_STAY};
    *size = stay_sizes[variant.size];
    return variant;
}

static void name_stay(size_t index, char *text, size_t size)
{
    struct residual_size s;
    const struct variant variant = get_stay_variant(index, &s);
    print_residual(&variant, &s, text, size);
}

static bool run_stay(struct kt_run *run, size_t index)
{
    struct residual_size size;
    const struct variant variant = get_stay_variant(index, &size);
    const struct stay *stay = find_stay(&variant);
    const bool is_here = stay->size <= gi_gpu_limits(run->gpu)->max_invocations;
    return !is_here || check_residual(run, &variant, &size);
}

const struct kt_suite kt_gemv_stay = {
    .kernel = "gemv_stay",
    .n_case = ARRAY_LEN(stay_sizes) * ARRAY_LEN(stay_types) * N_STAY,
    .name = name_stay,
    .run = run_stay,
};

//-- gemv is linear --------------------------------------------------------------------------------

// Into streams of zeros go W x for x = a, b, a + b and 2 a; a and b are short binary fractions, so
// that a + b is exact.
enum { LINEAR_A, LINEAR_B, LINEAR_SUM, LINEAR_TWICE, N_LINEAR };
#define LINEAR_EMBD 48u
#define LINEAR_COLS 96u

static void name_linear(size_t index, char *text, size_t size)
{
    struct variant variant = get_variant(index);
    print_variant(&variant, text, size);
}

static void fill_linear(struct kt_run *run, float x[N_LINEAR][LINEAR_COLS])
{
    for (size_t i = 0; i < LINEAR_COLS; i++) {
        x[LINEAR_A][i] = (float)kt_index(run, 2049) * 0x1p-10f - 1;
        x[LINEAR_B][i] = (float)kt_index(run, 2049) * 0x1p-10f - 1;
        x[LINEAR_SUM][i] = x[LINEAR_A][i] + x[LINEAR_B][i];
        x[LINEAR_TWICE][i] = 2 * x[LINEAR_A][i];
    }
}

static bool compare_linear(struct kt_run *run, const struct gi_stream *streams,
                           const struct ref_value *magnitudes)
{
    float y[N_LINEAR][LINEAR_EMBD];
    for (size_t i = 0; i < N_LINEAR; i++) {
        if (!kt_read(run, &streams[i].range, streams[i].residual * sizeof(float), y[i],
                     sizeof(y[i]))) {
            return false;
        }
    }
    for (size_t i = 0; i < LINEAR_EMBD; i++) {
        double sum = (double)y[LINEAR_A][i] + (double)y[LINEAR_B][i];
        double bound = 3 * roundings * (double)FLT_EPSILON * magnitudes[i].magnitude;
        if (!(fabs((double)y[LINEAR_SUM][i] - sum) <= bound)) {
            return kt_fail(run, "W (a + b) [%zu] is %.9g, W a + W b %.9g", i,
                           (double)y[LINEAR_SUM][i], sum);
        }
        if (y[LINEAR_TWICE][i] != 2 * y[LINEAR_A][i]) {
            return kt_fail(run, "W (2 a) [%zu] is %.9g, 2 W a %.9g", i, (double)y[LINEAR_TWICE][i],
                           2 * (double)y[LINEAR_A][i]);
        }
    }
    return true;
}

static bool record_linear(struct kt_run *run, const struct gi_weight *weight,
                          float x[N_LINEAR][LINEAR_COLS], struct gi_stream streams[N_LINEAR])
{
    struct glinfer_error err;
    for (size_t i = 0; i < N_LINEAR; i++) {
        size_t size = (size_t)gi_stream_layout(&streams[i], LINEAR_EMBD, 0, NORM_EPS);
        float *zeros = kt_alloc(size, 1);
        streams[i].range = kt_range(run, "stream", zeros, size);
        free(zeros);
        struct gi_range range = kt_range(run, "x", x[i], sizeof(x[i]));
        if (run->has_failed) {
            return false;
        }
        if (!gi_op_gemv_residual(&run->recorder, "linear", weight, range, 0, false, 1, &streams[i],
                                 &err)) {
            return kt_fail(run, "%s", err.message);
        }
    }
    return true;
}

static bool run_linear(struct kt_run *run, size_t index)
{
    struct variant variant = get_variant(index);
    struct gi_stream streams[N_LINEAR];
    float x[N_LINEAR][LINEAR_COLS];
    struct kt_weight weight;
    struct ref_value magnitudes[LINEAR_EMBD];
    const struct kt_weight_params params = {
        .type = variant.type, .n_rows = LINEAR_EMBD, .n_cols = LINEAR_COLS};
    fill_linear(run, x);
    bool is_good = kt_weight_init(&weight, run, &params);
    ref_gemv(magnitudes, weight.dense, x[LINEAR_SUM], weight.bias, LINEAR_EMBD, LINEAR_COLS, 1);
    is_good = is_good && set_shape(run, &variant) &&
              record_linear(run, &weight.weight, x, streams) && kt_seal(run) &&
              kt_replay(run, 0, 1) && compare_linear(run, streams, magnitudes);
    kt_weight_finish(&weight);
    return is_good;
}

const struct kt_suite kt_gemv_linear = {
    .kernel = "gemv_linear",
    .n_case = N_TYPE * N_SHAPE,
    .name = name_linear,
    .run = run_linear,
};

//-- gemv_plain ----------------------------------------------------------------------------------

struct plain_size {
    uint32_t n_cols, n_rows, part_rows, n_ssq;
    bool has_bias, has_norm;
};

static const struct plain_size plain_sizes[] = {
    {32,   16,  0,  1,  false, true },
    {96,   64,  32, 0,  true,  false},
    {64,   48,  0,  3,  true,  true },
    {1536, 80,  48, 0,  false, false},
    {576,  960, 0,  36, false, true },
};

static void name_plain(size_t index, char *text, size_t size)
{
    struct variant variant = get_variant(index);
    const struct plain_size *s = &plain_sizes[variant.size];
    int n = print_variant(&variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u x %u%s%s%s", s->n_rows, s->n_cols,
             s->part_rows ? " parts" : "", s->has_bias ? " bias" : "", s->has_norm ? " norm" : "");
}

static bool run_plain(struct kt_run *run, size_t index)
{
    struct variant variant = get_variant(index);
    const struct plain_size *size = &plain_sizes[variant.size];
    struct test_stream stream;
    struct kt_weight weight;
    struct glinfer_error err;
    struct gi_range x_range;
    const struct kt_weight_params params = {.type = variant.type,
                                            .n_rows = size->n_rows,
                                            .n_cols = size->n_cols,
                                            .max_part_rows = size->part_rows,
                                            .has_bias = size->has_bias};
    float *x = make_x(run, size->n_cols, &x_range);
    struct gi_range range = kt_range(run, "y", NULL, size->n_rows * sizeof(float));
    bool is_good = make_stream(&stream, run, size->n_cols, 0, size->n_ssq ? size->n_ssq : 1) &
                   kt_weight_init(&weight, run, &params);
    struct ref_value *y = kt_alloc(size->n_rows, sizeof(*y));
    ref_gemv(y, weight.dense, size->has_norm ? stream.values + stream.stream.norm : x, weight.bias,
             size->n_rows, size->n_cols, size->has_norm ? stream.inv_rms : 1);
    is_good =
        is_good && set_shape(run, &variant) &&
        ((size->has_norm
              ? gi_op_gemv_norm(&run->recorder, "y", &weight.weight, &stream.stream, range, &err)
              : gi_op_gemv(&run->recorder, "y", &weight.weight, x_range, 0, false, range, &err)) ||
         kt_fail(run, "%s", err.message)) &&
        kt_seal(run) && kt_replay(run, 0, 1) &&
        compare_refs(run, "y", &range, 0, y, size->n_rows, false) &&
        kt_bench(run, 0, 1, kt_weight_bytes(&weight.weight));
    free(x);
    free(y);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

const struct kt_suite kt_gemv_plain = {
    .kernel = "gemv_plain",
    .n_case = ARRAY_LEN(plain_sizes) * N_TYPE * N_SHAPE,
    .name = name_plain,
    .run = run_plain,
};

//-- gemv_glu -----------------------------------------------------------------------------------

struct glu_size {
    uint32_t n_embd, n_ff, part_rows, n_ssq;
    bool has_bias, is_gelu, has_norm;
    bool is_apart; // up is Q8_0, whatever gate is
};

static const struct glu_size glu_sizes[] = {
    {32,   8,    0,  1,  false, false, true,  false},
    {96,   40,   32, 6,  true,  true,  true,  false},
    {64,   36,   0,  3,  false, true,  false, false},
    {352,  128,  48, 5,  true,  false, false, false},
    {2048, 96,   0,  64, false, true,  true,  false},
    {576,  1536, 0,  36, false, false, true,  false},
    {32,   8,    0,  1,  false, false, true,  true },
    {96,   40,   32, 6,  true,  true,  true,  true },
    {352,  128,  48, 5,  true,  false, false, true },
    {576,  1536, 0,  36, false, false, true,  true },
};

static void print_glu(const struct variant *variant, const struct glu_size *s, char *text,
                      size_t size)
{
    int n = print_variant(variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u x %u%s%s%s%s%s", s->n_ff, s->n_embd,
             s->part_rows ? " parts" : "", s->has_bias ? " bias" : "", s->is_gelu ? " gelu" : "",
             s->has_norm ? " norm" : "", s->is_apart ? " apart" : "");
}

static void name_glu(size_t index, char *text, size_t size)
{
    struct variant variant = get_variant(index);
    print_glu(&variant, &glu_sizes[variant.size], text, size);
}

// The part's gate rows come first, then as many up rows; or likewise the whole matrix's.
static void gather_act(const struct gi_weight *weight, const struct ref_value *y,
                       const struct glu_size *size, struct ref_value *act)
{
    for (uint32_t i = 0; weight->is_apart && i < size->n_ff; i++) {
        act[i] = ref_gemv_glu(y[i], y[weight->n_rows / 2 + i], size->is_gelu);
    }
    if (weight->is_apart) {
        return;
    }
    for (uint32_t p = 0; p < weight->n_parts; p++) {
        const struct gi_weight_part *part = &weight->parts[p];
        uint32_t half = part->n_rows / 2;
        for (uint32_t i = 0; i < half && part->row_begin / 2 + i < size->n_ff; i++) {
            const struct ref_value *gate = &y[part->row_begin + i];
            act[part->row_begin / 2 + i] = ref_gemv_glu(gate[0], gate[half], size->is_gelu);
        }
    }
}

static bool check_glu(struct kt_run *run, const struct variant *variant,
                      const struct glu_size *size)
{
    struct test_stream stream;
    struct kt_weight weight;
    struct glinfer_error err;
    uint32_t n_rows = size->is_apart ? (size->n_ff + 15) / 16 * 32 : (size->n_ff + 7) / 8 * 16;
    const struct kt_weight_params params = {.type = variant->type,
                                            .is_apart = size->is_apart,
                                            .up_type = GI_GGML_TYPE_Q8_0,
                                            .n_rows = n_rows,
                                            .n_cols = size->n_embd,
                                            .max_part_rows = size->part_rows,
                                            .has_bias = size->has_bias};
    struct gi_range range = kt_range(run, "act", NULL, size->n_ff * sizeof(float));
    bool is_good = make_stream(&stream, run, size->n_embd, 0, size->n_ssq) &
                   kt_weight_init(&weight, run, &params);
    struct ref_value *y = kt_alloc(n_rows, sizeof(*y));
    struct ref_value *act = kt_alloc(size->n_ff, sizeof(*act));
    const float *x = stream.values + (size->has_norm ? stream.stream.norm : stream.stream.residual);
    ref_gemv(y, weight.dense, x, weight.bias, n_rows, size->n_embd,
             size->has_norm ? stream.inv_rms : 1);
    gather_act(&weight.weight, y, size, act);
    is_good = is_good && set_shape(run, variant) &&
              (gi_op_gemv_glu(&run->recorder, "ffn_act", &weight.weight, size->n_ff,
                              size->is_gelu ? GI_ACTIVATION_GELU_TANH : GI_ACTIVATION_SILU,
                              size->has_norm, &stream.stream, range, NULL, &err) ||
               kt_fail(run, "%s", err.message)) &&
              kt_seal(run) && kt_replay(run, 0, 1) &&
              compare_refs(run, "act", &range, 0, act, size->n_ff, false) &&
              kt_bench(run, 0, 1, kt_weight_bytes(&weight.weight));
    free(y);
    free(act);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

static bool run_glu(struct kt_run *run, size_t index)
{
    struct variant variant = get_variant(index);
    return check_glu(run, &variant, &glu_sizes[variant.size]);
}

const struct kt_suite kt_gemv_glu = {
    .kernel = "gemv_glu",
    .n_case = ARRAY_LEN(glu_sizes) * N_TYPE * N_SHAPE,
    .name = name_glu,
    .run = run_glu,
};

// In f16: slices of few blocks and of many, also where not all slices have as many, and groups that loop past the last
// pair.
static const struct glu_size glu_half_sizes[] = {
    {2048, 96,  0,  64, false, true,  true,  false},
    {2304, 232, 48, 48, true,  false, true,  false},
    {3072, 36,  0,  1,  false, false, false, false},
};
#define N_HALF 5 // of shape_names, at its end

static struct variant get_half_variant(size_t index)
{
    static const uint32_t half_types[] = {GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q8_0,
                                          GI_GGML_TYPE_Q4_K};
    return (struct variant){half_types[index / N_HALF % ARRAY_LEN(half_types)],
                            index / N_HALF / ARRAY_LEN(half_types),
                            ARRAY_LEN(shape_names) - N_HALF + index % N_HALF};
}

static void name_glu_half(size_t index, char *text, size_t size)
{
    struct variant variant = get_half_variant(index);
    print_glu(&variant, &glu_half_sizes[variant.size], text, size);
}

static bool run_glu_half(struct kt_run *run, size_t index)
{
    struct variant variant = get_half_variant(index);
    return check_glu(run, &variant, &glu_half_sizes[variant.size]);
}

const struct kt_suite kt_gemv_glu_half = {
    .kernel = "gemv_glu_half",
    .n_case = ARRAY_LEN(glu_half_sizes) * 4 * N_HALF,
    .name = name_glu_half,
    .run = run_glu_half,
};

//-- gemv_vocab ------------------------------------------------------------------------------------

// What the logits are made to be.
enum vocab_content {
    VOCAB_PLAIN,
    VOCAB_TIED,     // x is zero: all logits are
    VOCAB_NAN,      // one logit is not a number
    VOCAB_INFINITE, // one logit is infinite
};

struct vocab_size {
    uint32_t n_embd, n_vocab, part_rows, n_ssq;
    float scale;
    bool has_bias;
    enum vocab_content content;
};

static const struct vocab_size vocab_sizes[] = {
    {32,   5,     0,   1,  1,    false, VOCAB_PLAIN   },
    {96,   50,    16,  6,  0.5f, true,  VOCAB_PLAIN   },
    {64,   300,   0,   3,  1,    false, VOCAB_TIED    },
    {64,   147,   112, 3,  1,    true,  VOCAB_NAN     },
    {32,   1000,  0,   2,  -1,   true,  VOCAB_INFINITE},
    {2048, 100,   0,   64, 1,    false, VOCAB_PLAIN   },
    {576,  49152, 0,   36, 0.1f, false, VOCAB_PLAIN   },
};
static void name_vocab(size_t index, char *text, size_t size)
{
    static const char *const contents[] = {"", " tied", " nan", " infinite"};
    struct variant variant = get_variant(index);
    const struct vocab_size *s = &vocab_sizes[variant.size];
    int n = print_variant(&variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u x %u scale %g%s%s%s", s->n_vocab, s->n_embd,
             (double)s->scale, s->part_rows ? " parts" : "", s->has_bias ? " bias" : "",
             contents[s->content]);
}

// The first largest of what was found, and whether all are finite.
static uint32_t find_argmax(const float *logits, uint32_t n, bool *is_finite)
{
    uint32_t best = 0;
    *is_finite = true;
    for (uint32_t i = 0; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
        *is_finite = *is_finite && isfinite(logits[i]);
    }
    return best;
}

// Whether the rows that a partial result is said to be of are its alone, and its index their largest; marks them.
static bool check_partial_rows(struct kt_run *run, const struct gi_logits *logits,
                               const float *found, uint32_t index, bool *is_taken)
{
    const uint32_t part = index - index % logits->part_rows;
    const uint32_t block = index - (index - part) % logits->block_rows;
    const uint32_t part_end =
        logits->n_vocab - part < logits->part_rows ? logits->n_vocab : part + logits->part_rows;
    const uint32_t begin = block + (index - block) % logits->row_step;
    for (uint32_t i = begin; i < part_end && i < block + logits->block_rows;
         i += logits->row_step) {
        if (is_taken[i] || found[i] > found[index] || (found[i] == found[index] && i < index)) {
            return kt_fail(run, "row %u is not of the partial result with index %u", i, index);
        }
        is_taken[i] = true;
    }
    return true;
}

static bool check_all_partial_rows(struct kt_run *run, const struct gi_logits *logits,
                                   const float *found, const uint32_t (*partials)[2])
{
    bool *is_taken = kt_alloc(logits->n_vocab, sizeof(*is_taken));
    bool is_good = true;
    memset(is_taken, 0, logits->n_vocab * sizeof(*is_taken));
    for (uint32_t i = 0; is_good && i < logits->n_partial; i++) {
        is_good = partials[i][1] >= logits->n_vocab ||
                  check_partial_rows(run, logits, found, partials[i][1], is_taken);
    }
    for (uint32_t i = 0; is_good && i < logits->n_vocab; i++) {
        is_good = is_taken[i] || kt_fail(run, "row %u is of no partial result", i);
    }
    free(is_taken);
    return is_good;
}

static bool check_partials(struct kt_run *run, const struct gi_logits *logits, const float *found)
{
    struct partial {
        float value;
        uint32_t index;
    } *partials = kt_alloc(logits->n_partial, sizeof(*partials));
    bool is_good = kt_read(run, &logits->range, logits->partial * sizeof(uint32_t), partials,
                           logits->n_partial * sizeof(*partials));
    bool is_finite, is_sound = true;
    uint32_t best = 0, want = find_argmax(found, logits->n_vocab, &is_finite);
    for (uint32_t i = 0; i < logits->n_partial; i++) {
        const struct partial *p = &partials[i], *b = &partials[best];
        bool is_ahead = p->value > b->value || (p->value == b->value && p->index < b->index);
        best = is_ahead ? i : best;
        is_sound = is_sound && p->index != UINT32_MAX;
        if (p->index < logits->n_vocab && p->value != found[p->index]) {
            is_good = kt_fail(run, "partial %u holds another value than logit %u", i, p->index);
        }
    }
    if (is_good && is_sound != is_finite) {
        is_good = kt_fail(run, "partial results %s a logit that is not finite",
                          is_finite ? "invent" : "miss");
    }
    if (is_good && is_finite && partials[best].index != want) {
        is_good = kt_fail(run, "argmax is %u, want %u", partials[best].index, want);
    }
    if (is_good && is_finite && logits->block_rows > 0) {
        is_good = check_all_partial_rows(run, logits, found,
                                         (const uint32_t(*)[2])(const void *)partials);
    }
    free(partials);
    return is_good;
}

static bool compare_vocab(struct kt_run *run, const struct gi_logits *logits,
                          const struct ref_value *y)
{
    float *found = kt_alloc(logits->n_vocab, sizeof(*found));
    bool is_good = kt_read(run, &logits->range, 0, found, logits->n_vocab * sizeof(*found));
    for (uint32_t i = 0; is_good && i < logits->n_vocab; i++) {
        double bound = roundings * (double)FLT_EPSILON * y[i].magnitude;
        if (isfinite(y[i].value) ? !(fabs((double)found[i] - y[i].value) <= bound)
                                 : isfinite(found[i])) {
            is_good = kt_fail(run, "logit %u: %.9g, want %.9g +- %.3g", i, (double)found[i],
                              y[i].value, bound);
        }
    }
    is_good = is_good && check_partials(run, logits, found);
    free(found);
    return is_good;
}

// Puts a bias that is not finite into one row.
static bool spoil_bias(struct kt_run *run, struct kt_weight *weight, uint32_t row, float value)
{
    const struct gi_weight_part *part = weight->weight.parts;
    while (row >= part->row_begin + part->n_rows) {
        part++;
    }
    weight->bias[row] = value;
    size_t at = (part->bias + row - part->row_begin) * sizeof(float);
    return kt_write(run, &part->aux, at, &value, sizeof(value));
}

static bool apply_content(struct kt_run *run, const struct vocab_size *size,
                          struct kt_weight *weight, struct test_stream *stream)
{
    float *x = stream->values + stream->stream.norm;
    uint32_t row = kt_index(run, size->n_vocab);
    switch (size->content) {
    case VOCAB_TIED:
        memset(x, 0, size->n_embd * sizeof(*x));
        return kt_write(run, &stream->stream.range, stream->stream.norm * sizeof(float), x,
                        size->n_embd * sizeof(*x));
    case VOCAB_NAN:
        return spoil_bias(run, weight, row, NAN);
    case VOCAB_INFINITE:
        return spoil_bias(run, weight, row, INFINITY);
    default:
        return true;
    }
}

static bool run_vocab(struct kt_run *run, size_t index)
{
    struct variant variant = get_variant(index);
    const struct vocab_size *size = &vocab_sizes[variant.size];
    const float softcap = size->part_rows ? 2 : 0;
    struct test_stream stream;
    struct kt_weight weight;
    struct glinfer_error err;
    struct gi_logits logits;
    const struct kt_weight_params params = {.type = variant.type,
                                            .n_rows = size->n_vocab,
                                            .n_cols = size->n_embd,
                                            .max_part_rows = size->part_rows,
                                            .has_bias = size->has_bias};
    size_t logits_size = (size_t)gi_logits_layout(&logits, size->n_vocab);
    logits.range = kt_range(run, "logits", NULL, logits_size);
    bool is_good = make_stream(&stream, run, size->n_embd, 0, size->n_ssq) &
                   kt_weight_init(&weight, run, &params);
    is_good = is_good && apply_content(run, size, &weight, &stream);
    struct ref_value *y = kt_alloc(weight.weight.n_rows, sizeof(*y));
    ref_gemv(y, weight.dense, stream.values + stream.stream.norm, weight.bias, size->n_vocab,
             size->n_embd, stream.inv_rms);
    for (uint32_t i = 0; i < size->n_vocab; i++) {
        y[i].value *= (double)size->scale;
        if (softcap > 0) {
            y[i].value = (double)softcap * tanh(y[i].value / (double)softcap);
        }
        y[i].magnitude *= fabs((double)size->scale);
    }
    is_good = is_good && set_shape(run, &variant) &&
              (gi_op_gemv_vocab(&run->recorder, "logits", &weight.weight, &stream.stream,
                                size->scale, softcap, &logits, &err) ||
               kt_fail(run, "%s", err.message)) &&
              kt_seal(run) && kt_replay(run, 0, 1) && compare_vocab(run, &logits, y) &&
              kt_bench(run, 0, 1, kt_weight_bytes(&weight.weight));
    free(y);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

const struct kt_suite kt_gemv_vocab = {
    .kernel = "gemv_vocab",
    .n_case = ARRAY_LEN(vocab_sizes) * N_TYPE * N_SHAPE,
    .name = name_vocab,
    .run = run_vocab,
};
