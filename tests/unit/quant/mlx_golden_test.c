// Rows of MLX as floats and as blocks, against weights that PyPI mlx computed: data/mlx.golden,
// whose first line says which version, made by tools/golden/mlx/mlx_golden.py.
#include "hf/mlx/mlx.h"
#include "quant/quant.h"
#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_COLS = 128, MAX_LINE = 2048, MAX_ROW = 256 };

struct golden {
    struct gi_mlx_format format;
    char label[64];
    uint8_t row[MAX_ROW];
    float weights[N_COLS];
};

static bool read_format(FILE *file, struct golden *golden)
{
    static const char *const scales[] = {"u8", "f16", "bf16", "f32"};
    struct gi_mlx_format *format = &golden->format;
    char line[MAX_LINE], mode[16], scale[16];
    if (!fgets(line, sizeof(line), file)) {
        return false;
    }
    assert_int_equal(sscanf(line, "format %15s %u %u %15s %f", mode, &format->bits, &format->group,
                            scale, &format->factor),
                     5);
    assert_true(gi_mlx_mode_find(mode, &format->mode));
    assert_string_equal(gi_mlx_mode_name(format->mode), mode);
    for (int i = 0; i < 4; i++) {
        if (strcmp(scales[i], scale) == 0) {
            format->scale = (enum gi_mlx_scale)i;
        }
    }
    snprintf(golden->label, sizeof(golden->label), "%s, %u bits, groups of %u, %s", mode,
             format->bits, format->group, scale);
    return true;
}

static bool read_golden(FILE *file, struct golden *golden)
{
    char line[MAX_LINE];
    if (!read_format(file, golden)) {
        return false;
    }
    assert_true(fgets(line, sizeof(line), file) && strncmp(line, "bytes ", 6) == 0);
    const size_t size = strcspn(line + 6, "\n") / 2;
    assert_int_equal(size, gi_mlx_row_size(&golden->format, N_COLS));
    for (size_t i = 0; i < size; i++) {
        const char digits[] = {line[6 + 2 * i], line[7 + 2 * i], 0};
        golden->row[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    assert_true(fgets(line, sizeof(line), file) && strncmp(line, "weights ", 8) == 0);
    char *end = line + 8;
    for (size_t i = 0; i < N_COLS; i++) {
        const uint32_t bits = (uint32_t)strtoul(end, &end, 16);
        memcpy(&golden->weights[i], &bits, sizeof(bits));
    }
    return true;
}

// Weights of affine are sums, which may round to the size of their terms; others are exact.
static void assert_agrees(const struct golden *golden, const char *what, const float *found,
                          float epsilon)
{
    for (size_t i = 0; i < N_COLS; i++) {
        const float error = fabsf(found[i] - golden->weights[i]);
        if (!(error <= epsilon)) {
            fail_msg("%s, %s: weight %zu is %.9g, expected %.9g", golden->label, what, i,
                     (double)found[i], (double)golden->weights[i]);
        }
    }
}

static float epsilon_of(const struct golden *golden)
{
    float largest = 0.0f;
    for (size_t i = 0; i < N_COLS; i++) {
        largest = fmaxf(largest, fabsf(golden->weights[i]));
    }
    return golden->format.mode == GI_MLX_AFFINE || golden->format.factor != 1.0f
               ? 4 * FLT_EPSILON * largest
               : 0.0f;
}

static void each_golden(void (*check)(const struct golden *golden))
{
    char line[MAX_LINE];
    struct golden golden;
    size_t n = 0;
    FILE *file = fopen(test_data("unit/data/mlx.golden"), "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file)); // the provenance
    for (; read_golden(file, &golden); n++) {
        assert_true(gi_mlx_is_known(&golden.format));
        check(&golden);
    }
    fclose(file);
    assert_int_equal(n, 24);
}

static void check_floats(const struct golden *golden)
{
    float found[N_COLS];
    gi_mlx_dequantize_row(&golden->format, golden->row, N_COLS, found);
    assert_agrees(golden, "floats", found, epsilon_of(golden));
}

TEST(dequantize_agrees_with_mlx)
{
    each_golden(check_floats);
}

static void check_blocks(const struct golden *golden)
{
    static const enum gi_ggml_type larger[] = {GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q5_1,
                                               GI_GGML_TYPE_Q8_M};
    const enum gi_ggml_type type = gi_mlx_type(&golden->format);
    // Scales of f32 lose bits: 2^-11 of the largest of 64 quants, and of the bias.
    const float epsilon =
        golden->format.scale == GI_MLX_SCALE_F32 ? 0.5f * 0x1p-11f : epsilon_of(golden);
    if (type == GI_GGML_TYPE_F32) {
        assert_true(golden->format.mode == GI_MLX_MXFP8 || golden->format.factor != 1.0f);
        return;
    }
    bool takes = golden->format.mode != GI_MLX_AFFINE;
    for (size_t i = 0; i < sizeof(larger) / sizeof(larger[0]); i++) {
        const enum gi_ggml_type to = golden->format.mode == GI_MLX_AFFINE ? larger[i] : type;
        uint8_t blocks[N_COLS * 2];
        float found[N_COLS];
        takes = takes || to == type;
        if (takes) {
            const struct gi_quant *quant = gi_quant_find(to);
            gi_mlx_convert_row(&golden->format, golden->row, N_COLS, to, blocks);
            gi_quant_dequantize_row(quant, blocks, N_COLS, found);
            assert_agrees(golden, gi_ggml_type_find(to)->name, found, epsilon);
            assert_true(gi_quant_is_finite(quant, blocks, N_COLS));
        }
    }
}

TEST(blocks_have_the_weights_of_mlx)
{
    each_golden(check_blocks);
}

TEST(unknown_formats_are_told)
{
    static const struct {
        struct gi_mlx_format format;
        bool is_known;
    } cases[] = {
        {{GI_MLX_AFFINE, 4, 64, GI_MLX_SCALE_BF16, 1}, true},
        {{GI_MLX_AFFINE, 1, 64, GI_MLX_SCALE_BF16, 1}, false},
        {{GI_MLX_AFFINE, 7, 64, GI_MLX_SCALE_BF16, 1}, false},
        {{GI_MLX_AFFINE, 40, 64, GI_MLX_SCALE_BF16, 1}, false},
        {{GI_MLX_AFFINE, 4, 16, GI_MLX_SCALE_BF16, 1}, false},
        {{GI_MLX_AFFINE, 4, 96, GI_MLX_SCALE_BF16, 1}, false},
        {{GI_MLX_AFFINE, 4, 256, GI_MLX_SCALE_BF16, 1}, false},
        {{GI_MLX_AFFINE, 4, 0, GI_MLX_SCALE_BF16, 1}, false},
        {{GI_MLX_AFFINE, 4, 64, GI_MLX_SCALE_U8, 1}, false},
        {{GI_MLX_MXFP4, 4, 32, GI_MLX_SCALE_U8, 1}, true},
        {{GI_MLX_MXFP4, 4, 64, GI_MLX_SCALE_U8, 1}, false},
        {{GI_MLX_MXFP4, 8, 32, GI_MLX_SCALE_U8, 1}, false},
        {{GI_MLX_NVFP4, 4, 16, GI_MLX_SCALE_U8, 1}, true},
        {{GI_MLX_NVFP4, 4, 16, GI_MLX_SCALE_F16, 1}, false},
    };
    enum gi_mlx_mode mode;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(gi_mlx_is_known(&cases[i].format), cases[i].is_known);
    }
    assert_false(gi_mlx_mode_find("ternary", &mode));
}

RUN_TESTS(NULL, NULL)
