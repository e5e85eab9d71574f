#include "cli/speech/cli_resample.h"

#include "cli/common/cli_memory.h"

#include <assert.h>
#include <math.h>
#include <samplerate.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MIN_RATE = 1000,
    MAX_RATE = 768000,
    BLOCK = 4096, // frames that are mixed at a time
};
static const float limit = 100; // of samples; loud files of floats reach 2

struct cli_resampler {
    SRC_STATE *state; // owned; NULL: the rate is right
    double ratio;     // samples per frame
    uint32_t n_channels;
    float mixed[BLOCK];
};

void cli_samples_finish(struct cli_samples *samples)
{
    free(samples->items);
    *samples = (struct cli_samples){0};
}

struct cli_resampler *cli_resampler_create(uint32_t rate, uint32_t n_channels,
                                           struct glinfer_error *err)
{
    err->status = GLINFER_STATUS_INVALID_ARGUMENT;
    if (rate < MIN_RATE || rate > MAX_RATE) {
        snprintf(err->message, sizeof(err->message), "invalid sample rate: %u Hz; use %u to %u",
                 rate, MIN_RATE, MAX_RATE);
        return NULL;
    }
    if (n_channels == 0 || n_channels > CLI_MAX_CHANNELS) {
        snprintf(err->message, sizeof(err->message), "invalid number of channels: %u; use 1 to %u",
                 n_channels, CLI_MAX_CHANNELS);
        return NULL;
    }
    struct cli_resampler *resampler = cli_alloc(1, sizeof(*resampler));
    resampler->n_channels = n_channels;
    resampler->ratio = (double)GLINFER_SPEECH_RATE / rate;
    if (rate != GLINFER_SPEECH_RATE) {
        int error = 0;
        resampler->state = src_new(SRC_SINC_FASTEST, 1, &error);
        if (!resampler->state) {
            snprintf(err->message, sizeof(err->message), "cannot create the resampler: %s",
                     src_strerror(error));
            free(resampler);
            return NULL;
        }
    }
    return resampler;
}

void cli_resampler_destroy(struct cli_resampler *resampler)
{
    if (resampler) {
        src_delete(resampler->state);
        free(resampler);
    }
}

uint64_t cli_resampler_count(const struct cli_resampler *resampler, size_t n_frame)
{
    return (uint64_t)((double)n_frame * resampler->ratio);
}

// Writes the mean of the channels of n frames to mixed.
static void mix(struct cli_resampler *resampler, const float *frames, size_t n)
{
    const uint32_t n_channels = resampler->n_channels;
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (uint32_t c = 0; c < n_channels; c++) {
            const float sample = frames[i * n_channels + c];
            sum += fabsf(sample) <= limit ? sample : 0; // so NaN is 0, too
        }
        resampler->mixed[i] = sum / (float)n_channels;
    }
}

static float *append(struct cli_samples *samples, size_t n)
{
    samples->items = cli_reserve(samples->items, &samples->capacity, samples->count + n,
                                 sizeof(*samples->items));
    return samples->items + samples->count;
}

// Appends the samples of n mixed frames.
static void convert(struct cli_resampler *resampler, size_t n, bool is_last,
                    struct cli_samples *samples)
{
    if (!resampler->state) {
        float *to = append(samples, n);
        for (size_t i = 0; i < n; i++) {
            to[i] = resampler->mixed[i];
        }
        samples->count += n;
        return;
    }
    SRC_DATA data = {.data_in = resampler->mixed,
                     .input_frames = (long)n,
                     .src_ratio = resampler->ratio,
                     .end_of_input = is_last};
    do {
        data.output_frames = (long)((double)data.input_frames * resampler->ratio) + 64;
        data.data_out = append(samples, (size_t)data.output_frames);
        // The arguments are right, and that is all it can complain about.
        const int error = src_process(resampler->state, &data);
        assert(error == 0);
        (void)error;
        samples->count += (size_t)data.output_frames_gen;
        data.data_in += data.input_frames_used;
        data.input_frames -= data.input_frames_used;
    } while (data.input_frames > 0 || data.output_frames_gen == data.output_frames);
}

void cli_resampler_push(struct cli_resampler *resampler, const float *frames, size_t n_frame,
                        bool is_last, struct cli_samples *samples)
{
    do {
        const size_t n = n_frame < BLOCK ? n_frame : BLOCK;
        mix(resampler, frames, n);
        frames += n * resampler->n_channels;
        n_frame -= n;
        convert(resampler, n, is_last && n_frame == 0, samples);
    } while (n_frame > 0);
}

void cli_samples_from_bytes(const unsigned char *bytes, size_t n, uint32_t width, float *samples)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = 0; // the integer in the highest bytes
        for (uint32_t b = 0; b < width; b++) {
            bits = bits >> 8 | (uint32_t)bytes[i * width + b] << 24;
        }
        samples[i] = (float)(int32_t)bits * 0x1p-31F;
    }
}
