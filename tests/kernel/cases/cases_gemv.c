#include "tests/kernel/cases/cases_gemv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// |gpu - ref| <= ROUNDINGS * FLT_EPSILON * magnitude. An invocation adds up to 8 terms a block and
// component, the blocks one after another; roundings of random sign cancel, so that the constant
// does not grow with n_cols. Q4_0 has the factor 16 / 4 from nibbles that stand 8 too high.
#define ROUNDINGS 16

// With products and sums of a block in f16, of nibbles that stand 8 too high and bytes 128 too
// high.
#define F16_ROUNDINGS (8 * 4096)

static double roundings = ROUNDINGS; // of the shape that was set

//-- variants --------------------------------------------------------------------------------------

// How a kernel is spread over invocations: what GLINFER_GEMV takes.
static const char *const shape_names[] = {
    "split",    "split:96:3:2", "row:64:2:2",  "row:64:2",       "texel",
    "halves",   "bytes:64:2:4", "places:32:2", "texbits:64:1:8", "texbits",
    "f16:64:2", "f16:256:1:3",  "f16:128:4:2", "f16:448:7",      "f16:640:5"};

static const struct stage {
    uint32_t size, n; // invocations of a group, groups at most
    bool is_half;
} stages[] = {
    {128, 3, false}, {128, 2, true}, {512, 2, false}, {512, 5, true}, {1024, 5, true},
};

static const uint32_t types[] = {GI_GGML_TYPE_F32, GI_GGML_TYPE_F16, GI_GGML_TYPE_Q4_0,
                                 GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q8_0};

_Static_assert(COUNT(types) == KT_GEMV_TYPES && COUNT(stages) == KT_GEMV_STAGES &&
                   COUNT(shape_names) == KT_GEMV_NAMED &&
                   KT_GEMV_NAMED == KT_GEMV_SHAPES + KT_GEMV_DOTS,
               "the header counts them");

struct kt_gemv_variant kt_gemv_variant_at(size_t index)
{
    return (struct kt_gemv_variant){types[index / KT_GEMV_SHAPES % KT_GEMV_TYPES],
                                    index / KT_GEMV_SHAPES / KT_GEMV_TYPES, index % KT_GEMV_SHAPES};
}

// NULL: a shape by name.
static const struct stage *find_stage(const struct kt_gemv_variant *variant)
{
    return variant->shape < KT_GEMV_NAMED ? NULL : &stages[variant->shape - KT_GEMV_NAMED];
}

int kt_gemv_print(const struct kt_gemv_variant *variant, char *text, size_t size)
{
    const struct stage *stage = find_stage(variant);
    if (stage) {
        return snprintf(text, size, "%s %u stages of %u%s ", gi_ggml_type_find(variant->type)->name,
                        stage->n, stage->size, stage->is_half ? " in f16" : "");
    }
    return snprintf(text, size, "%s %s ", gi_ggml_type_find(variant->type)->name,
                    shape_names[variant->shape]);
}

bool kt_gemv_fits(const struct kt_run *run, const struct kt_gemv_variant *variant)
{
    const struct stage *stage = find_stage(variant);
    const struct gi_limits *limits = gi_gpu_limits(run->gpu);
    return !stage || (stage->size <= limits->max_invocations &&
                      (stage->size <= 512 || limits->subgroup_size > 0));
}

// softpipe reads wrong texels past 32768; the library does not choose that shape there.
bool kt_gemv_set_shape(struct kt_run *run, const struct kt_gemv_variant *variant)
{
    const struct stage *stage = find_stage(variant);
    if (stage) {
        run->recorder.form.group_size = stage->size;
        run->recorder.form.n_groups = stage->n;
        run->recorder.is_half = stage->is_half;
        roundings = stage->is_half ? F16_ROUNDINGS : ROUNDINGS;
        return kt_set(run, "GLINFER_GEMV", NULL);
    }
    bool is_texel = strstr(shape_names[variant->shape], "tex") != NULL;
    roundings = strncmp(shape_names[variant->shape], "f16", 3) == 0 ? F16_ROUNDINGS : ROUNDINGS;
    if (is_texel && strstr(gi_gpu_platform(run->gpu)->renderer, "softpipe")) {
        return kt_set(run, "GLINFER_GEMV", NULL);
    }
    return kt_set(run, "GLINFER_GEMV", shape_names[variant->shape]);
}

double kt_gemv_roundings(void)
{
    return roundings;
}

//-- the stream ------------------------------------------------------------------------------------

bool kt_gemv_stream_init(struct kt_gemv_stream *test, struct kt_run *run, uint32_t n_embd,
                         uint32_t n_rot, uint32_t n_ssq)
{
    struct gi_stream *stream = &test->stream;
    size_t size = (size_t)gi_stream_layout(stream, n_embd, n_rot, KT_GEMV_NORM_EPS);
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
    test->inv_rms = ref_inv_rms(sum, n_embd, (double)KT_GEMV_NORM_EPS);
    stream->n_ssq = n_ssq;
    stream->range = kt_range(run, "stream", values, size);
    return !run->has_failed;
}

float *kt_gemv_x(struct kt_run *run, uint32_t n_cols, struct gi_range *range)
{
    size_t padded = (n_cols + 31) / 32 * 32;
    float *x = kt_alloc(padded, sizeof(*x));
    kt_fill(run, x, padded, -1, 1);
    *range = kt_range(run, "x", x, padded * sizeof(*x));
    return x;
}

//-- comparing -------------------------------------------------------------------------------------

static double *bounds_of(const struct ref_value *values, double *want, size_t n)
{
    double *bounds = kt_alloc(n, sizeof(*bounds));
    for (size_t i = 0; i < n; i++) {
        want[i] = values[i].value;
        bounds[i] = roundings * (double)FLT_EPSILON * values[i].magnitude;
    }
    return bounds;
}

bool kt_gemv_compare(struct kt_run *run, const char *what, const struct gi_range *range,
                     size_t offset, const struct ref_value *values, size_t n)
{
    double *want = kt_alloc(n, sizeof(*want));
    double *bounds = bounds_of(values, want, n);
    bool is_good = kt_compare_f32(run, what, range, offset, want, bounds, n);
    free(bounds);
    free(want);
    return is_good;
}

bool kt_gemv_compare_f16(struct kt_run *run, const char *what, const struct gi_range *range,
                         size_t offset, const struct ref_value *values, size_t n)
{
    double *want = kt_alloc(n, sizeof(*want));
    double *bounds = bounds_of(values, want, n);
    for (size_t i = 0; i < n; i++) {
        bounds[i] += fabs(want[i]) * 0x1p-10 + 0x1p-24; // a unit in the last place of f16
    }
    bool is_good = kt_compare_f16(run, what, range, offset, want, bounds, n);
    free(bounds);
    free(want);
    return is_good;
}
