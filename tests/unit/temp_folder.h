// A folder of the test's own, and files in it.
#pragma once

#include "tests/unit/cmocka_test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char temp_folder[] = "/tmp/glinfer-test-XXXXXX";

static inline int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st, (void)kind, (void)place;
    return remove(path);
}

// Fixtures of cmocka, of a test or of a group: make the folder, and remove it with its files.
static inline int make_temp_folder(void **state)
{
    (void)state;
    snprintf(temp_folder, sizeof(temp_folder), "/tmp/glinfer-test-XXXXXX");
    return mkdtemp(temp_folder) ? 0 : -1;
}

static inline int remove_temp_folder(void **state)
{
    (void)state;
    nftw(temp_folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}

// Returns the path of a file in the folder, which is valid until the eighth call after this one.
static inline char *temp_path(const char *name)
{
    static char paths[8][128];
    static size_t n;
    char *path = paths[n++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", temp_folder, name);
    return path;
}

static inline void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

// Returns a file's bytes and a zero after them, which the caller frees.
static inline void *read_file(const char *path, size_t *size)
{
    struct stat st;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    *size = (size_t)st.st_size;
    char *data = calloc(*size + 1, 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, file), *size);
    fclose(file);
    return data;
}
