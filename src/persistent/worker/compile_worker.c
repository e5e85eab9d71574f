// glinfer-compile DEVICE CACHE given|default: compiles the job on standard input for the program
// cache. Started by the library; not for people.
#include "persistent/compile_job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    MAX_SECONDS = 600, // that a compiler may take
    NICENESS = 10,
};

// Leaves the terminal, the signals and the priority of whoever is being answered to them.
static void step_aside(void)
{
    setsid();
    signal(SIGCHLD, SIG_DFL);
    signal(SIGALRM, SIG_DFL); // an ignored signal stays ignored across exec
    signal(SIGXFSZ, SIG_IGN); // a limit of file sizes becomes a failed write
    setpriority(PRIO_PROCESS, 0, NICENESS);
    alarm(MAX_SECONDS);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        return 2;
    }
    const pid_t child = fork();
    if (child != 0) { // the parent waits for this process alone
        return child < 0;
    }
    step_aside();
    char *job = malloc(GI_COMPILE_JOB_SIZE + 1);
    const size_t size = job ? fread(job, 1, GI_COMPILE_JOB_SIZE, stdin) : 0;
    if (!job) {
        return 1;
    }
    job[size] = '\0';
    const char *cache_dir = strcmp(argv[3], "given") == 0 ? argv[2] : NULL;
    const bool ok = gi_compile_job_run(job, size, argv[1], cache_dir, NULL);
    free(job);
    return ok ? 0 : 1;
}
