// Recording and replay on a real context: chains, grids, barriers, times. Exit status 77 where
// there is no device.
#include "gpu/device/fence.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/dispatch/step_state.h"
#include "tests/kernel/fixture/gpu_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

//-- replay ----------------------------------------------------------------------------------------

TEST(chain_of_dispatches_adds_up)
{
    struct fixture *f = *state;
    enum { N = 1000, COUNT = 1000 };
    static uint32_t found[N];
    uint32_t program, expected = 0;
    struct gi_buffer *a = make_buffer(f, N * 4, "a"), *b = make_buffer(f, N * 4, "b");
    struct gi_program_table *programs = make_program(f, add_kernel, &program);
    struct gi_dispatch_table *table = make_table(f, programs, NULL);
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct add_params block = {.n = N, .addend = i % 7};
        const struct gi_dispatch dispatch = {
            .label = "add",
            .program = program,
            .bindings = {{i % 2 ? a : b, 0, N * 4}, {i % 2 ? b : a, 0, N * 4}},
            .writes = 1,
            .params = &block,
            .params_size = sizeof(block),
            .grid = {.size = {(N + 63) / 64, 1, 1}},
            .weight_bytes = 3,
        };
        gi_dispatch_table_record(table, &dispatch);
        expected += i % 7;
    }
    check(gi_dispatch_table_seal(table, &f->err), &f->err);
    assert_int_equal(gi_dispatch_table_count(table), COUNT);
    assert_int_equal(gi_dispatch_table_weight_bytes(table), 3 * COUNT);
    for (uint32_t round = 1; round <= 3; round++) {
        const struct gi_replay replay = {.n_tokens = 1, .flush_interval = round * 100};
        for (uint32_t i = 0; gi_gpu_platform(f->gpu)->is_software && i < COUNT; i++) {
            gi_dispatch_table_warm(table, i); // adds nothing
        }
        gi_dispatch_table_replay(table, &replay);
        check(gi_buffer_read(a, f->gpu, 0, found, sizeof(found), &f->err), &f->err);
        for (uint32_t i = 0; i < N; i++) {
            assert_int_equal(found[i], expected * round);
        }
    }
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
    struct gi_buffer *results, *counts, *state;
    uint32_t n_grids;
};

static void record_grids(struct fixture *f, struct grid_run *run, const struct gi_grid *grids,
                         uint32_t n_grids, bool has_stop)
{
    const uint32_t step = gi_gpu_limits(f->gpu)->storage_alignment < 16
                              ? 16
                              : gi_gpu_limits(f->gpu)->storage_alignment;
    run->n_grids = n_grids;
    run->results = make_buffer(f, (uint64_t)step * n_grids, "results");
    run->counts = make_buffer(f, GI_MAX_SLOTS * sizeof(struct gi_grid_slot), "counts");
    run->state = make_buffer(f, sizeof(struct gi_step_state), "state");
    run->programs = make_programs(f);
    const uint32_t count = request(f, run->programs, "count.comp", count_kernel);
    const uint32_t stop = request(f, run->programs, "stop.comp", stop_kernel);
    check(gi_program_table_build(run->programs, NULL, NULL, &f->err), &f->err);
    const struct gi_dispatch_table_params params = {
        .state = {run->state, 0, sizeof(struct gi_step_state)},
        .counts = {run->counts, 0, run->counts->size}};
    run->table = make_table(f, run->programs, &params);
    for (uint32_t i = 0; i < n_grids; i++) {
        const struct gi_dispatch dispatch = {.label = "count",
                                             .program = count,
                                             .bindings = {{run->results, i * step, 16}},
                                             .writes = 1,
                                             .grid = grids[i]};
        gi_dispatch_table_record(run->table, &dispatch);
    }
    const struct gi_dispatch last = {.label = "stop",
                                     .program = stop,
                                     .bindings = {{run->counts, 0, run->counts->size}},
                                     .writes = 1,
                                     .writes_state = true,
                                     .grid = {.size = {1, 1, 1}}};
    if (has_stop) {
        gi_dispatch_table_record(run->table, &last);
    }
    check(gi_dispatch_table_seal(run->table, &f->err), &f->err);
}

// Groups seen by dispatch i, and the largest id along each axis.
static void read_groups(struct fixture *f, const struct grid_run *run, uint32_t i,
                        uint32_t found[4])
{
    uint64_t step = run->results->size / run->n_grids;
    check(gi_buffer_read(run->results, f->gpu, i * step, found, 16, &f->err), &f->err);
}

static const struct gi_grid test_grids[] = {
    {.size = {3, 2, 2}},
    {.size = {0, 4, 1}, .rule = GI_GRID_KEYS, .axis = 0, .divisor = 8},
    {.size = {2, 1, 1}, .rule = GI_GRID_TOKENS, .axis = 1, .divisor = 2},
    {.size = {1, 4, 0}, .rule = GI_GRID_KEYS, .axis = 2, .divisor = 1},
    {.size = {1, 4, 9}, .rule = GI_GRID_KEYS, .axis = 2, .divisor = 4},
};

enum { N_TEST_GRID = sizeof(test_grids) / sizeof(test_grids[0]) };

// n_past 37, n_tokens 5: ceil(42 / 8) = 6, ceil(5 / 2) = 3, 42, at most 9 of ceil(42 / 4) = 11.
static void expect_test_grids(struct fixture *f, const struct grid_run *run)
{
    static const uint32_t expected[][4] = {
        {12, 2, 1, 1}, {24, 5, 3, 0}, {6, 1, 2, 0}, {168, 0, 3, 41}, {36, 0, 3, 8}};
    for (uint32_t i = 0; i < N_TEST_GRID; i++) {
        uint32_t found[4];
        read_groups(f, run, i, found);
        assert_memory_equal(found, expected[i], sizeof(found));
    }
}

static void open_with_mode(struct fixture *f, const char *mode)
{
    open_fixture_with(f, "GLINFER_DISPATCH", mode);
}

// Replays the grids n times on a device of its own.
static void check_grids(const char *mode, bool has_stop, int n)
{
    struct fixture f;
    struct grid_run run;
    open_with_mode(&f, mode);
    const bool is_indirect = gi_gpu_limits(f.gpu)->is_indirect;
    assert_int_equal(is_indirect, strcmp(mode, "indirect") == 0);
    record_grids(&f, &run, test_grids, N_TEST_GRID, has_stop);
    check(!is_indirect || gi_dispatch_table_prime(run.table, 37, 5, &f.err), &f.err);
    const struct gi_replay direct = {.n_past = 37, .n_tokens = 5}, indirect = {0};
    for (int i = 0; i < n; i++) {
        gi_dispatch_table_replay(run.table, is_indirect ? &indirect : &direct);
    }
    expect_test_grids(&f, &run);
    close_fixture(&f);
}

TEST(grids_follow_their_rules)
{
    check_grids("direct", false, 1);
    check_grids("indirect", false, 1);
}

TEST(indirect_chain_stops_when_done)
{
    check_grids("indirect", true, 3);
}

TEST(slots_are_shared_and_run_out)
{
    struct fixture f;
    struct grid_run run;
    struct gi_grid grids[GI_MAX_SLOTS + 8];
    (void)state;
    for (uint32_t i = 0; i < GI_MAX_SLOTS + 8; i++) {
        grids[i] = (struct gi_grid){
            .size = {1, 1, 1}, .rule = GI_GRID_KEYS, .divisor = 1 + i % GI_MAX_SLOTS};
    }
    open_with_mode(&f, "indirect");
    record_grids(&f, &run, grids, GI_MAX_SLOTS + 8, false);
    const struct gi_dispatch_table_params params = {.counts = {run.counts, 0, run.counts->size}};
    struct gi_dispatch_table *table = make_table(&f, run.programs, &params);
    struct gi_dispatch dispatch = {
        .label = "too_many", .bindings = {{run.results, 0, 16}}, .writes = 1};
    const struct glinfer_error *failure = gi_dispatch_table_failure(table);
    bool is_recorded = true;
    for (uint32_t i = 0; i <= GI_MAX_SLOTS && is_recorded; i++) {
        dispatch.grid =
            (struct gi_grid){.size = {1, 1, 1}, .rule = GI_GRID_TOKENS, .divisor = i + 1};
        gi_dispatch_table_record(table, &dispatch);
        is_recorded = failure->status == 0;
        assert_true(is_recorded || i == GI_MAX_SLOTS);
    }
    assert_false(is_recorded);
    assert_int_equal(failure->status, GLINFER_STATUS_UNSUPPORTED);
    assert_says(failure->message, "too_many");
    close_fixture(&f);
}

// Adds n_past of the step_state that is bound.
static const char past_kernel[] =
    "layout(local_size_x = WG_SIZE) in;\n"
    "layout(std140, binding = 1) uniform StepState { uint token, n_past; } state;\n"
    "layout(std430, binding = 0) buffer Dst { uint sum; };\n"
    "void main() { if (gl_LocalInvocationIndex == 0u) { sum += state.n_past; } }\n";

TEST(dispatch_reads_the_step_state_it_names)
{
    struct fixture *f = *state;
    enum { STRIDE = GI_STEP_STATE_STRIDE };
    uint32_t program, found, states[3 * STRIDE / 4] = {[1] = 1, [STRIDE / 4 + 1] = 10};
    states[2 * STRIDE / 4 + 1] = 100;
    struct gi_buffer *sum = make_buffer(f, 16, "sum"), *all = make_buffer(f, 3 * STRIDE, "states");
    const struct gi_range own[] = {{0}, {all, 0, STRIDE}, {all, STRIDE, STRIDE}};
    const struct gi_dispatch_table_params params = {{all, (size_t)2 * STRIDE, STRIDE}, {0}};
    struct gi_program_table *programs = make_program(f, past_kernel, &program);
    struct gi_dispatch_table *table = make_table(f, programs, &params);
    struct gi_dispatch dispatch = {.label = "past", .program = program, .writes = 1};
    dispatch.bindings[0] = (struct gi_range){sum, 0, 16};
    memcpy(dispatch.grid.size, (const uint32_t[3]){1, 1, 1}, sizeof(dispatch.grid.size));
    for (uint32_t i = 0; i < 3; i++) {
        dispatch.state = own[i];
        gi_dispatch_table_record(table, &dispatch);
    }
    check(gi_buffer_write(all, f->gpu, 0, states, sizeof(states), &f->err), &f->err);
    check(gi_dispatch_table_seal(table, &f->err), &f->err);
    gi_dispatch_table_replay(table, &(struct gi_replay){.n_tokens = 1});
    check(gi_buffer_read(sum, f->gpu, 0, &found, sizeof(found), &f->err), &f->err);
    assert_int_equal(found, 111);
}

// Memory after the parameters does not matter.
TEST(equal_parameters_share_a_block)
{
    struct fixture *f = *state;
    const uint32_t words[][4] = {{1, 2, 3, 4}, {1, 2, 3, 5}, {1, 2, 4, 4}};
    const struct gi_buffer *a = make_buffer(f, 16, "a");
    struct gi_dispatch_table *table = make_table(f, make_programs(f), NULL);
    const uint32_t *found[3];
    for (uint32_t i = 0; i < 3; i++) {
        const struct gi_dispatch dispatch = {.label = "share",
                                             .bindings = {{a, 0, 16}},
                                             .params = words[i],
                                             .params_size = 3 * sizeof(words[i][0]),
                                             .grid = {.size = {1, 1, 1}}};
        gi_dispatch_table_record(table, &dispatch);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(gi_dispatch_table_at(table, i)->params_size, 16);
        found[i] = gi_dispatch_table_params(table, i);
        assert_memory_equal(found[i], words[i], 12);
        assert_int_equal(found[i][3], 0);
    }
    assert_ptr_equal(found[0], found[1]);
    assert_ptr_not_equal(found[0], found[2]);
}

TEST(record_refuses_what_the_device_cannot_do)
{
    struct fixture *f = *state;
    const struct gi_limits *limits = gi_gpu_limits(f->gpu);
    struct gi_dispatch_table *table = make_table(f, make_programs(f), NULL);
    // Only recorded, so the storage need not be there.
    const struct gi_buffer huge = {.name = 1, .size = limits->max_storage_block_size + 256};
    struct gi_dispatch dispatch = {
        .label = "large", .bindings = {{&huge, 0, huge.size}}, .grid = {.size = {1, 1, 1}}};
    struct glinfer_error *failure = gi_dispatch_table_failure(table);
    gi_dispatch_table_record(table, &dispatch);
    assert_int_equal(failure->status, GLINFER_STATUS_UNSUPPORTED);
    assert_says(failure->message, "large");
    *failure = (struct glinfer_error){0};
    dispatch.label = "wide";
    dispatch.bindings[0].size = 256;
    dispatch.grid.size[1] = limits->max_group_count[1] + 1;
    if (dispatch.grid.size[1] != 0) {
        gi_dispatch_table_record(table, &dispatch);
        assert_int_equal(failure->status, GLINFER_STATUS_UNSUPPORTED);
        assert_says(failure->message, "wide");
    }
}

//-- barriers --------------------------------------------------------------------------------------

enum {
    STORAGE = 0x2000, // GL_SHADER_STORAGE_BARRIER_BIT
    UNIFORM = 0x0004, // GL_UNIFORM_BARRIER_BIT
    COMMAND = 0x0040, // GL_COMMAND_BARRIER_BIT
};

// Records a dispatch of a slot that reads [r0, r1) and writes [w0, w1) of a buffer, in units of 256
// bytes.
static void record_slot(struct gi_dispatch_table *table, const struct gi_buffer *buffer,
                        uint32_t slot, const uint32_t unit[4], bool writes_state)
{
    const struct gi_dispatch dispatch = {.label = "access",
                                         .bindings = {{unit[3] > unit[2] ? buffer : NULL,
                                                       unit[2] * 256u, (unit[3] - unit[2]) * 256u},
                                                      {unit[1] > unit[0] ? buffer : NULL,
                                                       unit[0] * 256u, (unit[1] - unit[0]) * 256u}},
                                         .slot = slot,
                                         .writes = 1,
                                         .writes_state = writes_state,
                                         .grid = {.size = {1, 1, 1}}};
    gi_dispatch_table_record(table, &dispatch);
}

static void record_access(struct gi_dispatch_table *table, const struct gi_buffer *buffer,
                          const uint32_t unit[4], bool writes_state)
{
    record_slot(table, buffer, 0, unit, writes_state);
}

TEST(barriers_stand_where_ranges_overlap)
{
    struct fixture *f = *state;
    static const struct {
        uint32_t unit[4]; // read from, to, written from, to
        uint32_t barrier;
    } steps[] = {
        {{0, 1, 1, 2}, 0},       // the first
        {{0, 1, 2, 3}, 0},       // reads what another reads
        {{3, 4, 4, 5}, 0},       // somewhere else
        {{1, 2, 5, 6}, STORAGE}, // reads what was written
        {{1, 2, 6, 7}, 0},       // that is settled
        {{7, 8, 1, 2}, STORAGE}, // writes what was read
        {{8, 9, 1, 2}, STORAGE}, // writes what was written
        {{1, 2, 1, 2}, STORAGE}, // in place
        {{9, 10, 10, 12}, 0},    // overlap by a part:
        {{11, 13, 13, 14}, STORAGE},
    };
    const struct gi_buffer *buffer = make_buffer(f, 16 * 256, "access");
    struct gi_dispatch_table *table = make_table(f, make_programs(f), NULL);
    for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        record_access(table, buffer, steps[i].unit, false);
        if (gi_dispatch_table_barrier(table, i) != steps[i].barrier) {
            fail_msg("step %u has barrier 0x%x", i, gi_dispatch_table_barrier(table, i));
        }
    }
    assert_int_equal(gi_dispatch_table_barrier(table, gi_dispatch_table_count(table)), STORAGE);
}

static void check_state_barriers(const char *mode, uint32_t expected)
{
    static const uint32_t first[4] = {0, 1, 1, 2}, second[4] = {4, 5, 5, 6}, none[4] = {8, 9, 9, 9};
    struct fixture f;
    open_with_mode(&f, mode);
    const struct gi_buffer *buffer = make_buffer(&f, 16 * 256, "access");
    struct gi_dispatch_table *table = make_table(&f, make_programs(&f), NULL);
    record_access(table, buffer, first, false);
    record_access(table, buffer, second, true);
    record_access(table, buffer, none, false);
    record_access(table, buffer, second, true);
    assert_int_equal(gi_dispatch_table_barrier(table, 0), 0);
    assert_int_equal(gi_dispatch_table_barrier(table, 1), STORAGE); // all read step_state
    assert_int_equal(gi_dispatch_table_barrier(table, 2), expected);
    assert_int_equal(gi_dispatch_table_barrier(table, 4), expected);
    close_fixture(&f);
}

TEST(barriers_after_step_state_reach_uniforms_and_commands)
{
    check_state_barriers("direct", STORAGE | UNIFORM);
    check_state_barriers("indirect", STORAGE | UNIFORM | COMMAND);
}

// Slots have their own step_state, which the others neither read nor wait for.
TEST(ends_of_slots_run_together)
{
    struct fixture *f = *state;
    static const struct {
        uint32_t slot, unit[4];
        bool writes_state;
        uint32_t barrier;
    } steps[] = {
        {0, {0, 1, 1, 2}, false, 0},
        {1, {2, 3, 3, 4}, true, STORAGE}, // the first ran for all slots
        {2, {4, 5, 5, 6}, true, 0},
        {3, {6, 7, 7, 8}, false, 0},
        {3, {8, 9, 9, 10}, true, STORAGE | UNIFORM}, // another ran for this slot
        {1, {2, 3, 3, 4}, false, 0},                 // settled by the last barrier
        {3, {6, 7, 7, 8}, false, STORAGE | UNIFORM},
        {2, {4, 5, 5, 6}, true, 0},
        {0, {10, 11, 11, 12}, false, STORAGE | UNIFORM},
    };
    const struct gi_buffer *buffer = make_buffer(f, 16 * 256, "access");
    struct gi_dispatch_table *table = make_table(f, make_programs(f), NULL);
    for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        record_slot(table, buffer, steps[i].slot, steps[i].unit, steps[i].writes_state);
        const uint32_t found = gi_dispatch_table_barrier(table, i) & (STORAGE | UNIFORM);
        if (found != steps[i].barrier) {
            fail_msg("step %u has barrier 0x%x", i, found);
        }
    }
}

//-- timer -----------------------------------------------------------------------------------------

TEST(timer_times_each_dispatch)
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
    const struct gi_replay replay = {.n_past = 37, .n_tokens = 5, .selection.timer = timer};
    for (int round = 0; round < 2; round++) {
        gi_timer_reset(timer);
        check(gi_dispatch_table_prime(run.table, 37, 5, &f->err), &f->err);
        gi_dispatch_table_replay(run.table, &replay);
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
}

RUN_TESTS_EACH(setup_fixture, teardown_fixture, NULL, finish_test)
