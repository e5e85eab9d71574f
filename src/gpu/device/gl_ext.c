#include "gpu/device/gl_ext.h"

#include <stddef.h>
#include <string.h>

#ifndef GL_SUBGROUP_SUPPORTED_STAGES_KHR
#define GL_SUBGROUP_SUPPORTED_STAGES_KHR 0x9533
#endif

static bool has_extension(const char *name)
{
    GLint count = 0;
    glGetIntegerv(GL_NUM_EXTENSIONS, &count);
    for (GLint i = 0; i < count; i++) {
        const char *extension = (const char *)glGetStringi(GL_EXTENSIONS, (GLuint)i);
        if (extension && strcmp(extension, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_compute_subgroups(void)
{
    GLint stages = 0;
    if (has_extension("GL_KHR_shader_subgroup")) {
        glGetIntegerv(GL_SUBGROUP_SUPPORTED_STAGES_KHR, &stages);
    }
    return (stages & GL_COMPUTE_SHADER_BIT) != 0;
}

#define AT(field) offsetof(struct gi_gl_ext, field)

// The first row of a field that the context has is taken.
static const struct {
    const char *extension, *name;
    size_t offset; // in struct gi_gl_ext
} procs[] = {
    {"GL_EXT_buffer_storage", "glBufferStorageEXT", AT(buffer_storage)},
    {"GL_KHR_parallel_shader_compile", "glMaxShaderCompilerThreadsKHR", AT(compiler_threads)},
    {"GL_KHR_robustness", "glGetGraphicsResetStatusKHR", AT(reset_status)},
    {"GL_EXT_robustness", "glGetGraphicsResetStatusEXT", AT(reset_status)},
    {"GL_EXT_texture_buffer", "glTexBufferRangeEXT", AT(tex_buffer_range)},
    {"GL_OES_texture_buffer", "glTexBufferRangeOES", AT(tex_buffer_range)},
    {"GL_KHR_debug", "glDebugMessageCallbackKHR", AT(debug_callback)},
    {"GL_KHR_debug", "glDebugMessageCallback", AT(debug_callback)},
    {"GL_KHR_debug", "glObjectLabelKHR", AT(object_label)},
    {"GL_KHR_debug", "glObjectLabel", AT(object_label)},
    {"GL_EXT_disjoint_timer_query", "glGenQueriesEXT", AT(gen_queries)},
    {"GL_EXT_disjoint_timer_query", "glDeleteQueriesEXT", AT(delete_queries)},
    {"GL_EXT_disjoint_timer_query", "glBeginQueryEXT", AT(begin_query)},
    {"GL_EXT_disjoint_timer_query", "glEndQueryEXT", AT(end_query)},
    {"GL_EXT_disjoint_timer_query", "glGetQueryObjectuivEXT", AT(get_query_uint)},
    {"GL_EXT_disjoint_timer_query", "glGetQueryObjectui64vEXT", AT(get_query_uint64)},
    {"GL_EXT_memory_object_fd", "glCreateMemoryObjectsEXT", AT(create_memory_objects)},
    {"GL_EXT_memory_object_fd", "glDeleteMemoryObjectsEXT", AT(delete_memory_objects)},
    {"GL_EXT_memory_object_fd", "glBufferStorageMemEXT", AT(buffer_storage_memory)},
    {"GL_EXT_memory_object_fd", "glGetUnsignedBytei_vEXT", AT(get_unsigned_bytes)},
    {"GL_EXT_memory_object_fd", "glImportMemoryFdEXT", AT(import_memory_fd)},
};

void gi_gl_ext_load(struct gi_gl_ext *ext, const struct gi_platform *platform)
{
    *ext = (struct gi_gl_ext){.has_subgroups = has_compute_subgroups()};
    for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
        char *field = (char *)ext + procs[i].offset;
        void (*proc)(void);
        memcpy(&proc, field, sizeof(proc));
        if (!proc && has_extension(procs[i].extension)) {
            proc = gi_platform_proc(platform, procs[i].name);
            memcpy(field, &proc, sizeof(proc));
        }
    }
    ext->has_timer = ext->gen_queries && ext->delete_queries && ext->begin_query &&
                     ext->end_query && ext->get_query_uint && ext->get_query_uint64;
    if (!ext->create_memory_objects || !ext->delete_memory_objects || !ext->buffer_storage_memory ||
        !ext->get_unsigned_bytes) {
        ext->import_memory_fd = NULL;
    }
}
