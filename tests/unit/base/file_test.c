#include "base/file.h"
#include "tests/unit/temp_folder.h"

static const char *write_bytes(size_t size)
{
    static uint8_t bytes[3 * 65536 + 5];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    write_file(temp_path("file"), bytes, size);
    return temp_path("file");
}

static void assert_refused(const char *name, enum glinfer_status status, const char *says)
{
    struct glinfer_error err;
    struct gi_file file;
    assert_false(gi_file_open(&file, name, &err));
    assert_int_equal(err.status, status);
    assert_says(err.message, name);
    assert_says(err.message, says);
    assert_int_equal(file.handle, 0);
    gi_file_close(&file);
}

TEST(file_gives_the_bytes)
{
    enum { SIZE = 3 * 65536 + 5 };
    static uint8_t bytes[SIZE];
    struct gi_file file;
    const char *path = write_bytes(SIZE);
    assert_true(gi_file_open(&file, path, NULL));
    assert_int_equal(file.size, SIZE);
    assert_true(gi_file_read(&file, 0, SIZE, bytes, path, NULL));
    for (size_t i = 0; i < SIZE; i++) {
        assert_int_equal(bytes[i], i * 7 & 0xFF);
    }
    assert_true(gi_file_read(&file, 65537, 1, bytes, path, NULL));
    assert_int_equal(bytes[0], 65537 * 7 & 0xFF);
    gi_file_close(&file);
    assert_int_equal(file.handle, 0);
}

TEST(file_that_shrinks_is_an_error)
{
    static uint8_t bytes[10000];
    struct gi_file file;
    const char *path = write_bytes(10000);
    assert_true(gi_file_open(&file, path, NULL));
    assert_int_equal(truncate(path, 5000), 0);
    must_do(gi_file_read(&file, 0, 5000, bytes, path, &err));
    must_fail(gi_file_read(&file, 4000, 6000, bytes, path, &err), IO,
              "ends at byte 5000, but had 10000");
    gi_file_close(&file);
}

TEST(file_may_be_empty)
{
    struct gi_file file;
    const char *path = write_bytes(0);
    assert_true(gi_file_open(&file, path, NULL));
    assert_int_equal(file.size, 0);
    assert_true(gi_file_read(&file, 0, 0, NULL, path, NULL));
    gi_file_close(&file);
}

TEST(file_refuses_what_is_not_there)
{
    assert_refused("/nonexistent/file", GLINFER_STATUS_NOT_FOUND, "No such file");
    assert_refused("/dev/null/file", GLINFER_STATUS_NOT_FOUND, "Not a directory");
    assert_refused("", GLINFER_STATUS_NOT_FOUND, "No such file");
}

TEST(file_refuses_a_directory)
{
    assert_refused(temp_folder, GLINFER_STATUS_IO, "a directory");
}

TEST(file_refuses_a_device)
{
    assert_refused("/dev/zero", GLINFER_STATUS_IO, "a device");
}

TEST(file_refuses_a_pipe_without_waiting)
{
    assert_int_equal(mkfifo(temp_path("pipe"), 0600), 0);
    assert_refused(temp_path("pipe"), GLINFER_STATUS_IO, "a pipe");
}

TEST(file_refuses_a_file_without_permission)
{
    const char *path = write_bytes(1);
    assert_int_equal(chmod(path, 0), 0);
    uid_t user = geteuid();
    if (user == 0) { // root may read everything
        assert_int_equal(chmod(temp_folder, 0755), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    struct glinfer_error err;
    struct gi_file file;
    bool is_open = gi_file_open(&file, path, &err);
    assert_int_equal(seteuid(user), 0);
    assert_false(is_open);
    assert_int_equal(err.status, GLINFER_STATUS_IO);
    assert_says(err.message, "Permission denied");
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
