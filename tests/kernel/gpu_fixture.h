// What the tests of the GL layer share: a context with its gpu, which must end without an error of GL, a message of the
// driver that matters or a hot buffer moved; and a kernel that adds.
#ifndef GI_TESTS_KERNEL_GPU_FIXTURE_H
#define GI_TESTS_KERNEL_GPU_FIXTURE_H

#include "gpu/dispatch_table.h"
#include "tests/unit/cmocka_test.h"

enum { SKIPPED = 77 };

struct fixture {
    struct gi_platform *platform;
    struct gi_gpu *gpu;
    struct gi_platform_saved saved;
    struct gi_log log;
    uint32_t n_warnings;
    uint32_t n_useless;   // files of the cache that were said to be
    bool has_small_pages; // large ones were refused
    struct glinfer_error err;
};

// Fails the test with the error's message.
void check(bool is_good, const struct glinfer_error *err);

// cache_dir: of program binaries, "" for none.
void open_fixture(struct fixture *f, const char *cache_dir);

// Without the checks of close_fixture().
void drop_fixture(struct fixture *f);
void close_fixture(struct fixture *f);

// cmocka's: *state becomes an open fixture without a cache.
int setup_fixture(void **state);
int teardown_fixture(void **state);

// False, said on stderr, without a device.
bool has_device(void);

struct gi_buffer make_buffer(struct fixture *f, uint64_t size, const char *label);

// Writes x[i] + addend to y[i] for i < n: binding 0 is y, 1 is x.
extern const char add_kernel[];

struct add_params {
    uint32_t n, addend, pad[2];
};

extern const struct gi_define wg_64[1];

// A table of one program, built; WG_SIZE is 64.
struct gi_program_table *make_program(struct fixture *f, const char *text, uint32_t *index);

#endif
