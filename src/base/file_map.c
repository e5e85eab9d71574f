#define _FILE_OFFSET_BITS 64 // models over 2 GiB on 32-bit boards

#include "base/file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
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

static bool map_descriptor(struct gi_file_map *map, int fd, const char *path,
                           struct glinfer_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return refuse(err, path, "read the size", errno);
    }
    if (!check_kind(&st, path, err)) {
        return false;
    }
    if ((uintmax_t)st.st_size > PTRDIFF_MAX) {
        return gi_error_set(err, GLINFER_STATUS_IO,
                            "%s: %ju bytes do not fit the address space of this machine", path,
                            (uintmax_t)st.st_size);
    }
    map->size = (size_t)st.st_size;
    if (map->size == 0) {
        return true;
    }
    void *data = mmap(NULL, map->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        map->size = 0;
        return refuse(err, path, "map", errno);
    }
    map->data = data;
    return true;
}

bool gi_file_map_init(struct gi_file_map *map, const char *path, struct glinfer_error *err)
{
    *map = (struct gi_file_map){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe without a writer would block
    if (fd < 0) {
        return refuse(err, path, "open", errno);
    }
    bool is_mapped = map_descriptor(map, fd, path, err);
    close(fd);
    return is_mapped;
}

void gi_file_map_drop(const struct gi_file_map *map, size_t offset, size_t size)
{
    if (offset >= map->size) {
        return;
    }
    if (size > map->size - offset) {
        size = map->size - offset;
    }
    // Only pages that lie wholly inside: the neighbours' may be in use.
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t begin = (offset + page - 1) / page * page;
    size_t end = offset + size == map->size ? map->size : (offset + size) / page * page;
    if (begin < end) {
        madvise((void *)(uintptr_t)(map->data + begin), end - begin, MADV_DONTNEED);
    }
}

void gi_file_map_finish(struct gi_file_map *map)
{
    if (map->data) {
        munmap((void *)(uintptr_t)map->data, map->size);
    }
    *map = (struct gi_file_map){0};
}
