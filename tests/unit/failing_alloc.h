// Allocations that fail on demand. The linker sends the calls of the code under test here: link
// with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc.
#pragma once

// Lets n allocations pass and refuses all after them; -1: none is refused.
void fail_allocations_after(long n);
// Lets n allocations pass, refuses one and lets all after it pass.
void fail_one_allocation(long n);
// Returns how many were asked for since the last call of either.
long count_allocations(void);
