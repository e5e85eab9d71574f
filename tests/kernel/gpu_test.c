// The GL layer on a real context: limits, buffers, waiting. Exit status 77 where there is no
// device.
#include "gpu/device/half_probe.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/memory/readback.h"
#include "tests/kernel/fixture/gpu_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- limits ----------------------------------------------------------------------------------------

TEST(limits_are_at_least_what_es31_promises)
{
    struct fixture *f = *state;
    const struct gi_limits *limits = gi_gpu_limits(f->gpu);
    assert_true(limits->max_storage_blocks >= 4);
    assert_true(limits->max_storage_block_size >= 128u << 20);
    assert_true(limits->max_uniform_block_size >= 16384);
    assert_true(limits->max_invocations >= 128);
    assert_true(limits->max_shared_size >= 16384);
    assert_true(limits->storage_alignment > 0 && limits->storage_alignment <= 256);
    assert_true(limits->uniform_alignment > 0 && limits->uniform_alignment <= 256);
    for (int i = 0; i < 3; i++) {
        assert_true(limits->max_group_count[i] >= 65535);
    }
}

TEST(single_limits_can_be_cut)
{
    struct fixture f;
    open_fixture_with(&f, "GLINFER_LIMITS", "blocks=8,invocations=128,alignment=512,uniform=16384");
    const struct gi_limits *limits = gi_gpu_limits(f.gpu);
    assert_true(limits->max_storage_blocks <= 8);
    assert_int_equal(limits->max_invocations, 128);
    assert_true(limits->max_group_size[0] <= 128);
    assert_int_equal(limits->storage_alignment, 512);
    assert_int_equal(limits->uniform_alignment, 512);
    assert_int_equal(limits->max_uniform_block_size, 16384);
    assert_true(limits->max_shared_size >= 16384);
    close_fixture(&f);
}

TEST(quirks_take_away)
{
    struct fixture f;
    open_fixture_with(&f, "GLINFER_QUIRKS",
                      "=indirect,no-textures,no-binaries,no-threads,no-timer,no-subgroups");
    const struct gi_limits *limits = gi_gpu_limits(f.gpu);
    assert_true(limits->is_indirect);
    assert_false(limits->has_texture_buffer || limits->max_texels > 0);
    assert_int_equal(limits->n_binary_formats, 0);
    assert_false(limits->has_parallel_compile || limits->has_timer_query);
    assert_false(limits->has_subgroups || limits->subgroup_size > 0);
    close_fixture(&f);
}

TEST(limits_can_be_cut_to_the_floor)
{
    struct fixture floor;
    open_fixture_with(&floor, "GLINFER_LIMITS", "es31");
    const struct gi_limits *limits = gi_gpu_limits(floor.gpu);
    assert_int_equal(limits->max_storage_blocks, 4);
    assert_int_equal(limits->max_storage_block_size, 128u << 20);
    assert_int_equal(limits->max_invocations, 128);
    assert_int_equal(limits->max_shared_size, 16384);
    assert_int_equal(limits->max_group_count[0], 65535);
    assert_int_equal(limits->n_binary_formats, 0);
    assert_false(limits->has_subgroups);
    struct gi_buffer *buffer = make_buffer(&floor, 100, "floor");
    uint32_t value = 7;
    check(gi_buffer_write(buffer, floor.gpu, 96, &value, 4, &floor.err), &floor.err);
    value = 0;
    check(gi_buffer_read(buffer, floor.gpu, 96, &value, 4, &floor.err), &floor.err);
    assert_int_equal(value, 7);
    close_fixture(&floor);
}

//-- buffers ---------------------------------------------------------------------------------------

TEST(buffer_starts_zeroed)
{
    struct fixture *f = *state;
    const uint64_t size = (3u << 20) + 20;
    uint32_t *data = malloc(size);
    struct gi_buffer *buffer = make_buffer(f, size, "zeroed");
    assert_int_equal(buffer->size, size + 12);
    memset(data, 1, size);
    check(gi_buffer_read(buffer, f->gpu, 0, data, size, &f->err), &f->err);
    for (uint64_t i = 0; i < size / 4; i++) {
        assert_int_equal(data[i], 0);
    }
    free(data);
}

TEST(buffer_refuses_sizes_out_of_range)
{
    struct fixture *f = *state;
    struct gi_buffer buffer;
    assert_fails(gi_buffer_init(&buffer, f->gpu, 0, "nothing", &f->err), f->err, UNSUPPORTED, "");
    assert_fails(gi_buffer_init(&buffer, f->gpu, GI_MAX_BUFFER_SIZE + 1, "too much", &f->err),
                 f->err, UNSUPPORTED, "too much");
    assert_int_equal(buffer.name, 0);
}

TEST(buffer_keeps_what_was_written)
{
    struct fixture *f = *state;
    static const struct {
        uint64_t offset, size;
    } parts[] = {{0, 4}, {4, 12}, {1020, 1028}, {(1u << 20) - 4, 8}, {2048, (5u << 20) + 4}};
    const uint64_t size = 6u << 20;
    uint8_t *expected = calloc(1, size), *found = malloc(size);
    struct gi_buffer *buffer = make_buffer(f, size, "written");
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (uint64_t k = 0; k < parts[i].size; k++) {
            expected[parts[i].offset + k] = (uint8_t)(k * 7 + i + (k >> 9));
        }
        check(gi_buffer_write(buffer, f->gpu, parts[i].offset, expected + parts[i].offset,
                              parts[i].size, &f->err),
              &f->err);
    }
    check(gi_buffer_read(buffer, f->gpu, 0, found, size, &f->err), &f->err);
    assert_memory_equal(found, expected, size);
    free(expected);
    free(found);
}

TEST(buffer_survives_many_small_writes)
{
    struct fixture *f = *state;
    enum { N = 4096, ROUNDS = 200 };
    static uint32_t data[N], found[N];
    struct gi_buffer *buffer = make_buffer(f, sizeof(data), "small writes");
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < N; i++) {
            data[i] = i * 31 + round;
        }
        check(gi_buffer_write(buffer, f->gpu, 0, data, sizeof(data), &f->err), &f->err);
    }
    check(gi_buffer_read(buffer, f->gpu, 0, found, sizeof(found), &f->err), &f->err);
    assert_memory_equal(found, data, sizeof(data));
}

TEST(readback_gives_ranges_in_the_order_of_the_adds)
{
    struct fixture *f = *state;
    static const uint32_t a_data[4] = {1, 2, 3, 4}, b_data[4] = {5, 6, 7, 8};
    static const uint32_t expected[5] = {7, 8, 1, 2, 6}, second[2] = {4, 5};
    struct gi_buffer *a = make_buffer(f, 16, "a"), *b = make_buffer(f, 16, "b");
    struct gi_readback readback;
    check(gi_buffer_write(a, f->gpu, 0, a_data, 16, &f->err), &f->err);
    check(gi_buffer_write(b, f->gpu, 0, b_data, 16, &f->err), &f->err);
    check(gi_readback_init(&readback, f->gpu, 20, &f->err), &f->err);
    gi_readback_begin(&readback);
    gi_readback_add(&readback, f->gpu, b, 8, 8);
    gi_readback_add(&readback, f->gpu, a, 0, 8);
    gi_readback_add(&readback, f->gpu, b, 4, 4);
    check(gi_readback_end(&readback, f->gpu, &f->err), &f->err);
    const void *found = gi_readback_wait(&readback, f->gpu, &f->err);
    check(found != NULL, &f->err);
    assert_memory_equal(found, expected, sizeof(expected));
    gi_readback_begin(&readback);
    gi_readback_add(&readback, f->gpu, a, 12, 4);
    gi_readback_add(&readback, f->gpu, b, 0, 4);
    check(gi_readback_end(&readback, f->gpu, &f->err), &f->err);
    found = gi_readback_wait(&readback, f->gpu, &f->err);
    check(found != NULL, &f->err);
    assert_memory_equal(found, second, sizeof(second));
    gi_readback_finish(&readback, f->gpu);
}

//-- halves ----------------------------------------------------------------------------------------

static void probe_halves(struct fixture *f, const char *asked)
{
    gi_settings_set(&f->settings, "GLINFER_HALF", asked);
    check(gi_half_probe(f->gpu, make_programs(f), &f->err), &f->err);
    check(gi_gpu_check(f->gpu, "probing halves", &f->err), &f->err);
}

TEST(half_probe_refuses_slow_halves_and_does_as_it_is_told)
{
    struct fixture f;
    open_fixture(&f, "");
    const struct gi_limits *limits = gi_gpu_limits(f.gpu);
    probe_halves(&f, NULL);
    if (strstr(gi_gpu_platform(f.gpu)->renderer, "llvmpipe")) {
        assert_false(limits->has_fast_half); // they are f16, but take longer
    }
    probe_halves(&f, "no");
    assert_false(limits->has_fast_half);
    probe_halves(&f, "yes");
    assert_true(limits->has_fast_half);
    close_fixture(&f);
}

//-- pages -----------------------------------------------------------------------------------------

// Buffers hold the same with large pages as without.
TEST(large_pages_hold_what_is_written)
{
    struct fixture f;
    struct gi_buffer buffer;
    uint32_t words[1024], back[1024], zero[4];
    open_fixture_with(&f, "GLINFER_PAGES", "large");
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

TEST(finish_counts_as_a_wait)
{
    struct fixture *f = *state;
    uint64_t before = gi_gpu_counts(f->gpu)->n_waits;
    check(gi_gpu_finish(f->gpu, &f->err), &f->err);
    assert_int_equal(gi_gpu_counts(f->gpu)->n_waits, before + 1);
}

TEST(fence_is_done_after_its_wait)
{
    struct fixture *f = *state;
    struct gi_fence fence = {0};
    assert_true(gi_fence_is_done(f->gpu, &fence));
    check(gi_fence_insert(f->gpu, &fence, &f->err), &f->err);
    uint64_t before = gi_gpu_counts(f->gpu)->n_waits;
    check(gi_fence_wait(f->gpu, &fence, 0, &f->err), &f->err);
    assert_true(gi_fence_is_done(f->gpu, &fence));
    check(gi_fence_wait(f->gpu, &fence, 1, &f->err), &f->err);
    assert_int_equal(gi_gpu_counts(f->gpu)->n_waits, before + 2);
    gi_fence_finish(f->gpu, &fence);
    gi_fence_finish(f->gpu, &fence);
}

static const char slow_kernel[] =
    "layout(local_size_x = WG_SIZE) in;\n"
    "layout(std430, binding = 0) buffer Dst { uint value; };\n"
    "void main() { uint x = value + gl_LocalInvocationIndex;\n"
    "  for (int i = 0; i < 3000000; i++) { x = x * 1664525u + 1013904223u; }\n"
    "  if (x == 0u) { value = x; } }\n";

// A wait that is too short loses the gpu, if dispatches run beside the host (llvmpipe's do not).
TEST(fence_times_out_as_a_lost_gpu)
{
    struct fixture f;
    struct gi_fence fence = {0};
    uint32_t program;
    open_fixture(&f, "");
    const struct gi_buffer *buffer = make_buffer(&f, 16, "slow");
    struct gi_program_table *programs = make_program(&f, slow_kernel, &program);
    struct gi_dispatch_table *table = make_table(&f, programs, NULL);
    const struct gi_dispatch dispatch = {.label = "slow",
                                         .program = program,
                                         .bindings = {{buffer, 0, 16}},
                                         .writes = 1,
                                         .grid = {.size = {1, 1, 1}}};
    gi_dispatch_table_record(table, &dispatch);
    check(gi_dispatch_table_seal(table, &f.err), &f.err);
    gi_dispatch_table_replay(table, &(struct gi_replay){.n_tokens = 1});
    check(gi_fence_insert(f.gpu, &fence, &f.err), &f.err);
    if (gi_fence_is_done(f.gpu, &fence)) {
        printf("# dispatches of this device end before the call returns\n");
    } else {
        assert_fails(gi_fence_wait(f.gpu, &fence, 1000, &f.err), f.err, GPU_LOST, "");
        assert_fails(gi_gpu_check(f.gpu, "going on", &f.err), f.err, GPU_LOST, "");
        assert_false(gi_gpu_finish(f.gpu, &f.err));
    }
    gi_fence_finish(f.gpu, &fence);
    drop_fixture(&f);
}

RUN_TESTS_EACH(setup_fixture, teardown_fixture, NULL, finish_test)
