// Programs of whole chains that are compiled elsewhere while answers go on, and what trying them out showed, kept for
// the next session. On a software renderer a single group does all the work; exits 77 without a device.
#include "tests/golden/fixture/dispatch_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct setup last;

static const char asked[] = "another process compiles", tried[] = "by ordinary dispatches",
                  taken[] = "a chain of steps is one dispatch";

// Greedily, drawn among few and drawn among many: a program each.
static void answer_in_each_way(void)
{
    struct answer answer;
    answer_prompt(&last, 0.0F, true, &answer);
    answer_prompt(&last, 1.0F, true, &answer);
    answer_with(&last, draw_by(0.8F, 0, 0.9F), &answer);
}

// By a session that finds nothing on disk, and stays open.
static void ask_for_first_job(void)
{
    struct answer answer;
    each_file("programs", remove_file);
    each_file("persistent", remove_file);
    open_setup(&last, pick("background:1", "background"));
    answer_prompt(&last, 0.0F, true, &answer);
    assert_int_equal(n_jobs, 1);
}

//-- programs of another process -------------------------------------------------------------------

static void what_is_compiled_elsewhere_changes_no_token(void **state)
{
    (void)state;
    each_file("programs", remove_file);
    open_setup(&last, pick("background:1", "background"));
    answer_in_each_way();
    assert_int_equal(n_jobs, N_PERSISTENT_ENDS);
    assert_non_null(strstr(last.log, asked));
    assert_null(strstr(last.log, taken));
    close_setup(&last);
    compile_jobs();
    expect_same_tokens(&last, pick("background:1", "background"));
    assert_null(strstr(last.log, asked));
    assert_non_null(strstr(last.log, tried));
    if (is_software()) { // where it is slower too
        assert_non_null(strstr(last.log, taken));
        assert_int_equal(count_files("persistent"), N_PERSISTENT_ENDS);
    }
}

static void an_answer_goes_over_to_what_comes_meanwhile(void **state)
{
    struct answer expected, first, second;
    (void)state;
    each_file("programs", remove_file);
    each_file("persistent", remove_file);
    open_setup(&last, "direct");
    answer_prompt(&last, 0.0F, true, &expected);
    close_setup(&last);
    open_setup(&last, pick("background:1", "background"));
    answer_prompt(&last, 0.0F, true, &first);
    assert_int_equal(n_jobs, 1);
    compile_jobs();
    const struct timespec pause = {.tv_nsec = 100000000};
    nanosleep(&pause, NULL);
    struct glinfer_stats stats = answer_prompt(&last, 0.0F, true, &second);
    close_setup(&last);
    assert_memory_equal(first.ids, expected.ids, sizeof(expected.ids));
    assert_memory_equal(second.ids, expected.ids, sizeof(expected.ids));
    assert_non_null(strstr(last.log, taken));
    assert_int_equal(stats.dispatch, GLINFER_DISPATCH_PERSISTENT);
}

static void what_is_no_job_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "glinfer",
        "glinfer 0.0.1 compiles, capability 0, key 0123456789abcdef0123456789abcdef\nvoid main() "
        "{}",
        "\n\n\n",
    };
    struct glinfer_error err;
    (void)state;
    open_setup(&last, "direct");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_false(glinfer_device_compile(last.device, texts[i], strlen(texts[i]), &err));
        assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
    }
    close_setup(&last);
}

// What a driver refuses twice is not asked for again.
static void a_job_that_does_not_compile_becomes_a_verdict(void **state)
{
    struct glinfer_error err;
    (void)state;
    ask_for_first_job();
    memset((char *)jobs[0].data + jobs[0].size - 40, '!', 40);
    for (int n_refused = 0; n_refused < 2; n_refused++) {
        assert_int_equal(count_files("persistent"), 0);
        assert_false(glinfer_device_compile(last.device, jobs[0].data, jobs[0].size, &err));
        assert_int_equal(err.status, GLINFER_STATUS_DRIVER);
    }
    free(jobs[--n_jobs].data);
    close_setup(&last);
    expect_same_tokens(&last, pick("background:1", "background"));
    assert_non_null(strstr(last.log, "the driver does not compile it"));
    assert_int_equal(n_jobs, 2); // of drawn tokens
    free(jobs[--n_jobs].data);
    free(jobs[--n_jobs].data);
    each_file("persistent", remove_file);
}

// A lock that processes left behind which began to compile the first job so many times.
static void leave_lock(int n_begun, char path[256])
{
    const char *digits = strstr(jobs[0].data, " compiles ");
    assert_non_null(digits);
    snprintf(path, 256, "%s/persistent", cache);
    mkdir(path, 0700);
    snprintf(path, 256, "%s/persistent/.%.32s", cache, digits + strlen(" compiles "));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s", n_begun, "+++");
    fclose(file);
}

// A driver that crashes in its compiler is not made to at every start.
static void a_compiler_that_ends_its_process_is_given_up(void **state)
{
    struct glinfer_error err;
    char lock[256];
    (void)state;
    ask_for_first_job();
    leave_lock(3, lock);
    assert_false(glinfer_device_compile(last.device, jobs[0].data, jobs[0].size, &err));
    assert_int_equal(err.status, GLINFER_STATUS_DRIVER);
    assert_int_equal(count_files("persistent"), 1); // refused
    assert_int_equal(access(lock, F_OK), -1);
    each_file("persistent", remove_file);
    leave_lock(2, lock);
    must(glinfer_device_compile(last.device, jobs[0].data, jobs[0].size, &err), &err);
    assert_int_equal(count_files("persistent"), 0);
    assert_int_equal(access(lock, F_OK), -1);
    free(jobs[--n_jobs].data);
    close_setup(&last);
}

//-- verdicts --------------------------------------------------------------------------------------

// Makes a verdict, whatever it is, one of wrong tokens.
static void make_wrong(const char *path)
{
    char line[256] = "", *comma;
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    char *colon = strchr(line, ':');
    assert_non_null(colon);
    comma = strchr(colon, ',');
    assert_non_null(comma);
    rewind(file);
    fprintf(file, "%.*s: wrong%s", (int)(colon - line), line, comma);
    assert_int_equal(ftruncate(fileno(file), ftell(file)), 0);
    fclose(file);
}

static void cut_short(const char *path)
{
    assert_int_equal(truncate(path, 50), 0);
}

static void preparing_chooses_before_the_first_answer(void **state)
{
    struct glinfer_generate_params params;
    struct glinfer_prepared prepared = {.struct_size = sizeof(prepared)};
    struct glinfer_error err;
    struct answer answer;
    (void)state;
    open_setup(&last, pick("background:1", "background"));
    for (int i = 0; i < N_PERSISTENT_ENDS; i++) {
        params = i == 0 ? draw_by(0.0F, 40, 0.95F) : draw_by(1.0F, i == 1 ? 40 : 0, 0.9F);
        must(glinfer_session_prepare(last.session, &params, &prepared, &err), &err);
        assert_int_equal(prepared.dispatch, GLINFER_DISPATCH_PERSISTENT);
        assert_true(prepared.ordinary_ns > 0 && prepared.persistent_ns > 0);
    }
    const struct glinfer_stats stats = answer_prompt(&last, 0.0F, true, &answer);
    assert_int_equal(stats.dispatch, GLINFER_DISPATCH_PERSISTENT);
    close_setup(&last);
    assert_int_equal(count_files("persistent"), N_PERSISTENT_ENDS);
}

static void what_was_found_is_neither_compiled_nor_tried_again(void **state)
{
    (void)state;
    assert_true(count_files("persistent") > 0);
    expect_same_tokens(&last, pick("background:1", "background"));
    assert_non_null(strstr(last.log, taken));
    assert_null(strstr(last.log, asked));
    assert_null(strstr(last.log, tried));
}

// It is no reason to try nothing any more, but one to try first.
static void a_fault_takes_the_verdict_back(void **state)
{
    (void)state;
    if (!is_software()) {
        skip();
    }
    assert_int_equal(count_files("persistent"), N_PERSISTENT_ENDS);
    expect_same_tokens(&last, "background:1:128:0");
    assert_non_null(strstr(last.log, taken));
    assert_non_null(strstr(last.log, "given up"));
    assert_int_equal(count_files("persistent"), N_PERSISTENT_ENDS - 1);
}

static void a_verdict_that_is_damaged_is_found_anew(void **state)
{
    (void)state;
    each_file("persistent", cut_short);
    open_setup(&last, pick("background:1", "background"));
    answer_in_each_way();
    assert_null(strstr(last.log, asked)); // its program is there
    assert_non_null(strstr(last.log, tried));
    assert_non_null(strstr(last.log, taken));
    close_setup(&last);
}

static void what_was_wrong_is_not_taken_again(void **state)
{
    (void)state;
    each_file("persistent", make_wrong);
    expect_same_tokens(&last, pick("background:1", "background"));
    assert_non_null(strstr(last.log, "its tokens are not the ordinary ones"));
    assert_null(strstr(last.log, asked));
    assert_null(strstr(last.log, taken));
}

// It would be neither right nor fast, and nobody has asked for it.
static void software_is_left_alone(void **state)
{
    struct glinfer_generate_params params;
    struct glinfer_prepared prepared = {.struct_size = sizeof(prepared)};
    struct glinfer_error err;
    struct answer answer;
    (void)state;
    if (!is_software()) {
        skip();
    }
    glinfer_generate_params_init(&params);
    open_setup(&last, NULL);
    must(glinfer_session_prepare(last.session, &params, &prepared, &err), &err);
    assert_int_equal(prepared.dispatch, GLINFER_DISPATCH_DIRECT);
    const struct glinfer_stats stats = answer_prompt(&last, 0.0F, true, &answer);
    assert_int_equal(stats.dispatch, GLINFER_DISPATCH_DIRECT);
    close_setup(&last);
    assert_null(strstr(last.log, "one dispatch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_compiled_elsewhere_changes_no_token),
        cmocka_unit_test(an_answer_goes_over_to_what_comes_meanwhile),
        cmocka_unit_test(what_is_no_job_is_refused),
        cmocka_unit_test(a_job_that_does_not_compile_becomes_a_verdict),
        cmocka_unit_test(a_compiler_that_ends_its_process_is_given_up),
        cmocka_unit_test(preparing_chooses_before_the_first_answer),
        cmocka_unit_test(what_was_found_is_neither_compiled_nor_tried_again),
        cmocka_unit_test(a_fault_takes_the_verdict_back),
        cmocka_unit_test(a_verdict_that_is_damaged_is_found_anew),
        cmocka_unit_test(what_was_wrong_is_not_taken_again),
        cmocka_unit_test(software_is_left_alone),
    };
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
