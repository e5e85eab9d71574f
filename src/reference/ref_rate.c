// The kernels that measure a device's rates: glsl/measure.
#include "glsl/measure/measure_params.h"
#include "reference/reference.h"

#include <math.h>

void gi_ref_rate_copy(struct gi_ref *ref)
{
    const uint32_t n = 4 * ref->dispatch->grid.size[0] * gi_ref_define(ref, "WG_SIZE") *
                       gi_ref_define(ref, "LOADS");
    const void *x = gi_ref_floats(ref, 1, 0, n);
    for (uint32_t i = 0; x && i < n; i++) {
        gi_ref_expect_bits(ref, "y", 0, i, ((const uint32_t *)x)[i]);
    }
}

void gi_ref_rate_read(struct gi_ref *ref)
{
    const uint32_t size = gi_ref_define(ref, "WG_SIZE"), n_load = gi_ref_define(ref, "LOADS");
    const uint32_t n = ref->dispatch->grid.size[0] * size;
    const void *x = gi_ref_floats(ref, 1, 0, (size_t)4 * n * n_load);
    for (uint32_t j = 0; x && j < 4 * n; j++) {
        const uint32_t first = j / 4 / size * size * n_load + j / 4 % size;
        uint32_t parity = 0;
        for (uint32_t i = 0; i < n_load; i++) {
            parity ^= ((const uint32_t *)x)[4 * (first + i * size) + j % 4];
        }
        gi_ref_expect_bits(ref, "y", 0, j, parity);
    }
}

// A chain forgets its roundings by the factor: at most 2 / (1 - factor) of them count.
void gi_ref_rate_fma(struct gi_ref *ref)
{
    const struct gi_rate_fma_params *p = ref->params;
    const uint32_t n = ref->dispatch->grid.size[0] * gi_ref_define(ref, "WG_SIZE");
    for (uint32_t j = 0; j < n; j++) {
        double sum = 0;
        for (uint32_t chain = 0; chain < 16; chain++) {
            double x = (j & 15) / 16.0 + chain;
            for (uint32_t step = 0; step < 8 * p->n_round; step++) {
                x = x * (double)p->factor + (double)p->addend;
            }
            sum += x;
        }
        gi_ref_expect(ref, "y", 0, j, sum, fabs(sum));
    }
}
