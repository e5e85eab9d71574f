#include "reference/reference.h"

#include "base/array.h"
#include "base/round.h"
#include "reference/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct gi_kernel kernels[] = {
#define ROW(first, last, name, roundings, filled)                                                  \
    {GI_PROGRAM_##first, GI_PROGRAM_##last, gi_ref_##name, roundings, filled},
    GI_KERNEL_MAP(ROW)
#undef ROW
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

bool gi_kernel_work_out(const struct gi_kernel *kernel, struct gi_ref *ref)
{
    kernel->reference(ref);
    if (ref->results.count > 0) {
        qsort(ref->results.data, ref->results.count, sizeof(*ref->results.data), compare_places);
    }
    return !ref->has_failed;
}

bool gi_ref_is_input(const struct gi_ref *ref, const struct gi_ref_result *result)
{
    bool is_input = false;
    for (size_t i = 0; i < ref->reads.count && !is_input; i++) {
        const struct gi_ref_read *read = &ref->reads.data[i];
        is_input = read->binding == result->binding && read->first < result->at + result->n_sum &&
                   result->at < read->first + read->n;
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

double gi_ref_found(const struct gi_ref_result *result, const float *words, uint64_t first)
{
    double sum = 0;
    for (uint32_t i = 0; i < result->n_sum; i++) {
        sum += words[result->at - first + i];
    }
    return sum;
}

void gi_ref_finish(struct gi_ref *ref)
{
    gi_ref_rewind(ref, 0);
    free(ref->memory.data);
    free(ref->results.data);
    free(ref->reads.data);
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

const float *gi_ref_floats(struct gi_ref *ref, uint32_t binding, uint64_t first, size_t n)
{
    float *words = gi_ref_memory(ref, n, sizeof(*words));
    ref->has_failed = ref->has_failed ||
                      (n > 0 && !ref->read(ref->user, binding, first, n, words)) ||
                      !GI_ARRAY_PUSH(&ref->reads, "a reference", ref->err,
                                     ((struct gi_ref_read){binding, first, n}));
    return ref->has_failed ? NULL : words;
}

const float *gi_ref_rows(struct gi_ref *ref, uint32_t binding, uint64_t first, uint64_t stride,
                         size_t n)
{
    return gi_ref_floats(ref, binding, first, (ref->n_tokens - 1) * stride + n);
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

void gi_ref_expect(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                   double value, double magnitude)
{
    gi_ref_expect_sum(ref, what, binding, at, 1, value, magnitude);
}

void gi_ref_expect_sum(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                       uint32_t n, double value, double magnitude)
{
    const struct gi_ref_result result = {what, binding, at, n, {value, magnitude}};
    ref->has_failed =
        ref->has_failed || !GI_ARRAY_PUSH(&ref->results, "a reference", ref->err, result);
}

void gi_ref_expect_norm(struct gi_ref *ref, uint32_t binding, const struct gi_ref_value *residual,
                        uint32_t n, uint32_t gamma, uint32_t norm, uint32_t ssq)
{
    const uint64_t sums = norm + gi_round_up(n, 64);
    const float *weights = gi_ref_floats(ref, 2, gamma, n);
    struct gi_ref_value sum = {0, 0}, squares = {0, 0};
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
        squares.value += residual[i].value * residual[i].value;
        squares.magnitude += fabs(residual[i].value) * residual[i].magnitude;
    }
    gi_ref_expect_sum(ref, "ssq", binding, ssq, ref->dispatch->grid.size[0], squares.value,
                      squares.value + 2 * squares.magnitude);
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
