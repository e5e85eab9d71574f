// Saves what compute work changes of a context, and restores it: for contexts of the host program.
// Private to platform/. The context is current.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GI_MAX_SAVED_STORAGE = 96, GI_SAVED_UNIFORMS = 4, GI_SAVED_TEXTURES = 8, GI_MAX_ERRORS = 8 };

// An indexed binding; size 0: the whole buffer.
struct gi_gl_binding {
    int32_t name;
    int64_t offset, size;
};

struct gi_gl_state {
    uint32_t errors[GI_MAX_ERRORS]; // that were pending
    uint32_t n_errors, n_storage;
    int32_t program, active_texture;
    int32_t storage_buffer, uniform_buffer, counter_buffer, indirect_buffer, copy_read, copy_write;
    struct gi_gl_binding storage[GI_MAX_SAVED_STORAGE], uniforms[GI_SAVED_UNIFORMS], counter;
    int32_t textures[GI_SAVED_TEXTURES]; // buffer textures of the first units
    bool is_debugging;                   // the host has debug messages on
    bool is_feeding_back;                // transform feedback was active, and is paused meanwhile
};

// Saves the state and takes pending errors away, so that the library sees its own alone.
void gi_gl_state_save(struct gi_gl_state *state);
// Puts all of it back, and raises the errors again that were pending: all but GL_OUT_OF_MEMORY,
// which nothing raises harmlessly. Drops errors that are pending now.
void gi_gl_state_restore(const struct gi_gl_state *state);
