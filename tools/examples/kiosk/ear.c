#include "ear.h"

#include "timing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RATE = 16000, MAX_READ = 2 * RATE };

extern char **environ;

// Starts arecord with its output in a pipe.
static const char *start_recorder(struct ear *ear, const char *device)
{
    char name[128];
    char *const words[] = {"arecord", "-q", "-t", "raw", "-f", "S16_LE", "-r",
                           "16000",   "-c", "1",  "-D",  name, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    snprintf(name, sizeof(name), "%s", device);
    if (pipe(ends) != 0) {
        return strerror(errno);
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    const int error = posix_spawnp(&ear->recorder, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    ear->fd = ends[0];
    ear->recorder = error ? 0 : ear->recorder;
    return error ? "cannot start arecord; it is in the package alsa-utils" : NULL;
}

// Skips the header of a WAV file, which ends with the word "data" and a size.
static void skip_header(int fd)
{
    char word[4] = "";
    const bool is_wave = read(fd, word, 4) == 4 && memcmp(word, "RIFF", 4) == 0;
    ssize_t n = is_wave ? 2 : 0;
    while (n == 2 && memcmp(word, "data", 4) != 0) {
        memmove(word, word + 2, 2); // words begin at even places
        n = read(fd, word + 2, 2);
    }
    lseek(fd, is_wave ? 4 : 0, is_wave ? SEEK_CUR : SEEK_SET);
}

const char *ear_open(struct ear *ear, const char *name)
{
    const char *failure = NULL;
    *ear = (struct ear){.fd = -1, .start = timing_now()};
    if (strncmp(name, "mic", 3) == 0 && (name[3] == ':' || !name[3])) {
        failure = start_recorder(ear, name[3] ? name + 4 : "default");
    } else if (strcmp(name, "-") == 0) {
        ear->fd = dup(STDIN_FILENO);
    } else {
        ear->is_file = true;
        ear->fd = open(name, O_RDONLY | O_CLOEXEC);
        failure = ear->fd < 0 ? strerror(errno) : NULL;
    }
    if (!failure && ear->is_file) {
        skip_header(ear->fd);
    } else if (!failure) {
        fcntl(ear->fd, F_SETFL, fcntl(ear->fd, F_GETFL) | O_NONBLOCK);
    }
    return failure;
}

size_t ear_read(struct ear *ear, float *samples, size_t capacity, bool *is_ended)
{
    uint8_t bytes[MAX_READ];
    const double spoken = RATE * (timing_now() - ear->start) - (double)ear->n_read;
    size_t n_most = capacity < MAX_READ / 2 ? capacity : MAX_READ / 2;
    if (ear->is_file && spoken < (double)n_most) {
        n_most = spoken > 0 ? (size_t)spoken : 0;
    }
    if (n_most == 0) {
        return 0;
    }
    bytes[0] = ear->odd;
    const ssize_t n = read(ear->fd, bytes + ear->has_odd, 2 * n_most - ear->has_odd);
    *is_ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    if (n <= 0) {
        return 0;
    }
    const size_t n_byte = (size_t)n + ear->has_odd, count = n_byte / 2;
    for (size_t i = 0; i < count; i++) {
        samples[i] = (float)(int16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8) / 32768;
    }
    ear->has_odd = n_byte % 2;
    ear->odd = bytes[n_byte - 1];
    ear->n_read += count;
    return count;
}

void ear_close(struct ear *ear)
{
    if (ear->fd >= 0) {
        close(ear->fd); // before the wait: a recorder that writes to a full pipe does not end
    }
    if (ear->recorder > 0) {
        kill(ear->recorder, SIGTERM);
        waitpid(ear->recorder, NULL, 0);
    }
    *ear = (struct ear){.fd = -1};
}
