// Preloaded into a program: loses one call of OpenGL ES, as a driver may, without an error. The
// variables LOST_COPY, LOST_DISPATCH and SHORT_GRID have the number of the call, from 1: a copy
// between buffers or a dispatch is left out, a dispatch has one group less along its longest axis.
// The file LOST_COUNT gets the numbers of copies and of dispatches so far.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)
#include <GLES3/gl31.h>

static atomic_long n_copies, n_dispatches;

static long wanted(const char *name)
{
    const char *value = getenv(name);
    return value ? strtol(value, NULL, 10) : 0;
}

// Sets a pointer to GL's own function.
static void find_real(const char *name, void *function, size_t size)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        abort();
    }
    memcpy(function, &found, size);
}

static void write_counts(void)
{
    const char *path = getenv("LOST_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld %ld\n", n_copies, n_dispatches);
        fclose(file);
    }
}

void glCopyBufferSubData(GLenum readTarget, GLenum writeTarget, GLintptr readOffset,
                         GLintptr writeOffset, GLsizeiptr size)
{
    void (*copy)(GLenum, GLenum, GLintptr, GLintptr, GLsizeiptr);
    find_real("glCopyBufferSubData", (void *)&copy, sizeof(copy));
    if (++n_copies != wanted("LOST_COPY")) {
        copy(readTarget, writeTarget, readOffset, writeOffset, size);
    }
    write_counts();
}

void glDispatchCompute(GLuint num_groups_x, GLuint num_groups_y, GLuint num_groups_z)
{
    void (*dispatch)(GLuint, GLuint, GLuint);
    find_real("glDispatchCompute", (void *)&dispatch, sizeof(dispatch));
    const long n = ++n_dispatches;
    GLuint x = num_groups_x, y = num_groups_y, z = num_groups_z;
    if (n == wanted("SHORT_GRID")) {
        GLuint *longest = x >= y && x >= z ? &x : y >= z ? &y : &z;
        --*longest;
    }
    if (n != wanted("LOST_DISPATCH")) {
        dispatch(x, y, z);
    }
    write_counts();
}
