#include "tests/kernel/cases/cases_gemv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Says what the logits are made to be.
enum vocab_content {
    VOCAB_PLAIN,
    VOCAB_TIED,     // x is zero: all logits are
    VOCAB_NAN,      // one logit is not a number
    VOCAB_INFINITE, // one logit is infinite
};

struct vocab_size {
    uint32_t n_embd, n_vocab, part_rows, n_ssq;
    float scale;
    bool has_bias;
    enum vocab_content content;
};

static const struct vocab_size vocab_sizes[] = {
    {32, 5, 0, 1, 1, false, VOCAB_PLAIN},          {96, 50, 16, 6, 0.5f, true, VOCAB_PLAIN},
    {64, 300, 0, 3, 1, false, VOCAB_TIED},         {64, 147, 112, 3, 1, true, VOCAB_NAN},
    {32, 1000, 0, 2, -1, true, VOCAB_INFINITE},    {2048, 100, 0, 64, 1, false, VOCAB_PLAIN},
    {576, 49152, 0, 36, 0.1f, false, VOCAB_PLAIN},
};

static void print_vocab(const struct kt_gemv_variant *variant, char *text, size_t size)
{
    static const char *const contents[] = {"", " tied", " nan", " infinite"};
    const struct vocab_size *s = &vocab_sizes[variant->size];
    int n = kt_gemv_print(variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u x %u scale %g%s%s%s", s->n_vocab, s->n_embd,
             (double)s->scale, s->part_rows ? " parts" : "", s->has_bias ? " bias" : "",
             contents[s->content]);
}

static void name_vocab(size_t index, char *text, size_t size)
{
    const struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    print_vocab(&variant, text, size);
}

// The first largest of what was found, and whether all are finite.
static uint32_t find_argmax(const float *logits, uint32_t n, bool *is_finite)
{
    uint32_t best = 0;
    *is_finite = true;
    for (uint32_t i = 0; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
        *is_finite = *is_finite && isfinite(logits[i]);
    }
    return best;
}

// Fails if two partial results have one row: top_k.comp counts them.
static bool check_distinct(struct kt_run *run, const struct gi_logits *logits,
                           const uint32_t (*partials)[2])
{
    bool *is_consumed = kt_alloc(logits->n_vocab, sizeof(*is_consumed));
    bool is_good = true;
    memset(is_consumed, 0, logits->n_vocab * sizeof(*is_consumed));
    for (uint32_t i = 0; is_good && i < logits->n_partial; i++) {
        const uint32_t row = partials[i][1];
        if (row < logits->n_vocab) {
            is_good = !is_consumed[row] || kt_fail(run, "two partial results have row %u", row);
            is_consumed[row] = true;
        }
    }
    free(is_consumed);
    return is_good;
}

static bool check_partials(struct kt_run *run, const struct gi_logits *logits, const float *found)
{
    struct partial {
        float value;
        uint32_t index;
    } *partials = kt_alloc(logits->n_partial, sizeof(*partials));
    bool is_good = kt_read(run, &logits->range, logits->partial * sizeof(uint32_t), partials,
                           logits->n_partial * sizeof(*partials));
    bool is_finite, is_sound = true;
    uint32_t best = 0, want = find_argmax(found, logits->n_vocab, &is_finite);
    for (uint32_t i = 0; i < logits->n_partial; i++) {
        const struct partial *p = &partials[i], *b = &partials[best];
        bool ranks_before = p->value > b->value || (p->value == b->value && p->index < b->index);
        best = ranks_before ? i : best;
        is_sound = is_sound && p->index != UINT32_MAX;
        if (p->index < logits->n_vocab && p->value != found[p->index]) {
            is_good = kt_fail(run, "partial %u holds another value than logit %u", i, p->index);
        }
    }
    if (is_good && is_sound != is_finite) {
        is_good = kt_fail(run, "partial results %s a logit that is not finite",
                          is_finite ? "invent" : "miss");
    }
    if (is_good && is_finite && partials[best].index != want) {
        is_good = kt_fail(run, "argmax is %u, want %u", partials[best].index, want);
    }
    if (is_good && is_finite) {
        is_good = check_distinct(run, logits, (const uint32_t(*)[2])(const void *)partials);
    }
    free(partials);
    return is_good;
}

static bool compare_vocab(struct kt_run *run, const struct gi_logits *logits,
                          const struct ref_value *y)
{
    float *found = kt_alloc(logits->n_vocab, sizeof(*found));
    bool is_good = kt_read(run, &logits->range, 0, found, logits->n_vocab * sizeof(*found));
    for (uint32_t i = 0; is_good && i < logits->n_vocab; i++) {
        double bound = kt_gemv_roundings() * (double)FLT_EPSILON * y[i].magnitude;
        if (isfinite(y[i].value) ? !(fabs((double)found[i] - y[i].value) <= bound)
                                 : isfinite(found[i])) {
            is_good = kt_fail(run, "logit %u: %.9g, want %.9g +- %.3g", i, (double)found[i],
                              y[i].value, bound);
        }
    }
    is_good = is_good && check_partials(run, logits, found);
    free(found);
    return is_good;
}

// Puts a bias that is not finite into one row.
static bool spoil_bias(struct kt_run *run, struct kt_weight *weight, uint32_t row, float value)
{
    const struct gi_weight_part *part = weight->weight.parts;
    while (row >= part->row_begin + part->n_rows) {
        part++;
    }
    weight->bias[row] = value;
    size_t at = (part->bias + row - part->row_begin) * sizeof(float);
    return kt_write(run, &part->aux, at, &value, sizeof(value));
}

static bool apply_content(struct kt_run *run, const struct vocab_size *size,
                          struct kt_weight *weight, struct kt_gemv_stream *stream)
{
    float *x = stream->values + stream->stream.norm;
    uint32_t row = kt_index(run, size->n_vocab);
    switch (size->content) {
    case VOCAB_TIED:
        memset(x, 0, size->n_embd * sizeof(*x));
        return kt_write(run, &stream->stream.range, stream->stream.norm * sizeof(float), x,
                        size->n_embd * sizeof(*x));
    case VOCAB_NAN:
        return spoil_bias(run, weight, row, NAN);
    case VOCAB_INFINITE:
        return spoil_bias(run, weight, row, INFINITY);
    default:
        return true;
    }
}

static bool check_vocab(struct kt_run *run, const struct kt_gemv_variant *variant, bool is_fine)
{
    const struct vocab_size *size = &vocab_sizes[variant->size];
    const float softcap = size->part_rows ? 2 : 0;
    struct kt_gemv_stream stream;
    struct kt_weight weight;
    struct gi_logits logits;
    const struct kt_weight_params params = {.type = variant->type,
                                            .n_rows = size->n_vocab,
                                            .n_cols = size->n_embd,
                                            .max_part_rows = size->part_rows,
                                            .has_bias = size->has_bias};
    size_t logits_size = (size_t)gi_logits_layout(&logits, size->n_vocab);
    logits.range = kt_range(run, "logits", NULL, logits_size);
    logits.is_fine = is_fine;
    bool is_good = kt_gemv_stream_init(&stream, run, size->n_embd, 0, size->n_ssq) &
                   kt_weight_init(&weight, run, &params);
    is_good = is_good && apply_content(run, size, &weight, &stream);
    struct ref_value *y = kt_alloc(weight.weight.n_rows, sizeof(*y));
    ref_gemv(y, weight.dense, stream.values + stream.stream.norm, weight.bias, size->n_vocab,
             size->n_embd, stream.inv_rms);
    for (uint32_t i = 0; i < size->n_vocab; i++) {
        y[i].value *= (double)size->scale;
        if (softcap > 0) {
            y[i].value = (double)softcap * tanh(y[i].value / (double)softcap);
        }
        y[i].magnitude *= fabs((double)size->scale);
    }
    is_good = is_good && kt_gemv_set_shape(run, variant);
    if (is_good) {
        gi_op_gemv_vocab(&run->recorder, "logits", &weight.weight, &stream.stream, size->scale,
                         softcap, &logits);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, 0, 1) && compare_vocab(run, &logits, y) &&
              kt_bench(run, 0, 1, kt_weight_bytes(&weight.weight));
    free(y);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

static bool run_vocab(struct kt_run *run, size_t index)
{
    const struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    const bool is_large = vocab_sizes[variant.size].n_vocab > 10000;
    return (is_large && variant.type != GI_GGML_TYPE_Q4_1 && kt_leave_out(run)) ||
           check_vocab(run, &variant, false);
}

const struct kt_suite kt_gemv_vocab = {
    .kernel = "gemv_vocab",
    .n_case = COUNT(vocab_sizes) * KT_GEMV_TYPES * KT_GEMV_SHAPES,
    .name = name_vocab,
    .run = run_vocab,
};

//-- stages ------------------------------------------------------------------------------

#define N_STAGE_SIZE (COUNT(vocab_sizes) - 1) // without the large one
static const uint32_t stage_types[] = {GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q8_0};

// Each with a partial result a group, then with several.
static struct kt_gemv_variant stage_variant(size_t index, bool *is_fine)
{
    const size_t type = index / 2 / KT_GEMV_STAGES % COUNT(stage_types);
    *is_fine = index % 2 == 1;
    return (struct kt_gemv_variant){stage_types[type],
                                    index / 2 / KT_GEMV_STAGES / COUNT(stage_types),
                                    KT_GEMV_NAMED + index / 2 % KT_GEMV_STAGES};
}

static void name_stage(size_t index, char *text, size_t size)
{
    bool is_fine;
    const struct kt_gemv_variant variant = stage_variant(index, &is_fine);
    print_vocab(&variant, text, size);
    const size_t n = strlen(text);
    snprintf(text + n, size - n, "%s", is_fine ? " fine" : "");
}

static bool run_stage(struct kt_run *run, size_t index)
{
    bool is_fine;
    const struct kt_gemv_variant variant = stage_variant(index, &is_fine);
    return !kt_gemv_fits(run, &variant) || check_vocab(run, &variant, is_fine);
}

const struct kt_suite kt_gemv_vocab_pipeline = {
    .kernel = "gemv_vocab_pipeline",
    .n_case = 2 * N_STAGE_SIZE * COUNT(stage_types) * KT_GEMV_STAGES,
    .name = name_stage,
    .run = run_stage,
};
