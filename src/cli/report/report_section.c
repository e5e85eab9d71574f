#include "cli/report/report_section.h"

#include "cli/common/cli_io.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { OUT, MESSAGES, N_FILES };

// Starts glinfer itself with these words; returns 0 or an errno.
static int start(const struct report_section *section, const int files[N_FILES], pid_t *pid)
{
    const char *argv[REPORT_MAX_WORDS + 2] = {"glinfer"};
    const char *kept = getenv("GLINFER_DISPATCH");
    char *before = kept ? cli_copy(kept) : NULL;
    posix_spawn_file_actions_t actions;
    memcpy(argv + 1, section->words, sizeof(section->words));
    int error = posix_spawn_file_actions_init(&actions);
    if (error) {
        free(before);
        return error;
    }
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, files[OUT], STDOUT_FILENO);
    error =
        error ? error : posix_spawn_file_actions_adddup2(&actions, files[MESSAGES], STDERR_FILENO);
    if (section->dispatch) {
        setenv("GLINFER_DISPATCH", section->dispatch, 1);
    }
    error =
        error ? error : posix_spawn(pid, "/proc/self/exe", &actions, NULL, (char **)argv, environ);
    if (section->dispatch && before) {
        setenv("GLINFER_DISPATCH", before, 1);
    } else if (section->dispatch) {
        unsetenv("GLINFER_DISPATCH");
    }
    posix_spawn_file_actions_destroy(&actions);
    free(before);
    return error;
}

// Waits for the process and samples readings twice a second. Kills it after max_seconds or an
// interrupt. Writes the reason of a failure into why, "" without one.
static void wait_for(pid_t pid, double max_seconds, struct report_readings *readings, char why[80])
{
    const double begin = cli_now();
    double next = begin;
    int status = 0;
    why[0] = '\0';
    while (waitpid(pid, &status, WNOHANG) == 0) {
        const double now = cli_now();
        if (now - begin > max_seconds || cli_is_interrupted()) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            snprintf(why, 80, "was ended after %.0f s", now - begin);
            return;
        }
        if (now >= next) {
            report_sample("/sys", readings);
            next = now + 0.5;
        }
        usleep(20000);
    }
    if (WIFSIGNALED(status)) {
        snprintf(why, 80, "was killed by signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        snprintf(why, 80, "ended with status %d", WEXITSTATUS(status));
    }
}

// Appends what was written to a file, and a newline where it lacks one.
static void append_file(int fd, struct cli_bytes *text)
{
    char data[4096];
    ssize_t n;
    lseek(fd, 0, SEEK_SET);
    while ((n = read(fd, data, sizeof(data))) > 0) {
        cli_bytes_append(text, data, (size_t)n);
    }
    if (text->size > 0 && text->data[text->size - 1] != '\n') {
        cli_bytes_add(text, "\n");
    }
}

bool report_run(const struct report_section *section, double max_seconds,
                struct report_readings *readings, struct cli_bytes *text)
{
    const int files[N_FILES] = {memfd_create("out", MFD_CLOEXEC),
                                memfd_create("messages", MFD_CLOEXEC)};
    char why[80];
    pid_t pid = 0;
    int error = files[OUT] < 0 || files[MESSAGES] < 0 ? errno : start(section, files, &pid);
    if (error) {
        snprintf(why, sizeof(why), "cannot start: %s", strerror(error));
    } else {
        wait_for(pid, max_seconds, readings, why);
    }
    for (int i = N_FILES - 1; i >= 0; i--) {
        if (files[i] >= 0) {
            append_file(files[i], text);
            close(files[i]);
        }
    }
    if (why[0]) {
        cli_bytes_add(text, "FAILED: this section ");
        cli_bytes_add(text, why);
        cli_bytes_add(text, "\n");
    }
    return !cli_is_interrupted();
}
