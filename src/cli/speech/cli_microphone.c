#include "cli/speech/cli_microphone.h"

#include "cli/common/cli_io.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALSA_LIBRARY "libasound.so.2"

// Numbers of ALSA's interface.
enum {
    ALSA_CAPTURE = 1,
    ALSA_S16_LE = 2,
    ALSA_INTERLEAVED = 3,
};
enum { LATENCY_US = 500000 }; // sound that may wait to be read

typedef void alsa_log(const char *file, int line, const char *function, int error,
                      const char *format, ...);

// Functions of ALSA's library.
struct alsa {
    int (*open)(void **pcm, const char *device, int stream, int mode);
    int (*set_params)(void *pcm, int format, int access, unsigned n_channels, unsigned rate,
                      int may_resample, unsigned latency_us);
    int (*start)(void *pcm);
    long (*readi)(void *pcm, void *frames, unsigned long n_frame);
    long (*avail_update)(void *pcm);
    int (*recover)(void *pcm, int error, int is_silent);
    int (*close)(void *pcm);
    const char *(*strerror)(int error);
    int (*set_log)(alsa_log *log);
};

struct cli_microphone {
    void *library; // owned
    struct alsa alsa;
    void *pcm; // owned
    char device[128];
    uint32_t n_channels, n_block; // frames that are read at a time
    struct cli_resampler *resampler;
    unsigned char *bytes; // (n_block, n_channels) of 16 bits
    float *frames;        // (n_block, n_channels)
    struct cli_samples samples;
    uint32_t n_lost;
};

// Ignores a message, which would go to stderr; the caller has the error's number.
__attribute__((format(printf, 5, 6))) static void
ignore(const char *file, int line, const char *function, int error, const char *format, ...)
{
    (void)file, (void)line, (void)function, (void)error, (void)format;
}

static bool refuse(const struct cli_microphone *microphone, const char *verb, const char *why,
                   struct glinfer_error *err)
{
    err->status = GLINFER_STATUS_IO;
    snprintf(err->message, sizeof(err->message), "cannot %s the microphone %s: %.400s", verb,
             microphone->device, why);
    return false;
}

static bool load(struct cli_microphone *microphone, struct glinfer_error *err)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
        {"snd_pcm_open", offsetof(struct alsa, open)},
        {"snd_pcm_set_params", offsetof(struct alsa, set_params)},
        {"snd_pcm_start", offsetof(struct alsa, start)},
        {"snd_pcm_readi", offsetof(struct alsa, readi)},
        {"snd_pcm_avail_update", offsetof(struct alsa, avail_update)},
        {"snd_pcm_recover", offsetof(struct alsa, recover)},
        {"snd_pcm_close", offsetof(struct alsa, close)},
        {"snd_strerror", offsetof(struct alsa, strerror)},
        {"snd_lib_error_set_handler", offsetof(struct alsa, set_log)},
    };
    microphone->library = dlopen(ALSA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!microphone->library) {
        return refuse(microphone, "open", ALSA_LIBRARY " is missing; install libasound2", err);
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = dlsym(microphone->library, functions[i].name);
        if (!function) {
            return refuse(microphone, "open", ALSA_LIBRARY " lacks a function", err);
        }
        memcpy((char *)&microphone->alsa + functions[i].offset, &function, sizeof(function));
    }
    microphone->alsa.set_log(ignore);
    return true;
}

// Chooses the first format that the device has: devices without a plug convert nothing.
static bool choose_format(struct cli_microphone *microphone, struct glinfer_error *err)
{
    static const uint32_t rates[] = {GLINFER_SPEECH_RATE, 48000, 44100, 32000, 96000};
    int error = 0;
    for (size_t i = 0; i < 2 * sizeof(rates) / sizeof(rates[0]); i++) {
        const uint32_t rate = rates[i / 2], n_channels = 1 + i % 2;
        const int result = microphone->alsa.set_params(
            microphone->pcm, ALSA_S16_LE, ALSA_INTERLEAVED, n_channels, rate, 1, LATENCY_US);
        if (result >= 0) {
            microphone->n_channels = n_channels;
            microphone->n_block = rate / 10;
            microphone->bytes = cli_alloc((size_t)microphone->n_block * n_channels, 2);
            microphone->frames = cli_alloc((size_t)microphone->n_block * n_channels, sizeof(float));
            microphone->resampler = cli_resampler_create(rate, n_channels, err);
            return microphone->resampler != NULL;
        }
        error = i == 0 ? result : error;
    }
    return refuse(microphone, "open", microphone->alsa.strerror(error), err);
}

struct cli_microphone *cli_microphone_open(const char *device, struct glinfer_error *err)
{
    struct cli_microphone *microphone = cli_alloc(1, sizeof(*microphone));
    const struct alsa *alsa = &microphone->alsa;
    bool is_open = false;
    snprintf(microphone->device, sizeof(microphone->device), "%s", device ? device : "default");
    if (load(microphone, err)) {
        int error = alsa->open(&microphone->pcm, microphone->device, ALSA_CAPTURE, 0);
        if (error < 0) {
            char why[256];
            microphone->pcm = NULL;
            snprintf(why, sizeof(why), "%s; `arecord -L` lists devices", alsa->strerror(error));
            refuse(microphone, "open", why, err);
        } else if (choose_format(microphone, err)) {
            error = alsa->start(microphone->pcm);
            is_open = error >= 0 || refuse(microphone, "start", alsa->strerror(error), err);
        }
    }
    if (!is_open) {
        cli_microphone_close(microphone);
    }
    return is_open ? microphone : NULL;
}

void cli_microphone_close(struct cli_microphone *microphone)
{
    if (!microphone) {
        return;
    }
    if (microphone->pcm) {
        microphone->alsa.close(microphone->pcm);
    }
    if (microphone->library) {
        dlclose(microphone->library);
    }
    cli_resampler_destroy(microphone->resampler);
    cli_samples_finish(&microphone->samples);
    free(microphone->bytes);
    free(microphone->frames);
    free(microphone);
}

// Starts the device again after an error that it can go on from.
static bool recover(struct cli_microphone *microphone, int error, struct glinfer_error *err)
{
    const struct alsa *alsa = &microphone->alsa;
    microphone->n_lost += error == -EPIPE;
    int result = alsa->recover(microphone->pcm, error, 1);
    if (result >= 0 && error != -EINTR) {
        result = alsa->start(microphone->pcm);
    }
    return result >= 0 || refuse(microphone, "read", alsa->strerror(result), err);
}

bool cli_microphone_next(struct cli_microphone *microphone, const float **samples, size_t *n,
                         struct glinfer_error *err)
{
    const struct alsa *alsa = &microphone->alsa;
    microphone->samples.count = 0;
    while (microphone->samples.count == 0 && !cli_is_interrupted()) {
        const long count = alsa->readi(microphone->pcm, microphone->bytes, microphone->n_block);
        if (count < 0 && !recover(microphone, (int)count, err)) {
            return false;
        }
        if (count > 0) {
            cli_samples_from_bytes(microphone->bytes, (size_t)count * microphone->n_channels, 2,
                                   microphone->frames);
            cli_resampler_push(microphone->resampler, microphone->frames, (size_t)count, false,
                               &microphone->samples);
        }
    }
    *samples = microphone->samples.items;
    *n = microphone->samples.count;
    return true;
}

bool cli_microphone_is_ready(struct cli_microphone *microphone)
{
    // A negative number is an error, which the next call reports.
    const long n = microphone->alsa.avail_update(microphone->pcm);
    return n < 0 || n >= (long)microphone->n_block;
}

uint32_t cli_microphone_n_lost(const struct cli_microphone *microphone)
{
    return microphone->n_lost;
}
