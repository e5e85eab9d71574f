#include "base/utf8.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

#include <stdlib.h>

// Pushes bytes in pieces that end at the bits of cuts, flushes, and compares.
static void expect_stream(const char *bytes, size_t size, uint32_t cuts, const char *expected)
{
    struct gi_utf8_stream stream = {{0}, 0};
    char out[256];
    size_t n = 0, start = 0;
    for (size_t end = 1; end <= size; end++) {
        if (end == size || (cuts >> end & 1)) {
            n += gi_utf8_stream_push(&stream, bytes + start, end - start, out + n);
            start = end;
        }
    }
    n += gi_utf8_stream_flush(&stream, out + n);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(out, expected, n);
}

static void check_stream(const char *const fields[])
{
    const size_t size = strlen(fields[0]);
    for (uint32_t cuts = 0; cuts < 1u << size; cuts++) {
        expect_stream(fields[0], size, cuts, fields[1]);
    }
}

// Characters pass, and each byte that belongs to none becomes U+FFFD.
TEST(stream_gives_the_same_at_every_split)
{
    each_case("utf8.cases", "streams", check_stream);
}

TEST(stream_holds_until_the_character_is_whole)
{
    struct gi_utf8_stream stream = {{0}, 0};
    char out[32];
    assert_int_equal(gi_utf8_stream_push(&stream, "\xf0\x9f", 2, out), 0);
    assert_int_equal(gi_utf8_stream_push(&stream, "", 0, out), 0);
    assert_int_equal(gi_utf8_stream_push(&stream, "\x98", 1, out), 0);
    assert_int_equal(gi_utf8_stream_push(&stream, "\x80", 1, out), 4);
    assert_memory_equal(out, "\U0001f600", 4);
    assert_int_equal(gi_utf8_stream_flush(&stream, out), 0);
}

TEST(stream_passes_zero_bytes)
{
    struct gi_utf8_stream stream = {{0}, 0};
    char out[32];
    assert_int_equal(gi_utf8_stream_push(&stream, "a\0b", 3, out), 3);
    assert_memory_equal(out, "a\0b", 3);
}

TEST(stream_stays_in_its_room)
{
    struct gi_utf8_stream stream = {{0}, 0};
    char held[32], out[3 * (2 + 4)];
    assert_int_equal(gi_utf8_stream_push(&stream, "\xf0\x9f\x98", 3, held), 0);
    assert_int_equal(gi_utf8_stream_push(&stream, "\xff\xff", 2, out), 9);
}

static void check_repair(const char *const fields[])
{
    char out[64];
    bool has_surrogates;
    const size_t n = gi_utf8_repair(fields[0], strlen(fields[0]), out, &has_surrogates);
    assert_int_equal(n, strlen(fields[1]));
    assert_memory_equal(out, fields[1], n);
    assert_int_equal(has_surrogates, fields[2] != NULL);
}

TEST(repair_gives_characters_and_surrogates)
{
    char text[] = "\xed\xbf\xbf\xed\x9f\xbf";
    each_case("utf8.cases", "repairs", check_repair);
    gi_utf8_hide_surrogates(text, 6);
    assert_memory_equal(text, "\ue000\ud7ff", 6);
}

static void check_character(const char *const fields[])
{
    const size_t size = strtoul(fields[1], NULL, 10);
    uint32_t code = 0;
    char out[4];
    const char *at = fields[0];
    assert_int_equal(gi_utf8_decode(at, strlen(at), &code), size);
    assert_int_equal(code, strtoul(fields[2], NULL, 10));
    if (size > 0) {
        assert_int_equal(gi_utf8_encode(code, out), size);
        assert_memory_equal(out, fields[0], size);
        assert_int_equal(gi_utf8_take(&at), code);
        assert_ptr_equal(at, fields[0] + size);
    }
}

TEST(decode_takes_well_formed_characters_alone)
{
    uint32_t code;
    each_case("utf8.cases", "characters", check_character);
    assert_int_equal(gi_utf8_decode("", 0, &code), 0);
}

RUN_TESTS(NULL, NULL)
