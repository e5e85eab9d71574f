#include "engine/compile_job.h"

#include "base/cache_file.h"
#include "engine/device.h"
#include "engine/persistent_verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

//-- bytes -----------------------------------------------------------------------------------------

#define HEAD "glinfer %s compiles, capability %" PRIx32 ", key %016" PRIx64 "%016" PRIx64 "\n"

char *gi_compile_job_format(const struct gi_compile_job *job, size_t *size,
                            struct glinfer_error *err)
{
    const size_t capacity = strlen(job->text) + 256;
    char *data = malloc(capacity);
    if (!data) {
        gi_error_no_memory(err, capacity, "a program to compile");
        return NULL;
    }
    *size = (size_t)snprintf(data, capacity, HEAD "%s", glinfer_version(), job->capability,
                             job->key.lo, job->key.hi, job->text);
    return data;
}

bool gi_compile_job_parse(const char *data, size_t size, struct gi_compile_job *job,
                          struct glinfer_error *err)
{
    char head[256];
    const char *end = memchr(data, '\n', size);
    const int n =
        sscanf(data, "glinfer %*31s compiles, capability %8" SCNx32 ", key %16" SCNx64 "%16" SCNx64,
               &job->capability, &job->key.lo, &job->key.hi);
    snprintf(head, sizeof(head), HEAD, glinfer_version(), job->capability, job->key.lo,
             job->key.hi);
    if (n != 3 || !end || strncmp(data, head, strlen(head)) != 0 || strlen(data) != size) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "this is no program to compile, or one of another version of glinfer");
    }
    job->text = end + 1;
    return true;
}

//-- compiling -------------------------------------------------------------------------------------

static bool compile(struct glinfer_device *device, const struct gi_compile_job *job,
                    struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    uint32_t index;
    if (!gi_gpu_enter(device->gpu, &saved, err)) {
        return false;
    }
    struct gi_program_table *programs = gi_program_table_create(device->gpu, err);
    const bool ok = programs &&
                    gi_program_table_request_text(programs, "persistent", job->text,
                                                  job->capability, &index, err) &&
                    gi_program_table_build(programs, NULL, NULL, err);
    gi_program_table_destroy(programs);
    gi_gpu_leave(device->gpu, &saved);
    return ok;
}

// One process at a time, so that what several ask for is compiled once and found by the others.
static bool compile_locked(struct glinfer_device *device, const struct gi_compile_job *job,
                           struct glinfer_error *err)
{
    struct glinfer_error own;
    const int lock = device->verdict_folder ? gi_cache_lock(device->verdict_folder, ".lock") : -1;
    if (lock < 0) {
        return gi_error_set(err, GLINFER_STATUS_IO, "programs cannot be kept in %s (%s)",
                            device->verdict_folder ? device->verdict_folder : "no cache folder",
                            device->verdict_folder ? strerror(errno) : "there is none");
    }
    const bool ok = compile(device, job, &own);
    if (!ok && own.status == GLINFER_STATUS_DRIVER) {
        const struct gi_verdict refused = {.kind = GI_VERDICT_REFUSED};
        gi_verdict_store(device->verdict_folder, &job->key, &refused);
    }
    close(lock);
    return ok || gi_error_set(err, own.status, "%s", own.message);
}

bool glinfer_device_compile(struct glinfer_device *device, const void *job, size_t size,
                            struct glinfer_error *err)
{
    struct gi_compile_job parsed;
    char *data = malloc(size + 1); // ends in 0, as what is parsed must
    if (!data) {
        return gi_error_no_memory(err, size, "a program to compile");
    }
    memcpy(data, job, size);
    data[size] = '\0';
    const bool ok =
        gi_compile_job_parse(data, size, &parsed, err) && compile_locked(device, &parsed, err);
    free(data);
    return ok;
}
