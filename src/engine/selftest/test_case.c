#include "engine/selftest/test_case.h"

#include "base/array.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/dispatch/multi_executor.h"

#include <assert.h>
#include <inttypes.h>
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

uint32_t *gi_test_words(struct gi_test *test, uint32_t binding, uint64_t first, size_t n)
{
    const struct gi_range *range = &test->dispatch->bindings[binding];
    const uint64_t begin = first * sizeof(uint32_t);
    uint32_t *words = gi_test_memory(test, n, sizeof(*words));
    assert(begin + n * sizeof(*words) <= range->size);
    if (words && n > 0 &&
        !gi_buffer_read(range->buffer, test->gpu, range->offset + begin, words, n * sizeof(*words),
                        test->err)) {
        test->has_failed = true;
    }
    return test->has_failed ? NULL : words;
}

float *gi_test_rows(struct gi_test *test, uint32_t binding, uint64_t first, uint64_t stride,
                    size_t n)
{
    return (float *)gi_test_words(test, binding, first, (test->n_tokens - 1) * stride + n);
}

void gi_test_write(struct gi_test *test, uint32_t binding, uint64_t first, const void *words,
                   size_t n)
{
    const struct gi_range *range = &test->dispatch->bindings[binding];
    const uint64_t begin = first * sizeof(uint32_t);
    test->has_failed =
        test->has_failed || !gi_buffer_write(range->buffer, test->gpu, range->offset + begin, words,
                                             n * sizeof(uint32_t), test->err);
}

void gi_test_write_state(struct gi_test *test)
{
    const bool is_of_slot = test->joint && (test->dispatch->slot > 0 || gi_test_is_of_slots(test));
    const struct gi_range range = is_of_slot ? gi_slot_range(&test->joint->state, test->slot)
                                             : *gi_dispatch_table_state(test->list);
    test->n_past = test->state.n_past;
    test->n_tokens = test->state.n_tokens;
    test->has_failed =
        test->has_failed || !gi_buffer_write(range.buffer, test->gpu, range.offset, &test->state,
                                             sizeof(test->state), test->err);
    const struct gi_range *own = &test->dispatch->state; // that counts keys of another text
    test->has_failed =
        test->has_failed || (!is_of_slot && own->buffer &&
                             !gi_buffer_write(own->buffer, test->gpu, own->offset, &test->state,
                                              sizeof(test->state), test->err));
}

//-- results that are not written ------------------------------------------------------------------

static bool is_read_elsewhere(const struct gi_test *test, uint32_t binding, uint64_t begin,
                              uint64_t end)
{
    const struct gi_range *own = &test->dispatch->bindings[binding];
    bool is_read = false;
    for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
        const struct gi_range *range = &test->dispatch->bindings[i];
        is_read = is_read || (i != binding && !(test->dispatch->writes >> i & 1) &&
                              range->buffer == own->buffer && range->offset < end &&
                              begin < range->offset + range->size);
    }
    return is_read;
}

void gi_test_poison(struct gi_test *test, uint32_t binding, uint64_t first, size_t n)
{
    const uint64_t begin = test->dispatch->bindings[binding].offset + first * sizeof(uint32_t);
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
            snprintf(test->where, sizeof(test->where), "%s[%" PRIu64 "] is not written", what,
                     first + i);
        }
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
        test->n_infinite++; // caused by large weights of the model, not the program
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

int32_t gi_test_define(const struct gi_test *test, const char *name)
{
    for (uint32_t i = 0; i < test->key->n_defines; i++) {
        if (strcmp(test->key->defines[i].name, name) == 0) {
            return test->key->defines[i].value;
        }
    }
    return 0;
}

bool gi_test_is_packed(const struct gi_program_key *key)
{
    bool is_packed = key->id == GI_PROGRAM_PACK_ROWS;
    for (uint32_t i = 0; i < key->n_defines; i++) {
        is_packed = is_packed || strcmp(key->defines[i].name, "PACKED") == 0;
    }
    return is_packed;
}

//-- slots -----------------------------------------------------------------------------------------

bool gi_test_is_of_slots(const struct gi_test *test)
{
    return test->joint && gi_test_define(test, "ROWS") > 0;
}
