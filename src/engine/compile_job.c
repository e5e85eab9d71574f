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

enum {
    MAX_BEGUN = 3,   // times that a program is given to a compiler that does not come back
    MAX_REFUSED = 2, // times that it is begun until a driver's refusal is believed
};

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

// Notes in the lock that compiling begins. A compiler that ends its process leaves the lock behind, a byte longer each
// time: it would do so at every start.
static bool begin(int lock, off_t n_begun, struct glinfer_error *err)
{
    if (n_begun >= MAX_BEGUN) {
        return gi_error_set(err, GLINFER_STATUS_DRIVER,
                            "the driver's compiler ended its process %d times", MAX_BEGUN);
    }
    return write(lock, "+", 1) == 1 ||
           gi_error_set(err, GLINFER_STATUS_IO, "programs cannot be kept (%s)", strerror(errno));
}

// A driver may refuse what it takes the next time, when there is more memory: then the lock stays behind, too.
static bool compile_or_note(struct glinfer_device *device, const struct gi_compile_job *job,
                            int lock, const char *name, struct glinfer_error *err)
{
    struct glinfer_error own = {0};
    const off_t n_begun = lseek(lock, 0, SEEK_END);
    const bool ok = begin(lock, n_begun, &own) && compile(device, job, &own);
    const bool is_refused = !ok && own.status == GLINFER_STATUS_DRIVER;
    if (is_refused && n_begun + 1 < MAX_REFUSED) {
        return gi_error_set(err, own.status, "%s", own.message);
    }
    if (is_refused) {
        const struct gi_verdict refused = {.kind = GI_VERDICT_REFUSED};
        gi_verdict_store(device->verdict_folder, &job->key, &refused);
    }
    gi_cache_remove(device->verdict_folder, name);
    return ok || gi_error_set(err, own.status, "%s", own.message);
}

// What a process compiles already no other one does.
static bool compile_once(struct glinfer_device *device, const struct gi_compile_job *job,
                         struct glinfer_error *err)
{
    char digits[33], name[40];
    gi_hash_text(&job->key, digits);
    snprintf(name, sizeof(name), ".%s", digits);
    const int lock = device->verdict_folder ? gi_cache_lock(device->verdict_folder, name) : -1;
    if (lock < 0 && device->verdict_folder && errno == EWOULDBLOCK) {
        return true;
    }
    if (lock < 0) {
        return gi_error_set(err, GLINFER_STATUS_IO, "programs cannot be kept in %s (%s)",
                            device->verdict_folder ? device->verdict_folder : "a cache",
                            device->verdict_folder ? strerror(errno) : "there is none");
    }
    const bool ok = compile_or_note(device, job, lock, name, err);
    close(lock);
    return ok;
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
