// Mamba-2: what glsl/ssm says its kernels compute. The last head is worked out, of a scan one
// column.
#include "engine/selftest/test_case.h"
#include "glsl/ssm/ssm_params.h"

#include <math.h>

static double silu(double x)
{
    return x / (1 + exp(-x));
}

static double softplus(double x)
{
    return log1p(exp(x));
}

// Says where a convolution finds what it reads.
struct channels {
    uint32_t x_stride, column, n_channel; // of the projection
    uint32_t taps, bias;                  // in the vectors
};

// Reads the projection of n channels `back` positions before token m of a batch: of the batch, or
// of the ring.
static const float *read_past(struct gi_test *test, const struct channels *channels, uint32_t m,
                              uint32_t back, uint32_t begin, uint32_t n)
{
    const uint32_t n_taps = (uint32_t)gi_test_define(test, "TAPS");
    const uint32_t position = test->n_past + m;
    if (back > position) {
        return gi_test_memory(test, n, sizeof(float));
    }
    return back <= m ? gi_test_floats(
                           test, 1,
                           (uint64_t)(m - back) * channels->x_stride + channels->column + begin, n)
                     : gi_test_floats(
                           test, 3,
                           (uint64_t)((position - back) % n_taps) * channels->n_channel + begin, n);
}

// Works out n convolved channels of token m from `begin` on; NULL with has_failed.
static double *convolve(struct gi_test *test, const struct channels *channels, uint32_t m,
                        uint32_t begin, uint32_t n)
{
    const uint32_t n_taps = (uint32_t)gi_test_define(test, "TAPS");
    double *line = gi_test_memory(test, n, sizeof(*line));
    const float *weights =
        gi_test_floats(test, 2, channels->taps + (uint64_t)begin * n_taps, (size_t)n * n_taps);
    const float *bias = gi_test_floats(test, 2, (uint64_t)channels->bias + begin, n);
    for (uint32_t back = 0; back < n_taps; back++) {
        const float *x = read_past(test, channels, m, back, begin, n);
        for (uint32_t i = 0; x && line && weights && i < n; i++) {
            line[i] += (double)weights[i * n_taps + n_taps - 1 - back] * x[i];
        }
    }
    for (uint32_t i = 0; line && bias && i < n; i++) {
        line[i] = silu(line[i] + bias[i]);
    }
    return test->has_failed ? NULL : line;
}

// Changes column j of a head's matrix by a token, and returns what c reads of it.
static struct gi_test_value change_and_read(double *column, uint32_t n, const double *b,
                                            const double *c, double x, double decay, double skip)
{
    struct gi_test_value y = {skip, fabs(skip)};
    for (uint32_t i = 0; i < n; i++) {
        column[i] = decay * column[i] + b[i] * x;
        y.value += column[i] * c[i];
        y.magnitude += fabs(column[i] * c[i]);
    }
    return y;
}

static void expect_gated(struct gi_test *test, uint64_t index, struct gi_test_value y, double z,
                         double found)
{
    gi_test_expect(test, "y", index, y.value * silu(z), (1e-2 + y.magnitude) * fabs(silu(z)),
                   found);
}

void gi_check_ssm_step(struct gi_test *test)
{
    const struct gi_ssm_step_params *params = (const void *)test->params;
    const uint32_t dim = (uint32_t)gi_test_define(test, "DIM");
    const uint32_t n = (uint32_t)gi_test_define(test, "STATE_DIM");
    const uint32_t head = params->n_head - 1, first_b = params->n_head * dim;
    const struct channels channels = {
        .column = params->channels,
        .n_channel = first_b + 2 * params->n_group * n,
        .taps = params->taps,
        .bias = params->taps_bias,
    };
    const double *x = convolve(test, &channels, 0, head * dim, dim);
    const double *b = convolve(test, &channels, 0, first_b + (params->n_group - 1) * n, n);
    const double *c = convolve(test, &channels, 0, first_b + (2 * params->n_group - 1) * n, n);
    const float *x_dt = gi_test_floats(test, 1, (uint64_t)params->dt + head, 1);
    const float *z = gi_test_floats(test, 1, (uint64_t)head * dim, dim);
    const float *bias = gi_test_floats(test, 2, (uint64_t)params->dt_bias + head, 1);
    const float *rate = gi_test_floats(test, 2, (uint64_t)params->decay_rate + head, 1);
    const float *skip = gi_test_floats(test, 2, (uint64_t)params->skip + head, 1);
    const float *matrix =
        gi_test_floats(test, 3, params->matrix + (uint64_t)head * n * dim, (size_t)n * dim);
    double *column = gi_test_memory(test, n, sizeof(*column));
    gi_test_run(test);
    const float *found = gi_test_floats(test, 0, (uint64_t)head * dim, dim);
    for (uint32_t j = 0; found && column && j < dim; j++) {
        const double dt = softplus((double)*x_dt + *bias);
        for (uint32_t i = 0; i < n; i++) {
            column[i] = test->n_past > 0 ? matrix[(size_t)i * dim + j] : 0;
        }
        const struct gi_test_value y =
            change_and_read(column, n, b, c, dt * x[j], exp(*rate * dt), *skip * x[j]);
        expect_gated(test, j, y, z[j], found[j]);
    }
}

// Compares n channels of token m.
static void expect_channels(struct gi_test *test, uint32_t m, uint32_t begin, const double *line,
                            uint32_t n)
{
    const struct gi_ssm_conv_params *params = (const void *)test->params;
    const float *found = gi_test_floats(test, 0, (uint64_t)m * params->y_stride + begin, n);
    for (uint32_t i = 0; found && line && i < n; i++) {
        gi_test_expect(test, "channel", begin + i, line[i], 1e-2 + fabs(line[i]), found[i]);
    }
}

void gi_check_ssm_conv(struct gi_test *test)
{
    const struct gi_ssm_conv_params *params = (const void *)test->params;
    const uint32_t n = (uint32_t)gi_test_define(test, "STATE_DIM");
    const uint32_t head = params->n_head - 1, m = test->n_tokens - 1, last = params->n_channel - n;
    const struct channels channels = {
        .x_stride = params->x_stride,
        .column = params->channels,
        .n_channel = params->n_channel,
        .taps = params->taps,
        .bias = params->taps_bias,
    };
    const double *x = convolve(test, &channels, m, 0, n),
                 *c = convolve(test, &channels, m, last, n);
    const float *x_dt =
        gi_test_floats(test, 1, (uint64_t)m * params->x_stride + params->dt + head, 1);
    const float *bias = gi_test_floats(test, 2, (uint64_t)params->dt_bias + head, 1);
    const float *rate = gi_test_floats(test, 2, (uint64_t)params->decay_rate + head, 1);
    const float *skip = gi_test_floats(test, 2, (uint64_t)params->skip + head, 1);
    gi_test_run(test);
    const uint64_t tail = (uint64_t)m * params->y_stride + params->n_channel + 4 * (uint64_t)head;
    const float *scalars = gi_test_floats(test, 0, tail, 3);
    if (!scalars) {
        return;
    }
    const double dt = softplus((double)*x_dt + *bias);
    gi_test_expect(test, "decay", head, exp(*rate * dt), 1, scalars[0]);
    gi_test_expect(test, "dt", head, dt, 1e-2 + dt, scalars[1]);
    gi_test_expect(test, "skip", head, *skip, fabs((double)*skip), scalars[2]);
    expect_channels(test, m, 0, x, n);
    expect_channels(test, m, last, c, n);
}

// Reads n floats of a binding, in double.
static double *read_line(struct gi_test *test, uint32_t binding, uint64_t at, uint32_t n)
{
    const float *values = gi_test_floats(test, binding, at, n);
    double *line = gi_test_memory(test, n, sizeof(*line));
    for (uint32_t i = 0; values && line && i < n; i++) {
        line[i] = values[i];
    }
    return test->has_failed ? NULL : line;
}

void gi_check_ssm_scan(struct gi_test *test)
{
    enum { MAX_TOKENS = 9 };
    const struct gi_ssm_scan_params *params = (const void *)test->params;
    const uint32_t dim = (uint32_t)gi_test_define(test, "DIM");
    const uint32_t n = (uint32_t)gi_test_define(test, "STATE_DIM");
    const uint32_t head = params->n_head - 1, j = params->n_head * dim - 1; // of x, z and y
    const uint32_t n_channel = params->n_head * dim + 2 * params->n_group * n;
    const uint32_t n_token = test->n_tokens < MAX_TOKENS ? test->n_tokens : MAX_TOKENS;
    double *column = read_line(test, 3, params->matrix + (uint64_t)head * n * dim, n * dim),
           z[MAX_TOKENS] = {0};
    struct gi_test_value y[MAX_TOKENS] = {{0}};
    for (uint32_t i = 0; column && i < n; i++) {
        column[i] = test->n_past > 0 ? column[(size_t)i * dim + dim - 1] : 0;
    }
    for (uint32_t m = 0; m < n_token; m++) {
        const uint32_t n_memory = test->n_memory;
        const uint64_t row = (uint64_t)m * params->y_stride;
        const double *b =
            read_line(test, 1, row + n_channel - (params->n_group + (uint64_t)1) * n, n);
        const double *c = read_line(test, 1, row + n_channel - n, n);
        const double *x = read_line(test, 1, row + j, 1);
        const double *scalars = read_line(test, 1, row + n_channel + 4 * (uint64_t)head, 3);
        const float *gate = gi_test_floats(test, 2, (uint64_t)m * params->x_stride + j, 1);
        if (gate && column && scalars) {
            y[m] = change_and_read(column, n, b, c, scalars[1] * *x, scalars[0], scalars[2] * *x);
            z[m] = *gate;
        }
        gi_test_rewind(test, n_memory);
    }
    gi_test_run(test);
    for (uint32_t m = 0; m < n_token; m++) {
        const float *found = gi_test_floats(test, 0, (uint64_t)m * params->out_stride + j, 1);
        if (found) {
            expect_gated(test, m, y[m], z[m], *found);
        }
    }
}

void gi_check_ssm_norm(struct gi_test *test)
{
    const struct gi_ssm_norm_params *params = (const void *)test->params;
    const uint32_t n = params->width, group = test->dispatch->grid.size[0] - 1;
    const uint64_t begin = (uint64_t)(test->n_tokens - 1) * params->y_stride + (uint64_t)group * n;
    const float *y = gi_test_floats(test, 0, begin, n);
    const float *gamma = gi_test_floats(test, 1, params->gamma + (uint64_t)group * n, n);
    gi_test_run(test);
    const float *found = gi_test_floats(test, 0, begin, n);
    double sum = 0;
    for (uint32_t i = 0; found && i < n; i++) {
        sum += (double)y[i] * y[i];
    }
    for (uint32_t i = 0; found && i < n; i++) {
        const double expected = gamma[i] * y[i] / sqrt(sum / n + params->eps);
        gi_test_expect(test, "norm", i, expected, fabs(expected), found[i]);
    }
}
