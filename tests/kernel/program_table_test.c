// Programs on a real context: what a driver says of them, building, the cache of binaries. Exit
// status 77 where there is no device.
#include "base/hash.h"
#include "gpu/device/gpu_private.h"
#include "tests/kernel/fixture/gpu_fixture.h"
#include "tests/unit/temp_folder.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

//-- programs --------------------------------------------------------------------------------------

static const char bad_kernel[] = "layout(local_size_x = 1) in;\n"
                                 "void main()\n"
                                 "{ undeclared_thing = 1; }\n";

TEST(program_errors_name_file_and_line)
{
    struct fixture f;
    open_fixture(&f, "");
    struct gi_program_table *programs = make_programs(&f);
    request(&f, programs, "bad.comp", bad_kernel);
    assert_fails(gi_program_table_build(programs, NULL, NULL, &f.err), f.err, DRIVER,
                 "bad.comp:3: ");
    assert_says(f.err.message, "undeclared_thing");
    check(gi_gpu_check(f.gpu, "ending a test", &f.err), &f.err);
    drop_fixture(&f); // the driver's messages speak of the error
}

// A program that the driver refuses does not keep others from being built.
TEST(programs_are_built_behind_a_refused_one)
{
    struct gi_dispatch dispatch = {.label = "bad", .grid = {.size = {1, 1, 1}}};
    struct fixture f;
    open_fixture(&f, "");
    struct gi_program_table *programs = make_programs(&f);
    struct gi_dispatch_table *table = make_table(&f, programs, NULL);
    dispatch.program = request(&f, programs, "bad.comp", bad_kernel);
    const uint32_t good = request(&f, programs, "add.comp", add_kernel);
    gi_dispatch_table_record(table, &dispatch);
    assert_false(gi_program_table_build(programs, NULL, NULL, &f.err));
    check(gi_program_table_build(programs, NULL, NULL, &f.err), &f.err);
    assert_true(gi_program_name(programs, good) != 0);
    assert_fails(gi_dispatch_table_seal(table, &f.err), f.err, DRIVER, "bad.comp");
    assert_says(f.err.message, "undeclared_thing");
    drop_fixture(&f); // the driver's messages speak of the error
}

// Neither what the driver refuses nor what does not assemble, begun before or not.
TEST(a_build_of_all_fails_for_none)
{
    for (int is_begun = 0; is_begun < 2; is_begun++) {
        struct fixture f;
        open_fixture(&f, "");
        struct gi_program_table *programs = make_programs(&f);
        const uint32_t torn = request(&f, programs, "torn.comp", "#include \"nowhere.glsl\"\n");
        const uint32_t bad = request(&f, programs, "bad.comp", bad_kernel);
        const uint32_t good = request(&f, programs, "add.comp", add_kernel);
        check((!is_begun || gi_program_table_start(programs, &f.err)) &&
                  gi_program_table_build_all(programs, NULL, NULL, &f.err),
              &f.err);
        assert_int_equal(gi_program_name(programs, torn), 0);
        assert_says(gi_program_refusal(programs, torn), "nowhere.glsl");
        assert_int_equal(gi_program_name(programs, bad), 0);
        assert_says(gi_program_refusal(programs, bad), "undeclared_thing");
        assert_true(gi_program_name(programs, good) != 0);
        drop_fixture(&f); // the driver's messages speak of the error
    }
}

static bool cancel_second(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    uint32_t *n_calls = user;
    assert_int_equal(phase, GLINFER_PHASE_COMPILE);
    assert_true(done <= total);
    return (*n_calls)++ == 0;
}

TEST(program_build_can_be_cancelled_and_taken_up_again)
{
    struct fixture *f = *state;
    uint32_t index[3], n_calls = 0;
    struct gi_program_stats stats;
    struct gi_program_table *programs = make_programs(f);
    for (int32_t i = 0; i < 3; i++) {
        const struct gi_define defines[] = {{"WG_SIZE", 32 << i}};
        check(gi_program_table_request_source(programs, "add.comp", add_kernel, defines, 1,
                                              &index[i], &f->err),
              &f->err);
    }
    assert_fails(gi_program_table_build(programs, cancel_second, &n_calls, &f->err), f->err,
                 CANCELLED, "");
    check(gi_program_table_build(programs, NULL, NULL, &f->err), &f->err);
    gi_program_table_describe(programs, &stats);
    assert_int_equal(stats.n_programs, 3);
    assert_int_equal(stats.n_compiled, 3);
    assert_int_equal(stats.n_cached, 0);
    assert_true(gi_program_name(programs, index[2]) != 0);
}

// A driver that fails to compile a program for once is asked again.
TEST(a_compile_that_fails_once_is_tried_again)
{
    struct fixture *f = *state;
    uint32_t index;
    assert_true(gi_settings_set(&f->settings, "GLINFER_FAULT", "compile:add.comp:1"));
    struct gi_program_table *programs = make_program(f, add_kernel, &index);
    assert_true(gi_program_name(programs, index) != 0);
    assert_true(gi_settings_set(&f->settings, "GLINFER_FAULT", "compile:add.comp"));
    programs = make_programs(f);
    request(f, programs, "add.comp", add_kernel);
    assert_fails(gi_program_table_build(programs, NULL, NULL, &f->err), f->err, DRIVER, "");
    assert_true(gi_settings_set(&f->settings, "GLINFER_FAULT", NULL));
}

// Returns the byte offset of a uniform within its block; -1 if the program does not use it.
static int32_t uniform_offset(const struct gi_program_table *table, uint32_t index,
                              const char *name)
{
    const GLenum property = GL_OFFSET;
    GLint offset = -1;
    const GLuint program = gi_program_name(table, index);
    const GLuint resource = glGetProgramResourceIndex(program, GL_UNIFORM, name);
    if (resource != GL_INVALID_INDEX) {
        glGetProgramResourceiv(program, GL_UNIFORM, resource, 1, &property, 1, NULL, &offset);
    }
    return offset;
}

TEST(program_tells_uniform_offsets)
{
    struct fixture *f = *state;
    uint32_t index;
    struct gi_program_table *programs = make_program(f, add_kernel, &index);
    assert_int_equal(uniform_offset(programs, index, "n"), 0);
    assert_int_equal(uniform_offset(programs, index, "addend"), 4);
    assert_int_equal(uniform_offset(programs, index, "no_such"), -1);
}

TEST(equal_keys_share_a_program)
{
    struct fixture *f = *state;
    const struct gi_program_key a = {
        .id = 0, .quant = GI_QUANT_NONE, .n_defines = 1, .defines = {{"WG_SIZE", 64}}};
    struct gi_program_key b = a;
    uint32_t first, second, third;
    b.defines[0].value = 32;
    struct gi_program_table *programs = make_programs(f);
    check(gi_program_table_request(programs, &a, &first, &f->err), &f->err);
    check(gi_program_table_request(programs, &b, &second, &f->err), &f->err);
    check(gi_program_table_request(programs, &a, &third, &f->err), &f->err);
    assert_int_equal(first, third);
    assert_int_not_equal(first, second);
    assert_says(gi_program_label(programs, second), "WG_SIZE=32");
    b.quant = 12345;
    assert_fails(gi_program_table_request(programs, &b, &second, &f->err), f->err, UNSUPPORTED, "");
}

//-- cache -----------------------------------------------------------------------------------------

// Writes the path of the one binary in the cache; returns how many there are.
static uint32_t find_binary(char *path, size_t size)
{
    uint32_t count = 0;
    DIR *stream = opendir(temp_path("programs"));
    for (struct dirent *entry = stream ? readdir(stream) : NULL; entry; entry = readdir(stream)) {
        if (entry->d_name[0] != '.') {
            snprintf(path, size, "%s/%s", temp_path("programs"), entry->d_name);
            count++;
        }
    }
    if (stream) {
        closedir(stream);
    }
    return count;
}

// Builds one program with the cache in dir; returns the warnings logged. The program must work.
static uint32_t build_cached(const char *dir, uint32_t n_cached)
{
    struct fixture f;
    struct gi_program_stats stats;
    uint32_t index;
    open_fixture(&f, dir);
    struct gi_program_table *programs = make_program(&f, add_kernel, &index);
    gi_program_table_describe(programs, &stats);
    assert_int_equal(stats.n_cached, n_cached);
    assert_int_equal(stats.n_compiled, 1 - n_cached);
    assert_int_equal(uniform_offset(programs, index, "addend"), 4);
    uint32_t n_warnings = f.n_warnings;
    // A refused binary may be reported as an error of ours; it is not.
    check(gi_gpu_check(f.gpu, "ending a test", &f.err), &f.err);
    drop_fixture(&f);
    return n_warnings;
}

// Skips the test where the device has no program binaries.
static void need_binaries(const struct fixture *f)
{
    if (gi_gpu_limits(f->gpu)->n_binary_formats == 0) {
        skip();
    }
}

TEST(cache_gives_back_what_was_compiled)
{
    char path[512];
    need_binaries(*state);
    assert_int_equal(build_cached(temp_folder, 0), 0);
    assert_int_equal(find_binary(path, sizeof(path)), 1);
    assert_int_equal(build_cached(temp_folder, 1), 0);
    assert_int_equal(find_binary(path, sizeof(path)), 1);
}

// Returns true if the cache has the program; else compiles it in steps.
static bool load_or_start(const char *dir)
{
    struct fixture f;
    struct gi_program_stats stats;
    bool is_loaded = false;
    open_fixture(&f, dir);
    struct gi_program_table *programs = make_programs(&f);
    const uint32_t index = request(&f, programs, "add.comp", add_kernel);
    for (int i = 0; i < 2; i++) { // the second time as the first
        check(gi_program_table_load(programs, &is_loaded, &f.err), &f.err);
    }
    for (int i = 0; !is_loaded && i < 2; i++) {
        check(gi_program_table_start(programs, &f.err), &f.err);
    }
    check(gi_program_table_build(programs, NULL, NULL, &f.err), &f.err);
    gi_program_table_describe(programs, &stats);
    assert_int_equal(stats.n_compiled, !is_loaded);
    assert_int_equal(stats.n_cached, is_loaded);
    assert_int_equal(uniform_offset(programs, index, "addend"), 4);
    close_fixture(&f);
    return is_loaded;
}

TEST(programs_can_be_built_in_pieces)
{
    need_binaries(*state);
    assert_false(load_or_start(temp_folder));
    assert_true(load_or_start(temp_folder));
}

// A session that waits for a file looks at it ten times a second.
TEST(a_damaged_file_is_spoken_of_once)
{
    struct fixture f;
    char path[512];
    bool is_loaded = true;
    need_binaries(*state);
    build_cached(temp_folder, 0);
    find_binary(path, sizeof(path));
    write_file(path, "torn", 4);
    open_fixture(&f, temp_folder);
    struct gi_program_table *programs = make_programs(&f);
    request(&f, programs, "add.comp", add_kernel);
    for (int i = 0; i < 3; i++) {
        check(gi_program_table_load(programs, &is_loaded, &f.err), &f.err);
        assert_false(is_loaded);
    }
    assert_int_equal(f.n_useless, 1);
    close_fixture(&f);
}

TEST(cache_compiles_again_when_a_file_is_damaged)
{
    char path[512];
    size_t size;
    need_binaries(*state);
    build_cached(temp_folder, 0);
    find_binary(path, sizeof(path));
    uint8_t *sound = read_file(path, &size);
    static const size_t cuts[] = {0, 1, 47, 48, 49};
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        write_file(path, sound, cuts[i]);
        build_cached(temp_folder, 0);
    }
    for (size_t i = 0; i < 60; i += 5) {
        sound[i] ^= 0x40;
        write_file(path, sound, size);
        sound[i] ^= 0x40;
        build_cached(temp_folder, 0);
    }
    build_cached(temp_folder, 1);
    free(sound);
}

// The header of a cache file: see program_cache.c.
struct cache_header {
    char magic[8];
    struct gi_hash key, hash;
    uint32_t format, size;
};

TEST(cache_compiles_again_when_the_driver_refuses)
{
    struct cache_header header;
    char path[512];
    size_t size;
    need_binaries(*state);
    build_cached(temp_folder, 0);
    find_binary(path, sizeof(path));
    uint8_t *data = read_file(path, &size);
    memset(data + sizeof(header), 0x5a, size - sizeof(header));
    memcpy(&header, data, sizeof(header));
    gi_hash_init(&header.hash);
    gi_hash_add(&header.hash, data + sizeof(header), header.size);
    memcpy(data, &header, sizeof(header));
    write_file(path, data, size);
    build_cached(temp_folder, 0);
    build_cached(temp_folder, 1);
    free(data);
}

TEST(cache_warns_once_when_it_cannot_write)
{
    struct rlimit old, tiny;
    char path[512];
    need_binaries(*state);
    write_file(temp_path("file"), "x", 1);
    assert_int_equal(build_cached(temp_path("file"), 0), 1);

    // A full disk.
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    tiny = old;
    tiny.rlim_cur = 64;
    setrlimit(RLIMIT_FSIZE, &tiny);
    uint32_t n_warnings = build_cached(temp_folder, 0);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(n_warnings, 1);
    assert_int_equal(find_binary(path, sizeof(path)), 0);
}

// Drivers report what does not compile, as some of these tests want it.
static int close_group(void **state)
{
    drop_fixture(*state);
    return 0;
}

static int close_test(void **state)
{
    return finish_test(state) || remove_temp_folder(state);
}

RUN_TESTS_EACH(setup_fixture, close_group, make_temp_folder, close_test)
