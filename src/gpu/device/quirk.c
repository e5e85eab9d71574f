#include "gpu/device/quirk.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array[0]))

static const struct {
    const char *name;
    enum gi_quirk quirk;
} flags[] = {
    {"late-compile", GI_QUIRK_LATE_COMPILE},
    {"loop-limit", GI_QUIRK_LOOP_LIMIT},
    {"serial-groups", GI_QUIRK_SERIAL_GROUPS},
    {"direct", GI_QUIRK_DIRECT},
    {"indirect", GI_QUIRK_INDIRECT},
    {"no-subgroups", GI_QUIRK_NO_SUBGROUPS},
    {"no-timer", GI_QUIRK_NO_TIMER},
    {"no-textures", GI_QUIRK_NO_TEXTURES},
    {"no-binaries", GI_QUIRK_NO_BINARIES},
    {"no-threads", GI_QUIRK_NO_THREADS},
    {"no-half", GI_QUIRK_NO_HALF},
    {"no-count", GI_QUIRK_NO_COUNT},
    {"shared-shuffles", GI_QUIRK_SHARED_SHUFFLES},
    {"late-binary", GI_QUIRK_LATE_BINARY},
};

// Drivers that run on the CPU compile at the first dispatch, as V3D does, and run groups one after
// the other. Those made with LLVM end loops early. Counting dispatches costs 1 to 5 % of a step on
// NVIDIA, whose driver reports resets. There the first dispatch of a program that was loaded from
// its binary took up to 0.4 s.
#define ON_CPU  "late-compile,serial-groups"
#define BY_LLVM ON_CPU ",loop-limit"

static const char built_in[] =
    "llvmpipe=" BY_LLVM ";lavapipe=" BY_LLVM ";softpipe=" BY_LLVM ";swrast=" BY_LLVM
    ";software rasterizer=" BY_LLVM ";swiftshader=" BY_LLVM ";basic render driver=" BY_LLVM
    ";V3D=late-compile;NVIDIA=no-count,late-binary";

struct row {
    const char *renderer;
    size_t renderer_size;
    uint32_t from, to; // versions, as read_version makes them
    uint32_t quirks;
};

// Reads "22.3" or "22" as 22 * 65,536 + 3; returns false without a digit in front.
static bool read_version(const char **text, uint32_t *version)
{
    char *end;
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    *version = (uint32_t)(strtoul(*text, &end, 10) & 0x7FFF) << 16;
    if (*end == '.' && isdigit((unsigned char)end[1])) {
        *version |= (uint32_t)(strtoul(end + 1, &end, 10) & 0xFFFF);
    }
    *text = end;
    return true;
}

// Returns the driver's version, the second one in "OpenGL ES 3.1 Mesa 25.0.7"; 0 if it is missing.
static uint32_t find_version(const char *text)
{
    uint32_t version = 0, n = 0;
    while (*text && n < 2) {
        if (read_version(&text, &version)) {
            n++;
        } else {
            text++;
        }
    }
    return n == 2 ? version : 0;
}

static bool read_range(const char **text, struct row *row)
{
    row->to = UINT32_MAX;
    if (**text != '@') {
        return true;
    }
    ++*text;
    read_version(text, &row->from);
    return *(*text)++ == '-' && (read_version(text, &row->to) || **text == '=');
}

static bool read_flag(const char **text, uint32_t *quirks)
{
    const size_t size = strcspn(*text, ",;");
    for (size_t i = 0; i < COUNT(flags); i++) {
        if (strlen(flags[i].name) == size && strncmp(*text, flags[i].name, size) == 0) {
            *quirks |= flags[i].quirk;
            *text += size;
            return true;
        }
    }
    return false;
}

// Reads a row and the ";" after it, and moves *text past both.
static bool read_row(const char **text, struct row *row)
{
    *row = (struct row){.renderer = *text, .renderer_size = strcspn(*text, "@=;")};
    *text += row->renderer_size;
    if (!read_range(text, row) || **text != '=') {
        return false;
    }
    do {
        ++*text;
        if (!read_flag(text, &row->quirks)) {
            return false;
        }
    } while (**text == ',');
    *text += **text == ';';
    return true;
}

static bool fits(const struct row *row, const char *renderer, uint32_t version)
{
    char part[128];
    snprintf(part, sizeof(part), "%.*s", (int)row->renderer_size, row->renderer);
    const bool is_any = row->from == 0 && row->to == UINT32_MAX;
    return strcasestr(renderer, part) &&
           (is_any || (version > 0 && row->from <= version && version < row->to));
}

static uint32_t find(const char *text, const char *renderer, uint32_t version)
{
    uint32_t quirks = 0;
    struct row row;
    while (*text && read_row(&text, &row)) {
        quirks |= fits(&row, renderer, version) ? row.quirks : 0;
    }
    return quirks;
}

uint32_t gi_quirks_find(const char *renderer, const char *version, const char *added)
{
    const uint32_t number = find_version(version);
    return find(built_in, renderer, number) | find(added, renderer, number);
}

void gi_quirks_print(uint32_t quirks, char *text, uint32_t size)
{
    uint32_t n = 0;
    snprintf(text, size, "none");
    for (size_t i = 0; i < COUNT(flags) && n < size; i++) {
        if (quirks & flags[i].quirk) {
            n += (uint32_t)snprintf(text + n, size - n, "%s%s", n ? "," : "", flags[i].name);
        }
    }
}

bool gi_quirks_parse(const char *text)
{
    struct row row;
    while (*text) {
        if (!read_row(&text, &row)) {
            return false;
        }
    }
    return true;
}
