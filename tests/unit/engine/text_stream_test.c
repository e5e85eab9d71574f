#include "engine/answer/text_stream.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>

// Pushes pieces and returns all that came out, the rest included.
static void stream(const char *const *pieces, size_t n, const char *const *stop, size_t n_stop,
                   char *out, bool *is_stopped)
{
    struct gi_text_stream text;
    size_t used = 0;
    assert_true(gi_text_stream_init(&text, stop, n_stop, 64, NULL));
    for (size_t i = 0; i < n; i++) {
        const struct gi_text bytes = {pieces[i], strlen(pieces[i])};
        const struct gi_text shown = gi_text_stream_push(&text, bytes);
        memcpy(out + used, shown.data, shown.size);
        used += shown.size;
    }
    *is_stopped = text.is_stopped;
    const struct gi_text rest = gi_text_stream_flush(&text);
    memcpy(out + used, rest.data, rest.size);
    out[used + rest.size] = 0;
    gi_text_stream_finish(&text);
}

TEST(text_without_stops_passes_through)
{
    const char *const pieces[] = {"Hello", ",", "", " world"};
    char out[256];
    bool is_stopped;
    stream(pieces, 4, NULL, 0, out, &is_stopped);
    assert_string_equal(out, "Hello, world");
    assert_false(is_stopped);
}

TEST(half_a_character_is_held_back)
{
    struct gi_text_stream text;
    assert_true(gi_text_stream_init(&text, NULL, 0, 8, NULL));
    assert_int_equal(gi_text_stream_push(&text, (struct gi_text){"a\xe2\x82", 3}).size, 1);
    const struct gi_text shown = gi_text_stream_push(&text, (struct gi_text){"\xac!", 2});
    assert_int_equal(shown.size, 4);
    assert_memory_equal(shown.data, "\xe2\x82\xac!", 4);
    gi_text_stream_finish(&text);
}

TEST(a_stop_string_ends_the_text_before_it)
{
    const char *const stop[] = {"User:", "END"};
    const char *const cases[][3] = {
        {"fine Us", "er", ": no"},
        {"fine E", "N", "D"},
        {"fine ", "END", "END"},
    };
    for (size_t i = 0; i < 3; i++) {
        char out[256];
        bool is_stopped;
        stream(cases[i], 3, stop, 2, out, &is_stopped);
        assert_string_equal(out, "fine ");
        assert_true(is_stopped);
    }
}

TEST(the_start_of_a_stop_string_is_released_when_it_is_none)
{
    const char *const stop[] = {"aab"};
    const char *const pieces[] = {"a", "a", "a", "a", "c", "aa"};
    char out[256];
    bool is_stopped;
    stream(pieces, 6, stop, 1, out, &is_stopped);
    assert_string_equal(out, "aaaacaa");
    assert_false(is_stopped);
}

TEST(an_empty_stop_string_stops_nothing)
{
    const char *const stop[] = {""};
    const char *const pieces[] = {"text"};
    char out[256];
    bool is_stopped;
    stream(pieces, 1, stop, 1, out, &is_stopped);
    assert_string_equal(out, "text");
    assert_false(is_stopped);
}

RUN_TESTS(NULL, NULL)
