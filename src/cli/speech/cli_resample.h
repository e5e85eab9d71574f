// Turns sound of any rate and number of channels into the input of speech models:
// GLINFER_SPEECH_RATE samples per second, one channel.
#pragma once

#include "glinfer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLI_MAX_CHANNELS = 1024 }; // of input

// A list of samples that grows.
struct cli_samples {
    float *items; // owned
    size_t count, capacity;
};
void cli_samples_finish(struct cli_samples *samples);

struct cli_resampler;

// Creates a resampler of sound with `rate` frames per second, each of n_channels samples. Returns
// NULL with the reason in err for a rate or a number that is not supported.
struct cli_resampler *cli_resampler_create(uint32_t rate, uint32_t n_channels,
                                           struct glinfer_error *err);
// Accepts NULL.
void cli_resampler_destroy(struct cli_resampler *resampler);

// Returns the number of samples that n_frame frames become, rounded down.
uint64_t cli_resampler_count(const struct cli_resampler *resampler, size_t n_frame);
// Converts frames (n_frame, n_channels) and appends samples to *samples; some of them come with the
// next call, or with this one if it is the last. A channel counts as much as any other; samples
// that are not finite, or beyond 100 times the loudest, are silence.
void cli_resampler_push(struct cli_resampler *resampler, const float *frames, size_t n_frame,
                        bool is_last, struct cli_samples *samples);

// Converts n little-endian integers of 1 to 4 bytes, signed, to floats between -1 and 1.
void cli_samples_from_bytes(const unsigned char *bytes, size_t n, uint32_t width, float *samples);
