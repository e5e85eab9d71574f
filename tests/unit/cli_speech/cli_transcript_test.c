// The texts of a transcript.
#include "cli/common/cli_utf8.h"
#include "cli/speech/cli_transcript.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>

static const struct cli_spoken tokens[] = {
    {.text = " And", .from_ms = 0, .to_ms = 320, .id = 400, .probability = 0.5F, .dtw_ms = 120},
    {.text = " so,\xC3", .from_ms = -1, .to_ms = -1, .id = 370, .probability = 0.25F, .dtw_ms = -1},
};
static const struct cli_spoken words[] = {
    {.text = " And", .from_ms = 0, .to_ms = 320, .probability = 0.5F},
    {.text = " so,", .from_ms = 320, .to_ms = 500, .probability = 0.25F},
};
static const struct cli_segment segments[] = {
    {.from_ms = 0,
     .to_ms = 2500,
     .text = " And so, \"my\" \xC3",
     .words = words,
     .n_word = 2,
     .tokens = tokens,
     .n_token = 2,
     .mean_logprob = -0.25F,
     .no_speech_probability = 0.125F},
    {.from_ms = 3723004,
     .to_ms = 360000000 + 59999,
     .text = "\xA9 <b> & --> \n1",
     .seek_ms = 30000,
     .temperature = 0.5F},
};
static const struct cli_transcript transcript = {
    .segments = segments,
    .n_segment = 2,
    .language = "en",
    .asked = "auto",
    .seconds = 62.5,
    .model = {.path = "base.bin",
              .type = "base",
              .is_multilingual = true,
              .n_vocab = 51865,
              .n_mel = 80,
              .ftype = 1,
              .audio = {1500, 512, 8, 6},
              .text = {448, 512, 8, 6}},
};

#define BAD "\xEF\xBF\xBD"

TEST(subtitles_and_tables_are_valid_whatever_is_said)
{
    static const struct {
        enum cli_transcript_format format;
        const char *ending, *text;
    } cases[] = {
        {CLI_TRANSCRIPT_TXT, "txt", " And so, \"my\" " BAD "\n" BAD " <b> & -->  1\n"},
        {CLI_TRANSCRIPT_SRT, "srt",
         "1\n00:00:00,000 --> 00:00:02,500\n And so, \"my\" " BAD "\n\n"
         "2\n01:02:03,004 --> 100:00:59,999\n" BAD " <b> & ->  1\n\n"},
        {CLI_TRANSCRIPT_VTT, "vtt",
         "WEBVTT\n\n00:00:00.000 --> 00:00:02.500\n And so, \"my\" " BAD "\n\n"
         "01:02:03.004 --> 100:00:59.999\n" BAD " &lt;b&gt; &amp; --&gt;  1\n\n"},
        {CLI_TRANSCRIPT_LRC, "lrc",
         "[by:glinfer]\n[00:00.00] And so, \"my\" " BAD "\n[62:03.00]" BAD " <b> & -->  1\n"},
        {CLI_TRANSCRIPT_CSV, "csv",
         "start,end,text\n0,2500,\" And so, \"\"my\"\" " BAD "\"\n"
         "3723004,360059999,\"" BAD " <b> & -->  1\"\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cli_bytes text = {0};
        cli_transcript_write(&transcript, cases[i].format, &text);
        assert_string_equal(text.data, cases[i].text);
        assert_string_equal(cli_transcript_ending(cases[i].format), cases[i].ending);
        cli_bytes_finish(&text);
    }
}

TEST(a_line_has_times_or_not)
{
    struct cli_bytes text = {0};
    cli_segment_write(&segments[0], true, &text);
    cli_segment_write(&segments[0], false, &text);
    assert_string_equal(text.data, "[00:00:00.000 --> 00:00:02.500]   And so, \"my\" " BAD
                                   "\n And so, \"my\" " BAD);
    cli_bytes_finish(&text);
}

// Checks that a transcript in JSON is the text when it is printed without white space.
static void check_json(enum cli_transcript_format format, const char *expected)
{
    struct cli_bytes text = {0};
    cli_transcript_write(&transcript, format, &text);
    cJSON *object = cJSON_Parse(text.data);
    cJSON_DeleteItemFromObject(object, "systeminfo");
    char *printed = cJSON_PrintUnformatted(object);
    assert_string_equal(printed, expected);
    cJSON_free(printed);
    cJSON_Delete(object);
    cli_bytes_finish(&text);
}

#define HEAD                                                                                       \
    "{\"model\":{\"type\":\"base\",\"multilingual\":true,\"vocab\":51865,"                         \
    "\"audio\":{\"ctx\":1500,\"state\":512,\"head\":8,\"layer\":6},"                               \
    "\"text\":{\"ctx\":448,\"state\":512,\"head\":8,\"layer\":6},\"mels\":80,\"ftype\":1},"        \
    "\"params\":{\"model\":\"base.bin\",\"language\":\"auto\",\"translate\":false},"               \
    "\"result\":{\"language\":\"en\"},\"transcription\":["
#define FIRST                                                                                      \
    "{\"timestamps\":{\"from\":\"00:00:00,000\",\"to\":\"00:00:02,500\"},"                         \
    "\"offsets\":{\"from\":0,\"to\":2500},\"text\":\" And so, \\\"my\\\" " BAD "\""
#define SECOND                                                                                     \
    "{\"timestamps\":{\"from\":\"01:02:03,004\",\"to\":\"100:00:59,999\"},"                        \
    "\"offsets\":{\"from\":3723004,\"to\":360059999},\"text\":\"" BAD " <b> & --> \\n1\""

TEST(json_has_the_keys_of_whisper_cli)
{
    check_json(CLI_TRANSCRIPT_JSON, HEAD FIRST "}," SECOND "}]}");
    check_json(CLI_TRANSCRIPT_JSON_FULL,
               HEAD FIRST ",\"tokens\":[{\"text\":\" And\",\"timestamps\":{\"from\":\"00:00:00,"
                          "000\",\"to\":\"00:00:00,320\"},\"offsets\":{\"from\":0,\"to\":320},"
                          "\"id\":400,\"p\":0.5,\"t_dtw\":12},{\"text\":\" so," BAD
                          "\",\"id\":370,\"p\":0.25,\"t_dtw\":-1}]}," SECOND ",\"tokens\":[]}]}");
}

static void assert_printed(cJSON *object, const char *expected)
{
    char *printed = cJSON_PrintUnformatted(object);
    assert_string_equal(printed, expected);
    cJSON_free(printed);
    cJSON_Delete(object);
}

TEST(json_for_clients_of_openai_joins_segments)
{
    // The character that the border of the segments cuts is whole again.
    assert_printed(cli_transcript_json(&transcript),
                   "{\"text\":\"And so, \\\"my\\\" \xC3\xA9 <b> & -->  1\"}");
    assert_printed(cli_transcript_json(&(struct cli_transcript){.n_segment = 0}),
                   "{\"text\":\"\"}");
}

#define LOOP "la la la la la la la la la la la la la la la la la la la la la la la"

TEST(verbose_json_has_segments_and_words)
{
    static const struct cli_segment one[] = {
        {.text = " " LOOP,
         .to_ms = 1500,
         .words = words,
         .n_word = 2,
         .tokens = tokens,
         .n_token = 2,
         .mean_logprob = -0.25F,
         .no_speech_probability = 0.125F},
        {.text = " la", .seek_ms = 1500, .from_ms = 1500, .to_ms = 1750, .temperature = 0.5F},
    };
    struct cli_transcript loop = transcript;
    loop.segments = one;
    loop.is_translation = true;
    cJSON *object = cli_transcript_verbose(&loop, true), *segment;
    cJSON *list = cJSON_GetObjectItem(object, "segments");
    double ratios[2] = {0}, *ratio = ratios;
    cJSON_ArrayForEach(segment, list)
    {
        cJSON *item = cJSON_DetachItemFromObject(segment, "compression_ratio");
        *ratio++ = strtod(item->valuestring, NULL);
        cJSON_Delete(item);
    }
    // Python's len(text) / len(zlib.compress(text)) is 4.857 and 0.2.
    assert_true(ratios[0] > 4.5 && ratios[0] < 5.2 && ratios[1] > 0.15 && ratios[1] < 0.25);
    assert_printed(cJSON_DetachItemFromObject(object, "words"),
                   "[{\"word\":\"And\",\"start\":0,\"end\":0.32,\"probability\":0.5},"
                   "{\"word\":\"so,\",\"start\":0.32,\"end\":0.5,\"probability\":0.25}]");
    assert_printed(object, "{\"task\":\"translate\",\"language\":\"english\",\"duration\":62.5,"
                           "\"text\":\"" LOOP " la\",\"segments\":[{\"id\":0,\"seek\":0,"
                           "\"start\":0,\"end\":1.5,\"text\":\" " LOOP "\",\"tokens\":[400,370],"
                           "\"temperature\":0,\"avg_logprob\":-0.25,\"no_speech_prob\":0.125},"
                           "{\"id\":1,\"seek\":150,\"start\":1.5,\"end\":1.75,\"text\":\" la\","
                           "\"tokens\":[],\"temperature\":0.5,\"avg_logprob\":0,"
                           "\"no_speech_prob\":0}]}");
}

TEST(a_segment_copies_its_event)
{
    char text[] = " And so";
    const struct glinfer_transcript_token heard[] = {
        {.id = 400, .text = text, .size = 4, .probability = 0.5F, .from_ms = 31000, .to_ms = 31200},
        {.id = 370, .text = text + 4, .size = 3, .probability = 0.25F},
    };
    const struct glinfer_transcript_word word = {
        .text_begin = 4, .text_end = 7, .from_ms = 31200, .to_ms = 31500, .probability = 0.75F};
    const struct glinfer_transcript_event event = {
        .kind = GLINFER_TRANSCRIPT_SEGMENT,
        .from_ms = 31000,
        .to_ms = 31500,
        .text = text,
        .size = 7,
        .tokens = heard,
        .n_token = 2,
        .words = &word,
        .n_word = 1,
        .average_logprob = -0.25F,
        .no_speech = 0.125F,
        .temperature = 0.5F,
    };
    struct cli_segments list = {0};
    cli_segments_add(&list, &event);
    const struct cli_segment *segment = cli_segments_add(&list, &event);
    text[1] = text[4] = 'x';
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].text, " And so");
    assert_string_equal(segment->text, " And so");
    assert_true(segment->from_ms == 31000 && segment->to_ms == 31500 && segment->seek_ms == 30000);
    assert_true(segment->temperature == 0.5F && segment->mean_logprob == -0.25F &&
                segment->no_speech_probability == 0.125F);
    assert_int_equal(segment->n_word, 1);
    assert_string_equal(segment->words[0].text, " so");
    assert_true(segment->words[0].from_ms == 31200 && segment->words[0].to_ms == 31500);
    assert_int_equal(segment->n_token, 2);
    assert_string_equal(segment->tokens[0].text, " And");
    assert_true(segment->tokens[0].id == 400 && segment->tokens[0].from_ms == 31000);
    // A token without times.
    assert_true(segment->tokens[1].id == 370 && segment->tokens[1].from_ms == -1);
    cli_segments_finish(&list);
}

TEST(a_transcript_has_the_detected_language_or_the_requested_one)
{
    assert_string_equal(cli_transcript_language("de", "auto"), "de");
    assert_string_equal(cli_transcript_language("", "fr"), "fr");
    assert_string_equal(cli_transcript_language("", "French"), "fr");
    assert_string_equal(cli_transcript_language("", "auto"), "en");
}

TEST(the_language_of_a_flag_is_a_code_or_a_name_or_auto)
{
    const char *language = NULL;
    char why[128];
    static const char *const valid[] = {"auto", "de", "DE", "Haitian Creole"};
    for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
        assert_true(cli_parse_language(valid[i], &language, why, sizeof(why)));
        assert_ptr_equal(language, valid[i]);
    }
    assert_false(cli_parse_language("klingon", &language, why, sizeof(why)));
    assert_string_equal(why, "auto, or a code or a name such as de or german");
}

TEST(the_end_of_a_text_begins_with_a_word)
{
    static const struct {
        const char *text;
        size_t width;
        const char *tail;
    } cases[] = {
        {" ask not what", 13, " ask not what"},
        {" ask not what", 11, "not what"},
        {" ask not what", 8, "not what"},
        {" ask not what", 7, "what"},
        {" ask not what", 3, "hat"}, // no word fits
        {"你好吗", 7, "好吗"},
        {"你好 ", 4, "好 "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(cli_utf8_tail(cases[i].text, strlen(cases[i].text), cases[i].width),
                            cases[i].tail);
    }
}

RUN_TESTS(NULL, NULL)
