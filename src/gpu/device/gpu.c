#include "gpu/device/gpu.h"

#include "base/array.h"
#include "glsl/embedded.h"
#include "gpu/device/gpu_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- limits ----------------------------------------------------------------------------------------

static uint32_t get_uint(GLenum name)
{
    GLint value = 0;
    glGetIntegerv(name, &value);
    return value > 0 ? (uint32_t)value : 0;
}

static uint32_t get_indexed(GLenum name, GLuint index)
{
    GLint value = 0;
    glGetIntegeri_v(name, index, &value);
    return value > 0 ? (uint32_t)value : 0;
}

static void read_limits(struct gi_limits *limits, const struct gi_gl_ext *ext)
{
    GLint64 block_size = 0;
    glGetInteger64v(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &block_size);
    const uint32_t n_block = get_uint(GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS);
    const uint32_t n_binding = get_uint(GL_MAX_SHADER_STORAGE_BUFFER_BINDINGS);
    limits->max_storage_blocks = n_block < n_binding ? n_block : n_binding;
    limits->max_storage_block_size = block_size > 0 ? (uint64_t)block_size : 0;
    limits->storage_alignment = get_uint(GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT);
    limits->max_uniform_block_size = get_uint(GL_MAX_UNIFORM_BLOCK_SIZE);
    limits->uniform_alignment = get_uint(GL_UNIFORM_BUFFER_OFFSET_ALIGNMENT);
    limits->max_invocations = get_uint(GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS);
    limits->max_shared_size = get_uint(GL_MAX_COMPUTE_SHARED_MEMORY_SIZE);
    for (GLuint i = 0; i < 3; i++) {
        limits->max_group_size[i] = get_indexed(GL_MAX_COMPUTE_WORK_GROUP_SIZE, i);
        limits->max_group_count[i] = get_indexed(GL_MAX_COMPUTE_WORK_GROUP_COUNT, i);
    }
    limits->n_binary_formats = get_uint(GL_NUM_PROGRAM_BINARY_FORMATS);
    limits->has_parallel_compile = ext->compiler_threads != NULL;
    limits->has_timer_query = ext->has_timer;
    limits->has_subgroups = ext->has_subgroups;
    limits->has_texture_buffer = ext->tex_buffer_range != NULL;
    if (limits->has_texture_buffer) {
        uint32_t alignment = get_uint(GL_TEXTURE_BUFFER_OFFSET_ALIGNMENT_EXT);
        limits->max_texels = get_uint(GL_MAX_TEXTURE_BUFFER_SIZE_EXT);
        if (alignment > limits->storage_alignment) {
            limits->storage_alignment = alignment;
        }
    }
}

static void cut(uint32_t *limit, uint32_t most)
{
    *limit = most > 0 && most < *limit ? most : *limit;
}

static void raise_to(uint32_t *alignment, uint32_t least)
{
    *alignment = least > *alignment ? least : *alignment;
}

static void cut_limits(struct gi_limits *limits, const struct gi_limit_setting *most)
{
    cut(&limits->max_storage_blocks, most->blocks);
    raise_to(&limits->storage_alignment, most->alignment);
    cut(&limits->max_uniform_block_size, most->uniform);
    raise_to(&limits->uniform_alignment, most->alignment);
    cut(&limits->max_invocations, most->invocations);
    cut(&limits->max_shared_size, most->shared);
    for (int i = 0; i < 3; i++) {
        cut(&limits->max_group_size[i], most->invocations);
    }
}

// Lowers limits to the floor that OpenGL ES 3.1 promises, and alignments to their worst.
static void cut_to_es31(struct gi_limits *limits, struct gi_gl_ext *ext)
{
    static const struct gi_limit_setting floor = {.blocks = 4,
                                                  .invocations = 128,
                                                  .shared = 16u << 10,
                                                  .alignment = 256,
                                                  .uniform = 16u << 10};
    cut_limits(limits, &floor);
    limits->max_storage_block_size = 128u << 20;
    cut(&limits->max_group_size[2], 64);
    for (int i = 0; i < 3; i++) {
        limits->max_group_count[i] = 65535;
    }
    *ext = (struct gi_gl_ext){.debug_callback = ext->debug_callback,
                              .object_label = ext->object_label};
    limits->n_binary_formats = 0;
    limits->has_parallel_compile = false;
    limits->has_timer_query = false;
    limits->has_subgroups = false;
    limits->subgroup_size = 0;
    limits->has_texture_buffer = false;
    limits->max_texels = 0;
}

// Takes away the extensions that the driver's quirks forbid, before limits are read.
static void forbid(struct gi_gl_ext *ext, uint32_t quirks)
{
    ext->has_subgroups = ext->has_subgroups && !(quirks & GI_QUIRK_NO_SUBGROUPS);
    ext->has_timer = ext->has_timer && !(quirks & GI_QUIRK_NO_TIMER);
    if (quirks & GI_QUIRK_NO_TEXTURES) {
        ext->tex_buffer_range = NULL;
    }
    if (quirks & GI_QUIRK_NO_THREADS) {
        ext->compiler_threads = NULL;
    }
}

static bool check_limits(const struct gi_limits *limits, const struct gi_platform_info *info,
                         struct glinfer_error *err)
{
    if (limits->max_storage_blocks == 0 || limits->max_invocations == 0) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s (%s) has no storage blocks in compute shaders: it needs a newer "
                            "Mesa or kernel (V3D: Linux 5.3 and Mesa 20.2 or later)",
                            info->renderer, info->version);
    }
    if (limits->max_storage_blocks < 4 || limits->max_invocations < 128 ||
        limits->max_shared_size < 16384) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s (%s) has %u storage blocks, %u invocations a work group and %u "
                            "bytes of shared memory; OpenGL ES 3.1 promises 4, 128 and 16384",
                            info->renderer, info->version, limits->max_storage_blocks,
                            limits->max_invocations, limits->max_shared_size);
    }
    return true;
}

static void choose_dispatch(struct gi_gpu *gpu)
{
    const enum gi_indirect indirect = gpu->quirks & GI_QUIRK_DIRECT     ? GI_INDIRECT_NO
                                      : gpu->quirks & GI_QUIRK_INDIRECT ? GI_INDIRECT_YES
                                                                        : gpu->class->indirect;
    const enum gi_dispatch_mode mode = gpu->settings->dispatch.mode;
    gpu->is_dispatch_open = indirect == GI_INDIRECT_UNKNOWN && mode == GI_DISPATCH_MODE_AUTO;
    gpu->limits.is_indirect = mode == GI_DISPATCH_MODE_INDIRECT ||
                              (mode == GI_DISPATCH_MODE_AUTO && indirect == GI_INDIRECT_YES);
}

// Chooses what is worth large pages. GLINFER_PAGES=large tries them on devices whose small ones are
// not known to cost time.
static void choose_pages(struct gi_gpu *gpu)
{
    const enum gi_choice choice = gpu->settings->large_pages;
    const uint64_t from = gpu->class->large_pages_from;
    gpu->pages.from = choice == GI_CHOICE_YES                ? 1
                      : choice == GI_CHOICE_NONE && from > 0 ? from
                                                             : UINT64_MAX;
}

//-- debug messages --------------------------------------------------------------------------------

// Returns true if NVIDIA's driver says that it moved a buffer to host memory (its message 131186).
// It says so of a buffer of indirect counts, too, which stays where it is and costs nothing.
static bool is_host_move(const char *message)
{
    return strstr(message, "VIDEO memory to HOST memory") &&
           !strstr(message, "GL_DISPATCH_INDIRECT_BUFFER");
}

static void GL_APIENTRY count_message(GLenum source, GLenum type, GLuint id, GLenum severity,
                                      GLsizei length, const GLchar *message, const void *user)
{
    // user is the gpu itself, which is not const.
    struct gi_gpu *gpu = (struct gi_gpu *)(uintptr_t)user;
    (void)source, (void)length;
    if (type == GL_DEBUG_TYPE_ERROR_KHR || severity == GL_DEBUG_SEVERITY_HIGH_KHR) {
        gpu->counts.n_debug_errors++;
    }
    if (is_host_move(message)) {
        gpu->counts.n_host_moves++;
    }
    gi_log_write(&gpu->log, GLINFER_LOG_DEBUG, "driver (type 0x%x, id %u): %s", type, id, message);
}

static void start_debug(struct gi_gpu *gpu)
{
    if (!gpu->ext.debug_callback || !gi_platform_describe(gpu->platform)->is_debug) {
        return;
    }
    glEnable(GL_DEBUG_OUTPUT_KHR);
    glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS_KHR);
    gpu->ext.debug_callback(count_message, gpu);
}

void gi_gpu_label(const struct gi_gpu *gpu, GLenum type, GLuint name, const char *label)
{
    if (gpu->ext.object_label && label) {
        gpu->ext.object_label(type, name, -1, label);
    }
}

//-- life ------------------------------------------------------------------------------------------

static bool init_gpu(struct gi_gpu *gpu, struct glinfer_error *err)
{
    const struct gi_platform_info *info = gi_platform_describe(gpu->platform);
    gpu->class = gpu->settings->device_class ? gpu->settings->device_class
                                             : gi_device_class_find(info->renderer, info->version);
    gpu->batch_form = gpu->class->batch_form;
    gpu->quirks = gi_quirks_find(info->renderer, info->version, gpu->settings->quirks);
    gi_gl_ext_load(&gpu->ext, gpu->platform);
    forbid(&gpu->ext, gpu->quirks);
    if (!info->is_robust) {
        gpu->ext.reset_status = NULL;
    }
    read_limits(&gpu->limits, &gpu->ext);
    if (gpu->limits.has_subgroups || (gpu->quirks & GI_QUIRK_SHARED_SHUFFLES)) {
        gpu->limits.subgroup_size = gpu->class->subgroup_size;
    }
    if (gpu->quirks & GI_QUIRK_NO_BINARIES) {
        gpu->limits.n_binary_formats = 0;
    }
    cut_limits(&gpu->limits, &gpu->settings->limits);
    if (gpu->settings->limits.is_es31) {
        cut_to_es31(&gpu->limits, &gpu->ext);
    }
    if (gpu->ext.compiler_threads && !info->is_host_context) {
        gpu->ext.compiler_threads(0xffffffff); // as many as the driver likes
    }
    gpu->counts_runs = !(gpu->quirks & GI_QUIRK_NO_COUNT);
    choose_dispatch(gpu);
    gpu->counts_groups = !gpu->limits.is_indirect && !gpu->is_dispatch_open;
    choose_pages(gpu);
    start_debug(gpu);
    return check_limits(&gpu->limits, info, err) && gi_staging_init(gpu, err) &&
           gi_copy_log_init(gpu, err) &&
           gi_buffer_init(&gpu->run_count, gpu, sizeof(uint32_t), "run count", err) &&
           gi_gpu_check(gpu, "opening the device", err);
}

static bool copy_text(char **copy, const char *text, struct glinfer_error *err)
{
    *copy = text ? strdup(text) : NULL;
    return *copy || !text || gi_error_no_memory(err, strlen(text) + 1, "the cache's path");
}

struct gi_gpu *gi_gpu_create(struct gi_platform *platform, const struct gi_gpu_params *params,
                             struct glinfer_error *err)
{
    static const struct gi_settings no_settings;
    struct gi_platform_saved saved;
    struct gi_gpu *gpu = gi_array_zeroed(1, sizeof(*gpu), "a device", err);
    if (!gpu) {
        return NULL;
    }
    gpu->platform = platform;
    gpu->settings = params->settings ? params->settings : &no_settings;
    if (params->log) {
        gpu->log = *params->log;
    }
    if (!copy_text(&gpu->cache_dir, params->cache_dir, err) || !gi_gpu_enter(gpu, &saved, err)) {
        goto fail;
    }
    bool is_ready = init_gpu(gpu, err);
    gi_gpu_leave(gpu, &saved);
    if (!is_ready) {
        goto fail;
    }
    return gpu;
fail:
    gi_gpu_destroy(gpu);
    return NULL;
}

void gi_gpu_release(struct gi_gpu *gpu)
{
    gi_buffer_finish(&gpu->run_count, gpu);
    gi_staging_finish(gpu);
    gi_copy_log_finish(gpu);
    glDeleteProgram(gpu->unbinder);
    gpu->unbinder = 0;
    if (gpu->ext.debug_callback && !gi_gpu_platform(gpu)->is_host_context) {
        gpu->ext.debug_callback(NULL, NULL);
    }
}

bool gi_gpu_restore(struct gi_gpu *gpu, struct gi_platform *platform, struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    gpu->platform = platform;
    gpu->limits = (struct gi_limits){0};
    gpu->is_lost = gpu->is_fault_lost = gpu->has_work = false;
    if (!gi_gpu_enter(gpu, &saved, err)) {
        return false;
    }
    const bool ok = init_gpu(gpu, err);
    gi_gpu_leave(gpu, &saved);
    return ok;
}

void gi_gpu_abandon(struct gi_gpu *gpu)
{
    gpu->is_lost = true;
}

void gi_gpu_destroy(struct gi_gpu *gpu)
{
    struct gi_platform_saved saved;
    if (!gpu) {
        return;
    }
    if (gi_platform_enter_last(gpu->platform, &saved)) {
        gi_gpu_release(gpu);
        gi_platform_leave(gpu->platform, &saved);
    }
    gi_cuda_pages_close(gpu->pages.source);
    free(gpu->copies.samples.expected); // of a context that could not be entered
    free(gpu->cache_dir);
    free(gpu);
}

bool gi_gpu_is_dispatch_open(const struct gi_gpu *gpu)
{
    return gpu->is_dispatch_open;
}

void gi_gpu_set_indirect(struct gi_gpu *gpu, bool is_indirect)
{
    gpu->limits.is_indirect = is_indirect;
}

const struct gi_settings *gi_gpu_settings(const struct gi_gpu *gpu)
{
    return gpu->settings;
}

const struct gi_limits *gi_gpu_limits(const struct gi_gpu *gpu)
{
    return &gpu->limits;
}

const struct gi_device_class *gi_gpu_class(const struct gi_gpu *gpu)
{
    return gpu->class;
}

uint32_t gi_gpu_quirks(const struct gi_gpu *gpu)
{
    return gpu->quirks;
}

enum gi_batch_form gi_gpu_batch_form(const struct gi_gpu *gpu)
{
    return gpu->batch_form;
}

void gi_gpu_set_batch_form(struct gi_gpu *gpu, enum gi_batch_form form)
{
    gpu->batch_form = form;
}

bool gi_gpu_joins_ranges(const struct gi_gpu *gpu)
{
    return gpu->joins_ranges;
}

void gi_gpu_set_joined(struct gi_gpu *gpu, bool is_joined)
{
    gpu->joins_ranges = is_joined;
}

const struct gi_log *gi_gpu_log(const struct gi_gpu *gpu)
{
    return &gpu->log;
}

const struct gi_platform_info *gi_gpu_platform(const struct gi_gpu *gpu)
{
    return gi_platform_describe(gpu->platform);
}

void gi_gpu_identify_driver(const struct gi_gpu *gpu, struct gi_hash *hash)
{
    const struct gi_platform_info *info = gi_gpu_platform(gpu);
    gi_hash_add(hash, info->vendor, strlen(info->vendor));
    gi_hash_add(hash, info->renderer, strlen(info->renderer));
    gi_hash_add(hash, info->version, strlen(info->version));
}

void gi_gpu_identify(const struct gi_gpu *gpu, struct gi_hash *hash)
{
    gi_gpu_identify_driver(gpu, hash);
    if (gpu->settings->device_class) {
        gi_hash_add(hash, gpu->class->name, strlen(gpu->class->name));
    }
    for (size_t i = 0; i < gi_glsl_file_count; i++) {
        gi_hash_add(hash, gi_glsl_files[i].name, strlen(gi_glsl_files[i].name));
        gi_hash_add(hash, gi_glsl_files[i].text, strlen(gi_glsl_files[i].text));
    }
}

bool gi_gpu_enter(struct gi_gpu *gpu, struct gi_platform_saved *saved, struct glinfer_error *err)
{
    return gi_platform_enter(gpu->platform, saved, err);
}

bool gi_gpu_enter_last(struct gi_gpu *gpu, struct gi_platform_saved *saved)
{
    return gi_platform_enter_last(gpu->platform, saved);
}

void gi_gpu_leave(struct gi_gpu *gpu, const struct gi_platform_saved *saved)
{
    gi_platform_leave(gpu->platform, saved);
}

//-- errors ----------------------------------------------------------------------------------------

bool gi_gpu_lose(struct gi_gpu *gpu, const char *what, const char *why, struct glinfer_error *err)
{
    gpu->is_lost = true;
    return gi_error_set(err, GLINFER_STATUS_GPU_LOST, "%s: while %s: %s",
                        gi_gpu_platform(gpu)->renderer, what, why);
}

// Stops after some: a lost context may answer with an error for ever.
void gi_gpu_clear_errors(struct gi_gpu *gpu)
{
    for (int i = 0; i < 16 && glGetError() != GL_NO_ERROR; i++) {
        gpu->is_lost = gpu->is_lost || gpu->has_work;
    }
    gpu->has_work = false;
}

static const char *reset_text(GLenum status)
{
    switch (status) {
    case GL_GUILTY_CONTEXT_RESET_EXT:
        return "the GPU was reset because of this program's work";
    case GL_INNOCENT_CONTEXT_RESET_EXT:
        return "the GPU was reset because of another program's work";
    default:
        return "the GPU was reset";
    }
}

bool gi_gpu_check(struct gi_gpu *gpu, const char *what, struct glinfer_error *err)
{
    if (gpu->is_lost) {
        return gi_gpu_lose(gpu, what, "the GPU was lost before", err);
    }
    if (gpu->is_fault_lost) {
        return gi_gpu_lose(gpu, what, "GLINFER_FAULT lost the context", err);
    }
    if (gpu->ext.reset_status) {
        GLenum status = gpu->ext.reset_status();
        if (status != GL_NO_ERROR) {
            return gi_gpu_lose(gpu, what, reset_text(status), err);
        }
    }
    const bool had_work = gpu->has_work;
    gpu->has_work = false;
    GLenum error = glGetError();
    if (error == GL_NO_ERROR) {
        return true;
    }
    gi_gpu_clear_errors(gpu);
    if (error == GL_CONTEXT_LOST_KHR) {
        return gi_gpu_lose(gpu, what, "the context was lost", err);
    }
    if (had_work) {
        char why[80];
        snprintf(why, sizeof(why), "GL error 0x%04x after dispatches", error);
        return gi_gpu_lose(gpu, what, why, err);
    }
    return gi_error_set(
        err, error == GL_OUT_OF_MEMORY ? GLINFER_STATUS_NO_MEMORY : GLINFER_STATUS_DRIVER,
        "%s: GL error 0x%04x while %s", gi_gpu_platform(gpu)->renderer, error, what);
}

const struct gi_gpu_counts *gi_gpu_counts(const struct gi_gpu *gpu)
{
    return &gpu->counts;
}
