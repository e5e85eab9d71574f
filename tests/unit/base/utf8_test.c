#include "base/utf8.h"
#include "tests/unit/cmocka_test.h"

#define REPLACEMENT "\xef\xbf\xbd"

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

// Characters pass, and each byte that belongs to none becomes U+FFFD.
TEST(stream_gives_the_same_at_every_split)
{
    static const char *const cases[][2] = {
        {"a\u00e9\u20ac\U0001f600z", "a\u00e9\u20ac\U0001f600z"},
        {"\u00a0\u07ff\u0800\uffff", "\u00a0\u07ff\u0800\uffff"},
        {"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"},
        {"\U00010000\U0010ffff", "\U00010000\U0010ffff"},
        // bytes that start nothing
        {"\x80", REPLACEMENT},
        {"a\xff\xfe"
         "b",
         "a" REPLACEMENT REPLACEMENT "b"},
        {"\xf5\xf8", REPLACEMENT REPLACEMENT},
        // overlong forms
        {"\xc0\x80", REPLACEMENT REPLACEMENT},
        {"\xc1\xbf", REPLACEMENT REPLACEMENT},
        {"\xe0\x9f\xbf", REPLACEMENT REPLACEMENT REPLACEMENT},
        {"\xf0\x8f\xbf\xbf", REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT},
        // surrogates, and codes past the last one
        {"\xed\xa0\x80", REPLACEMENT REPLACEMENT REPLACEMENT},
        {"\xed\xbf\xbf", REPLACEMENT REPLACEMENT REPLACEMENT},
        {"\xf4\x90\x80\x80", REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT},
        // a cut character is replaced once
        {"\xe2\x82"
         "A",
         REPLACEMENT "A"},
        {"\xf0\x9f\x98\xe2\x82\xac", REPLACEMENT "\u20ac"},
        {"\xc3\xc3\xa9", REPLACEMENT "\u00e9"},
        {"\xf0\x9f\x98", REPLACEMENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const size_t size = strlen(cases[i][0]);
        for (uint32_t cuts = 0; cuts < 1u << size; cuts++) {
            expect_stream(cases[i][0], size, cuts, cases[i][1]);
        }
    }
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

TEST(repair_gives_characters_and_surrogates)
{
    static const struct {
        const char *bytes, *expected;
        bool has_surrogates;
    } cases[] = {
        {"a\xff"
         "b",
         "a" REPLACEMENT "b", false},
        {"\xe2\x82", REPLACEMENT REPLACEMENT, false},
        {"\xf4\x90\x80\x80", REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT, false},
        {"\xf8\x88\x80\x80\x80", REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT,
         false},
        // overlong forms are shortened
        {"\xc1\x81", "A", false},
        {"\xe0\x83\xa9", "\u00e9", false},
        {"\xf0\x82\x82\xac", "\u20ac", false},
        {"\xed\xa0\x80!", "\xed\xa0\x80!", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[64];
        bool has_surrogates;
        const size_t n =
            gi_utf8_repair(cases[i].bytes, strlen(cases[i].bytes), out, &has_surrogates);
        assert_int_equal(n, strlen(cases[i].expected));
        assert_memory_equal(out, cases[i].expected, n);
        assert_int_equal(has_surrogates, cases[i].has_surrogates);
    }
    char text[] = "\xed\xbf\xbf\xed\x9f\xbf";
    gi_utf8_hide_surrogates(text, 6);
    assert_memory_equal(text, "\ue000\ud7ff", 6);
}

TEST(decode_takes_well_formed_characters_alone)
{
    static const struct {
        const char *text;
        size_t size;
        uint32_t code;
    } cases[] = {
        {"a", 1, 'a'},
        {"\u00e9b", 2, 0xe9},
        {"\ud7ff", 3, 0xd7ff},
        {"\ue000", 3, 0xe000},
        {"\U0010ffff", 4, 0x10ffff},
        {"\x80", 0, 0},
        {"\xc3", 0, 0},
        {"\xc0\x80", 0, 0},
        {"\xc1\xbf", 0, 0},
        {"\xe0\x9f\xbf", 0, 0},
        {"\xed\xa0\x80", 0, 0},
        {"\xf0\x8f\xbf\xbf", 0, 0},
        {"\xf4\x90\x80\x80", 0, 0},
        {"\xf5\x80\x80\x80", 0, 0},
        {"\xe2\x82 ", 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t code = 0;
        assert_int_equal(gi_utf8_decode(cases[i].text, strlen(cases[i].text), &code),
                         cases[i].size);
        assert_int_equal(code, cases[i].code);
        char out[4];
        const char *at = cases[i].text;
        if (cases[i].size > 0) {
            assert_int_equal(gi_utf8_encode(code, out), cases[i].size);
            assert_memory_equal(out, cases[i].text, cases[i].size);
            assert_int_equal(gi_utf8_take(&at), code);
            assert_ptr_equal(at, cases[i].text + cases[i].size);
        }
    }
    uint32_t code;
    assert_int_equal(gi_utf8_decode("", 0, &code), 0);
}

RUN_TESTS(NULL, NULL)
