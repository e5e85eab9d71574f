// The inside of a dispatch table, for the files that record it and submit it.
#pragma once

#include "gpu/device/gpu_private.h"
#include "gpu/dispatch/dispatch_table.h"
#include "gpu/memory/buffer_texture.h"

#define GI_NO_SLOT UINT32_MAX
// Most ranges accessed since the last barrier; a barrier empties the list when it is full.
#define GI_MAX_ACCESSES 128

struct gi_dispatch_entry {
    struct gi_dispatch dispatch;      // params is NULL: they are in blocks, then in uniforms
    GLuint program;                   // resolved by seal
    GLuint textures[GI_MAX_BINDINGS]; // 0: a storage block
    uint32_t params_offset;           // in the uniform buffer
    uint32_t slot;                    // in counts, GI_NO_SLOT: direct
    GLbitfield barrier;               // that must come before it
    bool is_counted;                  // by the GPU (gpu/dispatch/run_count.h)
    uint32_t n_repeat; // times that it runs, but for once into scratch (GLINFER_FAULT); 0: once
};

struct gi_dispatch_access {
    struct gi_range range;
    bool is_write;
};

struct gi_dispatch_table {
    struct gi_gpu *gpu;                      // borrowed
    const struct gi_program_table *programs; // borrowed
    struct gi_dispatch_table_params params;
    struct gi_dispatch_entry *entries;
    uint32_t n_entries;
    size_t capacity;
    uint8_t *blocks; // parameter blocks
    uint32_t blocks_size;
    size_t blocks_capacity;
    struct gi_buffer uniforms; // the same on the GPU
    struct gi_buffer_textures textures;
    struct gi_buffer scratch; // of entries that repeat
    struct gi_grid_slot slots[GI_MAX_SLOTS];
    uint32_t n_slots;
    bool has_uniform; // of a dispatch
    struct gi_dispatch_access accesses[GI_MAX_ACCESSES];
    uint32_t n_accesses;
    // Bit sets of the slots whose dispatches ran, and wrote step_state, since the last barrier; bit
    // 0 is all slots, or those of a list that is not joint.
    uint32_t ran, wrote;
    uint64_t weight_bytes;
    struct glinfer_error failure; // the first of recording
    bool is_sealed;
};

// Counts the workgroups of a grid for n_tokens after n_past.
void gi_grid_count(const struct gi_grid *grid, uint32_t n_past, uint32_t n_tokens,
                   uint32_t count[3]);
