// Results with a norm of their own on their way into the residual, and the products that read it
// then.
#include "tests/kernel/cases/cases_gemv.h"

enum extra { GAMMA, ALL, PARTED, N_EXTRA };
static const char *const extras[] = {"gamma", "in parts with bias and gamma, parted, scaled",
                                     "gamma, parted"};

static uint64_t record_gemv_post(struct kt_run *run, const uint32_t *v)
{
    const uint32_t form = v[0], n_embd = v[1], n_cols = v[2], n_row = 40;
    const enum extra extra = (enum extra)v[3];
    const uint32_t type = form == KT_GEMV_SPLIT || form == 4 ? GI_GGML_TYPE_F32
                          : form == KT_GEMV_LARGE            ? GI_GGML_TYPE_IQ4_NL
                                                             : GI_GGML_TYPE_Q4_0;
    struct gi_recorder *recorder = &run->recorder;
    struct gi_stream stream = kt_gemv_stream(run, n_embd, 0);
    stream.is_parted = extra != GAMMA;
    const struct gi_weight in = kt_weight(
        run, &(struct kt_weight_params){.type = type,
                                        .n_rows = n_embd,
                                        .n_cols = n_cols,
                                        .max_part_rows = extra == ALL ? n_embd / 32 * 16 + 16 : 0,
                                        .has_bias = extra == ALL,
                                        .has_gamma = true,
                                        .has_post = true});
    const struct gi_weight out =
        kt_weight(run, &(struct kt_weight_params){.type = type, .n_rows = n_row, .n_cols = n_embd});
    const struct gi_range x = kt_random_rows(run, "x", 1, kt_pad32(n_cols), 1).range;
    const struct gi_range norm = kt_range(run, "norm", NULL, out.n_rows * sizeof(float));
    const struct gi_range plain = kt_range(run, "plain", NULL, out.n_rows * sizeof(float));
    struct gi_logits logits = {0};
    const size_t size = (size_t)gi_logits_layout(&logits, n_row);
    logits.range = kt_range(run, "logits", NULL, size);
    if (run->has_failed || !kt_gemv_set_form(run, form)) {
        return 0;
    }
    gi_op_gemv_post(recorder, "post", &in, x, 0, extra == ALL, &stream);
    gi_op_gemv_stream(recorder, "plain", &out, &stream, plain);
    gi_op_gemv_norm(recorder, "norm", &out, &stream, norm);
    gi_op_gemv_vocab(recorder, "logits", &out, &stream, 1, 0, &logits);
    return kt_weight_bytes(&in);
}

// The largest groups come last: their sums, with the codes of a codebook, must fit shared memory.
static const struct kt_axis post_axes[] = {
    KT_CHOICES("form", kt_gemv_form_name, KT_GEMV_SPLIT, 1, 2, 4, KT_GEMV_HALF, KT_GEMV_HALF + 2,
               KT_GEMV_LARGE),
    KT_NUMBERS("width", 96, 160, 4128), KT_NUMBERS("columns", 32, 64, 352),
    KT_NAMED("with", N_EXTRA, extras)};
KT_DESCRIBE(gemv_post, post_axes);
