#include "tests/ref/ref_batch.h"

#include <math.h>

void ref_layer_input(const float *y, const float *gamma, const float *embedding, size_t width,
                     double eps, double *input, double *magnitude)
{
    ref_rmsnorm(y, gamma, width, eps, input);
    for (size_t i = 0; i < width; i++) {
        magnitude[i] = (fabs(input[i]) + fabs((double)embedding[i])) / sqrt(2);
        input[i] = (input[i] + (double)embedding[i]) / sqrt(2);
    }
}
