// Presets of models: an INI file whose sections are models and whose keys are flags of `glinfer
// serve` without their dashes, as llama-server has them.
#pragma once

#include "cli/serve/serve_settings.h"

struct serve_preset_line {
    unsigned number; // in the file, from 1
    char *key, *value;
};

struct serve_preset {
    char *name; // "*": for all models
    unsigned number;
    struct {
        struct serve_preset_line *items;
        size_t count, capacity;
    } lines;
};

struct serve_presets {
    const char *path; // of the file, borrowed
    struct {
        struct serve_preset *items;
        size_t count, capacity;
    } sections;
};

// Texts that settings point to.
struct serve_texts {
    char **items; // owned
    size_t count, capacity;
};

// Keys of presets that are not flags.
struct serve_preset_extra {
    bool is_on_start;   // load-on-startup
    bool hides_cached;  // dedup-cache-models
    int64_t stop_after; // stop-timeout, seconds
};

// Reads a file; NULL: none. Returns false with an error that names the line.
bool serve_presets_read(struct serve_presets *presets, const char *path, struct glinfer_error *err);
void serve_presets_finish(struct serve_presets *presets);
// Returns the section of a name; NULL: there is none.
const struct serve_preset *serve_presets_find(const struct serve_presets *presets,
                                              const char *name);
// Appends the lines of a section, which may be NULL, to a text.
void serve_preset_write(const struct serve_preset *preset, struct cli_bytes *text);
// Sets what a section says, which may be NULL, but for flags of the command line. The settings
// point to copies in texts. Returns false with an error that names the line.
bool serve_preset_apply(const struct serve_presets *presets, const struct serve_preset *preset,
                        struct serve_settings *settings, struct serve_texts *texts,
                        struct serve_preset_extra *extra, struct glinfer_error *err);
