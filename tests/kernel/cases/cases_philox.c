// Philox, which sampling takes its chance from: the kernel's and the reference against the
// generator's own answers.
#include "tests/kernel/fixture/kernel_test.h"
#include "tests/ref/ref_sample.h"

#include <stdio.h>
#include <string.h>

static const char philox_text[] =
    "#include \"lib/common.glsl\"\n"
    "#include \"sample/philox.glsl\"\n"
    "layout(local_size_x = 32) in;\n"
    "layout(std430, binding = 0) restrict writeonly buffer Words { uvec4 words[]; };\n"
    "layout(std430, binding = 1) restrict readonly buffer Inputs { uvec4 inputs[]; };\n"
    "void main()\n"
    "{\n"
    "    uint i = gl_LocalInvocationIndex;\n"
    "    words[i] = philox(inputs[2u * i].xy, inputs[2u * i + 1u], 10u);\n"
    "}\n";

#define N_PHILOX 32

// Key, counter and words of the generator's own known-answer test.
static const uint32_t philox_known[3][10] = {
    {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
    {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
     0xa20bc7c6, 0x6d5451fd},
    {0xa4093822, 0x299f31d0, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xd16cfe09, 0x94fdcceb,
     0x5001e420, 0x24126ea1},
};

static bool record_philox(struct kt_run *run, struct gi_range words, struct gi_range inputs)
{
    struct gi_dispatch dispatch = {
        .label = "philox",
        .bindings = {words, inputs},
        .writes = 1,
        .grid = {.size = {1, 1, 1}, .rule = GI_GRID_FIXED},
    };
    struct glinfer_error err;
    if (!gi_program_table_request_source(run->recorder.programs, "philox", philox_text, NULL, 0,
                                         &dispatch.program, &err)) {
        return kt_fail(run, "%s", err.message);
    }
    gi_dispatch_table_record(run->recorder.table, &dispatch);
    return true;
}

// The kernel, the reference and the published answers agree.
static bool run_philox(struct kt_run *run)
{
    uint32_t inputs[N_PHILOX][8], want[N_PHILOX][4];
    for (uint32_t i = 0; i < N_PHILOX; i++) {
        for (uint32_t j = 0; j < 8; j++) {
            inputs[i][j] = kt_index(run, UINT32_MAX);
        }
        if (i < 3) {
            memcpy(inputs[i], philox_known[i], 8);
            memcpy(inputs[i] + 4, philox_known[i] + 2, 16);
        }
        ref_philox(inputs[i], inputs[i] + 4, want[i]);
        if (i < 3 && memcmp(want[i], philox_known[i] + 6, 16) != 0) {
            return kt_fail(run, "the reference differs in vector %u", i);
        }
    }
    struct gi_range words = kt_range(run, "words", NULL, sizeof(want));
    struct gi_range source = kt_range(run, "inputs", inputs, sizeof(inputs));
    return words.buffer && source.buffer && record_philox(run, words, source) && kt_seal(run) &&
           kt_replay(run, 0, 1) &&
           kt_compare_u32(run, "words", &words, 0, want[0], 4 * (size_t)N_PHILOX);
}

static void name_case(size_t index, char *text, size_t size)
{
    (void)index;
    snprintf(text, size, "known words");
}

static bool run_index(struct kt_run *run, size_t index)
{
    (void)index;
    return run_philox(run);
}

const struct kt_suite kt_philox = {
    .kernel = "philox",
    .n_case = 1,
    .name = name_case,
    .run = run_index,
};
