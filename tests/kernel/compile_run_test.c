// Tests what the worker does with a job (persistent/compile_job.h), in a cache of the test's own.
// Exit status 77 where there is no device.
#include "base/cache_file.h"
#include "persistent/compile_job.h"
#include "persistent/persistent_verdict.h"
#include "platform/platform.h"
#include "tests/unit/temp_folder.h"

enum { SKIPPED = 77 };

static const char good[] = "layout(local_size_x = 1) in;\nvoid main()\n{\n}\n";
static const char bad[] = "layout(local_size_x = 1) in;\nvoid main()\n{\n    undeclared = 1;\n}\n";
static const struct gi_hash key = {0x0123456789abcdef, 0xfedcba9876543210};
static const char *verdicts;

static int make_cache(void **state)
{
    const struct gi_platform_params params = {.device = "auto", .allow_software = true};
    struct gi_platform *platform = gi_platform_open(&params, NULL);
    if (!platform) {
        exit(SKIPPED);
    }
    gi_platform_close(platform);
    const int status = make_temp_folder(state);
    verdicts = temp_path("persistent");
    return status;
}

// Runs a job of the text on the device that is found.
static bool run_job(const char *text, struct glinfer_error *err)
{
    const struct gi_compile_job job = {.key = key, .text = text};
    size_t size;
    char *data = gi_compile_job_format(&job, &size, err);
    assert_non_null(data);
    const bool ok = gi_compile_job_run(data, size, "auto", temp_folder, err);
    free(data);
    return ok;
}

static void name_lock(char path[256])
{
    char digits[33];
    gi_hash_text(&key, digits);
    mkdir(verdicts, 0700);
    snprintf(path, 256, "%s/.%s", verdicts, digits);
}

TEST(what_is_no_job_is_refused)
{
    static const char *const texts[] = {
        "",
        "glinfer",
        "glinfer 0.0.1 compiles 0123456789abcdef0123456789abcdef, capability 00000000\nvoid main() "
        "{}",
        "\n\n\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        must_fail(gi_compile_job_run(texts[i], strlen(texts[i]), "auto", temp_folder, &err),
                  INVALID_ARGUMENT, "");
    }
}

TEST(a_job_compiles_and_leaves_no_verdict)
{
    char lock[256];
    must_do(run_job(good, &err));
    name_lock(lock);
    assert_int_equal(access(lock, F_OK), -1);
    assert_int_equal(gi_verdict_load(verdicts, &key).kind, GI_VERDICT_NONE);
}

TEST(a_text_that_is_refused_twice_becomes_a_verdict)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gi_verdict_load(verdicts, &key).kind, GI_VERDICT_NONE);
        must_fail(run_job(bad, &err), DRIVER, "");
    }
    assert_int_equal(gi_verdict_load(verdicts, &key).kind, GI_VERDICT_REFUSED);
    gi_verdict_forget(verdicts, &key);
}

// A driver that crashes in its compiler is not made to at every start.
TEST(a_compiler_that_ends_its_process_is_given_up)
{
    struct glinfer_error err;
    char lock[256];
    name_lock(lock);
    for (int n_begun = 2; n_begun <= 3; n_begun++) {
        FILE *file = fopen(lock, "w");
        assert_non_null(file);
        fprintf(file, "%.*s", n_begun, "+++");
        fclose(file);
        assert_int_equal(run_job(good, &err), n_begun == 2);
        assert_int_equal(access(lock, F_OK), -1);
    }
    assert_int_equal(err.status, GLINFER_STATUS_DRIVER);
    assert_int_equal(gi_verdict_load(verdicts, &key).kind, GI_VERDICT_REFUSED);
}

TEST(without_a_cache_nothing_is_compiled)
{
    const struct gi_compile_job job = {.key = key, .text = good};
    size_t size;
    char *data = must_do(gi_compile_job_format(&job, &size, &err));
    must_fail(gi_compile_job_run(data, size, "auto", "", &err), IO, "");
    free(data);
}

RUN_TESTS(make_cache, remove_temp_folder)
