// The hard limits on the memory of this process: its address space (ulimit -v) and its cgroup.
#ifndef GI_BASE_MEMORY_ROOM_H
#define GI_BASE_MEMORY_ROOM_H

#include <stdint.h>

// Returns how many more bytes the tightest limit lets this process take, and sets *limit to its
// name; UINT64_MAX and NULL without limits. Files in memory that can be read again count as free.
uint64_t gi_memory_room(const char **limit);

#endif
