#include "reference/places/ref_conv.h"

#include <math.h>

bool gi_ref_conv_init(struct gi_ref_conv *conv, struct gi_ref *ref, uint32_t taps, uint32_t bias)
{
    const size_t n = conv->n_channel;
    conv->x = gi_ref_rows(ref, 1, conv->column, conv->x_stride, n);
    conv->taps = gi_ref_floats(ref, 2, taps, n * conv->n_taps);
    conv->bias = bias == GI_REF_NONE ? NULL : gi_ref_floats(ref, 2, bias, n);
    conv->ring = gi_ref_memory(ref, conv->n_taps, sizeof(*conv->ring));
    for (uint32_t back = 1; conv->ring && back < conv->n_taps && back <= ref->n_past; back++) {
        const uint32_t row = (ref->n_past - back) % conv->n_taps;
        conv->ring[row] = gi_ref_floats(ref, 3, row * (uint64_t)n, n);
    }
    return !ref->has_failed;
}

// Returns the projection of a channel at the position `back` before that of token m.
static double read_past(const struct gi_ref *ref, const struct gi_ref_conv *conv, uint32_t m,
                        uint32_t back, uint32_t channel)
{
    if (back <= m) {
        return conv->x[(size_t)(m - back) * conv->x_stride + channel];
    }
    const uint32_t row = (ref->n_past + m - back) % conv->n_taps;
    return back <= ref->n_past + m ? conv->ring[row][channel] : 0;
}

void gi_ref_convolve(const struct gi_ref *ref, const struct gi_ref_conv *conv, uint32_t m,
                     double *row)
{
    for (uint32_t i = 0; i < conv->n_channel; i++) {
        double sum = conv->bias ? conv->bias[i] : 0;
        for (uint32_t back = 0; back < conv->n_taps; back++) {
            sum += conv->taps[(size_t)i * conv->n_taps + conv->n_taps - 1 - back] *
                   read_past(ref, conv, m, back, i);
        }
        row[i] = gi_ref_silu(sum);
    }
}

void gi_ref_expect_ring(struct gi_ref *ref, const struct gi_ref_conv *conv)
{
    const uint32_t n_row = ref->n_tokens < conv->n_taps ? ref->n_tokens : conv->n_taps - 1;
    for (uint32_t m = ref->n_tokens - n_row; m < ref->n_tokens; m++) {
        const size_t row = (size_t)((ref->n_past + m) % conv->n_taps) * conv->n_channel;
        for (uint32_t i = 0; i < conv->n_channel; i++) {
            const double value = read_past(ref, conv, m, 0, i);
            gi_ref_expect(ref, "ring", 3, row + i, value, fabs(value));
        }
    }
}

double *gi_ref_matrix(struct gi_ref *ref, uint64_t at, size_t n)
{
    double *matrix = gi_ref_memory(ref, n, sizeof(*matrix));
    const float *old = ref->n_past > 0 ? gi_ref_floats(ref, 3, at, n) : NULL;
    for (size_t i = 0; old && i < n; i++) {
        matrix[i] = old[i];
    }
    return ref->has_failed ? NULL : matrix;
}

void gi_ref_expect_matrix(struct gi_ref *ref, uint64_t at, const double *matrix, size_t n,
                          double floor)
{
    for (size_t i = 0; i < n; i++) {
        gi_ref_expect(ref, "matrix", 3, at + i, matrix[i], floor + fabs(matrix[i]));
    }
}
