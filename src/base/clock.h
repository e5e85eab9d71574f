// The monotonic clock.
#ifndef GI_BASE_CLOCK_H
#define GI_BASE_CLOCK_H

#include <stdint.h>

// Returns nanoseconds since some fixed moment; never goes back.
uint64_t gi_clock_ns(void);

#endif
