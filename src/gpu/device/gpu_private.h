// The inside of a gpu, for the files of gpu/ alone.
#pragma once

#include "gpu/device/fence.h"
#include "gpu/device/gl_ext.h"
#include "gpu/device/settings.h"
#include "gpu/dispatch/run_count.h"
#include "gpu/memory/copy_log.h"
#include "platform/cuda_large_pages.h"

#define GI_STAGING_SLOTS 2
#define GI_STAGING_SIZE  (1u << 20) // bytes a slot

// Staging buffers for uploads: writes are appended to one slot while the GPU may still copy from
// the other one. A slot is written again only after the fence that follows its last copy.
struct gi_staging {
    GLuint buffers[GI_STAGING_SLOTS];
    struct gi_fence fences[GI_STAGING_SLOTS];
    uint32_t slot; // that is being filled
    uint32_t used; // bytes of it
};

// A program in quarantine (gpu/program/quarantine.h).
#define GI_MAX_QUARANTINED 64
struct gi_quarantined {
    uint32_t program, quant;
    char reason[256];
};

struct gi_gpu {
    struct gi_platform *platform;       // borrowed
    const struct gi_settings *settings; // borrowed
    struct gi_log log;
    struct gi_limits limits;
    struct gi_gl_ext ext;
    struct gi_staging staging;
    struct gi_copy_log copies;
    const struct gi_device_class *class;
    uint32_t quirks;
    enum gi_batch_form batch_form;
    bool joins_ranges;     // gi_gpu_set_joined
    bool is_dispatch_open; // no row of the device says whether grids should be indirect
    struct {
        struct gi_cuda_pages *source; // NULL: not open yet
        uint64_t from;                // bytes of an arena that are worth large pages
        bool is_refused;              // large pages are not available
        bool is_used;                 // by a buffer, once
    } pages;
    char *cache_dir;            // owned; NULL: no cache
    GLuint unbinder;            // program of gi_gpu_unbind; 0: not needed yet
    struct gi_buffer run_count; // 4 bytes; what the GPU counts (gpu/dispatch/run_count.h)
    struct gi_run_total submitted;
    struct gi_last_end last_end;
    uint64_t n_chains;  // that runners submitted
    bool counts_runs;   // no run count of the driver was seen to be wrong
    bool counts_groups; // all grids come from the host, which counts odd ones twice
    bool is_fault_lost; // one did, and nobody has noticed yet
    bool is_lost;
    bool has_work;       // dispatches were submitted since errors were last asked for
    atomic_bool *cancel; // borrowed; NULL: nothing is watched
    struct gi_gpu_counts counts;
    struct gi_quarantined quarantined[GI_MAX_QUARANTINED];
    uint32_t n_quarantined;
};

bool gi_staging_init(struct gi_gpu *gpu, struct glinfer_error *err);
void gi_staging_finish(struct gi_gpu *gpu);

// Names a GL object in the driver's messages where KHR_debug is there. type: GL_BUFFER_KHR ...
void gi_gpu_label(const struct gi_gpu *gpu, GLenum type, GLuint name, const char *label);
// Adds vendor, renderer and version.
void gi_gpu_identify_driver(const struct gi_gpu *gpu, struct gi_hash *hash);
// Drops pending errors, so that the next check sees its own. The gpu is lost if they may be those
// of work.
void gi_gpu_clear_errors(struct gi_gpu *gpu);
// Marks the gpu lost; returns false with GPU_LOST.
bool gi_gpu_lose(struct gi_gpu *gpu, const char *what, const char *why, struct glinfer_error *err);
