#include "tests/ref/ref_batch.h"

#include <math.h>

// b * x of a channel, `back` tokens before one.
static double gated(const struct ref_short_conv *conv, size_t token, size_t back, size_t channel)
{
    if (back > token) {
        return conv->past[(back - token - 1) * conv->n_channel + channel];
    }
    const float *row = conv->bcx + (token - back) * conv->n_column;
    return (double)row[channel] * row[2 * conv->section + channel];
}

void ref_short_conv(const struct ref_short_conv *conv, double *y, double *magnitude)
{
    for (size_t token = 0; token < conv->n_tokens; token++) {
        for (size_t i = 0; i < conv->n_channel; i++) {
            const double c = conv->bcx[token * conv->n_column + conv->section + i];
            double sum = 0, sizes = 0;
            for (size_t back = 0; back < conv->n_taps; back++) {
                const double tap = conv->taps[i * conv->n_taps + conv->n_taps - 1 - back];
                sum += tap * gated(conv, token, back, i);
                sizes += fabs(tap * gated(conv, token, back, i));
            }
            y[token * conv->n_channel + i] = c * sum;
            magnitude[token * conv->n_channel + i] = fabs(c) * sizes;
        }
    }
}
