// Feeds bytes to the program cache as its files, with a driver that takes every binary: it gets
// only those of files that are whole and of their key, and they lie within the file. The first byte
// of an input says whether its key and hash are mended, so that damage after them is reached too.
#include "gpu/device/gpu_private.h"
#include "gpu/program/program_cache.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/wrap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 48, KEY_AT = 8, HASH_AT = 24, MAX_SIZE = 4096 }; // bytes of a file

//-- the driver ------------------------------------------------------------------------------------

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the names are the linker's

static size_t file_size, n_linked;
static unsigned sum; // of all bytes that were handed out

WRAP(GLuint, glCreateProgram, void)
{
    return 1;
}

WRAP(void, glProgramBinary, GLuint program, GLenum format, const void *binary, GLsizei size)
{
    (void)program;
    FUZZ_CHECK(size > 0 && (size_t)size == file_size - HEAD);
    for (GLsizei i = 0; i < size; i++) {
        sum += ((const uint8_t *)binary)[i] + format;
    }
    n_linked++;
}

WRAP(void, glGetProgramiv, GLuint program, GLenum name, GLint *value)
{
    (void)name;
    *value = program != 0;
}

WRAP(void, glDeleteProgram, GLuint program)
{
    FUZZ_CHECK(program == 1);
}

WRAP(GLenum, glGetError, void)
{
    return GL_NO_ERROR;
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

//-- the file --------------------------------------------------------------------------------------

// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's name

static uint8_t file[MAX_SIZE];

// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's name
WRAP(char *, gi_cache_read, const char *folder, const char *name, size_t max_size, size_t *size)
{
    (void)folder;
    (void)name;
    errno = EFBIG;
    char *copy = file_size <= max_size ? malloc(file_size + 1) : NULL;
    if (copy) {
        memcpy(copy, file, file_size);
        copy[file_size] = 0;
        *size = file_size;
    }
    return copy;
}

static void mend(const struct gi_hash *key)
{
    struct gi_hash hash;
    if (file_size > HEAD) {
        gi_hash_init(&hash);
        gi_hash_add(&hash, file + HEAD, file_size - HEAD);
        memcpy(file + KEY_AT, key, sizeof(*key));
        memcpy(file + HASH_AT, &hash, sizeof(hash));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gi_gpu gpu;
    static char folder[] = "folder";
    const struct gi_hash key = {.lo = 3, .hi = 4};
    struct gi_program_cache cache = {.gpu = &gpu, .dir = folder, .has_binaries = true};
    char text[200];
    if (size == 0 || size > sizeof(file)) {
        return 0;
    }
    file_size = size - 1;
    memcpy(file, data + 1, file_size);
    if (data[0] & 1) {
        mend(&key);
    }
    n_linked = 0;
    FUZZ_CHECK(gi_program_cache_load(&cache, &key) == n_linked);
    if (gi_program_cache_recall(&cache, &key, text) != GI_FINDING_NONE) {
        FUZZ_CHECK(memchr(text, 0, sizeof(text)) && !strchr(text, '\n'));
    }
    return 0;
}
