#include "tests/unit/failing_alloc.h"

#include <stdbool.h>
#include <stddef.h>

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the names are the linker's
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long allocations_left = -1;

void fail_allocations_after(long n)
{
    allocations_left = n;
}

static bool is_allocation_refused(void)
{
    return allocations_left >= 0 && (allocations_left == 0 || allocations_left-- == 0);
}

void *__wrap_malloc(size_t size)
{
    return is_allocation_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return is_allocation_refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_allocation_refused() ? NULL : __real_realloc(old, size);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
