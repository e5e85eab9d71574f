#include "cli/report/report_sensors.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const patterns[] = {
    "class/thermal/thermal_zone*/temp",
    "class/hwmon/hwmon*/temp1_input",
    "class/devfreq/*/cur_freq",
    "class/devfreq/*/max_freq",
    "class/drm/card*/gt_act_freq_mhz",
    "class/drm/card*/gt_max_freq_mhz",
    "class/drm/card*/device/tile0/gt0/freq0/act_freq",
    "class/drm/card*/device/pp_dpm_sclk",
    "devices/system/cpu/cpufreq/policy*/scaling_cur_freq",
    "devices/system/cpu/cpufreq/policy*/scaling_max_freq",
};

// Reads the number of a file; of a list of clocks, the one that is marked with a star.
static bool read_number(const char *path, double *value)
{
    char text[1024];
    FILE *file = fopen(path, "r");
    const size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file) {
        fclose(file);
    }
    text[n] = '\0';
    char *at = text, *star = strchr(text, '*');
    if (star) {
        *star = '\0';
        char *line = strrchr(text, '\n');
        char *colon = strchr(line ? line : text, ':');
        at = colon ? colon + 1 : text;
    }
    char *end = at;
    *value = strtod(at, &end);
    return end != at;
}

// Writes the first line of the file that stands beside `path`, as " (line)"; "" if there is none.
static void read_kind(const char *path, const char *beside, char kind[48])
{
    char name[512], line[40] = "";
    snprintf(name, sizeof(name), "%.*s/%s", (int)(strrchr(path, '/') - path), path, beside);
    FILE *file = fopen(name, "r");
    const bool is_read = file && fgets(line, sizeof(line), file);
    if (file) {
        fclose(file);
    }
    line[strcspn(line, "\n")] = '\0';
    snprintf(kind, 48, is_read && line[0] ? " (%s)" : "%s", line);
}

static struct report_reading *find_reading(struct report_readings *readings, const char *name)
{
    for (size_t i = 0; i < readings->count; i++) {
        if (strcmp(readings->items[i].name, name) == 0) {
            return &readings->items[i];
        }
    }
    struct report_reading *reading = CLI_APPEND(readings);
    *reading = (struct report_reading){.low = 1e300, .high = -1e300};
    snprintf(reading->name, sizeof(reading->name), "%s", name);
    return reading;
}

static void sample_file(const char *root, const char *path, struct report_readings *readings)
{
    double value;
    char name[128], kind[48];
    if (!read_number(path, &value)) {
        return;
    }
    read_kind(path, strstr(path, "/hwmon") ? "name" : "type", kind);
    snprintf(name, sizeof(name), "%.79s%s", path + strlen(root) + 1, kind);
    struct report_reading *reading = find_reading(readings, name);
    reading->low = value < reading->low ? value : reading->low;
    reading->high = value > reading->high ? value : reading->high;
}

void report_sample(const char *root, struct report_readings *readings)
{
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        char pattern[512];
        glob_t found;
        snprintf(pattern, sizeof(pattern), "%s/%s", root, patterns[i]);
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t k = 0; k < found.gl_pathc; k++) {
                sample_file(root, found.gl_pathv[k], readings);
            }
            globfree(&found);
        }
    }
}

void report_print_readings(const struct report_readings *readings, struct cli_bytes *text)
{
    char line[256];
    for (size_t i = 0; i < readings->count; i++) {
        const struct report_reading *reading = &readings->items[i];
        const bool is_steady = reading->low == reading->high;
        snprintf(line, sizeof(line), is_steady ? "%s %.0f\n" : "%s %.0f to %.0f\n", reading->name,
                 reading->low, reading->high);
        cli_bytes_add(text, line);
    }
}

void report_readings_finish(struct report_readings *readings)
{
    free(readings->items);
    *readings = (struct report_readings){0};
}
