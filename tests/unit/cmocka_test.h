// cmocka with the headers that it wants before it.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

// Fails the test with the message of a struct glinfer_error unless `ok`.
#define must(ok, err)                                                                              \
    do {                                                                                           \
        if (!(ok)) {                                                                               \
            fail_msg("%s", (err)->message);                                                        \
        }                                                                                          \
    } while (0)

// Fails the test unless a message contains `words`.
#define assert_says(text, words)                                                                   \
    do {                                                                                           \
        if (!strstr(text, words)) {                                                                \
            fail_msg("\"%s\" does not say \"%s\"", text, words);                                   \
        }                                                                                          \
    } while (0)

// Fails the test unless a call fails with GLINFER_STATUS_<wanted> and a message that contains
// `words`.
#define assert_fails(call, err, wanted, words)                                                     \
    do {                                                                                           \
        if (call) {                                                                                \
            fail_msg("%s succeeds", #call);                                                        \
        }                                                                                          \
        assert_int_equal((err).status, GLINFER_STATUS_##wanted);                                   \
        assert_says((err).message, words);                                                         \
    } while (0)

// Gives the result of a call that has the macro's own error &err; fails the test with the error's
// message if the result is false.
#define must_do(call)                                                                              \
    __extension__({                                                                                \
        struct glinfer_error err = {0};                                                            \
        __auto_type done_ = (call);                                                                \
        must(done_, &err);                                                                         \
        done_;                                                                                     \
    })
// Fails the test unless such a call fails as assert_fails says.
#define must_fail(call, wanted, words)                                                             \
    do {                                                                                           \
        struct glinfer_error err = {0};                                                            \
        assert_fails(call, err, wanted, words);                                                    \
    } while (0)

// Defines a test and adds it to the list of its program. *state is the result of the group's setup.
#define TEST(name)                                                                                 \
    static void name(void **state);                                                                \
    static void __attribute__((constructor)) add_##name(void)                                      \
    {                                                                                              \
        add_test(__LINE__, (struct CMUnitTest)cmocka_unit_test(name));                             \
    }                                                                                              \
    static void name(void **state __attribute__((unused)))

// Defines main, which runs the tests of the file in their order, or those whose names match the
// pattern of its argument. Each function may be NULL.
#define RUN_TESTS(group_setup, group_teardown)                                                     \
    RUN_TESTS_EACH(group_setup, group_teardown, NULL, NULL)
// Also calls two functions before and after each test.
#define RUN_TESTS_EACH(group_setup, group_teardown, setup, teardown)                               \
    int main(int n_arg, char **args)                                                               \
    {                                                                                              \
        cmocka_set_test_filter(n_arg > 1 ? args[1] : NULL);                                        \
        return run_listed(group_setup, group_teardown, setup, teardown);                           \
    }

static struct {
    struct CMUnitTest tests[64];
    int lines[64];
    size_t n;
} test_list __attribute__((unused));

// Inserts a test by its line, since the order of constructors is unspecified.
static inline void add_test(int line, struct CMUnitTest test)
{
    size_t i = test_list.n++;
    for (; i > 0 && test_list.lines[i - 1] > line; i--) {
        test_list.tests[i] = test_list.tests[i - 1];
        test_list.lines[i] = test_list.lines[i - 1];
    }
    test_list.tests[i] = test;
    test_list.lines[i] = line;
}

static inline int run_listed(CMFixtureFunction group_setup, CMFixtureFunction group_teardown,
                             CMFixtureFunction setup, CMFixtureFunction teardown)
{
    for (size_t i = 0; i < test_list.n; i++) {
        test_list.tests[i].setup_func = setup;
        test_list.tests[i].teardown_func = teardown;
    }
    return _cmocka_run_group_tests("tests", test_list.tests, test_list.n, group_setup,
                                   group_teardown);
}
