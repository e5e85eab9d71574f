#include "tests/ref/recurrent/ref_ssm.h"

#include <math.h>
#include <stdlib.h>

static double silu(double x)
{
    return x / (1 + exp(-x));
}

// Convolves n channels of a token from the first on; earlier rows are those of past.
static void convolve(const struct ref_ssm *ssm, size_t token, size_t first, size_t n, double *line)
{
    for (size_t i = 0; i < n; i++) {
        const size_t channel = first + i;
        double sum = ssm->taps_bias[channel];
        for (size_t back = 0; back < ssm->n_taps; back++) {
            const float *row = back <= token
                                   ? ssm->x + (token - back) * ssm->n_column + ssm->channels
                                   : ssm->past + (back - token - 1) * ssm->n_channel;
            sum += (double)ssm->taps[channel * ssm->n_taps + ssm->n_taps - 1 - back] * row[channel];
        }
        line[i] = silu(sum);
    }
}

// Changes the matrix of a head by a token and reads it.
static void change_and_read(const struct ref_ssm *ssm, size_t token, size_t head, const double *x,
                            const double *b, const double *c, double *matrix, double *out,
                            double *magnitude)
{
    const float *row = ssm->x + token * ssm->n_column;
    const double dt = log1p(exp((double)row[ssm->dt + head] + ssm->dt_bias[head]));
    const double decay = exp(dt * ssm->decay_rate[head]);
    for (size_t j = 0; j < ssm->dim; j++) {
        const double gate = silu(row[head * ssm->dim + j]);
        double y = ssm->skip[head] * x[j], size = fabs(y);
        for (size_t i = 0; i < ssm->state_dim; i++) {
            double *s = &matrix[i * ssm->dim + j];
            *s = decay * *s + b[i] * dt * x[j];
            y += *s * c[i];
            size += fabs(*s * c[i]);
        }
        out[j] = y * gate;
        magnitude[j] = size * fabs(gate);
    }
}

void ref_ssm(const struct ref_ssm *ssm, double *matrix, double *out, double *magnitude)
{
    const size_t dim = ssm->dim, n = ssm->state_dim;
    double *lines = calloc(dim + 2 * n, sizeof(*lines)), *b = lines + dim, *c = b + n;
    for (size_t token = 0; lines && token < ssm->n_tokens; token++) {
        for (size_t head = 0; head < ssm->n_head; head++) {
            const size_t group = head / (ssm->n_head / ssm->n_group);
            const size_t first = ssm->n_head * dim, at = (token * ssm->n_head + head) * dim;
            convolve(ssm, token, head * dim, dim, lines);
            convolve(ssm, token, first + group * n, n, b);
            convolve(ssm, token, first + (ssm->n_group + group) * n, n, c);
            change_and_read(ssm, token, head, lines, b, c, matrix + head * n * dim, out + at,
                            magnitude + at);
        }
    }
    free(lines);
}

void ref_ssm_norm(size_t n_tokens, size_t n_group, size_t width, const float *gamma, double eps,
                  double *y)
{
    for (size_t row = 0; row < n_tokens * n_group; row++) {
        double sum = 0;
        for (size_t i = 0; i < width; i++) {
            sum += y[row * width + i] * y[row * width + i];
        }
        for (size_t i = 0; i < width; i++) {
            y[row * width + i] *=
                gamma[row % n_group * width + i] / sqrt(sum / (double)width + eps);
        }
    }
}
