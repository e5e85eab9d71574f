// A microphone that ALSA's plugins imitate, with a file in the place of its sound (skipped without
// libasound), and one that is only functions, for what goes wrong.
#include "cli/speech/cli_microphone.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>

static bool has_alsa;

// Writes sound for a device of 48 kHz and two channels, and ALSA's settings that name it.
// "converted" converts, "fixed" has its own format alone.
static int make_devices(void **state)
{
    void *library = dlopen("libasound.so.2", RTLD_NOW);
    has_alsa = library != NULL;
    if (library) {
        dlclose(library);
    }
    if (make_temp_folder(state) != 0) {
        return -1;
    }
    const char *sound = temp_path("sound"), *settings = temp_path("asoundrc");
    FILE *file = fopen(sound, "wb");
    for (int i = 0; file && i < 48000; i++) {
        const int16_t sample = (int16_t)lround(16384 * sin(2 * M_PI * 440 * i / 48000));
        const int16_t frame[2] = {sample, sample};
        fwrite(frame, sizeof(frame), 1, file);
    }
    FILE *text = fopen(settings, "w");
    if (!file || !text) {
        return -1;
    }
    fprintf(text,
            "pcm.fixed { type file format raw file /dev/null infile \"%s\" slave.pcm {\n"
            "    type null } }\n"
            "pcm.converted { type plug slave { pcm fixed rate 48000 channels 2 format S16_LE } }\n",
            sound);
    return fclose(file) || fclose(text) || setenv("ALSA_CONFIG_PATH", settings, 1);
}

TEST(a_device_of_another_rate_is_converted)
{
    if (!has_alsa) {
        skip();
    }
    struct cli_microphone *microphone = must_do(cli_microphone_open("converted", &err));
    size_t n_sample = 0, n_rise = 0, n;
    const float *samples;
    float peak = 0, last = 0;
    while (n_sample < 8000) {
        must_do(cli_microphone_next(microphone, &samples, &n, &err));
        assert_in_range(n, 1, GLINFER_SPEECH_RATE / 10 + 64);
        for (size_t i = 0; i < n; i++) {
            n_rise += last < 0 && samples[i] >= 0;
            peak = fmaxf(peak, fabsf(samples[i]));
            last = samples[i];
        }
        n_sample += n;
    }
    // The tone of the file, whatever the converter does at its beginning.
    assert_in_range(n_rise, 440 * n_sample / GLINFER_SPEECH_RATE - 3,
                    440 * n_sample / GLINFER_SPEECH_RATE + 3);
    assert_true(peak > 0.45F && peak < 0.55F);
    assert_int_equal(cli_microphone_n_lost(microphone), 0);
    cli_microphone_is_ready(microphone);
    cli_microphone_close(microphone);
}

TEST(a_device_that_is_missing_is_named)
{
    if (!has_alsa) {
        skip();
    }
    must_fail(cli_microphone_open("no-such-device", &err), IO,
              "cannot open the microphone no-such-device: No such file or directory; `arecord "
              "-L` lists devices");
}

//-- a device of functions alone -------------------------------------------------------------------

static struct {
    bool is_used, is_missing;
    unsigned rate, n_channels; // the only ones that it has
    int n_start, n_close;
    long results[8]; // of reads: frames, or errors
    size_t n_read;
} fake;

static int fake_open(void **pcm, const char *device, int stream, int mode)
{
    (void)device, (void)stream, (void)mode;
    *pcm = &fake;
    return 0;
}

static int fake_set_params(void *pcm, int format, int access, unsigned n_channels, unsigned rate,
                           int may_resample, unsigned latency_us)
{
    (void)pcm, (void)format, (void)access, (void)may_resample, (void)latency_us;
    return rate == fake.rate && n_channels == fake.n_channels ? 0 : -EINVAL;
}

static int fake_start(void *pcm)
{
    (void)pcm;
    fake.n_start++;
    return 0;
}

static long fake_readi(void *pcm, void *frames, unsigned long n_frame)
{
    (void)pcm;
    const long result = fake.results[fake.n_read++];
    assert_true(result <= (long)n_frame);
    memset(frames, 0, result > 0 ? (size_t)result * fake.n_channels * 2 : 0);
    return result;
}

static long fake_avail_update(void *pcm)
{
    (void)pcm;
    return fake.results[fake.n_read];
}

static int fake_recover(void *pcm, int error, int is_silent)
{
    (void)pcm, (void)is_silent;
    return error == -EPIPE ? 0 : error;
}

static int fake_close(void *pcm)
{
    (void)pcm;
    fake.n_close++;
    return 0;
}

static const char *fake_strerror(int error)
{
    return strerror(-error);
}

static int fake_set_log(void *log)
{
    (void)log;
    return 0;
}

// Under sanitizers the library's own calls are wrapped, too.
#pragma GCC visibility push(default)
WRAP(void *, dlopen, const char *file, int mode)
{
    return fake.is_missing ? NULL : __real_dlopen(file, mode);
}

WRAP(void *, dlsym, void *library, const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {
        {"snd_pcm_open", (void (*)(void))fake_open},
        {"snd_pcm_set_params", (void (*)(void))fake_set_params},
        {"snd_pcm_start", (void (*)(void))fake_start},
        {"snd_pcm_readi", (void (*)(void))fake_readi},
        {"snd_pcm_avail_update", (void (*)(void))fake_avail_update},
        {"snd_pcm_recover", (void (*)(void))fake_recover},
        {"snd_pcm_close", (void (*)(void))fake_close},
        {"snd_strerror", (void (*)(void))fake_strerror},
        {"snd_lib_error_set_handler", (void (*)(void))fake_set_log},
    };
    void *found = fake.is_used ? NULL : __real_dlsym(library, name);
    for (size_t i = 0; fake.is_used && i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcmp(name, functions[i].name) == 0) {
            memcpy(&found, &functions[i].function, sizeof(found));
        }
    }
    return found;
}
#pragma GCC visibility pop

TEST(a_device_without_16_khz_is_used_in_its_format)
{
    const float *samples;
    size_t n, n_sample = 0;
    if (!has_alsa) {
        skip(); // the functions stand in for those of a library that is there
    }
    memset(&fake, 0, sizeof(fake));
    fake.is_used = true;
    fake.rate = 44100;
    fake.n_channels = 2;
    for (int i = 0; i < 8; i++) {
        fake.results[i] = i == 3 ? -EPIPE : i == 7 ? -ENODEV : 4410;
    }
    struct cli_microphone *microphone = must_do(cli_microphone_open(NULL, &err));
    assert_true(cli_microphone_is_ready(microphone));
    for (int i = 0; i < 6; i++) {
        must_do(cli_microphone_next(microphone, &samples, &n, &err));
        n_sample += n;
    }
    assert_in_range(n_sample, 9500, 9600);
    assert_int_equal(cli_microphone_n_lost(microphone), 1);
    assert_int_equal(fake.n_start, 2);
    must_fail(cli_microphone_next(microphone, &samples, &n, &err), IO,
              "cannot read the microphone default: No such device");
    cli_microphone_close(microphone);
    assert_int_equal(fake.n_close, 1);
    fake.rate = 8000;
    must_fail(cli_microphone_open("hw:0", &err), IO,
              "cannot open the microphone hw:0: Invalid argument");
    assert_int_equal(fake.n_close, 2);
}

TEST(a_system_without_alsa_is_told_so)
{
    fake.is_missing = true;
    must_fail(cli_microphone_open(NULL, &err), IO,
              "cannot open the microphone default: libasound.so.2 is missing; install libasound2");
    fake.is_missing = false;
}

RUN_TESTS(make_devices, remove_temp_folder)
