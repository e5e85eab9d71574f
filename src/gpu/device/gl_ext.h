// GL as this folder sees it: OpenGL ES 3.1 from the headers, and the entry points of extensions,
// looked up once. A pointer is NULL where the extension is absent, or cut away by
// GLINFER_LIMITS=es31. Internal to gpu/.
#pragma once

#include "platform/platform.h"

// gl2ext.h needs what gl31.h defines.
// clang-format off
#include <GLES3/gl31.h>
#include <GLES2/gl2ext.h>
// clang-format on

struct gi_gl_ext {
    PFNGLBUFFERSTORAGEEXTPROC buffer_storage;              // EXT_buffer_storage
    PFNGLMAXSHADERCOMPILERTHREADSKHRPROC compiler_threads; // KHR_parallel_shader_compile
    PFNGLGETGRAPHICSRESETSTATUSEXTPROC reset_status;       // KHR_ or EXT_robustness
    PFNGLDEBUGMESSAGECALLBACKKHRPROC debug_callback;       // KHR_debug
    PFNGLOBJECTLABELKHRPROC object_label;                  // KHR_debug
    PFNGLGENQUERIESEXTPROC gen_queries;                    // EXT_disjoint_timer_query
    PFNGLDELETEQUERIESEXTPROC delete_queries;              // EXT_disjoint_timer_query
    PFNGLBEGINQUERYEXTPROC begin_query;                    // EXT_disjoint_timer_query
    PFNGLENDQUERYEXTPROC end_query;                        // EXT_disjoint_timer_query
    PFNGLGETQUERYOBJECTUIVEXTPROC get_query_uint;          // EXT_disjoint_timer_query
    PFNGLGETQUERYOBJECTUI64VEXTPROC get_query_uint64;      // EXT_disjoint_timer_query
    PFNGLTEXBUFFERRANGEEXTPROC tex_buffer_range;           // EXT_ or OES_texture_buffer
    PFNGLCREATEMEMORYOBJECTSEXTPROC create_memory_objects; // EXT_memory_object
    PFNGLDELETEMEMORYOBJECTSEXTPROC delete_memory_objects; // EXT_memory_object
    PFNGLBUFFERSTORAGEMEMEXTPROC buffer_storage_memory;    // EXT_memory_object
    PFNGLGETUNSIGNEDBYTEI_VEXTPROC get_unsigned_bytes;     // EXT_memory_object
    PFNGLIMPORTMEMORYFDEXTPROC import_memory_fd;           // EXT_memory_object_fd; then all five
    bool has_timer;                                        // all six of them
    bool has_subgroups;                                    // KHR_shader_subgroup, compute stage
};

// Looks up the extensions of the current context.
void gi_gl_ext_load(struct gi_gl_ext *ext, const struct gi_platform *platform);
