// The log-mel spectrogram that Whisper's encoder reads: the power of sound at 16 kHz in mel bands,
// one frame every 10 ms. CPU only; immutable after creation, so threads may share it.
//   Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision, section 2.2
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    GI_MEL_RATE = 16000, // samples a second
    GI_MEL_HOP = 160,    // samples from one frame to the next
    GI_MEL_WINDOW = 400, // samples of a frame, under a periodic Hann window
    GI_MEL_N_BINS = GI_MEL_WINDOW / 2 + 1,
};

struct gi_mel;

// filters: (n_band, GI_MEL_N_BINS), the weight of each frequency in a band; copied. Fails with
// NO_MEMORY.
struct gi_mel *gi_mel_create(const float *filters, uint32_t n_band, struct glinfer_error *err);
// Accepts NULL.
void gi_mel_destroy(struct gi_mel *mel);

// Writes log10(max(power, 1e-10)) of n frames from frame `first` on to out, (n, n_band). The centre
// of frame f is sample GI_MEL_HOP * f. Before the first sample the sound is mirrored, after the
// last it is 0. Samples that are not finite count as 0, so that the result is finite.
void gi_mel_frames(const struct gi_mel *mel, const float *samples, size_t n_samples, size_t first,
                   size_t n, float *out);
// Returns the number of frames that end within n_samples, the GI_MEL_WINDOW / 2 samples after their
// centre included; later frames reach into the silence after the sound.
uint64_t gi_mel_frame_count(uint64_t n_samples);

// Scales values of gi_mel_frames for the encoder: (max(value, loudest - 8) + 4) / 4. loudest is the
// largest value of the whole sound and of the silence after it.
void gi_mel_scale(float *values, size_t count, float loudest);
