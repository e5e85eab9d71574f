// The monotonic clock, and that of the CPU.
#pragma once

#include <stdint.h>

// Returns nanoseconds since some fixed moment; never goes back.
uint64_t gi_clock_ns(void);
// Returns the nanoseconds that all threads of the process have computed.
uint64_t gi_clock_cpu_ns(void);
// Sleeps.
void gi_clock_sleep(uint64_t ns);
