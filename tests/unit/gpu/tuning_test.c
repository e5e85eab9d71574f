#include "ops/record/tuning_site.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

static const struct gi_tuning_key some_key = {
    .kernel = "gemv_qkv", .type = 2, .n_rows = 960, .n_cols = 576};

static struct gi_tuning *parse(const char *text, size_t size, long expected)
{
    struct gi_tuning *tuning = gi_tuning_create(NULL);
    assert_non_null(tuning);
    assert_int_equal(gi_tuning_parse(tuning, text, size, NULL), expected);
    return tuning;
}

TEST(tuning_finds_what_was_set)
{
    struct gi_tuning *tuning = gi_tuning_create(NULL);
    struct gi_tuning_key other = some_key;
    other.n_rows = 961;
    assert_true(gi_tuning_set(tuning, &some_key, "split:256:1", NULL));
    assert_string_equal(gi_tuning_find(tuning, &some_key), "split:256:1");
    assert_null(gi_tuning_find(tuning, &other));
    assert_null(gi_tuning_find(NULL, &some_key));
    gi_tuning_destroy(tuning);
}

TEST(tuning_replaces_and_takes_out)
{
    struct gi_tuning *tuning = gi_tuning_create(NULL);
    struct gi_tuning_key other = some_key;
    other.extent = 512;
    assert_true(gi_tuning_set(tuning, &some_key, "row:64:1", NULL));
    assert_true(gi_tuning_set(tuning, &other, "row:32:1", NULL));
    assert_true(gi_tuning_set(tuning, &some_key, "row:8:4", NULL));
    assert_int_equal(gi_tuning_count(tuning), 2);
    assert_string_equal(gi_tuning_find(tuning, &some_key), "row:8:4");
    assert_true(gi_tuning_set(tuning, &some_key, NULL, NULL));
    assert_true(gi_tuning_set(tuning, &some_key, NULL, NULL));
    assert_int_equal(gi_tuning_count(tuning), 1);
    assert_null(gi_tuning_find(tuning, &some_key));
    assert_string_equal(gi_tuning_find(tuning, &other), "row:32:1");
    gi_tuning_destroy(tuning);
}

// More rows than the first allocation holds.
TEST(tuning_reads_what_it_wrote)
{
    struct gi_tuning *tuning = gi_tuning_create(NULL);
    for (uint32_t i = 0; i < 100; i++) {
        const struct gi_tuning_key key = {"gemm", GI_TUNING_NO_TYPE, i, UINT32_MAX, 512};
        assert_true(gi_tuning_set(tuning, &key, i % 2 ? "64x64" : "narrow", NULL));
    }
    size_t size = 0;
    char *text = gi_tuning_format(tuning, &size, NULL);
    assert_int_equal(size, strlen(text));
    struct gi_tuning *again = parse(text, size, 100);
    for (uint32_t i = 0; i < 100; i++) {
        struct gi_tuning_key key;
        const char *shape = gi_tuning_at(tuning, i, &key);
        assert_string_equal(gi_tuning_find(again, &key), shape);
    }
    free(text);
    gi_tuning_destroy(again);
    gi_tuning_destroy(tuning);
}

TEST(tuning_leaves_out_lines_that_are_not_rows)
{
    static const char text[] = "gemv_qkv 2 960 576 0 split:256:1\n"
                               "\n"
                               "# a remark\n"
                               "gemv_qkv 2 960 576 0\n"
                               "gemv_qkv 2 960 576 0 \n"
                               "gemv_qkv  2 960 576 0 row:64:1\n"
                               "gemv_qkv 2 960 576 0 row:64:1 more\n"
                               "gemv_qkv 2 960 576 0 row;64\n"
                               "gemv_qkv -2 960 576 0 row:64:1\n"
                               "gemv_qkv 4294967296 960 576 0 row:64:1\n"
                               "gemv_qkv 99999999999999999999 960 576 0 row:64:1\n"
                               "gemv_qkv 2 960 576 0x10 row:64:1\n"
                               "GEMV 2 960 576 0 row:64:1\n"
                               "gemv_qkv\0 2 960 576 0 row:64:1\n"
                               "a_kernel_name_that_is_far_too_long 2 960 576 0 row:64:1\n"
                               "gemv_qkv 2 960 576 0 a:shape:that:is:longer:than:any:shape:is\n"
                               "gemv_glu 2 3072 576 0 row:8:4\n"
                               "gemv_vocab 2 960 576 0 cut";
    struct gi_tuning *tuning = parse(text, sizeof(text) - 1, 2);
    assert_int_equal(gi_tuning_count(tuning), 2);
    assert_string_equal(gi_tuning_find(tuning, &some_key), "split:256:1");
    gi_tuning_destroy(tuning);
}

// Every prefix of a good text is as good as its whole lines.
TEST(tuning_takes_truncated_texts)
{
    static const char text[] = "gemv_qkv 2 960 576 0 split:256:1\ngemv_glu 2 3072 576 0 row:8:4\n";
    for (size_t size = 0; size <= sizeof(text) - 1; size++) {
        char *copy = malloc(size + 1); // exactly as large, so that a sanitizer sees over-reading
        memcpy(copy, text, size);
        const long n = size < strlen("gemv_qkv 2 960 576 0 split:256:1\n") ? 0 : 1;
        gi_tuning_destroy(parse(copy, size, size == sizeof(text) - 1 ? 2 : n));
        free(copy);
    }
}

TEST(tuning_bounds_the_rows_of_a_text)
{
    enum { N = 10000, LINE = 64 };
    char *text = malloc((size_t)N * LINE);
    size_t size = 0;
    for (int i = 0; i < N; i++) {
        size += (size_t)snprintf(text + size, LINE, "gemm 2 %d 576 0 narrow\n", i);
    }
    struct gi_tuning *tuning = gi_tuning_create(NULL);
    assert_in_range(gi_tuning_parse(tuning, text, size, NULL), 1, N - 1);
    gi_tuning_destroy(tuning);
    free(text);
}

TEST(sites_are_noted_once)
{
    struct gi_tuning_sites *sites = calloc(1, sizeof(*sites));
    struct gi_tuning_site *site, *again;
    struct gi_tuning_key other = some_key;
    other.type = 3;
    assert_int_equal(gi_tuning_note(sites, &some_key, "row:64:1", &site), 1);
    gi_tuning_offer(site, "row:8:4");
    gi_tuning_offer(site, "row:64:1"); // is taken
    gi_tuning_offer(site, "row:8:4");  // is there
    assert_int_equal(site->n_candidates, 1);
    assert_string_equal(site->candidates[0], "row:8:4");
    assert_int_equal(gi_tuning_note(sites, &some_key, "row:8:4", &again), 1);
    assert_null(again);
    assert_string_equal(site->shape, "row:64:1");
    assert_int_equal(gi_tuning_note(sites, &other, "row:64:1", &again), 2);
    assert_ptr_equal(again, site + 1);
    free(sites);
}

TEST(sites_and_candidates_are_bounded)
{
    struct gi_tuning_sites *sites = calloc(1, sizeof(*sites));
    struct gi_tuning_site *site;
    for (uint32_t i = 0; i < 2 * GI_MAX_TUNING_SITES; i++) {
        const struct gi_tuning_key key = {.kernel = "gemm", .n_rows = i};
        const uint32_t number = gi_tuning_note(sites, &key, "narrow", &site);
        assert_int_equal(number, i < GI_MAX_TUNING_SITES ? i + 1 : 0);
    }
    for (uint32_t i = 0; i < 2 * GI_MAX_CANDIDATES; i++) {
        char shape[16];
        snprintf(shape, sizeof(shape), "row:%u", i);
        gi_tuning_offer(&sites->sites[0], shape);
    }
    assert_int_equal(sites->sites[0].n_candidates, GI_MAX_CANDIDATES);
    free(sites);
}

RUN_TESTS(NULL, NULL)
