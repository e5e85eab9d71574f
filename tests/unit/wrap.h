// Functions that the linker calls in place of others: link with -Wl,--wrap=NAME.
#pragma once

#include <stddef.h> // sizes, which most of them take

// Opens the function that takes the place of `name`, which is __real_name from here on.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the names are the linker's
#define WRAP(type, name, ...)                                                                      \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
