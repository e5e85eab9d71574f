// Holds glinfer_profile and glinfer_device_measure to their promises: figures that add up, whatever
// the clock, and a session that is as good as before. Runs on a tiny model; exits 77 without a
// device.
#include "tests/golden/fixture/tiny_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Sums of what the callbacks got.
struct sums {
    uint32_t n_kernels, n_dispatches, n_single;
    double kernel_ns, last_ns;
    uint64_t weight_bytes, bytes, single_bytes, end_ns;
    bool has_gemv;
};

static void on_kernel(void *user, const struct glinfer_profile_kernel *kernel)
{
    struct sums *sums = user;
    assert_true(sums->n_kernels == 0 || kernel->ns <= sums->last_ns);
    assert_true(kernel->n_dispatches > 0 && kernel->label[0] && kernel->program[0]);
    assert_true(kernel->bytes >= kernel->weight_bytes);
    sums->last_ns = kernel->ns;
    sums->n_kernels++;
    sums->n_dispatches += kernel->n_dispatches;
    sums->kernel_ns += kernel->ns;
    sums->weight_bytes += kernel->weight_bytes;
    sums->bytes += kernel->bytes;
    sums->has_gemv = sums->has_gemv || (kernel->weight_bytes > 0 && kernel->flops > 0);
}

static void on_dispatch(void *user, const struct glinfer_profile_dispatch *dispatch)
{
    struct sums *sums = user;
    assert_true(dispatch->begin_ns == sums->end_ns);
    sums->end_ns += dispatch->ns;
    sums->n_single++;
    sums->single_bytes += dispatch->bytes;
}

static struct glinfer_profile_stats profile(struct fixture *f, uint32_t n_runs, uint32_t n_prompt,
                                            uint32_t depth, struct sums *sums)
{
    struct glinfer_profile_params params;
    struct glinfer_profile_stats stats = {.struct_size = sizeof(stats)};
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    glinfer_profile_params_init(&params);
    params.n_runs = n_runs;
    params.n_prompt = n_prompt;
    params.depth = depth;
    params.on_kernel = on_kernel;
    params.on_dispatch = on_dispatch;
    params.user = sums;
    *sums = (struct sums){0};
    must(glinfer_profile(f->session, &params, &stats, &err), &err);
    return stats;
}

static void check(const struct glinfer_profile_stats *stats, const struct sums *sums)
{
    assert_int_equal(sums->n_dispatches, stats->n_dispatches);
    assert_int_equal(sums->n_single, stats->n_dispatches);
    assert_int_equal(sums->weight_bytes, stats->weight_bytes);
    assert_true(sums->kernel_ns > 0.999 * stats->kernel_ns);
    assert_true(sums->kernel_ns < 1.001 * stats->kernel_ns);
    assert_true(stats->wall_ns > 0 && stats->host_ns > 0 && stats->host_ns <= stats->wall_ns);
    assert_true(sums->has_gemv);
}

TEST(decode_profile_adds_up)
{
    struct fixture *f = *state;
    struct glinfer_stats generated;
    int32_t ids[N_PREDICT];
    struct sums sums;
    generate(f, &generated, ids);
    const struct glinfer_profile_stats stats = profile(f, 11, 0, 0, &sums);
    check(&stats, &sums);
    assert_int_equal(stats.n_runs, 11);
    assert_int_equal(stats.n_dispatches, generated.dispatches_per_token);
    assert_int_equal(stats.weight_bytes, generated.weight_bytes_per_token);
}

TEST(depth_adds_the_keys_that_are_read)
{
    struct fixture *f = *state;
    struct sums at_start, at_depth;
    profile(f, 1, 0, 0, &at_start);
    profile(f, 1, 0, 40, &at_depth);
    assert_true(at_depth.single_bytes > at_start.single_bytes);
    assert_int_equal(at_depth.weight_bytes, at_start.weight_bytes);
    assert_int_equal((at_depth.bytes - at_depth.weight_bytes),
                     41 * (at_start.bytes - at_start.weight_bytes));
}

TEST(prompt_profile_adds_up_over_batches)
{
    struct fixture *f = *state;
    struct sums one, two;
    const struct glinfer_profile_stats stats = profile(f, 2, 16, 0, &one);
    const struct glinfer_profile_stats more = profile(f, 1, 17, 3, &two);
    check(&stats, &one);
    check(&more, &two);
    assert_true(more.n_dispatches > stats.n_dispatches); // batches of 16
}

struct products {
    char program[192]; // of the last one without a bias
    uint32_t n_kernels, n_programs;
};

static void note_product(void *user, const struct glinfer_profile_kernel *kernel)
{
    struct products *products = user;
    if (strstr(kernel->program, "gemm_half.comp") && strstr(kernel->program, "HAS_BIAS=0")) {
        products->n_kernels++;
        products->n_programs += strcmp(kernel->program, products->program) != 0;
        snprintf(products->program, sizeof(products->program), "%s", kernel->program);
    }
}

static const struct test_setting split_halves[] = {
    {"GLINFER_HALF", "yes"}, {"GLINFER_BATCH", "split"}, {0}};

// One program both writes and adds products: NVIDIA's driver takes half a second to compile each.
TEST(prompt_in_f16_has_one_product)
{
    struct products products = {0};
    struct fixture f = {.settings = split_halves,
                        .params = session_params(64, 128, GLINFER_PRECISION_F16)};
    struct glinfer_profile_params params;
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    open_fixture(&f, NULL);
    glinfer_profile_params_init(&params);
    params.n_runs = 1;
    params.n_prompt = 40;
    params.on_kernel = note_product;
    params.user = &products;
    const bool ok = glinfer_profile(f.session, &params, NULL, &err);
    close_fixture(&f);
    must(ok, &err);
    assert_true(products.n_kernels > 2);
    assert_int_equal(products.n_programs, 1);
}

// Batches of few tokens may take fewer dispatches than others, which convert what products in f16
// read.
TEST(prompt_profile_adds_up_over_batches_of_few)
{
    struct fixture f = {.settings = split_halves,
                        .params = session_params(160, 128, GLINFER_PRECISION_F16)};
    struct sums few, both;
    open_fixture(&f, NULL);
    const struct glinfer_profile_stats of_few = profile(&f, 1, 8, 0, &few);
    const struct glinfer_profile_stats of_both = profile(&f, 1, 136, 0, &both);
    close_fixture(&f);
    check(&of_few, &few);
    check(&of_both, &both);
}

TEST(profile_leaves_the_session_as_new)
{
    struct fixture *f = *state;
    struct glinfer_stats stats;
    int32_t before[N_PREDICT], after[N_PREDICT];
    struct sums sums;
    generate(f, &stats, before);
    profile(f, 3, 0, 20, &sums);
    profile(f, 1, 20, 0, &sums);
    generate(f, &stats, after);
    assert_memory_equal(before, after, sizeof(before));
}

TEST(profile_that_does_not_fit_is_refused)
{
    struct fixture *f = *state;
    struct glinfer_profile_params params;
    glinfer_profile_params_init(&params);
    params.n_prompt = 60;
    params.depth = 10;
    must_fail(glinfer_profile(f->session, &params, NULL, &err), CONTEXT_FULL, "");
}

static void *cancel_soon(void *session)
{
    usleep(20000);
    glinfer_session_cancel(session);
    return NULL;
}

TEST(profile_can_be_cancelled)
{
    struct fixture *f = *state;
    struct glinfer_error err;
    pthread_t thread;
    glinfer_session_cancel(f->session); // of no call
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, f->session), 0);
    const bool ok = glinfer_profile(f->session, NULL, NULL, &err);
    pthread_join(thread, NULL);
    assert_true(ok || err.status == GLINFER_STATUS_CANCELLED); // a fast device may be done
}

TEST(device_has_rates)
{
    struct fixture *f = *state;
    struct glinfer_device_rates rates = {.struct_size = sizeof(rates)};
    must_do(glinfer_device_measure(f->tiny.device, &rates, &err));
    assert_int_equal(rates.struct_size, sizeof(rates));
    assert_true(rates.copy_gb_per_s > 0 && rates.read_gb_per_s > 0 && rates.gflop_per_s > 0);
}

static int open_group(void **state)
{
    static struct fixture f;
    *state = &f;
    open_fixture(&f, NULL);
    return 0;
}

static int close_group(void **state)
{
    close_fixture(*state);
    return 0;
}

RUN_TESTS(open_group, close_group)
