// The vectors that encoders add to their embeddings: what glsl/embed/add_positions.comp computes.
#include "engine/selftest/test_case.h"
#include "glsl/embed/embed_params.h"

#include <math.h>

void gi_check_add_positions(struct gi_test *test)
{
    const struct gi_add_positions_params *params = (const void *)test->params;
    const uint32_t n = params->width, token = test->n_tokens - 1;
    const float *before = gi_test_floats(test, 0, (uint64_t)token * params->x_stride, n);
    const float *row =
        gi_test_floats(test, 2, params->table + (uint64_t)(test->n_past + token) * n, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    for (uint32_t i = 0; before && row && expected && i < n; i++) {
        expected[i] = (double)before[i] + (double)row[i];
    }
    gi_test_run(test);
    const float *after = gi_test_floats(test, 0, (uint64_t)token * params->x_stride, n);
    for (uint32_t i = 0; after && expected && i < n; i++) {
        gi_test_expect(test, "x", i, expected[i], 1e-6 + fabs(expected[i]), after[i]);
    }
}
