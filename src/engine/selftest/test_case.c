#include "engine/selftest/test_case.h"

#include "base/array.h"
#include "base/round.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/dispatch/multi_executor.h"
#include "ops/record/params.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gi_test_rewind(struct gi_test *test, uint32_t n_memory)
{
    while (test->n_memory > n_memory) {
        free(test->memory[--test->n_memory]);
    }
}

void gi_test_finish(struct gi_test *test)
{
    gi_test_rewind(test, 0);
}

void *gi_test_memory(struct gi_test *test, size_t count, size_t size)
{
    assert(test->n_memory < GI_TEST_MEMORY);
    if (test->has_failed) {
        return NULL;
    }
    void *memory = gi_array_zeroed(count, size, "a self-test", test->err);
    test->has_failed = !memory;
    test->memory[test->n_memory] = memory;
    test->n_memory += memory != NULL;
    return memory;
}

size_t gi_test_size(const struct gi_test *test, uint32_t binding)
{
    return (test->dispatch->bindings[binding].size - test->slot_begins[binding]) / sizeof(uint32_t);
}

uint32_t *gi_test_words(struct gi_test *test, uint32_t binding, uint64_t first, size_t n)
{
    const struct gi_range *range = &test->dispatch->bindings[binding];
    const uint64_t begin = test->slot_begins[binding] + first * sizeof(uint32_t);
    uint32_t *words = gi_test_memory(test, n, sizeof(*words));
    assert(begin + n * sizeof(*words) <= range->size);
    if (words && n > 0 &&
        !gi_buffer_read(range->buffer, test->gpu, range->offset + begin, words, n * sizeof(*words),
                        test->err)) {
        test->has_failed = true;
    }
    return test->has_failed ? NULL : words;
}

float *gi_test_floats(struct gi_test *test, uint32_t binding, uint64_t first, size_t n)
{
    return (float *)gi_test_words(test, binding, first, n);
}

float *gi_test_rows(struct gi_test *test, uint32_t binding, uint64_t first, uint64_t stride,
                    size_t n)
{
    return gi_test_floats(test, binding, first, (test->n_tokens - 1) * stride + n);
}

uint32_t gi_test_next_token(const struct gi_test *test, uint32_t token, uint64_t n, bool is_half)
{
    enum { MOST_VALUES = 1 << 18 };
    const uint32_t last = test->n_tokens - 1;
    const uint64_t step = is_half ? (last + UINT64_C(1)) / 2 : 1 + n * test->n_tokens / MOST_VALUES;
    return token == last ? test->n_tokens : token + step < last ? token + (uint32_t)step : last;
}

void gi_test_write(struct gi_test *test, uint32_t binding, uint64_t first, const void *words,
                   size_t n)
{
    const struct gi_range *range = &test->dispatch->bindings[binding];
    const uint64_t begin = test->slot_begins[binding] + first * sizeof(uint32_t);
    test->has_failed = test->has_failed || !gi_buffer_write((struct gi_buffer *)range->buffer,
                                                            test->gpu, range->offset + begin, words,
                                                            n * sizeof(uint32_t), test->err);
}

void gi_test_write_state(struct gi_test *test)
{
    const bool is_of_slot = test->joint && (test->dispatch->slot > 0 || gi_test_is_of_slots(test));
    const struct gi_range range = is_of_slot ? gi_slot_range(&test->joint->state, test->slot)
                                             : *gi_dispatch_table_state(test->list);
    test->n_past = test->state.n_past;
    test->n_tokens = test->state.n_tokens;
    test->has_failed = test->has_failed ||
                       !gi_buffer_write((struct gi_buffer *)range.buffer, test->gpu, range.offset,
                                        &test->state, sizeof(test->state), test->err);
}

//-- results that are not written ------------------------------------------------------------------

static bool is_read_elsewhere(const struct gi_test *test, uint32_t binding, uint64_t begin,
                              uint64_t end)
{
    const struct gi_range *own = &test->dispatch->bindings[binding];
    bool is_read = false;
    for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
        const struct gi_range *range = &test->dispatch->bindings[i];
        is_read = is_read || (i != binding && range->buffer == own->buffer && range->offset < end &&
                              begin < range->offset + range->size);
    }
    return is_read;
}

void gi_test_poison(struct gi_test *test, uint32_t binding, uint64_t first, size_t n)
{
    const uint64_t begin = test->dispatch->bindings[binding].offset + test->slot_begins[binding] +
                           first * sizeof(uint32_t);
    const uint32_t n_memory = test->n_memory;
    if (n == 0 || is_read_elsewhere(test, binding, begin, begin + n * sizeof(uint32_t))) {
        return;
    }
    uint32_t *words = gi_test_memory(test, n, sizeof(*words));
    for (size_t i = 0; words && i < n; i++) {
        words[i] = GI_TEST_POISON;
    }
    gi_test_write(test, binding, first, words, n);
    gi_test_rewind(test, n_memory);
}

void gi_test_expect_written(struct gi_test *test, const char *what, uint64_t first,
                            const void *words, size_t n)
{
    const uint32_t *found = words;
    for (uint64_t i = 0; found && i < n && !*test->where; i++) {
        if (found[i] == GI_TEST_POISON) {
            snprintf(test->where, sizeof(test->where), "%s[%llu] is not written", what,
                     (unsigned long long)(first + i));
        }
    }
}

void gi_test_poison_rows(struct gi_test *test, uint32_t binding, uint64_t first, uint64_t stride,
                         size_t n)
{
    for (uint32_t token = 0; token < test->n_tokens; token++) {
        gi_test_poison(test, binding, first + token * stride, n);
    }
}

void gi_test_expect_rows(struct gi_test *test, const char *what, const float *rows, uint64_t stride,
                         size_t n)
{
    for (uint32_t token = 0; rows && token < test->n_tokens; token++) {
        gi_test_expect_written(test, what, token * stride, rows + token * stride, n);
    }
}

void gi_test_fail(struct gi_test *test, const char *what, uint32_t row, uint32_t token)
{
    if (!*test->where) {
        snprintf(test->where, sizeof(test->where), "%s of row %u of token %u", what, row, token);
    }
}

void gi_test_run(struct gi_test *test)
{
    struct gi_multi_executor executor = gi_multi_executor_of(test->list);
    const struct gi_selection selection = {.entry = test->entry + 1};
    const struct gi_chain chain = {.n_past = test->run_past,
                                   .n_tokens = test->run_tokens,
                                   .n_steps = 1,
                                   .selection = &selection};
    test->has_failed = test->has_failed || !gi_executor_submit(&executor.base, &chain, test->err) ||
                       !gi_gpu_check(test->gpu, "the self-test", test->err);
}

void gi_test_expect(struct gi_test *test, const char *what, uint64_t index, double expected,
                    double magnitude, double got)
{
    const double share = fabs(got - expected) / (test->tolerance * magnitude + 1e-30);
    if (!isfinite(expected) || !isfinite(magnitude)) {
        test->n_infinite++; // a model's weights may be so large: no fault of the program
        return;
    }
    test->n_checked++;
    if (!(share <= test->worst)) { // or it is not a number
        test->worst = share;
    }
    if (!(share <= 1) && !*test->where) {
        snprintf(test->where, sizeof(test->where), "%s[%llu] is %.6g, not %.6g", what,
                 (unsigned long long)index, got, expected);
    }
}

void gi_test_expect_sums(struct gi_test *test, const float *values, const float *sums, uint32_t n)
{
    for (uint32_t i = 0; sums && i < n / 16; i++) {
        double sum = 0, magnitude = 0;
        for (uint32_t j = 16 * i; j < 16 * (i + 1); j++) {
            sum += values[j];
            magnitude += fabs((double)values[j]);
        }
        gi_test_expect(test, "sums", i, sum, magnitude, sums[i]);
    }
}

int32_t gi_test_define(const struct gi_test *test, const char *name)
{
    for (uint32_t i = 0; i < test->key->n_defines; i++) {
        if (strcmp(test->key->defines[i].name, name) == 0) {
            return test->key->defines[i].value;
        }
    }
    return 0;
}

//-- slots -----------------------------------------------------------------------------------------

bool gi_test_is_of_slots(const struct gi_test *test)
{
    return test->joint && gi_test_define(test, "ROWS") > 0;
}

// Kernels find a slot's part of a binding by what their Params say (glsl/lib/slot.glsl).
void gi_test_find_slot(struct gi_test *test)
{
    const enum gi_program_id id = test->key->id;
    const uint64_t slot = test->slot, word = sizeof(uint32_t);
    uint64_t *begins = test->slot_begins;
    if (!gi_test_is_of_slots(test)) {
        return;
    }
    if (id == GI_PROGRAM_EMBED_BATCH) {
        const struct gi_embed_batch_params *params = (const void *)test->params;
        begins[0] = slot * params->stride * word;
    } else if (id == GI_PROGRAM_ROPE_KV || id == GI_PROGRAM_NORM_ROPE_KV) {
        const struct gi_rope_kv_params *params = (const void *)test->params;
        begins[0] = begins[3] = slot * params->slot_cache * word;
        begins[1] = slot * params->qkv_stride * word;
    } else {
        const struct gi_attention_params *params = (const void *)test->params;
        begins[0] = slot * params->slot_scratch * word;
        begins[1] = id == GI_PROGRAM_ATTENTION_QKV ? slot * params->q_stride * word : 0;
        begins[3] = slot * params->slot_cache * 4 * word;
    }
}

//-- weights ---------------------------------------------------------------------------------------

bool gi_test_dot(struct gi_test *test, uint32_t row, const float *x, uint32_t bias,
                 struct gi_test_value *y)
{
    const struct gi_weight_sample *sample = test->sample;
    const uint32_t n_memory = test->n_memory;
    float *w = gi_test_memory(test, sample->n_cols, sizeof(*w));
    *y = (struct gi_test_value){0, 0};
    const bool is_known = w && gi_weight_sample_row(sample, row, w);
    for (uint32_t i = 0; is_known && i < sample->n_cols; i++) {
        const double product = (double)w[i] * x[i];
        y->value += product;
        y->magnitude += fabs(product);
    }
    const float *added =
        is_known && bias != GI_NO_OFFSET ? gi_test_floats(test, 3, bias + row, 1) : NULL;
    if (added) {
        y->value += *added;
        y->magnitude += fabs((double)*added);
    }
    gi_test_rewind(test, n_memory);
    return is_known && !test->has_failed;
}

double gi_test_activate(uint32_t activation, const struct gi_xielu *xielu, double x)
{
    if (activation == GI_ACTIVATION_XIELU) {
        const double bend = exp(fmin(x, (double)xielu->edge)) - 1 - x;
        return (x > 0 ? (double)xielu->square * x * x : (double)xielu->fall * bend) +
               (double)xielu->slope * x;
    }
    if (activation == GI_ACTIVATION_RELU_SQUARED) {
        return x > 0 ? x * x : 0;
    }
    if (activation == GI_ACTIVATION_RELU) {
        return fmax(x, 0);
    }
    if (activation == GI_ACTIVATION_CLAMPED) {
        return fmin(x, 7) / (1 + exp(-1.702 * fmin(x, 7)));
    }
    const double argument =
        activation == GI_ACTIVATION_SILU ? x : 1.5957691216057308 * x * (1 + 0.044715 * x * x);
    return x / (1 + exp(-argument));
}

double gi_test_linear_factor(uint32_t activation, double x)
{
    return activation == GI_ACTIVATION_CLAMPED ? fmin(fmax(x, -7), 7) + 1 : x;
}

//-- rows in f16 -----------------------------------------------------------------------------------

// Unpacks a word of four pairs of halves: elements i and i + 4 of a vec8
// (glsl/gemm/half_rows.glsl).
static float half_element(const uint32_t word[4], uint32_t i)
{
    return gi_half_to_float((uint16_t)(i < 4 ? word[i] : word[i - 4] >> 16));
}

bool gi_test_is_small_half(const struct gi_program_key *key)
{
    return key->id == GI_PROGRAM_GEMV_BATCH_HALF || key->id == GI_PROGRAM_GEMV_BATCH_HALF_2;
}

float *gi_test_half_row(struct gi_test *test, uint32_t binding, uint64_t begin, uint32_t token,
                        uint32_t width, uint32_t n_tile)
{
    const bool is_small =
        gi_test_define(test, "HALF") == GI_HALF_FORM_SMALL || gi_test_is_small_half(test->key);
    const uint32_t n_token = is_small ? 8 : 128, n_quad = n_token / 4;
    const uint32_t tile_words = (8 * n_token + n_quad) * 4;
    const uint32_t n_used = (width + GI_HALF_COLUMNS - 1) / GI_HALF_COLUMNS;
    float *row = gi_test_memory(test, width, sizeof(*row));
    const uint32_t *tiles =
        gi_test_words(test, binding, begin + (uint64_t)(token / n_token) * n_tile * tile_words,
                      n_used * (size_t)tile_words);
    for (uint32_t i = 0; tiles && i < width; i++) {
        const uint32_t *tile = tiles + (size_t)i / GI_HALF_COLUMNS * tile_words;
        const uint32_t quad = token % n_token / 4;
        const uint32_t word = (token % 4 * 8 + i % GI_HALF_COLUMNS / 8) * n_quad + quad;
        float scale;
        memcpy(&scale, tile + (size_t)(8 * n_token + quad) * 4 + token % 4, sizeof(scale));
        row[i] = scale * half_element(tile + (size_t)word * 4, i % 8);
    }
    return tiles ? row : NULL;
}

float *gi_test_row(struct gi_test *test, uint32_t binding, bool is_half, uint32_t token,
                   uint32_t stride, uint32_t width, uint32_t n_tile)
{
    return is_half ? gi_test_half_row(test, binding, 0, token, width, n_tile)
                   : gi_test_floats(test, binding, (uint64_t)token * stride, width);
}

// Rows of glsl/gemm/packed_rows.glsl: half a block's words, and one with the scale.
bool gi_test_is_packed(const struct gi_program_key *key)
{
    bool is_packed = key->id == GI_PROGRAM_PACK_ROWS;
    for (uint32_t i = 0; i < key->n_defines; i++) {
        is_packed = is_packed || strcmp(key->defines[i].name, "PACKED") == 0;
    }
    return is_packed;
}

float *gi_test_packed_row(struct gi_test *test, uint32_t binding, uint32_t token, uint32_t stride,
                          uint32_t width)
{
    const uint32_t n_word = (uint32_t)gi_round_up(width, GI_QUANT_BLOCK) / 2;
    float *row = gi_test_memory(test, width, sizeof(*row)), scale;
    const uint32_t *words = gi_test_words(test, binding, (uint64_t)token * stride, n_word + 1);
    if (!words) {
        return NULL;
    }
    memcpy(&scale, words + n_word, sizeof(scale));
    for (uint32_t i = 0; i < width; i++) {
        row[i] = scale * gi_half_to_float((uint16_t)(words[i / 2] >> i % 2 * 16));
    }
    return row;
}

void gi_test_fill_rows(struct gi_test *test, uint32_t binding, bool is_packed, uint32_t stride,
                       uint32_t width)
{
    const struct gi_range *range = &test->dispatch->bindings[binding];
    const uint32_t n_column = (uint32_t)gi_round_up(width, GI_QUANT_BLOCK);
    const uint32_t n_word = is_packed ? n_column / 2 + 1 : n_column;
    const uint32_t n_memory = test->n_memory;
    const float scale = 0x1p-14f;
    uint32_t *words = gi_test_memory(test, n_word, sizeof(*words));
    for (uint32_t token = 0; !test->has_failed && token < test->n_tokens; token++) {
        for (uint32_t i = 0; i < n_word; i++) {
            const uint32_t bits = (token * n_word + i + 1) * 2654435761u;
            words[i] = is_packed ? (bits & 0xDBFFDBFFu) | 0x20002000u  // +-(2^-7 to 2^16), twice
                                 : (bits & 0x80FFFFFFu) | 0x3F000000u; // +-(0.5 to 2)
        }
        if (is_packed) {
            memcpy(words + n_word - 1, &scale, sizeof(scale));
        }
        test->has_failed =
            !gi_buffer_write((struct gi_buffer *)range->buffer, test->gpu,
                             range->offset + (uint64_t)token * stride * sizeof(*words), words,
                             n_word * sizeof(*words), test->err);
    }
    gi_test_rewind(test, n_memory);
}

//-- checks ----------------------------------------------------------------------------------------

#define FORMS(id, check)                                                                           \
    {                                                                                              \
        GI_PROGRAM_##id##_SPLIT, GI_PROGRAM_##id##_TEXBITS, check                                  \
    }
#define ONE(id, check)                                                                             \
    {                                                                                              \
        GI_PROGRAM_##id, GI_PROGRAM_##id, check                                                    \
    }
#define SIZES(id, check)                                                                           \
    {                                                                                              \
        GI_PROGRAM_##id##_64, GI_PROGRAM_##id##_1024, check                                        \
    }

static const struct {
    enum gi_program_id first, last;
    gi_test_check check;
} checks[] = {
    FORMS(GEMV_QKV, gi_check_gemv_qkv),
    FORMS(GEMV_RESIDUAL, gi_check_gemv_residual),
    FORMS(GEMV_GLU, gi_check_gemv_glu),
    FORMS(GEMV_VOCAB, gi_check_gemv_vocab),
    FORMS(GEMV_PLAIN, gi_check_gemv_plain),
    {GI_PROGRAM_GEMV_POST_SPLIT, GI_PROGRAM_GEMV_POST_TEXEL, gi_check_gemv_post},
    FORMS(GEMV_EXPERT_GLU, gi_check_gemv_expert_glu),
    FORMS(GEMV_EXPERT, gi_check_gemv_expert),
    ONE(ROUTE, gi_check_route),
    ONE(ADD_EXPERTS, gi_check_add_experts),
    ONE(SORT_EXPERTS, gi_check_sort_experts),
    ONE(GATHER_ROWS, gi_check_gather_rows),
    ONE(POST_NORM, gi_check_post_norm),
    ONE(EMBED_TOKEN, gi_check_embed_token),
    {GI_PROGRAM_ATTENTION, GI_PROGRAM_ATTENTION_VEC8, gi_check_attention},
    ONE(ATTENTION_QKV, gi_check_attention_qkv),
    ONE(ATTENTION_ROW, gi_check_attention),
    ONE(EMBED_BATCH, gi_check_embed_batch),
    ONE(ADD_INPUTS, gi_check_add_inputs),
    ONE(GATE_INPUT, gi_check_gate_input),
    ONE(ADD_POSITIONS, gi_check_add_positions),
    ONE(RMSNORM, gi_check_rmsnorm),
    ONE(LAYERNORM, gi_check_layernorm),
    {GI_PROGRAM_GEMM, GI_PROGRAM_GEMV_BATCH_HALF_2, gi_check_gemm},
    {GI_PROGRAM_ROPE_KV, GI_PROGRAM_NORM_ROPE_KV, gi_check_rope_kv},
    {GI_PROGRAM_ATTENTION_BATCH, GI_PROGRAM_ATTENTION_BATCH_ROW, gi_check_attention_batch},
    ONE(GLU, gi_check_glu),
    ONE(SPARSE_GLU, gi_check_sparse_glu),
    ONE(GATE_ROWS, gi_check_gate_rows),
    ONE(ALTUP_EMBED, gi_check_altup_embed),
    ONE(ALTUP_PREDICT, gi_check_altup_predict),
    ONE(LAUREL_JOIN, gi_check_laurel_join),
    ONE(ALTUP_CORRECT, gi_check_altup_correct),
    ONE(ALTUP_ADD, gi_check_altup_add),
    ONE(ALTUP_MERGE, gi_check_altup_merge),
    ONE(DELTA_STEP, gi_check_delta_step),
    ONE(DELTA_CONV, gi_check_delta_conv),
    ONE(DELTA_SCAN, gi_check_delta_scan),
    ONE(DELTA_SCAN_SUBGROUP, gi_check_delta_scan),
    ONE(DELTA_NORM, gi_check_delta_norm),
    ONE(SHORT_CONV, gi_check_short_conv),
    ONE(SSM_STEP, gi_check_ssm_step),
    ONE(SSM_CONV, gi_check_ssm_conv),
    ONE(SSM_SCAN, gi_check_ssm_scan),
    ONE(SSM_NORM, gi_check_ssm_norm),
    ONE(HALF_ROWS, gi_check_half_rows),
    ONE(PACK_ROWS, gi_check_pack_rows),
    ONE(LAST_ROW, gi_check_last_row),
    ONE(LOGIT_ROWS, gi_check_logit_rows),
    ONE(LOGPROB, gi_check_logprob),
    SIZES(ADJUST, gi_check_adjusted),
    SIZES(ARGMAX, gi_check_sampled),
    SIZES(TOP_K, gi_check_sampled),
    SIZES(FULL_BINS, gi_check_full_bins),
    SIZES(FULL_SAMPLE, gi_check_sampled),
};

gi_test_check gi_test_find_check(enum gi_program_id id)
{
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (id >= checks[i].first && id <= checks[i].last) {
            return checks[i].check;
        }
    }
    return NULL;
}
