// Memory is what was estimated, and budgets and hard limits are kept. Figures are of llvmpipe,
// whose buffers are the process's; exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

// Returns the bytes of a line of /proc/self/status.
static uint64_t read_status(const char *name)
{
    char line[256];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, strlen(name)) == 0) {
            kib = strtoull(line + strlen(name), NULL, 10);
        }
    }
    fclose(file);
    return kib << 10;
}

// Makes VmHWM what VmRSS is now. False where the kernel cannot.
static bool forget_peak(void)
{
    const int fd = open("/proc/self/clear_refs", O_WRONLY);
    const bool ok = fd >= 0 && write(fd, "5", 1) == 1;
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

// A model that is destroyed at the end of its scope.
#define MODEL __attribute__((cleanup(glinfer_model_destroy))) struct glinfer_model

static struct glinfer_model *load(struct tiny_model *f, const char *path, uint32_t n_ctx,
                                  uint32_t n_sessions, uint64_t budget, struct glinfer_error *err)
{
    const struct glinfer_model_params params =
        PARAMS(model, .path = path, .n_ctx = n_ctx, .mem_budget = budget, .n_sessions = n_sessions);
    return glinfer_model_load(f->device, &params, err);
}

// Returns the memory estimate of a model and its sessions, without a budget.
static struct glinfer_model_info reckon(struct tiny_model *f, const char *path, uint32_t n_ctx,
                                        uint32_t n_sessions)
{
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    MODEL *model = load(f, path, n_ctx, n_sessions, 0, NULL);
    glinfer_model_describe(model, &info);
    return info;
}

static uint64_t sum(const struct glinfer_model_info *info)
{
    return info->weights + info->kv_cache + info->scratch;
}

static struct glinfer_session *start(struct glinfer_model *model, uint32_t n_ctx,
                                     struct glinfer_error *err)
{
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = n_ctx);
    return glinfer_session_create(model, &params, err);
}

static bool is_software(const struct tiny_model *f)
{
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    glinfer_device_describe(f->device, &info);
    return info.is_software;
}

static void run(struct glinfer_session *session)
{
    int32_t ids[64];
    struct answer answer = {0};
    for (int i = 0; i < 64; i++) {
        ids[i] = 100 + i;
    }
    answer_more(session, ids, 64, 4, &answer);
}

TEST(the_peak_is_the_estimate)
{
    struct tiny_model *f = *state;
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    const char *path = test_model("SmolLM2-135M-Instruct.Q4_1.gguf");
    if (!is_software(f) || access(path, R_OK) != 0 || !forget_peak()) {
        skip();
    }
    const uint64_t before = read_status("VmRSS:");
    MODEL *model = must_do(load(f, path, 8192, 1, 0, &err));
    glinfer_model_describe(model, &info);
    SESSION *session = must_do(start(model, 8192, &err));
    run(session);
    const double peak = (double)(read_status("VmHWM:") - before);
    const double estimate = (double)(sum(&info) + info.peak_host);
    print_message("%.1f MiB estimated, %.1f measured\n", estimate / 1048576, peak / 1048576);
    assert_true(peak < estimate * 1.05 && peak > estimate * 0.95);
}

// Drivers hold on to what the last dispatches had bound.
TEST(memory_goes_back_with_a_session)
{
    enum { N_CTX = 1 << 18, MIB = 1 << 20 };
    struct tiny_model *f = *state;
    if (!is_software(f)) {
        skip();
    }
    const uint64_t before = read_status("VmRSS:");
    struct glinfer_session *session = must_do(start(f->model, N_CTX, &err));
    run(session);
    const uint64_t during = read_status("VmRSS:");
    glinfer_session_destroy(&session);
    const uint64_t after = read_status("VmRSS:");
    print_message("%llu MiB, %llu, %llu\n", (unsigned long long)before / MIB,
                  (unsigned long long)during / MIB, (unsigned long long)after / MIB);
    assert_true(during > before + 90 * MIB);
    assert_true(after + 90 * MIB < during);
}

TEST(sessions_take_what_loading_reckoned)
{
    static const struct {
        const char *file;
        uint32_t n_ctx, n_sessions;
    } cases[] = {
        {"tiny-q4_0", 33, 1},      {"tiny-mixed", 250, 1},   {"tiny-qwen3moe", 512, 1},
        {"tiny-gemma3", 33, 1},    {"tiny-gemma3", 512, 1},  {"tiny-q4_0", 130, 2},
        {"tiny-qwen3moe", 130, 5}, {"tiny-gemma3", 130, 16},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char file[64], path[4096];
        struct glinfer_session *sessions[16];
        const uint32_t n_ctx = cases[i].n_ctx, n = cases[i].n_sessions;
        snprintf(file, sizeof(file), "data/models/%s.gguf", cases[i].file);
        snprintf(path, sizeof(path), "%s", test_data(file));
        const struct glinfer_model_info info = reckon(*state, path, n_ctx, n);
        assert_int_equal(info.n_sessions, n);
        must_fail(load(*state, path, n_ctx, n, sum(&info) - 1, &err), OVER_BUDGET, "");
        MODEL *model = must_do(load(*state, path, n_ctx, n, sum(&info), &err));
        const struct glinfer_session_params params = PARAMS(session, .n_ctx = n_ctx);
        must_do(glinfer_sessions_create(model, &params, n, sessions, &err));
        if (n == 1) { // there is room for one
            must_fail(start(model, n_ctx, &err), OVER_BUDGET, "");
        }
        for (uint32_t k = 0; k < n; k++) {
            glinfer_session_destroy(&sessions[k]);
        }
    }
}

TEST(drafts_take_no_more_than_was_reckoned)
{
    static const int32_t ids[] = {100, 101, 102, 103, 100, 101, 102};
    const char *path = test_data("data/models/tiny-q4_0.gguf");
    const struct glinfer_model_info info = reckon(*state, path, 128, 1);
    struct answer answer = {0};
    MODEL *model = load(*state, path, 128, 1, sum(&info) + info.drafts, NULL);
    SESSION *session = start(model, 128, NULL);
    struct glinfer_generate_params params = ask(ids, 7, 4, &answer);
    params.lookup = 3;
    params.lookup_always = true;
    must_generate(session, &params);
}

// Looks for the buffers of drafts in what prepares for them, so that the first answer need not.
TEST(drafts_are_prepared)
{
    const char *path = test_data("data/models/tiny-q4_0.gguf");
    const struct glinfer_model_info info = reckon(*state, path, 128, 1);
    struct glinfer_error err = {0};
    MODEL *model = load(*state, path, 128, 1, sum(&info), &err);
    SESSION *session = start(model, 128, &err);
    struct glinfer_generate_params params = PARAMS(generate, .n_predict = 4);
    assert_true(glinfer_session_prepare(session, &params, NULL, &err));
    params.lookup = 3;
    assert_fails(glinfer_session_prepare(session, &params, NULL, &err), err, OVER_BUDGET, "");
}

// The refusal names a context that fits, and does.
TEST(a_hard_limit_is_kept)
{
    struct tiny_model *f = *state;
    struct rlimit before, tight;
    struct glinfer_error err = {0};
    const char *path = test_data("data/models/tiny-q4_0.gguf");
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    if (!is_software(f)) {
        skip();
    }
    tight = before;
    tight.rlim_cur = read_status("VmSize:") + (UINT64_C(150) << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    assert_fails(load(f, path, 1 << 19, 1, UINT64_C(4) << 30, &err), err, OVER_BUDGET, "ulimit -v");
    const char *fit = strstr(err.message, ": a context of ");
    assert_non_null(fit);
    assert_non_null(strstr(fit, " would fit"));
    const uint32_t n_ctx = (uint32_t)strtoul(fit + strlen(": a context of "), NULL, 10);
    assert_in_range(n_ctx, 1000, 1 << 19);
    MODEL *model = load(f, path, n_ctx, 1, UINT64_C(4) << 30, &err);
    must(model, &err);
    assert_fails(start(model, 1 << 19, &err), err, OVER_BUDGET, "");
    SESSION *session = start(model, n_ctx, &err);
    assert_non_null(session);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

// Compiles programs in another process, since compiling takes more memory than this test allows.
static void warm_up(const char *program)
{
    char command[4200];
    snprintf(command, sizeof(command), "'%s' warm >/dev/null", program);
    if (system(command) != 0) {
        print_message("the figures are of a first start\n");
    }
}

int main(int n_arg, char **args)
{
    if (n_arg == 1) {
        warm_up(args[0]);
    } else {
        cmocka_set_test_filter("the_peak_*");
    }
    return run_listed(open_tiny_model, close_tiny_model, NULL, NULL) && n_arg == 1;
}
