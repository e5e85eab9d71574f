// The hard limits on the memory of this process: its address space (ulimit -v) and its cgroup.
#pragma once

#include "glinfer.h"

#include <stdbool.h>
#include <stdint.h>

// Returns how many more bytes the tightest limit lets this process take, and sets *limit to its
// name; UINT64_MAX and NULL without limits. Files in memory that can be read again count as free.
uint64_t gi_memory_room(const char **limit);

// Bytes of address space that compiling a program and running it for the first time may take (a
// session of SmolLM2 on llvmpipe: 24 MiB).
#define GI_ROOM_TO_COMPILE (UINT64_C(32) << 20)
// The same of opening a driver: llvmpipe of Mesa 22.3 takes 250 MiB with two processors, of Mesa 25
// 291, and the stack of a thread for each further one.
uint64_t gi_room_to_open(void);

// Fails with NO_MEMORY if less address space is left for a task: drivers do not look whether they
// get memory. task: a verb and its object, for the message.
bool gi_address_check(uint64_t needed, const char *task, struct glinfer_error *err);
