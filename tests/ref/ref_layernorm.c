#include "tests/ref/ref_batch.h"

#include <math.h>

void ref_layernorm(const float *x, const float *gamma, const float *beta, size_t width, double eps,
                   double *y, double *magnitude)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < width; i++) {
        mean += (double)x[i] / (double)width;
    }
    for (size_t i = 0; i < width; i++) {
        sum += ((double)x[i] - mean) * ((double)x[i] - mean);
    }
    const double scale = 1 / sqrt(sum / (double)width + eps);
    for (size_t i = 0; i < width; i++) {
        y[i] = ((double)x[i] - mean) * scale * (double)gamma[i] + (double)beta[i];
        magnitude[i] = (fabs((double)x[i]) + fabs(mean) + 1) * scale * fabs((double)gamma[i]) +
                       fabs((double)beta[i]);
    }
}
