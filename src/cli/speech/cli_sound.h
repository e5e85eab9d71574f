// Sound as speech models hear it, 16 kHz and one channel, from files (WAV, FLAC, Ogg, MP3 and the
// other formats of libsndfile), from streams and from memory. It comes in blocks of about 0.1 s, so
// that hours of sound take as little memory as seconds.
#pragma once

#include "cli/speech/cli_pcm.h"
#include "cli/speech/cli_resample.h"

struct cli_sound;

// Opens a file, a pipe, or standard input, which has the path "-". A stream may be a WAV file,
// which is read as it comes; a file of another format, which is read to its end first; or raw
// samples. pcm: how raw samples are written; NULL: 16 kHz, one channel, 16 bits, and only in
// streams. Returns NULL with the reason in err: "cannot read FILE: ...".
struct cli_sound *cli_sound_open(const char *path, const struct cli_pcm *pcm,
                                 struct glinfer_error *err);
// Opens a file in memory, which is borrowed. name: for messages.
struct cli_sound *cli_sound_open_memory(const char *name, const void *data, size_t size,
                                        struct glinfer_error *err);
// Keeps the part of the sound that begins after from_ms and lasts ms; 0: to the end. For use before
// the first samples.
void cli_sound_cut(struct cli_sound *sound, uint32_t from_ms, uint32_t ms);
// Accepts NULL.
void cli_sound_close(struct cli_sound *sound);

// Sets *samples to the next ones, which last until the next call, and *n to their number: 0 at the
// end, also if SIGINT ended a stream. Returns false with the reason in err if the sound cannot be
// read or has no samples.
bool cli_sound_next(struct cli_sound *sound, const float **samples, size_t *n,
                    struct glinfer_error *err);
// Returns false if cli_sound_next would wait for a stream.
bool cli_sound_is_ready(const struct cli_sound *sound);
// Returns the seconds of the part that is kept; 0: unknown.
double cli_sound_seconds(const struct cli_sound *sound);
// Returns what is wrong with a sound that was read, such as "FILE ends early: 3.2 of 5.0 s were
// read"; "" if nothing is. For use after the end.
const char *cli_sound_note(const struct cli_sound *sound);
