#include "kernel_test.h"

const struct kt_suite *const kt_suites[] = {
    NULL,
};
