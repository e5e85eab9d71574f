#include "base/file_map.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/glinfer-file-map-XXXXXX";
static char path[sizeof(directory) + 8];

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory)) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/file", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < size; i++) {
        fputc((int)(i * 7 & 0xFF), file);
    }
    assert_int_equal(fclose(file), 0);
}

static void assert_refused(const char *name, enum glinfer_status status, const char *says)
{
    struct glinfer_error err;
    struct gi_file_map map;
    assert_false(gi_file_map_init(&map, name, &err));
    assert_int_equal(err.status, status);
    assert_non_null(strstr(err.message, name));
    assert_non_null(strstr(err.message, says));
    assert_null(map.data);
    gi_file_map_finish(&map);
}

static void file_map_gives_the_bytes(void **state)
{
    (void)state;
    struct gi_file_map map;
    write_file(3 * 65536 + 5);
    assert_true(gi_file_map_init(&map, path, NULL));
    assert_int_equal(map.size, 3 * 65536 + 5);
    for (size_t i = 0; i < map.size; i++) {
        assert_int_equal(map.data[i], i * 7 & 0xFF);
    }
    gi_file_map_finish(&map);
    assert_null(map.data);
}

static void file_map_drop_keeps_the_bytes_readable(void **state)
{
    (void)state;
    struct gi_file_map map;
    write_file(3 * 65536 + 5);
    assert_true(gi_file_map_init(&map, path, NULL));
    gi_file_map_drop(&map, 1, 100);
    gi_file_map_drop(&map, 10, 2 * 65536);
    gi_file_map_drop(&map, 0, SIZE_MAX);
    gi_file_map_drop(&map, map.size - 1, SIZE_MAX);
    gi_file_map_drop(&map, map.size, 1);
    gi_file_map_drop(&map, SIZE_MAX, SIZE_MAX);
    assert_int_equal(map.data[65537], 65537 * 7 & 0xFF);
    gi_file_map_finish(&map);
}

static void file_map_accepts_an_empty_file(void **state)
{
    (void)state;
    struct gi_file_map map;
    write_file(0);
    assert_true(gi_file_map_init(&map, path, NULL));
    assert_null(map.data);
    assert_int_equal(map.size, 0);
    gi_file_map_drop(&map, 0, 1);
    gi_file_map_finish(&map);
}

static void file_map_refuses_what_is_not_there(void **state)
{
    (void)state;
    assert_refused("/nonexistent/file", GLINFER_STATUS_NOT_FOUND, "No such file");
    assert_refused("/dev/null/file", GLINFER_STATUS_NOT_FOUND, "Not a directory");
    assert_refused("", GLINFER_STATUS_NOT_FOUND, "No such file");
}

static void file_map_refuses_a_directory(void **state)
{
    (void)state;
    assert_refused(directory, GLINFER_STATUS_IO, "a directory");
}

static void file_map_refuses_a_device(void **state)
{
    (void)state;
    assert_refused("/dev/zero", GLINFER_STATUS_IO, "a device");
}

static void file_map_refuses_a_pipe_without_waiting(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, GLINFER_STATUS_IO, "a pipe");
}

static void file_map_refuses_a_file_without_permission(void **state)
{
    (void)state;
    write_file(1);
    assert_int_equal(chmod(path, 0), 0);
    uid_t user = geteuid();
    if (user == 0) { // who may read everything
        assert_int_equal(chmod(directory, 0755), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    struct glinfer_error err;
    struct gi_file_map map;
    bool is_mapped = gi_file_map_init(&map, path, &err);
    assert_int_equal(seteuid(user), 0);
    assert_false(is_mapped);
    assert_int_equal(err.status, GLINFER_STATUS_IO);
    assert_non_null(strstr(err.message, "Permission denied"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(file_map_gives_the_bytes, remove_file),
        cmocka_unit_test_teardown(file_map_drop_keeps_the_bytes_readable, remove_file),
        cmocka_unit_test_teardown(file_map_accepts_an_empty_file, remove_file),
        cmocka_unit_test(file_map_refuses_what_is_not_there),
        cmocka_unit_test(file_map_refuses_a_directory),
        cmocka_unit_test(file_map_refuses_a_device),
        cmocka_unit_test_teardown(file_map_refuses_a_pipe_without_waiting, remove_file),
        cmocka_unit_test_teardown(file_map_refuses_a_file_without_permission, remove_file),
    };
    return cmocka_run_group_tests_name("file_map", tests, make_directory, remove_directory);
}
