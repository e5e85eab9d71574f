// Sound files, streams and uploads: what is read of them, and the sentences for those that are
// not sound. The files are written here.
#include "cli/speech/cli_sound.h"
#include "tests/unit/temp_folder.h"

#include <fcntl.h>
#include <math.h>
#include <sndfile.h>
#include <sys/wait.h>

enum { TONE_HZ = 440, MAX_FRAMES = 192000 };
static const char *path;

// Writes one second of a tone of amplitude 0.5 to a file, whose path is `path`.
static void write_tone(int format, int rate, int n_channels)
{
    SF_INFO info = {.samplerate = rate, .channels = n_channels, .format = format};
    float frame[8];
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    assert_non_null(file);
    for (int i = 0; i < rate; i++) {
        for (int c = 0; c < n_channels; c++) {
            frame[c] = 0.5F * (float)sin(2 * M_PI * TONE_HZ * i / rate);
        }
        assert_int_equal(sf_writef_float(file, frame, 1), 1);
    }
    assert_int_equal(sf_close(file), 0);
}

static void write_bytes(const void *bytes, size_t size)
{
    write_file(path, bytes, size);
}

static size_t read_bytes(unsigned char *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, most, file);
    fclose(file);
    return size;
}

// Opens a stream that has these bytes, which come by `step` at a time.
static struct cli_sound *open_stream(const void *bytes, size_t size, size_t step,
                                     const struct cli_pcm *pcm, struct glinfer_error *err)
{
    int ends[2];
    char name[32];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        for (size_t at = 0; at < size; at += step) {
            const size_t n = size - at < step ? size - at : step;
            if (write(ends[1], (const char *)bytes + at, n) < 0) {
                break;
            }
        }
        _exit(0);
    }
    close(ends[1]);
    snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
    struct cli_sound *sound = cli_sound_open(name, pcm, err);
    close(ends[0]);
    return sound;
}

static struct cli_samples all;

// Reads a sound to its end and closes it; its samples are in `all`, its note in note.
static bool read_all(struct cli_sound *sound, char note[640], struct glinfer_error *err)
{
    const float *samples;
    size_t n;
    bool is_read;
    all.count = 0;
    while ((is_read = cli_sound_next(sound, &samples, &n, err)) && n > 0) {
        assert_true(n <= GLINFER_SPEECH_RATE / 10 + 1024);
        for (size_t i = 0; i < n; i++) {
            all.items = realloc(all.items, (all.count + 1) * sizeof(float));
            all.items[all.count++] = samples[i];
        }
    }
    snprintf(note, 640, "%s", cli_sound_note(sound));
    cli_sound_close(sound);
    while (wait(NULL) > 0) {
    }
    return is_read;
}

// Checks that a sound is the tone, and lasts one second.
static void check_tone(struct cli_sound *sound, size_t slack)
{
    char note[640];
    double energy = 0;
    size_t n_rise = 0;
    must_do(read_all(sound, note, &err));
    assert_string_equal(note, "");
    assert_in_range(all.count, GLINFER_SPEECH_RATE - slack, GLINFER_SPEECH_RATE + slack);
    for (size_t i = 4000; i < 12000; i++) {
        energy += all.items[i] * all.items[i];
        n_rise += all.items[i] < 0 && all.items[i + 1] >= 0;
    }
    assert_true(fabs(sqrt(energy / 8000) - 0.5 / sqrt(2)) < 0.02);
    assert_in_range(n_rise, TONE_HZ / 2 - 1, TONE_HZ / 2 + 1);
}

static const struct {
    const char *name;
    int format, rate, n_channels;
    size_t slack; // samples that a codec may add or lose
    bool is_piped;
} formats[] = {
    {"WAV 16 kHz", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, 0, true},
    {"WAV 44.1 kHz stereo", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 44100, 2, 2, true},
    {"WAV 8 channels", SF_FORMAT_WAVEX | SF_FORMAT_PCM_32, 48000, 8, 2, true},
    {"WAV floats", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 22050, 1, 2, true},
    {"WAV 8 bits", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 11025, 1, 2, true},
    {"telephone u-law", SF_FORMAT_WAV | SF_FORMAT_ULAW, 8000, 1, 2, true},
    {"telephone A-law", SF_FORMAT_WAV | SF_FORMAT_ALAW, 8000, 1, 2, true},
    {"WAV ADPCM", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, 16000, 1, 1024, false},
    {"FLAC 192 kHz", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 192000, 2, 2, true},
    {"Ogg Vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 2, 2, true},
    {"Ogg Opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 48000, 1, 2, true},
    {"AIFF", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 32000, 1, 2, true},
    {"MP3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 44100, 1, 1600, false},
};

TEST(files_uploads_and_streams_of_every_format_become_16_khz_mono)
{
    static unsigned char bytes[1 << 22];
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        print_message("%s\n", formats[i].name);
        write_tone(formats[i].format, formats[i].rate, formats[i].n_channels);
        const size_t size = read_bytes(bytes, sizeof(bytes));
        struct cli_sound *sound = must_do(cli_sound_open(path, NULL, &err));
        assert_true(fabs(cli_sound_seconds(sound) - 1) < 0.1);
        assert_true(cli_sound_is_ready(sound));
        check_tone(sound, formats[i].slack);
        check_tone(must_do(cli_sound_open_memory("upload", bytes, size, &err)), formats[i].slack);
        if (formats[i].is_piped) {
            check_tone(must_do(open_stream(bytes, size, 7777, NULL, &err)), formats[i].slack);
        }
    }
}

TEST(raw_samples_come_in_every_encoding)
{
    static const struct {
        const char *name;
        int format;
    } encodings[] = {
        {"s16le", SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE},
        {"S16_BE", SF_FORMAT_PCM_16 | SF_ENDIAN_BIG},
        {"u8", SF_FORMAT_PCM_U8},
        {"S8", SF_FORMAT_PCM_S8},
        {"s24le", SF_FORMAT_PCM_24 | SF_ENDIAN_LITTLE},
        {"S32_LE", SF_FORMAT_PCM_32},
        {"FLOAT_LE", SF_FORMAT_FLOAT},
        {"f64le", SF_FORMAT_DOUBLE},
        {"mulaw", SF_FORMAT_ULAW},
        {"A_LAW", SF_FORMAT_ALAW},
    };
    static unsigned char bytes[1 << 21];
    for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++) {
        struct cli_pcm pcm = {.rate = 48000, .n_channels = 2};
        print_message("%s\n", encodings[i].name);
        assert_true(cli_pcm_set_encoding(&pcm, encodings[i].name));
        write_tone(SF_FORMAT_RAW | encodings[i].format, 48000, 2);
        const size_t size = read_bytes(bytes, sizeof(bytes));
        assert_int_equal(size, 48000 * 2 * cli_pcm_width(&pcm));
        check_tone(must_do(cli_sound_open(path, &pcm, &err)), 2);
        check_tone(must_do(open_stream(bytes, size, 12347, &pcm, &err)), 2);
    }
    struct cli_pcm pcm = {0};
    assert_false(cli_pcm_set_encoding(&pcm, "s16"));
    assert_int_equal(cli_pcm_width(&pcm), 0);
}

TEST(a_stream_without_a_header_is_what_arecord_writes)
{
    static unsigned char bytes[40000];
    write_tone(SF_FORMAT_RAW | SF_FORMAT_PCM_16, 16000, 1);
    const size_t size = read_bytes(bytes, sizeof(bytes));
    check_tone(must_do(open_stream(bytes, size, 4096, NULL, &err)), 0);
    bytes[size] = 1; // half a sample
    check_tone(must_do(open_stream(bytes, size + 1, 333, NULL, &err)), 0);
}

TEST(standard_input_is_a_stream)
{
    const int kept = dup(STDIN_FILENO);
    write_tone(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 2);
    const int fd = open(path, O_RDONLY);
    assert_true(dup2(fd, STDIN_FILENO) >= 0);
    close(fd);
    check_tone(must_do(cli_sound_open("-", NULL, &err)), 2);
    dup2(kept, STDIN_FILENO);
    close(kept);
}

TEST(a_length_in_a_stream_that_lies_does_not_matter)
{
    static unsigned char bytes[40000];
    static const uint32_t sizes[] = {0, UINT32_MAX, 0x7FFFFFFF, 0x80000000};
    write_tone(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1);
    const size_t size = read_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memcpy(bytes + 40, &sizes[i], 4);
        memcpy(bytes + 4, &sizes[i], 4);
        check_tone(must_do(open_stream(bytes, size, 1000, NULL, &err)), 0);
        write_bytes(bytes, size);
        check_tone(must_do(cli_sound_open(path, NULL, &err)), 0);
    }
}

TEST(chunks_around_the_sound_of_a_stream_are_skipped)
{
    static unsigned char bytes[40000], joined[40000];
    static const char before[14] = "LIST\5\0\0\0notes", after[14] = "LIST\6\0\0\0notesx";
    write_tone(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1);
    const size_t size = read_bytes(bytes, sizeof(bytes));
    memcpy(joined, bytes, 12);
    memcpy(joined + 12, before, sizeof(before));
    memcpy(joined + 26, bytes + 12, size - 12);
    memcpy(joined + 14 + size, after, sizeof(after));
    check_tone(must_do(open_stream(joined, size + 28, 999, NULL, &err)), 0);
}

TEST(what_is_not_finite_is_silence)
{
    static float frames[16000];
    char note[640];
    struct cli_pcm pcm = {0};
    cli_pcm_set_encoding(&pcm, "f32le");
    for (size_t i = 0; i < 16000; i++) {
        frames[i] = i % 4 == 0 ? NAN : i % 4 == 1 ? -INFINITY : i % 4 == 2 ? 1e30F : 1.5F;
    }
    must_do(read_all(open_stream(frames, sizeof(frames), 65536, &pcm, &err), note, &err));
    for (size_t i = 0; i < 16000; i++) {
        assert_true(all.items[i] == (i % 4 == 3 ? 1.5F : 0));
    }
}

TEST(a_file_that_is_cut_is_read_as_far_as_it_goes)
{
    static const int cut[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16};
    static unsigned char bytes[1 << 20];
    char note[640];
    for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
        write_tone(cut[i], 44100, 1);
        const size_t size = read_bytes(bytes, sizeof(bytes)) / 2;
        write_bytes(bytes, size);
        must_do(read_all(cli_sound_open(path, NULL, &err), note, &err));
        assert_in_range(all.count, 6000, 10000);
        assert_says(note, "/sound ends early: 0.");
        assert_says(note, "of 1.0 s were read");
        must_do(read_all(cli_sound_open_memory("upload", bytes, size, &err), note, &err));
        assert_says(note, "upload ends early");
        must_do(read_all(open_stream(bytes, size, 5000, NULL, &err), note, &err));
        assert_says(note, "ends early");
    }
}

TEST(what_is_not_sound_is_refused_with_a_sentence)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *file, *stream; // words of the messages
    } cases[] = {
        {"", 0, "/sound: it is empty", ": it has no sound"},
        {"Once upon a time there was a text, which is not sound, and not short: it ends only here.",
         88, ": it is not a sound file (WAV, FLAC, Ogg, MP3 and others)",
         ": it is text, not sound"},
        {"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3E\0\0\0\x7D\0\0\2\0\x10\0data\0\0\0\0", 44,
         ": it has no sound", ": it has no sound"},
        {"RIFF\x24\0\0\0WAVEfmt ", 16, ": ", ": its WAV header is damaged"},
        {"RIFF\x24\0\0\0WAVEdata\0\0\0\0\0\0\0\0", 24, ": ", ": its WAV header is damaged"},
        {"RIFF\x24\0\0\0WAVELIST\xFF\xFF\xFF\xFF\0\0\0\0", 24, ": ", ": its WAV header is damaged"},
        {"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\1\0\0\0\2\0\0\0\2\0\x10\0data\2\0\0\0\0\0", 46,
         "invalid sample rate: 1 Hz; use 1000 to 768000", "invalid sample rate: 1 Hz"},
        {"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\xD0\7\x80\x3E\0\0\0\0\0\0\0\0\x10\0data\2\0\0\0\0\0",
         46, ": ", "invalid number of channels: 2000; use 1 to 1024"},
        {"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\2\0\1\0\x80\x3E\0\0\0\x7D\0\0\2\0\4\0data\0\0\0\0", 44,
         ": ", "WAV encoding 2 with 4 bits cannot be read from a stream"},
        {"fLaC\0\0\0\1\2\3", 10, ": ", ": "},
        {"OggS\0\0\0\1\2\3", 10, "cannot read ", "cannot read "},
        {"ID3\4\0\0\0\0\0\0", 10, "cannot read ", "cannot read "},
    };
    struct glinfer_error err;
    char note[640];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_bytes(cases[i].bytes, cases[i].size);
        struct cli_sound *sound = cli_sound_open(path, NULL, &err);
        assert_false(sound && read_all(sound, note, &err));
        assert_says(err.message, "cannot read /tmp/glinfer-test-");
        assert_says(err.message, cases[i].file);
        sound = cli_sound_open_memory("the upload", cases[i].bytes, cases[i].size, &err);
        assert_false(sound && read_all(sound, note, &err));
        assert_says(err.message, "cannot read the upload: ");
        sound = open_stream(cases[i].bytes, cases[i].size, 5, NULL, &err);
        assert_false(sound && read_all(sound, note, &err));
        assert_says(err.message, "cannot read /dev/fd/");
        assert_says(err.message, cases[i].stream);
    }
}

TEST(paths_that_cannot_be_opened_are_named)
{
    must_fail(cli_sound_open("/tmp/no/such/file.wav", NULL, &err), NOT_FOUND,
              "cannot read /tmp/no/such/file.wav: No such file or directory");
    must_fail(cli_sound_open("/tmp", NULL, &err), IO, "cannot read /tmp: Is a directory");
}

TEST(an_endless_stream_comes_in_small_blocks)
{
    const struct cli_pcm pcm = {.rate = 192000, .n_channels = 8};
    const float *samples;
    size_t n;
    struct cli_sound *sound = must_do(cli_sound_open("/dev/zero", &pcm, &err));
    assert_true(cli_sound_seconds(sound) == 0);
    for (int i = 0; i < 50; i++) {
        assert_true(cli_sound_is_ready(sound));
        must_do(cli_sound_next(sound, &samples, &n, &err));
        assert_in_range(n, 1, 1700);
        assert_true(samples[n - 1] == 0);
    }
    cli_sound_close(sound);
}

static int make_folder(void **state)
{
    const int status = make_temp_folder(state);
    path = temp_path("sound");
    return status;
}

RUN_TESTS(make_folder, remove_temp_folder)
