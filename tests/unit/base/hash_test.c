#include "base/hash.h"
#include "tests/unit/cmocka_test.h"

static void assert_hash_text(const char *data, const char *expected)
{
    struct gi_hash hash;
    char text[33];
    gi_hash_init(&hash);
    gi_hash_add(&hash, data, strlen(data));
    gi_hash_text(&hash, text);
    assert_string_equal(text, expected);
}

// Values of MurmurHash3_x64_128 with seed 0, as other implementations print them.
TEST(hash_gives_the_known_answers)
{
    assert_hash_text("", "00000000000000000000000000000000");
    assert_hash_text("hello", "cbd8a7b341bd9b025b1e906a48ae1d19");
    assert_hash_text("hello, world", "342fac623a5ebc8e4cdcbc079642414d");
    assert_hash_text("The quick brown fox jumps over the lazy dog.",
                     "cd99481f9ee902c9695da1a38987b6e7");
}

static struct gi_hash hash_of_fields(const char *a, const char *b)
{
    struct gi_hash hash;
    gi_hash_init(&hash);
    gi_hash_add(&hash, a, strlen(a));
    gi_hash_add(&hash, b, strlen(b));
    return hash;
}

TEST(hash_tells_fields_apart)
{
    struct gi_hash ab_c = hash_of_fields("ab", "c"), a_bc = hash_of_fields("a", "bc");
    assert_memory_not_equal(&ab_c, &a_bc, sizeof(ab_c));
}

TEST(hash_depends_on_every_byte)
{
    uint8_t data[40] = {0};
    struct gi_hash zero, flipped;
    gi_hash_init(&zero);
    gi_hash_add(&zero, data, sizeof(data));
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = 1;
        gi_hash_init(&flipped);
        gi_hash_add(&flipped, data, sizeof(data));
        data[i] = 0;
        assert_int_not_equal(zero.lo, flipped.lo);
        assert_int_not_equal(zero.hi, flipped.hi);
    }
}

RUN_TESTS(NULL, NULL)
