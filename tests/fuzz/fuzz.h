// A fuzz target: one function that takes any bytes, as libFuzzer calls it. fuzz_main.c calls it
// too.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Returns 0. Stops the process where the code under test breaks a promise.
// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A promise that holds in every build.
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
