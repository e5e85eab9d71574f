#include "tests/ref/ref_batch.h"

#include <math.h>

void ref_gemm(const struct ref_gemm *gemm, double *y, double *magnitude)
{
    for (size_t m = 0; m < gemm->n_tokens; m++) {
        const float *x = gemm->x + m * gemm->n_cols;
        for (size_t n = 0; n < gemm->n_rows; n++) {
            const float *w = gemm->weight + n * gemm->n_cols;
            double sum = gemm->bias[n], total = fabs(sum);
            for (size_t k = 0; k < gemm->n_cols; k++) {
                sum += (double)w[k] * x[k];
                total += fabs((double)w[k] * x[k]);
            }
            y[m * gemm->n_rows + n] = sum;
            magnitude[m * gemm->n_rows + n] = total;
        }
    }
}
