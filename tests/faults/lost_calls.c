// Preloaded into a program: loses one call of OpenGL ES, as a driver may, without an error. The
// variables LOST_COPY, LOST_DISPATCH and SHORT_GRID have the number of the call, from 1: a copy
// between buffers or a dispatch is left out, a dispatch has one group less along its longest axis.
// With LOST_COUNT the numbers of copies and dispatches are printed at the end.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <GLES3/gl31.h>

static atomic_long n_copies, n_dispatches;

static long wanted(const char *name)
{
    const char *value = getenv(name);
    return value ? strtol(value, NULL, 10) : 0;
}

// Returns GL's own function.
static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) {
        abort();
    }
    return function;
}

static void __attribute__((destructor)) print_counts(void)
{
    if (getenv("LOST_COUNT")) {
        fprintf(stderr, "lost_calls: %ld copies, %ld dispatches\n", n_copies, n_dispatches);
    }
}

void glCopyBufferSubData(GLenum from, GLenum to, GLintptr source, GLintptr target, GLsizeiptr size)
{
    void (*copy)(GLenum, GLenum, GLintptr, GLintptr, GLsizeiptr) = real("glCopyBufferSubData");
    if (++n_copies != wanted("LOST_COPY")) {
        copy(from, to, source, target, size);
    }
}

void glDispatchCompute(GLuint x, GLuint y, GLuint z)
{
    void (*dispatch)(GLuint, GLuint, GLuint) = real("glDispatchCompute");
    const long n = ++n_dispatches;
    if (n == wanted("SHORT_GRID")) {
        GLuint *longest = x >= y && x >= z ? &x : y >= z ? &y : &z;
        --*longest;
    }
    if (n != wanted("LOST_DISPATCH")) {
        dispatch(x, y, z);
    }
}
