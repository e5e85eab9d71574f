#include "frames.h"

#include "png.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool frames_take_number(const char *text, uint32_t most, uint32_t *value)
{
    char *end = NULL;
    const unsigned long number = strtoul(text, &end, 10);
    *value = (uint32_t)number;
    return *text >= '0' && *text <= '9' && !*end && number <= most;
}

bool frames_take_flag(struct frames *frames, const char *flag, const char *value)
{
    if (strcmp(flag, "--png") == 0) {
        frames->png_dir = value;
        return true;
    }
    if (strcmp(flag, "--kms") == 0) {
        frames->card = value;
        return true;
    }
    if (strcmp(flag, "--seconds") == 0) {
        return frames_take_number(value, 86400, &frames->seconds) && frames->seconds > 0;
    }
    return strcmp(flag, "--fps") == 0 && frames_take_number(value, 1000, &frames->fps) &&
           frames->fps > 0;
}

bool frames_open(struct frames *frames)
{
    frames->screen.fd = -1;
    frames->failure = frames->card ? screen_open(&frames->screen, frames->card) : NULL;
    if (!frames->failure) {
        frames->failure = sign_open(&frames->sign, frames->card ? &frames->screen : NULL);
    }
    return !frames->failure;
}

// Keeps the picture of some frames, spread over the time; they are written at the end.
static void keep_picture(struct frames *frames, uint32_t frame, uint32_t n_frames)
{
    for (uint32_t i = 0; frames->png_dir && i < N_PICTURES; i++) {
        if (!frames->pictures[i] && frame + 1 >= n_frames * (i + 1) / N_PICTURES) {
            frames->pictures[i] = malloc((size_t)SIGN_WIDTH * SIGN_HEIGHT * 4);
            if (frames->pictures[i]) {
                sign_read(&frames->sign, frames->pictures[i]);
            }
            return;
        }
    }
}

static void show(struct frames *frames, double time)
{
    sign_render(&frames->sign, time, frames->title, frames->text);
    if (frames->card && !frames->failure) {
        frames->failure = sign_show(&frames->sign, &frames->screen);
    }
}

// A frame that begins after the next tick has missed it; the frames after it keep to the ticks.
bool frames_run(struct frames *frames, bool (*work)(void *user, double next), void *user)
{
    const double period = 1.0 / frames->fps;
    const uint32_t n_frames = frames->seconds * frames->fps;
    bool ok = true;
    show(frames, 0.0); // drivers compile at the first of them
    sign_wait(&frames->sign);
    const double start = frames->start = timing_now();
    double last = start;
    for (uint32_t frame = 0; frame < n_frames; frame++) {
        timing_wait(start + frame * period, -1);
        sign_wait(&frames->sign);
        const double now = timing_now();
        if (frame > 0) {
            durations_add(&frames->intervals, now - last);
        }
        last = now;
        while (now >= start + (frame + 1) * period && frame + 1 < n_frames) {
            frames->n_missed++;
            frame++;
        }
        show(frames, now - start);
        durations_add(&frames->renders, timing_now() - now);
        keep_picture(frames, frame, n_frames);
        ok = ok && work(user, start + (frame + 1) * period);
    }
    return ok;
}

void frames_report(struct frames *frames)
{
    const uint32_t n_frames = frames->seconds * frames->fps;
    durations_print(&frames->intervals, "intervals of frames");
    printf("frames missed: %u of %u at %u Hz\n", frames->n_missed, n_frames, frames->fps);
    durations_print(&frames->renders, "times of rendering");
}

bool frames_write(struct frames *frames)
{
    char path[4096];
    bool ok = true;
    for (uint32_t i = 0; i < N_PICTURES; i++) {
        snprintf(path, sizeof(path), "%s/%s-%u.png", frames->png_dir ? frames->png_dir : "",
                 frames->name, i);
        if (frames->pictures[i] && !png_write(path, frames->pictures[i], SIGN_WIDTH, SIGN_HEIGHT)) {
            perror(path);
            ok = false;
        }
        free(frames->pictures[i]);
        frames->pictures[i] = NULL;
    }
    return ok;
}

void frames_close(struct frames *frames)
{
    sign_close(&frames->sign);
    screen_close(&frames->screen);
    durations_finish(&frames->intervals);
    durations_finish(&frames->renders);
}
