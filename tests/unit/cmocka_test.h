// cmocka with the headers that it wants before it.
#ifndef TESTS_UNIT_CMOCKA_TEST_H
#define TESTS_UNIT_CMOCKA_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

// Opens a test of cmocka; *state is what the group's setup made, which most tests do not need.
#define TEST(name) static void name(void **state __attribute__((unused)))

#endif
