// Sound without a file format: how its samples are written, and the head of a WAV file on a stream.
#pragma once

#include "glinfer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Raw samples, interleaved. Zero fields mean what `arecord -f S16_LE -r 16000` writes.
struct cli_pcm {
    uint32_t rate;       // frames per second; 0: 16000
    uint32_t n_channels; // 0: 1
    int encoding;        // SF_FORMAT_ subtype of libsndfile; 0: 16 bits, little-endian
};

// Sets the encoding by a name of ffmpeg or arecord, such as s16le, S16_LE, f32le, mulaw. Returns
// false for an unknown name.
bool cli_pcm_set_encoding(struct cli_pcm *pcm, const char *name);
// Returns the names for a message: "s16le, u8, ...".
const char *cli_pcm_encodings(void);
// Returns the bytes of a sample; 0 for an unknown encoding.
uint32_t cli_pcm_width(const struct cli_pcm *pcm);

enum {
    CLI_WAV_HEAD_SIZE = 12,   // bytes by which a WAV file is known
    CLI_WAV_CHUNK_SIZE = 8,   // bytes before each chunk
    CLI_WAV_FORMAT_SIZE = 26, // bytes of a "fmt " chunk that are read, at most
    // A program that writes to a pipe does not know the length, and writes 0 or at least this.
    CLI_WAV_UNKNOWN = 0x7FFFF000,
};
// Returns true if a file begins with these bytes and is a WAV file.
bool cli_wav_is_head(const unsigned char *bytes, size_t size);
// Returns the size of the chunk that 8 bytes begin.
uint32_t cli_wav_chunk_size(const unsigned char *bytes);
// Reads the contents of a chunk "fmt ". Returns false, with the reason in why, for an encoding that
// is not of cli_pcm_encodings.
bool cli_wav_read_format(const unsigned char *bytes, size_t size, struct cli_pcm *pcm, char *why,
                         size_t why_size);
