// Compares the results of a dispatch with the reference of its kernel.
#include "engine/model/weight_sample.h"
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
    return gi_buffer_read(range->buffer, test->gpu, range->offset + first * sizeof(uint32_t), words,
                          n * sizeof(uint32_t), test->err);
}

static bool write_words(void *user, uint32_t binding, uint64_t first, size_t n, const void *words)
{
    struct gi_test *test = user;
    gi_test_write(test, binding, first, words, n);
    return !test->has_failed;
}

static bool read_weight(void *user, uint32_t row, float *values)
{
    return gi_weight_sample_row(((struct gi_test *)user)->sample, row, values);
}

// Poisons the results that are not inputs too.
static void poison_results(struct gi_test *test, const struct gi_ref *ref)
{
    const struct gi_ref_result *results = ref->results.data;
    for (size_t i = 0, end, run_end = 0; i < ref->results.count; i = end) {
        const bool is_input = gi_ref_is_input(ref, results[i].binding, results[i].at, 1);
        run_end = i < run_end ? run_end : gi_ref_run_end(ref, i, 0);
        end = i + 1;
        while (end < run_end &&
               gi_ref_is_input(ref, results[end].binding, results[end].at, 1) == is_input) {
            end++;
        }
        if (!is_input) {
            gi_test_poison(test, results[i].binding, results[i].at,
                           results[end - 1].at + results[end - 1].n_sum - results[i].at);
        }
    }
    for (size_t i = 0; i < ref->written.count; i++) {
        const struct gi_ref_words *words = &ref->written.data[i];
        if (!gi_ref_is_input(ref, words->binding, words->first, words->n)) {
            gi_test_poison(test, words->binding, words->first, words->n);
        }
    }
}

enum { MAX_GAP = 256 }; // unneeded words that a read may include to save another wait

static void compare_written(struct gi_test *test, const struct gi_ref *ref)
{
    const struct gi_ref_words *all = ref->written.data;
    for (size_t i = 0; i < ref->written.count && !test->has_failed;) {
        const uint64_t first = all[i].first;
        const uint32_t binding = all[i].binding, n_memory = test->n_memory;
        size_t end = i + 1;
        uint64_t end_word = first + all[i].n;
        for (; end < ref->written.count && all[end].binding == binding && all[end].first >= first &&
               all[end].first <= end_word + MAX_GAP;
             end++) {
            const uint64_t own_end = all[end].first + all[end].n;
            end_word = own_end > end_word ? own_end : end_word;
        }
        const uint32_t *words = gi_test_words(test, binding, first, end_word - first);
        for (; words && i < end; i++) {
            gi_test_expect_written(test, all[i].what, all[i].first, words + (all[i].first - first),
                                   all[i].n);
        }
        gi_test_rewind(test, n_memory);
    }
}

// Reads the words that have the factors of a run of results.
static const uint32_t *read_scales(struct gi_test *test, const struct gi_ref_result *results,
                                   size_t n, uint64_t *first)
{
    uint64_t last = 0;
    *first = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        if (results[i].place.form >= GI_REF_Q8_0) {
            const uint64_t at = results[i].place.scale / 2;
            *first = at < *first ? at : *first;
            last = at > last ? at : last;
        }
    }
    return *first > last ? NULL
                         : gi_test_words(test, results[0].binding, *first, last - *first + 1);
}

// Drivers may round values to halves towards zero, so that the slack of a half counts twice.
static void compare_result(struct gi_test *test, const struct gi_ref_result *result,
                           const struct gi_ref_found *found)
{
    const struct gi_ref_value *expected = &result->expected;
    const bool is_block = result->place.form == GI_REF_Q8_0 || result->place.form == GI_REF_Q4_0;
    const double slack = (is_block ? 1 : 2) * found->slack;
    gi_test_expect(test, result->what, result->at, expected->value,
                   expected->magnitude + slack / test->tolerance, found->value);
}

static void compare_results(struct gi_test *test, const struct gi_ref *ref)
{
    const struct gi_ref_result *results = ref->results.data;
    for (size_t i = 0, end; i < ref->results.count && !test->has_failed; i = end) {
        const uint64_t first = results[i].at;
        const uint32_t n_memory = test->n_memory;
        uint64_t first_scale;
        end = gi_ref_run_end(ref, i, MAX_GAP);
        const uint32_t *scales = read_scales(test, &results[i], end - i, &first_scale);
        const uint32_t *words = gi_test_words(test, results[i].binding, first,
                                              results[end - 1].at + results[end - 1].n_sum - first);
        for (size_t j = i; words && j < end; j++) {
            const struct gi_ref_found found =
                gi_ref_found(&results[j], words, first, scales, first_scale);
            compare_result(test, &results[j], &found);
        }
        gi_test_rewind(test, n_memory);
    }
}

// Fills the bindings again that the dispatch wrote in another type: later entries read f32.
static void restore_filled(struct gi_test *test, struct gi_ref *ref)
{
    const uint32_t filled = gi_kernel_find(test->key->id)->filled & test->dispatch->writes;
    for (size_t i = 0, n = ref->reads.count; i < n; i++) {
        const struct gi_ref_words read = ref->reads.data[i];
        if (filled >> read.binding & 1) {
            gi_ref_floats(ref, read.binding, read.first, read.n); // which fills
        }
    }
}

void gi_test_compare(struct gi_test *test, uint32_t seed)
{
    struct gi_ref ref = {
        .dispatch = test->dispatch,
        .key = test->key,
        .params = test->params,
        .n_past = test->n_past,
        .n_tokens = test->n_tokens,
        .token = test->state.token,
        .slot = gi_test_is_of_slots(test) ? test->slot : 0,
        .is_sampled = true,
        .read = read_words,
        .write = write_words,
        .weight = read_weight,
        .n_col = test->sample ? test->sample->n_cols : 0,
        .seed = seed,
        .user = test,
        .err = test->err,
    };
    test->has_failed = test->has_failed || !gi_kernel_work_out(gi_kernel_find(test->key->id), &ref);
    if (!test->has_failed) {
        poison_results(test, &ref);
        gi_test_run(test);
        test->has_failed = test->has_failed || !gi_kernel_work_out_after(&ref);
    }
    if (!test->has_failed) {
        compare_written(test, &ref);
        compare_results(test, &ref);
        restore_filled(test, &ref);
    }
    gi_ref_finish(&ref);
}

void gi_check_reference(struct gi_test *test)
{
    enum { SHORT_TEXT = 77 }; // attention: a short text has one range of keys, a long one several
    const bool is_step = test->key->id >= GI_PROGRAM_ATTENTION &&
                         test->key->id <= GI_PROGRAM_ATTENTION_ROW &&
                         test->key->id != GI_PROGRAM_ATTENTION_QKV;
    if (is_step && !test->joint && test->n_past > SHORT_TEXT) {
        const struct gi_step_state state = test->state;
        test->state.n_past = test->run_past = SHORT_TEXT;
        gi_test_write_state(test);
        gi_test_compare(test, 1);
        test->state = state;
        test->run_past = state.n_past;
    }
    gi_test_write_state(test); // an entry may have a state of its own, which nothing else writes
    gi_test_compare(test, 1);
}
