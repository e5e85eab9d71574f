// Wyoming events: bytes to events and back, wrong lines, and the sound of a client.
#include "cli/common/cli_json_read.h"
#include "cli/speech/cli_wyoming_sound.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>

// Checks that the reader finds an event with a type, and with data that print as `data`.
static void next_is(struct cli_wyoming_reader *reader, const char *type, const char *data,
                    struct cli_wyoming_event *event)
{
    struct glinfer_error err;
    assert_int_equal(cli_wyoming_reader_next(reader, event, &err), CLI_WYOMING_EVENT);
    assert_string_equal(event->type, type);
    char *text = cJSON_PrintUnformatted(event->data);
    assert_string_equal(text, data);
    cJSON_free(text);
}

static const char stream[] =
    "{\"type\":\"describe\"}\n"
    "{\"type\":\"transcribe\",\"data\":{\"name\":\"base\",\"language\":\"en\"}}\n"
    "{\"type\":\"audio-start\",\"data\":{\"rate\":1},\"data_length\":37}\n"
    "{\"rate\":16000,\"width\":2,\"channels\":1}"
    "{\"type\":\"audio-chunk\",\"data_length\":null,\"payload_length\":4}\n"
    "\n}{\n"
    "{\"type\":\"audio-stop\",\"data\":null,\"payload_length\":0}\r\n";

static void check_stream(size_t step)
{
    struct cli_wyoming_reader reader = {0};
    struct cli_wyoming_event event;
    struct glinfer_error err;
    char seen[256] = "";
    int n_seen = 0;
    for (size_t at = 0; at < sizeof(stream) - 1; at += step) {
        const size_t left = sizeof(stream) - 1 - at;
        cli_wyoming_reader_feed(&reader, stream + at, left < step ? left : step);
        enum cli_wyoming_found found;
        while ((found = cli_wyoming_reader_next(&reader, &event, &err)) == CLI_WYOMING_EVENT) {
            n_seen += snprintf(seen + n_seen, sizeof(seen) - (size_t)n_seen, "%s ", event.type);
            if (strcmp(event.type, "audio-chunk") == 0) {
                assert_int_equal(event.n_payload, 4);
                assert_memory_equal(event.payload, "\n}{\n", 4);
            }
        }
        assert_int_equal(found, CLI_WYOMING_MORE);
    }
    assert_string_equal(seen, "describe transcribe audio-start audio-chunk audio-stop ");
    cli_wyoming_reader_finish(&reader);
}

TEST(events_are_found_however_their_bytes_arrive)
{
    for (size_t step = 1; step < sizeof(stream); step++) {
        check_stream(step);
    }
}

TEST(data_of_the_line_and_after_it_are_joined)
{
    struct cli_wyoming_reader reader = {0};
    struct cli_wyoming_event event;
    cli_wyoming_reader_feed(&reader, stream, sizeof(stream) - 1);
    next_is(&reader, "describe", "{}", &event);
    next_is(&reader, "transcribe", "{\"name\":\"base\",\"language\":\"en\"}", &event);
    next_is(&reader, "audio-start", "{\"rate\":16000,\"width\":2,\"channels\":1}", &event);
    next_is(&reader, "audio-chunk", "{}", &event);
    next_is(&reader, "audio-stop", "{}", &event);
    cli_wyoming_reader_finish(&reader);
}

TEST(wrong_lines_are_errors)
{
    static const struct {
        const char *line, *words;
    } wrong[] = {
        {"\n", "not an object of JSON with a type"},
        {"GET / HTTP/1.1\r\n", "not an object of JSON with a type"},
        {"{\"type\":1}\n", "with a type"},
        {"[\"type\"]\n", "with a type"},
        {"{\"data\":{}}\n", "with a type"},
        {"{\"type\":\"a\"} x\n", "with a type"},
        {"{\"type\":\"a\",\"data_length\":-1}\n", "data_length is not 0 to 1 MiB"},
        {"{\"type\":\"a\",\"data_length\":1048577}\n", "data_length is not"},
        {"{\"type\":\"a\",\"data_length\":\"1\"}\n", "data_length is not"},
        {"{\"type\":\"a\",\"payload_length\":16777217}\n", "payload_length 0 to 16 MiB"},
        {"{\"type\":\"a\",\"payload_length\":1e99}\n", "payload_length"},
        {"{\"type\":\"a\",\"payload_length\":1.5}\n", "payload_length"},
        {"{\"type\":\"a\",\"data\":[1]}\n", "its data are not an object"},
        {"{\"type\":\"a\",\"data_length\":2}\n[]", "its data are not an object"},
        {"{\"type\":\"a\",\"data_length\":2}\n{ ", "its data are not an object"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct cli_wyoming_reader reader = {0};
        struct cli_wyoming_event event;
        struct glinfer_error err;
        cli_wyoming_reader_feed(&reader, wrong[i].line, strlen(wrong[i].line));
        assert_int_equal(cli_wyoming_reader_next(&reader, &event, &err), CLI_WYOMING_BROKEN);
        assert_int_equal(err.status, GLINFER_STATUS_BAD_FILE);
        assert_says(err.message, "invalid Wyoming event: ");
        assert_says(err.message, wrong[i].words);
        cli_wyoming_reader_feed(&reader, stream, sizeof(stream) - 1);
        assert_int_equal(cli_wyoming_reader_next(&reader, &event, &err), CLI_WYOMING_BROKEN);
        cli_wyoming_reader_finish(&reader);
    }
}

TEST(a_line_without_an_end_is_refused)
{
    struct cli_wyoming_reader reader = {0};
    struct cli_wyoming_event event;
    struct glinfer_error err;
    for (int i = 0; i < CLI_WYOMING_MAX_LINE / 16; i++) {
        cli_wyoming_reader_feed(&reader, "0123456789abcdef", 16);
    }
    assert_int_equal(cli_wyoming_reader_next(&reader, &event, &err), CLI_WYOMING_MORE);
    cli_wyoming_reader_feed(&reader, "0", 1);
    assert_int_equal(cli_wyoming_reader_next(&reader, &event, &err), CLI_WYOMING_BROKEN);
    assert_says(err.message, "its line is longer than 64 KiB");
    cli_wyoming_reader_finish(&reader);
}

TEST(events_that_are_written_are_read_again)
{
    struct cli_wyoming_reader reader = {0};
    struct cli_wyoming_event event;
    struct cli_bytes bytes = {0};
    cli_wyoming_write_text(&bytes, "transcript", " a\nb\xFF", "en");
    cli_wyoming_write_text(&bytes, "transcript-stop", NULL, NULL);
    cli_wyoming_write(&bytes, "audio-chunk", NULL, "\0\n", 2);
    cli_wyoming_write_info(&bytes, "whisper-\"base\"", 2);
    cli_wyoming_reader_feed(&reader, bytes.data, bytes.size);
    next_is(&reader, "transcript", "{\"text\":\" a\\nb\xEF\xBF\xBD\",\"language\":\"en\"}", &event);
    next_is(&reader, "transcript-stop", "{}", &event);
    next_is(&reader, "audio-chunk", "{}", &event);
    assert_memory_equal(event.payload, "\0\n", 2);
    struct glinfer_error err;
    assert_int_equal(cli_wyoming_reader_next(&reader, &event, &err), CLI_WYOMING_EVENT);
    const cJSON *program = cJSON_GetArrayItem(cli_json_get(event.data, "asr"), 0);
    const cJSON *model = cJSON_GetArrayItem(cli_json_get(program, "models"), 0);
    assert_string_equal(cli_json_get_text(program, "name"), "glinfer");
    assert_string_equal(cli_json_get_text(model, "name"), "whisper-\"base\"");
    assert_int_equal(cJSON_GetArraySize(cli_json_get(model, "languages")), 2);
    assert_true(cJSON_IsTrue(cli_json_get(model, "installed")));
    assert_true(cJSON_IsArray(cli_json_get(event.data, "tts")));
    cli_bytes_finish(&bytes);
    cli_wyoming_reader_finish(&reader);
}

//-- sound -----------------------------------------------------------------------------------------

static struct cli_samples samples;
static struct glinfer_error err;

// Takes an event with data and a payload.
static enum cli_wyoming_task take(struct cli_wyoming_sound *sound, const char *type,
                                  const char *data, const void *payload, size_t n)
{
    cJSON *object = cli_json_parse_all(data, strlen(data), NULL);
    assert_non_null(object);
    const struct cli_wyoming_event event = {type, object, payload, n};
    const enum cli_wyoming_task task = cli_wyoming_take(sound, &event, &samples, &err);
    cJSON_Delete(object);
    return task;
}

#define MONO "{\"rate\":16000,\"width\":2,\"channels\":1}"

TEST(an_utterance_becomes_samples)
{
    static const int16_t pcm[] = {0, 16384, -32768, 8192};
    struct cli_wyoming_sound sound = {.n_sample_most = UINT64_MAX};
    assert_int_equal(take(&sound, "describe", "{}", NULL, 0), CLI_WYOMING_DESCRIBE);
    assert_int_equal(take(&sound, "ping", "{}", NULL, 0), CLI_WYOMING_PING);
    assert_int_equal(take(&sound, "unheard-of", "{}", NULL, 0), CLI_WYOMING_NOTHING);
    for (int i = 0; i < 2; i++) { // a connection may have several
        samples.count = 0;
        assert_int_equal(take(&sound, "transcribe", "{\"language\":\"de\"}", NULL, 0),
                         CLI_WYOMING_ASK);
        assert_string_equal(cli_json_get_text(sound.request, "language"), "de");
        assert_int_equal(take(&sound, "audio-start", MONO, NULL, 0), CLI_WYOMING_BEGIN);
        assert_int_equal(take(&sound, "audio-chunk", MONO, pcm, 4), CLI_WYOMING_SOUND);
        assert_int_equal(take(&sound, "audio-chunk", MONO, pcm + 2, 4), CLI_WYOMING_SOUND);
        assert_int_equal(take(&sound, "audio-stop", "{}", NULL, 0), CLI_WYOMING_END);
        assert_int_equal(samples.count, 4);
        for (int k = 0; k < 4; k++) {
            assert_true(samples.items[k] == (float)pcm[k] / 32768);
        }
    }
    assert_int_equal(take(&sound, "transcribe", "{}", NULL, 0), CLI_WYOMING_ASK);
    assert_null(cli_json_get(sound.request, "language"));
    cli_wyoming_sound_finish(&sound);
}

TEST(sound_of_any_format_becomes_16_khz)
{
    static const unsigned char silence[44100 * 2 * 4];
    static const struct {
        const char *format;
        size_t n;
    } formats[] = {
        {"{\"rate\":8000,\"width\":1,\"channels\":1}", 8000},
        {"{\"rate\":44100,\"width\":4,\"channels\":2}", 44100 * 8},
        {"{\"rate\":22050,\"width\":3,\"channels\":1}", 22050 * 3},
        {MONO, 32000},
    };
    struct cli_wyoming_sound sound = {.n_sample_most = UINT64_MAX};
    samples.count = 0;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        // Without audio-start, and the format changes in the middle.
        assert_int_equal(take(&sound, "audio-chunk", formats[i].format, silence, formats[i].n),
                         CLI_WYOMING_SOUND);
    }
    assert_int_equal(take(&sound, "audio-stop", "{}", NULL, 0), CLI_WYOMING_END);
    assert_in_range(samples.count, 63990, 64010);
    cli_wyoming_sound_finish(&sound);
}

TEST(sound_that_makes_no_sense_is_refused)
{
    static const struct {
        const char *type, *data, *words;
        size_t n;
    } wrong[] = {
        {"audio-stop", "{}", "audio-stop: no audio-start came before it", 0},
        {"audio-start", "{\"rate\":0,\"width\":2,\"channels\":1}", "invalid sample rate: 0 Hz", 0},
        {"audio-start", "{\"rate\":16000,\"width\":7,\"channels\":1}", "width is not", 0},
        {"audio-chunk", "{}", "width is not 1 to 4 bytes", 0},
        {"audio-chunk", "{\"rate\":16000,\"width\":8,\"channels\":1}", "width is not", 8},
        {"audio-chunk", "{\"rate\":-1,\"width\":2,\"channels\":1}", "invalid sample rate: 0 Hz", 2},
        {"audio-chunk", "{\"rate\":16000,\"width\":2,\"channels\":\"1\"}",
         "invalid number of channels: 0", 2},
        {"audio-chunk", MONO, "its payload does not consist of whole frames", 3},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct cli_wyoming_sound sound = {.n_sample_most = UINT64_MAX};
        assert_int_equal(take(&sound, wrong[i].type, wrong[i].data, "12345678", wrong[i].n),
                         CLI_WYOMING_REFUSE);
        assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
        assert_says(err.message, "invalid Wyoming event audio-");
        assert_says(err.message, wrong[i].words);
        cli_wyoming_sound_finish(&sound);
    }
}

static int free_samples(void **state)
{
    (void)state;
    cli_samples_finish(&samples);
    return 0;
}

RUN_TESTS(NULL, free_samples)
