// The short convolution: what glsl/conv/short_conv.comp says that it computes, of the last token.
#include "engine/selftest/test_case.h"
#include "glsl/conv/conv_params.h"

#include <math.h>

// Adds a tap's share of each channel of token m, `back` tokens before it.
static void add_tap(struct gi_test *test, uint32_t m, uint32_t back, const float *taps, double *sum,
                    double *magnitude)
{
    const struct gi_short_conv_params *params = (const void *)test->params;
    const uint32_t n_taps = (uint32_t)gi_test_define(test, "TAPS"), n = params->n_channel;
    const uint32_t position = test->n_past + m;
    const float *b = NULL, *x = NULL;
    if (back > position) {
        return;
    }
    if (back <= m) {
        const uint64_t row = (uint64_t)(m - back) * params->bcx_stride;
        b = gi_test_floats(test, 1, row, n);
        x = gi_test_floats(test, 1, row + (uint64_t)2 * params->section, n);
    } else {
        x = gi_test_floats(test, 3, (uint64_t)((position - back) % (n_taps - 1)) * n, n);
    }
    for (uint32_t i = 0; !test->has_failed && i < n; i++) {
        const double value = (double)taps[i * n_taps + n_taps - 1 - back] * (b ? b[i] : 1) * x[i];
        sum[i] += value;
        magnitude[i] += fabs(value);
    }
}

void gi_check_short_conv(struct gi_test *test)
{
    const struct gi_short_conv_params *params = (const void *)test->params;
    const uint32_t n_taps = (uint32_t)gi_test_define(test, "TAPS"), n = params->n_channel;
    const uint32_t m = gi_test_define(test, "TOKENS") > 1 ? test->n_tokens - 1 : 0;
    const float *taps = gi_test_floats(test, 2, params->taps, (size_t)n * n_taps);
    const float *c = gi_test_floats(test, 1, (uint64_t)m * params->bcx_stride + params->section, n);
    double *sum = gi_test_memory(test, n, sizeof(*sum));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    for (uint32_t back = 0; !test->has_failed && back < n_taps; back++) {
        add_tap(test, m, back, taps, sum, magnitude);
    }
    gi_test_run(test);
    const float *found = gi_test_floats(test, 0, (uint64_t)m * params->y_stride, n);
    for (uint32_t i = 0; found && i < n; i++) {
        gi_test_expect(test, "y", i, c[i] * sum[i], fabs((double)c[i]) * magnitude[i], found[i]);
    }
}
