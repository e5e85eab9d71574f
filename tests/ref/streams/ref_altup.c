#include "tests/ref/streams/ref_altup.h"

#include "tests/ref/ref_batch.h"

#include <math.h>
#include <stdlib.h>

static double length_of(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i] * (double)x[i];
    }
    return sqrt(sum);
}

static double inverse_rms(const double *x, size_t n, double eps)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return 1 / sqrt(sum / (double)n + eps);
}

void ref_altup_embed(const float *x, const float *y, size_t n, double *streams)
{
    const double length = length_of(x, n);
    for (size_t i = 0; i < n; i++) {
        streams[i] = (double)x[i];
    }
    for (size_t s = 1; s < REF_STREAMS; s++) {
        const float *row = y + (s - 1) * n;
        for (size_t i = 0; i < n; i++) {
            streams[s * n + i] = (double)row[i] * length / length_of(row, n);
        }
    }
}

static void route(const struct ref_altup_router *router, const double *x, size_t n,
                  double modalities[REF_STREAMS])
{
    const double scale = inverse_rms(x, n, router->eps);
    for (size_t s = 0; s < REF_STREAMS; s++) {
        double dot = 0;
        for (size_t i = 0; i < n; i++) {
            dot += (double)router->matrix[s * n + i] * x[i] * scale * (double)router->gamma[i];
        }
        modalities[s] = tanh(dot / (double)n);
    }
}

static double coefficient(const struct ref_altup_router *router, size_t row,
                          const double modalities[REF_STREAMS])
{
    double sum = 0;
    for (size_t s = 0; s < REF_STREAMS; s++) {
        sum += (double)router->coefs[row * REF_STREAMS + s] * modalities[s];
    }
    return sum;
}

void ref_altup_predict(const float *streams, const struct ref_altup_router *router, const float *y,
                       const float *y_gamma, size_t n, double *predicted, double *magnitude)
{
    double *c = calloc(REF_STREAMS * n, sizeof(double)), *own = calloc(n, sizeof(double));
    double modalities[REF_STREAMS];
    if (y) {
        ref_rmsnorm(y, y_gamma, n, router->eps, own);
    }
    for (size_t i = 0; i < REF_STREAMS * n; i++) {
        c[i] = (double)streams[i] + (i < n ? 0 : own[i % n]);
    }
    route(router, c, n, modalities);
    for (size_t b = 0; b < REF_STREAMS; b++) {
        for (size_t i = 0; i < n; i++) {
            predicted[b * n + i] = c[b * n + i];
            magnitude[b * n + i] = fabs((double)streams[b * n + i]) + fabs(own[i]);
            for (size_t a = 0; a < REF_STREAMS; a++) {
                const double share = coefficient(router, REF_STREAMS * b + a, modalities);
                predicted[b * n + i] += share * c[a * n + i];
                // An error of a share, of the order of its coefficients, counts too.
                magnitude[b * n + i] += (1 + fabs(share)) * fabs(c[a * n + i]);
            }
        }
    }
    free(c);
    free(own);
}

void ref_laurel_join(const struct ref_laurel *laurel, size_t n, double *z, double *magnitude)
{
    double *y = calloc(3 * n, sizeof(double)), *x = y + n, *branch = x + n;
    ref_rmsnorm(laurel->y, laurel->y_gamma, n, laurel->eps, y);
    ref_rmsnorm(laurel->x, laurel->x_gamma, n, laurel->eps, x);
    ref_rmsnorm(laurel->branch, laurel->branch_gamma, n, laurel->eps, branch);
    for (size_t i = 0; i < n; i++) {
        z[i] = ((double)laurel->x[i] + y[i] + x[i] + branch[i]) / sqrt(2);
        magnitude[i] = fabs((double)laurel->x[i]) + fabs(y[i]) + fabs(x[i]) + fabs(branch[i]);
    }
    free(y);
}

void ref_altup_correct(const float *predicted, const struct ref_altup_router *router,
                       const float *z, const float *y, const float *y_gamma, size_t n,
                       double *corrected, double *magnitude)
{
    double *active = calloc(2 * n, sizeof(double)), *addends = active + n;
    double modalities[REF_STREAMS];
    ref_rmsnorm(y, y_gamma, n, router->eps, active);
    for (size_t i = 0; i < n; i++) {
        addends[i] = fabs(active[i]) + fabs((double)z[i]);
        active[i] += (double)z[i];
    }
    route(router, active, n, modalities);
    for (size_t s = 0; s < REF_STREAMS; s++) {
        const double share = 1 + coefficient(router, s, modalities);
        for (size_t i = 0; i < n; i++) {
            const double first = (double)predicted[i], own = (double)predicted[s * n + i];
            corrected[s * n + i] = own + share * (active[i] - first);
            magnitude[s * n + i] = fabs(own) + (1 + fabs(share)) * (addends[i] + fabs(first));
        }
    }
    free(active);
}

void ref_altup_merge(const float *first, const float *u, size_t n, double *merged,
                     double *magnitude)
{
    const double length = length_of(first, n);
    for (size_t i = 0; i < n; i++) {
        merged[i] = (double)first[i] / REF_STREAMS;
        magnitude[i] = fabs(merged[i]);
        for (size_t s = 1; s < REF_STREAMS; s++) {
            const float *row = u + (s - 1) * n;
            const double part = (double)row[i] * length / length_of(row, n) / REF_STREAMS;
            merged[i] += part;
            magnitude[i] += fabs(part);
        }
    }
}

void ref_sparse_glu(const float *g, const float *u, size_t n, double deviations, double *act,
                    double *cutoff)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)g[i];
    }
    for (size_t i = 0; i < n; i++) {
        squares += pow((double)g[i] - sum / (double)n, 2);
    }
    *cutoff = sum / (double)n + deviations * sqrt(squares / (double)(n - 1));
    for (size_t i = 0; i < n; i++) {
        act[i] = ref_glu(fmax((double)g[i] - *cutoff, 0), (double)u[i], REF_GELU);
    }
}
