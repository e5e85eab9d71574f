// engine/model/arena.h on a device made up here: how many bytes it binds and allocates at once.
#include "engine/model/arena.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/wrap.h"

#define MIB (UINT64_C(1) << 20)

static struct {
    struct gi_limits limits;
    bool is_joined; // buffers
    struct gi_log log;
    uint64_t most; // bytes of a buffer that there is memory for
    uint32_t n_alive, n_refused;
} fake;

WRAP(const struct gi_limits *, gi_gpu_limits, const struct gi_gpu *gpu)
{
    (void)gpu;
    return &fake.limits;
}

WRAP(bool, gi_gpu_joins_ranges, const struct gi_gpu *gpu)
{
    (void)gpu;
    return fake.is_joined;
}

WRAP(const struct gi_log *, gi_gpu_log, const struct gi_gpu *gpu)
{
    (void)gpu;
    return &fake.log;
}

WRAP(bool, gi_buffer_init_paged, struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t size,
     uint64_t together, const char *label, struct glinfer_error *err)
{
    (void)gpu;
    (void)together;
    *buffer = (struct gi_buffer){0};
    if (size > fake.most) {
        fake.n_refused++;
        return gi_error_set(err, GLINFER_STATUS_NO_MEMORY, "%s", label);
    }
    *buffer = (struct gi_buffer){.name = ++fake.n_alive, .size = size};
    return true;
}

WRAP(void, gi_buffer_finish, struct gi_buffer *buffer, struct gi_gpu *gpu)
{
    (void)gpu;
    fake.n_alive--;
    *buffer = (struct gi_buffer){0};
}

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    fake.limits.max_storage_block_size = INT32_MAX;
    fake.limits.storage_alignment = 256;
    fake.is_joined = true;
    fake.most = UINT64_MAX;
    return 0;
}

//-- sizes -----------------------------------------------------------------------------------------

TEST(buffers_are_as_large_as_makes_them_few)
{
    const struct gi_limits *limits = &fake.limits;
    assert_int_equal(gi_arena_buffer_size(limits, 900 * MIB, 3), 512 * MIB);
    assert_int_equal(gi_arena_buffer_size(limits, 3 * 512 * MIB, 3), 512 * MIB);
    assert_int_equal(gi_arena_buffer_size(limits, 3 * 512 * MIB + 1, 3), 1024 * MIB);
    assert_int_equal(gi_arena_buffer_size(limits, 8000 * MIB, 0), 512 * MIB);
}

TEST(no_buffer_is_larger_than_what_is_bound)
{
    assert_int_equal(gi_arena_buffer_size(&fake.limits, 5000 * MIB, 1), 2048 * MIB - 256);
    fake.limits.max_storage_block_size = INT64_MAX;
    assert_int_equal(gi_arena_buffer_size(&fake.limits, 5000 * MIB, 1), GI_MAX_BUFFER_SIZE);
    fake.limits.max_storage_block_size = 128 * MIB;
    assert_int_equal(gi_arena_buffer_size(&fake.limits, 5000 * MIB, 1), 512 * MIB);
}

//-- places ----------------------------------------------------------------------------------------

enum { N = 40 };

// Ranges of 125 MiB and some each, 5,000 MiB together.
static void place(struct gi_arena *arena, struct gi_range ranges[N])
{
    uint64_t sizes[N];
    const struct gi_arena_request request = {
        .sizes = sizes, .n = N, .n_wanted = 3, .label = "weights"};
    for (uint32_t i = 0; i < N; i++) {
        sizes[i] = 125 * MIB + i;
    }
    assert_int_equal(gi_arena_total(&request, NULL), N * 125 * MIB + (N - 1) * 256);
    must_do(gi_arena_place(arena, NULL, &request, ranges, &err));
}

// Ranges follow one another, each in one buffer, none over its end.
static void check_places(const struct gi_range ranges[N])
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < N; i++) {
        const bool is_next = i > 0 && ranges[i].buffer == ranges[i - 1].buffer;
        end = is_next ? end : 0;
        assert_true(is_next || i == 0 || ranges[i].buffer == ranges[i - 1].buffer + 1);
        assert_true(ranges[i].offset == (end + 255) / 256 * 256);
        end = ranges[i].offset + ranges[i].size;
        assert_true(end <= ranges[i].buffer->size);
        assert_int_equal(ranges[i].size, 125 * MIB + i);
    }
}

TEST(ranges_follow_one_another_in_few_buffers)
{
    struct gi_arena arena;
    struct gi_range ranges[N];
    place(&arena, ranges);
    check_places(ranges);
    assert_int_equal(arena.n_buffers, 3);
    gi_arena_finish(&arena, NULL);
    assert_int_equal(fake.n_alive, 0);
}

// Llama-3.1-8B: what is alike in 32 layers, with its scales, and the embeddings and the output.
TEST(ranges_of_a_kind_lie_in_one_buffer)
{
    enum { N_KIND = 4, N_LAYER = 32, N_RANGE = N_KIND * N_LAYER + 2 };
    static const uint64_t kind_sizes[] = {14155776, 9453568, 66060288, 33054720, 558170112};
    uint64_t sizes[N_RANGE];
    uint32_t kinds[N_RANGE];
    struct gi_arena arena;
    struct gi_range ranges[N_RANGE];
    const struct gi_arena_request request = {.sizes = sizes,
                                             .kinds = kinds,
                                             .n = N_RANGE,
                                             .n_kind = N_KIND + 1,
                                             .n_wanted = 3,
                                             .label = "weights"};
    for (uint32_t i = 0; i < N_RANGE; i++) {
        kinds[i] = i < N_KIND * N_LAYER ? i % N_KIND : N_KIND;
        sizes[i] = kind_sizes[kinds[i]];
    }
    must_do(gi_arena_place(&arena, NULL, &request, ranges, &err));
    assert_int_equal(arena.n_buffers, 3);
    uint64_t ends[3] = {0};
    for (uint32_t i = 0; i < N_RANGE; i++) {
        assert_ptr_equal(ranges[i].buffer, ranges[i < N_KIND ? i : i - N_KIND].buffer);
        ends[ranges[i].buffer - arena.buffers] += ranges[i].size;
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(arena.buffers[i].size, ends[i]); // sizes are multiples of 256
    }
    gi_arena_finish(&arena, NULL);
    assert_int_equal(fake.n_alive, 0);
}

// More than a buffer holds: the rest goes where there is room.
TEST(a_kind_may_be_larger_than_a_buffer)
{
    const uint64_t sizes[] = {300 * MIB, 300 * MIB, 300 * MIB, 200 * MIB};
    const uint32_t kinds[] = {1, 1, 1, 0};
    const struct gi_arena_request request = {
        .sizes = sizes, .kinds = kinds, .n = 4, .n_kind = 2, .n_wanted = 3, .label = "weights"};
    struct gi_arena arena;
    struct gi_range ranges[4];
    must_do(gi_arena_place(&arena, NULL, &request, ranges, &err));
    assert_int_equal(arena.n_buffers, 3);
    assert_ptr_equal(ranges[3].buffer, &arena.buffers[0]);
    assert_int_equal(ranges[3].offset, 300 * MIB);
    gi_arena_finish(&arena, NULL);
}

TEST(buffers_are_small_where_nothing_joins_them)
{
    struct gi_arena arena;
    struct gi_range ranges[N];
    fake.is_joined = false;
    place(&arena, ranges);
    check_places(ranges);
    assert_int_equal(arena.n_buffers, 10);
    gi_arena_finish(&arena, NULL);
    assert_int_equal(fake.n_alive, 0);
}

TEST(smaller_buffers_are_taken_where_large_ones_are_refused)
{
    struct gi_arena arena;
    struct gi_range ranges[N];
    fake.most = 1000 * MIB;
    place(&arena, ranges);
    check_places(ranges);
    assert_int_equal(fake.n_refused, 1);
    assert_int_equal(arena.n_buffers, 10);
    assert_int_equal(fake.n_alive, 10);
    gi_arena_finish(&arena, NULL);
    assert_int_equal(fake.n_alive, 0);
}

TEST(what_has_no_room_at_all_is_said)
{
    struct gi_arena arena;
    struct gi_range range;
    const uint64_t size = 300 * MIB;
    const struct gi_arena_request request = {
        .sizes = &size, .n = 1, .n_wanted = 1, .label = "session"};
    struct glinfer_error err = {0};
    fake.most = 100 * MIB;
    assert_fails(gi_arena_place(&arena, NULL, &request, &range, &err), err, NO_MEMORY, "");
    assert_string_equal(err.message, "session");
    gi_arena_finish(&arena, NULL);
    assert_int_equal(fake.n_alive, 0);
}

RUN_TESTS_EACH(NULL, NULL, setup, NULL)
