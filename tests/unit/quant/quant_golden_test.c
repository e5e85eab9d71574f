// Dequantisation against weights that PyPI gguf computed: data/quants.golden, whose first line says
// which version, made by tools/golden/quant_golden.py.
#include "quant/quant.h"
#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_WEIGHTS 512
#define MAX_LINE    8192

struct golden {
    char name[16];
    uint8_t bytes[1024]; // unaligned
    size_t n_weights;
    float weights[MAX_WEIGHTS];
};

// The word after keyword on the next line.
static char *read_line(FILE *file, char line[MAX_LINE], const char *keyword)
{
    const size_t size = strlen(keyword);
    if (!fgets(line, MAX_LINE, file)) {
        return NULL;
    }
    line[strcspn(line, "\n")] = 0;
    assert_true(strncmp(line, keyword, size) == 0 && line[size] == ' ');
    return line + size + 1;
}

static void parse_bytes(const char *hex, struct golden *golden)
{
    const size_t n = strlen(hex) / 2;
    assert_true(n < sizeof(golden->bytes));
    for (size_t i = 0; i < n; i++) {
        const char digits[] = {hex[2 * i], hex[2 * i + 1], 0};
        golden->bytes[i + 1] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

static void parse_weights(char *text, struct golden *golden)
{
    golden->n_weights = 0;
    for (char *end = text; *text; text = end) {
        uint32_t bits = (uint32_t)strtoul(text, &end, 16);
        assert_true(end > text && golden->n_weights < MAX_WEIGHTS);
        memcpy(&golden->weights[golden->n_weights++], &bits, sizeof(bits));
    }
}

static bool read_golden(FILE *file, char line[MAX_LINE], struct golden *golden)
{
    const char *name = read_line(file, line, "type");
    if (!name) {
        return false;
    }
    const size_t size = strlen(name) + 1;
    assert_true(size <= sizeof(golden->name));
    memcpy(golden->name, name, size);
    parse_bytes(read_line(file, line, "bytes"), golden);
    parse_weights(read_line(file, line, "weights"), golden);
    return true;
}

static const struct gi_quant *find_by_name(const char *name)
{
    for (uint32_t number = 0; number < 64; number++) {
        const struct gi_ggml_type_info *type = gi_ggml_type_find(number);
        if (type && strcmp(type->name, name) == 0) {
            return gi_quant_find(number);
        }
    }
    return NULL;
}

// A weight is a product, whose factors round, or a sum, which also rounds to the size of its terms.
static void assert_agrees(const struct gi_quant *quant, const struct golden *golden)
{
    static const char *const sums[] = {"q4_1", "q5_1", "q2_k", "q4_k", "q5_k"};
    float found[MAX_WEIGHTS], term = 0;
    gi_quant_dequantize_row(quant, golden->bytes + 1, golden->n_weights, found);
    for (size_t i = 0; i < golden->n_weights * sizeof(sums) / sizeof(sums[0]); i++) {
        const bool is_sum = strcmp(sums[i % 5], golden->name) == 0;
        term = is_sum ? fmaxf(term, fabsf(golden->weights[i / 5])) : term;
    }
    for (size_t i = 0; i < golden->n_weights; i++) {
        const float expected = golden->weights[i];
        const bool is_good = isnan(expected)   ? isnan(found[i])
                             : isinf(expected) ? found[i] == expected
                                               : fabsf(found[i] - expected) <=
                                                     2 * FLT_EPSILON * fmaxf(fabsf(expected), term);
        if (!is_good) {
            fail_msg("%s: weight %zu is %.9g, expected %.9g", golden->name, i, (double)found[i],
                     (double)expected);
        }
    }
}

TEST(dequantize_agrees_with_gguf)
{
    char line[MAX_LINE];
    struct golden golden;
    size_t n_known = 0;
    FILE *file = fopen(test_data("unit/data/quants.golden"), "r");
    assert_non_null(file);
    assert_non_null(fgets(line, MAX_LINE, file)); // the provenance
    while (read_golden(file, line, &golden)) {
        const struct gi_quant *quant = find_by_name(golden.name);
        assert_non_null(quant);
        assert_agrees(quant, &golden);
        n_known++;
    }
    fclose(file);
    size_t n_type = 1;
    for (const char *names = gi_quant_names(); *names; names++) {
        n_type += *names == ',';
    }
    assert_int_equal(n_known, n_type);
}

RUN_TESTS(NULL, NULL)
