// The gated delta rule: what glsl/delta says its kernels compute. One head is worked out, of a scan
// one column.
#include "engine/selftest/test_case.h"
#include "glsl/delta/delta_params.h"

#include <math.h>

static double silu(double x)
{
    return x / (1 + exp(-x));
}

static double decay_of(double x, double bias, double rate)
{
    return exp(rate * log1p(exp(x + bias)));
}

// Holds where the channels of a head's q, k and v begin.
struct lines {
    uint32_t dim, n_channel, begin[3];
};

static struct lines lines_of(const struct gi_test *test, uint32_t n_head, uint32_t n_k_head,
                             uint32_t head)
{
    const uint32_t dim = (uint32_t)gi_test_define(test, "DIM");
    const uint32_t n_neighbour = (uint32_t)gi_test_define(test, "NEIGHBOURS");
    const uint32_t k_head = n_neighbour > 0 ? head / n_neighbour : head % n_k_head;
    return (struct lines){
        .dim = dim,
        .n_channel = (2 * n_k_head + n_head) * dim,
        .begin = {k_head * dim, (n_k_head + k_head) * dim, (2 * n_k_head + head) * dim}};
}

// Reads the projection of n channels `back` positions before token m of a batch: of the batch, or
// of the ring.
static const float *read_past(struct gi_test *test, uint32_t m, uint32_t back, uint32_t x_stride,
                              const struct lines *lines, uint32_t begin)
{
    const uint32_t n_taps = (uint32_t)gi_test_define(test, "TAPS");
    const uint32_t position = test->n_past + m;
    if (back > position) {
        return gi_test_memory(test, lines->dim, sizeof(float));
    }
    return back <= m
               ? gi_test_floats(test, 1, (uint64_t)(m - back) * x_stride + begin, lines->dim)
               : gi_test_floats(test, 3,
                                (uint64_t)((position - back) % n_taps) * lines->n_channel + begin,
                                lines->dim);
}

// Works out dim convolved channels of token m; NULL with has_failed.
static double *convolve(struct gi_test *test, uint32_t m, uint32_t x_stride, uint32_t taps,
                        const struct lines *lines, uint32_t begin)
{
    const uint32_t n_taps = (uint32_t)gi_test_define(test, "TAPS");
    double *line = gi_test_memory(test, lines->dim, sizeof(*line));
    const float *weights =
        gi_test_floats(test, 2, taps + (uint64_t)begin * n_taps, (size_t)lines->dim * n_taps);
    for (uint32_t back = 0; back < n_taps; back++) {
        const float *x = read_past(test, m, back, x_stride, lines, begin);
        for (uint32_t i = 0; x && line && weights && i < lines->dim; i++) {
            line[i] += (double)weights[i * n_taps + n_taps - 1 - back] * x[i];
        }
    }
    for (uint32_t i = 0; line && i < lines->dim; i++) {
        line[i] = silu(line[i]);
    }
    return test->has_failed ? NULL : line;
}

static double product(const double *a, const double *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

// Gives a line that length.
static void set_length(double *line, uint32_t n, double eps, double length)
{
    const double scale = length / fmax(sqrt(product(line, line, n)), eps);
    for (uint32_t i = 0; i < n; i++) {
        line[i] *= scale;
    }
}

// Changes column j of a head's matrix by a token, and returns what q reads of it.
static double change_and_read(double *column, uint32_t n, const double *q, const double *k,
                              double v, double decay, double rate)
{
    double read = 0, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        column[i] *= decay;
        read += column[i] * k[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        column[i] += k[i] * rate * (v - read);
        sum += column[i] * q[i];
    }
    return sum;
}

static void expect_normed(struct gi_test *test, const double *o, const float *gamma, const float *z,
                          uint32_t n, double eps, const float *found)
{
    const double scale = 1 / sqrt(product(o, o, n) / n + eps);
    for (uint32_t i = 0; i < n; i++) {
        const double gate = gamma[i] * silu(z[i]), expected = o[i] * scale * gate;
        gi_test_expect(test, "result", i, expected, fabs(gate) * (1 + fabs(o[i] * scale)),
                       found[i]);
    }
}

void gi_check_delta_step(struct gi_test *test)
{
    const struct gi_delta_step_params *params = (const void *)test->params;
    const uint32_t head = params->n_head - 1;
    const struct lines lines = lines_of(test, params->n_head, params->n_k_head, head);
    const uint32_t n = lines.dim;
    double *line[3], *o = gi_test_memory(test, n, sizeof(*o));
    for (uint32_t i = 0; i < 3; i++) {
        line[i] = convolve(test, 0, 0, params->taps, &lines, lines.begin[i]);
    }
    const float *x_rate = gi_test_floats(test, 1, params->rate + head, 1);
    const float *x_decay = gi_test_floats(test, 1, params->decay + head, 1);
    const float *bias = gi_test_floats(test, 2, params->decay_bias + head, 1);
    const float *rate = gi_test_floats(test, 2, params->decay_rate + head, 1);
    const float *gamma = gi_test_floats(test, 2, params->gamma, n);
    const float *z = gi_test_floats(test, 1, params->z + head * n, n);
    const float *matrix =
        gi_test_floats(test, 3, params->matrix + (uint64_t)head * n * n, (size_t)n * n);
    double *column = gi_test_memory(test, n, sizeof(*column));
    gi_test_run(test);
    const float *found = gi_test_floats(test, 0, (uint64_t)head * n, n);
    if (!found || !o || !column) {
        return;
    }
    set_length(line[0], n, params->eps, 1 / sqrt(n));
    set_length(line[1], n, params->eps, 1);
    for (uint32_t j = 0; j < n; j++) {
        for (uint32_t i = 0; i < n; i++) {
            column[i] = matrix[(size_t)i * n + j];
        }
        o[j] = change_and_read(column, n, line[0], line[1], line[2][j],
                               decay_of(*x_decay, *bias, *rate), 1 / (1 + exp(-(double)*x_rate)));
    }
    expect_normed(test, o, gamma, z, n, params->eps, found);
}

void gi_check_delta_conv(struct gi_test *test)
{
    const struct gi_delta_conv_params *params = (const void *)test->params;
    const uint32_t head = params->n_head - 1, m = test->n_tokens - 1;
    const struct lines lines = lines_of(test, params->n_head, params->n_k_head, head);
    const uint32_t n = lines.dim, tail = lines.n_channel + 2 * head;
    double *line[3];
    for (uint32_t i = 0; i < 3; i++) {
        line[i] = convolve(test, m, params->x_stride, params->taps, &lines, lines.begin[i]);
    }
    const uint64_t x_row = (uint64_t)m * params->x_stride, y_row = (uint64_t)m * params->y_stride;
    const float *x_rate = gi_test_floats(test, 1, x_row + params->rate + head, 1);
    const float *x_decay = gi_test_floats(test, 1, x_row + params->decay + head, 1);
    const float *bias = gi_test_floats(test, 2, params->decay_bias + head, 1);
    const float *rate = gi_test_floats(test, 2, params->decay_rate + head, 1);
    gi_test_run(test);
    const float *scalars = gi_test_floats(test, 0, y_row + tail, 2);
    if (!scalars) {
        return;
    }
    set_length(line[0], n, params->eps, 1 / sqrt(n));
    set_length(line[1], n, params->eps, 1);
    gi_test_expect(test, "decay", head, decay_of(*x_decay, *bias, *rate), 1, scalars[0]);
    gi_test_expect(test, "rate", head, 1 / (1 + exp(-(double)*x_rate)), 1, scalars[1]);
    for (uint32_t k = 0; k < 3; k++) {
        const float *found = gi_test_floats(test, 0, y_row + lines.begin[k], n);
        for (uint32_t i = 0; found && i < n; i++) {
            gi_test_expect(test, "channel", lines.begin[k] + i, line[k][i], 1e-2 + fabs(line[k][i]),
                           found[i]);
        }
    }
}

// A line of what the convolution left of a token, in double.
static double *read_line(struct gi_test *test, uint64_t at, uint32_t n)
{
    const float *values = gi_test_floats(test, 1, at, n);
    double *line = gi_test_memory(test, n, sizeof(*line));
    for (uint32_t i = 0; values && line && i < n; i++) {
        line[i] = values[i];
    }
    return test->has_failed ? NULL : line;
}

void gi_check_delta_scan(struct gi_test *test)
{
    const struct gi_delta_scan_params *params = (const void *)test->params;
    const uint32_t head = params->n_head - 1;
    const struct lines lines = lines_of(test, params->n_head, params->n_k_head, head);
    const uint32_t n = lines.dim, j = n - 1;
    const uint32_t n_token = test->n_tokens < 9 ? test->n_tokens : 9;
    const float *matrix =
        gi_test_floats(test, 3, params->matrix + (uint64_t)head * n * n, (size_t)n * n);
    double *column = gi_test_memory(test, n, sizeof(*column)), expected[9] = {0};
    for (uint32_t i = 0; matrix && column && i < n; i++) {
        column[i] = matrix[(size_t)i * n + j];
    }
    for (uint32_t m = 0; m < n_token; m++) {
        const uint32_t n_memory = test->n_memory;
        const uint64_t row = (uint64_t)m * params->y_stride;
        const double *q = read_line(test, row + lines.begin[0], n);
        const double *k = read_line(test, row + lines.begin[1], n);
        const float *v = gi_test_floats(test, 1, row + lines.begin[2] + j, 1);
        const float *scalars =
            gi_test_floats(test, 1, row + lines.n_channel + (uint64_t)2 * head, 2);
        if (column && scalars) {
            expected[m] = change_and_read(column, n, q, k, *v, scalars[0], scalars[1]);
        }
        gi_test_rewind(test, n_memory);
    }
    gi_test_run(test);
    for (uint32_t m = 0; m < n_token; m++) {
        const float *found =
            gi_test_floats(test, 0, (uint64_t)m * params->out_stride + (uint64_t)head * n + j, 1);
        if (found) {
            gi_test_expect(test, "o", m, expected[m], 0.1 + fabs(expected[m]), *found);
        }
    }
}

void gi_check_delta_norm(struct gi_test *test)
{
    const struct gi_delta_norm_params *params = (const void *)test->params;
    const uint32_t n = (uint32_t)gi_test_define(test, "DIM"), m = test->n_tokens - 1;
    const uint32_t head = test->dispatch->grid.size[0] - 1;
    const double *o = read_line(test, (uint64_t)m * params->o_stride + (uint64_t)head * n, n);
    const float *gamma = gi_test_floats(test, 2, params->gamma, n);
    const float *z =
        gi_test_floats(test, 3, (uint64_t)m * params->x_stride + params->z + (uint64_t)head * n, n);
    gi_test_run(test);
    const float *found =
        gi_test_floats(test, 0, (uint64_t)m * params->out_stride + (uint64_t)head * n, n);
    if (found) {
        expect_normed(test, o, gamma, z, n, params->eps, found);
    }
}
