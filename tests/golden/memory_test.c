// Memory is what was estimated, and budgets and hard limits are kept. Figures are of llvmpipe,
// whose buffers are the process's; exits 77 without a device.
#include "glinfer.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/tiny_model.h"
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

static struct glinfer_model *load_for(struct tiny_model *f, const char *path, uint32_t n_ctx,
                                      uint32_t n_sessions, uint64_t budget,
                                      struct glinfer_error *err)
{
    struct glinfer_model_params params;
    glinfer_model_params_init(&params);
    params.path = path;
    params.n_ctx = n_ctx;
    params.mem_budget = budget;
    params.n_sessions = n_sessions;
    return glinfer_model_load(f->device, &params, err);
}

static struct glinfer_model *load(struct tiny_model *f, const char *path, uint32_t n_ctx,
                                  uint64_t budget, struct glinfer_error *err)
{
    return load_for(f, path, n_ctx, 1, budget, err);
}

static struct glinfer_session *start(struct glinfer_model *model, uint32_t n_ctx,
                                     struct glinfer_error *err)
{
    struct glinfer_session_params params;
    glinfer_session_params_init(&params);
    params.n_ctx = n_ctx;
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
    enum { N_PROMPT = 64 };
    int32_t prompt[N_PROMPT];
    struct glinfer_generate_params params;
    for (int i = 0; i < N_PROMPT; i++) {
        prompt[i] = 100 + i;
    }
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_prompt = N_PROMPT;
    params.n_predict = 4;
    params.ignore_eos = true;
    assert_true(glinfer_generate(session, &params, NULL, NULL));
}

TEST(the_peak_is_the_estimate)
{
    struct tiny_model *f = *state;
    struct glinfer_error err = {0};
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    const char *path = test_model("SmolLM2-135M-Instruct.Q4_1.gguf");
    if (!is_software(f) || access(path, R_OK) != 0 || !forget_peak()) {
        skip();
    }
    const uint64_t before = read_status("VmRSS:");
    struct glinfer_model *model = load(f, path, 8192, 0, &err);
    assert_non_null(model);
    glinfer_model_describe(model, &info);
    struct glinfer_session *session = start(model, 8192, &err);
    assert_non_null(session);
    run(session);
    const double peak = (double)(read_status("VmHWM:") - before);
    const double estimate = (double)(info.weights + info.kv_cache + info.scratch + info.peak_host);
    print_message("%.1f MiB estimated, %.1f measured\n", estimate / 1048576, peak / 1048576);
    assert_true(peak < estimate * 1.05 && peak > estimate * 0.95);
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
}

// Drivers hold on to what the last dispatches had bound.
TEST(memory_goes_back_with_a_session)
{
    enum { N_CTX = 1 << 18, MIB = 1 << 20 };
    struct tiny_model *f = *state;
    struct glinfer_error err = {0};
    if (!is_software(f)) {
        skip();
    }
    const uint64_t before = read_status("VmRSS:");
    struct glinfer_session *session = start(f->model, N_CTX, &err);
    assert_non_null(session);
    run(session);
    const uint64_t during = read_status("VmRSS:");
    glinfer_session_destroy(&session);
    const uint64_t after = read_status("VmRSS:");
    print_message("%llu MiB, %llu, %llu\n", (unsigned long long)before / MIB,
                  (unsigned long long)during / MIB, (unsigned long long)after / MIB);
    assert_true(during > before + 90 * MIB);
    assert_true(after + 90 * MIB < during);
}

TEST(a_session_takes_what_loading_reckoned)
{
    static const char *const files[] = {"tiny-q4_0", "tiny-mixed", "tiny-qwen3moe", "tiny-gemma3"};
    static const uint32_t contexts[] = {33, 250, 512};
    for (int i = 0; i < 12; i++) {
        char path[64];
        struct glinfer_error err = {0};
        struct glinfer_model_info info = {.struct_size = sizeof(info)};
        const uint32_t n_ctx = contexts[i / 4];
        snprintf(path, sizeof(path), "data/models/%s.gguf", files[i % 4]);
        struct glinfer_model *model = load(*state, test_data(path), n_ctx, 0, &err);
        glinfer_model_describe(model, &info);
        glinfer_model_destroy(&model);
        const uint64_t needed = info.weights + info.kv_cache + info.scratch;
        assert_fails(load(*state, test_data(path), n_ctx, needed - 1, &err), err, OVER_BUDGET, "");
        model = load(*state, test_data(path), n_ctx, needed, &err);
        assert_non_null(model);
        struct glinfer_session *session = start(model, n_ctx, &err);
        assert_non_null(session);
        assert_null(start(model, n_ctx, &err)); // there is room for one
        assert_int_equal(err.status, GLINFER_STATUS_OVER_BUDGET);
        glinfer_session_destroy(&session);
        glinfer_model_destroy(&model);
    }
}

TEST(several_sessions_take_what_loading_reckoned)
{
    static const char *const files[] = {"tiny-q4_0", "tiny-qwen3moe", "tiny-gemma3"};
    static const uint32_t counts[] = {2, 5, 16};
    for (int i = 0; i < 9; i++) {
        char path[64];
        struct glinfer_error err = {0};
        struct glinfer_session *sessions[16];
        struct glinfer_session_params params;
        struct glinfer_model_info info = {.struct_size = sizeof(info)};
        const uint32_t n = counts[i / 3], n_ctx = 130;
        snprintf(path, sizeof(path), "data/models/%s.gguf", files[i % 3]);
        glinfer_session_params_init(&params);
        params.n_ctx = n_ctx;
        struct glinfer_model *model = load_for(*state, test_data(path), n_ctx, n, 0, &err);
        glinfer_model_describe(model, &info);
        glinfer_model_destroy(&model);
        assert_int_equal(info.n_sessions, n);
        const uint64_t needed = info.weights + info.kv_cache + info.scratch;
        assert_null(load_for(*state, test_data(path), n_ctx, n, needed - 1, &err));
        model = load_for(*state, test_data(path), n_ctx, n, needed, &err);
        assert_non_null(model);
        assert_true(glinfer_sessions_create(model, &params, n, sessions, &err));
        for (uint32_t k = 0; k < n; k++) {
            glinfer_session_destroy(&sessions[k]);
        }
        glinfer_model_destroy(&model);
    }
}

static void ask_with_drafts(struct glinfer_session *session)
{
    const int32_t prompt[] = {100, 101, 102, 103, 100, 101, 102};
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_prompt = sizeof(prompt) / sizeof(prompt[0]);
    params.n_predict = 4;
    params.ignore_eos = true;
    params.lookup = 3;
    params.lookup_always = true;
    assert_true(glinfer_generate(session, &params, NULL, NULL));
}

TEST(drafts_take_no_more_than_was_reckoned)
{
    struct glinfer_error err = {0};
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    const char *path = test_data("data/models/tiny-q4_0.gguf");
    struct glinfer_model *model = load(*state, path, 128, 0, &err);
    glinfer_model_describe(model, &info);
    glinfer_model_destroy(&model);
    const uint64_t needed = info.weights + info.kv_cache + info.scratch + info.drafts;
    model = load(*state, path, 128, needed, &err);
    struct glinfer_session *session = start(model, 128, &err);
    assert_non_null(session);
    ask_with_drafts(session);
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
}

// Looks for the buffers of drafts in what prepares for them, so that the first answer need not.
TEST(drafts_are_prepared)
{
    struct glinfer_error err = {0};
    struct glinfer_generate_params params;
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    const char *path = test_data("data/models/tiny-q4_0.gguf");
    struct glinfer_model *model = load(*state, path, 128, 0, &err);
    glinfer_model_describe(model, &info);
    glinfer_model_destroy(&model);
    model = load(*state, path, 128, info.weights + info.kv_cache + info.scratch, &err);
    struct glinfer_session *session = start(model, 128, &err);
    glinfer_generate_params_init(&params);
    params.n_predict = 4;
    assert_true(glinfer_session_prepare(session, &params, NULL, &err));
    params.lookup = 3;
    assert_fails(glinfer_session_prepare(session, &params, NULL, &err), err, OVER_BUDGET, "");
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
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
    struct glinfer_model *model = load(f, path, 1 << 19, UINT64_C(4) << 30, &err);
    assert_null(model);
    assert_int_equal(err.status, GLINFER_STATUS_OVER_BUDGET);
    assert_says(err.message, "ulimit -v");
    const char *fit = strstr(err.message, ": a context of ");
    assert_non_null(fit);
    assert_non_null(strstr(fit, " would fit"));
    const uint32_t n_ctx = (uint32_t)strtoul(fit + strlen(": a context of "), NULL, 10);
    assert_in_range(n_ctx, 1000, 1 << 19);
    model = load(f, path, n_ctx, UINT64_C(4) << 30, &err);
    must(model, &err);
    assert_fails(start(model, 1 << 19, &err), err, OVER_BUDGET, "");
    struct glinfer_session *session = start(model, n_ctx, &err);
    assert_non_null(session);
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

static int open_device(void **state)
{
    static struct tiny_model tiny;
    *state = &tiny;
    return tiny_model_open(&tiny, test_data("data/models/tiny-q4_0.gguf"), NULL) ? 0 : -1;
}

static int close_device(void **state)
{
    tiny_model_close(*state);
    return 0;
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
    return run_listed(open_device, close_device, NULL, NULL) && n_arg == 1;
}
