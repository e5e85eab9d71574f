// Tests programs of whole chains that another process compiles during an answer, and the verdicts
// of their trials, which later sessions use. On a software renderer a single group does all the
// work; exits 77 without a device.
#include "tests/golden/fixture/dispatch_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct fixture last;

static const char asked[] = "another process compiles", tried[] = "by many dispatches",
                  taken[] = "a chain of steps is one dispatch";

// Answers greedily, sampled with a small k and sampled: a program each.
static void answer_in_each_way(void)
{
    struct answer answer;
    answer_with(&last, sample_by(0.0F, 40, 0.95F), &answer);
    answer_with(&last, sample_by(1.0F, 40, 0.95F), &answer);
    answer_with(&last, sample_by(0.8F, 0, 0.9F), &answer);
}

//-- programs of another process -------------------------------------------------------------------

TEST(what_is_compiled_in_the_background_changes_no_token)
{
    const char *mode = pick("background:1", "background");
    open_dispatch(&last, mode, NULL);
    answer_in_each_way();
    assert_says(last.log, asked);
    assert_null(strstr(last.log, taken));
    close_fixture(&last);
    assert_true(wait_for_program(mode, sample_by(0.0F, 40, 0.95F)));
    assert_true(wait_for_program(mode, sample_by(1.0F, 40, 0.95F)));
    assert_true(wait_for_program(mode, sample_by(0.8F, 0, 0.9F)));
    expect_same_tokens(&last, mode);
    assert_null(strstr(last.log, asked));
    assert_null(strstr(last.log, tried)); // before
    assert_says(last.log, taken);
    assert_int_equal(count_files("persistent"), N_PERSISTENT_ENDS);
}

TEST(nothing_is_compiled_that_nobody_asked_for)
{
    struct glinfer_device_params params;
    glinfer_device_params_init(&params);
    assert_false(params.compile_in_background);
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

TEST(preparing_chooses_before_the_first_answer)
{
    struct glinfer_generate_params params;
    struct glinfer_prepared prepared = {.struct_size = sizeof(prepared)};
    struct answer answer;
    open_dispatch(&last, pick("background:1", "background"), NULL);
    for (int i = 0; i < N_PERSISTENT_ENDS; i++) {
        params = i == 0 ? sample_by(0.0F, 40, 0.95F) : sample_by(1.0F, i == 1 ? 40 : 0, 0.9F);
        must_do(glinfer_session_prepare(last.session, &params, &prepared, &err));
        assert_int_equal(prepared.dispatch, GLINFER_DISPATCH_PERSISTENT);
        assert_true(prepared.step_ns[GLINFER_DISPATCH_PERSISTENT] > 0);
    }
    const struct glinfer_stats stats = answer_with(&last, sample_by(0.0F, 40, 0.95F), &answer);
    assert_int_equal(stats.dispatch, GLINFER_DISPATCH_PERSISTENT);
    close_fixture(&last);
    assert_int_equal(count_files("persistent"), N_PERSISTENT_ENDS);
}

TEST(what_was_found_is_neither_compiled_nor_tried_again)
{
    assert_true(count_files("persistent") > 0);
    expect_same_tokens(&last, pick("background:1", "background"));
    assert_says(last.log, taken);
    assert_null(strstr(last.log, asked));
    assert_null(strstr(last.log, tried));
}

// A fault removes the verdict, so that the next session tries the program before it uses it.
TEST(a_fault_takes_the_verdict_back)
{
    if (!is_software()) {
        skip();
    }
    assert_int_equal(count_files("persistent"), N_PERSISTENT_ENDS);
    expect_same_tokens(&last, "background:1:128:0");
    assert_says(last.log, taken);
    assert_says(last.log, "given up");
    assert_int_equal(count_files("persistent"), N_PERSISTENT_ENDS - 1);
}

TEST(a_verdict_that_is_damaged_is_found_anew)
{
    each_file("persistent", cut_short);
    open_dispatch(&last, pick("background:1", "background"), NULL);
    answer_in_each_way();
    assert_null(strstr(last.log, asked)); // its program is there
    assert_says(last.log, tried);
    assert_says(last.log, taken);
    close_fixture(&last);
}

TEST(what_was_wrong_is_not_taken_again)
{
    each_file("persistent", make_wrong);
    expect_same_tokens(&last, pick("background:1", "background"));
    assert_says(last.log, "its tokens are not those of many dispatches");
    assert_null(strstr(last.log, asked));
    assert_null(strstr(last.log, taken));
}

// It would be neither right nor fast, and nobody has asked for it.
TEST(software_is_left_alone)
{
    struct glinfer_generate_params params;
    struct glinfer_prepared prepared = {.struct_size = sizeof(prepared)};
    struct answer answer;
    if (!is_software()) {
        skip();
    }
    glinfer_generate_params_init(&params);
    open_dispatch(&last, NULL, NULL);
    must_do(glinfer_session_prepare(last.session, &params, &prepared, &err));
    assert_int_equal(prepared.dispatch, GLINFER_DISPATCH_DIRECT);
    const struct glinfer_stats stats = answer_with(&last, sample_by(0.0F, 40, 0.95F), &answer);
    assert_int_equal(stats.dispatch, GLINFER_DISPATCH_DIRECT);
    close_fixture(&last);
    assert_null(strstr(last.log, "one dispatch"));
}

RUN_TESTS(make_cache, remove_cache)
