// The bytes by which one process has a program compiled by another.
#include "persistent/compile_job.h"
#include "tests/unit/cmocka_test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct gi_compile_job some_job = {
    .key = {0x0123456789abcdef, 0xfedcba9876543210},
    .capability = 0x281,
    .text = "void main()\n{\n}\n",
};

TEST(a_job_reads_as_it_was_written)
{
    struct gi_compile_job found;
    size_t size;
    char *data = gi_compile_job_format(&some_job, &size, NULL);
    assert_non_null(data);
    assert_int_equal(strlen(data), size);
    assert_true(gi_compile_job_parse(data, size, &found, NULL));
    assert_memory_equal(&found.key, &some_job.key, sizeof(found.key));
    assert_int_equal(found.capability, some_job.capability);
    assert_string_equal(found.text, some_job.text);
    free(data);
}

// All of its first line counts; the text is the compiler's to judge.
TEST(a_damaged_job_is_refused)
{
    struct gi_compile_job found;
    size_t size;
    char *data = gi_compile_job_format(&some_job, &size, NULL);
    assert_non_null(data);
    const size_t head = (size_t)(strchr(data, '\n') - data);
    for (size_t i = 0; i <= head; i++) {
        const char sound = data[i];
        data[i] = '~';
        must_fail(gi_compile_job_parse(data, size, &found, &err), INVALID_ARGUMENT, "");
        data[i] = '\0';
        must_fail(gi_compile_job_parse(data, i, &found, &err), INVALID_ARGUMENT, "");
        data[i] = sound;
    }
    data[size - 3] = '\0'; // a text that ends before the bytes do
    must_fail(gi_compile_job_parse(data, size, &found, &err), INVALID_ARGUMENT, "");
    free(data);
}

// The worker reads only a limited number of bytes.
TEST(a_job_that_may_be_cut_is_refused)
{
    struct gi_compile_job job = some_job, found;
    char *text = malloc(GI_COMPILE_JOB_SIZE);
    size_t size;
    assert_non_null(text);
    memset(text, ' ', GI_COMPILE_JOB_SIZE);
    text[GI_COMPILE_JOB_SIZE - 1] = '\0';
    job.text = text;
    char *data = gi_compile_job_format(&job, &size, NULL);
    assert_non_null(data);
    data[GI_COMPILE_JOB_SIZE] = '\0';
    must_fail(gi_compile_job_parse(data, GI_COMPILE_JOB_SIZE, &found, &err), INVALID_ARGUMENT, "");
    data[GI_COMPILE_JOB_SIZE - 1] = '\0';
    must_do(gi_compile_job_parse(data, GI_COMPILE_JOB_SIZE - 1, &found, &err));
    free(data);
    free(text);
}

//-- starting --------------------------------------------------------------------------------------

// Starts a job by a worker of these bytes, which lies where the library looks for its own.
static bool start_by(const char *worker, struct glinfer_error *err)
{
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
    assert_true(n > 0);
    path[n] = '\0';
    strcpy(strrchr(path, '/'), "/glinfer-compile");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(worker, file);
    fclose(file);
    chmod(path, 0700);
    const bool ok = gi_compile_job_start(&some_job, "auto", NULL, err);
    unlink(path);
    return ok;
}

TEST(a_worker_that_cannot_be_started_says_why)
{
    struct glinfer_error err;
    errno = 0;
    assert_fails(start_by("this is not a program\n", &err), err, IO, "");
    assert_non_null(strstr(err.message, strerror(ENOEXEC)));
}

TEST(a_worker_that_fails_at_once_is_an_error)
{
    must_do(start_by("#!/bin/sh\nexit 0\n", &err));
    must_fail(start_by("#!/bin/sh\nexit 1\n", &err), IO, "");
}

static void ignore_alarm(int number)
{
    (void)number;
}

TEST(signals_leave_no_zombie)
{
    const struct sigaction action = {.sa_handler = ignore_alarm}; // without SA_RESTART
    const struct itimerval soon = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    struct glinfer_error err;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    const bool ok = start_by("#!/bin/sh\nsleep 0.3\n", &err);
    setitimer(ITIMER_REAL, &never, NULL);
    assert_true(ok);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

RUN_TESTS(NULL, NULL)
