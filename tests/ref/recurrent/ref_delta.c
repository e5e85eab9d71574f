#include "tests/ref/recurrent/ref_delta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double silu(double x)
{
    return x / (1 + exp(-x));
}

// Returns the convolved channel of a token; earlier rows are those of past, the last one first.
static double convolve(const struct ref_delta *delta, size_t token, size_t channel)
{
    double sum = 0;
    for (size_t back = 0; back < delta->n_taps; back++) {
        const float weight = delta->taps[channel * delta->n_taps + delta->n_taps - 1 - back];
        const float *row = back <= token ? delta->x + (token - back) * delta->n_column
                                         : delta->past + (back - token - 1) * delta->n_channel;
        sum += (double)weight * row[channel];
    }
    return silu(sum);
}

static void convolve_line(const struct ref_delta *delta, size_t token, size_t begin, bool is_unit,
                          double *line)
{
    double sum = 0;
    for (size_t i = 0; i < delta->dim; i++) {
        line[i] = convolve(delta, token, begin + i);
        sum += line[i] * line[i];
    }
    for (size_t i = 0; is_unit && i < delta->dim; i++) {
        line[i] /= fmax(sqrt(sum), delta->eps);
    }
}

// Changes the matrix of a head by a token and reads it: o (dim).
static void change_and_read(const struct ref_delta *delta, size_t token, size_t head,
                            const double *q, const double *k, const double *v, double *matrix,
                            double *o)
{
    const float *row = delta->x + token * delta->n_column;
    const double rate = 1 / (1 + exp(-(double)row[delta->rate + head]));
    const double decay =
        exp(delta->decay_rate[head] *
            log1p(exp((double)row[delta->decay + head] + delta->decay_bias[head])));
    for (size_t j = 0; j < delta->dim; j++) {
        double read = 0, sum = 0;
        for (size_t i = 0; i < delta->dim; i++) {
            matrix[i * delta->dim + j] *= decay;
            read += matrix[i * delta->dim + j] * k[i];
        }
        const double change = rate * (v[j] - read);
        for (size_t i = 0; i < delta->dim; i++) {
            matrix[i * delta->dim + j] += k[i] * change;
            sum += matrix[i * delta->dim + j] * q[i] / sqrt((double)delta->dim);
        }
        o[j] = sum;
    }
}

static void write_out(const struct ref_delta *delta, size_t token, size_t head, const double *o,
                      double *out, double *magnitude)
{
    const float *z = delta->x + token * delta->n_column + delta->z + head * delta->dim;
    double sum = 0;
    for (size_t i = 0; i < delta->dim; i++) {
        sum += o[i] * o[i];
    }
    const double scale = 1 / sqrt(sum / (double)delta->dim + delta->eps);
    for (size_t i = 0; i < delta->dim; i++) {
        const double gate = delta->gamma[i] * silu(z[i]);
        out[i] = o[i] * scale * gate;
        magnitude[i] = fabs(gate) * (1 + fabs(o[i] * scale));
    }
}

void ref_delta(const struct ref_delta *delta, double *matrix, double *out, double *magnitude)
{
    const size_t dim = delta->dim, n_k_head = delta->n_k_head;
    double *lines = calloc(4 * dim, sizeof(*lines));
    for (size_t token = 0; lines && token < delta->n_tokens; token++) {
        for (size_t head = 0; head < delta->n_head; head++) {
            double *q = lines, *k = lines + dim, *v = lines + 2 * dim, *o = lines + 3 * dim;
            const size_t at = (token * delta->n_head + head) * dim;
            const size_t k_head =
                delta->n_neighbour > 0 ? head / delta->n_neighbour : head % n_k_head;
            convolve_line(delta, token, k_head * dim, true, q);
            convolve_line(delta, token, (n_k_head + k_head) * dim, true, k);
            convolve_line(delta, token, (2 * n_k_head + head) * dim, false, v);
            change_and_read(delta, token, head, q, k, v, matrix + head * dim * dim, o);
            write_out(delta, token, head, o, out + at, magnitude + at);
        }
    }
    free(lines);
}
