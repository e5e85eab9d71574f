// The GL layer on a real context: buffers, programs, recording and replay. Exit status 77 where
// there is no device.
#include "base/hash.h"
#include "gpu/dispatch_table.h"
#include "gpu/half_probe.h"
#include "gpu/step_state.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

// cmocka.h needs the three before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

struct fixture {
    struct gi_platform *platform;
    struct gi_gpu *gpu;
    struct gi_platform_saved saved;
    struct gi_log log;
    uint32_t n_warnings;
    bool has_small_pages; // large ones were refused
    struct glinfer_error err;
};

static void check(bool is_good, const struct glinfer_error *err)
{
    if (!is_good) {
        fail_msg("%d: %s", (int)err->status, err->message);
    }
}

static void count_warning(void *user, enum glinfer_log_level level, const char *message)
{
    struct fixture *f = user;
    if (strstr(message, "HOST memory")) {
        fprintf(stderr, "log: %s\n", message);
    }
    f->has_small_pages |= strstr(message, "small pages") != NULL;
    if (level <= GLINFER_LOG_WARN) {
        fprintf(stderr, "log: %s\n", message);
        f->n_warnings++;
    }
}

static void open_fixture(struct fixture *f, const char *cache_dir)
{
    memset(f, 0, sizeof(*f));
    f->log = (struct gi_log){.fn = count_warning, .user = f};
    const struct gi_platform_params platform_params = {
        .device = "auto", .allow_software = true, .debug = true, .log = &f->log};
    const struct gi_gpu_params params = {.cache_dir = cache_dir, .log = &f->log};
    f->platform = gi_platform_open(&platform_params, &f->err);
    check(f->platform != NULL, &f->err);
    f->gpu = gi_gpu_create(f->platform, &params, &f->err);
    check(f->gpu != NULL, &f->err);
    check(gi_gpu_enter(f->gpu, &f->saved, &f->err), &f->err);
}

static void drop_fixture(struct fixture *f)
{
    gi_gpu_leave(f->gpu, &f->saved);
    gi_gpu_destroy(f->gpu);
    gi_platform_close(f->platform);
}

// No error of GL, no message of the driver that matters, no hot buffer moved.
static void close_fixture(struct fixture *f)
{
    check(gi_gpu_check(f->gpu, "ending a test", &f->err), &f->err);
    assert_int_equal(gi_gpu_debug_errors(f->gpu), 0);
    assert_int_equal(gi_gpu_host_moves(f->gpu), 0);
    drop_fixture(f);
}

static int setup(void **state)
{
    static struct fixture fixture;
    open_fixture(&fixture, "");
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    close_fixture(*state);
    return 0;
}

static struct gi_buffer make_buffer(struct fixture *f, uint64_t size, const char *label)
{
    struct gi_buffer buffer;
    check(gi_buffer_init(&buffer, f->gpu, size, label, &f->err), &f->err);
    return buffer;
}

//-- limits ----------------------------------------------------------------------------------------

static void limits_are_at_least_what_es31_promises(void **state)
{
    struct fixture *f = *state;
    const struct gi_limits *limits = gi_gpu_limits(f->gpu);
    assert_true(limits->max_storage_blocks >= 4);
    assert_true(limits->max_storage_block_size >= 128u << 20);
    assert_true(limits->max_uniform_blocks >= 12);
    assert_true(limits->max_uniform_block_size >= 16384);
    assert_true(limits->max_invocations >= 128);
    assert_true(limits->max_shared_size >= 16384);
    assert_true(limits->storage_alignment > 0 && limits->storage_alignment <= 256);
    assert_true(limits->uniform_alignment > 0 && limits->uniform_alignment <= 256);
    for (int i = 0; i < 3; i++) {
        assert_true(limits->max_group_count[i] >= 65535);
    }
}

static void limits_can_be_cut_to_the_floor(void **state)
{
    struct fixture floor;
    (void)state;
    setenv("GLINFER_LIMITS", "es31", 1);
    open_fixture(&floor, "");
    unsetenv("GLINFER_LIMITS");
    const struct gi_limits *limits = gi_gpu_limits(floor.gpu);
    assert_int_equal(limits->max_storage_blocks, 4);
    assert_int_equal(limits->max_storage_block_size, 128u << 20);
    assert_int_equal(limits->max_uniform_blocks, 12);
    assert_int_equal(limits->max_invocations, 128);
    assert_int_equal(limits->max_shared_size, 16384);
    assert_int_equal(limits->max_group_count[0], 65535);
    assert_int_equal(limits->n_binary_formats, 0);
    assert_false(limits->has_buffer_storage);
    assert_false(limits->has_subgroups);
    struct gi_buffer buffer = make_buffer(&floor, 100, "floor");
    uint32_t value = 7;
    check(gi_buffer_write(&buffer, floor.gpu, 96, &value, 4, &floor.err), &floor.err);
    value = 0;
    check(gi_buffer_read(&buffer, floor.gpu, 96, &value, 4, &floor.err), &floor.err);
    assert_int_equal(value, 7);
    gi_buffer_finish(&buffer, floor.gpu);
    close_fixture(&floor);
}

//-- buffers ---------------------------------------------------------------------------------------

static void buffer_starts_zeroed(void **state)
{
    struct fixture *f = *state;
    const uint64_t size = (3u << 20) + 20;
    uint32_t *data = malloc(size);
    struct gi_buffer buffer = make_buffer(f, size, "zeroed");
    assert_int_equal(buffer.size, size + 12);
    memset(data, 1, size);
    check(gi_buffer_read(&buffer, f->gpu, 0, data, size, &f->err), &f->err);
    for (uint64_t i = 0; i < size / 4; i++) {
        assert_int_equal(data[i], 0);
    }
    gi_buffer_finish(&buffer, f->gpu);
    free(data);
}

static void buffer_refuses_sizes_out_of_range(void **state)
{
    struct fixture *f = *state;
    struct gi_buffer buffer;
    assert_false(gi_buffer_init(&buffer, f->gpu, 0, "nothing", &f->err));
    assert_int_equal(f->err.status, GLINFER_STATUS_UNSUPPORTED);
    assert_false(gi_buffer_init(&buffer, f->gpu, (1u << 30) + 1ull, "too much", &f->err));
    assert_int_equal(f->err.status, GLINFER_STATUS_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "too much"));
    assert_int_equal(buffer.name, 0);
}

static void buffer_keeps_what_was_written(void **state)
{
    struct fixture *f = *state;
    static const struct {
        uint64_t offset, size;
    } parts[] = {
        {0,              4             },
        {4,              12            },
        {1020,           1028          },
        {(1u << 20) - 4, 8             },
        {2048,           (5u << 20) + 4}
    };
    const uint64_t size = 6u << 20;
    uint8_t *expected = calloc(1, size), *found = malloc(size);
    struct gi_buffer buffer = make_buffer(f, size, "written");
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (uint64_t k = 0; k < parts[i].size; k++) {
            expected[parts[i].offset + k] = (uint8_t)(k * 7 + i + (k >> 9));
        }
        check(gi_buffer_write(&buffer, f->gpu, parts[i].offset, expected + parts[i].offset,
                              parts[i].size, &f->err),
              &f->err);
    }
    check(gi_buffer_read(&buffer, f->gpu, 0, found, size, &f->err), &f->err);
    assert_memory_equal(found, expected, size);
    gi_buffer_finish(&buffer, f->gpu);
    free(expected);
    free(found);
}

static void buffer_survives_many_small_writes(void **state)
{
    struct fixture *f = *state;
    enum { N = 4096, ROUNDS = 200 };
    static uint32_t data[N], found[N];
    struct gi_buffer buffer = make_buffer(f, sizeof(data), "small writes");
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < N; i++) {
            data[i] = i * 31 + round;
        }
        check(gi_buffer_write(&buffer, f->gpu, 0, data, sizeof(data), &f->err), &f->err);
    }
    check(gi_buffer_read(&buffer, f->gpu, 0, found, sizeof(found), &f->err), &f->err);
    assert_memory_equal(found, data, sizeof(data));
    gi_buffer_finish(&buffer, f->gpu);
}

static void readback_gives_ranges_in_the_order_of_the_adds(void **state)
{
    struct fixture *f = *state;
    static const uint32_t a_data[4] = {1, 2, 3, 4}, b_data[4] = {5, 6, 7, 8};
    static const uint32_t expected[5] = {7, 8, 1, 2, 6}, second[2] = {4, 5};
    struct gi_buffer a = make_buffer(f, 16, "a"), b = make_buffer(f, 16, "b");
    struct gi_readback readback;
    check(gi_buffer_write(&a, f->gpu, 0, a_data, 16, &f->err), &f->err);
    check(gi_buffer_write(&b, f->gpu, 0, b_data, 16, &f->err), &f->err);
    check(gi_readback_init(&readback, f->gpu, 20, &f->err), &f->err);
    gi_readback_begin(&readback);
    gi_readback_add(&readback, f->gpu, &b, 8, 8);
    gi_readback_add(&readback, f->gpu, &a, 0, 8);
    gi_readback_add(&readback, f->gpu, &b, 4, 4);
    check(gi_readback_end(&readback, f->gpu, &f->err), &f->err);
    const void *found = gi_readback_wait(&readback, f->gpu, &f->err);
    check(found != NULL, &f->err);
    assert_memory_equal(found, expected, sizeof(expected));
    assert_true(gi_readback_is_done(&readback, f->gpu));
    gi_readback_begin(&readback);
    gi_readback_add(&readback, f->gpu, &a, 12, 4);
    gi_readback_add(&readback, f->gpu, &b, 0, 4);
    check(gi_readback_end(&readback, f->gpu, &f->err), &f->err);
    found = gi_readback_wait(&readback, f->gpu, &f->err);
    check(found != NULL, &f->err);
    assert_memory_equal(found, second, sizeof(second));
    gi_readback_finish(&readback, f->gpu);
    gi_buffer_finish(&a, f->gpu);
    gi_buffer_finish(&b, f->gpu);
}

//-- programs --------------------------------------------------------------------------------------

static const char add_kernel[] = "layout(local_size_x = WG_SIZE) in;\n"
                                 "layout(std430, binding = 0) writeonly buffer Dst { uint y[]; };\n"
                                 "layout(std430, binding = 1) readonly buffer Src { uint x[]; };\n"
                                 "layout(std140, binding = 0) uniform Params { uint n; uint addend;"
                                 " uint pad0; uint pad1; };\n"
                                 "void main() { uint i = gl_GlobalInvocationID.x;\n"
                                 "  if (i < n) { y[i] = x[i] + addend; } }\n";

struct add_params {
    uint32_t n, addend, pad[2];
};

static const struct gi_define wg_64[] = {
    {"WG_SIZE", 64}
};

static struct gi_program_table *make_program(struct fixture *f, const char *text, uint32_t *index)
{
    struct gi_program_table *programs = gi_program_table_create(f->gpu, &f->err);
    check(programs != NULL, &f->err);
    check(gi_program_table_request_source(programs, "test.comp", text, wg_64, 1, index, &f->err),
          &f->err);
    check(gi_program_table_build(programs, NULL, NULL, &f->err), &f->err);
    return programs;
}

static void program_errors_name_file_and_line(void **state)
{
    static const char text[] = "layout(local_size_x = 1) in;\n"
                               "void main()\n"
                               "{ undeclared_thing = 1; }\n";
    struct fixture f;
    uint32_t index;
    (void)state;
    open_fixture(&f, "");
    struct gi_program_table *programs = gi_program_table_create(f.gpu, &f.err);
    check(gi_program_table_request_source(programs, "bad.comp", text, NULL, 0, &index, &f.err),
          &f.err);
    assert_false(gi_program_table_build(programs, NULL, NULL, &f.err));
    assert_int_equal(f.err.status, GLINFER_STATUS_DRIVER);
    if (!strstr(f.err.message, "bad.comp:3: ") || !strstr(f.err.message, "undeclared_thing")) {
        fail_msg("%s", f.err.message);
    }
    gi_program_table_destroy(programs);
    check(gi_gpu_check(f.gpu, "ending a test", &f.err), &f.err);
    drop_fixture(&f); // the driver's messages speak of the error
}

static bool cancel_second(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    uint32_t *n_calls = user;
    assert_int_equal(phase, GLINFER_PHASE_COMPILE);
    assert_true(done <= total);
    return (*n_calls)++ == 0;
}

static void program_build_can_be_cancelled_and_taken_up_again(void **state)
{
    struct fixture *f = *state;
    uint32_t index[3], n_calls = 0;
    struct gi_program_stats stats;
    struct gi_program_table *programs = gi_program_table_create(f->gpu, &f->err);
    for (int32_t i = 0; i < 3; i++) {
        const struct gi_define defines[] = {
            {"WG_SIZE", 32 << i}
        };
        check(gi_program_table_request_source(programs, "add.comp", add_kernel, defines, 1,
                                              &index[i], &f->err),
              &f->err);
    }
    assert_false(gi_program_table_build(programs, cancel_second, &n_calls, &f->err));
    assert_int_equal(f->err.status, GLINFER_STATUS_CANCELLED);
    check(gi_program_table_build(programs, NULL, NULL, &f->err), &f->err);
    gi_program_table_describe(programs, &stats);
    assert_int_equal(stats.n_programs, 3);
    assert_int_equal(stats.n_compiled, 3);
    assert_int_equal(stats.n_cached, 0);
    assert_true(gi_program_name(programs, index[2]) != 0);
    gi_program_table_destroy(programs);
}

static void program_tells_uniform_offsets(void **state)
{
    struct fixture *f = *state;
    uint32_t index;
    struct gi_program_table *programs = make_program(f, add_kernel, &index);
    assert_int_equal(gi_program_uniform_offset(programs, index, "n"), 0);
    assert_int_equal(gi_program_uniform_offset(programs, index, "addend"), 4);
    assert_int_equal(gi_program_uniform_offset(programs, index, "no_such"), -1);
    gi_program_table_destroy(programs);
}

static void equal_keys_share_a_program(void **state)
{
    struct fixture *f = *state;
    const struct gi_program_key a = {
        .id = 0, .quant = GI_QUANT_NONE, .n_defines = 1, .defines = {{"WG_SIZE", 64}}};
    struct gi_program_key b = a;
    uint32_t first, second, third;
    b.defines[0].value = 32;
    struct gi_program_table *programs = gi_program_table_create(f->gpu, &f->err);
    check(gi_program_table_request(programs, &a, &first, &f->err), &f->err);
    check(gi_program_table_request(programs, &b, &second, &f->err), &f->err);
    check(gi_program_table_request(programs, &a, &third, &f->err), &f->err);
    assert_int_equal(first, third);
    assert_int_not_equal(first, second);
    assert_non_null(strstr(gi_program_label(programs, second), "WG_SIZE=32"));
    b.quant = 12345;
    assert_false(gi_program_table_request(programs, &b, &second, &f->err));
    assert_int_equal(f->err.status, GLINFER_STATUS_UNSUPPORTED);
    gi_program_table_destroy(programs);
}

//-- cache -----------------------------------------------------------------------------------------

struct folder {
    char path[64];
};

static void make_folder(struct folder *folder)
{
    snprintf(folder->path, sizeof(folder->path), "/tmp/gpu_test.XXXXXX");
    assert_non_null(mkdtemp(folder->path));
}

// Writes the path of the one binary in the cache; returns how many there are.
static uint32_t find_binary(const struct folder *folder, char *path, size_t size)
{
    char dir[128];
    uint32_t count = 0;
    snprintf(dir, sizeof(dir), "%s/programs", folder->path);
    DIR *stream = opendir(dir);
    for (struct dirent *entry = stream ? readdir(stream) : NULL; entry; entry = readdir(stream)) {
        if (entry->d_name[0] != '.') {
            snprintf(path, size, "%s/%s", dir, entry->d_name);
            count++;
        }
    }
    if (stream) {
        closedir(stream);
    }
    return count;
}

static void remove_folder(const struct folder *folder)
{
    char path[512];
    while (find_binary(folder, path, sizeof(path)) > 0) {
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/programs", folder->path);
    rmdir(path);
    rmdir(folder->path);
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
    assert_int_equal(gi_program_uniform_offset(programs, index, "addend"), 4);
    gi_program_table_destroy(programs);
    uint32_t n_warnings = f.n_warnings;
    // A refused binary may be reported as an error of ours; it is not.
    check(gi_gpu_check(f.gpu, "ending a test", &f.err), &f.err);
    drop_fixture(&f);
    return n_warnings;
}

static bool has_binaries(const struct fixture *f)
{
    if (gi_gpu_limits(f->gpu)->n_binary_formats == 0) {
        printf("# skipped: no program binaries\n");
        return false;
    }
    return true;
}

static void cache_gives_back_what_was_compiled(void **state)
{
    struct folder folder;
    char path[512];
    if (!has_binaries(*state)) {
        skip();
    }
    make_folder(&folder);
    assert_int_equal(build_cached(folder.path, 0), 0);
    assert_int_equal(find_binary(&folder, path, sizeof(path)), 1);
    assert_int_equal(build_cached(folder.path, 1), 0);
    assert_int_equal(find_binary(&folder, path, sizeof(path)), 1);
    remove_folder(&folder);
}

// Reads a small file whole; the caller frees it.
static uint8_t *read_file(const char *path, size_t *size)
{
    struct stat info;
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fstat(fileno(stream), &info), 0);
    *size = (size_t)info.st_size;
    uint8_t *data = malloc(*size);
    assert_int_equal(fread(data, 1, *size, stream), *size);
    fclose(stream);
    return data;
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, size, stream), size);
    fclose(stream);
}

static void cache_compiles_again_when_a_file_is_damaged(void **state)
{
    struct folder folder;
    char path[512];
    size_t size;
    if (!has_binaries(*state)) {
        skip();
    }
    make_folder(&folder);
    build_cached(folder.path, 0);
    find_binary(&folder, path, sizeof(path));
    uint8_t *sound = read_file(path, &size);
    static const size_t cuts[] = {0, 1, 47, 48, 49};
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        write_file(path, sound, cuts[i]);
        build_cached(folder.path, 0);
    }
    for (size_t i = 0; i < 60; i += 5) {
        sound[i] ^= 0x40;
        write_file(path, sound, size);
        sound[i] ^= 0x40;
        build_cached(folder.path, 0);
    }
    build_cached(folder.path, 1);
    free(sound);
    remove_folder(&folder);
}

// The header of a cache file: see program_cache.c.
struct cache_header {
    char magic[8];
    struct gi_hash key, hash;
    uint32_t format, size;
};

static void cache_compiles_again_when_the_driver_refuses(void **state)
{
    struct folder folder;
    struct cache_header header;
    char path[512];
    size_t size;
    if (!has_binaries(*state)) {
        skip();
    }
    make_folder(&folder);
    build_cached(folder.path, 0);
    find_binary(&folder, path, sizeof(path));
    uint8_t *data = read_file(path, &size);
    memset(data + sizeof(header), 0x5a, size - sizeof(header));
    memcpy(&header, data, sizeof(header));
    gi_hash_init(&header.hash);
    gi_hash_add(&header.hash, data + sizeof(header), header.size);
    memcpy(data, &header, sizeof(header));
    write_file(path, data, size);
    build_cached(folder.path, 0);
    build_cached(folder.path, 1);
    free(data);
    remove_folder(&folder);
}

static void cache_warns_once_when_it_cannot_write(void **state)
{
    struct folder folder;
    struct rlimit old, tiny;
    char path[512];
    if (!has_binaries(*state)) {
        skip();
    }
    make_folder(&folder);
    snprintf(path, sizeof(path), "%s/file", folder.path);
    write_file(path, (const uint8_t *)"x", 1);
    assert_int_equal(build_cached(path, 0), 1);
    unlink(path);

    // A full disk.
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    tiny = old;
    tiny.rlim_cur = 64;
    setrlimit(RLIMIT_FSIZE, &tiny);
    uint32_t n_warnings = build_cached(folder.path, 0);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(n_warnings, 1);
    assert_int_equal(find_binary(&folder, path, sizeof(path)), 0);
    remove_folder(&folder);
}

//-- replay ----------------------------------------------------------------------------------------

static void chain_of_dispatches_adds_up(void **state)
{
    struct fixture *f = *state;
    enum { N = 1000, COUNT = 1000 };
    static uint32_t found[N];
    uint32_t program, expected = 0;
    struct gi_buffer a = make_buffer(f, N * 4, "a"), b = make_buffer(f, N * 4, "b");
    struct gi_program_table *programs = make_program(f, add_kernel, &program);
    const struct gi_dispatch_table_params params = {{0}, {0}};
    struct gi_dispatch_table *table = gi_dispatch_table_create(f->gpu, programs, &params, &f->err);
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct add_params block = {.n = N, .addend = i % 7};
        const struct gi_dispatch dispatch = {
            .label = "add",
            .program = program,
            .bindings = {{i % 2 ? &a : &b, 0, N * 4}, {i % 2 ? &b : &a, 0, N * 4}},
            .writes = 1,
            .params = &block,
            .params_size = sizeof(block),
            .grid = {.size = {(N + 63) / 64, 1, 1}                          },
            .weight_bytes = 3,
        };
        check(gi_dispatch_table_record(table, &dispatch, &f->err), &f->err);
        expected += i % 7;
    }
    check(gi_dispatch_table_seal(table, &f->err), &f->err);
    assert_int_equal(gi_dispatch_table_count(table), COUNT);
    assert_int_equal(gi_dispatch_table_weight_bytes(table), 3 * COUNT);
    for (uint32_t round = 1; round <= 3; round++) {
        const struct gi_replay replay = {.n_tokens = 1, .flush_interval = round * 100};
        if (gi_gpu_platform(f->gpu)->is_software) {
            gi_dispatch_table_warm(table); // adds nothing
        }
        gi_dispatch_table_replay(table, &replay);
        check(gi_buffer_read(&a, f->gpu, 0, found, sizeof(found), &f->err), &f->err);
        for (uint32_t i = 0; i < N; i++) {
            assert_int_equal(found[i], expected * round);
        }
    }
    gi_dispatch_table_destroy(table);
    gi_program_table_destroy(programs);
    gi_buffer_finish(&a, f->gpu);
    gi_buffer_finish(&b, f->gpu);
}

static const char count_kernel[] =
    "layout(local_size_x = WG_SIZE) in;\n"
    "layout(std430, binding = 0) buffer Dst { uint groups; uint x, y, z; };\n"
    "void main() { if (gl_LocalInvocationIndex == 0u) {\n"
    "  atomicAdd(groups, 1u); atomicMax(x, gl_WorkGroupID.x); atomicMax(y, gl_WorkGroupID.y);\n"
    "  atomicMax(z, gl_WorkGroupID.z); } }\n";

// Sets done: every group count of an indirect table becomes 0.
static const char stop_kernel[] = "layout(local_size_x = WG_SIZE) in;\n"
                                  "struct Slot { uvec4 count_rule; uvec4 rest; };\n"
                                  "layout(std430, binding = 0) buffer Counts { Slot slots[]; };\n"
                                  "void main() { uint i = gl_LocalInvocationIndex;\n"
                                  "  if (i < 32u) { slots[i].count_rule.xyz = uvec3(0u); } }\n";

// A table of one dispatch of count_kernel a grid, and, if asked, one that stops it all.
struct grid_run {
    struct gi_program_table *programs;
    struct gi_dispatch_table *table;
    struct gi_buffer results, counts, state;
    uint32_t n_grids;
};

static void record_grids(struct fixture *f, struct grid_run *run, const struct gi_grid *grids,
                         uint32_t n_grids, bool has_stop)
{
    const uint32_t step = gi_gpu_limits(f->gpu)->storage_alignment < 16
                              ? 16
                              : gi_gpu_limits(f->gpu)->storage_alignment;
    uint32_t count, stop;
    run->n_grids = n_grids;
    run->results = make_buffer(f, (uint64_t)step * n_grids, "results");
    run->counts = make_buffer(f, GI_MAX_SLOTS * sizeof(struct gi_grid_slot), "counts");
    run->state = make_buffer(f, sizeof(struct gi_step_state), "state");
    run->programs = gi_program_table_create(f->gpu, &f->err);
    check(gi_program_table_request_source(run->programs, "count.comp", count_kernel, wg_64, 1,
                                          &count, &f->err) &&
              gi_program_table_request_source(run->programs, "stop.comp", stop_kernel, wg_64, 1,
                                              &stop, &f->err) &&
              gi_program_table_build(run->programs, NULL, NULL, &f->err),
          &f->err);
    const struct gi_dispatch_table_params params = {
        .state = {&run->state,  0, sizeof(struct gi_step_state)},
        .counts = {&run->counts, 0, run->counts.size            }
    };
    run->table = gi_dispatch_table_create(f->gpu, run->programs, &params, &f->err);
    for (uint32_t i = 0; i < n_grids; i++) {
        const struct gi_dispatch dispatch = {.label = "count",
                                             .program = count,
                                             .bindings = {{&run->results, i * step, 16}},
                                             .writes = 1,
                                             .grid = grids[i]};
        check(gi_dispatch_table_record(run->table, &dispatch, &f->err), &f->err);
    }
    const struct gi_dispatch last = {.label = "stop",
                                     .program = stop,
                                     .bindings = {{&run->counts, 0, run->counts.size}},
                                     .writes = 1,
                                     .writes_state = true,
                                     .grid = {.size = {1, 1, 1}}};
    check(!has_stop || gi_dispatch_table_record(run->table, &last, &f->err), &f->err);
    check(gi_dispatch_table_seal(run->table, &f->err), &f->err);
}

static void finish_grids(struct fixture *f, struct grid_run *run)
{
    gi_dispatch_table_destroy(run->table);
    gi_program_table_destroy(run->programs);
    gi_buffer_finish(&run->results, f->gpu);
    gi_buffer_finish(&run->counts, f->gpu);
    gi_buffer_finish(&run->state, f->gpu);
}

// Groups seen by dispatch i, and the largest id along each axis.
static void read_groups(struct fixture *f, const struct grid_run *run, uint32_t i,
                        uint32_t found[4])
{
    uint64_t step = run->results.size / run->n_grids;
    check(gi_buffer_read(&run->results, f->gpu, i * step, found, 16, &f->err), &f->err);
}

static const struct gi_grid test_grids[] = {
    {.size = {3, 2, 2}},
    { .size = {0, 4, 1}, .rule = GI_GRID_KEYS,   .axis = 0, .divisor = 8},
    {     .size = {2, 1, 1}, .rule = GI_GRID_TOKENS, .axis = 1, .divisor = 2},
    {     .size = {1, 4, 0}, .rule = GI_GRID_KEYS,   .axis = 2, .divisor = 1},
    {     .size = {1, 4, 9}, .rule = GI_GRID_KEYS,   .axis = 2, .divisor = 4},
};

enum { N_TEST_GRID = sizeof(test_grids) / sizeof(test_grids[0]) };

// n_past 37, n_tokens 5: ceil(42 / 8) = 6, ceil(5 / 2) = 3, 42, at most 9 of ceil(42 / 4) = 11.
static void expect_test_grids(struct fixture *f, const struct grid_run *run)
{
    static const uint32_t expected[][4] = {
        {12,  2, 1, 1 },
        {24,  5, 3, 0 },
        {6,   1, 2, 0 },
        {168, 0, 3, 41},
        {36,  0, 3, 8 }
    };
    for (uint32_t i = 0; i < N_TEST_GRID; i++) {
        uint32_t found[4];
        read_groups(f, run, i, found);
        assert_memory_equal(found, expected[i], sizeof(found));
    }
}

static void open_with_mode(struct fixture *f, const char *mode)
{
    setenv("GLINFER_DISPATCH", mode, 1);
    open_fixture(f, "");
    unsetenv("GLINFER_DISPATCH");
}

static void grids_follow_their_rules_when_direct(void **state)
{
    struct fixture f;
    struct grid_run run;
    (void)state;
    open_with_mode(&f, "direct");
    assert_false(gi_gpu_limits(f.gpu)->is_indirect);
    record_grids(&f, &run, test_grids, N_TEST_GRID, false);
    gi_dispatch_table_replay(run.table, &(struct gi_replay){.n_past = 37, .n_tokens = 5});
    expect_test_grids(&f, &run);
    finish_grids(&f, &run);
    close_fixture(&f);
}

static void grids_follow_their_rules_when_indirect(void **state)
{
    struct fixture f;
    struct grid_run run;
    (void)state;
    open_with_mode(&f, "indirect");
    assert_true(gi_gpu_limits(f.gpu)->is_indirect);
    record_grids(&f, &run, test_grids, N_TEST_GRID, false);
    check(gi_dispatch_table_prime(run.table, 37, 5, &f.err), &f.err);
    gi_dispatch_table_replay(run.table, &(struct gi_replay){0});
    expect_test_grids(&f, &run);
    finish_grids(&f, &run);
    close_fixture(&f);
}

static void indirect_chain_stops_when_done(void **state)
{
    struct fixture f;
    struct grid_run run;
    (void)state;
    open_with_mode(&f, "indirect");
    record_grids(&f, &run, test_grids, N_TEST_GRID, true);
    check(gi_dispatch_table_prime(run.table, 37, 5, &f.err), &f.err);
    for (int i = 0; i < 3; i++) {
        gi_dispatch_table_replay(run.table, &(struct gi_replay){0});
    }
    expect_test_grids(&f, &run);
    finish_grids(&f, &run);
    close_fixture(&f);
}

static void slots_are_shared_and_run_out(void **state)
{
    struct fixture f;
    struct grid_run run;
    struct gi_grid grids[GI_MAX_SLOTS + 8];
    (void)state;
    for (uint32_t i = 0; i < GI_MAX_SLOTS + 8; i++) {
        grids[i] = (struct gi_grid){
            .size = {1, 1, 1},
              .rule = GI_GRID_KEYS, .divisor = 1 + i % GI_MAX_SLOTS
        };
    }
    open_with_mode(&f, "indirect");
    record_grids(&f, &run, grids, GI_MAX_SLOTS + 8, false);
    const struct gi_dispatch_table_params params = {
        .counts = {&run.counts, 0, run.counts.size}
    };
    struct gi_dispatch_table *table =
        gi_dispatch_table_create(f.gpu, run.programs, &params, &f.err);
    struct gi_dispatch dispatch = {
        .label = "too_many", .bindings = {{&run.results, 0, 16}}, .writes = 1};
    bool is_recorded = true;
    for (uint32_t i = 0; i <= GI_MAX_SLOTS && is_recorded; i++) {
        dispatch.grid = (struct gi_grid){
            .size = {1, 1, 1},
              .rule = GI_GRID_TOKENS, .divisor = i + 1
        };
        is_recorded = gi_dispatch_table_record(table, &dispatch, &f.err);
        assert_true(is_recorded || i == GI_MAX_SLOTS);
    }
    assert_false(is_recorded);
    assert_int_equal(f.err.status, GLINFER_STATUS_UNSUPPORTED);
    assert_non_null(strstr(f.err.message, "too_many"));
    gi_dispatch_table_destroy(table);
    finish_grids(&f, &run);
    close_fixture(&f);
}

static void record_refuses_what_the_device_cannot_do(void **state)
{
    struct fixture *f = *state;
    const struct gi_limits *limits = gi_gpu_limits(f->gpu);
    struct gi_program_table *programs = gi_program_table_create(f->gpu, &f->err);
    const struct gi_dispatch_table_params params = {{0}, {0}};
    struct gi_dispatch_table *table = gi_dispatch_table_create(f->gpu, programs, &params, &f->err);
    // Only recorded, so the storage need not be there.
    const struct gi_buffer huge = {.name = 1, .size = limits->max_storage_block_size + 256};
    struct gi_dispatch dispatch = {
        .label = "large", .bindings = {{&huge, 0, huge.size}}, .grid = {.size = {1, 1, 1}}};
    assert_false(gi_dispatch_table_record(table, &dispatch, &f->err));
    assert_int_equal(f->err.status, GLINFER_STATUS_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "large"));
    dispatch.label = "wide";
    dispatch.bindings[0].size = 256;
    dispatch.grid.size[1] = limits->max_group_count[1] + 1;
    if (dispatch.grid.size[1] != 0) {
        assert_false(gi_dispatch_table_record(table, &dispatch, &f->err));
        assert_int_equal(f->err.status, GLINFER_STATUS_UNSUPPORTED);
        assert_non_null(strstr(f->err.message, "wide"));
    }
    gi_dispatch_table_destroy(table);
    gi_program_table_destroy(programs);
}

//-- barriers --------------------------------------------------------------------------------------

enum {
    STORAGE = 0x2000, // GL_SHADER_STORAGE_BARRIER_BIT
    UNIFORM = 0x0004, // GL_UNIFORM_BARRIER_BIT
    COMMAND = 0x0040, // GL_COMMAND_BARRIER_BIT
};

// Records a dispatch that reads [r0, r1) and writes [w0, w1) of a buffer, in units of 256 bytes.
static void record_access(struct fixture *f, struct gi_dispatch_table *table,
                          const struct gi_buffer *buffer, const uint32_t unit[4], bool writes_state)
{
    const struct gi_dispatch dispatch = {
        .label = "access",
        .bindings = {{unit[3] > unit[2] ? buffer : NULL, unit[2] * 256u,
                      (unit[3] - unit[2]) * 256u},
                     {unit[1] > unit[0] ? buffer : NULL, unit[0] * 256u,
                      (unit[1] - unit[0]) * 256u}},
        .writes = 1,
        .writes_state = writes_state,
        .grid = {.size = {1, 1, 1}                                                }
    };
    check(gi_dispatch_table_record(table, &dispatch, &f->err), &f->err);
}

static void barriers_stand_where_ranges_overlap(void **state)
{
    struct fixture *f = *state;
    static const struct {
        uint32_t unit[4]; // read from, to, written from, to
        uint32_t barrier;
    } steps[] = {
        {{0, 1, 1, 2},     0      }, // the first
        {{0, 1, 2, 3},     0      }, // reads what another reads
        {{3, 4, 4, 5},     0      }, // somewhere else
        {{1, 2, 5, 6},     STORAGE}, // reads what was written
        {{1, 2, 6, 7},     0      }, // that is settled
        {{7, 8, 1, 2},     STORAGE}, // writes what was read
        {{8, 9, 1, 2},     STORAGE}, // writes what was written
        {{1, 2, 1, 2},     STORAGE}, // in place
        {{9, 10, 10, 12},  0      }, // overlap by a part:
        {{11, 13, 13, 14}, STORAGE},
    };
    struct gi_buffer buffer = make_buffer(f, 16 * 256, "access");
    struct gi_program_table *programs = gi_program_table_create(f->gpu, &f->err);
    const struct gi_dispatch_table_params params = {{0}, {0}};
    struct gi_dispatch_table *table = gi_dispatch_table_create(f->gpu, programs, &params, &f->err);
    for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        record_access(f, table, &buffer, steps[i].unit, false);
        if (gi_dispatch_table_barrier(table, i) != steps[i].barrier) {
            fail_msg("step %u has barrier 0x%x", i, gi_dispatch_table_barrier(table, i));
        }
    }
    assert_int_equal(gi_dispatch_table_barrier(table, gi_dispatch_table_count(table)), STORAGE);
    gi_dispatch_table_destroy(table);
    gi_program_table_destroy(programs);
    gi_buffer_finish(&buffer, f->gpu);
}

static void check_state_barriers(const char *mode, uint32_t expected)
{
    static const uint32_t first[4] = {0, 1, 1, 2}, second[4] = {4, 5, 5, 6}, none[4] = {8, 9, 9, 9};
    struct fixture f;
    open_with_mode(&f, mode);
    struct gi_buffer buffer = make_buffer(&f, 16 * 256, "access");
    struct gi_program_table *programs = gi_program_table_create(f.gpu, &f.err);
    const struct gi_dispatch_table_params params = {{0}, {0}};
    struct gi_dispatch_table *table = gi_dispatch_table_create(f.gpu, programs, &params, &f.err);
    record_access(&f, table, &buffer, first, false);
    record_access(&f, table, &buffer, second, true);
    record_access(&f, table, &buffer, none, false);
    record_access(&f, table, &buffer, second, true);
    assert_int_equal(gi_dispatch_table_barrier(table, 0), 0);
    assert_int_equal(gi_dispatch_table_barrier(table, 1), STORAGE); // all read step_state
    assert_int_equal(gi_dispatch_table_barrier(table, 2), expected);
    assert_int_equal(gi_dispatch_table_barrier(table, 4), expected);
    gi_dispatch_table_destroy(table);
    gi_program_table_destroy(programs);
    gi_buffer_finish(&buffer, f.gpu);
    close_fixture(&f);
}

static void barriers_after_step_state_reach_uniforms_and_commands(void **state)
{
    (void)state;
    check_state_barriers("direct", STORAGE | UNIFORM);
    check_state_barriers("indirect", STORAGE | UNIFORM | COMMAND);
}

//-- halves ----------------------------------------------------------------------------------------

static void probe_halves(struct fixture *f, const char *asked)
{
    struct gi_program_table *programs = gi_program_table_create(f->gpu, &f->err);
    if (asked) {
        setenv("GLINFER_HALF", asked, 1);
    }
    check(programs && gi_half_probe(f->gpu, programs, &f->err), &f->err);
    unsetenv("GLINFER_HALF");
    gi_program_table_destroy(programs);
    check(gi_gpu_check(f->gpu, "probing halves", &f->err), &f->err);
}

static void half_probe_refuses_slow_halves(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, "");
    const struct gi_limits *limits = gi_gpu_limits(f.gpu);
    probe_halves(&f, NULL);
    if (strstr(gi_gpu_platform(f.gpu)->renderer, "llvmpipe")) {
        assert_false(limits->has_fast_half); // they are f16, but take longer
    }
    close_fixture(&f);
}

static void half_probe_does_as_it_is_told(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, "");
    const struct gi_limits *limits = gi_gpu_limits(f.gpu);
    probe_halves(&f, "no");
    assert_false(limits->has_fast_half);
    probe_halves(&f, "yes");
    assert_true(limits->has_fast_half);
    close_fixture(&f);
}

//-- pages ------------------------------------------------------------------------------------------

// Where there is a way to large pages it is taken, elsewhere nobody sees a difference.
static void large_pages_hold_what_is_written(void **state)
{
    struct fixture f;
    struct gi_buffer buffer;
    uint32_t words[1024], back[1024], zero[4];
    (void)state;
    setenv("GLINFER_PAGES", "large", 1);
    open_fixture(&f, "");
    unsetenv("GLINFER_PAGES");
    for (uint32_t i = 0; i < 1024; i++) {
        words[i] = i * 2654435761u;
    }
    for (int i = 0; i < 2; i++) {
        const uint64_t size = 5 << 20;
        check(gi_buffer_init_paged(&buffer, f.gpu, size, size, "large", &f.err), &f.err);
        assert_int_equal(buffer.memory == 0, f.has_small_pages);
        check(gi_buffer_write(&buffer, f.gpu, 3 << 20, words, sizeof(words), &f.err), &f.err);
        check(gi_buffer_read(&buffer, f.gpu, 3 << 20, back, sizeof(back), &f.err), &f.err);
        check(gi_buffer_read(&buffer, f.gpu, size - sizeof(zero), zero, sizeof(zero), &f.err),
              &f.err);
        assert_memory_equal(words, back, sizeof(words));
        assert_int_equal(zero[0] | zero[1] | zero[2] | zero[3], 0);
        gi_buffer_finish(&buffer, f.gpu);
    }
    close_fixture(&f);
}

//-- waiting ---------------------------------------------------------------------------------------

static void finish_counts_as_a_wait(void **state)
{
    struct fixture *f = *state;
    uint64_t before = gi_gpu_wait_count(f->gpu);
    check(gi_gpu_finish(f->gpu, &f->err), &f->err);
    assert_int_equal(gi_gpu_wait_count(f->gpu), before + 1);
}

static void fence_is_done_after_its_wait(void **state)
{
    struct fixture *f = *state;
    struct gi_fence fence = {0};
    assert_true(gi_fence_is_done(f->gpu, &fence));
    check(gi_fence_insert(f->gpu, &fence, &f->err), &f->err);
    uint64_t before = gi_gpu_wait_count(f->gpu);
    check(gi_fence_wait(f->gpu, &fence, 0, &f->err), &f->err);
    assert_true(gi_fence_is_done(f->gpu, &fence));
    check(gi_fence_wait(f->gpu, &fence, 1, &f->err), &f->err);
    assert_int_equal(gi_gpu_wait_count(f->gpu), before + 2);
    gi_fence_finish(f->gpu, &fence);
    gi_fence_finish(f->gpu, &fence);
}

static const char slow_kernel[] =
    "layout(local_size_x = WG_SIZE) in;\n"
    "layout(std430, binding = 0) buffer Dst { uint value; };\n"
    "void main() { uint x = value + gl_LocalInvocationIndex;\n"
    "  for (int i = 0; i < 3000000; i++) { x = x * 1664525u + 1013904223u; }\n"
    "  if (x == 0u) { value = x; } }\n";

// Where dispatches run beside the host (llvmpipe's do not), a wait that is too short loses the gpu.
static void fence_times_out_as_a_lost_gpu(void **state)
{
    struct fixture f;
    struct gi_fence fence = {0};
    uint32_t program;
    (void)state;
    open_fixture(&f, "");
    struct gi_buffer buffer = make_buffer(&f, 16, "slow");
    struct gi_program_table *programs = make_program(&f, slow_kernel, &program);
    const struct gi_dispatch_table_params params = {{0}, {0}};
    struct gi_dispatch_table *table = gi_dispatch_table_create(f.gpu, programs, &params, &f.err);
    const struct gi_dispatch dispatch = {.label = "slow",
                                         .program = program,
                                         .bindings = {{&buffer, 0, 16}},
                                         .writes = 1,
                                         .grid = {.size = {1, 1, 1}}};
    check(gi_dispatch_table_record(table, &dispatch, &f.err), &f.err);
    check(gi_dispatch_table_seal(table, &f.err), &f.err);
    gi_dispatch_table_replay(table, &(struct gi_replay){.n_tokens = 1});
    check(gi_fence_insert(f.gpu, &fence, &f.err), &f.err);
    if (gi_fence_is_done(f.gpu, &fence)) {
        printf("# dispatches of this device end before the call returns\n");
    } else {
        assert_false(gi_fence_wait(f.gpu, &fence, 1000, &f.err));
        assert_int_equal(f.err.status, GLINFER_STATUS_GPU_LOST);
        assert_false(gi_gpu_check(f.gpu, "going on", &f.err));
        assert_int_equal(f.err.status, GLINFER_STATUS_GPU_LOST);
        assert_false(gi_gpu_finish(f.gpu, &f.err));
    }
    gi_fence_finish(f.gpu, &fence);
    gi_dispatch_table_destroy(table);
    gi_program_table_destroy(programs);
    gi_buffer_finish(&buffer, f.gpu);
    drop_fixture(&f);
}

static void timer_times_each_dispatch(void **state)
{
    struct fixture *f = *state;
    struct grid_run run;
    uint64_t ns[N_TEST_GRID] = {0};
    if (!gi_gpu_limits(f->gpu)->has_timer_query) {
        skip();
    }
    record_grids(f, &run, test_grids, N_TEST_GRID, false);
    struct gi_timer *timer = gi_timer_create(f->gpu, N_TEST_GRID, &f->err);
    check(timer != NULL, &f->err);
    const struct gi_replay replay = {.n_past = 37, .n_tokens = 5, .timer = timer};
    for (int round = 0; round < 2; round++) {
        gi_timer_reset(timer);
        check(gi_dispatch_table_prime(run.table, 37, 5, &f->err), &f->err);
        gi_dispatch_table_replay(run.table, &replay);
        assert_int_equal(gi_timer_count(timer), N_TEST_GRID);
        check(gi_gpu_finish(f->gpu, &f->err), &f->err);
        enum gi_timer_status status = GI_TIMER_STATUS_PENDING;
        for (int i = 0; i < 1000 && status == GI_TIMER_STATUS_PENDING; i++) {
            status = gi_timer_results(timer, ns);
            usleep(status == GI_TIMER_STATUS_PENDING ? 1000 : 0);
        }
        assert_int_not_equal(status, GI_TIMER_STATUS_PENDING);
        for (int i = 0; i < N_TEST_GRID; i++) {
            assert_true(ns[i] < 1000000000);
        }
    }
    gi_timer_destroy(timer);
    finish_grids(f, &run);
}

static bool has_device(void)
{
    struct glinfer_error err;
    const struct gi_platform_params params = {.device = "auto", .allow_software = true};
    struct gi_platform *platform = gi_platform_open(&params, &err);
    if (!platform) {
        fprintf(stderr, "skipped: %s\n", err.message);
        return false;
    }
    printf("# %s\n", gi_platform_describe(platform)->renderer);
    gi_platform_close(platform);
    return true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_at_least_what_es31_promises),
        cmocka_unit_test(limits_can_be_cut_to_the_floor),
        cmocka_unit_test(buffer_starts_zeroed),
        cmocka_unit_test(buffer_refuses_sizes_out_of_range),
        cmocka_unit_test(buffer_keeps_what_was_written),
        cmocka_unit_test(buffer_survives_many_small_writes),
        cmocka_unit_test(readback_gives_ranges_in_the_order_of_the_adds),
        cmocka_unit_test(program_errors_name_file_and_line),
        cmocka_unit_test(program_build_can_be_cancelled_and_taken_up_again),
        cmocka_unit_test(program_tells_uniform_offsets),
        cmocka_unit_test(equal_keys_share_a_program),
        cmocka_unit_test(cache_gives_back_what_was_compiled),
        cmocka_unit_test(cache_compiles_again_when_a_file_is_damaged),
        cmocka_unit_test(cache_compiles_again_when_the_driver_refuses),
        cmocka_unit_test(cache_warns_once_when_it_cannot_write),
        cmocka_unit_test(chain_of_dispatches_adds_up),
        cmocka_unit_test(grids_follow_their_rules_when_direct),
        cmocka_unit_test(grids_follow_their_rules_when_indirect),
        cmocka_unit_test(indirect_chain_stops_when_done),
        cmocka_unit_test(slots_are_shared_and_run_out),
        cmocka_unit_test(record_refuses_what_the_device_cannot_do),
        cmocka_unit_test(barriers_stand_where_ranges_overlap),
        cmocka_unit_test(barriers_after_step_state_reach_uniforms_and_commands),
        cmocka_unit_test(finish_counts_as_a_wait),
        cmocka_unit_test(half_probe_refuses_slow_halves),
        cmocka_unit_test(half_probe_does_as_it_is_told),
        cmocka_unit_test(large_pages_hold_what_is_written),
        cmocka_unit_test(fence_is_done_after_its_wait),
        cmocka_unit_test(fence_times_out_as_a_lost_gpu),
        cmocka_unit_test(timer_times_each_dispatch),
    };
    if (!has_device()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
