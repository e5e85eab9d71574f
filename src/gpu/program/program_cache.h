// Compiled programs on disk, a file each, keyed by the driver (vendor, renderer, version) and the
// whole source. It only ever saves time: whatever is wrong with the folder or a file is a log line,
// and the program is compiled. Internal to gpu/.
#pragma once

#include "base/hash.h"
#include "gpu/device/gpu.h"
#include "gpu/program/program_table.h"

struct gi_program_cache {
    struct gi_gpu *gpu;     // borrowed
    char *dir;              // owned; NULL: there is no cache
    bool has_binaries;      // the device has a format for them
    bool has_failed_write;  // no more are tried
    bool is_unwanted;       // the caller asked for none
    bool has_written;       // a program, so that the folder is swept at the end
    struct gi_hash useless; // the key of the last damaged or refused file
};

// Chooses the folder: dir/programs; for a NULL dir $XDG_CACHE_HOME/glinfer/programs or
// ~/.cache/glinfer/programs; none for "". Creates nothing.
// Warns of a folder that others may write to.
void gi_program_cache_init(struct gi_program_cache *cache, struct gi_gpu *gpu, const char *dir);
// Accepts all-zero. Where programs were written, removes what was not used for long from a folder
// that has become too large.
void gi_program_cache_finish(struct gi_program_cache *cache);

// Computes the key of a source text on this driver.
void gi_program_cache_key(const struct gi_program_cache *cache, const char *text, size_t size,
                          struct gi_hash *key);
// Returns the GL name of a linked program made from the file of this key; 0 if there is none, it is
// damaged, or the driver refuses it. Logs the last two, once for the same key.
uint32_t gi_program_cache_load(struct gi_program_cache *cache, const struct gi_hash *key);
// Writes a linked program under this key: to a file of its own, then renamed.
void gi_program_cache_store(struct gi_program_cache *cache, const struct gi_hash *key,
                            uint32_t program);

// Return and keep what a self-test found of the program with this key: a file beside the binary's.
// text gets the line that was kept, of 200 bytes at most.
enum gi_finding gi_program_cache_recall(const struct gi_program_cache *cache,
                                        const struct gi_hash *key, char text[200]);
void gi_program_cache_judge(struct gi_program_cache *cache, const struct gi_hash *key,
                            enum gi_finding finding, const char *text);
