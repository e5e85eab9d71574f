#include "engine/run/compile_job.h"

#include "engine/api/device.h"
#include "persistent/persistent_verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- bytes -----------------------------------------------------------------------------------------

enum { HEAD_SIZE = 128 };

// The first line.
static void write_head(const struct gi_compile_job *job, char head[HEAD_SIZE])
{
    char digits[33];
    gi_hash_text(&job->key, digits);
    snprintf(head, HEAD_SIZE, "glinfer %s compiles %s, capability %08" PRIx32 "\n",
             glinfer_version(), digits, job->capability);
}

char *gi_compile_job_format(const struct gi_compile_job *job, size_t *size,
                            struct glinfer_error *err)
{
    char head[HEAD_SIZE];
    const size_t capacity = strlen(job->text) + sizeof(head);
    char *data = malloc(capacity);
    if (!data) {
        gi_error_no_memory(err, capacity, "a program to compile");
        return NULL;
    }
    write_head(job, head);
    *size = (size_t)snprintf(data, capacity, "%s%s", head, job->text);
    return data;
}

// The number of n hexadecimal digits that begin there; any number where they are none.
static uint64_t read_digits(const char *digits, size_t n)
{
    char text[17] = "";
    memcpy(text, digits, n);
    return strtoull(text, NULL, 16);
}

// What was read must be what would be written.
bool gi_compile_job_parse(const char *data, size_t size, struct gi_compile_job *job,
                          struct glinfer_error *err)
{
    enum { NUMBER_BEHIND = 8, KEY_BEHIND = 32 + 13 + NUMBER_BEHIND }; // from the end of the line
    char head[HEAD_SIZE] = "";
    const char *end = memchr(data, '\n', size);
    *job = (struct gi_compile_job){.text = ""};
    if (end && end - data > KEY_BEHIND) {
        job->key.lo = read_digits(end - KEY_BEHIND, 16);
        job->key.hi = read_digits(end - KEY_BEHIND + 16, 16);
        job->capability = (uint32_t)read_digits(end - NUMBER_BEHIND, 8);
        job->text = end + 1;
        write_head(job, head);
    }
    if (!*head || strncmp(data, head, strlen(head)) != 0 || strlen(data) != size) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "this is no program to compile, or one of another version of glinfer");
    }
    return true;
}

//-- compiling -------------------------------------------------------------------------------------

enum { MAX_BEGUN = 3 }; // times that a program is given to a compiler that does not come back

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

// A compiler that ends its process leaves the lock behind: it would do so at every start.
static bool begin(struct gi_verdict_lock *lock, struct glinfer_error *err)
{
    if (lock->n_begun >= MAX_BEGUN) {
        return gi_error_set(err, GLINFER_STATUS_DRIVER,
                            "the driver's compiler ended its process %d times", MAX_BEGUN);
    }
    return gi_verdict_begin(lock) ||
           gi_error_set(err, GLINFER_STATUS_IO, "programs cannot be kept (%s)", strerror(errno));
}

// What a process compiles already no other one does.
static bool compile_once(struct glinfer_device *device, const struct gi_compile_job *job,
                         struct glinfer_error *err)
{
    const char *folder = device->verdict_folder;
    struct gi_verdict_lock lock;
    struct glinfer_error own = {0};
    if (!folder || !gi_verdict_lock(folder, &job->key, &lock)) {
        return (folder && errno == EWOULDBLOCK) ||
               gi_error_set(err, GLINFER_STATUS_IO, "programs cannot be kept in %s (%s)",
                            folder ? folder : "a cache",
                            folder ? strerror(errno) : "there is none");
    }
    const bool ok = begin(&lock, &own) && compile(device, job, &own);
    gi_verdict_unlock(folder, &job->key, &lock, !ok && own.status == GLINFER_STATUS_DRIVER);
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
        gi_compile_job_parse(data, size, &parsed, err) && compile_once(device, &parsed, err);
    free(data);
    return ok;
}
