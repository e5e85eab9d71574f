#include "base/index.h"
#include "tests/unit/cmocka_test.h"

// Numbers with equal hashes are told apart by their index.
TEST(indices_are_found_by_their_hash)
{
    struct gi_index index = {0};
    uint32_t step = 0;
    assert_int_equal(gi_index_next(&index, 7, &step), GI_INDEX_END);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            assert_true(gi_index_add(&index, i % 100, i, "a test", NULL));
        }
        for (uint32_t hash = 0; hash < 101; hash++) {
            uint32_t n = 0, found;
            step = 0;
            while ((found = gi_index_next(&index, hash, &step)) != GI_INDEX_END) {
                assert_int_equal(found % 100, hash);
                n++;
            }
            assert_int_equal(n, hash < 100 ? 10 : 0);
        }
        gi_index_clear(&index);
        step = 0;
        assert_int_equal(gi_index_next(&index, 7, &step), GI_INDEX_END);
    }
    gi_index_finish(&index);
}

RUN_TESTS(NULL, NULL)
