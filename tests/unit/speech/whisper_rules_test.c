// Special tokens, masks, windows and segments of Whisper's decoder.
#include "speech/whisper_rules.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <stdlib.h>

enum { ENGLISH = 51864, ENGLISH_TIME = 50363, TEXT = 383, MAX_TOKENS = 100 };

// Tokens are written as numbers of text tokens, timestamps in units of 20 ms, and END.
#define T(units) (-1 - (units))
enum { END = 10000 };

struct decoded {
    struct gi_whisper_ids ids;
    struct gi_whisper_window window;
    enum gi_whisper_progress progress;
};
#define DECODED __attribute__((cleanup(release))) struct decoded

static void release(struct decoded *d)
{
    gi_whisper_finish(&d->window);
}

static void begin(struct decoded *d, uint32_t n_vocab, uint32_t seek, uint32_t end)
{
    assert_true(gi_whisper_ids_init(&d->ids, n_vocab));
    d->window = (struct gi_whisper_window){
        .ids = &d->ids, .seek = seek, .end = end, .max_tokens = MAX_TOKENS};
    d->progress = GI_WHISPER_CONTINUES;
    gi_whisper_begin(&d->window);
}

static bool allows(const struct gi_whisper_mask *mask, const struct gi_whisper_ids *ids,
                   uint32_t id)
{
    return id < ids->end    ? mask->has_text
           : id == ids->end ? mask->has_end
                            : id >= mask->time_begin && id < mask->time_end;
}

static void push_id(struct decoded *d, uint32_t id)
{
    const struct gi_whisper_mask mask = gi_whisper_next_mask(&d->window);
    const struct gi_whisper_token token = {
        .id = id, .time = id > d->ids.time ? id : d->ids.time, .logprob = -0.5F};
    assert_int_equal(d->progress, GI_WHISPER_CONTINUES);
    assert_true(allows(&mask, &d->ids, id) || d->window.without_times);
    must_do(gi_whisper_push(&d->window, token, &d->progress, &err));
}

static void push(struct decoded *d, const int *tokens, size_t n)
{
    for (size_t i = 0; i < n && tokens[i] != 0; i++) {
        if (tokens[i] < 0) {
            push_id(d, d->ids.time + (uint32_t)(-1 - tokens[i]));
        } else if (tokens[i] == END) {
            push_id(d, d->ids.end);
        }
        for (int j = 0; tokens[i] > 0 && tokens[i] != END && j < tokens[i]; j++) {
            push_id(d, TEXT + (uint32_t)j);
        }
    }
}

//-- vocabulary --------------------------------------------------------------------------------

TEST(ids_follow_from_the_size_of_the_vocabulary)
{
    // tiny.en to medium.en; tiny to large-v2; large-v3 and turbo
    static const struct gi_whisper_ids expected[] = {
        {51864, 50256, 50257, 50258, 0, 50357, 50358, 50359, 50360, 50361, 50362, 50363},
        {51865, 50257, 50258, 50259, 99, 50358, 50359, 50360, 50361, 50362, 50363, 50364},
        {51866, 50257, 50258, 50259, 100, 50359, 50360, 50361, 50362, 50363, 50364, 50365},
    };
    for (size_t i = 0; i < 3; i++) {
        struct gi_whisper_ids ids;
        assert_true(gi_whisper_ids_init(&ids, expected[i].n_vocab));
        assert_memory_equal(&ids, &expected[i], sizeof(ids));
    }
}

TEST(other_sizes_of_the_vocabulary_are_refused)
{
    static const uint32_t sizes[] = {0, 50257, 51863, 51867, UINT32_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct gi_whisper_ids ids;
        assert_false(gi_whisper_ids_init(&ids, sizes[i]));
    }
}

TEST(languages_are_in_the_order_of_their_tokens)
{
    assert_string_equal(gi_whisper_language(0), "en");
    assert_string_equal(gi_whisper_language(2), "de");
    assert_string_equal(gi_whisper_language(98), "su");
    assert_string_equal(gi_whisper_language(99), "yue"); // large-v3 alone
    assert_null(gi_whisper_language(100));
    assert_null(gi_whisper_language(UINT32_MAX));
    assert_string_equal(gi_whisper_language_name(99), "cantonese");
    assert_null(gi_whisper_language_name(100));
    assert_int_equal(gi_whisper_find_language("de"), 2);
    assert_int_equal(gi_whisper_find_language("German"), 2);
    assert_int_equal(gi_whisper_find_language("haitian creole"), 80);
    assert_int_equal(gi_whisper_find_language("germ"), -1);
    assert_int_equal(gi_whisper_find_language(""), -1);
}

//-- masks -------------------------------------------------------------------------------------

TEST(tokens_that_may_follow)
{
    static const struct {
        int tokens[6];
        bool without_times, has_text, has_end, has_blank;
        uint32_t time_begin, time_end; // units of 20 ms
    } cases[] = {
        {{0}, false, true, false, false, 0, 51},
        {{0}, true, true, false, false, 0, 0},
        {{3}, false, true, true, true, 0, 1501},
        {{3}, true, true, true, true, 0, 0},
        {{T(0)}, false, true, true, true, 0, 0},
        {{T(50)}, false, true, true, true, 50, 50},
        {{T(0), 2}, false, true, true, true, 0, 1501},
        {{T(50), 2}, false, true, true, true, 50, 1501},
        {{T(0), 2, T(100)}, false, false, true, false, 100, 1501},
        {{T(0), 2, T(0)}, false, false, true, false, 0, 1501},
        {{T(0), 2, T(100), T(100)}, false, true, true, true, 100, 100},
        {{T(0), 2, T(100), T(120)}, false, true, true, true, 120, 120},
        {{T(0), 2, T(100), T(120), 1}, false, true, true, true, 120, 1501},
        {{T(0), 2, T(1400), T(1450), 1}, false, true, true, true, 1450, 1501},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        DECODED d = {0};
        begin(&d, ENGLISH, 0, 9000);
        d.window.without_times = cases[i].without_times;
        push(&d, cases[i].tokens, 6);
        const struct gi_whisper_mask mask = gi_whisper_next_mask(&d.window);
        assert_int_equal(mask.has_text, cases[i].has_text);
        assert_int_equal(mask.has_end, cases[i].has_end);
        assert_int_equal(mask.has_blank, cases[i].has_blank);
        assert_int_equal(mask.time_begin, ENGLISH_TIME + cases[i].time_begin);
        assert_int_equal(mask.time_end, ENGLISH_TIME + cases[i].time_end);
    }
}

TEST(timestamps_near_the_end_of_the_sound_are_the_last)
{
    static const struct {
        uint32_t seek, end, last; // units of 20 ms
    } cases[] = {{0, 211, 101}, {0, 210, 100}, {0, 3000, 1495}, {2000, 2500, 245},
                 {0, 10, 1},    {500, 400, 1}, {0, 9000, 4495}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t is_last = 0; is_last < 2 && cases[i].last <= 1500; is_last++) {
            DECODED d = {0};
            begin(&d, ENGLISH, cases[i].seek, cases[i].end);
            assert_int_equal(gi_whisper_last_time(&d.window), ENGLISH_TIME + cases[i].last);
            const int tokens[] = {1, T((int)(cases[i].last - 1 + is_last))};
            push(&d, tokens, 2);
            assert_int_equal(d.progress, is_last ? GI_WHISPER_COMPLETE : GI_WHISPER_CONTINUES);
        }
    }
}

//-- windows and segments ----------------------------------------------------------------------

struct segment {
    size_t n_tokens; // 0: after the last
    uint32_t from, to;
};

static void expect_segments(const struct gi_whisper_window *window, const struct segment *expected)
{
    size_t at = 0, i = 0;
    struct gi_whisper_segment segment;
    for (; gi_whisper_next_segment(window, &at, &segment); i++) {
        assert_int_equal(segment.end - segment.begin, expected[i].n_tokens);
        assert_int_equal(segment.from, expected[i].from);
        assert_int_equal(segment.to, expected[i].to);
        assert_true(segment.end <= window->n_result && at >= segment.end);
    }
    assert_int_equal(expected[i].n_tokens, 0);
    assert_int_equal(at, window->n_result);
}

// Windows of spoken clips, decoded greedily by whisper.cpp 1.8.5 (flash attention off) with
// Whisper tiny.en (51864) and base (51865): tokens, the start of the next window, segments in
// frames of 10 ms. Sentences spoken by flite and espeak; jfk is the clip of whisper.cpp.
static const struct {
    const char *clip;
    uint32_t n_vocab, seek, end;
    int tokens[16];
    size_t n_result;
    uint32_t n_frames;
    struct segment segments[6];
} windows[] = {
    {"s1, 2 s", 51864, 0, 211, {T(0), 6, T(100), END}, 8, 211, {{8, 0, 200}}},
    {"s1, 2 s", 51865, 0, 211, {T(0), 6, T(100), END}, 8, 211, {{8, 0, 200}}},
    {"s3, 3 s", 51864, 0, 326, {T(0), 10, T(150), END}, 12, 326, {{12, 0, 300}}},
    {"music", 51864, 0, 599, {T(0), 5, T(129), END}, 7, 599, {{7, 0, 258}}},
    {"10 s of silence", 51864, 0, 999, {T(0), 7, T(500)}, 9, 999, {{9, 0, 1000}}},
    {"0.4 s", 51864, 0, 39, {T(0), 7, T(500)}, 9, 39, {{9, 0, 1000}}},
    {"two sentences with a gap",
     51864,
     0,
     1428,
     {T(0), 11, T(250), T(600), 8, T(750)},
     23,
     1428,
     {{13, 0, 500}, {9, 1200, 1500}}},
    {"jfk",
     51864,
     0,
     1099,
     {T(0), 14, T(400), T(400), 9, T(550)},
     27,
     1099,
     {{16, 0, 800}, {10, 800, 1100}}},
    {"German",
     51865,
     0,
     607,
     {T(0), 5, T(100), T(100), 13, T(300)},
     22,
     607,
     {{7, 0, 200}, {14, 200, 600}}},
    {"70 s, first window",
     51864,
     0,
     6999,
     {T(0), 21, T(315), T(315), 27, T(730), T(785), 30, T(1150), T(1200), END},
     85,
     2400,
     {{23, 0, 630}, {28, 630, 1460}, {31, 1570, 2300}}},
    {"70 s, second window",
     51864,
     2400,
     6999,
     {T(0), 24, T(550), T(600), 40, T(1150), T(1200), 16, T(1400), T(1450), END},
     87,
     2900,
     {{26, 2400, 3500}, {41, 3600, 4700}, {17, 4800, 5200}}},
    {"70 s, third window",
     51864,
     5300,
     6999,
     {T(0), 10, T(150), T(150), 18, T(450), T(450), 19, T(750), T(750), 5, T(850)},
     60,
     1699,
     {{12, 5300, 5600}, {19, 5600, 6200}, {20, 6200, 6800}, {6, 6800, 7000}}},
};

TEST(windows_of_clips_end_as_in_whisper_cpp)
{
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        DECODED d = {0};
        begin(&d, windows[i].n_vocab, windows[i].seek, windows[i].end);
        push(&d, windows[i].tokens, 16);
        assert_int_equal(d.progress, GI_WHISPER_COMPLETE);
        assert_int_equal(d.window.n_result, windows[i].n_result);
        assert_int_equal(d.window.n_frames, windows[i].n_frames);
        expect_segments(&d.window, windows[i].segments);
    }
}

// Windows that no clip has.
static const struct {
    uint32_t end, max_tokens;
    bool without_times;
    int tokens[8];
    enum gi_whisper_progress progress;
    size_t n_result;
    uint32_t n_frames;
    struct segment segments[2];
} rules[] = {
    // The end without a timestamp: fine if nothing follows the window.
    {9000, 9, false, {3, END}, GI_WHISPER_FAILED, 0, 3000, {{0}}},
    {3010, 9, false, {3, END}, GI_WHISPER_COMPLETE, 4, 3000, {{4, 0, 3000}}},
    {3011, 9, false, {3, END}, GI_WHISPER_FAILED, 0, 3000, {{0}}},
    {9000, 9, true, {3, END}, GI_WHISPER_COMPLETE, 4, 3000, {{4, 0, 3000}}},
    // <|0.00|> alone moves nothing.
    {9000, 9, false, {T(0), 2, T(0), T(0), END}, GI_WHISPER_FAILED, 0, 3000, {{0}}},
    // Text after the last timestamp is decoded again in the next window.
    {9000, 9, false, {T(0), 2, T(100), T(100), 2, END}, GI_WHISPER_COMPLETE, 5, 200, {{4, 0, 200}}},
    // A single timestamp: the rest of the window is silent.
    {9000, 9, false, {T(0), 2, T(100), END}, GI_WHISPER_COMPLETE, 4, 3000, {{4, 0, 200}}},
    // Too many tokens: fine after half of the window.
    {9000, 4, false, {T(0), 3}, GI_WHISPER_FAILED, 0, 3000, {{0}}},
    {9000, 4, false, {T(0), 2, T(749)}, GI_WHISPER_FAILED, 4, 1498, {{4, 0, 1498}}},
    {9000, 4, false, {T(0), 2, T(750)}, GI_WHISPER_COMPLETE, 4, 3000, {{4, 0, 1500}}},
    {9000, 5, false, {T(0), 2, T(750), T(750)}, GI_WHISPER_COMPLETE, 5, 1500, {{4, 0, 1500}}},
    // A timestamp at the end of the sound ends the window, less than 100 ms early at most.
    {210, 9, false, {T(0), 2, T(99)}, GI_WHISPER_CONTINUES, 4, 198, {{4, 0, 198}}},
    {210, 9, false, {T(0), 2, T(100)}, GI_WHISPER_COMPLETE, 4, 210, {{4, 0, 200}}},
};

TEST(windows_end_by_the_rules)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        DECODED d = {0};
        begin(&d, ENGLISH, 0, rules[i].end);
        d.window.max_tokens = rules[i].max_tokens;
        d.window.without_times = rules[i].without_times;
        push(&d, rules[i].tokens, 8);
        assert_int_equal(d.progress, rules[i].progress);
        assert_int_equal(d.window.n_result, rules[i].n_result);
        assert_int_equal(d.window.n_frames, rules[i].n_frames);
        expect_segments(&d.window, rules[i].segments);
    }
}

TEST(times_that_run_backwards_fail)
{
    DECODED d = {0};
    begin(&d, ENGLISH, 0, 9000);
    push(&d, (const int[]){T(0), 2, T(100), T(100), 2}, 5);
    const struct gi_whisper_token token = {.id = ENGLISH_TIME + 99, .time = ENGLISH_TIME + 99};
    must_do(gi_whisper_push(&d.window, token, &d.progress, &err));
    assert_int_equal(d.progress, GI_WHISPER_FAILED);
}

TEST(a_window_can_begin_again)
{
    DECODED d = {0};
    begin(&d, ENGLISH, 0, 9000);
    push(&d, (const int[]){T(0), 2, T(100), END}, 4);
    gi_whisper_begin(&d.window);
    assert_int_equal(gi_whisper_next_mask(&d.window).time_end, ENGLISH_TIME + 51);
    size_t at = 0;
    struct gi_whisper_segment segment;
    assert_false(gi_whisper_next_segment(&d.window, &at, &segment));
    assert_true(isinf(gi_whisper_average(&d.window)));
}

TEST(averages_and_entropies)
{
    static const struct {
        size_t n; // tokens, whose ids are i % n_different
        uint32_t n_different;
        double entropy;
    } cases[] = {
        {4, 1, 0}, {4, 2, 0.693147}, {8, 8, 2.079442}, {64, 64, 3.465736}, {40, 2, 0.693147}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        DECODED d = {0};
        begin(&d, ENGLISH, 0, 1000);
        d.window.without_times = true;
        for (uint32_t j = 0; j < cases[i].n - 1; j++) {
            push_id(&d, j % cases[i].n_different);
        }
        d.window.max_tokens = (uint32_t)cases[i].n;
        push_id(&d, (uint32_t)(cases[i].n - 1) % cases[i].n_different);
        d.window.n_result = d.window.count;
        assert_float_equal(gi_whisper_average(&d.window), -0.5, 1e-6);
        assert_float_equal(gi_whisper_entropy(&d.window), cases[i].entropy, 1e-5);
    }
}

RUN_TESTS(NULL, NULL)
