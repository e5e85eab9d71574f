// A program that another process is to compile for the cache: the bytes that one device hands out through
// glinfer_device_params.delegate and another takes in glinfer_device_compile.
#ifndef GI_ENGINE_COMPILE_JOB_H
#define GI_ENGINE_COMPILE_JOB_H

#include "base/error.h"
#include "base/hash.h"

#include <stdint.h>

struct gi_compile_job {
    struct gi_hash key;  // of the verdict, if it is refused (persistent/persistent_verdict.h)
    uint32_t capability; // that the kernel needs
    const char *text;    // of the kernel; borrowed
};

// Returns the job as bytes, owned by the caller, and their number in *size. NULL with NO_MEMORY.
char *gi_compile_job_format(const struct gi_compile_job *job, size_t *size,
                            struct glinfer_error *err);
// Reads such bytes, which end in a 0 behind data[size]; job->text points into them. Fails with INVALID_ARGUMENT if
// they are none, or of another version of the library.
bool gi_compile_job_parse(const char *data, size_t size, struct gi_compile_job *job,
                          struct glinfer_error *err);

#endif
