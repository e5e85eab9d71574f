// Compares the results of a dispatch with the reference of its kernel.
#include "engine/selftest/test_case.h"

// Writes numbers of 0.5 to 2 and their negatives, the same for the same word.
static void fill_words(struct gi_test *test, uint32_t binding, uint64_t first, uint32_t *words,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        words[i] = ((uint32_t)(first + i + 1) * 2654435761u & 0x80FFFFFFu) | 0x3F000000u;
    }
    gi_test_write(test, binding, first, words, n);
}

static bool read_words(void *user, uint32_t binding, uint64_t first, size_t n, void *words)
{
    struct gi_test *test = user;
    if (gi_kernel_find(test->key->id)->filled >> binding & 1) {
        fill_words(test, binding, first, words, n);
        return !test->has_failed;
    }
    const struct gi_range *range = &test->dispatch->bindings[binding];
    const uint64_t begin = test->slot_begins[binding] + first * sizeof(uint32_t);
    return gi_buffer_read(range->buffer, test->gpu, range->offset + begin, words,
                          n * sizeof(uint32_t), test->err);
}

// Poisons the results that are not inputs too.
static void poison_results(struct gi_test *test, const struct gi_ref *ref)
{
    const struct gi_ref_result *results = ref->results.data;
    for (size_t i = 0, end, run_end = 0; i < ref->results.count; i = end) {
        const bool is_input = gi_ref_is_input(ref, &results[i]);
        run_end = i < run_end ? run_end : gi_ref_run_end(ref, i, 0);
        end = i + 1;
        while (end < run_end && gi_ref_is_input(ref, &results[end]) == is_input) {
            end++;
        }
        if (!is_input) {
            gi_test_poison(test, results[i].binding, results[i].at,
                           results[end - 1].at + results[end - 1].n_sum - results[i].at);
        }
    }
}

static void compare_results(struct gi_test *test, const struct gi_ref *ref)
{
    enum { MAX_GAP = 256 }; // unneeded words that a read may include to save another wait
    const struct gi_ref_result *results = ref->results.data;
    for (size_t i = 0, end; i < ref->results.count && !test->has_failed; i = end) {
        const uint64_t first = results[i].at;
        const uint32_t n_memory = test->n_memory;
        end = gi_ref_run_end(ref, i, MAX_GAP);
        const float *found = gi_test_floats(test, results[i].binding, first,
                                            results[end - 1].at + results[end - 1].n_sum - first);
        for (size_t j = i; found && j < end; j++) {
            const struct gi_ref_value *expected = &results[j].expected;
            gi_test_expect(test, results[j].what, results[j].at, expected->value,
                           expected->magnitude, gi_ref_found(&results[j], found, first));
        }
        gi_test_rewind(test, n_memory);
    }
}

void gi_check_reference(struct gi_test *test)
{
    struct gi_ref ref = {
        .dispatch = test->dispatch,
        .key = test->key,
        .params = test->params,
        .n_past = test->n_past,
        .n_tokens = test->n_tokens,
        .is_sampled = true,
        .read = read_words,
        .user = test,
        .err = test->err,
    };
    test->has_failed = test->has_failed || !gi_kernel_work_out(gi_kernel_find(test->key->id), &ref);
    if (!test->has_failed) {
        poison_results(test, &ref);
        gi_test_run(test);
        compare_results(test, &ref);
    }
    gi_ref_finish(&ref);
}
