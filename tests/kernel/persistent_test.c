// Tables that one dispatch walks through: the results of ordinary replays, waits that end,
// refusals. Exit status 77 where there is no device.
#include "base/clock.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "persistent/persistent_check.h"
#include "tests/kernel/fixture/gpu_fixture.h"
#include "tests/unit/wrap.h"

#include <stdio.h>
#include <string.h>

enum {
    GROUP_SIZE = 64,
    N_GROUP = 24, // of an entry
    N = GROUP_SIZE * N_GROUP,
    N_STEP = 7,
    MAX_MIX = 44, // more than a walk has in its text
    MAX_SPINS = 1 << 17,
};

struct test {
    struct fixture *fixture;
    struct gi_gpu *gpu; // the fixture's
    struct gi_program_table *programs;
    uint32_t n_split;      // of the entries that are recorded
    uint32_t mix, advance; // programs
    uint32_t told;         // mix, as if its values had tags
    struct gi_buffer *data, *state;
    bool is_software;
    struct glinfer_error err;
};

// Every element comes from one that another group wrote; `own` must begin anew for each group, as a
// program's variables do, and what is done ahead must be done for the group that comes.
static const char mix_kernel[] =
    "#include \"lib/common.glsl\"\n"
    "#include \"lib/step_state.glsl\"\n"
    "layout(local_size_x = WG_SIZE) in;\n"
    "layout(std140, binding = 0) uniform Params {\n"
    "    uint turn, factor;\n"
    "    float half_way;\n"
    "#ifdef OTHER_KERNEL\n" // fields that the parameters of these dispatches have no room for
    "    uint a, b, c, d, e, f;\n"
    "#endif\n"
    "} params;\n"
    "layout(std430, binding = 0) restrict writeonly buffer Dst { uint dst[]; };\n"
    "layout(std430, binding = 1) restrict readonly buffer Source { uint source[]; };\n"
    "shared uint kept[WG_SIZE];\n"
    "uint own = 1u;\n"
    "uint begun;\n"
    "#define STAGE_PREFETCH\n"
    "void prefetch()\n"
    "{\n"
    "    begun = gl_WorkGroupID.x + params.turn;\n"
    "}\n"
    "void main()\n"
    "{\n"
    "#ifndef STAGE\n"
    "    prefetch();\n"
    "#endif\n"
    "    begun -= gl_WorkGroupID.x + params.turn;\n"
    "    uint n = gl_NumWorkGroups.x * gl_NumWorkGroups.y * uint(WG_SIZE);\n"
    "    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;\n"
    "    uint at = group * uint(WG_SIZE) + gl_LocalInvocationIndex;\n"
    "    own += source[(at + params.turn) % n] * params.factor;\n"
    "#ifdef OTHER_KERNEL\n"
    "    own += params.f;\n"
    "#endif\n"
    "    kept[gl_LocalInvocationIndex] = own + state.n_past + begun;\n"
    "    barrier();\n"
    "    dst[at] = kept[uint(WG_SIZE) - 1u - gl_LocalInvocationIndex] + uint(params.half_way * "
    "2.0);\n"
    "}\n";

static const char advance_kernel[] =
    "#include \"lib/common.glsl\"\n"
    "#define STEP_STATE_WRITTEN\n"
    "#include \"lib/step_state.glsl\"\n"
    "layout(local_size_x = WG_SIZE) in;\n"
    "void main()\n"
    "{\n"
    "    if (gl_LocalInvocationIndex == 0u) {\n"
    "        state.n_past += state.n_tokens;\n"
    "        state.done = state.n_past >= state.max_steps ? 1u : 0u;\n"
    "    }\n"
    "}\n";

static int setup(void **state)
{
    static struct test t;
    const struct gi_define told[] = {
        {"WG_SIZE", GROUP_SIZE}, {"CONSUMES", 1}, {"PUBLISHES", GI_PUBLISH_ALL}};
    setup_fixture(state);
    struct fixture *f = *state;
    t.fixture = f;
    t.gpu = f->gpu;
    t.is_software = gi_gpu_platform(f->gpu)->is_software;
    t.programs = make_programs(f);
    t.mix = request(f, t.programs, "mix", mix_kernel);
    t.advance = request(f, t.programs, "advance", advance_kernel);
    check(
        gi_program_table_request_source(t.programs, "told", mix_kernel, told, 3, &t.told, &t.err) &&
            gi_program_table_build(t.programs, NULL, NULL, &t.err),
        &t.err);
    t.data = make_buffer(f, 2 * N * sizeof(uint32_t), "data");
    t.state = make_buffer(f, sizeof(struct gi_step_state), "state");
    *state = &t;
    return 0;
}

static int teardown(void **state)
{
    *state = ((struct test *)*state)->fixture;
    return teardown_fixture(state);
}

// Half 0 of the data to half 1 and back, by two layouts of groups, then the next step.
// With labels of their own the dispatches of a table are as many stages.
static struct gi_dispatch_table *record_labelled(struct test *f, uint32_t n_mix, bool has_labels)
{
    static char labels[MAX_MIX][16];
    const struct gi_dispatch_table_params params = {
        .state = {f->state, 0, sizeof(struct gi_step_state)}};
    const uint64_t half = N * sizeof(uint32_t);
    struct gi_dispatch_table *table =
        gi_dispatch_table_create(f->gpu, f->programs, &params, &f->err);
    check(table != NULL, &f->err);
    for (uint32_t i = 0; i < n_mix; i++) {
        snprintf(labels[i], sizeof(labels[i]), "%u", i);
        const struct {
            uint32_t turn, factor;
            float half_way;
            uint32_t padding;
        } block = {GROUP_SIZE * (i + 1) + 1, 3 + i / 2 % 2, 1.5f, 0};
        const bool is_first = i % 4 < 2;
        const struct gi_dispatch dispatch = {
            .label = has_labels ? labels[i]
                     : is_first ? "first"
                                : "second",
            .program = f->mix,
            .bindings = {{f->data, (i + 1) % 2 * half, half}, {f->data, i % 2 * half, half}},
            .writes = 1,
            .wg_size = GROUP_SIZE,
            .n_split = f->n_split,
            .params = &block,
            .params_size = sizeof(block),
            .grid = {.size = {is_first ? N_GROUP : N_GROUP / 4, is_first ? 1 : 4, 1}},
        };
        gi_dispatch_table_record(table, &dispatch);
    }
    const struct gi_dispatch last = {.label = "advance",
                                     .program = f->advance,
                                     .bindings = {{0}, {0}, {f->state, 0, f->state->size}},
                                     .writes = 4,
                                     .wg_size = GROUP_SIZE,
                                     .writes_state = true,
                                     .grid = {.size = {1, 1, 1}}};
    gi_dispatch_table_record(table, &last);
    return table;
}

static struct gi_dispatch_table *record(struct test *f)
{
    return record_labelled(f, 4, false);
}

static void reset(struct test *f, uint32_t max_steps)
{
    uint32_t data[2 * N] = {0};
    const struct gi_step_state state = {.n_tokens = 1, .max_steps = max_steps};
    for (uint32_t i = 0; i < N; i++) {
        data[i] = i * 2654435761u;
    }
    check(gi_buffer_write(f->data, f->gpu, 0, data, sizeof(data), &f->err) &&
              gi_buffer_write(f->state, f->gpu, 0, &state, sizeof(state), &f->err),
          &f->err);
}

static void read_data(struct test *f, uint32_t data[2 * N])
{
    check(gi_buffer_read(f->data, f->gpu, 0, data, 2 * N * sizeof(uint32_t), &f->err), &f->err);
}

// Replays a table n times by many dispatches and reads what they leave.
static void replay_table(struct test *f, struct gi_dispatch_table *table, uint32_t n,
                         uint32_t data[2 * N])
{
    check(gi_dispatch_table_seal(table, &f->err), &f->err);
    reset(f, UINT32_MAX);
    for (uint32_t i = 0; i < n; i++) {
        gi_dispatch_table_replay(table, &(struct gi_replay){.n_past = i, .n_tokens = 1});
    }
    read_data(f, data);
    gi_dispatch_table_destroy(table);
}

static void replay_ordinary(struct test *f, uint32_t n, uint32_t data[2 * N])
{
    replay_table(f, record(f), n, data);
}

// Takes the table.
static struct gi_persistent *create(struct test *f, struct gi_dispatch_table *table,
                                    uint32_t n_groups, uint32_t max_spins)
{
    const struct gi_persistent_params params = {GROUP_SIZE, n_groups, max_spins};
    struct gi_persistent *persistent =
        gi_persistent_create(f->gpu, table, f->programs, &params, &f->err);
    gi_dispatch_table_destroy(table);
    check(persistent != NULL, &f->err);
    return persistent;
}

static struct gi_persistent *make(struct test *f, struct gi_dispatch_table *table,
                                  uint32_t n_groups, uint32_t max_spins)
{
    struct gi_persistent *persistent = create(f, table, n_groups, max_spins);
    check(gi_persistent_build(persistent, NULL, NULL, &f->err), &f->err);
    return persistent;
}

// Submits steps, at most `most` a dispatch.
static void run_steps(struct test *f, struct gi_persistent *persistent, uint32_t n, uint32_t most)
{
    const struct gi_chain chain = {.n_tokens = 1, .n_steps = n, .step_ns = 1, .budget_ns = most};
    check(gi_executor_submit(gi_persistent_executor(persistent), &chain, &f->err), &f->err);
}

static uint32_t read_fault(struct test *f, const struct gi_persistent *persistent)
{
    const struct gi_range range =
        gi_executor_fault(gi_persistent_executor((struct gi_persistent *)persistent));
    uint32_t fault = 0;
    check(gi_buffer_read(range.buffer, f->gpu, range.offset, &fault, sizeof(fault), &f->err),
          &f->err);
    return fault;
}

// Takes the executor. Expects of n steps, `most` a dispatch, what replays left.
static void expect_steps(struct test *f, struct gi_persistent *persistent, uint32_t n,
                         uint32_t most, const uint32_t expected[2 * N])
{
    static uint32_t found[2 * N];
    reset(f, UINT32_MAX);
    run_steps(f, persistent, n, most);
    read_data(f, found);
    assert_int_equal(read_fault(f, persistent), 0);
    assert_memory_equal(found, expected, sizeof(found));
    gi_persistent_destroy(persistent);
}

TEST(one_dispatch_does_what_replays_do)
{
    struct test *f = *state;
    static uint32_t expected[2 * N];
    const uint32_t counts[] = {1, 5, 2 * N_GROUP};
    replay_ordinary(f, N_STEP, expected);
    for (int i = 0; i < (f->is_software ? 1 : 3); i++) {
        // 3 steps, and on, in a second dispatch.
        expect_steps(f, make(f, record(f), counts[i], MAX_SPINS), N_STEP, 3, expected);
    }
}

// Tables that repeat themselves and tables that do not are walked in different ways.
TEST(any_table_can_be_walked)
{
    struct test *f = *state;
    static uint32_t expected[2 * N];
    const uint32_t counts[] = {12, MAX_MIX};
    for (int i = 0; i < 2; i++) {
        const bool has_labels = counts[i] == MAX_MIX;
        replay_table(f, record_labelled(f, counts[i], has_labels), 2, expected);
        struct gi_dispatch_table *table = record_labelled(f, counts[i], has_labels);
        expect_steps(f, make(f, table, 1, MAX_SPINS), 2, 2, expected);
    }
}

// Entries of few groups between two of many, each reading what the one before it writes.
static struct gi_dispatch_table *record_told(struct test *f, uint32_t n_few,
                                             const struct gi_buffer *end)
{
    const struct gi_dispatch_table_params params = {
        .state = {f->state, 0, sizeof(struct gi_step_state)}};
    const uint64_t half = N * sizeof(uint32_t);
    const uint32_t block[4] = {0};
    struct gi_dispatch_table *table =
        gi_dispatch_table_create(f->gpu, f->programs, &params, &f->err);
    check(table != NULL, &f->err);
    for (uint32_t i = 0; i < n_few + 2; i++) {
        const bool is_few = i > 0 && i <= n_few;
        struct gi_dispatch dispatch = {
            .label = is_few ? "few" : "many",
            .program = f->told,
            .bindings = {{f->data, (i + 1) % 2 * half, half}, {f->data, i % 2 * half, half}},
            .writes = 1,
            .wg_size = GROUP_SIZE,
            .publishes = GI_PUBLISH_ALL,
            .consumes = true,
            .params = block,
            .params_size = sizeof(block),
            .grid = {.size = {is_few ? N_GROUP / 4 : N_GROUP, 1, 1}},
        };
        if (i == n_few + 1) {
            dispatch.bindings[0] = (struct gi_range){end, 0, half};
        }
        gi_dispatch_table_record(table, &dispatch);
    }
    return table;
}

// Returns true if the last entry consumes its input by tags.
static bool takes_at_end(struct test *f, uint32_t n_few, const struct gi_buffer *end)
{
    struct gi_persistent *persistent = create(f, record_told(f, n_few, end), 1, MAX_SPINS);
    uint32_t capability;
    const char *release = NULL, *arrive = NULL;
    const char *text = gi_persistent_text(persistent, &capability);
    for (const char *at = text; (at = strstr(at, "grid_release();")) != NULL; at++) {
        release = at;
    }
    for (const char *at = text; (at = strstr(at, "grid_arrive();")) != NULL; at++) {
        arrive = at;
    }
    const bool is_consumed = release != NULL && release > arrive;
    gi_persistent_destroy(persistent);
    return is_consumed;
}

// Groups without work do not wait: tags tell only so much of what is on its way from what is old.
TEST(groups_that_may_be_far_ahead_have_a_barrier)
{
    struct test *f = *state;
    struct gi_buffer end;
    check(gi_buffer_init(&end, f->gpu, N * sizeof(uint32_t), "end", &f->err), &f->err);
    assert_true(takes_at_end(f, 6, &end));
    assert_false(takes_at_end(f, 12, &end));
    gi_buffer_finish(&end, f->gpu);
}

// Twice three entries: half 0 to half 1, that to a quarter of `aside`, and half 1 back, after
// aside. The entry between the others reads half 1, or half 0 if it is odd.
static struct gi_dispatch_table *record_beside(struct test *f, const struct gi_buffer *aside,
                                               bool works_beside, bool is_odd)
{
    static const char *const labels[] = {"there", "aside", "back"};
    const struct gi_dispatch_table_params params = {
        .state = {f->state, 0, sizeof(struct gi_step_state)}};
    const uint64_t half = N * sizeof(uint32_t);
    const struct gi_range halves[] = {{f->data, 0, half}, {f->data, half, half}};
    const struct gi_range quarter = {aside, 0, half / 4};
    const uint32_t block[4] = {1, 3};
    struct gi_dispatch_table *table =
        gi_dispatch_table_create(f->gpu, f->programs, &params, &f->err);
    check(table != NULL, &f->err);
    for (uint32_t i = 0; i < 6; i++) {
        const bool is_aside = i % 3 == 1;
        const struct gi_dispatch dispatch = {
            .label = labels[i % 3],
            .program = f->told,
            .bindings = {is_aside ? quarter : halves[i % 3 == 0],
                         halves[is_aside && is_odd ? 0 : i % 3 > 0],
                         {0},
                         i % 3 == 2 ? quarter : (struct gi_range){0}},
            .writes = 1,
            .wg_size = GROUP_SIZE,
            .publishes = GI_PUBLISH_ALL,
            .consumes = true,
            .works_beside = is_aside && works_beside,
            .params = block,
            .params_size = sizeof(block),
            .grid = {.size = {is_aside ? N_GROUP / 4 : N_GROUP, 1, 1}},
        };
        gi_dispatch_table_record(table, &dispatch);
    }
    return table;
}

// An entry of few groups works beside the next one if both read the same.
TEST(an_entry_works_beside_one_that_reads_the_same)
{
    struct test *f = *state;
    static uint32_t expected[2 * N];
    struct gi_buffer aside;
    check(gi_buffer_init(&aside, f->gpu, N, "aside", &f->err), &f->err);
    for (uint32_t i = 0; i < 4; i++) {
        const bool works_beside = i % 2 > 0, is_odd = i / 2 > 0;
        uint32_t capability;
        replay_table(f, record_beside(f, &aside, works_beside, is_odd), N_STEP, expected);
        struct gi_persistent *persistent =
            make(f, record_beside(f, &aside, works_beside, is_odd), 1, MAX_SPINS);
        const char *text = gi_persistent_text(persistent, &capability);
        assert_int_equal(strstr(text, "grid_join()") != NULL, works_beside && !is_odd);
        expect_steps(f, persistent, N_STEP, 3, expected);
    }
    gi_buffer_finish(&aside, f->gpu);
}

// An entry from one eighth of `data` to another. An entry after one that works beside it reads what
// that writes, too.
struct row {
    uint32_t to, from;
    bool works_beside;
    uint32_t n_groups;
};

// Makes the program of a table of rows, n_times over. With is_switched each entry has a stage of
// its own. With has_start an entry comes first that publishes only a part of the first row's
// source.
static struct gi_persistent *make_rows(struct test *f, const struct row *rows, uint32_t n_rows,
                                       uint32_t n_times, bool is_switched, bool has_start)
{
    static char labels[8 * MAX_MIX][16];
    const struct gi_dispatch_table_params params = {
        .state = {f->state, 0, sizeof(struct gi_step_state)}};
    const uint64_t size = N / 4 * sizeof(uint32_t);
    const uint32_t block[4] = {0};
    struct gi_dispatch_table *table =
        gi_dispatch_table_create(f->gpu, f->programs, &params, &f->err);
    check(table != NULL, &f->err);
    if (has_start) {
        const struct gi_dispatch start = {
            .label = "start",
            .program = f->told,
            .bindings = {{f->data, rows->from * size, size}, {f->data, rows->to * size, size}},
            .writes = 1,
            .wg_size = GROUP_SIZE,
            .publishes = GI_PUBLISH_SOME,
            .params = block,
            .params_size = sizeof(block),
            .grid = {.size = {rows->n_groups, 1, 1}},
        };
        gi_dispatch_table_record(table, &start);
    }
    for (uint32_t i = 0; i < n_rows * n_times; i++) {
        const struct row *row = &rows[i % n_rows], *last = &rows[(i + n_rows - 1) % n_rows];
        snprintf(labels[i], sizeof(labels[i]), "%u", is_switched ? i : i % n_rows);
        struct gi_dispatch dispatch = {
            .label = labels[i],
            .program = f->told,
            .bindings = {{f->data, row->to * size, size}, {f->data, row->from * size, size}},
            .writes = 1,
            .wg_size = GROUP_SIZE,
            .publishes = GI_PUBLISH_ALL,
            .consumes = true,
            .works_beside = row->works_beside,
            .params = block,
            .params_size = sizeof(block),
            .grid = {.size = {row->n_groups, 1, 1}},
        };
        if (i > 0 && last->works_beside) {
            dispatch.bindings[3] = (struct gi_range){f->data, last->to * size, size};
        }
        gi_dispatch_table_record(table, &dispatch);
    }
    return create(f, table, 1, MAX_SPINS);
}

// Returns true if the program of rows has n_tag tags.
static bool has_tags(struct test *f, const struct row *rows, uint32_t n_rows, uint32_t n_times,
                     bool is_switched, uint32_t n_tag)
{
    struct gi_persistent *persistent = make_rows(f, rows, n_rows, n_times, is_switched, false);
    char expected[32];
    uint32_t capability;
    snprintf(expected, sizeof(expected), "#define GRID_N_TAG %uu\n", n_tag);
    const bool is_found = strstr(gi_persistent_text(persistent, &capability), expected) != NULL;
    gi_persistent_destroy(persistent);
    return is_found;
}

// A value must not have the tag of an older one that a group may find in its place.
TEST(tags_distinguish_values_where_entries_work_beside_others)
{
    enum { X, Y, Z, T, WIDE };
    // Groups of the entry from X to WIDE may be five edges ahead: before its first row wrote X, the
    // eighth did three edges earlier, and itself eight edges earlier.
    static const struct row wide[] = {
        {X, Z, false, 2}, {T, X, true, 1},  {WIDE, X, false, 8}, {Y, WIDE, false, 2},
        {T, Y, true, 1},  {Z, Y, false, 2}, {WIDE, Z, false, 8}, {X, WIDE, false, 2},
        {Y, X, false, 2}, {T, Y, true, 1},  {Z, Y, false, 2},
    };
    assert_true(has_tags(*state, wide, 11, 4, false, 7));
    // X is written every six edges, and every eight barriers.
    static const struct row rows[] = {
        {Y, X, false, 8}, {T, Y, true, 1},  {Z, Y, false, 8}, {T, Z, true, 1},
        {Y, Z, false, 8}, {Z, Y, false, 8}, {Y, Z, false, 8}, {X, Y, false, 8},
    };
    assert_true(has_tags(*state, rows, 8, 6, false, 8));
    assert_true(has_tags(*state, rows, 8, 6, true, 7));
}

static uint32_t count_in(struct gi_persistent *persistent, const char *words)
{
    uint32_t n = 0, capability;
    const char *text = gi_persistent_text(persistent, &capability);
    while ((text = strstr(text, words)) != NULL) {
        text += strlen(words);
        n++;
    }
    return n;
}

// An entry that works beside another consumes x whoever wrote before where it writes: of these six,
// twice over, the first alone waits at a barrier.
TEST(entries_that_work_beside_others_take_turns_at_a_place)
{
    enum { X, Y, Z, T };
    static const struct row rows[] = {
        {T, X, true, 1}, {Y, X, false, 8}, {Z, Y, false, 8},
        {T, Z, true, 2}, {Y, Z, false, 8}, {X, Y, false, 8},
    };
    struct gi_persistent *persistent = make_rows(*state, rows, 6, 2, false, true);
    assert_int_equal(count_in(persistent, "    grid_arrive();\n    begin_s"), 1);
    gi_persistent_destroy(persistent);
}

// A layer is in the text once, though its first entry comes after a barrier in the first layer
// alone.
TEST(a_walk_repeats_a_layer_that_begins_with_an_entry_beside_another)
{
    enum { X, Y, Z, T };
    static const struct row rows[] = {{T, X, true, 1}, {Y, X, false, 8}, {X, Y, false, 8}};
    struct gi_persistent *persistent = make_rows(*state, rows, 3, 4, false, true);
    assert_int_equal(count_in(persistent, "    all_s2();"), 1);
    gi_persistent_destroy(persistent);
}

TEST(a_dispatch_ends_when_done)
{
    struct test *f = *state;
    static uint32_t expected[2 * N], found[2 * N];
    replay_ordinary(f, 4, expected);
    struct gi_persistent *persistent = make(f, record(f), 1, MAX_SPINS);
    reset(f, 4);
    run_steps(f, persistent, N_STEP, N_STEP);
    run_steps(f, persistent, N_STEP, N_STEP);
    read_data(f, found);
    assert_memory_equal(found, expected, sizeof(found));
    gi_persistent_destroy(persistent);
}

// Without a cache there is nothing to load, however often one asks.
TEST(a_program_is_looked_for_before_it_is_built)
{
    struct test *f = *state;
    static uint32_t expected[2 * N];
    bool is_loaded = true;
    uint32_t capability = 1;
    replay_ordinary(f, N_STEP, expected);
    struct gi_persistent *persistent = create(f, record(f), 1, MAX_SPINS);
    for (int i = 0; i < 2; i++) {
        check(gi_persistent_load(persistent, &is_loaded, &f->err), &f->err);
        assert_false(is_loaded);
    }
    assert_says(gi_persistent_text(persistent, &capability), "grid_walk.glsl");
    assert_int_equal(capability, 0);
    check(gi_persistent_build(persistent, NULL, NULL, &f->err), &f->err);
    expect_steps(f, persistent, N_STEP, N_STEP, expected);
}

static struct gi_hash key_of(struct test *f, uint32_t n_mix, uint32_t n_groups)
{
    struct gi_persistent *persistent =
        create(f, record_labelled(f, n_mix, false), n_groups, MAX_SPINS);
    const struct gi_hash key = *gi_persistent_key(persistent);
    gi_persistent_destroy(persistent);
    return key;
}

TEST(a_key_tells_tables_apart)
{
    struct test *f = *state;
    const struct gi_hash key = key_of(f, 4, 1), same = key_of(f, 4, 1), other = key_of(f, 8, 1);
    assert_memory_equal(&key, &same, sizeof(key));
    assert_memory_not_equal(&key, &other, sizeof(key));
    if (!f->is_software) {
        const struct gi_hash wide = key_of(f, 4, 2);
        assert_memory_not_equal(&key, &wide, sizeof(key));
    }
}

// The program lives as long as one of several sessions that share it.
TEST(tables_of_one_key_share_a_program)
{
    struct test *f = *state;
    static uint32_t expected[2 * N];
    bool is_loaded = true;
    replay_ordinary(f, N_STEP, expected);
    struct gi_persistent *first = make(f, record(f), 1, MAX_SPINS);
    struct gi_persistent *other = create(f, record_labelled(f, 8, false), 1, MAX_SPINS);
    gi_persistent_share(other, first);
    check(gi_persistent_load(other, &is_loaded, &f->err), &f->err);
    assert_false(is_loaded);
    gi_persistent_destroy(other);
    struct gi_persistent *second = create(f, record(f), 1, MAX_SPINS);
    gi_persistent_share(second, first);
    gi_persistent_destroy(first);
    check(gi_persistent_load(second, &is_loaded, &f->err), &f->err);
    assert_true(is_loaded);
    check(gi_persistent_build(second, NULL, NULL, &f->err), &f->err);
    expect_steps(f, second, N_STEP, 3, expected);
}

// Entries whose groups share results, as one stage and as two.
TEST(groups_of_a_stage_tell_each_other_where_no_other_writes)
{
    struct test *f = *state;
    const char *const expected[] = {"#define GRID_TELLS 1\n", "#define GRID_TELLS 0\n"};
    f->n_split = 2;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t capability;
        struct gi_persistent *persistent =
            create(f, record_labelled(f, 2 * (i + 1), false), 1, MAX_SPINS);
        assert_says(gi_persistent_text(persistent, &capability), expected[i]);
        gi_persistent_destroy(persistent);
    }
    f->n_split = 0;
}

TEST(a_dispatch_takes_what_its_budget_holds)
{
    struct test *f = *state;
    struct gi_persistent *persistent = make(f, record(f), 1, MAX_SPINS);
    const uint32_t most = gi_persistent_max_steps(persistent, 1, UINT64_MAX);
    assert_in_range(most, 2, 1000);
    assert_int_equal(gi_persistent_max_steps(persistent, 60, 100), 1);
    assert_int_equal(gi_persistent_max_steps(persistent, 50, 100), 2);
    assert_int_equal(gi_persistent_max_steps(persistent, 101, 100), 1);
    assert_int_equal(gi_persistent_max_steps(persistent, 0, UINT64_MAX), 1); // not known
    gi_persistent_destroy(persistent);
}

TEST(a_fault_stops_all_that_follows)
{
    struct test *f = *state;
    static uint32_t before[2 * N], found[2 * N];
    struct gi_persistent *persistent = make(f, record(f), 1, 0);
    reset(f, UINT32_MAX);
    run_steps(f, persistent, 1, 1);
    assert_int_equal(read_fault(f, persistent), 1);
    read_data(f, before);
    run_steps(f, persistent, N_STEP, N_STEP);
    read_data(f, found);
    assert_memory_equal(found, before, sizeof(found));
    gi_persistent_destroy(persistent);
}

static void expect_refusal(struct test *f, uint32_t group_size, uint32_t n_groups,
                           const char *words)
{
    const struct gi_persistent_params params = {group_size, n_groups, MAX_SPINS};
    struct gi_dispatch_table *table = record(f);
    assert_fails(gi_persistent_create(f->gpu, table, f->programs, &params, &f->err), f->err,
                 UNSUPPORTED, words);
    gi_dispatch_table_destroy(table);
}

// More groups than run together are found out, and in no more than seconds.
TEST(groups_that_cannot_run_together_are_refused_or_left_out)
{
    struct test *f = *state;
    const uint64_t start = gi_clock_ns();
    if (f->is_software) {
        expect_refusal(f, GROUP_SIZE, 2, "");
    } else {
        struct gi_persistent *persistent = make(f, record(f), 60000, MAX_SPINS);
        assert_in_range(gi_persistent_groups(persistent), 2, 59999);
        gi_persistent_destroy(persistent);
    }
    assert_true(gi_clock_ns() - start < 20000000000ull);
}

TEST(groups_of_another_size_are_refused)
{
    expect_refusal(*state, 2 * GROUP_SIZE, 1,
                   "works in groups of 64, and all of one dispatch have 128");
    assert_says(((struct test *)*state)->err.message, "mix");
}

//-- trying out ------------------------------------------------------------------------------------

enum { SLOW_NS = 20000000 };

// The clock of a trial, which no load of the machine changes; 0: the real one.
static uint64_t trial_ns;

WRAP(uint64_t, gi_clock_ns, void)
{
    return trial_ns > 0 ? trial_ns : __real_gi_clock_ns();
}

struct slow {
    struct gi_executor base;
    uint32_t n_steps; // that it was given
};

static bool submit_slowly(struct gi_executor *self, const struct gi_chain *chain,
                          struct glinfer_error *err)
{
    (void)err;
    trial_ns += (uint64_t)chain->n_steps * SLOW_NS;
    ((struct slow *)self)->n_steps += chain->n_steps;
    return true;
}

// It is begun in three places: the first steps, the tokens, the times.
TEST(a_trial_that_takes_too_long_is_no_verdict)
{
    static const struct gi_executor_class class = {.submit = submit_slowly};
    struct test *f = *state;
    struct slow slow = {{&class}, 0};
    struct gi_buffer ring;
    struct gi_runner runner;
    struct gi_verdict verdict = {.kind = GI_VERDICT_NONE};
    check(gi_buffer_init(&ring, f->gpu, GI_RING_SLOTS * sizeof(struct gi_ring_entry), "ring",
                         &f->err) &&
              gi_runner_init(&runner, f->gpu,
                             (struct gi_range){f->state, 0, sizeof(struct gi_step_state)},
                             (struct gi_range){&ring, 0, ring.size}, &f->err),
          &f->err);
    runner.budget_ns = UINT64_C(1000000000);
    struct gi_persistent *persistent = make(f, record(f), 1, MAX_SPINS);
    struct gi_persistent_check trial = {.runner = &runner,
                                        .multi = &slow.base,
                                        .persistent = persistent,
                                        .n_free = GI_PERSISTENT_TRIED_STEPS,
                                        .n_vocab = 1};
    trial_ns = gi_clock_ns();
    trial.end_ns = trial_ns + SLOW_NS;
    assert_fails(gi_persistent_check(&trial, true, &verdict, &f->err), f->err, UNSUPPORTED, "");
    assert_int_equal(verdict.kind, GI_VERDICT_NONE);
    assert_int_equal(slow.n_steps, 1);
    trial.end_ns = 0; // a patient caller gets a verdict
    check(gi_persistent_check(&trial, true, &verdict, &f->err), &f->err);
    assert_int_equal(verdict.kind, GI_VERDICT_FASTER);
    trial_ns = 0;
    gi_persistent_destroy(persistent);
    gi_runner_finish(&runner);
    gi_buffer_finish(&ring, f->gpu);
}

RUN_TESTS(setup, teardown)
