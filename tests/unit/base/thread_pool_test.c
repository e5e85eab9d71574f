#include "base/thread_pool.h"
#include "tests/unit/cmocka_test.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { N_ITEM = 1000 };

struct job {
    _Atomic uint32_t n_calls[N_ITEM];
};

static void count_call(void *user, uint32_t item)
{
    struct job *job = user;
    atomic_fetch_add(&job->n_calls[item], 1);
}

TEST(thread_pool_calls_every_item_once)
{
    static const uint32_t counts[] = {0, 1, 3, 100};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct gi_thread_pool *pool = gi_thread_pool_create(counts[i]);
        assert_non_null(pool);
        for (uint32_t n = 0; n <= N_ITEM; n += 125) {
            struct job job = {0};
            gi_thread_pool_begin(pool, count_call, &job, n);
            gi_thread_pool_end(pool);
            for (uint32_t item = 0; item < N_ITEM; item++) {
                assert_int_equal(job.n_calls[item], item < n);
            }
        }
        gi_thread_pool_destroy(pool);
    }
}

TEST(thread_pool_may_have_had_no_job)
{
    struct gi_thread_pool *pool = gi_thread_pool_create(2);
    gi_thread_pool_end(pool);
    gi_thread_pool_destroy(pool);
    gi_thread_pool_destroy(NULL);
}

// A thread that is late for one job must not take it for the next.
TEST(thread_pool_takes_many_small_jobs)
{
    struct gi_thread_pool *pool = gi_thread_pool_create(4);
    struct job job = {0};
    for (uint32_t i = 0; i < 20000; i++) {
        gi_thread_pool_begin(pool, count_call, &job, 1 + i % 3);
        gi_thread_pool_end(pool);
    }
    assert_int_equal(job.n_calls[0], 20000);
    assert_int_equal(job.n_calls[1], 20000 / 3 * 2 + 1);
    assert_int_equal(job.n_calls[2], 20000 / 3);
    gi_thread_pool_destroy(pool);
}

RUN_TESTS(NULL, NULL)
