#include "tests/kernel/cases/cases_gemv.h"

// How gate and up lie; up has a type of its own if they are apart.
enum layout { WHOLE, IN_PARTS, APART, APART_PARTS };
static const char *const layouts[] = {"whole", "in parts", "apart", "apart in parts"};
static const char *const inputs[] = {"residual", "residual, bias", "norm", "norm, bias"};

static uint64_t record_gemv_glu(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_ff = v[2], n_embd = v[3], layout = v[4];
    const enum gi_activation activation = (enum gi_activation)v[5];
    const bool is_ungated = kt_is_ungated(activation);
    const bool is_split = layout >= APART && !is_ungated;
    const struct gi_activation_rule rule = kt_activation(activation);
    const struct gi_stream stream = kt_gemv_stream(run, n_embd, 0);
    const struct gi_range act = kt_range(run, "act", NULL, gi_x_size(n_ff) * sizeof(float));
    struct gi_weight weight =
        kt_weight(run, &(struct kt_weight_params){.type = v[0],
                                                  .is_split = is_split,
                                                  .up_type = GI_GGML_TYPE_Q8_0,
                                                  .n_rows = is_ungated ? n_ff
                                                            : is_split ? (n_ff + 15) / 16 * 32
                                                                       : (n_ff + 7) / 8 * 16,
                                                  .n_cols = n_embd,
                                                  .max_part_rows = layout % 2 ? 48 : 0,
                                                  .has_bias = v[6] % 2});
    weight.is_ungated = is_ungated;
    if (run->has_failed || !kt_gemv_set_form(run, v[1])) {
        return 0;
    }
    gi_op_gemv_glu(&run->recorder, "ffn_act", &weight, n_ff, &rule, v[6] >= 2, &stream, act, NULL);
    return kt_weight_bytes(&weight);
}

#define record_gemv_glu_half record_gemv_glu

static const struct kt_axis glu_axes[] = {KT_GEMV_TYPES,
                                          KT_GEMV_FORMS,
                                          KT_NUMBERS("gates", 8, 36, 40, 136),
                                          KT_NUMBERS("columns", 32, 96, 352, 2048),
                                          KT_NAMED("layout", 4, layouts),
                                          KT_ALL_ACTIVATIONS,
                                          KT_NAMED("input", 4, inputs)};
KT_DESCRIBE(gemv_glu, glu_axes);

// In f16: slices of few blocks and of many, also where not all slices have as many, and groups that
// loop past the last pair.
static const struct kt_axis half_axes[] = {
    KT_TYPES(GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q8_0, GI_GGML_TYPE_Q4_K),
    KT_CHOICES("form", kt_gemv_form_name, 10, 11, 12, 13, 14),
    KT_NUMBERS("gates", 36, 96, 232),
    KT_NUMBERS("columns", 2048, 2304, 3072),
    KT_NAMED("layout", 2, layouts),
    KT_CHOICES("activation", kt_activation_name, GI_ACTIVATION_SILU, GI_ACTIVATION_GELU_TANH),
    KT_NAMED("input", 4, inputs),
};
KT_DESCRIBE(gemv_glu_half, half_axes);

//-- the gate of a layer's own input ---------------------------------------------------------------

// Parts, of which the last has rows for nothing, and an input between those of other layers.
static uint64_t record_gemv_gate_input(struct kt_run *run, const uint32_t *v)
{
    const uint32_t begin = 64, width = 40, n_embd = 96;
    const struct gi_stream stream = kt_gemv_stream(run, n_embd, 0);
    const struct gi_range range = kt_random_rows(run, "inputs", 1, 128, 3).range;
    const struct gi_weight weight =
        kt_weight(run, &(struct kt_weight_params){
                           .type = v[0], .n_rows = width, .n_cols = n_embd, .max_part_rows = 32});
    if (!run->has_failed && kt_gemv_set_form(run, v[1])) {
        gi_op_gemv_gate_input(&run->recorder, "inputs", &weight, begin, width,
                              GI_ACTIVATION_GELU_TANH, &stream, range);
    }
    return kt_weight_bytes(&weight);
}

static const struct kt_axis input_axes[] = {
    KT_TYPES(GI_GGML_TYPE_Q8_0, GI_GGML_TYPE_Q4_0),
    KT_CHOICES("form", kt_gemv_form_name, KT_GEMV_SPLIT, 4, KT_GEMV_BYTES, KT_GEMV_HALF,
               KT_GEMV_STAGE),
};
KT_DESCRIBE(gemv_gate_input, input_axes);
