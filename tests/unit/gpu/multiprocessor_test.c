// Where groups are to run: every way gives each of them a place of its own.
#include "gpu/device/multiprocessor.h"
#include "tests/unit/cmocka_test.h"

#include <string.h>

enum { N = 132 };

// As an H200 places them: multiprocessors of a part of it lie side by side, their numbers do not.
static void fill_order(uint32_t seen[N])
{
    for (uint32_t i = 0; i < N; i++) {
        seen[i] = i < 128 ? i % 16 * 8 + i / 16 : i;
    }
}

static void an_order_has_each_once(void **state)
{
    (void)state;
    uint32_t seen[GI_MULTIPROCESSORS + 1];
    for (uint32_t i = 0; i < GI_MULTIPROCESSORS + 1; i++) {
        seen[i] = i;
    }
    assert_true(gi_multiprocessor_is_order(seen, GI_MULTIPROCESSORS));
    assert_false(gi_multiprocessor_is_order(seen, GI_MULTIPROCESSORS + 1));
    assert_false(gi_multiprocessor_is_order(seen, 1)); // nothing to choose
    seen[7] = 3;
    assert_false(gi_multiprocessor_is_order(seen, N));
    seen[7] = GI_MULTIPROCESSORS;
    assert_false(gi_multiprocessor_is_order(seen, N));
    assert_true(gi_multiprocessor_is_order(seen, 7));
}

static void each_way_places_all_groups(void **state)
{
    (void)state;
    uint32_t seen[N], places[GI_MULTIPROCESSORS];
    fill_order(seen);
    assert_true(gi_multiprocessor_is_order(seen, N));
    for (uint32_t way = 0; way < GI_MULTIPROCESSOR_WAYS; way++) {
        bool is_placed[N] = {false};
        uint32_t n_neighbour = 0;
        gi_multiprocessor_place(seen, N, way, places);
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t place = places[seen[i]], next = places[seen[(i + 1) % N]];
            assert_in_range(place, 0, N - 1);
            assert_false(is_placed[place]);
            n_neighbour += next == (place + 1) % N;
            is_placed[place] = true;
        }
        assert_in_range(n_neighbour, N - 8, N); // in eighths they stay side by side
        for (uint32_t i = N; i < GI_MULTIPROCESSORS; i++) {
            assert_int_equal(places[i], N);
        }
    }
}

static void any_number_of_groups_is_placed(void **state)
{
    (void)state;
    const uint32_t counts[] = {2, 5, 7, 8, 30, GI_MULTIPROCESSORS};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const uint32_t n = counts[i];
        uint32_t seen[GI_MULTIPROCESSORS], places[GI_MULTIPROCESSORS];
        for (uint32_t j = 0; j < n; j++) {
            seen[j] = n < 128 ? 3 * j + 1 : j; // some numbers are nobody's
        }
        for (uint32_t way = 0; way < GI_MULTIPROCESSOR_WAYS; way++) {
            bool is_placed[GI_MULTIPROCESSORS] = {false};
            gi_multiprocessor_place(seen, n, way, places);
            for (uint32_t j = 0; j < n; j++) {
                assert_in_range(places[seen[j]], 0, n - 1);
                assert_false(is_placed[places[seen[j]]]);
                is_placed[places[seen[j]]] = true;
            }
            assert_int_equal(places[0], n < 128 ? n : places[0]);
        }
    }
}

static void no_two_ways_are_the_same(void **state)
{
    (void)state;
    uint32_t seen[N], places[GI_MULTIPROCESSOR_WAYS][GI_MULTIPROCESSORS];
    fill_order(seen);
    for (uint32_t way = 0; way < GI_MULTIPROCESSOR_WAYS; way++) {
        gi_multiprocessor_place(seen, N, way, places[way]);
        for (uint32_t i = 0; i < way; i++) {
            assert_memory_not_equal(places[i], places[way], sizeof(places[0]));
        }
    }
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(places[0][seen[i]], i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_has_each_once),
        cmocka_unit_test(each_way_places_all_groups),
        cmocka_unit_test(any_number_of_groups_is_placed),
        cmocka_unit_test(no_two_ways_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
