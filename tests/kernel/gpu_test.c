// The GL layer on a real context: buffers, programs, recording and replay. Exit status 77 where
// there is no device.
#include "gpu/dispatch_table.h"
#include "gpu/step_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    struct glinfer_error err;
};

static void check(bool is_good, const struct glinfer_error *err)
{
    if (!is_good) {
        fail_msg("%d: %s", (int)err->status, err->message);
    }
}

static void print_warning(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user;
    if (level <= GLINFER_LOG_WARN) {
        fprintf(stderr, "log: %s\n", message);
    }
}

static const struct gi_log test_log = {.fn = print_warning};

static void open_fixture(struct fixture *f, const char *cache_dir)
{
    const struct gi_platform_params platform_params = {
        .device = "auto", .allow_software = true, .debug = true, .log = &test_log};
    const struct gi_gpu_params params = {.cache_dir = cache_dir, .log = &test_log};
    memset(f, 0, sizeof(*f));
    f->platform = gi_platform_open(&platform_params, &f->err);
    check(f->platform != NULL, &f->err);
    f->gpu = gi_gpu_create(f->platform, &params, &f->err);
    check(f->gpu != NULL, &f->err);
    check(gi_gpu_enter(f->gpu, &f->saved, &f->err), &f->err);
}

static void close_fixture(struct fixture *f)
{
    check(gi_gpu_check(f->gpu, "ending a test", &f->err), &f->err);
    assert_int_equal(gi_gpu_debug_errors(f->gpu), 0);
    gi_gpu_leave(f->gpu, &f->saved);
    gi_gpu_destroy(f->gpu);
    gi_platform_close(f->platform);
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

//-- buffers ---------------------------------------------------------------------------------------

static void buffer_starts_zeroed(void **state)
{
    struct fixture *f = *state;
    struct gi_buffer buffer;
    const uint64_t size = (3u << 20) + 20;
    uint32_t *data = malloc(size);
    check(gi_buffer_init(&buffer, f->gpu, size, "zeroed", &f->err), &f->err);
    memset(data, 1, size);
    check(gi_buffer_read(&buffer, f->gpu, 0, data, size, &f->err), &f->err);
    for (uint64_t i = 0; i < size / 4; i++) {
        assert_int_equal(data[i], 0);
    }
    gi_buffer_finish(&buffer, f->gpu);
    free(data);
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
    struct gi_buffer buffer;
    const uint64_t size = 6u << 20;
    uint8_t *expected = calloc(1, size), *found = malloc(size);
    check(gi_buffer_init(&buffer, f->gpu, size, "written", &f->err), &f->err);
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

//-- replay ----------------------------------------------------------------------------------------

struct add_params {
    uint32_t n, addend, pad[2];
};

static const char add_kernel[] = "layout(local_size_x = WG_SIZE) in;\n"
                                 "layout(std430, binding = 0) buffer Dst { uint y[]; };\n"
                                 "layout(std430, binding = 1) readonly buffer Src { uint x[]; };\n"
                                 "layout(std140, binding = 0) uniform Params { uint n; uint addend;"
                                 " uint pad0; uint pad1; };\n"
                                 "void main() { uint i = gl_GlobalInvocationID.x;\n"
                                 "  if (i < n) { y[i] = x[i] + addend; } }\n";

static void chain_of_dispatches_adds_up(void **state)
{
    struct fixture *f = *state;
    enum { N = 1000, COUNT = 1000 };
    static const struct gi_define defines[] = {
        {"WG_SIZE", 64}
    };
    struct gi_buffer a, b;
    uint32_t program, found[N];
    check(gi_buffer_init(&a, f->gpu, N * 4, "a", &f->err), &f->err);
    check(gi_buffer_init(&b, f->gpu, N * 4, "b", &f->err), &f->err);
    struct gi_program_table *programs = gi_program_table_create(f->gpu, &f->err);
    check(gi_program_table_request_source(programs, "add.comp", add_kernel, defines, 1, &program,
                                          &f->err),
          &f->err);
    check(gi_program_table_build(programs, NULL, NULL, &f->err), &f->err);
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
        };
        check(gi_dispatch_table_record(table, &dispatch, &f->err), &f->err);
    }
    check(gi_dispatch_table_seal(table, &f->err), &f->err);
    gi_dispatch_table_replay(table, &(struct gi_replay){.n_tokens = 1});
    check(gi_buffer_read(&a, f->gpu, 0, found, sizeof(found), &f->err), &f->err);
    uint32_t expected = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        expected += i % 7;
    }
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(found[i], expected);
    }
    gi_dispatch_table_destroy(table);
    gi_program_table_destroy(programs);
    gi_buffer_finish(&a, f->gpu);
    gi_buffer_finish(&b, f->gpu);
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
        cmocka_unit_test(buffer_starts_zeroed),
        cmocka_unit_test(buffer_keeps_what_was_written),
        cmocka_unit_test(chain_of_dispatches_adds_up),
    };
    if (!has_device()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
