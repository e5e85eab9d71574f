#include "tests/unit/failing_alloc.h"

#include "tests/unit/wrap.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

// Threads of the code under test allocate too.
static _Atomic long n_allocations, first_refused = -1, end_refused;

void fail_allocations_after(long n)
{
    first_refused = n;
    end_refused = LONG_MAX;
    n_allocations = 0;
}

void fail_one_allocation(long n)
{
    fail_allocations_after(n);
    end_refused = n + 1;
}

long count_allocations(void)
{
    return n_allocations;
}

static bool is_allocation_refused(void)
{
    const long n = n_allocations++;
    return first_refused >= 0 && n >= first_refused && n < end_refused;
}

WRAP(void *, malloc, size_t size)
{
    return is_allocation_refused() ? NULL : __real_malloc(size);
}

WRAP(void *, calloc, size_t n, size_t size)
{
    return is_allocation_refused() ? NULL : __real_calloc(n, size);
}

WRAP(void *, realloc, void *old, size_t size)
{
    return is_allocation_refused() ? NULL : __real_realloc(old, size);
}
