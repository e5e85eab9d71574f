// Embedding, of a step and of a batch, and the activation of a batch, against their formulas in
// double.
#include "ops/gemv/gemv.h"
#include "tests/kernel/cases/cases_slots.h"
#include "tests/kernel/fixture/kernel_rows.h"
#include "tests/ref/ref_batch.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- embed -----------------------------------------------------------------------------------------

struct embed_case {
    uint32_t type, n_vocab, n_embd, max_part_rows, n_rot, n_past, token;
};

#define TYPE_CASE(name, text, folder, number, ...) {number, 20, 768, 0, 2, 0, (number) % 20},
static const struct embed_case embed_cases[] = {{GI_GGML_TYPE_F32, 64, 32, 0, 2, 0, 0},
                                                {GI_GGML_TYPE_F16, 64, 96, 16, 32, 1, 63},
                                                {GI_GGML_TYPE_Q4_0, 500, 576, 64, 64, 63, 499},
                                                {GI_GGML_TYPE_Q4_1, 500, 576, 0, 64, 64, 17},
                                                {GI_GGML_TYPE_Q8_0, 500, 1536, 48, 6, 500, 48},
                                                {GI_GGML_TYPE_Q8_0, 100, 4096, 16, 128, 2000, 31},
                                                GI_WEIGHT_TYPE_MAP(TYPE_CASE)};

static void embed_name(size_t index, char *text, size_t size)
{
    const struct embed_case *c = &embed_cases[index];
    snprintf(text, size, "%s %ux%u token %u in parts of %u, rotations of %u",
             gi_ggml_type_find(c->type)->name, c->n_vocab, c->n_embd, c->token, c->max_part_rows,
             c->n_past);
}

// Zeros with room for the vectors of a stream and a table of rotations up to n_past.
// Whole vec4: a driver may give zeros for one that ends past the buffer, as softpipe does.
static struct gi_vectors make_embed_vectors(struct kt_run *run, const struct embed_case *c,
                                            float **values)
{
    uint32_t rope = kt_pad32(c->n_embd) + 4;
    size_t n = (rope + (size_t)(c->n_past + 1) * c->n_rot + 3) / 4 * 4;
    *values = kt_alloc(n, sizeof(float));
    kt_fill(run, *values, n, -1, 1);
    return kt_vectors(run, *values, n, rope);
}

static bool run_embed_token(struct kt_run *run, size_t index)
{
    const struct embed_case *c = &embed_cases[index];
    const float scale = 1.5f;
    struct kt_weight weight;
    struct gi_stream stream = {0};
    float *values = NULL;
    double *want = kt_alloc(2 * (size_t)c->n_embd + c->n_rot, sizeof(double));
    double *zeros = kt_alloc(c->n_rot, sizeof(double));
    struct gi_vectors vectors = make_embed_vectors(run, c, &values);
    uint64_t size = gi_stream_layout(&stream, c->n_embd, c->n_rot, 0);
    stream.range = kt_range(run, "stream", NULL, (size_t)size);
    run->state.token = c->token;
    bool is_good = kt_weight_init(&weight, run,
                                  &(struct kt_weight_params){.type = c->type,
                                                             .n_rows = c->n_vocab,
                                                             .n_cols = c->n_embd,
                                                             .max_part_rows = c->max_part_rows});
    if (is_good) {
        gi_op_embed_token(&run->recorder, &weight.weight, &vectors, 4, scale, &stream);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, c->n_past, 1);
    if (is_good) {
        const float *row = weight.dense + (size_t)c->token * c->n_embd;
        double ssq = ref_embed(row, values + 4, c->n_embd, (double)scale, want, want + c->n_embd);
        double *rotations = want + 2 * (size_t)c->n_embd;
        for (uint32_t i = 0; i < c->n_rot; i++) {
            rotations[i] = (double)values[vectors.rope + (size_t)c->n_past * c->n_rot + i];
        }
        is_good = kt_check_stream(run, &stream, want, want + c->n_embd, ssq, 4) &&
                  kt_compare_f32(run, "rope", &stream.range, stream.rope * sizeof(float), rotations,
                                 zeros, c->n_rot) &&
                  kt_bench(run, c->n_past, 1, (uint64_t)c->n_embd * 8);
    }
    kt_weight_finish(&weight);
    free(values);
    free(want);
    free(zeros);
    return is_good;
}

const struct kt_suite kt_embed_token = {"embed_token", COUNT(embed_cases), embed_name,
                                        run_embed_token};

static const uint32_t embed_batch_sizes[] = {1, 7, 33, 512};

static void embed_batch_name(size_t index, char *text, size_t size)
{
    const struct embed_case *c = &embed_cases[index / COUNT(embed_batch_sizes)];
    snprintf(text, size, "%s %ux%u in parts of %u, %u tokens", gi_ggml_type_find(c->type)->name,
             c->n_vocab, c->n_embd, c->max_part_rows,
             embed_batch_sizes[index % COUNT(embed_batch_sizes)]);
}

static bool check_embed_batch(struct kt_run *run, const struct kt_weight *weight,
                              const uint32_t *tokens, uint32_t n_tokens, double scale,
                              const struct gi_rows *x)
{
    uint32_t n = weight->weight.n_cols;
    double *want = kt_alloc((size_t)n_tokens * n, sizeof(double));
    double *bound = kt_alloc((size_t)n_tokens * n, sizeof(double));
    for (size_t i = 0; i < (size_t)n_tokens * n; i++) {
        want[i] = scale * (double)weight->dense[(size_t)tokens[i / n] * n + i % n];
        bound[i] = 2 * (double)FLT_EPSILON * fabs(want[i]);
    }
    bool is_good = kt_compare_rows(run, "x", x, n_tokens, 0, n, want, bound);
    free(want);
    free(bound);
    return is_good;
}

// Records the same for the slots of a joint step. Of one that is out the token is 0.
static bool record_joint(struct kt_run *run, const struct kt_weight *weight, uint32_t *tokens,
                         uint32_t n_tokens, const struct gi_rows *x)
{
    struct kt_slots slots;
    kt_slots_init(&slots, run, n_tokens, 8);
    for (uint32_t i = 0; i < n_tokens; i++) {
        slots.states[i].token = tokens[i];
        tokens[i] = slots.kinds[i] == KT_SLOT_OUT ? 0 : tokens[i];
    }
    if (!kt_slots_write(&slots, run)) {
        return false;
    }
    gi_op_embed_batch(&run->recorder, &weight->weight, (struct gi_range){0}, 0.5f, x);
    return true;
}

static bool run_embed_batch(struct kt_run *run, size_t index)
{
    const struct embed_case *c = &embed_cases[index / COUNT(embed_batch_sizes)];
    uint32_t n_tokens = embed_batch_sizes[index % COUNT(embed_batch_sizes)];
    struct kt_weight weight;
    uint32_t *tokens = kt_alloc(n_tokens, sizeof(*tokens));
    for (uint32_t i = 0; i < n_tokens; i++) {
        tokens[i] = kt_index(run, c->n_vocab);
    }
    struct gi_range range = kt_range(run, "tokens", tokens, n_tokens * sizeof(*tokens));
    struct gi_rows x = kt_rows(run, "x", NULL, n_tokens, kt_pad32(c->n_embd) + 32);
    struct gi_rows joint = kt_rows(run, "joint", NULL, n_tokens, x.stride);
    const bool is_joint = n_tokens <= GI_MAX_ROWS;
    uint32_t *owns = kt_alloc(n_tokens, sizeof(*owns));
    memcpy(owns, tokens, n_tokens * sizeof(*owns));
    bool is_good = kt_weight_init(&weight, run,
                                  &(struct kt_weight_params){.type = c->type,
                                                             .n_rows = c->n_vocab,
                                                             .n_cols = c->n_embd,
                                                             .max_part_rows = c->max_part_rows});
    if (is_good) {
        gi_op_embed_batch(&run->recorder, &weight.weight, range, 0.5f, &x);
    }
    is_good = is_good && (!is_joint || record_joint(run, &weight, owns, n_tokens, &joint)) &&
              kt_seal(run) && kt_replay(run, c->n_past, n_tokens) &&
              check_embed_batch(run, &weight, tokens, n_tokens, 0.5, &x) &&
              (!is_joint || check_embed_batch(run, &weight, owns, n_tokens, 0.5, &joint)) &&
              kt_bench(run, c->n_past, n_tokens, (uint64_t)n_tokens * c->n_embd * 4);
    kt_weight_finish(&weight);
    free(tokens);
    free(owns);
    return is_good;
}

//-- positions -------------------------------------------------------------------------------------

static const struct {
    uint32_t n_tokens, n_past, width;
} position_cases[] = {
    {1, 0, 8},
    {7, 3, 32},
    {33, 0, 384},
    {512, 0, 768},
};

static void position_name(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%u tokens at %u, %u wide", position_cases[index].n_tokens,
             position_cases[index].n_past, position_cases[index].width);
}

static bool run_positions(struct kt_run *run, size_t index)
{
    const uint32_t n = position_cases[index].n_tokens, width = position_cases[index].width;
    const uint32_t n_past = position_cases[index].n_past;
    const struct gi_rows x = kt_random_rows(run, "x", n, kt_pad32(width) + 32, 4);
    const struct gi_vectors vectors = kt_random_vectors(run, 4 + (size_t)(n_past + n) * width);
    gi_op_add_positions(&run->recorder, &vectors, 4, width, &x);
    return kt_seal(run) && kt_check(run, n_past, n);
}

const struct kt_suite kt_add_positions = {"add_positions", COUNT(position_cases), position_name,
                                          run_positions};

const struct kt_suite kt_embed_batch = {"embed_batch",
                                        COUNT(embed_cases) * COUNT(embed_batch_sizes),
                                        embed_batch_name, run_embed_batch};
