// Holds every row of programs.def to a case of the self-test.
#include "engine/selftest/selftest_run.h"
#include "tests/unit/cmocka_test.h"

static const char *const names[] = {
#define GI_PROGRAM(id, file, defines, capability) #id,
#include "glsl/programs.def"
};

// True for programs that no answer needs: those that measure the device.
static bool is_without_case(const char *name)
{
    return strncmp(name, "RATE_", 5) == 0 || strcmp(name, "PROBE_HALF") == 0;
}

TEST(every_program_of_an_answer_has_a_case)
{
    for (uint32_t i = 0; i < GI_PROGRAM_COUNT; i++) {
        const bool has_case = gi_selftest_find_check((enum gi_program_id)i) != NULL;
        if (has_case == is_without_case(names[i])) {
            fail_msg("%s has %s self-test case", names[i], has_case ? "a" : "no");
        }
    }
}

RUN_TESTS(NULL, NULL)
