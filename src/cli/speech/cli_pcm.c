#include "cli/speech/cli_pcm.h"

#include <sndfile.h>
#include <stdio.h>
#include <string.h>

// The names in ffmpeg and arecord, the encoding of libsndfile, the bytes of a sample.
#define ENCODINGS(X)                                                                               \
    X("s16le", "S16_LE", SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE, 2)                                   \
    X("s16be", "S16_BE", SF_FORMAT_PCM_16 | SF_ENDIAN_BIG, 2)                                      \
    X("u8", "U8", SF_FORMAT_PCM_U8, 1)                                                             \
    X("s8", "S8", SF_FORMAT_PCM_S8, 1)                                                             \
    X("s24le", "S24_3LE", SF_FORMAT_PCM_24 | SF_ENDIAN_LITTLE, 3)                                  \
    X("s32le", "S32_LE", SF_FORMAT_PCM_32 | SF_ENDIAN_LITTLE, 4)                                   \
    X("f32le", "FLOAT_LE", SF_FORMAT_FLOAT | SF_ENDIAN_LITTLE, 4)                                  \
    X("f64le", "FLOAT64_LE", SF_FORMAT_DOUBLE | SF_ENDIAN_LITTLE, 8)                               \
    X("mulaw", "MU_LAW", SF_FORMAT_ULAW, 1)                                                        \
    X("alaw", "A_LAW", SF_FORMAT_ALAW, 1)
#define ENCODING_ROW(...)                          {__VA_ARGS__},
#define ENCODING_NAME(name, alsa, encoding, width) ", " name
static const struct {
    const char *name, *alsa;
    int encoding;
    uint32_t width;
} encodings[] = {ENCODINGS(ENCODING_ROW)};
enum { N_ENCODINGS = sizeof(encodings) / sizeof(encodings[0]) };

bool cli_pcm_set_encoding(struct cli_pcm *pcm, const char *name)
{
    for (size_t i = 0; i < N_ENCODINGS; i++) {
        if (strcmp(name, encodings[i].name) == 0 || strcmp(name, encodings[i].alsa) == 0) {
            pcm->encoding = encodings[i].encoding;
            return true;
        }
    }
    return false;
}

const char *cli_pcm_encodings(void)
{
    static const char names[] = ENCODINGS(ENCODING_NAME);
    return names + strlen(", ");
}

uint32_t cli_pcm_width(const struct cli_pcm *pcm)
{
    for (size_t i = 0; i < N_ENCODINGS; i++) {
        if (pcm->encoding == encodings[i].encoding) {
            return encodings[i].width;
        }
    }
    return 0;
}

//-- WAV -------------------------------------------------------------------------------------------

static uint32_t read_u16(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t read_u32(const unsigned char *bytes)
{
    return read_u16(bytes) | read_u16(bytes + 2) << 16;
}

bool cli_wav_is_head(const unsigned char *bytes, size_t size)
{
    return size >= CLI_WAV_HEAD_SIZE && memcmp(bytes, "RIFF", 4) == 0 &&
           memcmp(bytes + 8, "WAVE", 4) == 0;
}

uint32_t cli_wav_chunk_size(const unsigned char *bytes)
{
    return read_u32(bytes + 4);
}

bool cli_wav_read_format(const unsigned char *bytes, size_t size, struct cli_pcm *pcm, char *why,
                         size_t why_size)
{
    static const struct {
        uint32_t tag, n_bits;
        const char *name;
    } tags[] = {
        {1, 8, "u8"},     {1, 16, "s16le"}, {1, 24, "s24le"}, {1, 32, "s32le"},
        {3, 32, "f32le"}, {3, 64, "f64le"}, {6, 8, "alaw"},   {7, 8, "mulaw"},
    };
    enum { EXTENSIBLE = 0xFFFE };
    if (size < 16) {
        snprintf(why, why_size, "its WAV header is damaged");
        return false;
    }
    uint32_t tag = read_u16(bytes);
    if (tag == EXTENSIBLE && size >= CLI_WAV_FORMAT_SIZE) {
        tag = read_u16(bytes + 24);
    }
    const uint32_t n_bits = read_u16(bytes + 14);
    *pcm = (struct cli_pcm){.rate = read_u32(bytes + 4), .n_channels = read_u16(bytes + 2)};
    for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
        if (tags[i].tag == tag && tags[i].n_bits == n_bits) {
            return cli_pcm_set_encoding(pcm, tags[i].name);
        }
    }
    snprintf(why, why_size, "WAV encoding %u with %u bits cannot be read from a stream", tag,
             n_bits);
    return false;
}
