// Tests the way back from times of joined stretches to times of the stream.
#include "speech/stream/time_map.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>

enum { S = 16000 };

// 2 s of speech at 10 s, 0.2 s of silence, 1 s of speech at 20 s.
static struct gi_time_map map;

static int prepare(void **state)
{
    (void)state;
    return gi_time_map_add(&map, (struct gi_time_piece){0, 10 * S, 2 * S}, NULL) &&
                   gi_time_map_add(&map, (struct gi_time_piece){2 * S + S / 5, 20 * S, S}, NULL)
               ? 0
               : 1;
}

static int finish(void **state)
{
    (void)state;
    gi_time_map_finish(&map);
    return 0;
}

TEST(a_sound_without_pieces_is_the_stream)
{
    const struct gi_time_map none = {0};
    assert_int_equal(gi_time_map_ms(&none, 0, false, 30), 0);
    assert_int_equal(gi_time_map_ms(&none, 1234, true, 30), 12340);
}

TEST(times_within_pieces_are_shifted)
{
    assert_int_equal(gi_time_map_ms(&map, 0, false, 0), 10000);
    assert_int_equal(gi_time_map_ms(&map, 150, false, 30), 11500);
    assert_int_equal(gi_time_map_ms(&map, 150, true, 30), 11500);
    assert_int_equal(gi_time_map_ms(&map, 270, true, 30), 20500);
    assert_int_equal(gi_time_map_ms(&map, 9999, true, 30), 21000);
    assert_int_equal(gi_time_map_ms(&map, 9999, false, 30), 21000);
}

TEST(times_between_pieces_belong_to_one)
{
    assert_int_equal(gi_time_map_ms(&map, 210, true, 0), 12000);
    assert_int_equal(gi_time_map_ms(&map, 210, false, 0), 20000);
    assert_int_equal(gi_time_map_ms(&map, 220, true, 0), 12000);
    assert_int_equal(gi_time_map_ms(&map, 230, true, 0), 20100);
    assert_int_equal(gi_time_map_ms(&map, 230, true, 30), 12000); // nearly there
    assert_int_equal(gi_time_map_ms(&map, 190, false, 30), 20000);
    assert_int_equal(gi_time_map_ms(&map, 190, false, 0), 11900);
}

TEST(words_end_with_their_piece)
{
    static const struct {
        uint64_t from, to, from_ms, to_ms;
    } cases[] = {
        {50, 100, 10500, 11000},  {150, 205, 11500, 12000}, {150, 230, 11500, 12000},
        {205, 230, 20000, 20100}, {240, 260, 20200, 20400}, {310, 400, 20900, 21000},
        {400, 400, 21000, 21000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t from, to;
        gi_time_map_word(&map, cases[i].from, cases[i].to, &from, &to);
        assert_int_equal(from, cases[i].from_ms);
        assert_int_equal(to, cases[i].to_ms);
    }
    const struct gi_time_map none = {0};
    uint64_t from, to;
    gi_time_map_word(&none, 5, 9, &from, &to);
    assert_int_equal(from, 50);
    assert_int_equal(to, 90);
}

RUN_TESTS(prepare, finish)
