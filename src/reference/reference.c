#include "reference/reference.h"

#include "base/array.h"
#include "base/round.h"
#include "quant/quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct gi_kernel kernels[] = {
#define GI_KERNEL(first, last, name, roundings, filled)                                            \
    {GI_PROGRAM_##first, GI_PROGRAM_##last, gi_ref_##name, roundings, filled},
#include "glsl/programs.def"
};

const struct gi_kernel *gi_kernel_find(enum gi_program_id id)
{
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (id >= kernels[i].first && id <= kernels[i].last) {
            return &kernels[i];
        }
    }
    return NULL;
}

static int compare_places(const void *a, const void *b)
{
    const struct gi_ref_result *first = a, *second = b;
    return first->binding != second->binding ? (first->binding > second->binding ? 1 : -1)
                                             : (first->at > second->at) - (first->at < second->at);
}

static bool sort_results(struct gi_ref *ref)
{
    bool is_sorted = true;
    for (size_t i = 1; i < ref->results.count && is_sorted; i++) {
        is_sorted = compare_places(&ref->results.data[i - 1], &ref->results.data[i]) <= 0;
    }
    if (!is_sorted) {
        qsort(ref->results.data, ref->results.count, sizeof(*ref->results.data), compare_places);
    }
    return !ref->has_failed;
}

bool gi_kernel_work_out(const struct gi_kernel *kernel, struct gi_ref *ref)
{
    ref->roundings = kernel->roundings;
    kernel->reference(ref);
    return sort_results(ref);
}

bool gi_kernel_work_out_after(struct gi_ref *ref)
{
    ref->write = NULL;
    if (ref->after) {
        ref->after(ref);
    }
    return sort_results(ref);
}

bool gi_ref_is_input(const struct gi_ref *ref, uint32_t binding, uint64_t first, uint64_t n)
{
    bool is_input = false;
    for (size_t i = 0; i < ref->reads.count && !is_input; i++) {
        const struct gi_ref_words *read = &ref->reads.data[i];
        is_input =
            read->binding == binding && read->first < first + n && first < read->first + read->n;
    }
    return is_input;
}

size_t gi_ref_run_end(const struct gi_ref *ref, size_t first, uint64_t gap)
{
    const struct gi_ref_result *results = ref->results.data;
    size_t end = first + 1;
    while (end < ref->results.count && results[end].binding == results[first].binding &&
           results[end].at <= results[end - 1].at + results[end - 1].n_sum + gap) {
        end++;
    }
    return end;
}

static double half_at(const uint32_t *words, uint64_t i)
{
    return gi_half_to_float((uint16_t)(words[i / 2] >> i % 2 * 16));
}

static double float_at(const uint32_t *words, uint64_t i)
{
    float value;
    memcpy(&value, &words[i], sizeof(value));
    return value;
}

struct gi_ref_found gi_ref_found(const struct gi_ref_result *result, const uint32_t *words,
                                 uint64_t first, const uint32_t *scales, uint64_t first_scale)
{
    const uint32_t *own = words + (result->at - first), part = result->place.part;
    const uint64_t scale = result->place.scale - 2 * first_scale;
    struct gi_ref_found found = {0, result->slack};
    switch (result->place.form) {
    case GI_REF_F16:
    case GI_REF_F16_SIZE:
        found.value = half_at(own, part);
        found.value = result->place.form == GI_REF_F16 ? found.value : fabs(found.value);
        break;
    case GI_REF_Q8_0:
        found.value = half_at(scales, scale) * (int8_t)(*own >> 8 * part);
        found.slack *= fabs(half_at(scales, scale));
        break;
    case GI_REF_Q4_0: {
        const int level = (int)(*own >> 4 * part & 15) - 8;
        found.value = half_at(scales, scale) * level;
        // A value of 8, or more by the rounding of the scale, becomes 7.
        found.slack *= (level == 7 ? 2.016 : 1) * fabs(half_at(scales, scale));
        break;
    }
    case GI_REF_TILE_F16:
        found.value = half_at(own, part) * float_at(scales, scale / 2);
        break;
    case GI_REF_BITS:
        found.value = *own;
        break;
    case GI_REF_DERIVED:
        found.value = result->found;
        break;
    default:
        for (uint32_t i = 0; i < result->n_sum; i++) {
            found.value += float_at(own, i);
        }
    }
    return found;
}

void gi_ref_finish(struct gi_ref *ref)
{
    gi_ref_rewind(ref, 0);
    free(ref->memory.data);
    free(ref->results.data);
    free(ref->reads.data);
    free(ref->written.data);
    free(ref->scratch.data);
    *ref = (struct gi_ref){0};
}

//-- for references --------------------------------------------------------------------------------

void *gi_ref_memory(struct gi_ref *ref, size_t count, size_t size)
{
    void *memory = ref->has_failed ? NULL : gi_array_zeroed(count, size, "a reference", ref->err);
    if (memory && !GI_ARRAY_PUSH(&ref->memory, "a reference", ref->err, memory)) {
        free(memory);
        memory = NULL;
    }
    ref->has_failed = !memory;
    return memory;
}

void gi_ref_rewind(struct gi_ref *ref, size_t n)
{
    while (ref->memory.count > n) {
        free(ref->memory.data[--ref->memory.count]);
    }
}

static void add_words(struct gi_ref *ref, struct gi_ref_words_list *list, struct gi_ref_words words)
{
    ref->has_failed = ref->has_failed || !GI_ARRAY_PUSH(list, "a reference", ref->err, words);
}

const float *gi_ref_floats(struct gi_ref *ref, uint32_t binding, uint64_t first, size_t n)
{
    float *words = gi_ref_memory(ref, n, sizeof(*words));
    ref->has_failed = ref->has_failed || (n > 0 && !ref->read(ref->user, binding, first, n, words));
    add_words(ref, &ref->reads, (struct gi_ref_words){NULL, binding, first, n});
    return ref->has_failed ? NULL : words;
}

const float *gi_ref_rows(struct gi_ref *ref, uint32_t binding, uint64_t first, uint64_t stride,
                         size_t n)
{
    return gi_ref_floats(ref, binding, first, (ref->n_tokens - 1) * stride + n);
}

bool gi_ref_dot(struct gi_ref *ref, uint32_t row, const float *x, struct gi_ref_value *y)
{
    const size_t n_memory = ref->memory.count;
    float *weights = gi_ref_memory(ref, ref->n_col, sizeof(*weights));
    const bool is_known = weights && ref->weight(ref->user, row, weights);
    *y = (struct gi_ref_value){0, 0};
    for (uint32_t i = 0; is_known && i < ref->n_col; i++) {
        const double product = (double)weights[i] * x[i];
        y->value += product;
        y->magnitude += fabs(product);
    }
    gi_ref_rewind(ref, n_memory);
    return is_known;
}

uint32_t gi_ref_define(const struct gi_ref *ref, const char *name)
{
    for (uint32_t i = 0; i < ref->key->n_defines; i++) {
        if (strcmp(ref->key->defines[i].name, name) == 0) {
            return (uint32_t)ref->key->defines[i].value;
        }
    }
    return 0;
}

uint32_t gi_ref_next(const struct gi_ref *ref, uint32_t i, uint32_t n, uint64_t n_value)
{
    enum { MOST_VALUES = 1 << 18 };
    const uint64_t step = ref->is_sampled ? 1 + n_value * n / MOST_VALUES : 1;
    return i + 1 >= n ? n : i + step < n ? i + (uint32_t)step : n - 1;
}

uint32_t gi_ref_index(float value, uint32_t n)
{
    return value >= 0 && value < (float)n ? (uint32_t)value : n - 1;
}

void gi_ref_expect(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                   double value, double magnitude)
{
    gi_ref_expect_sum(ref, what, binding, at, 1, value, magnitude);
}

static void add_result(struct gi_ref *ref, struct gi_ref_result result)
{
    result.roundings = ref->roundings;
    ref->has_failed =
        ref->has_failed || !GI_ARRAY_PUSH(&ref->results, "a reference", ref->err, result);
}

void gi_ref_expect_at(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                      struct gi_ref_place place, struct gi_ref_value expected, double slack)
{
    add_result(ref, (struct gi_ref_result){what, binding, at, 1, expected, 0, slack, place, 0});
}

void gi_ref_expect_bits(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                        uint32_t bits)
{
    const struct gi_ref_place place = {.form = GI_REF_BITS};
    gi_ref_expect_at(ref, what, binding, at, place, (struct gi_ref_value){bits, 0}, 0);
}

void gi_ref_expect_found(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                         uint32_t n, struct gi_ref_value expected, double found)
{
    const struct gi_ref_place place = {.form = GI_REF_DERIVED};
    add_result(ref, (struct gi_ref_result){what, binding, at, n, expected, 0, 0, place, found});
}

void gi_ref_expect_sum(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                       uint32_t n, double value, double magnitude)
{
    add_result(ref, (struct gi_ref_result){what, binding, at, n, {value, magnitude}, 0, 0, {0}, 0});
}

void gi_ref_expect_written(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t first,
                           uint64_t n)
{
    add_words(ref, &ref->written, (struct gi_ref_words){what, binding, first, n});
}

void gi_ref_add_scratch(struct gi_ref *ref, uint32_t binding, uint64_t first, uint64_t n)
{
    add_words(ref, &ref->scratch, (struct gi_ref_words){NULL, binding, first, n});
}

void gi_ref_write(struct gi_ref *ref, uint32_t binding, uint64_t first, size_t n, const void *words)
{
    ref->has_failed = ref->has_failed ||
                      (n > 0 && ref->write && !ref->write(ref->user, binding, first, n, words));
}

void gi_ref_fill(struct gi_ref *ref, uint32_t binding, uint64_t first, size_t n, uint32_t mask,
                 uint32_t bits)
{
    const size_t n_memory = ref->memory.count;
    uint32_t random = (uint32_t)(first + ref->seed) * 2654435761u | 1;
    uint32_t *words = gi_ref_memory(ref, n, sizeof(*words));
    for (size_t i = 0; words && i < n; i++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        words[i] = (random & mask) | bits;
    }
    gi_ref_write(ref, binding, first, n, words);
    gi_ref_rewind(ref, n_memory);
}

void gi_ref_expect_squares(struct gi_ref *ref, uint32_t binding,
                           const struct gi_ref_value *residual, uint32_t n, uint32_t ssq)
{
    double sum = 0, magnitude = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += residual[i].value * residual[i].value;
        magnitude += fabs(residual[i].value) * residual[i].magnitude;
    }
    gi_ref_expect_sum(ref, "ssq", binding, ssq, ref->dispatch->grid.size[0], sum,
                      (sum + 2 * magnitude) / 3);
}

void gi_ref_expect_norm(struct gi_ref *ref, uint32_t binding, const struct gi_ref_value *residual,
                        uint32_t n, uint32_t gamma, uint32_t norm, uint32_t ssq)
{
    const uint64_t sums = norm + gi_round_up(n, 64);
    const float *weights = gi_ref_floats(ref, 2, gamma, n);
    struct gi_ref_value sum = {0, 0};
    for (uint32_t i = 0; weights && i < n; i++) {
        const double value = residual[i].value * weights[i];
        const double magnitude = residual[i].magnitude * fabs((double)weights[i]);
        gi_ref_expect(ref, "norm", binding, norm + i, value, 1e-6 + magnitude);
        sum.value += value;
        sum.magnitude += magnitude;
        if (i % 16 == 15 && gi_ref_define(ref, "WRITE_SUMS")) {
            gi_ref_expect(ref, "sums", binding, sums + i / 16, sum.value, sum.magnitude);
        }
        sum = i % 16 == 15 ? (struct gi_ref_value){0, 0} : sum;
    }
    gi_ref_expect_squares(ref, binding, residual, n, ssq);
}

void gi_ref_expect_sums(struct gi_ref *ref, uint32_t binding, uint64_t first, uint32_t n,
                        uint64_t at)
{
    const float *values = gi_ref_floats(ref, binding, first, n);
    ref->roundings = 16;
    for (uint32_t i = 0; values && 16 * i < n; i++) {
        struct gi_ref_value sum = {0, 0};
        for (uint32_t j = 16 * i; j < 16 * (i + 1) && j < n; j++) {
            sum.value += values[j];
            sum.magnitude += fabs((double)values[j]);
        }
        gi_ref_expect(ref, "sums", binding, at + i, sum.value, sum.magnitude);
    }
}

double gi_ref_mean(const float *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum / n;
}

double gi_ref_mean_square(const float *x, uint32_t n, double mean)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (x[i] - mean) * (x[i] - mean);
    }
    return sum / n;
}

double gi_ref_activate(uint32_t activation, const struct gi_xielu *xielu, double x)
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
    if (activation == GI_ACTIVATION_GELU_ERF) {
        return x / 2 * erfc(-x * sqrt(0.5));
    }
    const double argument =
        activation == GI_ACTIVATION_SILU ? x : 1.5957691216057308 * x * (1 + 0.044715 * x * x);
    return x / (1 + exp(-argument));
}

double gi_ref_linear_factor(uint32_t activation, double x)
{
    return activation == GI_ACTIVATION_CLAMPED ? fmin(fmax(x, -7), 7) + 1 : x;
}

double gi_ref_silu(double x)
{
    return x / (1 + exp(-x));
}

double gi_ref_softplus(double x)
{
    return log1p(exp(x));
}
