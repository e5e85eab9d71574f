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

static const struct gi_ggml_type_info *find_type(const char *name)
{
    for (uint32_t number = 0; number < 64; number++) {
        const struct gi_ggml_type_info *type = gi_ggml_type_find(number);
        if (type && strcmp(type->name, name) == 0) {
            return type;
        }
    }
    fail_msg("unknown type %s", name);
    return NULL;
}

// Types whose weights are not exact in f32: products of more bits than it has, and sums, which
// round to the size of their terms.
static const struct {
    const char *name;
    bool is_sum;
} rounded[] = {{"q6_k", false}, {"iq4_xs", false}, {"q4_1", true}, {"q5_1", true},
               {"q8_m", true},  {"q2_k", true},    {"q4_k", true}, {"q5_k", true}};

// Compares a block of n weights.
static void assert_agrees(const char *name, const float *found, const float *expected, size_t n)
{
    float epsilon = 0, term = 0;
    for (size_t i = 0; i < sizeof(rounded) / sizeof(rounded[0]); i++) {
        if (strcmp(rounded[i].name, name) == 0) {
            epsilon = 2 * FLT_EPSILON;
            for (size_t k = 0; k < n && rounded[i].is_sum; k++) {
                term = fmaxf(term, fabsf(expected[k]));
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        const bool is_good =
            isnan(expected[i]) ? isnan(found[i])
            : isinf(expected[i]) || epsilon == 0
                ? found[i] == expected[i]
                : fabsf(found[i] - expected[i]) <= epsilon * fmaxf(fabsf(expected[i]), term);
        if (!is_good) {
            fail_msg("%s: weight %zu is %.9g, expected %.9g", name, i, (double)found[i],
                     (double)expected[i]);
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
        static float found[MAX_WEIGHTS];
        const struct gi_ggml_type_info *type = find_type(golden.name);
        const size_t n = type->block_size;
        gi_quant_dequantize_row(gi_quant_find(type->type), golden.bytes + 1, golden.n_weights,
                                found);
        for (size_t i = 0; i < golden.n_weights; i += n) {
            assert_agrees(golden.name, found + i, golden.weights + i, n);
        }
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
