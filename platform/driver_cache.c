// Room for the shader cache of Mesa's drivers.
#define _FILE_OFFSET_BITS 64 // a full disk of any size

#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MAX_PATH = 4096 };

#define MIN_ROOM (UINT64_C(4) << 20) // the index has 1.3 MB; the rest is for the first shaders

//-- its folder ------------------------------------------------------------------------------------

static const char *first_set(const char *name, const char *old_name)
{
    const char *value = getenv(name);
    return value ? value : getenv(old_name);
}

static bool is_off(void)
{
    const char *value = first_set("MESA_SHADER_CACHE_DISABLE", "MESA_GLSL_CACHE_DISABLE");
    return value && (strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0 ||
                     strcasecmp(value, "y") == 0 || strcasecmp(value, "yes") == 0);
}

// Writes the folder of the cache as Mesa chooses it. Returns false without a home. Mesa takes the
// home folder from the user database, not from HOME.
static bool find_folder(char path[MAX_PATH])
{
    static const char name[] = "mesa_shader_cache";
    const char *own = first_set("MESA_SHADER_CACHE_DIR", "MESA_GLSL_CACHE_DIR");
    const char *base = own ? own : getenv("XDG_CACHE_HOME");
    char text[MAX_PATH];
    struct passwd entry, *user = NULL;
    int size = -1;
    if (base) {
        size = snprintf(path, MAX_PATH, "%s/%s", base, name);
    } else if (getpwuid_r(getuid(), &entry, text, sizeof(text), &user) == 0 && user) {
        size = snprintf(path, MAX_PATH, "%s/.cache/%s", user->pw_dir, name);
    }
    return size > 0 && size < MAX_PATH;
}

//-- room ------------------------------------------------------------------------------------------

// Returns false only if the file system has no room for the file's blocks.
static bool reserve(int fd)
{
    struct stat status;
    int error = fstat(fd, &status) == 0 ? 0 : errno;
    while (error == 0 && status.st_size > 0 &&
           (error = posix_fallocate(fd, 0, status.st_size)) == EINTR) {
        error = 0;
    }
    return error != ENOSPC && error != EDQUOT;
}

// Returns false if the file system of a folder, or of the nearest one above that exists, has too
// little room.
static bool has_room(const char *folder)
{
    char path[MAX_PATH];
    struct statvfs info;
    snprintf(path, sizeof(path), "%s", folder);
    int result;
    while ((result = statvfs(path, &info)) != 0 && errno == ENOENT) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            break;
        }
        *slash = '\0';
    }
    return result != 0 || (uint64_t)info.f_bavail * info.f_frsize >= MIN_ROOM;
}

bool gi_driver_cache_check(struct glinfer_error *err)
{
    char folder[MAX_PATH], index[MAX_PATH + 8];
    if (is_off() || !find_folder(folder)) {
        return true;
    }
    snprintf(index, sizeof(index), "%s/index", folder);
    const int fd = open(index, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    const bool is_sound = fd >= 0 ? reserve(fd) : has_room(folder);
    if (fd >= 0) {
        close(fd);
    }
    return is_sound || gi_error_set(err, GLINFER_STATUS_IO,
                                    "cannot use the driver's shader cache in %.400s: the disk is "
                                    "full; free 4 MiB or set MESA_SHADER_CACHE_DISABLE=true",
                                    folder);
}
