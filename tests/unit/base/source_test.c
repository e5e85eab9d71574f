// Bytes come from a part of a file, a descriptor, memory and a reader alike; what lies is an error.
#include "base/source.h"
#include "tests/unit/cmocka_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILE_SIZE = 1000, OFFSET = 300, LENGTH = 400 };

static char path[] = "/tmp/glinfer-source-XXXXXX";
static int fd;
static uint8_t bytes[FILE_SIZE];

static int make_file(void **state)
{
    (void)state;
    for (int i = 0; i < FILE_SIZE; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    }
    fd = mkstemp(path);
    return fd >= 0 && write(fd, bytes, FILE_SIZE) == FILE_SIZE ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    close(fd);
    return unlink(path);
}

static struct glinfer_source make(enum glinfer_source_kind kind)
{
    struct glinfer_source from;
    glinfer_source_init(&from);
    from.kind = kind;
    return from;
}

// Expects LENGTH bytes from OFFSET of the file on.
static void assert_part(const struct glinfer_source *from)
{
    uint8_t found[LENGTH];
    struct gi_source source;
    must_do(gi_source_open(&source, from, &err));
    assert_int_equal(source.size, LENGTH);
    assert_true(gi_source_read(&source, 0, LENGTH, found, NULL));
    assert_memory_equal(found, bytes + OFFSET, LENGTH);
    assert_true(gi_source_read(&source, LENGTH - 1, 1, found, NULL));
    assert_int_equal(found[0], bytes[OFFSET + LENGTH - 1]);
    gi_source_close(&source);
}

static void assert_refused(const struct glinfer_source *from, enum glinfer_status status,
                           const char *says)
{
    struct gi_source source;
    struct glinfer_error err = {0};
    assert_false(gi_source_open(&source, from, &err));
    assert_int_equal(err.status, status);
    must(strstr(err.message, says), &err);
    assert_null(source.name);
    gi_source_close(&source);
}

TEST(source_reads_a_part_of_a_path)
{
    struct glinfer_source from = make(GLINFER_SOURCE_PATH);
    from.path = path;
    from.offset = OFFSET;
    from.length = LENGTH;
    assert_part(&from);
}

TEST(source_leaves_a_descriptor_where_it_is)
{
    struct glinfer_source from = make(GLINFER_SOURCE_FD), kept;
    from.fd = dup(fd);
    from.offset = OFFSET;
    from.length = LENGTH;
    assert_int_equal(lseek(fd, 17, SEEK_SET), 17);
    assert_part(&from);
    assert_true(gi_source_keep(&kept, &from, NULL));
    assert_int_equal(close(from.fd), 0);
    assert_part(&kept);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 17);
    const int own = kept.fd;
    gi_source_drop(&kept);
    assert_int_equal(fcntl(own, F_GETFD), -1);
    gi_source_drop(&kept);
}

TEST(source_without_a_length_goes_to_the_end)
{
    struct gi_source source;
    struct glinfer_source from = make(GLINFER_SOURCE_FD);
    from.fd = fd;
    assert_true(gi_source_open(&source, &from, NULL));
    assert_int_equal(source.size, FILE_SIZE);
    gi_source_close(&source);
    from.offset = FILE_SIZE - 1;
    assert_true(gi_source_open(&source, &from, NULL));
    assert_int_equal(source.size, 1);
    gi_source_close(&source);
}

static bool read_bytes(void *user, uint64_t offset, void *data, size_t size)
{
    const uint64_t *there = user;
    if (offset > *there || size > *there - offset) {
        return false;
    }
    memcpy(data, bytes + OFFSET + offset, size);
    return true;
}

TEST(source_takes_memory_and_readers)
{
    uint64_t there = LENGTH;
    struct glinfer_source from = make(GLINFER_SOURCE_MEMORY), kept;
    from.data = bytes + OFFSET;
    from.length = LENGTH;
    assert_part(&from);
    from = make(GLINFER_SOURCE_READER);
    from.read = read_bytes;
    from.user = &there;
    from.length = LENGTH;
    assert_part(&from);
    assert_true(gi_source_keep(&kept, &from, NULL));
    assert_part(&kept);
    gi_source_drop(&kept);
}

static bool read_nothing(void *user, uint64_t offset, void *data, size_t size)
{
    (void)user, (void)offset, (void)data, (void)size;
    return true;
}

TEST(source_tells_a_reader_that_fails_or_lies)
{
    uint64_t there = LENGTH;
    uint8_t found[8];
    struct gi_source source;
    struct glinfer_source from = make(GLINFER_SOURCE_READER);
    from.read = read_bytes;
    from.user = &there;
    from.length = UINT64_MAX;
    assert_true(gi_source_open(&source, &from, NULL));
    must_fail(gi_source_read(&source, LENGTH - 4, 8, found, &err), IO,
              "the model's reader: cannot read 8 bytes at byte 396");
    gi_source_close(&source);
    from.read = read_nothing;
    memset(found, 1, sizeof(found));
    assert_true(gi_source_open(&source, &from, NULL));
    assert_true(gi_source_read(&source, 0, 8, found, NULL));
    for (size_t i = 0; i < sizeof(found); i++) {
        assert_int_equal(found[i], 0);
    }
    gi_source_close(&source);
}

TEST(source_refuses_what_is_not_there)
{
    struct glinfer_source from = make(GLINFER_SOURCE_PATH);
    assert_refused(&from, GLINFER_STATUS_INVALID_ARGUMENT, "path is NULL");
    from.path = path;
    from.offset = FILE_SIZE + 1;
    assert_refused(&from, GLINFER_STATUS_BAD_FILE, "has 1000 bytes, and 0 from byte 1001");
    from.offset = OFFSET;
    from.length = FILE_SIZE;
    assert_refused(&from, GLINFER_STATUS_BAD_FILE, "1000 from byte 300 on");
    from.length = UINT64_MAX;
    assert_refused(&from, GLINFER_STATUS_BAD_FILE, path);
    from = make(GLINFER_SOURCE_FD);
    assert_refused(&from, GLINFER_STATUS_IO, "descriptor -1: cannot use the descriptor");
    from.fd = open("/", O_RDONLY);
    from.name = "a name";
    assert_refused(&from, GLINFER_STATUS_IO, "a name: is a directory");
    close(from.fd);
    from = make(GLINFER_SOURCE_MEMORY);
    from.length = 1;
    assert_refused(&from, GLINFER_STATUS_INVALID_ARGUMENT, "data is NULL");
    from = make(GLINFER_SOURCE_READER);
    assert_refused(&from, GLINFER_STATUS_INVALID_ARGUMENT, "read is NULL");
    from.kind = (enum glinfer_source_kind)9;
    assert_refused(&from, GLINFER_STATUS_INVALID_ARGUMENT, "kind is 9");
}

RUN_TESTS(make_file, remove_file)
