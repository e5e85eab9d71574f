#include "reference/reference.h"

#include "base/array.h"
#include "reference/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct gi_kernel kernels[] = {
    {GI_PROGRAM_DELTA_STEP, GI_PROGRAM_DELTA_STEP, gi_ref_delta_step, 300},
    {GI_PROGRAM_DELTA_CONV, GI_PROGRAM_DELTA_CONV, gi_ref_delta_conv, 300},
    {GI_PROGRAM_DELTA_SCAN, GI_PROGRAM_DELTA_SCAN_SUBGROUP, gi_ref_delta_scan, 300},
    {GI_PROGRAM_DELTA_NORM, GI_PROGRAM_DELTA_NORM, gi_ref_delta_norm, 32},
    {GI_PROGRAM_SSM_STEP, GI_PROGRAM_SSM_STEP, gi_ref_ssm_step, 100},
    {GI_PROGRAM_SSM_CONV, GI_PROGRAM_SSM_CONV, gi_ref_ssm_conv, 300},
    {GI_PROGRAM_SSM_SCAN, GI_PROGRAM_SSM_SCAN, gi_ref_ssm_scan, 100},
    {GI_PROGRAM_SSM_NORM, GI_PROGRAM_SSM_NORM, gi_ref_ssm_norm, 32},
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

size_t gi_ref_run_end(const struct gi_ref *ref, size_t first, uint64_t gap)
{
    const struct gi_ref_result *results = ref->results.data;
    size_t end = first + 1;
    while (end < ref->results.count && results[end].binding == results[first].binding &&
           results[end].at <= results[end - 1].at + 1 + gap) {
        end++;
    }
    return end;
}

void gi_ref_finish(struct gi_ref *ref)
{
    gi_ref_rewind(ref, 0);
    free(ref->memory.data);
    free(ref->results.data);
    ref->memory = (struct gi_ref_memory){0};
    ref->results = (struct gi_ref_results){0};
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
    ref->is_read |= 1u << binding;
    ref->has_failed = ref->has_failed || (n > 0 && !ref->read(ref->user, binding, first, n, words));
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
    const struct gi_ref_result result = {what, binding, at, {value, magnitude}};
    ref->has_failed =
        ref->has_failed || !GI_ARRAY_PUSH(&ref->results, "a reference", ref->err, result);
}

double gi_ref_silu(double x)
{
    return x / (1 + exp(-x));
}

double gi_ref_softplus(double x)
{
    return log1p(exp(x));
}
