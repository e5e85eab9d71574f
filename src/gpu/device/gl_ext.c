#include "gpu/device/gl_ext.h"

#include <string.h>

#ifndef GL_SUBGROUP_SUPPORTED_STAGES_KHR
#define GL_SUBGROUP_SUPPORTED_STAGES_KHR 0x9533
#endif

bool gi_gl_ext_has(const char *name)
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

// One of two spellings of the same entry point.
static void (*find_proc(const struct gi_platform *platform, const char *name,
                        const char *other))(void)
{
    void (*proc)(void) = gi_platform_proc(platform, name);
    return proc || !other ? proc : gi_platform_proc(platform, other);
}

static void load_timer(struct gi_gl_ext *ext, const struct gi_platform *platform)
{
    ext->gen_queries = (PFNGLGENQUERIESEXTPROC)find_proc(platform, "glGenQueriesEXT", NULL);
    ext->delete_queries =
        (PFNGLDELETEQUERIESEXTPROC)find_proc(platform, "glDeleteQueriesEXT", NULL);
    ext->begin_query = (PFNGLBEGINQUERYEXTPROC)find_proc(platform, "glBeginQueryEXT", NULL);
    ext->end_query = (PFNGLENDQUERYEXTPROC)find_proc(platform, "glEndQueryEXT", NULL);
    ext->get_query_uint =
        (PFNGLGETQUERYOBJECTUIVEXTPROC)find_proc(platform, "glGetQueryObjectuivEXT", NULL);
    ext->get_query_uint64 =
        (PFNGLGETQUERYOBJECTUI64VEXTPROC)find_proc(platform, "glGetQueryObjectui64vEXT", NULL);
    ext->has_timer = ext->gen_queries && ext->delete_queries && ext->begin_query &&
                     ext->end_query && ext->get_query_uint && ext->get_query_uint64;
}

static void load_debug(struct gi_gl_ext *ext, const struct gi_platform *platform)
{
    ext->debug_callback = (PFNGLDEBUGMESSAGECALLBACKKHRPROC)find_proc(
        platform, "glDebugMessageCallbackKHR", "glDebugMessageCallback");
    ext->object_label =
        (PFNGLOBJECTLABELKHRPROC)find_proc(platform, "glObjectLabelKHR", "glObjectLabel");
}

static void load_memory(struct gi_gl_ext *ext, const struct gi_platform *platform)
{
    ext->create_memory_objects =
        (PFNGLCREATEMEMORYOBJECTSEXTPROC)find_proc(platform, "glCreateMemoryObjectsEXT", NULL);
    ext->delete_memory_objects =
        (PFNGLDELETEMEMORYOBJECTSEXTPROC)find_proc(platform, "glDeleteMemoryObjectsEXT", NULL);
    ext->buffer_storage_memory =
        (PFNGLBUFFERSTORAGEMEMEXTPROC)find_proc(platform, "glBufferStorageMemEXT", NULL);
    ext->get_unsigned_bytes =
        (PFNGLGETUNSIGNEDBYTEI_VEXTPROC)find_proc(platform, "glGetUnsignedBytei_vEXT", NULL);
    if (ext->create_memory_objects && ext->delete_memory_objects && ext->buffer_storage_memory &&
        ext->get_unsigned_bytes) {
        ext->import_memory_fd =
            (PFNGLIMPORTMEMORYFDEXTPROC)find_proc(platform, "glImportMemoryFdEXT", NULL);
    }
}

static bool has_compute_subgroups(void)
{
    GLint stages = 0;
    if (gi_gl_ext_has("GL_KHR_shader_subgroup")) {
        glGetIntegerv(GL_SUBGROUP_SUPPORTED_STAGES_KHR, &stages);
    }
    return (stages & GL_COMPUTE_SHADER_BIT) != 0;
}

void gi_gl_ext_load(struct gi_gl_ext *ext, const struct gi_platform *platform)
{
    *ext = (struct gi_gl_ext){.has_subgroups = has_compute_subgroups()};
    if (gi_gl_ext_has("GL_EXT_buffer_storage")) {
        ext->buffer_storage =
            (PFNGLBUFFERSTORAGEEXTPROC)find_proc(platform, "glBufferStorageEXT", NULL);
    }
    if (gi_gl_ext_has("GL_KHR_parallel_shader_compile")) {
        ext->compiler_threads = (PFNGLMAXSHADERCOMPILERTHREADSKHRPROC)find_proc(
            platform, "glMaxShaderCompilerThreadsKHR", NULL);
    }
    if (gi_gl_ext_has("GL_KHR_robustness") || gi_gl_ext_has("GL_EXT_robustness")) {
        ext->reset_status = (PFNGLGETGRAPHICSRESETSTATUSEXTPROC)find_proc(
            platform, "glGetGraphicsResetStatusKHR", "glGetGraphicsResetStatusEXT");
    }
    if (gi_gl_ext_has("GL_EXT_texture_buffer") || gi_gl_ext_has("GL_OES_texture_buffer")) {
        ext->tex_buffer_range = (PFNGLTEXBUFFERRANGEEXTPROC)find_proc(
            platform, "glTexBufferRangeEXT", "glTexBufferRangeOES");
    }
    if (gi_gl_ext_has("GL_EXT_memory_object") && gi_gl_ext_has("GL_EXT_memory_object_fd")) {
        load_memory(ext, platform);
    }
    if (gi_gl_ext_has("GL_EXT_disjoint_timer_query")) {
        load_timer(ext, platform);
    }
    if (gi_gl_ext_has("GL_KHR_debug")) {
        load_debug(ext, platform);
    }
}
