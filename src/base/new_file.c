#define _FILE_OFFSET_BITS 64 // caches over 2 GiB on 32-bit boards

#include "base/new_file.h"

#include "base/array.h"
#include "base/size_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refuse(const struct gi_new_file *file, const char *doing, struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_IO, "%s: cannot %s: %s", file->path, doing,
                        strerror(errno));
}

bool gi_new_file_open(struct gi_new_file *file, const char *path, struct glinfer_error *err)
{
    static const char ending[] = ".part-XXXXXX";
    struct stat status;
    const size_t size = strlen(path) + sizeof(ending);
    *file = (struct gi_new_file){.path = path, .handle = -1};
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        return gi_error_set(err, GLINFER_STATUS_IO, "%s: not a regular file", path);
    }
    file->part = gi_array_zeroed(size, 1, "the name of a file", err);
    if (!file->part) {
        return false;
    }
    snprintf(file->part, size, "%s%s", path, ending);
    file->handle = mkostemp(file->part, O_CLOEXEC);
    if (file->handle < 0) {
        refuse(file, "create", err);
        free(file->part);
        file->part = NULL;
        return false;
    }
    return true;
}

bool gi_new_file_write(struct gi_new_file *file, const void *data, size_t size,
                       struct glinfer_error *err)
{
    struct gi_size_signal held;
    bool is_written = true;
    gi_size_signal_hold(&held);
    for (size_t done = 0; done < size && is_written;) {
        const ssize_t n = write(file->handle, (const char *)data + done, size - done);
        is_written = n >= 0 || errno == EINTR;
        done += n > 0 ? (size_t)n : 0;
    }
    gi_size_signal_release(&held);
    return is_written || refuse(file, "write", err);
}

// Brings the name to the disk. Some file systems cannot, and their names are safe without.
static void sync_folder(char *part)
{
    const int fd = open(dirname(part), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

bool gi_new_file_commit(struct gi_new_file *file, struct glinfer_error *err)
{
    if (fsync(file->handle) != 0) {
        return refuse(file, "write", err);
    }
    if (rename(file->part, file->path) != 0) {
        return refuse(file, "replace", err);
    }
    close(file->handle);
    sync_folder(file->part);
    free(file->part);
    *file = (struct gi_new_file){0};
    return true;
}

void gi_new_file_close(struct gi_new_file *file)
{
    if (file->part) {
        close(file->handle);
        unlink(file->part);
        free(file->part);
    }
    *file = (struct gi_new_file){0};
}
