#include "base/cache_file.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <time.h>

TEST(cache_folder_follows_the_environment)
{
    char *path = gi_cache_folder("/some/dir", "programs");
    assert_string_equal(path, "/some/dir/programs");
    free(path);
    assert_null(gi_cache_folder("", "programs"));
    setenv("HOME", "/home/me", 1);
    setenv("XDG_CACHE_HOME", "/var/my cache", 1);
    path = gi_cache_folder(NULL, "tuning");
    assert_string_equal(path, "/var/my cache/glinfer/tuning");
    free(path);
    setenv("XDG_CACHE_HOME", "relative", 1); // is to be ignored, the specification says
    path = gi_cache_folder(NULL, "tuning");
    assert_string_equal(path, "/home/me/.cache/glinfer/tuning");
    free(path);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_null(gi_cache_folder(NULL, "tuning"));
}

TEST(cache_reads_what_it_wrote)
{
    const char *folder = temp_path("new/folders");
    size_t size = 0;
    const struct gi_cache_piece pieces[] = {{"head ", 5}, {"", 0}, {"body", 4}};
    assert_true(gi_cache_write(folder, "name", pieces, 3));
    char *data = gi_cache_read(folder, "name", 9, &size);
    assert_int_equal(size, 9);
    assert_string_equal(data, "head body");
    free(data);
    assert_true(gi_cache_write(folder, "name", pieces, 1));
    data = gi_cache_read(folder, "name", 9, &size);
    assert_string_equal(data, "head ");
    free(data);
    assert_true(gi_cache_remove(folder, "name"));
    assert_true(gi_cache_remove(folder, "name"));
    assert_null(gi_cache_read(folder, "name", 9, &size));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(rmdir(folder), 0); // nothing else was left in it
    assert_int_equal(rmdir(temp_path("new")), 0);
}

TEST(cache_refuses_files_that_are_too_large)
{
    size_t size = 0;
    const struct gi_cache_piece piece = {"0123456789", 10};
    assert_true(gi_cache_write(temp_folder, "large", &piece, 1));
    assert_null(gi_cache_read(temp_folder, "large", 9, &size));
    assert_int_equal(errno, EFBIG);
}

TEST(cache_says_why_it_cannot_write)
{
    const struct gi_cache_piece piece = {"x", 1};
    write_file(temp_path("file"), "x", 1);
    assert_false(gi_cache_write(temp_path("file/below"), "name", &piece, 1));
    assert_int_equal(errno, ENOTDIR);
}

// SIGXFSZ would end the test.
TEST(cache_fails_where_files_may_not_grow)
{
    static const char bytes[8192];
    const struct gi_cache_piece pieces[] = {{bytes, sizeof(bytes)}};
    const struct rlimit limit = {1024, RLIM_INFINITY};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    errno = 0;
    const bool is_written = gi_cache_write(temp_folder, "large", pieces, 1);
    const int reason = errno;
    sigset_t pending;
    sigpending(&pending);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(is_written);
    assert_int_equal(reason, EFBIG);
    assert_false(sigismember(&pending, SIGXFSZ));
    assert_true(gi_cache_write(temp_folder, "large", pieces, 1));
}

TEST(cache_check_says_whether_it_can_write)
{
    const char *folder = temp_path("checked");
    assert_true(gi_cache_check(folder));
    assert_true(gi_cache_check(folder));
    if (geteuid() != 0) { // whom no mode stops
        assert_int_equal(chmod(folder, 0500), 0);
        assert_false(gi_cache_check(folder));
        assert_int_equal(errno, EACCES);
    }
    assert_int_equal(rmdir(folder), 0); // nothing was written
    write_file(temp_path("file"), "x", 1);
    assert_false(gi_cache_check(temp_path("file/below")));
    assert_int_equal(errno, ENOTDIR);
    assert_false(gi_cache_check("/proc/nowhere"));
}

TEST(cache_clears_all_but_locks_that_are_held)
{
    const char *folder = temp_path("cleared");
    size_t size;
    const struct gi_cache_piece piece = {"x", 1};
    assert_true(gi_cache_clear(folder)); // there is none
    assert_true(gi_cache_write(folder, "a", &piece, 1));
    assert_true(gi_cache_write(folder, "b", &piece, 1));
    close(gi_cache_lock(folder, ".c"));
    const int lock = gi_cache_lock(folder, ".d");
    assert_true(gi_cache_clear(folder));
    assert_null(gi_cache_read(folder, "a", 1, &size));
    assert_null(gi_cache_read(folder, "b", 1, &size));
    assert_null(gi_cache_read(folder, ".c", 1, &size));
    assert_int_equal(access(temp_path("cleared/.d"), F_OK), 0);
    close(lock);
    assert_true(gi_cache_clear(folder));
    assert_int_equal(rmdir(folder), 0);
}

// A pipe without a writer would be waited for.
TEST(cache_reads_no_pipe)
{
    size_t size;
    assert_int_equal(mkfifo(temp_path("pipe"), 0600), 0);
    assert_null(gi_cache_read(temp_folder, "pipe", 9, &size));
    assert_int_equal(errno, EINVAL);
    const int lock = gi_cache_lock(temp_folder, "pipe");
    assert_true(lock >= 0);
    close(lock);
    const struct gi_cache_piece piece = {"x", 1};
    assert_true(gi_cache_write(temp_folder, "pipe", &piece, 1)); // takes its place
    char *data = gi_cache_read(temp_folder, "pipe", 9, &size);
    assert_string_equal(data, "x");
    free(data);
}

TEST(cache_knows_folders_of_others)
{
    const char *folder = temp_path("foreign");
    assert_false(gi_cache_is_foreign(folder)); // there is none
    assert_true(gi_cache_check(folder));
    assert_false(gi_cache_is_foreign(folder));
    assert_int_equal(chmod(folder, 0777), 0);
    assert_true(gi_cache_is_foreign(folder));
    if (geteuid() == 0) {
        assert_int_equal(chmod(folder, 0700), 0);
        assert_int_equal(chown(folder, 65534, 65534), 0);
        assert_true(gi_cache_is_foreign(folder));
    }
    assert_int_equal(rmdir(folder), 0);
}

// Writes a file of 100 bytes that was last used `seconds` seconds ago.
static void write_old(const char *folder, const char *name, long seconds)
{
    static const char bytes[100];
    char path[200];
    const struct gi_cache_piece piece = {bytes, sizeof(bytes)};
    const time_t then = time(NULL) - seconds;
    const struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
    assert_true(gi_cache_write(folder, name, &piece, 1));
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(cache_is_swept_of_the_oldest)
{
    const char *folder = temp_path("swept");
    size_t size;
    assert_int_equal(gi_cache_sweep(folder, 0), 0); // there is none
    write_old(folder, "b", 300);
    write_old(folder, "a", 400);
    write_old(folder, "c", 200);
    write_old(folder, ".lock", 500);
    write_old(folder, "a.Xy12z9", 7200); // a writer was killed
    write_old(folder, "b.Xy12z9", 10);   // one is at work
    assert_int_equal(gi_cache_sweep(folder, 400), 0);
    assert_null(gi_cache_read(folder, "a.Xy12z9", 100, &size));
    assert_int_equal(gi_cache_sweep(folder, 250), 2);
    assert_null(gi_cache_read(folder, "a", 100, &size));
    assert_null(gi_cache_read(folder, "b", 100, &size));
    static const char *const left[] = {"c", "b.Xy12z9", ".lock"};
    for (int i = 0; i < 3; i++) {
        char *data = gi_cache_read(folder, left[i], 100, &size);
        assert_non_null(data);
        free(data);
    }
}

TEST(cache_lock_is_one_holders)
{
    const char *folder = temp_path("locked"), *path = temp_path("locked/lock");
    const int lock = gi_cache_lock(folder, "lock");
    assert_true(lock >= 0);
    FILE *other = fopen(path, "r+e");
    assert_non_null(other);
    assert_int_equal(flock(fileno(other), LOCK_EX | LOCK_NB), -1);
    close(lock);
    assert_int_equal(flock(fileno(other), LOCK_EX | LOCK_NB), 0);
    assert_int_equal(gi_cache_lock(folder, "lock"), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    fclose(other);
    const int again = gi_cache_lock(folder, "lock");
    assert_true(again >= 0);
    close(again);
    assert_int_equal(gi_cache_lock(path, "lock"), -1); // no folder
}

// The wrapped flock removes this file before it locks, as another holder of the lock may do, so
// many times.
static const char *removed_path;
static int n_removals;
WRAP(int, flock, int fd, int operation)
{
    if (n_removals > 0) {
        assert_int_equal(unlink(removed_path), 0);
        n_removals--;
    }
    return __real_flock(fd, operation);
}

TEST(cache_lock_is_of_the_file_that_others_find)
{
    const char *folder = temp_path("locked"), *path = temp_path("locked/lock");
    removed_path = path;
    n_removals = 1;
    const int lock = gi_cache_lock(folder, "lock");
    assert_true(lock >= 0);
    assert_int_equal(n_removals, 0);
    assert_int_equal(gi_cache_lock(folder, "lock"), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    close(lock);
}

// A file that has another inode number at each look is given up after a while.
TEST(cache_lock_is_not_looked_for_for_ever)
{
    const char *folder = temp_path("renewed"), *path = temp_path("renewed/lock");
    removed_path = path;
    n_removals = INT_MAX;
    const int lock = gi_cache_lock(folder, "lock");
    n_removals = 0;
    assert_true(lock >= 0);
    close(lock);
    assert_int_equal(rmdir(folder), 0);
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
