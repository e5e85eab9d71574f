// Quantising against bytes that PyPI gguf computed: data/quantize.golden, whose first line says
// which version, made by tools/golden/quant_golden.py.
#include "quant/quant.h"
#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64, MAX_LINE = 2048 };

static const struct {
    const char *name;
    enum gi_ggml_type type;
} types[] = {
    {"f16", GI_GGML_TYPE_F16},   {"bf16", GI_GGML_TYPE_BF16}, {"q4_0", GI_GGML_TYPE_Q4_0},
    {"q4_1", GI_GGML_TYPE_Q4_1}, {"q5_0", GI_GGML_TYPE_Q5_0}, {"q5_1", GI_GGML_TYPE_Q5_1},
    {"q8_0", GI_GGML_TYPE_Q8_0},
};
enum { N_TYPES = sizeof(types) / sizeof(types[0]) };

static size_t row_bytes(enum gi_ggml_type type)
{
    const struct gi_ggml_type_info *info = gi_ggml_type_find(type);
    return N / info->block_size * info->block_bytes;
}

static void check_bytes(enum gi_ggml_type type, const float row[N], const char *hex, int number)
{
    uint8_t found[N * 4 + 1];
    const size_t size = row_bytes(type);
    assert_int_equal(strlen(hex), 2 * size);
    assert_true(gi_quant_can_quantize(type));
    found[size] = 0xA5;
    gi_quant_quantize_row(type, row, N, found);
    assert_int_equal(found[size], 0xA5);
    for (size_t i = 0; i < size; i++) {
        const char digits[] = {hex[2 * i], hex[2 * i + 1], 0};
        if (found[i] != strtoul(digits, NULL, 16)) {
            fail_msg("%s, row %d: byte %zu is %02x, expected %s", gi_ggml_type_find(type)->name,
                     number, i, found[i], digits);
        }
    }
}

TEST(quantize_writes_the_bytes_of_gguf)
{
    char line[MAX_LINE];
    float row[N] = {0};
    int n_rows = 0, n_checks = 0;
    FILE *file = fopen(test_data("unit/data/quantize.golden"), "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file)); // the provenance
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        char *text = strchr(line, ' ');
        assert_non_null(text);
        *text++ = 0;
        if (strcmp(line, "row") == 0) {
            for (size_t i = 0; i < N; i++) {
                const uint32_t bits = (uint32_t)strtoul(text, &text, 16);
                memcpy(&row[i], &bits, sizeof(bits));
            }
            n_rows++;
        }
        for (size_t i = 0; i < N_TYPES; i++) {
            if (strcmp(types[i].name, line) == 0) {
                check_bytes(types[i].type, row, text, n_rows);
                n_checks++;
            }
        }
    }
    fclose(file);
    assert_int_equal(n_rows, 11);
    assert_int_equal(n_checks, n_rows * N_TYPES);
}

TEST(quantize_marks_values_that_are_not_finite)
{
    static const float values[] = {INFINITY, -INFINITY, NAN};
    for (size_t v = 0; v < 3; v++) {
        for (size_t i = 0; i < N_TYPES; i++) {
            uint8_t bytes[N * 4];
            float row[N] = {0};
            const struct gi_quant *quant = gi_quant_find(types[i].type);
            gi_quant_quantize_row(types[i].type, row, N, bytes);
            assert_true(gi_quant_is_finite(quant, bytes, N));
            row[37] = values[v];
            gi_quant_quantize_row(types[i].type, row, N, bytes);
            assert_false(gi_quant_is_finite(quant, bytes, N));
        }
    }
}

TEST(float_to_half_is_exact_for_all_halves)
{
    for (uint32_t bits = 0; bits <= 0xFFFF; bits++) {
        const float value = gi_half_to_float((uint16_t)bits);
        if (!isnan(value)) {
            assert_int_equal(gi_float_to_half(value), bits);
        }
    }
}

TEST(types_that_need_a_search_are_not_quantized_to)
{
    assert_false(gi_quant_can_quantize(GI_GGML_TYPE_Q4_K));
    assert_false(gi_quant_can_quantize(GI_GGML_TYPE_Q8_M));
}

RUN_TESTS(NULL, NULL)
