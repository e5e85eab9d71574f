// Quirks of drivers: features that a device must not use, or must use in another way, because of
// the driver that it opened. Data, not code: a row names a part of GL_RENDERER, a range of the
// driver's versions and flags, and GLINFER_QUIRKS adds rows. Knows no GL calls.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum gi_quirk {
    GI_QUIRK_LATE_COMPILE = 1 << 0,  // compiles a program at its first dispatch
    GI_QUIRK_LOOP_LIMIT = 1 << 1,    // ends the loops of a program after 65,535 turns together
    GI_QUIRK_SERIAL_GROUPS = 1 << 2, // does not run the groups of a dispatch at the same time
    GI_QUIRK_DIRECT = 1 << 3,        // indirect dispatches stall or go wrong
    GI_QUIRK_INDIRECT = 1 << 4,      // indirect dispatches cost nothing
    GI_QUIRK_NO_SUBGROUPS = 1 << 5,
    GI_QUIRK_NO_TIMER = 1 << 6,
    GI_QUIRK_NO_TEXTURES = 1 << 7, // no buffer textures
    GI_QUIRK_NO_BINARIES = 1 << 8, // no program binaries, so no cache of programs
    GI_QUIRK_NO_THREADS = 1 << 9,  // no compiling in threads of the driver
    GI_QUIRK_NO_HALF = 1 << 10,    // mediump is not tried as f16
    GI_QUIRK_NO_COUNT = 1 << 11,   // dispatches that ran are not counted (dispatch/run_count.h)
    // Subgroups as the device's class has them, made up of shared memory (program/glsl_shuffle.h).
    GI_QUIRK_SHARED_SHUFFLES = 1 << 12,
    GI_QUIRK_LATE_BINARY = 1 << 13, // compiles a program from the cache at its first dispatch
};

// Returns the flags of all rows that fit GL_RENDERER and GL_VERSION: those built in, then those of
// `added`, which gi_quirks_parse accepts.
uint32_t gi_quirks_find(const char *renderer, const char *version, const char *added);

// Writes the names of flags, a comma between two, or "none".
void gi_quirks_print(uint32_t quirks, char *text, uint32_t size);

// Returns true if text is rows of GLINFER_QUIRKS: RENDERER[@FROM-TO]=FLAG[,FLAG...], a ";" between
// two. RENDERER is a part of GL_RENDERER, letter case aside, "" any. FROM is the first version of
// the driver, as in 22.3, TO the first that does not belong; either may be left out.
bool gi_quirks_parse(const char *text);
