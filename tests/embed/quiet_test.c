// Opens a model and answers, and looks at what the library's own code does beside that: files are
// written where the caller says and nowhere else, no process is started, threads end with the call,
// nothing is printed. What a driver does of its own is not seen. Runs on a tiny model; exits 77
// without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wrap.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>

enum { MAX_WRITTEN = 4096 };

static char written[MAX_WRITTEN]; // the first path outside of `allowed`
static const char *allowed;       // a folder, NULL: nothing may be written
static uint32_t n_written, n_spawned, n_started, n_ended;

//-- what is watched -------------------------------------------------------------------------------

static void watch(const char *path)
{
    n_written++;
    const size_t size = allowed ? strlen(allowed) : 0;
    if (!written[0] && (!allowed || strncmp(path, allowed, size) != 0)) {
        snprintf(written, sizeof(written), "%s", path);
    }
}

// True for Mesa's index of its shader cache, which is there: its blocks are reserved, and it keeps
// its contents.
static bool is_driver_index(const char *path, int flags)
{
    static const char end[] = "/mesa_shader_cache/index";
    const size_t size = strlen(path), n = sizeof(end) - 1;
    return !(flags & O_CREAT) && size > n && strcmp(path + size - n, end) == 0;
}

static void watch_open(const char *path, int flags)
{
    const bool is_read = (flags & O_ACCMODE) == O_RDONLY;
    if (!is_read && strncmp(path, "/dev/", 5) != 0 && !is_driver_index(path, flags)) {
        watch(path);
    }
}

static int take_mode(int flags, va_list *args)
{
    return flags & O_CREAT ? va_arg(*args, int) : 0;
}

#define WRAP_OPEN(name)                                                                            \
    int __real_##name(const char *path, int flags, ...);                                           \
    int __wrap_##name(const char *path, int flags, ...);                                           \
    int __wrap_##name(const char *path, int flags, ...)                                            \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        const int mode = take_mode(flags, &args);                                                  \
        va_end(args);                                                                              \
        watch_open(path, flags);                                                                   \
        return __real_##name(path, flags, mode);                                                   \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

#define WRAP_TEMPORARY(name)                                                                       \
    int __real_##name(char *path, int flags);                                                      \
    int __wrap_##name(char *path, int flags);                                                      \
    int __wrap_##name(char *path, int flags)                                                       \
    {                                                                                              \
        watch(path);                                                                               \
        return __real_##name(path, flags);                                                         \
    }
WRAP_TEMPORARY(mkostemp)
WRAP_TEMPORARY(mkostemp64)

WRAP(FILE *, fopen, const char *path, const char *mode)
{
    watch_open(path, mode[0] == 'r' && !strchr(mode, '+') ? O_RDONLY : O_RDWR);
    return __real_fopen(path, mode);
}

WRAP(int, mkdir, const char *path, mode_t mode)
{
    const int failure = __real_mkdir(path, mode);
    if (!failure) { // folders above are tried, too
        watch(path);
    }
    return failure;
}

WRAP(int, posix_spawn, pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    n_spawned++;
    return __real_posix_spawn(pid, path, actions, attributes, argv, envp);
}

WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,
     void *(*start)(void *), void *user)
{
    const int failure = __real_pthread_create(thread, attributes, start, user);
    n_started += failure == 0;
    return failure;
}

WRAP(int, pthread_join, pthread_t thread, void **result)
{
    n_ended++;
    return __real_pthread_join(thread, result);
}

//-- what the library does -------------------------------------------------------------------------

// Opens, answers and destroys; threads have ended after each call.
static void use(const char *cache_dir)
{
    struct tiny_model f = {0};
    struct answer answer = {0};
    float logprobs[N_PROMPT];
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 4, &answer);
    written[0] = '\0';
    n_written = n_spawned = 0;
    assert_true(tiny_model_open(&f, test_data("data/models/tiny-q4_0.gguf"), cache_dir));
    assert_int_equal(n_started, n_ended);
    struct glinfer_session *session = open_session(&f, 4, 64, 0);
    must_generate(session, &params);
    assert_int_equal(n_started, n_ended);
    assert_true(glinfer_score(session, prompt, N_PROMPT, logprobs, NULL));
    assert_true(glinfer_device_recover(f.device, NULL, NULL, NULL));
    glinfer_session_destroy(&session);
    tiny_model_close(&f);
    assert_int_equal(n_started, n_ended);
    assert_int_equal(n_spawned, 0);
    assert_string_equal(written, "");
}

TEST(without_a_cache_nothing_is_written)
{
    allowed = NULL;
    use("");
    assert_int_equal(n_written, 0);
}

TEST(files_are_written_in_the_cache_alone)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/given", temp_folder);
    allowed = path;
    use(path);
}

// The default, which glinfer.h documents.
TEST(the_default_cache_is_the_users)
{
    char path[64];
    assert_int_equal(setenv("XDG_CACHE_HOME", temp_folder, 1), 0);
    snprintf(path, sizeof(path), "%s/glinfer", temp_folder);
    allowed = path;
    use(NULL);
}

TEST(nothing_is_printed)
{
    struct stat st;
    char path[64];
    snprintf(path, sizeof(path), "%s/printed", temp_folder);
    const int file = __real_open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), out = dup(1),
              err = dup(2);
    assert_true(file >= 0 && fflush(stdout) == 0);
    dup2(file, 1);
    dup2(file, 2);
    use("");
    fflush(stdout);
    dup2(out, 1);
    dup2(err, 2);
    assert_int_equal(fstat(file, &st), 0);
    assert_int_equal(st.st_size, 0);
    close(file);
    close(out);
    close(err);
}

RUN_TESTS(make_temp_folder, remove_temp_folder)
