#include "tests/kernel/cases/cases_gemv.h"

// Axes: type, form, width of the residual, columns, what the weight has and how it is scaled.
enum extra { GAMMA, PARTS_BIAS_GAMMA, PLAIN, BIAS, N_EXTRA };
static const char *const extras[] = {"gamma", "in parts with bias and gamma, by 0.25", "plain",
                                     "bias, by -2"};

static uint64_t record_residual(struct kt_run *run, const uint32_t *v)
{
    const uint32_t form = v[1], n_embd = v[2], skipped = 32; // floats before x
    const enum extra extra = (enum extra)v[4];
    struct gi_stream stream = kt_gemv_stream(run, n_embd, 0);
    const struct gi_weight weight = kt_weight(
        run, &(struct kt_weight_params){.type = v[0],
                                        .n_rows = n_embd,
                                        .n_cols = v[3],
                                        .max_part_rows = extra == PARTS_BIAS_GAMMA ? 16 : 0,
                                        .has_bias = extra == PARTS_BIAS_GAMMA || extra == BIAS,
                                        .has_gamma = extra == GAMMA || extra == PARTS_BIAS_GAMMA});
    const struct gi_range x =
        kt_random_rows(run, "x", 1, skipped + gi_x_size(weight.n_cols), 1).range;
    if (run->has_failed || !kt_gemv_set_form(run, form)) {
        return 0;
    }
    gi_op_gemv_residual(&run->recorder, "attn_out", &weight, x, skipped,
                        form >= KT_GEMV_DOT && extra != PARTS_BIAS_GAMMA,
                        extra == BIAS               ? -2
                        : extra == PARTS_BIAS_GAMMA ? 0.25f
                                                    : 1,
                        &stream);
    return kt_weight_bytes(&weight);
}

#define record_gemv_residual record_residual
#define record_gemv_quant    record_residual
#define record_gemv_dot      record_residual
#define record_gemv_pipeline record_residual

static const struct kt_axis residual_axes[] = {
    KT_GEMV_TYPES,
    KT_GEMV_FORMS,
    KT_NUMBERS("width", 16, 40, 128, 576),
    KT_NUMBERS("columns", 32, 96, 352, 1536, 2048),
    KT_NAMED("with", N_EXTRA, extras),
};
KT_DESCRIBE(gemv_residual, residual_axes);

// All weight types, with odd numbers of blocks and of super-blocks.
static const struct kt_axis quant_axes[] = {
    KT_ALL_TYPES,
    KT_GEMV_FORMS,
    KT_NUMBERS("width", 48),
    KT_NUMBERS("columns", 224, 768),
    KT_NAMED("with", 2, extras),
};
KT_DESCRIBE(gemv_quant, quant_axes);

// Odd and even numbers of blocks, several super-blocks in each case; x too large for the smallest
// uniform block. The form by bytes takes the last four types by quads.
static const struct kt_axis dot_axes[] = {
    KT_TYPES(GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q8_0, GI_GGML_TYPE_Q4_K,
             GI_GGML_TYPE_Q6_K, GI_GGML_TYPE_Q5_0, GI_GGML_TYPE_Q5_1, GI_GGML_TYPE_Q5_K,
             GI_GGML_TYPE_Q3_K, GI_GGML_TYPE_Q2_K, GI_GGML_TYPE_IQ4_NL, GI_GGML_TYPE_IQ2_XS,
             GI_GGML_TYPE_IQ1_M, GI_GGML_TYPE_TQ1_0, GI_GGML_TYPE_Q1_0, GI_GGML_TYPE_Q2_0),
    KT_CHOICES("form", kt_gemv_form_name, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 21),
    KT_NUMBERS("width", 40, 128),
    KT_NUMBERS("columns", 640, 736, 4608),
    KT_NAMED("with", N_EXTRA, extras),
};
KT_DESCRIBE(gemv_dot, dot_axes);

// Slices of one block, of some and of many; fewer pairs than groups and many turns; x in parts.
static const struct kt_axis stage_axes[] = {
    KT_TYPES(GI_GGML_TYPE_F32, GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q8_0, GI_GGML_TYPE_Q4_K),
    KT_GEMV_STAGES,
    KT_NUMBERS("width", 40, 112, 512),
    KT_NUMBERS("columns", 256, 768, 2304, 8192, 14336, 16384),
    KT_NAMED("with", N_EXTRA, extras),
};
KT_DESCRIBE(gemv_pipeline, stage_axes);
