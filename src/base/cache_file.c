#include "base/cache_file.h"

#include "base/size_signal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Returns a, b, c and d joined; NULL without memory.
static char *join(const char *a, const char *b, const char *c, const char *d)
{
    const size_t size = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *path = malloc(size);
    if (path) {
        snprintf(path, size, "%s%s%s%s", a, b, c, d);
    }
    return path;
}

// Frees without changing errno, which free may do.
static void release(char *path)
{
    const int reason = errno;
    free(path);
    errno = reason;
}

char *gi_cache_folder(const char *dir, const char *part)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (dir) {
        return *dir ? join(dir, "/", part, "") : NULL;
    }
    if (xdg && *xdg == '/') {
        return join(xdg, "/glinfer/", part, "");
    }
    return home && *home ? join(home, "/.cache/glinfer/", part, "") : NULL;
}

// Creates a folder and those above it. errno of a failure is that of the topmost folder that could
// not be created.
static bool make_folders(const char *folder)
{
    char *path = strdup(folder);
    int reason = 0;
    for (char *slash = path ? strchr(path + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int result = mkdir(path, 0700);
        *slash = '/';
        if (result == 0 || errno == EEXIST) {
            reason = 0; // a folder above may be closed and this one open
        } else if (reason == 0) {
            reason = errno;
        }
    }
    const bool ok = path && (mkdir(path, 0700) == 0 || errno == EEXIST);
    errno = reason != 0 ? reason : errno;
    release(path);
    return ok;
}

static bool write_stream(int fd, const struct gi_cache_piece *pieces, size_t n_pieces)
{
    FILE *stream = fdopen(fd, "wb");
    if (!stream) {
        close(fd);
        return false;
    }
    bool is_written = true;
    for (size_t i = 0; i < n_pieces && is_written; i++) {
        is_written = pieces[i].size == 0 || fwrite(pieces[i].data, pieces[i].size, 1, stream) == 1;
    }
    return (fclose(stream) == 0) && is_written;
}

// Writes to a new file, whose name replaces the X of part, and renames it.
static bool write_part(const char *path, char *part, const struct gi_cache_piece *pieces,
                       size_t n_pieces)
{
    const int fd = mkostemp(part, O_CLOEXEC);
    struct gi_size_signal held;
    if (fd < 0) {
        return false;
    }
    gi_size_signal_hold(&held);
    const bool is_written = write_stream(fd, pieces, n_pieces);
    gi_size_signal_release(&held);
    if (!is_written || rename(part, path) != 0) {
        const int reason = errno;
        unlink(part);
        errno = reason;
        return false;
    }
    return true;
}

bool gi_cache_write(const char *folder, const char *name, const struct gi_cache_piece *pieces,
                    size_t n_pieces)
{
    char *path = join(folder, "/", name, ""), *part = join(folder, "/", name, ".XXXXXX");
    errno = ENOMEM;
    const bool ok =
        path && part && make_folders(folder) && write_part(path, part, pieces, n_pieces);
    release(path);
    release(part);
    return ok;
}

bool gi_cache_check(const char *folder)
{
    return make_folders(folder) && faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0;
}

// Opens a regular file. A pipe would wait for a writer, for good.
static FILE *open_regular(const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return NULL;
    }
    const bool is_regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    FILE *stream = is_regular ? fdopen(fd, "rb") : NULL;
    if (!stream) {
        const int reason = is_regular ? errno : EINVAL;
        close(fd);
        errno = reason;
    }
    return stream;
}

static char *read_stream(FILE *stream, size_t max_size, size_t *size)
{
    struct stat status;
    if (fstat(fileno(stream), &status) == 0 && (uint64_t)status.st_size < max_size) {
        max_size = (size_t)status.st_size;
    }
    char *data = malloc(max_size + 1);
    if (!data) {
        errno = ENOMEM;
        return NULL;
    }
    *size = fread(data, 1, max_size, stream);
    if (ferror(stream) || fgetc(stream) != EOF) {
        errno = ferror(stream) ? EIO : EFBIG;
        free(data);
        return NULL;
    }
    data[*size] = 0;
    return data;
}

char *gi_cache_read(const char *folder, const char *name, size_t max_size, size_t *size)
{
    char *path = folder ? join(folder, "/", name, "") : strdup(name);
    FILE *stream = path ? open_regular(path) : NULL;
    char *data = stream ? read_stream(stream, max_size, size) : NULL;
    const int reason = path ? errno : ENOMEM;
    if (stream) {
        fclose(stream);
    }
    free(path);
    errno = reason;
    return data;
}

// Returns true if a path names the file that is open.
static bool is_still(const char *path, int fd)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && stat(path, &named) == 0 &&
           open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

enum { MAX_LOCKED = 16 };

// Opens and locks a file. If its holder removed it in the meantime the lock is of a file that
// nobody else finds, and the next one is tried; MAX_LOCKED ends this where a file system gives a
// file no lasting identity.
static int lock_path(const char *path)
{
    for (int n_locked = 1;; n_locked++) {
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
        const bool is_locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (fd < 0 || (is_locked && (n_locked == MAX_LOCKED || is_still(path, fd)))) {
            return fd;
        }
        const int reason = errno;
        close(fd);
        if (!is_locked) {
            errno = reason;
            return -1;
        }
    }
}

int gi_cache_lock(const char *folder, const char *name)
{
    char *path = join(folder, "/", name, "");
    errno = ENOMEM;
    const int fd = path && make_folders(folder) ? lock_path(path) : -1;
    release(path);
    return fd;
}

bool gi_cache_remove(const char *folder, const char *name)
{
    char *path = join(folder, "/", name, "");
    const bool ok = path && (unlink(path) == 0 || errno == ENOENT);
    errno = path ? errno : ENOMEM;
    release(path);
    return ok;
}

static bool clear_file(const char *folder, const char *name)
{
    if (name[0] != '.') {
        return gi_cache_remove(folder, name);
    }
    const int lock = gi_cache_lock(folder, name);
    if (lock < 0) {
        return errno == EWOULDBLOCK;
    }
    const bool ok = gi_cache_remove(folder, name);
    const int reason = errno;
    close(lock);
    errno = reason;
    return ok;
}

static bool is_folder(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

bool gi_cache_is_foreign(const char *folder)
{
    struct stat status;
    return stat(folder, &status) == 0 &&
           ((status.st_uid != geteuid() && status.st_uid != 0) || (status.st_mode & S_IWOTH) != 0);
}

// A file of a folder, by the time of its last use.
struct aged {
    char *name; // owned
    uint64_t size;
    time_t used;
};

static int compare_ages(const void *a, const void *b)
{
    const time_t x = ((const struct aged *)a)->used, y = ((const struct aged *)b)->used;
    return (x > y) - (x < y);
}

// Returns true if a name is one that write_part makes and renames.
static bool is_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot != name && strlen(dot + 1) == 6;
}

// Removes parts that a process left when it was killed, and notes all other regular files. Locks,
// whose names begin with a dot, stay. Returns their bytes.
static uint64_t survey(const char *folder, DIR *stream, struct aged *files, size_t most, size_t *n)
{
    enum { OLD_SECONDS = 3600 };
    uint64_t total = 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL && *n < most;) {
        struct stat status;
        if (entry->d_name[0] == '.' ||
            fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode)) {
            continue;
        }
        if (is_part(entry->d_name) && time(NULL) - status.st_mtime > OLD_SECONDS) {
            gi_cache_remove(folder, entry->d_name);
            continue;
        }
        char *name = strdup(entry->d_name);
        const time_t used = status.st_atime > status.st_mtime ? status.st_atime : status.st_mtime;
        files[*n] = (struct aged){name, (uint64_t)status.st_size, used};
        *n += name != NULL;
        total += (uint64_t)status.st_size;
    }
    return total;
}

size_t gi_cache_sweep(const char *folder, uint64_t max_size)
{
    enum { MOST = 65536 };
    size_t n = 0, n_removed = 0;
    DIR *stream = opendir(folder);
    struct aged *files = stream ? malloc(MOST * sizeof(*files)) : NULL;
    uint64_t total = files ? survey(folder, stream, files, MOST, &n) : 0;
    if (total > max_size) {
        qsort(files, n, sizeof(*files), compare_ages);
    }
    for (size_t i = 0; i < n; i++) {
        if (total > max_size && gi_cache_remove(folder, files[i].name)) {
            total -= files[i].size;
            n_removed++;
        }
        free(files[i].name);
    }
    free(files);
    if (stream) {
        closedir(stream);
    }
    return n_removed;
}

bool gi_cache_clear(const char *folder)
{
    DIR *stream = opendir(folder);
    bool ok = stream || errno == ENOENT;
    int reason = errno;
    for (struct dirent *entry; stream && (entry = readdir(stream)) != NULL;) {
        if (!is_folder(entry->d_name) && !clear_file(folder, entry->d_name)) {
            ok = false;
            reason = errno;
        }
    }
    if (stream) {
        closedir(stream);
    }
    errno = reason;
    return ok;
}
