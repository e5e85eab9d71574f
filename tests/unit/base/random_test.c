#include "base/random.h"
#include "tests/unit/cmocka_test.h"

// Known answers published with the generator (Random123, kat_vectors, philox4x32 with 10 rounds).
static const struct {
    uint32_t counter[4], key[2], answer[4];
} known[] = {
    {{0, 0, 0, 0},                                     {0, 0}, {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}},
    {{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF},
     {0xFFFFFFFF, 0xFFFFFFFF},
     {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}                                                          },
    {{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344},
     {0xA4093822, 0x299F31D0},
     {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}                                                          },
};

static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        uint32_t out[4];
        gi_philox(known[i].key[0] | (uint64_t)known[i].key[1] << 32, known[i].counter, out);
        assert_memory_equal(out, known[i].answer, sizeof(out));
    }
}

static void philox_works_in_place(void **state)
{
    (void)state;
    uint32_t words[4] = {0};
    gi_philox(0, words, words);
    assert_memory_equal(words, known[0].answer, sizeof(words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(philox_works_in_place),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
