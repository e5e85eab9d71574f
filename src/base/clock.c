#include "base/clock.h"

#include <time.h>

#define SECOND 1000000000u

static uint64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

uint64_t gi_clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t gi_clock_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void gi_clock_sleep(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / SECOND), (long)(ns % SECOND)};
    nanosleep(&time, NULL);
}
