#include "gpu/device/gl_ext.h"

#include <stddef.h>
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

static bool has_compute_subgroups(void)
{
    GLint stages = 0;
    if (gi_gl_ext_has("GL_KHR_shader_subgroup")) {
        glGetIntegerv(GL_SUBGROUP_SUPPORTED_STAGES_KHR, &stages);
    }
    return (stages & GL_COMPUTE_SHADER_BIT) != 0;
}

// Each entry point, of one of two extensions and in one of two spellings.
static const struct proc {
    const char *extension, *other_extension, *name, *other_name;
    size_t offset; // in struct gi_gl_ext
} procs[] = {
#define AT(field) offsetof(struct gi_gl_ext, field)
    {"GL_EXT_buffer_storage",          NULL,                    "glBufferStorageEXT",            NULL,                     AT(buffer_storage)       },
    {"GL_KHR_parallel_shader_compile", NULL,                    "glMaxShaderCompilerThreadsKHR", NULL,
                                                       AT(compiler_threads)                                                                                                                           },
    {"GL_KHR_robustness",              "GL_EXT_robustness",     "glGetGraphicsResetStatusKHR",
                                                       "glGetGraphicsResetStatusEXT",                                                                                        AT(reset_status)         },
    {"GL_EXT_texture_buffer",          "GL_OES_texture_buffer", "glTexBufferRangeEXT",           "glTexBufferRangeOES",
                                                       AT(tex_buffer_range)                                                                                                                           },
    {"GL_KHR_debug",                   NULL,                    "glDebugMessageCallbackKHR",     "glDebugMessageCallback",
                                                       AT(debug_callback)                                                                                                                             },
    {"GL_KHR_debug",                   NULL,                    "glObjectLabelKHR",              "glObjectLabel",          AT(object_label)         },
    {"GL_EXT_disjoint_timer_query",    NULL,                    "glGenQueriesEXT",               NULL,                     AT(gen_queries)          },
    {"GL_EXT_disjoint_timer_query",    NULL,                    "glDeleteQueriesEXT",            NULL,                     AT(delete_queries)       },
    {"GL_EXT_disjoint_timer_query",    NULL,                    "glBeginQueryEXT",               NULL,                     AT(begin_query)          },
    {"GL_EXT_disjoint_timer_query",    NULL,                    "glEndQueryEXT",                 NULL,                     AT(end_query)            },
    {"GL_EXT_disjoint_timer_query",    NULL,                    "glGetQueryObjectuivEXT",        NULL,                     AT(get_query_uint)       },
    {"GL_EXT_disjoint_timer_query",    NULL,                    "glGetQueryObjectui64vEXT",      NULL,                     AT(get_query_uint64)     },
    {"GL_EXT_memory_object_fd",        NULL,                    "glCreateMemoryObjectsEXT",      NULL,                     AT(create_memory_objects)},
    {"GL_EXT_memory_object_fd",        NULL,                    "glDeleteMemoryObjectsEXT",      NULL,                     AT(delete_memory_objects)},
    {"GL_EXT_memory_object_fd",        NULL,                    "glBufferStorageMemEXT",         NULL,                     AT(buffer_storage_memory)},
    {"GL_EXT_memory_object_fd",        NULL,                    "glGetUnsignedBytei_vEXT",       NULL,                     AT(get_unsigned_bytes)   },
    {"GL_EXT_memory_object_fd",        NULL,                    "glImportMemoryFdEXT",           NULL,                     AT(import_memory_fd)     },
#undef AT
};

static void load_proc(struct gi_gl_ext *ext, const struct gi_platform *platform,
                      const struct proc *row)
{
    void (*proc)(void) = NULL;
    if (gi_gl_ext_has(row->extension) ||
        (row->other_extension && gi_gl_ext_has(row->other_extension))) {
        proc = gi_platform_proc(platform, row->name);
        proc = proc || !row->other_name ? proc : gi_platform_proc(platform, row->other_name);
    }
    memcpy((char *)ext + row->offset, &proc, sizeof(proc));
}

void gi_gl_ext_load(struct gi_gl_ext *ext, const struct gi_platform *platform)
{
    *ext = (struct gi_gl_ext){.has_subgroups = has_compute_subgroups()};
    for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
        load_proc(ext, platform, &procs[i]);
    }
    ext->has_timer = ext->gen_queries && ext->delete_queries && ext->begin_query &&
                     ext->end_query && ext->get_query_uint && ext->get_query_uint64;
    if (!ext->create_memory_objects || !ext->delete_memory_objects || !ext->buffer_storage_memory ||
        !ext->get_unsigned_bytes) {
        ext->import_memory_fd = NULL;
    }
}
