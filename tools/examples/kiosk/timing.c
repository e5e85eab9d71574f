#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <time.h>

double timing_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool timing_wait(double time, int fd)
{
    int n = 0;
    for (double left = time - timing_now(); left > 0 && n <= 0; left = time - timing_now()) {
        const struct timespec pause = {.tv_sec = (time_t)left,
                                       .tv_nsec = (long)(1e9 * (left - floor(left)))};
        fd_set set;
        FD_ZERO(&set);
        if (fd >= 0) {
            FD_SET(fd, &set);
        }
        n = pselect(fd + 1, fd >= 0 ? &set : NULL, NULL, NULL, &pause, NULL);
    }
    return n > 0;
}

void durations_add(struct durations *durations, double seconds)
{
    if (durations->count == durations->capacity) {
        const size_t capacity = durations->capacity ? 2 * durations->capacity : 4096;
        double *ms = realloc(durations->ms, capacity * sizeof(*ms));
        if (!ms) {
            return;
        }
        durations->ms = ms;
        durations->capacity = capacity;
    }
    durations->ms[durations->count++] = 1e3 * seconds;
}

double durations_share(const struct durations *durations, double ms)
{
    size_t n = 0;
    for (size_t i = 0; i < durations->count; i++) {
        n += durations->ms[i] <= ms;
    }
    return durations->count ? 100.0 * (double)n / (double)durations->count : 100.0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void durations_print(struct durations *durations, const char *title)
{
    static const double edges[] = {0.1, 0.5, 1,  2,  3,  4,  5,  6,  8,   10,  12,  14,
                                   16,  17,  18, 20, 24, 28, 34, 50, 100, 200, 500, INFINITY};
    const size_t count = durations->count;
    const double *ms = durations->ms;
    size_t first = 0;
    printf("%s: %zu", title, count);
    if (count) {
        qsort(durations->ms, count, sizeof(*ms), compare);
        printf("; median %.2f ms, 99 %% %.2f ms, longest %.2f ms", ms[count / 2],
               ms[(count - 1) * 99 / 100], ms[count - 1]);
    }
    puts("");
    for (size_t bin = 0; first < count; bin++) {
        size_t end = first;
        while (end < count && ms[end] <= edges[bin]) {
            end++;
        }
        if (end > first) {
            const double share = 100.0 * (double)(end - first) / (double)count;
            printf("  <= %5.1f ms %7zu %6.2f %% %.*s\n", edges[bin], end - first, share,
                   (int)(share / 2), "##################################################");
        }
        first = end;
    }
}

void durations_finish(struct durations *durations)
{
    free(durations->ms);
    *durations = (struct durations){0};
}
