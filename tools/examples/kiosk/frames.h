// The frames of a sign: draws a frame at each tick, lets the program work until the next tick, and
// counts late frames. Only the thread that called frames_open may use them.
#pragma once

#include "sign.h"
#include "timing.h"

enum { N_PICTURES = 4 };

struct frames {
    // Set by the caller or by frames_take_flag:
    uint32_t seconds, fps;
    const char *png_dir, *card; // NULL: no pictures; off-screen
    const char *name;           // of the pictures
    const char *title;
    const char *text; // shown in each frame; the caller changes it

    struct screen screen; // with a card
    struct sign sign;
    const char *failure; // why the screen or the sign cannot be used; NULL: both can
    struct durations intervals, renders;
    double start;
    uint32_t n_missed;
    uint8_t *pictures[N_PICTURES];
};

// Takes --seconds, --fps, --png and --kms. Returns false for other flags and invalid values.
bool frames_take_flag(struct frames *frames, const char *flag, const char *value);
// Sets *value to a number of at most `most`. Returns false if the text is not one.
bool frames_take_number(const char *text, uint32_t most, uint32_t *value);
// Opens screen and sign. Returns false with `failure` set; frames_close is called in either case.
bool frames_open(struct frames *frames);
// Draws a frame at each tick of 1 / fps seconds. work is called after each with the time of the
// next; once it has returned false it is not called again. Returns its last result.
bool frames_run(struct frames *frames, bool (*work)(void *user, double next), void *user);
// Prints the histograms and the frames missed.
void frames_report(struct frames *frames);
// Writes the pictures. Returns false if a file cannot be written, with the reason on stderr.
bool frames_write(struct frames *frames);
void frames_close(struct frames *frames);
