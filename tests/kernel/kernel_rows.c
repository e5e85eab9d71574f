#include "kernel_rows.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

uint32_t kt_pad32(uint32_t n)
{
    return (n + 31) / 32 * 32;
}

struct gi_rows kt_rows(struct kt_run *run, const char *label, float *values, uint32_t n_tokens,
                       uint32_t stride)
{
    size_t n = (size_t)n_tokens * stride;
    if (values) {
        kt_fill(run, values, n, -1, 1);
    }
    return (struct gi_rows){kt_range(run, label, values, n * sizeof(float)), stride, false};
}

struct gi_vectors kt_vectors(struct kt_run *run, const float *values, size_t n, uint32_t rope)
{
    return (struct gi_vectors){kt_range(run, "vectors", values, n * sizeof(float)), rope};
}

bool kt_compare_rows(struct kt_run *run, const char *what, const struct gi_rows *rows,
                     uint32_t n_tokens, uint32_t begin, uint32_t n, const double *want,
                     const double *bound)
{
    for (size_t m = 0; m < n_tokens; m++) {
        size_t offset = (m * rows->stride + begin) * sizeof(float);
        if (!kt_compare_f32(run, what, &rows->range, offset, want + m * n, bound + m * n, n)) {
            return false;
        }
    }
    return true;
}

bool kt_check_stream(struct kt_run *run, const struct gi_stream *stream, const double *residual,
                     const double *norm, double ssq, double roundings)
{
    uint32_t n = stream->n_embd;
    assert(norm);
    double *bound = kt_alloc(n, sizeof(double));
    float *partial = kt_alloc(stream->n_ssq, sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        bound[i] =
            roundings * (double)FLT_EPSILON * fmax(fabs(residual ? residual[i] : 0), fabs(norm[i]));
    }
    bool is_good =
        (!residual || kt_compare_f32(run, "residual", &stream->range,
                                     stream->residual * sizeof(float), residual, bound, n)) &&
        kt_compare_f32(run, "norm", &stream->range, stream->norm * sizeof(float), norm, bound, n) &&
        kt_read(run, &stream->range, stream->ssq * sizeof(float), partial,
                stream->n_ssq * sizeof(float));
    double sum = 0;
    for (uint32_t i = 0; is_good && i < stream->n_ssq; i++) {
        sum += (double)partial[i];
    }
    if (is_good && !(fabs(sum - ssq) <= 32 * (double)FLT_EPSILON * ssq)) {
        is_good = kt_fail(run, "sum of squares is %.9g, want %.9g", sum, ssq);
    }
    free(partial);
    free(bound);
    return is_good;
}
