#include "base/memory_room.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Reads the number after a word of a file, or its first with word ""; UINT64_MAX if there is none.
static uint64_t read_number(const char *path, const char *word)
{
    char line[256];
    uint64_t n = UINT64_MAX;
    const size_t size = strlen(word);
    FILE *file = fopen(path, "re");
    while (file && n == UINT64_MAX && fgets(line, sizeof(line), file)) {
        if (strncmp(line, word, size) != 0 || sscanf(line + size, "%" SCNu64, &n) != 1) {
            n = UINT64_MAX;
        }
    }
    if (file) {
        fclose(file);
    }
    return n;
}

static uint64_t left(uint64_t most, uint64_t used)
{
    return most == UINT64_MAX || used == UINT64_MAX ? UINT64_MAX : most > used ? most - used : 0;
}

static uint64_t address_room(void)
{
    struct rlimit as;
    if (getrlimit(RLIMIT_AS, &as) != 0 || as.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    const uint64_t pages = read_number("/proc/self/statm", "");
    return pages == UINT64_MAX ? pages : left(as.rlim_cur, pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

uint64_t gi_room_to_open(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return (UINT64_C(288) + 8 * (uint64_t)(n < 1 ? 1 : n > 32 ? 32 : n)) << 20;
}

bool gi_address_check(uint64_t needed, const char *task, struct glinfer_error *err)
{
    const double mib = 1048576.0;
    const uint64_t room = address_room();
    return room >= needed ||
           gi_error_set(err, GLINFER_STATUS_NO_MEMORY,
                        "cannot %s: the driver may need %.0f MiB of address space, but only %.0f "
                        "MiB are left below its limit (ulimit -v); raise that limit",
                        task, (double)needed / mib, (double)room / mib);
}

// Finds the folder of this process's cgroup: of version 2, or of version 1 for memory.
static const char *find_cgroup(char path[512])
{
    char line[400];
    const char *names[] = {"memory.max", "memory.limit_in_bytes"}, *found = NULL;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && !found && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *memory = strstr(line, ":memory:");
        const char *at = memory ? memory + 8 : strncmp(line, "0::", 3) == 0 ? line + 3 : NULL;
        if (at) {
            snprintf(path, 512, "/sys/fs/cgroup%s%s", memory ? "/memory" : "", at);
            found = names[memory != NULL];
        }
    }
    if (file) {
        fclose(file);
    }
    return found;
}

static uint64_t cgroup_room(void)
{
    char folder[512], path[600];
    const char *name = find_cgroup(folder);
    if (!name) {
        return UINT64_MAX;
    }
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    const uint64_t most = read_number(path, "");
    snprintf(path, sizeof(path), "%s/%s", folder,
             strcmp(name, "memory.max") == 0 ? "memory.current" : "memory.usage_in_bytes");
    const uint64_t used = read_number(path, "");
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    const uint64_t cached = read_number(path, "inactive_file ");
    return left(most, cached < used ? used - cached : used);
}

uint64_t gi_memory_room(const char **limit)
{
    const uint64_t address = address_room(), cgroup = cgroup_room();
    const uint64_t room = address < cgroup ? address : cgroup;
    *limit = room == UINT64_MAX ? NULL
             : address < cgroup ? "the limit on address space (ulimit -v)"
                                : "the cgroup's limit";
    return room;
}
