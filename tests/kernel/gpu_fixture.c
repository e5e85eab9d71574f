#include "gpu_fixture.h"

#include <stdio.h>
#include <string.h>

void check(bool is_good, const struct glinfer_error *err)
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
    f->n_useless += strstr(message, "the program is compiled again") != NULL;
    f->has_small_pages |= strstr(message, "small pages") != NULL;
    if (level <= GLINFER_LOG_WARN) {
        fprintf(stderr, "log: %s\n", message);
        f->n_warnings++;
    }
}

void open_fixture(struct fixture *f, const char *cache_dir)
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

void drop_fixture(struct fixture *f)
{
    gi_gpu_leave(f->gpu, &f->saved);
    gi_gpu_destroy(f->gpu);
    gi_platform_close(f->platform);
}

// No error of GL, no message of the driver that matters, no hot buffer moved.
void close_fixture(struct fixture *f)
{
    check(gi_gpu_check(f->gpu, "ending a test", &f->err), &f->err);
    assert_int_equal(gi_gpu_debug_errors(f->gpu), 0);
    assert_int_equal(gi_gpu_host_moves(f->gpu), 0);
    drop_fixture(f);
}

int setup_fixture(void **state)
{
    static struct fixture fixture;
    open_fixture(&fixture, "");
    *state = &fixture;
    return 0;
}

int teardown_fixture(void **state)
{
    close_fixture(*state);
    return 0;
}

struct gi_buffer make_buffer(struct fixture *f, uint64_t size, const char *label)
{
    struct gi_buffer buffer;
    check(gi_buffer_init(&buffer, f->gpu, size, label, &f->err), &f->err);
    return buffer;
}

const char add_kernel[] = "layout(local_size_x = WG_SIZE) in;\n"
                          "layout(std430, binding = 0) writeonly buffer Dst { uint y[]; };\n"
                          "layout(std430, binding = 1) readonly buffer Src { uint x[]; };\n"
                          "layout(std140, binding = 0) uniform Params { uint n; uint addend;"
                          " uint pad0; uint pad1; };\n"
                          "void main() { uint i = gl_GlobalInvocationID.x;\n"
                          "  if (i < n) { y[i] = x[i] + addend; } }\n";

const struct gi_define wg_64[1] = {
    {"WG_SIZE", 64}
};

struct gi_program_table *make_program(struct fixture *f, const char *text, uint32_t *index)
{
    struct gi_program_table *programs = gi_program_table_create(f->gpu, &f->err);
    check(programs != NULL, &f->err);
    check(gi_program_table_request_source(programs, "test.comp", text, wg_64, 1, index, &f->err),
          &f->err);
    check(gi_program_table_build(programs, NULL, NULL, &f->err), &f->err);
    return programs;
}

bool has_device(void)
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
