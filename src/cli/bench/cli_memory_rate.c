#include "cli/bench/cli_memory_rate.h"

#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

// Measures the GB/s that the device moves at most; 0 where that cannot be done.
static double memory_rate(const struct cli_device_flags *flags)
{
    struct glinfer_device_params params;
    struct glinfer_device_rates rates = {.struct_size = sizeof(rates)};
    cli_device_params(flags, &params);
    params.log = NULL;
    struct glinfer_device *device = glinfer_device_create(&params, NULL);
    const bool is_measured = device && glinfer_device_measure(device, &rates, NULL);
    glinfer_device_destroy(&device);
    return is_measured ? fmax(rates.copy_gb_per_s, rates.read_gb_per_s) : 0;
}

double cli_memory_rate(const struct cli_device_flags *flags)
{
    int ends[2];
    double rate = 0;
    if (pipe(ends) != 0) {
        return 0;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        rate = memory_rate(flags);
        _exit(write(ends[1], &rate, sizeof(rate)) == sizeof(rate) ? 0 : 1);
    }
    close(ends[1]);
    if (child > 0 && read(ends[0], &rate, sizeof(rate)) != sizeof(rate)) {
        rate = 0;
    }
    close(ends[0]);
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
    return rate;
}
