// Inputs of layers: what glsl/embed/add_inputs.comp and gate_input.comp say that they compute.
#include "engine/selftest/test_case.h"
#include "ops/record/params.h"

#include <math.h>

static double mean_square(const float *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)x[i] * x[i];
    }
    return sum / n;
}

void gi_check_add_inputs(struct gi_test *test)
{
    const struct gi_add_inputs_params *params = (const void *)test->params;
    const uint32_t token = test->n_tokens - 1, n = params->width;
    const uint32_t first = (test->dispatch->grid.size[0] - 1) * n; // of the last layer
    const uint64_t at = (uint64_t)token * params->stride + first;
    const float *gamma = gi_test_floats(test, 2, params->gamma, n);
    const float *y = gi_test_floats(test, 1, (uint64_t)token * params->y_stride + first, n);
    const float *before = gi_test_floats(test, 0, at, n);
    gi_test_run(test);
    const float *found = gi_test_floats(test, 0, at, n);
    const double scale = found ? 1 / sqrt(mean_square(y, n) + params->eps) : 0;
    for (uint32_t i = 0; found && i < n; i++) {
        const double normed = y[i] * scale * gamma[i];
        gi_test_expect(test, "inputs", i, (normed + before[i]) / sqrt(2),
                       fabs(normed) + fabs((double)before[i]), found[i]);
    }
}

void gi_check_gate_input(struct gi_test *test)
{
    const struct gi_gate_input_params *params = (const void *)test->params;
    const uint32_t token = test->n_tokens - 1, n = params->width;
    const uint32_t activation = (uint32_t)gi_test_define(test, "ACTIVATION");
    const struct gi_xielu none = {0}; // no such model has it
    const float *gate = gi_test_floats(test, 1, (uint64_t)token * params->gate_stride, n);
    const float *inputs =
        gi_test_floats(test, 2, (uint64_t)token * params->stride + params->begin, n);
    gi_test_run(test);
    const float *act = gi_test_floats(test, 0, (uint64_t)token * params->act_stride, n);
    for (uint32_t i = 0; act && i < n; i++) {
        const double expected = gi_test_activate(activation, &none, gate[i]) * inputs[i];
        gi_test_expect(test, "act", i, expected, fabs(expected) * (2 + fabs((double)gate[i])),
                       act[i]);
    }
}
