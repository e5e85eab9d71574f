// How kernels are put together, and how a driver's log finds its way back to file and line.
#include "gpu/program/glsl_log.h"
#include "tests/unit/data/case_file.h"
#include "tests/unit/temp_folder.h"

static void add_file(const char *name, const char *text)
{
    write_file(temp_path(name), text, strlen(text));
}

static void make_source(struct gi_glsl_source *source, const struct gi_glsl_params *params)
{
    must_do(gi_glsl_source_init(source, params, &err));
}

static void expect_failure(const struct gi_glsl_params *params, const char *words)
{
    struct gi_glsl_source source;
    must_fail(gi_glsl_source_init(&source, params, &err), DRIVER, words);
    assert_null(source.text);
}

//-- assembly --------------------------------------------------------------------------------------

TEST(source_begins_with_version_and_defines)
{
    static const struct gi_define defines[] = {{"HEAD_DIM", 64}, {"SHIFT", -3}};
    const struct gi_glsl_params params = {.file = "k.comp",
                                          .text = "void main() {}\n",
                                          .fixed_defines = "A=1 B=2 FLAG",
                                          .defines = defines,
                                          .n_defines = 2};
    struct gi_glsl_source source;
    make_source(&source, &params);
    assert_string_equal(source.text, "#version 310 es\n"
                                     "#define A 1\n"
                                     "#define B 2\n"
                                     "#define FLAG 1\n"
                                     "#define HEAD_DIM 64\n"
                                     "#define SHIFT -3\n"
                                     "void main() {}\n");
    assert_int_equal(source.size, strlen(source.text));
    gi_glsl_source_finish(&source);
}

TEST(source_asks_for_extensions_before_defines)
{
    const struct gi_glsl_params params = {.file = "k.comp",
                                          .text = "",
                                          .fixed_defines = "A=1",
                                          .capability =
                                              GI_CAPABILITY_SUBGROUPS | GI_CAPABILITY_TEXBUF};
    struct gi_glsl_source source;
    make_source(&source, &params);
    assert_int_equal(strncmp(source.text, "#version 320 es\n#extension ", 27), 0);
    const char *texture = strstr(source.text, "#extension GL_EXT_texture_buffer : require\n");
    const char *define = strstr(source.text, "#define A 1\n");
    assert_non_null(texture);
    assert_non_null(define);
    assert_true(texture < define);
    gi_glsl_source_finish(&source);
}

TEST(source_counts_behind_the_kernel)
{
    const struct gi_glsl_params params = {
        .file = "k.comp", .text = "void main() {}\n", .is_counted = true};
    struct gi_glsl_source source;
    make_source(&source, &params);
    const char *kernel = strstr(source.text, "#define main kernel_main\nvoid main() {}\n");
    const char *count = strstr(source.text, "#undef main\n");
    assert_non_null(kernel);
    assert_non_null(count);
    assert_true(kernel < count);
    assert_non_null(strstr(count, "void main()\n{\n    kernel_main();\n"));
    gi_glsl_source_finish(&source);
}

TEST(source_includes_each_file_once)
{
    struct gi_glsl_source source;
    add_file("a.glsl", "#include \"c.glsl\"\nint a;\n");
    add_file("b.glsl", "  # include \"c.glsl\"\nint b;");
    add_file("c.glsl", "int c;\n");
    const struct gi_glsl_params params = {
        .file = "k.comp",
        .text = "#include \"a.glsl\"\n#include \"b.glsl\"\nvoid main() {}\n",
        .dir = temp_folder};
    make_source(&source, &params);
    assert_string_equal(source.text, "#version 310 es\nint c;\nint a;\nint b;\nvoid main() {}\n");
    gi_glsl_source_finish(&source);
}

TEST(source_resolves_quant_file)
{
    struct gi_glsl_source source;
    add_file("q9.glsl", "int quant;\n");
    const struct gi_glsl_params params = {.file = "k.comp",
                                          .text = "#include QUANT_FILE\n",
                                          .dir = temp_folder,
                                          .quant_file = "q9.glsl"};
    make_source(&source, &params);
    assert_string_equal(source.text, "#version 310 es\nint quant;\n");
    gi_glsl_source_finish(&source);
}

TEST(source_prefers_the_folder)
{
    struct gi_glsl_source source;
    add_file("gemv_qkv.comp", "mine\n");
    const struct gi_glsl_params params = {.file = "gemv_qkv.comp", .dir = temp_folder};
    make_source(&source, &params);
    assert_string_equal(source.text, "#version 310 es\nmine\n");
    gi_glsl_source_finish(&source);
}

TEST(source_changes_what_a_wrong_kernel_stores)
{
    const struct gi_glsl_params params = {
        .file = "k.comp",
        .text = "layout(std430) restrict readonly buffer In { float x[]; };\n"
                "layout(std430) restrict buffer Out { vec4 y[]; };\n"
                "// y[i] = x[i]\n"
                "y[i[0]].x += x[0] *\n 2.0; my[0] = 1; if (y[0] == 1) y[1] = 0u;\n",
        .is_wrong = true};
    struct gi_glsl_source source;
    make_source(&source, &params);
    assert_non_null(strstr(source.text, "\n// y[i] = x[i]\n"
                                        "y[i[0]].x += fault( x[0] *\n 2.0); my[0] = 1; "
                                        "if (y[0] == 1) y[1] = 0u;\n"));
    gi_glsl_source_finish(&source);
}

static void check_refusal(const char *const fields[])
{
    const struct gi_glsl_params params = {.file = "k.comp", .text = fields[0], .dir = temp_folder};
    expect_failure(&params, fields[1]);
}

TEST(source_refuses_bad_includes)
{
    char name[16], text[32];
    add_file("self.glsl", "\n#include \"self.glsl\"\n");
    add_file("ping.glsl", "#include \"pong.glsl\"\n");
    add_file("pong.glsl", "#include \"ping.glsl\"\n");
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "d%d.glsl", i);
        snprintf(text, sizeof(text), "#include \"d%d.glsl\"\n", i + 1);
        add_file(name, text);
    }
    each_case("glsl_source.cases", "refusals", check_refusal);
}

TEST(source_names_a_missing_kernel)
{
    const struct gi_glsl_params params = {.file = "no_such.comp"};
    expect_failure(&params, "there is no shader file no_such.comp");
}

//-- log -------------------------------------------------------------------------------------------

// Lines: 1 version, 2 define, 3 "one" k:1, 4 part.glsl:1, 5 part.glsl:2, 6 k:3.
static void make_mapped(struct gi_glsl_source *source)
{
    add_file("part.glsl", "p1\np2\n");
    const struct gi_glsl_params params = {.file = "k.comp",
                                          .text = "one\n#include \"part.glsl\"\nthree\n",
                                          .fixed_defines = "A=1",
                                          .dir = temp_folder};
    make_source(source, &params);
}

TEST(line_map_finds_file_and_line)
{
    static const struct {
        uint32_t line;
        const char *file;
        uint32_t file_line;
    } cases[] = {
        {1, "defines", 1},   {2, "defines", 2},   {3, "k.comp", 1},
        {4, "part.glsl", 1}, {5, "part.glsl", 2}, {6, "k.comp", 3},
    };
    struct gi_glsl_source source;
    const char *file;
    uint32_t line;
    make_mapped(&source);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(gi_glsl_source_locate(&source, cases[i].line, &file, &line));
        assert_string_equal(file, cases[i].file);
        assert_int_equal(line, cases[i].file_line);
    }
    assert_false(gi_glsl_source_locate(&source, 0, &file, &line));
    assert_false(gi_glsl_source_locate(&source, 7, &file, &line));
    gi_glsl_source_finish(&source);
}

static const struct gi_glsl_source *mapped; // by make_mapped

static void check_log(const char *const fields[])
{
    char out[256];
    gi_glsl_source_log(mapped, fields[0], out, sizeof(out));
    assert_string_equal(out, fields[1]);
}

TEST(log_names_files_in_the_words_of_each_driver)
{
    struct gi_glsl_source source;
    make_mapped(&source);
    mapped = &source;
    each_case("glsl_source.cases", "logs", check_log);
    gi_glsl_source_finish(&source);
}

TEST(log_is_cut_to_the_room_there_is)
{
    struct gi_glsl_source source;
    char out[12];
    make_mapped(&source);
    memset(out, 'x', sizeof(out));
    gi_glsl_source_log(&source, "0:5(12): error: long", out, sizeof(out) - 1);
    assert_string_equal(out, "part.glsl:");
    assert_int_equal(out[11], 'x');
    gi_glsl_source_finish(&source);
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
