// The GL side of a device: limits read once, extension entry points, errors, fences and flushes.
// Owns nothing of the platform, which is borrowed and must outlive it. Only this folder and
// platform/ see GL headers; GL names leave it as plain integers inside opaque or documented
// structs. Every function of gpu/ but create needs the context entered (gi_gpu_enter); one thread
// at a time.
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "gpu/device/device_class.h"
#include "gpu/device/quirk.h"
#include "platform/platform.h"

#include <stdatomic.h>
#include <stdint.h>

struct gi_gpu;
struct gi_settings;

// Limits and extensions of the context; zero means "not there". Filled at create, without what the
// driver's quirks take away and cut down to GLINFER_LIMITS, whose es31 is what OpenGL ES 3.1
// promises (4 storage blocks of 128 MiB, 128 invocations, 16 KiB shared, uniform blocks of 16 KiB,
// 65535 groups, no extensions but debug). No other code asks GL.
struct gi_limits {
    uint32_t max_storage_blocks; // of one compute shader
    uint64_t max_storage_block_size;
    uint32_t storage_alignment; // of a range's offset, bytes; that of buffer textures too
    uint32_t max_texels;        // of a buffer texture
    uint32_t max_uniform_block_size;
    uint32_t uniform_alignment;
    uint32_t max_invocations; // of a work group
    uint32_t max_group_size[3];
    uint32_t max_group_count[3];
    uint32_t max_shared_size; // bytes
    uint32_t n_binary_formats;
    bool has_parallel_compile;
    bool has_timer_query;
    bool has_subgroups;
    uint32_t subgroup_size; // size of the subgroups that neighbouring invocations always share; 0:
                            // unknown
    bool has_texture_buffer;
    bool has_fast_half;          // mediump is f16 and faster than f32; half_probe.h finds out
    bool keeps_half_denormals;   // where mediump is f16
    bool flushes_half_denormals; // highp unpackHalf2x16 was seen to flush them
    bool is_indirect; // grids that change are dispatched indirectly: the class, a quirk, tuning or
                      // GLINFER_DISPATCH
};

struct gi_gpu_params {
    const char *cache_dir;    // as glinfer_device_params.cache_dir
    const struct gi_log *log; // may be NULL
    const struct gi_settings
        *settings; // borrowed; NULL: none. Shapes of kernels may change between recordings
};

// Reads the limits. Fails with UNSUPPORTED (no compute storage blocks: says what to upgrade),
// DRIVER, NO_MEMORY.
struct gi_gpu *gi_gpu_create(struct gi_platform *platform, const struct gi_gpu_params *params,
                             struct glinfer_error *err);
void gi_gpu_destroy(struct gi_gpu *gpu);

// Destroys the GL objects of the gpu; its context is entered.
void gi_gpu_release(struct gi_gpu *gpu);
// Begins anew in the context of another platform, after gi_gpu_release; limits are read again. The
// gpu is lost no more. Fails as gi_gpu_create does.
bool gi_gpu_restore(struct gi_gpu *gpu, struct gi_platform *platform, struct glinfer_error *err);
// Marks the gpu as lost.
void gi_gpu_abandon(struct gi_gpu *gpu);

// Returns true if neither the device's class nor GLINFER_DISPATCH says how grids that change are
// dispatched: measurement may then say so with gi_gpu_set_indirect, for tables that are recorded
// afterwards.
bool gi_gpu_is_dispatch_open(const struct gi_gpu *gpu);
void gi_gpu_set_indirect(struct gi_gpu *gpu, bool is_indirect);

const struct gi_settings *gi_gpu_settings(const struct gi_gpu *gpu); // settings.h; never NULL
const struct gi_limits *gi_gpu_limits(const struct gi_gpu *gpu);
const struct gi_device_class *gi_gpu_class(const struct gi_gpu *gpu);
uint32_t gi_gpu_quirks(const struct gi_gpu *gpu); // flags of quirk.h
// Returns the form of a prompt batch's kernels, from the class or from a measurement.
enum gi_batch_form gi_gpu_batch_form(const struct gi_gpu *gpu);
void gi_gpu_set_batch_form(struct gi_gpu *gpu, enum gi_batch_form form);
// Returns true if few buffers are better for ranges: an executor binds all of a model at once.
bool gi_gpu_joins_ranges(const struct gi_gpu *gpu);
void gi_gpu_set_joined(struct gi_gpu *gpu, bool is_joined);
const struct gi_log *gi_gpu_log(const struct gi_gpu *gpu);
const struct gi_platform_info *gi_gpu_platform(const struct gi_gpu *gpu);

// Adds what decides how kernels compile and run here: driver, renderer, version, the built-in
// kernels. Results of measurements and checks hold while this stays the same.
void gi_gpu_identify(const struct gi_gpu *gpu, struct gi_hash *hash);

// Makes the context current and puts back what was. A lost gpu can still be entered, so that its
// objects can be destroyed.
bool gi_gpu_enter(struct gi_gpu *gpu, struct gi_platform_saved *saved, struct glinfer_error *err);
// Enters to destroy objects (gi_platform_enter_last).
bool gi_gpu_enter_last(struct gi_gpu *gpu, struct gi_platform_saved *saved);
void gi_gpu_leave(struct gi_gpu *gpu, const struct gi_platform_saved *saved);

// Turns a pending GL error or reset into DRIVER, NO_MEMORY or GPU_LOST; `what` names the operation.
// After dispatches every error is GPU_LOST: a dispatch with wrong bindings may have written
// anywhere. Once lost, a gpu stays lost.
bool gi_gpu_check(struct gi_gpu *gpu, const char *what, struct glinfer_error *err);

// Events on a gpu since it was created.
struct gi_gpu_counts {
    uint64_t n_waits;  // waits for a fence and finishes, done already or not
    uint32_t n_faults; // dispatches that GLINFER_FAULT may have skipped or lost the context with
    uint32_t n_debug_errors; // driver messages of high severity or type error (KHR_debug)
    uint32_t n_host_moves; // of buffers to host memory, as the driver says; wrong for a hot buffer
};
const struct gi_gpu_counts *gi_gpu_counts(const struct gi_gpu *gpu);
