// Philox, which sampling takes its chance from: the kernel's against the host's, which a unit test
// compares with the generator's own answers.
#include "sampler/philox.h"
#include "tests/kernel/fixture/kernel_test.h"

#include <stdio.h>

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

static bool run_philox(struct kt_run *run, size_t index)
{
    uint32_t inputs[N_PHILOX][8], want[N_PHILOX][4]; // keys and counters; words
    (void)index;
    for (uint32_t i = 0; i < N_PHILOX; i++) {
        for (uint32_t j = 0; j < 8; j++) {
            inputs[i][j] = i == 0 ? 0 : i == 1 ? UINT32_MAX : kt_bits(run);
        }
        gi_philox(inputs[i], inputs[i] + 4, want[i]);
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
    snprintf(text, size, "words");
}

const struct kt_suite kt_philox = {"philox", 1, name_case, run_philox};
