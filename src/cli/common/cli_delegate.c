#include "cli/common/cli_delegate.h"

#include "cli/common/cli_io.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
    MAX_JOB = 16 << 20, // bytes
    MAX_SECONDS = 600,  // that a compiler may take
    NICENESS = 10,
};

//-- asking ----------------------------------------------------------------------------------------

// The job in a file without a name, from its start.
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

static void *await_process(void *pid)
{
    waitpid((pid_t)(intptr_t)pid, NULL, 0);
    return NULL;
}

// Somebody must wait for a process, or its entry stays in the system's table: a thread, as to ignore SIGCHLD would be
// to lose how other processes end. Signals are left to who expects them.
static void await_aside(pid_t pid)
{
    pthread_t thread;
    sigset_t all, own;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &own);
    if (pthread_create(&thread, NULL, await_process, (void *)(intptr_t)pid) == 0) {
        pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &own, NULL);
}

static bool start_process(int input, const char *device, pid_t *pid)
{
    char *const argv[] = {(char *)"glinfer", (char *)CLI_COMPILE_JOB, (char *)device, NULL};
    posix_spawn_file_actions_t files;
    if (posix_spawn_file_actions_init(&files) != 0) {
        return false;
    }
    const bool ok =
        posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO) == 0 &&
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn(pid, "/proc/self/exe", &files, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    return ok;
}

bool cli_delegate(void *user, const void *job, size_t size)
{
    const char *const *device = user;
    FILE *file = write_job(job, size);
    pid_t pid;
    const bool ok = file && start_process(fileno(file), *device, &pid);
    if (file) {
        fclose(file);
    }
    if (ok) {
        await_aside(pid);
    }
    return ok;
}

//-- compiling -------------------------------------------------------------------------------------

static int compile(const char *name, const void *job, size_t size)
{
    struct glinfer_device_params params;
    glinfer_device_params_init(&params);
    params.device = name;
    params.allow_software = true;
    struct glinfer_device *device = glinfer_device_create(&params, NULL);
    const bool ok = device && glinfer_device_compile(device, job, size, NULL);
    glinfer_device_destroy(&device);
    return ok ? CLI_EXIT_DONE : CLI_EXIT_FAILED;
}

// Out of the way of who is being answered, and of the signals of its terminal.
int cli_compile_job(int argc, const char *const *argv)
{
    char *job = malloc(MAX_JOB);
    if (!job) {
        return CLI_EXIT_FAILED;
    }
    setsid();
    signal(SIGCHLD, SIG_DFL);
    signal(SIGALRM, SIG_DFL); // what is ignored would stay so
    setpriority(PRIO_PROCESS, 0, NICENESS);
    alarm(MAX_SECONDS);
    const size_t size = fread(job, 1, MAX_JOB, stdin);
    const int status = compile(argc > 0 ? argv[0] : NULL, job, size);
    free(job);
    return status;
}
