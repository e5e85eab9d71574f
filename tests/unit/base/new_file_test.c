#include "base/new_file.h"
#include "tests/unit/temp_folder.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const char *path;

static int count_files(void)
{
    DIR *dir = opendir(temp_folder);
    int n = 0;
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        n += entry->d_name[0] != '.';
    }
    closedir(dir);
    return n;
}

static void expect_content(const char *text)
{
    size_t size;
    char *found = read_file(path, &size);
    assert_string_equal(found, text);
    free(found);
}

static void write_whole(const char *text)
{
    struct gi_new_file file;
    assert_true(gi_new_file_open(&file, path, NULL));
    assert_true(gi_new_file_write(&file, text, strlen(text), NULL));
    assert_true(gi_new_file_commit(&file, NULL));
    gi_new_file_close(&file);
}

TEST(new_file_replaces_another_when_it_is_whole)
{
    struct gi_new_file file;
    write_whole("old");
    assert_true(gi_new_file_open(&file, path, NULL));
    assert_true(gi_new_file_write(&file, "ne", 2, NULL));
    expect_content("old");
    assert_true(gi_new_file_write(&file, "w", 1, NULL));
    assert_true(gi_new_file_commit(&file, NULL));
    gi_new_file_close(&file);
    expect_content("new");
    assert_int_equal(count_files(), 1);
}

TEST(new_file_that_is_closed_early_leaves_the_old_one)
{
    struct gi_new_file file;
    write_whole("old");
    assert_true(gi_new_file_open(&file, path, NULL));
    assert_true(gi_new_file_write(&file, "new", 3, NULL));
    gi_new_file_close(&file);
    expect_content("old");
    assert_int_equal(count_files(), 1);
}

TEST(new_file_of_a_killed_process_leaves_the_old_one)
{
    write_whole("old");
    const pid_t child = fork();
    if (child == 0) {
        struct gi_new_file file;
        gi_new_file_open(&file, path, NULL);
        gi_new_file_write(&file, "new", 3, NULL);
        raise(SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    expect_content("old");
}

// SIGXFSZ would end the test.
TEST(new_file_fails_where_files_may_not_grow)
{
    static const char bytes[8192];
    const struct rlimit limit = {1024, RLIM_INFINITY};
    struct rlimit before;
    struct gi_new_file file;
    struct glinfer_error err = {0};
    assert_true(gi_new_file_open(&file, path, NULL));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const bool is_written = gi_new_file_write(&file, bytes, sizeof(bytes), &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(is_written);
    assert_int_equal(err.status, GLINFER_STATUS_IO);
    assert_says(err.message, "too large");
    gi_new_file_close(&file);
}

TEST(new_file_refuses_what_is_no_regular_file)
{
    struct gi_new_file file;
    struct glinfer_error err;
    const char *const names[] = {temp_folder, "/dev/null", "/no such folder/file"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_fails(gi_new_file_open(&file, names[i], &err), err, IO, "");
        assert_non_null(strstr(err.message, names[i]));
        gi_new_file_close(&file);
    }
}

static int make_folder(void **state)
{
    const int status = make_temp_folder(state);
    path = temp_path("file");
    return status;
}

RUN_TESTS_EACH(NULL, NULL, make_folder, remove_temp_folder)
