// Holds every row of programs.def to a case of the self-test, but the one that probes halves, which
// no answer needs.
#include "engine/selftest/selftest_run.h"
#include "tests/unit/cmocka_test.h"

static const char *const names[] = {
#define GI_PROGRAM(id, file, defines, capability) #id,
#include "glsl/programs.def"
};

TEST(every_program_of_an_answer_has_a_case)
{
    for (uint32_t i = 0; i < GI_PROGRAM_COUNT; i++) {
        const bool has_case = gi_selftest_find_check((enum gi_program_id)i) != NULL;
        if (has_case == (strcmp(names[i], "PROBE_HALF") == 0)) {
            fail_msg("%s has %s self-test case", names[i], has_case ? "a" : "no");
        }
    }
}

RUN_TESTS(NULL, NULL)
