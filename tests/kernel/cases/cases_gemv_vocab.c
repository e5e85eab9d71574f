#include "tests/kernel/cases/cases_gemv.h"

#include <math.h>
#include <stdlib.h>

// The content of the logits: with all that there may be; of an x of zeros all are equal.
enum content { PLAIN, ALL, SMALL, TIED, ONE_NAN, ONE_INFINITE, N_CONTENT };
static const char *const contents[] = {"plain",
                                       "in parts with bias, scaled and capped",
                                       "in parts with bias, far below the cap",
                                       "tied",
                                       "one nan",
                                       "one infinite"};
static const char *const fineness[] = {"coarse", "fine"};

// Makes the bias of one row not finite.
static void spoil_bias(struct kt_run *run, const struct gi_weight *weight, uint32_t row,
                       float value)
{
    const struct gi_weight_part *part = weight->parts;
    while (row >= part->row_begin + part->n_rows) {
        part++;
    }
    kt_write(run, &part->aux, (part->bias + row - part->row_begin) * sizeof(float), &value,
             sizeof(value));
}

static uint64_t record_vocab(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_vocab = v[2], n_embd = v[3];
    const enum content content = (enum content)v[4];
    const bool has_all = content == ALL || content == SMALL;
    if (n_vocab > 10000 && (v[0] != GI_GGML_TYPE_Q4_1 || has_all) && kt_leave_out(run)) {
        return 0;
    }
    struct gi_stream stream = kt_gemv_stream(run, n_embd, 0);
    const struct gi_weight weight = kt_weight(
        run, &(struct kt_weight_params){.type = v[0],
                                        .n_rows = n_vocab,
                                        .n_cols = n_embd,
                                        .max_part_rows = has_all ? n_vocab / 48 * 16 + 16 : 0,
                                        .has_bias = content != PLAIN && content != TIED});
    struct gi_logits logits = {0};
    const size_t size = (size_t)gi_logits_layout(&logits, n_vocab);
    logits.range = kt_range(run, "logits", NULL, size);
    logits.is_fine = v[5];
    if (run->has_failed || !kt_gemv_set_form(run, v[1])) {
        return 0;
    }
    if (content == TIED) {
        float *zeros = kt_alloc(n_embd, sizeof(*zeros));
        kt_write(run, &stream.range, stream.norm * sizeof(float), zeros, n_embd * sizeof(*zeros));
        free(zeros);
    } else if (content >= ONE_NAN) {
        spoil_bias(run, &weight, kt_index(run, n_vocab), content == ONE_NAN ? NAN : INFINITY);
    }
    gi_op_gemv_vocab(&run->recorder, "logits", &weight, &stream, has_all ? -0.5f : 1,
                     content == ALL ? 2
                     : has_all      ? 1000
                                    : 0,
                     &logits);
    return kt_weight_bytes(&weight);
}

#define record_gemv_vocab          record_vocab
#define record_gemv_vocab_pipeline record_vocab

static const struct kt_axis vocab_axes[] = {KT_GEMV_TYPES,
                                            KT_GEMV_FORMS,
                                            KT_NUMBERS("vocabulary", 5, 50, 300, 1000, 49152),
                                            KT_NUMBERS("columns", 32, 96, 2048),
                                            KT_NAMED("content", N_CONTENT, contents),
                                            KT_NAMED("partial results", 1, fineness)};
KT_DESCRIBE(gemv_vocab, vocab_axes);

static const struct kt_axis stage_axes[] = {
    KT_TYPES(GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q8_0), KT_GEMV_STAGES,
    KT_NUMBERS("vocabulary", 5, 50, 300, 1000),     KT_NUMBERS("columns", 32, 96, 2048),
    KT_NAMED("content", N_CONTENT, contents),       KT_NAMED("partial results", 2, fineness)};
KT_DESCRIBE(gemv_vocab_pipeline, stage_axes);
