#include "tests/kernel/cases/cases_gemv.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <stdio.h>
#include <stdlib.h>

struct glu_size {
    uint32_t n_embd, n_ff, part_rows, n_ssq;
    bool has_bias, is_gelu, has_norm;
    bool is_split;   // up is Q8_0, whatever gate is
    bool is_ungated; // with the square of a ReLU, or with is_gelu xIELU
    bool is_clamped;
};

static const struct glu_size glu_sizes[] = {
    {32, 8, 0, 1, false, false, true, false, false, false},
    {96, 40, 32, 6, true, true, true, false, false, false},
    {64, 36, 0, 3, false, true, false, false, false, false},
    {352, 128, 48, 5, true, false, false, false, false, false},
    {2048, 96, 0, 64, false, true, true, false, false, false},
    {576, 1536, 0, 36, false, false, true, false, false, false},
    {32, 8, 0, 1, false, false, true, true, false, false},
    {96, 40, 32, 6, true, true, true, true, false, false},
    {352, 128, 48, 5, true, false, false, true, false, false},
    {576, 1536, 0, 36, false, false, true, true, false, false},
    {96, 40, 32, 6, true, true, true, false, true, false},
    {352, 136, 48, 5, false, false, true, false, true, false},
    {96, 40, 32, 6, true, false, true, false, false, true},
    {576, 96, 0, 36, false, false, true, true, false, true},
};

static void print_glu(const struct kt_gemv_variant *variant, const struct glu_size *s, char *text,
                      size_t size)
{
    int n = kt_gemv_print(variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u x %u%s%s%s%s%s%s", s->n_ff, s->n_embd,
             s->part_rows ? " parts" : "", s->has_bias ? " bias" : "", s->is_gelu ? " gelu" : "",
             s->has_norm ? " norm" : "", s->is_split ? " apart" : "",
             s->is_ungated ? " ungated" : "");
}

static void name_glu(size_t index, char *text, size_t size)
{
    struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    print_glu(&variant, &glu_sizes[variant.size], text, size);
}

static enum ref_activation activation_of(const struct glu_size *size)
{
    return size->is_clamped                    ? REF_CLAMPED
           : size->is_gelu && size->is_ungated ? REF_XIELU
           : size->is_gelu                     ? REF_GELU
           : size->is_ungated                  ? REF_RELU_SQUARED
                                               : REF_SILU;
}

// The gate rows come first, then as many up rows: of each part, or of the whole matrix.
static void gather_act(const struct gi_weight *weight, const struct ref_value *y,
                       const struct glu_size *size, struct ref_value *act)
{
    const enum ref_activation activation = activation_of(size);
    const struct ref_value one = {1, 0};
    const bool is_whole = weight->is_split || weight->is_ungated;
    for (uint32_t i = 0; is_whole && i < size->n_ff; i++) {
        act[i] = ref_gemv_glu(y[i], weight->is_split ? y[weight->n_rows / 2 + i] : one, activation);
    }
    if (is_whole) {
        return;
    }
    for (uint32_t p = 0; p < weight->n_parts; p++) {
        const struct gi_weight_part *part = &weight->parts[p];
        uint32_t half = part->n_rows / 2;
        for (uint32_t i = 0; i < half && part->row_begin / 2 + i < size->n_ff; i++) {
            const struct ref_value *gate = &y[part->row_begin + i];
            act[part->row_begin / 2 + i] = ref_gemv_glu(gate[0], gate[half], activation);
        }
    }
}

static bool check_glu(struct kt_run *run, const struct kt_gemv_variant *variant,
                      const struct glu_size *size)
{
    struct kt_gemv_stream stream;
    struct kt_weight weight;
    uint32_t n_rows = size->is_ungated ? (size->n_ff + 15) / 16 * 16
                      : size->is_split ? (size->n_ff + 15) / 16 * 32
                                       : (size->n_ff + 7) / 8 * 16;
    const struct kt_weight_params params = {.type = variant->type,
                                            .is_split = size->is_split,
                                            .up_type = GI_GGML_TYPE_Q8_0,
                                            .n_rows = n_rows,
                                            .n_cols = size->n_embd,
                                            .max_part_rows = size->part_rows,
                                            .has_bias = size->has_bias};
    const struct gi_activation_rule rule = kt_activation(activation_of(size));
    struct gi_range range = kt_range(run, "act", NULL, size->n_ff * sizeof(float));
    bool is_good = kt_gemv_stream_init(&stream, run, size->n_embd, 0, size->n_ssq) &
                   kt_weight_init(&weight, run, &params);
    struct ref_value *y = kt_alloc(n_rows, sizeof(*y));
    struct ref_value *act = kt_alloc(size->n_ff, sizeof(*act));
    const float *x = stream.values + (size->has_norm ? stream.stream.norm : stream.stream.residual);
    weight.weight.is_ungated = size->is_ungated;
    ref_gemv(y, weight.dense, x, weight.bias, n_rows, size->n_embd,
             size->has_norm ? stream.inv_rms : 1);
    gather_act(&weight.weight, y, size, act);
    is_good = is_good && kt_gemv_set_shape(run, variant);
    if (is_good) {
        gi_op_gemv_glu(&run->recorder, "ffn_act", &weight.weight, size->n_ff, &rule, size->has_norm,
                       &stream.stream, range, NULL);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, 0, 1) &&
              kt_gemv_compare(run, "act", &range, 0, act, size->n_ff) &&
              kt_bench(run, 0, 1, kt_weight_bytes(&weight.weight));
    free(y);
    free(act);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

static bool run_glu(struct kt_run *run, size_t index)
{
    struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    return check_glu(run, &variant, &glu_sizes[variant.size]);
}

const struct kt_suite kt_gemv_glu = {
    .kernel = "gemv_glu",
    .n_case = COUNT(glu_sizes) * KT_GEMV_TYPES * KT_GEMV_SHAPES,
    .name = name_glu,
    .run = run_glu,
};

// In f16: slices of few blocks and of many, also where not all slices have as many, and groups that
// loop past the last pair.
static const struct glu_size glu_half_sizes[] = {
    {2048, 96, 0, 64, false, true, true, false, false, false},
    {2304, 232, 48, 48, true, false, true, false, false, false},
    {3072, 36, 0, 1, false, false, false, false, false, false},
};

static struct kt_gemv_variant get_half_variant(size_t index)
{
    static const uint32_t half_types[] = {GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q8_0,
                                          GI_GGML_TYPE_Q4_K};
    return (struct kt_gemv_variant){half_types[index / KT_GEMV_HALVES % COUNT(half_types)],
                                    index / KT_GEMV_HALVES / COUNT(half_types),
                                    KT_GEMV_NAMED - KT_GEMV_HALVES + index % KT_GEMV_HALVES};
}

static void name_glu_half(size_t index, char *text, size_t size)
{
    struct kt_gemv_variant variant = get_half_variant(index);
    print_glu(&variant, &glu_half_sizes[variant.size], text, size);
}

static bool run_glu_half(struct kt_run *run, size_t index)
{
    struct kt_gemv_variant variant = get_half_variant(index);
    return check_glu(run, &variant, &glu_half_sizes[variant.size]);
}

const struct kt_suite kt_gemv_glu_half = {
    .kernel = "gemv_glu_half",
    .n_case = COUNT(glu_half_sizes) * 4 * KT_GEMV_HALVES,
    .name = name_glu_half,
    .run = run_glu_half,
};

//-- what a layer makes of its own input ---------------------------------------------------------

// Parts, of which the last has rows for nothing, and an input between those of other layers.
enum { INPUT_EMBD = 96, INPUT_BEGIN = 64, INPUT_WIDTH = 40, INPUT_END = 128, N_INPUT_VARIANT = 5 };

static struct kt_gemv_variant get_input_variant(size_t index)
{
    static const struct kt_gemv_variant variants[N_INPUT_VARIANT] = {
        {GI_GGML_TYPE_Q8_0, 0, 0},
        {GI_GGML_TYPE_F32, 0, 4},
        {GI_GGML_TYPE_Q4_0, 0, 6},
        {GI_GGML_TYPE_Q4_0, 0, KT_GEMV_NAMED - KT_GEMV_HALVES},
        {GI_GGML_TYPE_Q8_0, 0, KT_GEMV_NAMED},
    };
    return variants[index];
}

static void name_input(size_t index, char *text, size_t size)
{
    struct kt_gemv_variant variant = get_input_variant(index);
    int n = kt_gemv_print(&variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u x %u", INPUT_WIDTH, INPUT_EMBD);
}

static bool run_input(struct kt_run *run, size_t index)
{
    const struct kt_gemv_variant variant = get_input_variant(index);
    struct kt_gemv_stream stream;
    struct kt_weight weight;
    const struct kt_weight_params params = {
        .type = variant.type, .n_rows = 48, .n_cols = INPUT_EMBD, .max_part_rows = 32};
    float inputs[INPUT_END];
    struct ref_value y[48], want[INPUT_END];
    kt_fill(run, inputs, INPUT_END, -3, 3);
    struct gi_range range = kt_range(run, "inputs", inputs, sizeof(inputs));
    bool is_good =
        kt_gemv_stream_init(&stream, run, INPUT_EMBD, 0, 1) & kt_weight_init(&weight, run, &params);
    ref_gemv(y, weight.dense, stream.values + stream.stream.residual, weight.bias, 48, INPUT_EMBD,
             1);
    for (uint32_t i = 0; i < INPUT_END; i++) {
        const bool is_own = i >= INPUT_BEGIN && i < INPUT_BEGIN + INPUT_WIDTH;
        const struct ref_value own = {(double)inputs[i], 0};
        want[i] = is_own ? ref_gemv_glu(y[i - INPUT_BEGIN], own, REF_GELU) : own;
    }
    is_good = is_good && kt_gemv_set_shape(run, &variant);
    if (is_good) {
        gi_op_gemv_gate_input(&run->recorder, "inputs", &weight.weight, INPUT_BEGIN, INPUT_WIDTH,
                              GI_ACTIVATION_GELU_TANH, &stream.stream, range);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, 0, 1) &&
              kt_gemv_compare(run, "inputs", &range, 0, want, INPUT_END);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

const struct kt_suite kt_gemv_gate_input = {
    .kernel = "gemv_gate_input",
    .n_case = N_INPUT_VARIANT,
    .name = name_input,
    .run = run_input,
};
