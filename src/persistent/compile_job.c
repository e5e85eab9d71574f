#include "persistent/compile_job.h"

#include "base/cache_file.h"
#include "gpu/device/settings.h"
#include "gpu/program/program_table.h"
#include "persistent/persistent_verdict.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

// Returns the number of n hexadecimal digits; undefined for other characters.
static uint64_t read_digits(const char *digits, size_t n)
{
    char text[17] = "";
    memcpy(text, digits, n);
    return strtoull(text, NULL, 16);
}

// Takes bytes only if their head is what would be written of their job.
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
    if (size >= GI_COMPILE_JOB_SIZE || !*head || strncmp(data, head, strlen(head)) != 0 ||
        strlen(data) != size) {
        return gi_error_set(
            err, GLINFER_STATUS_INVALID_ARGUMENT,
            "invalid compile job: damaged, or written by another version of glinfer");
    }
    return true;
}

//-- starting --------------------------------------------------------------------------------------

extern char **environ;

// Names the worker beside the file that this code is in, or where it is installed from there.
static bool find_worker(char *path, size_t size)
{
    static const char anchor; // in the file that is asked for
    static const char *const places[] = {"glinfer-compile", GI_WORKER_FROM_LIBRARY};
    Dl_info info;
    if (dladdr(&anchor, &info) == 0 || !info.dli_fname) {
        return false;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    const int length = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const int n = snprintf(path, size, "%.*s%s", length, info.dli_fname, places[i]);
        if (n > 0 && (size_t)n < size && access(path, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

// Writes the job to a file without a name, read from its start.
static FILE *write_job(const void *job, size_t size)
{
    FILE *file = tmpfile();
    if (file && (fwrite(job, 1, size, file) != size || fflush(file) != 0 ||
                 fseek(file, 0, SEEK_SET) != 0)) {
        fclose(file);
        return NULL;
    }
    return file;
}

// Starts the worker and waits for its first process, which ends at once and leaves the second to
// nobody. False with errno, EAGAIN where there is no second one.
static bool spawn(const char *path, int input, const char *device, const char *cache_dir)
{
    char *const argv[] = {(char *)path, (char *)device, (char *)(cache_dir ? cache_dir : ""),
                          (char *)(cache_dir ? "given" : "default"), NULL};
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = 0, error = posix_spawn_file_actions_init(&files);
    if (error == 0) {
        error = posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
        for (int fd = STDOUT_FILENO; error == 0 && fd <= STDERR_FILENO; fd++) {
            error = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
        }
        error = error ? error : posix_spawn(&pid, path, &files, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    while (error == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    errno = error ? error : EAGAIN;
    return error == 0 && status == 0;
}

bool gi_compile_job_start(const struct gi_compile_job *job, const char *device,
                          const char *cache_dir, struct glinfer_error *err)
{
    char path[4096];
    size_t size;
    if (!find_worker(path, sizeof(path))) {
        return gi_error_set(err, GLINFER_STATUS_IO, "glinfer-compile is not installed");
    }
    char *data = gi_compile_job_format(job, &size, err);
    if (!data) {
        return false;
    }
    FILE *file = write_job(data, size);
    const bool ok =
        (file && spawn(path, fileno(file), device, cache_dir)) ||
        gi_error_set(err, GLINFER_STATUS_IO, "%s cannot be started (%s)", path, strerror(errno));
    if (file) {
        fclose(file);
    }
    free(data);
    return ok;
}

//-- compiling -------------------------------------------------------------------------------------

enum { MAX_BEGUN = 3 }; // times that a program is given to a compiler that does not come back

static bool compile(struct gi_gpu *gpu, const struct gi_compile_job *job, struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    uint32_t index;
    if (!gi_gpu_enter(gpu, &saved, err)) {
        return false;
    }
    struct gi_program_table *programs = gi_program_table_create(gpu, err);
    const bool ok = programs &&
                    gi_program_table_request_text(programs, "persistent", job->text,
                                                  job->capability, &index, err) &&
                    gi_program_table_build(programs, NULL, NULL, err);
    gi_program_table_destroy(programs);
    gi_gpu_leave(gpu, &saved);
    return ok;
}

static bool compile_on(const char *device, const char *cache_dir, const struct gi_compile_job *job,
                       struct glinfer_error *err)
{
    const struct gi_platform_params params = {.device = device, .allow_software = true};
    struct gi_settings settings;
    gi_settings_read(&settings, NULL);
    const struct gi_gpu_params gpu_params = {.cache_dir = cache_dir, .settings = &settings};
    struct gi_platform *platform = gi_platform_open(&params, err);
    struct gi_gpu *gpu = platform ? gi_gpu_create(platform, &gpu_params, err) : NULL;
    const bool ok = gpu && compile(gpu, job, err);
    gi_gpu_destroy(gpu);
    gi_platform_close(platform);
    return ok;
}

// A compiler that crashes leaves the lock in place, since it would crash at every start.
static bool begin(struct gi_verdict_lock *lock, struct glinfer_error *err)
{
    if (lock->n_begun >= MAX_BEGUN) {
        return gi_error_set(err, GLINFER_STATUS_DRIVER,
                            "the driver's compiler ended its process %d times", MAX_BEGUN);
    }
    return gi_verdict_begin(lock) ||
           gi_error_set(err, GLINFER_STATUS_IO, "programs cannot be kept (%s)", strerror(errno));
}

// Compiles what no other process compiles already.
static bool compile_once(const struct gi_compile_job *job, const char *device,
                         const char *cache_dir, const char *folder, struct glinfer_error *err)
{
    struct gi_verdict_lock lock;
    struct glinfer_error own = {0};
    if (!gi_verdict_lock(folder, &job->key, &lock)) {
        return errno == EWOULDBLOCK ||
               gi_error_set(err, GLINFER_STATUS_IO, "programs cannot be kept in %s (%s)", folder,
                            strerror(errno));
    }
    const bool ok = begin(&lock, &own) && compile_on(device, cache_dir, job, &own);
    gi_verdict_unlock(folder, &job->key, &lock, !ok && own.status == GLINFER_STATUS_DRIVER);
    return ok || gi_error_pass(err, &own);
}

bool gi_compile_job_run(const char *data, size_t size, const char *device, const char *cache_dir,
                        struct glinfer_error *err)
{
    struct gi_compile_job job;
    char *folder = gi_cache_folder(cache_dir, "persistent");
    const bool ok = gi_compile_job_parse(data, size, &job, err) &&
                    (folder ? compile_once(&job, device, cache_dir, folder, err)
                            : gi_error_set(err, GLINFER_STATUS_IO, "there is no cache"));
    free(folder);
    return ok;
}
