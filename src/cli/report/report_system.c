#include "cli/report/report_system.h"

#include "cli/common/cli_io.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

// Appends "name value" unless the value is empty.
static void add(struct cli_bytes *text, const char *name, const char *value)
{
    char column[16];
    if (value[0]) {
        snprintf(column, sizeof(column), "%-12s", name);
        cli_bytes_add(text, column);
        cli_bytes_add(text, value);
        cli_bytes_add(text, "\n");
    }
}

static void add_board(struct cli_bytes *text)
{
    char model[200], vendor[200], both[401];
    cli_read_value("/proc/device-tree/model", "", model);
    cli_read_value("/sys/class/dmi/id/sys_vendor", "", vendor);
    if (!model[0]) {
        cli_read_value("/sys/class/dmi/id/product_name", "", model);
    }
    snprintf(both, sizeof(both), "%s%s%s", vendor, vendor[0] && model[0] ? " " : "", model);
    add(text, "board", both);
}

static void add_processor(struct cli_bytes *text)
{
    char model[200], line[256];
    cli_read_value("/proc/cpuinfo", "model name", model);
    if (!model[0]) {
        cli_read_value("/proc/cpuinfo", "CPU section", model);
    }
    snprintf(line, sizeof(line), "%ld x %s", sysconf(_SC_NPROCESSORS_ONLN), model);
    add(text, "processor", line);
}

// Appends the kernel drivers of the GPUs, with the hardware that they found.
static void add_drivers(struct cli_bytes *text)
{
    glob_t found;
    if (glob("/sys/class/drm/renderD*", 0, NULL, &found) != 0) {
        add(text, "gpu", "no render node");
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char path[PATH_MAX], driver[200], kind[200], line[512];
        const char *node = strrchr(found.gl_pathv[i], '/') + 1;
        snprintf(path, sizeof(path), "%s/device/uevent", found.gl_pathv[i]);
        cli_read_value(path, "DRIVER", driver);
        cli_read_value(path, "OF_COMPATIBLE_0", kind);
        if (!kind[0]) {
            cli_read_value(path, "PCI_ID", kind);
        }
        snprintf(line, sizeof(line), "%.20s: driver %s, %s", node, driver, kind);
        add(text, "gpu", line);
    }
    globfree(&found);
}

void report_system(struct cli_bytes *text)
{
    char value[200];
    struct utsname system;
    if (uname(&system) == 0) {
        snprintf(value, sizeof(value), "%.60s %.60s %.60s", system.sysname, system.release,
                 system.machine);
        add(text, "kernel", value);
    }
    cli_read_value("/etc/os-release", "PRETTY_NAME", value);
    add(text, "system", value);
    add_board(text);
    add_processor(text);
    cli_read_value("/proc/meminfo", "MemTotal", value);
    add(text, "memory", value);
    cli_read_value("/proc/meminfo", "CmaTotal", value);
    add(text, "cma", value);
    add_drivers(text);
}
