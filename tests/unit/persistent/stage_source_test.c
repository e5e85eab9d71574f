// A kernel's text as a stage of a larger program.
#include "persistent/source/stage_source.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

static const char kernel[] =
    "#version 310 es\n"
    "#define WG_SIZE 64\n"
    "precision highp float;\n"
    "layout(local_size_x = WG_SIZE) in;\n"
    "#ifdef STEP_STATE_WRITTEN\n"
    "layout(std430, binding = 2) restrict buffer StepState\n"
    "#else\n"
    "layout(std140, binding = 1) uniform StepState\n"
    "#endif\n"
    "{\n"
    "    uint token, n_past;\n"
    "} state;\n"
    "layout(std140, binding = 0) uniform Params\n"
    "{\n"
    "    uint n_row, begin; // of the part\n"
    "    float scale;\n"
    "} params;\n"
    "layout(std430, binding = 0) restrict writeonly buffer Dst { float dst[]; };\n"
    "layout(std430, binding = 1) restrict readonly buffer Source { vec4 source[]; };\n"
    "struct Item {\n"
    "    uint key, sum;\n"
    "};\n"
    "layout(std430, binding = 3) restrict buffer Ring { Item ring[]; };\n"
    "#define SOURCE params.begin\n"
    "#define second(i) \\\n"
    "    source[(i) + 1u]\n"
    "shared float sums[WG_SIZE];\n"
    "const float half_scale = 0.5;\n"
    "float sum = 0.0, best = max(-1.0, -2.0); // of this invocation\n"
    "vec4 load(uint i);\n"
    "vec4 load(uint i)\n"
    "{\n"
    "    return source[SOURCE + (i == 0u ? 1u : 2u)] * params.scale;\n"
    "}\n"
    "float early;\n"
    "#define STAGE_PREFETCH\n"
    "void prefetch()\n"
    "{\n"
    "    early = half_scale;\n"
    "}\n"
    "void main()\n"
    "{\n"
    "    sums[gl_LocalInvocationIndex] = load(gl_WorkGroupID.x).x * half_scale;\n"
    "    dst[uint(sums[0]) + params.n_row] = sum + source[state.n_past].x;\n"
    "    ring[state.token % 4u].sum = ring[0].key;\n"
    "}\n";

static bool read(const char *text, struct gi_stage *stage, struct glinfer_error *err)
{
    static const char *const prefixes[] = {"hot[7u + (", "cold[entry + (", ""};
    static const char *const fields[] = {"12u", "table[1].y", "uintBitsToFloat(5u)"};
    if (!gi_stage_init(stage, text, err)) {
        return false;
    }
    strcpy(stage->suffix, "_s3");
    stage->state_name = "step_now";
    for (uint32_t i = 0; i < stage->n_blocks; i++) {
        strcpy(stage->blocks[i].prefix, prefixes[i]);
        stage->blocks[i].own_binding = 9;
    }
    for (uint32_t i = 0; i < stage->n_fields; i++) {
        strcpy(stage->fields[i].text, fields[i]);
    }
    return true;
}

// Returns the text of a stage, or that of its sizes; freed by the caller.
static char *write_stage(const char *kernel_text, bool has_sizes_only)
{
    struct gi_stage stage;
    struct glinfer_error err;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    must(read(kernel_text, &stage, &err) && gi_stage_write(&stage, has_sizes_only, out, &err),
         &err);
    fclose(out);
    gi_stage_finish(&stage);
    return text;
}

TEST(what_a_kernel_declares_is_found)
{
    struct gi_stage stage;
    struct glinfer_error err;
    assert_true(read(kernel, &stage, &err));
    assert_true(gi_stage_word_is(stage.state, "state"));
    assert_true(gi_stage_word_is(stage.params, "params"));
    assert_int_equal(stage.n_blocks, 3);
    assert_int_equal(stage.blocks[1].binding, 1);
    assert_true(gi_stage_word_is(stage.blocks[1].type, "vec4"));
    assert_true(gi_stage_word_is(stage.blocks[1].array, "source"));
    assert_true(gi_stage_word_is(stage.blocks[2].type, "Item"));
    assert_int_equal(stage.n_fields, 3);
    assert_true(gi_stage_word_is(stage.fields[1].name, "begin"));
    assert_false(stage.fields[1].is_float);
    assert_true(stage.fields[2].is_float);
    assert_int_equal(stage.n_globals, 7); // Item half_scale sum best load early ahead
    assert_int_equal(stage.n_shared, 1);
    assert_true(stage.shared[0].is_array);
    gi_stage_finish(&stage);
}

TEST(a_stage_has_names_of_its_own)
{
    static const char *const parts[] = {
        "vec4 load_s3(uint i)",
        "return cold[entry + (SOURCE + (i == 0u ? 1u : 2u))] * uintBitsToFloat(5u);",
        "#define SOURCE table[1].y",
        "#define second(i) cold[entry + ((i) + 1u)]",
        "void stage_s3()",
        "sums_float[gl_LocalInvocationIndex] = load_s3(stage_group.x).x * half_scale_s3;",
        "hot[7u + (uint(sums_float[0]) + 12u)] = sum_s3 + cold[entry + (step_now.n_past)].x;",
        "layout(std430, binding = 9) coherent buffer Ring_s3 { Item_s3 ring_s3[]; };",
        "ring_s3[step_now.token % 4u].sum = ring_s3[0].key;",
        "uint key, sum;",
        "#define RESET_s3_sum sum_s3 = 0.0;",
        "#define RESET_s3_best best_s3 = max(-1.0, -2.0);",
        "void run_s3()\n{\n#ifdef RESET_s3_sum\n    RESET_s3_sum\n#endif\n",
        "#ifdef RESET_s3_best\n    RESET_s3_best\n#endif\n    stage_s3();\n}",
        "void prefetch_s3()",
        "early_s3 = half_scale_s3;",
        "#ifdef STAGE_PREFETCH\n#define PREFETCH_s3() prefetch_s3()\n#undef "
        "STAGE_PREFETCH\n#else\n",
        "#undef SOURCE",
        "#undef WG_SIZE",
    };
    static const char *const absent[] = {"#version", "precision",           "local_size_x",
                                         "uniform",  "RESET_s3_half_scale", "of the part"};
    char *text = write_stage(kernel, false);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strstr(text, parts[i])) {
            fail_msg("no '%s' in\n%s", parts[i], text);
        }
    }
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        assert_null(strstr(text, absent[i]));
    }
    free(text);
}

TEST(shared_memory_is_declared_by_the_caller)
{
    char *text = write_stage(kernel, true);
    assert_non_null(strstr(text, "const int size_sums_float_s3 = int(WG_SIZE);\n"
                                 "#define SIZE_sums_float_s3 size_sums_float_s3\n"));
    assert_null(strstr(text, "shared"));
    assert_null(strstr(text, "main"));
    assert_non_null(strstr(text, "#undef WG_SIZE"));
    free(text);
}

// Conditions that begin before what is left out still end.
TEST(conditions_stay_balanced)
{
    int depth = 0;
    char *text = write_stage(kernel, false);
    for (const char *at = strchr(text, '#'); at; at = strchr(at + 1, '#')) {
        depth += strncmp(at, "#if", 3) == 0;
        depth -= strncmp(at, "#endif", 6) == 0;
    }
    assert_int_equal(depth, 0);
    free(text);
}

static void expect_refusal(const char *text, const char *words)
{
    struct gi_stage stage = {0};
    struct glinfer_error err;
    char *written = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&written, &size);
    assert_non_null(out);
    assert_false(read(text, &stage, &err) && gi_stage_write(&stage, false, out, &err));
    gi_stage_finish(&stage);
    fclose(out);
    free(written);
    assert_int_equal(err.status, GLINFER_STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, words));
}

TEST(what_a_stage_cannot_have_is_refused)
{
    expect_refusal("layout(std430, binding = 0) buffer Dst { uint n; uint dst[]; };\n",
                   "one array");
    expect_refusal("layout(std140, binding = 0) uniform Params { ivec2 n; } params;\n", "Params");
    expect_refusal("layout(std430, binding = 0) buffer Dst { uint dst[]; };\n"
                   "void main() { int n = dst.length(); }\n",
                   "array[i]");
}

RUN_TESTS(NULL, NULL)
