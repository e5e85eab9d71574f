// Tests whether weights are finite, as their scales tell, against what they dequantise to.
#include "quant/quant.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>

enum { N_BLOCK = 2000, MAX_BYTES = 256, MAX_WEIGHTS = 256, LAST_TYPE = 64 };

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

// Counts blocks of random bits that are not finite and those that are. MXFP4's largest exponents
// but one overflow, which is not looked for.
static void check_type(const struct gi_quant *quant, uint32_t n[2])
{
    const struct gi_ggml_type_info *type = gi_ggml_type_find(quant->type);
    uint32_t random = 17;
    for (int i = 0; i < N_BLOCK; i++) {
        uint8_t block[MAX_BYTES];
        float values[MAX_WEIGHTS];
        bool is_finite = true;
        for (uint32_t j = 0; j < type->block_bytes; j++) {
            block[j] = (uint8_t)(next_random(&random) >> 11);
        }
        gi_quant_dequantize_row(quant, block, type->block_size, values);
        for (uint32_t j = 0; j < type->block_size; j++) {
            is_finite = is_finite && isfinite(values[j]);
        }
        if (quant->type == GI_GGML_TYPE_MXFP4 && (block[0] == 253 || block[0] == 254)) {
            continue;
        }
        assert_int_equal(gi_quant_is_finite(quant, block, type->block_size), is_finite);
        n[is_finite]++;
    }
}

TEST(finite_is_what_dequantizes_to_finite_weights)
{
    for (uint32_t type = 0; type < LAST_TYPE; type++) {
        const struct gi_quant *quant = gi_quant_find(type);
        uint32_t n[2] = {0, 0};
        if (quant) {
            check_type(quant, n);
            // NaN as a scale of NVFP4 stands for 0.
            assert_true((n[0] > 0 || type == GI_GGML_TYPE_NVFP4) && n[1] > 0);
        }
    }
}

RUN_TESTS(NULL, NULL)
