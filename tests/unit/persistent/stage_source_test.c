// A kernel's text as a stage of a larger program.
#include "persistent/source/stage_source.h"
#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char kernel[4096]; // data/stage.comp

static int read_kernel(void **state)
{
    (void)state;
    FILE *file = fopen(test_data("unit/data/stage.comp"), "r");
    assert_non_null(file);
    kernel[fread(kernel, 1, sizeof(kernel) - 1, file)] = '\0';
    return fclose(file);
}

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
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    must_do(read(kernel_text, &stage, &err) && gi_stage_write(&stage, has_sizes_only, out, &err));
    fclose(out);
    gi_stage_finish(&stage);
    return text;
}

TEST(what_a_kernel_declares_is_found)
{
    struct gi_stage stage;
    must_do(read(kernel, &stage, &err));
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

static char *stage_text; // of data/stage.comp

static void check_part(const char *const fields[])
{
    if (!strstr(stage_text, fields[0])) {
        fail_msg("no '%s' in\n%s", fields[0], stage_text);
    }
}

static void check_absent(const char *const fields[])
{
    assert_null(strstr(stage_text, fields[0]));
}

TEST(a_stage_has_names_of_its_own)
{
    stage_text = write_stage(kernel, false);
    each_case("stage.cases", "parts", check_part);
    each_case("stage.cases", "absent", check_absent);
    free(stage_text);
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

RUN_TESTS(read_kernel, NULL)
