#include "tests/ref/ref_batch.h"

#include <math.h>

static double score_of(const struct ref_attention *attention, size_t key, double *magnitude)
{
    const float *k = attention->k + key * attention->head_dim;
    double sum = 0;
    *magnitude = 0;
    for (size_t i = 0; i < attention->head_dim; i++) {
        double product = attention->scale * attention->q[i] * k[i];
        sum += product;
        *magnitude += fabs(product);
    }
    const double distance = fabs((double)key - (double)attention->own);
    *magnitude += attention->slope * distance;
    sum = attention->softcap > 0 ? attention->softcap * tanh(sum / attention->softcap) : sum;
    return sum - attention->slope * distance;
}

double ref_attention(const struct ref_attention *attention, double *out, double *magnitude)
{
    double largest = -INFINITY, largest_magnitude = 0, total = 0, score_magnitude;
    for (size_t j = 0; j < attention->n_key; j++) {
        largest = fmax(largest, score_of(attention, j, &score_magnitude));
        largest_magnitude = fmax(largest_magnitude, score_magnitude);
    }
    for (size_t i = 0; i < attention->head_dim; i++) {
        out[i] = magnitude[i] = 0;
    }
    for (size_t j = 0; j < attention->n_key; j++) {
        const float *v = attention->v + j * attention->head_dim;
        double weight = exp(score_of(attention, j, &score_magnitude) - largest);
        total += weight;
        for (size_t i = 0; i < attention->head_dim; i++) {
            out[i] += weight * v[i];
            magnitude[i] += weight * fabs((double)v[i]);
        }
    }
    total += attention->sink ? exp((double)*attention->sink - largest) : 0;
    for (size_t i = 0; i < attention->head_dim; i++) {
        out[i] /= total;
        magnitude[i] /= total;
    }
    return largest_magnitude;
}
