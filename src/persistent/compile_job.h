// Compiles a slow program for the program cache in a separate process: NVIDIA's compiler delays the
// end of a context and of its process until it is done, and blocks all of GL for the last second.
// The process is the worker, a small program that is installed with the library
// (src/persistent/worker). It outlives its parent.
#pragma once

#include "base/error.h"
#include "base/hash.h"

#include <stdint.h>

struct gi_compile_job {
    struct gi_hash key;  // of the verdict, if it is refused (persistent/persistent_verdict.h)
    uint32_t capability; // of the kernel
    const char *text;    // of the kernel; borrowed
};

#define GI_COMPILE_JOB_SIZE (16 << 20) // bytes; a job this long may have been truncated

// Returns the job as bytes, owned by the caller, and their number in *size. NULL with NO_MEMORY.
char *gi_compile_job_format(const struct gi_compile_job *job, size_t *size,
                            struct glinfer_error *err);
// Parses a job from data[0..size), which a 0 follows; job->text points into it. Fails with
// INVALID_ARGUMENT if it is not a job, too long, or of another version of the library.
bool gi_compile_job_parse(const char *data, size_t size, struct gi_compile_job *job,
                          struct glinfer_error *err);

// Starts the worker on a device (as glinfer_device_info names it) and returns at once. cache_dir is
// that of glinfer_device_params. Fails with IO (the worker is not there, or cannot be started),
// NO_MEMORY.
bool gi_compile_job_start(const struct gi_compile_job *job, const char *device,
                          const char *cache_dir, struct glinfer_error *err);
// Runs a job in the worker: compiles the program for the cache and blocks until the driver is done.
// Returns true at once if another process compiles it. A program that the driver refused twice, or
// that ended three processes, gets a verdict. Fails with INVALID_ARGUMENT (not a job, or one of
// another version), IO (the cache cannot be written), NO_DEVICE, DRIVER, NO_MEMORY, GPU_LOST.
bool gi_compile_job_run(const char *data, size_t size, const char *device, const char *cache_dir,
                        struct glinfer_error *err);
