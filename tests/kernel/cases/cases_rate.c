// The kernels that measure a device's rates do what is counted.
#include "ops/record/rate.h"
#include "tests/kernel/fixture/kernel_axes.h"

#include <stdlib.h>

static struct gi_range random_words(struct kt_run *run, size_t size)
{
    uint32_t *words = kt_alloc(size, 1);
    for (size_t i = 0; i < size / sizeof(*words); i++) {
        words[i] = kt_bits(run);
    }
    const struct gi_range x = kt_range(run, "x", words, size);
    free(words);
    return x;
}

static uint64_t record_rate_copy(struct kt_run *run, const uint32_t *v)
{
    const size_t size = (size_t)v[0] * GI_RATE_UNIT;
    const struct gi_range x = random_words(run, size);
    gi_op_rate_copy(&run->recorder, kt_range(run, "y", NULL, size), x);
    return 2ull * size;
}

static uint64_t record_rate_read(struct kt_run *run, const uint32_t *v)
{
    const size_t size = (size_t)v[0] * GI_RATE_UNIT;
    const uint64_t y_size = gi_rate_parity_size(run->gpu, size);
    if (v[1] && !gi_gpu_limits(run->gpu)->has_texture_buffer) {
        return 0;
    }
    const struct gi_range x = random_words(run, size);
    gi_op_rate_read(&run->recorder, kt_range(run, "y", NULL, y_size), x, v[1]);
    return size + y_size;
}

static uint64_t record_rate_fma(struct kt_run *run, const uint32_t *v)
{
    gi_op_rate_fma(&run->recorder, kt_range(run, "y", NULL, v[0] * sizeof(float)), v[1], 0.9375F,
                   0.125F);
    return v[0] * sizeof(float);
}

static const char *const ways[] = {"storage", "texels"};
static const struct kt_axis copy_axes[] = {KT_NUMBERS("units", 1, 5)};
static const struct kt_axis read_axes[] = {KT_NUMBERS("units", 1, 3, 5), KT_NAMED("by", 2, ways)};
static const struct kt_axis fma_axes[] = {KT_NUMBERS("numbers", 64, 128, 1024),
                                          KT_NUMBERS("rounds", 0, 1, 3, 40)};
KT_DESCRIBE(rate_copy, copy_axes);
KT_DESCRIBE(rate_read, read_axes);
KT_DESCRIBE(rate_fma, fma_axes);
