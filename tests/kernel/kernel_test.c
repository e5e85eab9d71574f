// Runs the cases of every kernel against their references. Exit status 77: there is no device.
#include "kernel_test.h"

#include "gpu/half_probe.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXIT_SKIPPED 77

struct options {
    const char *kernel; // pattern
    const char *match;  // part of a case's name, NULL: all
    uint64_t seed;
    bool is_bench, is_list;
};

static const char usage[] =
    "usage: kernel_test [--kernel=PATTERN] [--case=TEXT] [--seed=N] [--bench] [--list]\n";

static const char *option_value(const char *argument, const char *name)
{
    size_t size = strlen(name);
    return strncmp(argument, name, size) == 0 ? argument + size : NULL;
}

static bool parse_options(struct options *options, int argc, char **argv)
{
    *options = (struct options){.kernel = "*", .seed = (uint64_t)time(NULL)};
    for (int i = 1; i < argc; i++) {
        const char *value;
        if ((value = option_value(argv[i], "--kernel="))) {
            options->kernel = value;
        } else if ((value = option_value(argv[i], "--case="))) {
            options->match = value;
        } else if ((value = option_value(argv[i], "--seed="))) {
            options->seed = strtoull(value, NULL, 0);
        } else if (strcmp(argv[i], "--bench") == 0) {
            options->is_bench = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            options->is_list = true;
        } else {
            fputs(usage, stderr);
            return false;
        }
    }
    return true;
}

static void print_warning(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user;
    if (level <= GLINFER_LOG_WARN) {
        fprintf(stderr, "log: %s\n", message);
    }
}

static const struct gi_log warnings = {.fn = print_warning};

// FNV-1a of the names, so that a case draws the same numbers alone as among others.
static uint64_t case_seed(uint64_t seed, const char *kernel, const char *name)
{
    uint64_t hash = 0xCBF29CE484222325u ^ seed;
    for (const char *const *text = (const char *const[]){kernel, name, NULL}; *text; text++) {
        for (const char *c = *text; *c; c++) {
            hash = (hash ^ (uint8_t)*c) * 0x100000001B3u;
        }
    }
    return hash;
}

//-- one case --------------------------------------------------------------------------------------

static bool begin_run(struct kt_run *run)
{
    struct glinfer_error err;
    const struct gi_grid_slot counts[GI_MAX_SLOTS] = {0};
    run->step_state = kt_range(run, "step_state", &run->state, sizeof(run->state));
    run->step_counts = kt_range(run, "counts", counts, sizeof(counts));
    if (run->has_failed) {
        return false;
    }
    const struct gi_dispatch_table_params params = {run->step_state, run->step_counts};
    run->recorder.table = gi_dispatch_table_create(run->gpu, run->recorder.programs, &params, &err);
    return run->recorder.table || kt_fail(run, "%s", err.message);
}

static void end_run(struct kt_run *run)
{
    gi_dispatch_table_destroy(run->recorder.table);
    for (size_t i = 0; i < run->n_range; i++) {
        gi_buffer_finish(&run->ranges[i].buffer, run->gpu);
    }
}

static bool run_case(struct kt_run *run, const struct kt_suite *suite, size_t index)
{
    if (begin_run(run)) {
        suite->run(run, index);
    }
    end_run(run);
    return !run->has_failed;
}

//-- all cases -------------------------------------------------------------------------------------

struct device {
    struct gi_platform *platform;
    struct gi_gpu *gpu;
    struct gi_platform_saved saved;
    struct gi_program_table *programs;
};

struct tally {
    size_t n_run, n_failed;
};

static void run_suite(const struct device *device, const struct options *options,
                      const struct kt_suite *suite, struct tally *tally)
{
    for (size_t i = 0; i < suite->n_case; i++) {
        char name[160];
        suite->name(i, name, sizeof(name));
        if (options->match && !strstr(name, options->match)) {
            continue;
        }
        if (options->is_list) {
            printf("%s: %s\n", suite->kernel, name);
            continue;
        }
        struct kt_run run = {
            .gpu = device->gpu,
            .recorder = {.gpu = device->gpu, .programs = device->programs},
            .random = case_seed(options->seed, suite->kernel, name),
            .is_bench = options->is_bench,
            .kernel = suite->kernel,
            .case_name = name,
        };
        tally->n_failed += !run_case(&run, suite, i);
        tally->n_run++;
    }
}

static void run_suites(const struct device *device, const struct options *options,
                       const struct kt_suite *const *suites, struct tally *tally)
{
    for (const struct kt_suite *const *suite = suites; *suite; suite++) {
        if (fnmatch(options->kernel, (*suite)->kernel, 0) == 0) {
            run_suite(device, options, *suite, tally);
        }
    }
}

static void close_device(struct device *device)
{
    gi_program_table_destroy(device->programs);
    if (device->gpu) {
        gi_gpu_leave(device->gpu, &device->saved);
    }
    gi_gpu_destroy(device->gpu);
    gi_platform_close(device->platform);
}

static bool open_device(struct device *device, struct glinfer_error *err)
{
    const struct gi_platform_params platform_params = {
        .device = "auto", .allow_software = true, .debug = true, .log = &warnings};
    const struct gi_gpu_params gpu_params = {.cache_dir = "", .log = &warnings};
    memset(device, 0, sizeof(*device));
    device->platform = gi_platform_open(&platform_params, err);
    device->gpu = device->platform ? gi_gpu_create(device->platform, &gpu_params, err) : NULL;
    if (!device->gpu) {
        return false;
    }
    if (!gi_gpu_enter(device->gpu, &device->saved, err)) {
        gi_gpu_destroy(device->gpu);
        device->gpu = NULL;
        return false;
    }
    device->programs = gi_program_table_create(device->gpu, err);
    return device->programs && gi_half_probe(device->gpu, device->programs, err);
}

static int run_on_device(const struct options *options)
{
    struct device device;
    struct glinfer_error err;
    struct tally tally = {0};
    int status = EXIT_SUCCESS;
    if (open_device(&device, &err)) {
        const struct gi_platform_info *info = gi_platform_describe(device.platform);
        printf("%s, %s, %s\n", info->renderer, info->version,
               gi_gpu_limits(device.gpu)->is_indirect ? "indirect" : "direct");
        run_suites(&device, options, kt_suites, &tally);
        if (options->is_bench) {
            run_suites(&device, options, kt_bench_suites, &tally);
        }
        printf("%zu of %zu cases passed\n", tally.n_run - tally.n_failed, tally.n_run);
        status = tally.n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
    } else {
        printf("%s\n", err.message);
        status = err.status == GLINFER_STATUS_NO_DEVICE ? EXIT_SKIPPED : EXIT_FAILURE;
    }
    close_device(&device);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    if (!parse_options(&options, argc, argv)) {
        return 2;
    }
    if (options.is_list) {
        struct tally tally = {0};
        run_suites(&(struct device){0}, &options, kt_suites, &tally);
        run_suites(&(struct device){0}, &options, kt_bench_suites, &tally);
        return EXIT_SUCCESS;
    }
    printf("seed %llu\n", (unsigned long long)options.seed);
    return run_on_device(&options);
}
