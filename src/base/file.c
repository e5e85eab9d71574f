#define _FILE_OFFSET_BITS 64 // models over 2 GiB on 32-bit boards

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refuse(struct glinfer_error *err, const char *path, const char *doing, int reason)
{
    bool is_missing = reason == ENOENT || reason == ENOTDIR;
    return gi_error_set(err, is_missing ? GLINFER_STATUS_NOT_FOUND : GLINFER_STATUS_IO,
                        "%s: cannot %s: %s", path, doing, strerror(reason));
}

static bool check_kind(const struct stat *st, const char *path, struct glinfer_error *err)
{
    if (S_ISREG(st->st_mode)) {
        return true;
    }
    const char *kind = S_ISDIR(st->st_mode)    ? "a directory"
                       : S_ISFIFO(st->st_mode) ? "a pipe"
                                               : "a device or socket";
    return gi_error_set(err, GLINFER_STATUS_IO, "%s: is %s, expected a regular file", path, kind);
}

// Fills *file; the descriptor is still the caller's on failure.
static bool take_descriptor(struct gi_file *file, int fd, const char *path,
                            struct glinfer_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return refuse(err, path, "read the size", errno);
    }
    if (!check_kind(&st, path, err)) {
        return false;
    }
    *file = (struct gi_file){.size = (uint64_t)st.st_size, .handle = fd + 1};
    return true;
}

bool gi_file_open(struct gi_file *file, const char *path, struct glinfer_error *err)
{
    *file = (struct gi_file){0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe without a writer blocks
    if (fd < 0) {
        return refuse(err, path, "open", errno);
    }
    if (!take_descriptor(file, fd, path, err)) {
        close(fd);
        return false;
    }
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return true;
}

bool gi_file_share(struct gi_file *file, int fd, const char *name, struct glinfer_error *err)
{
    *file = (struct gi_file){0};
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        return refuse(err, name, "use the descriptor", errno);
    }
    if (!take_descriptor(file, own, name, err)) {
        close(own);
        return false;
    }
    return true;
}

bool gi_file_read(const struct gi_file *file, uint64_t offset, size_t size, void *out,
                  const char *path, struct glinfer_error *err)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pread(file->handle - 1, (char *)out + done, size - done, (off_t)(offset + done));
        if (n == 0) {
            return gi_error_set(err, GLINFER_STATUS_IO,
                                "%s: ends at byte %ju, but had %ju bytes when it was opened: it "
                                "was changed while it was read",
                                path, (uintmax_t)(offset + done), (uintmax_t)file->size);
        }
        if (n < 0 && errno != EINTR) {
            return refuse(err, path, "read", errno);
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

void gi_file_close(struct gi_file *file)
{
    if (file->handle) {
        close(file->handle - 1);
    }
    *file = (struct gi_file){0};
}
