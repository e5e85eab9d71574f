// The microphone: raw samples of 16 bits, mono, 16,000 a second, from standard input, from ALSA's
// arecord, or from a file that is played in real time. Never blocks. One thread uses it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ear {
    int fd;          // -1: not open
    pid_t recorder;  // arecord; 0: none
    bool is_file;    // that is played in real time
    double start;    // of the file
    uint64_t n_read; // samples
    bool has_odd;    // half a sample was read
    uint8_t odd;
};

// Opens "-" (standard input), "mic" or "mic:DEVICE" (arecord), or a file, whose header, if it is
// that of a WAV file, is skipped. Returns NULL, or the reason why it cannot.
const char *ear_open(struct ear *ear, const char *name);
// Reads the samples that are there, at most `capacity`. Sets *is_ended at the end of the sound.
size_t ear_read(struct ear *ear, float *samples, size_t capacity, bool *is_ended);
void ear_close(struct ear *ear);
