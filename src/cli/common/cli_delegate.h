// Programs that take a driver long to compile, compiled by another process of this command: answers go on meanwhile,
// and the end of this process does not wait for it.
#ifndef CLI_DELEGATE_H
#define CLI_DELEGATE_H

#include "glinfer.h"

// The word that stands for the command in that process; not for people.
#define CLI_COMPILE_JOB "compile-job"

// A glinfer_delegate_fn. user is a const char *const *: the device asked for, NULL for auto.
bool cli_delegate(void *user, const void *job, size_t size);
// The command: compiles what stands on standard input. argv[0] is the device, if one was asked for. Returns the exit
// status.
int cli_compile_job(int argc, const char *const *argv);

#endif
