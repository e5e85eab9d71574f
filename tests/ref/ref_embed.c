#include "tests/ref/ref_batch.h"

double ref_embed(const float *row, const float *gamma, size_t n_embd, double scale, double *x,
                 double *norm)
{
    double sum = 0;
    for (size_t i = 0; i < n_embd; i++) {
        x[i] = scale * row[i];
        norm[i] = x[i] * gamma[i];
        sum += x[i] * x[i];
    }
    return sum;
}
