#include "tests/faults/failing_gl.h"

#include "gpu/device/gl_ext.h"
#include "tests/unit/wrap.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>

// Threads of the code under test call too.
static _Atomic long n_calls, first_refused = -1, end_refused;
static _Atomic(const char *) failed_call;
static _Thread_local GLenum pending_gl;
static _Thread_local EGLint pending_egl;

void fail_calls_after(long n)
{
    first_refused = n;
    end_refused = LONG_MAX;
    n_calls = 0;
    failed_call = NULL;
    pending_gl = GL_NO_ERROR;
    pending_egl = EGL_SUCCESS;
}

void fail_one_call(long n)
{
    fail_calls_after(n);
    end_refused = n + 1;
}

void end_failures(void)
{
    first_refused = -1;
}

unsigned exchange_error(unsigned error)
{
    const unsigned before = pending_gl;
    pending_gl = error;
    return before;
}

long count_calls(void)
{
    return n_calls;
}

const char *first_failed_call(void)
{
    return failed_call;
}

// After a refused call of GL, calls of EGL pass: objects of a context that cannot be entered cannot
// be deleted.
static bool is_refused(const char *name)
{
    const long n = n_calls++;
    const char *first = failed_call;
    const bool is_meant = first_refused >= 0 && n >= first_refused && n < end_refused &&
                          !(first && first[0] == 'g' && name[0] == 'e');
    if (is_meant && !first) {
        failed_call = name;
    }
    return is_meant;
}

static bool refuses_gl(const char *name, GLenum error)
{
    const bool is_meant = is_refused(name);
    pending_gl = is_meant && pending_gl == GL_NO_ERROR ? error : pending_gl;
    return is_meant;
}

static bool refuses_egl(const char *name)
{
    const bool is_meant = is_refused(name);
    pending_egl = is_meant ? EGL_BAD_ALLOC : pending_egl;
    return is_meant;
}

//-- what lives ------------------------------------------------------------------------------------

enum { MAX_CONTEXTS = 64 };

static struct {
    EGLContext context; // EGL_NO_CONTEXT: free
    _Atomic long n_objects, n_fences;
} contexts[MAX_CONTEXTS];

// The objects of threads that have no context of ours are counted in the first place, which is
// free.
static void count_both(long n, long n_fence)
{
    const EGLContext current = eglGetCurrentContext();
    int i = MAX_CONTEXTS - 1;
    while (i > 0 && contexts[i].context != current) {
        i--;
    }
    contexts[i].n_objects += n;
    contexts[i].n_fences += n_fence;
}

static void count(long n)
{
    count_both(n, 0);
}

static void count_names(GLsizei n, const GLuint *names, long by)
{
    for (GLsizei i = 0; i < n; i++) {
        count(names[i] != 0 ? by : 0);
    }
}

long count_objects(void)
{
    long n = 0;
    for (int i = 0; i < MAX_CONTEXTS; i++) {
        n += contexts[i].n_objects;
    }
    return n;
}

long count_fences(void)
{
    long n = 0;
    for (int i = 0; i < MAX_CONTEXTS; i++) {
        n += contexts[i].n_fences;
    }
    return n;
}

long count_contexts(void)
{
    long n = 0;
    for (int i = 1; i < MAX_CONTEXTS; i++) {
        n += contexts[i].context != EGL_NO_CONTEXT;
    }
    return n;
}

// Gives the place of a context, or the first free one, to another; objects die with theirs.
static void replace_context(EGLContext old, EGLContext new)
{
    int i = 1;
    while (i < MAX_CONTEXTS - 1 && contexts[i].context != old) {
        i++;
    }
    contexts[i].context = new;
    contexts[i].n_objects = contexts[i].n_fences = 0;
}

//-- OpenGL ES -------------------------------------------------------------------------------------

WRAP(GLenum, glGetError, void)
{
    const GLenum error = pending_gl;
    pending_gl = GL_NO_ERROR;
    return error != GL_NO_ERROR ? error : __real_glGetError();
}

// Names that are made, and those that go.
#define NAMES(make, drop)                                                                          \
    WRAP(void, make, GLsizei n, GLuint *names)                                                     \
    {                                                                                              \
        if (refuses_gl(#make, GL_OUT_OF_MEMORY)) {                                                 \
            memset(names, 0, (size_t)n * sizeof(names[0]));                                        \
        } else {                                                                                   \
            __real_##make(n, names);                                                               \
            count_names(n, names, 1);                                                              \
        }                                                                                          \
    }                                                                                              \
    WRAP(void, drop, GLsizei n, const GLuint *names)                                               \
    {                                                                                              \
        count_names(n, names, -1);                                                                 \
        __real_##drop(n, names);                                                                   \
    }
NAMES(glGenBuffers, glDeleteBuffers)
NAMES(glGenTextures, glDeleteTextures)

#define OBJECT(make, drop, parameters, arguments)                                                  \
    WRAP(GLuint, make, parameters)                                                                 \
    {                                                                                              \
        const GLuint name = refuses_gl(#make, GL_OUT_OF_MEMORY) ? 0 : __real_##make arguments;     \
        count(name != 0);                                                                          \
        return name;                                                                               \
    }                                                                                              \
    WRAP(void, drop, GLuint name)                                                                  \
    {                                                                                              \
        count(name != 0 ? -1 : 0);                                                                 \
        __real_##drop(name);                                                                       \
    }
OBJECT(glCreateProgram, glDeleteProgram, void, ())
OBJECT(glCreateShader, glDeleteShader, GLenum type, (type))

WRAP(GLuint, glCreateShaderProgramv, GLenum type, GLsizei n, const GLchar *const *texts)
{
    const GLuint name = refuses_gl("glCreateShaderProgramv", GL_OUT_OF_MEMORY)
                            ? 0
                            : __real_glCreateShaderProgramv(type, n, texts);
    count(name != 0);
    return name;
}

WRAP(GLsync, glFenceSync, GLenum condition, GLbitfield flags)
{
    const GLsync sync =
        refuses_gl("glFenceSync", GL_OUT_OF_MEMORY) ? NULL : __real_glFenceSync(condition, flags);
    count_both(0, sync != NULL);
    return sync;
}

WRAP(void, glDeleteSync, GLsync sync)
{
    count_both(0, sync ? -1 : 0);
    __real_glDeleteSync(sync);
}

// Without an error of its own, as where a context is lost.
WRAP(GLenum, glClientWaitSync, GLsync sync, GLbitfield flags, GLuint64 timeout)
{
    return is_refused("glClientWaitSync") ? GL_WAIT_FAILED
                                          : __real_glClientWaitSync(sync, flags, timeout);
}

WRAP(void *, glMapBufferRange, GLenum target, GLintptr offset, GLsizeiptr size, GLbitfield access)
{
    return refuses_gl("glMapBufferRange", GL_OUT_OF_MEMORY)
               ? NULL
               : __real_glMapBufferRange(target, offset, size, access);
}

// The contents are lost.
WRAP(GLboolean, glUnmapBuffer, GLenum target)
{
    const GLboolean is_kept = __real_glUnmapBuffer(target);
    return !is_refused("glUnmapBuffer") && is_kept;
}

// Does nothing in place of a call that returns nothing.
#define NOTHING(name, parameters, arguments)                                                       \
    WRAP(void, name, parameters)                                                                   \
    {                                                                                              \
        if (!refuses_gl(#name, GL_OUT_OF_MEMORY)) {                                                \
            __real_##name arguments;                                                               \
        }                                                                                          \
    }
#define LIST(...) __VA_ARGS__
NOTHING(glBufferData, LIST(GLenum target, GLsizeiptr size, const void *data, GLenum usage),
        (target, size, data, usage))
NOTHING(glCopyBufferSubData,
        LIST(GLenum from, GLenum to, GLintptr source, GLintptr target, GLsizeiptr size),
        (from, to, source, target, size))
NOTHING(glDispatchCompute, LIST(GLuint x, GLuint y, GLuint z), (x, y, z))
NOTHING(glDispatchComputeIndirect, GLintptr offset, (offset))
NOTHING(glUseProgram, GLuint program, (program))
NOTHING(glBindBufferRange,
        LIST(GLenum target, GLuint index, GLuint buffer, GLintptr offset, GLsizeiptr size),
        (target, index, buffer, offset, size))
NOTHING(glCompileShader, GLuint shader, (shader))
NOTHING(glLinkProgram, GLuint program, (program))
NOTHING(glProgramBinary, LIST(GLuint program, GLenum format, const void *binary, GLsizei size),
        (program, format, binary, size))
NOTHING(glGetProgramBinary,
        LIST(GLuint program, GLsizei room, GLsizei *size, GLenum *format, void *binary),
        (program, room, size, format, binary))
NOTHING(glGetProgramiv, LIST(GLuint program, GLenum name, GLint *value), (program, name, value))
NOTHING(glGetShaderiv, LIST(GLuint shader, GLenum name, GLint *value), (shader, name, value))
NOTHING(glGetIntegerv, LIST(GLenum name, GLint *value), (name, value))

WRAP(const GLubyte *, glGetString, GLenum name)
{
    return refuses_gl("glGetString", GL_OUT_OF_MEMORY) ? NULL : __real_glGetString(name);
}

//-- extensions ------------------------------------------------------------------------------------

static PFNGLBUFFERSTORAGEEXTPROC real_storage;
static PFNGLTEXBUFFERRANGEEXTPROC real_texture;
static PFNEGLGETPLATFORMDISPLAYPROC real_display;
static PFNGLGETGRAPHICSRESETSTATUSKHRPROC real_status;

static void GL_APIENTRY allocate(GLenum target, GLsizeiptr size, const void *data, GLbitfield flags)
{
    if (!refuses_gl("glBufferStorageEXT", GL_OUT_OF_MEMORY)) {
        real_storage(target, size, data, flags);
    }
}

static void GL_APIENTRY make_texture(GLenum target, GLenum format, GLuint buffer, GLintptr offset,
                                     GLsizeiptr size)
{
    if (!refuses_gl("glTexBufferRangeEXT", GL_OUT_OF_MEMORY)) {
        real_texture(target, format, buffer, offset, size);
    }
}

static GLenum GL_APIENTRY get_status(void)
{
    return is_refused("glGetGraphicsResetStatusKHR") ? GL_GUILTY_CONTEXT_RESET_KHR : real_status();
}

static EGLDisplay EGLAPIENTRY get_display(EGLenum platform, void *native, const EGLAttrib *attribs)
{
    return refuses_egl("eglGetPlatformDisplay") ? EGL_NO_DISPLAY
                                                : real_display(platform, native, attribs);
}

typedef __eglMustCastToProperFunctionPointerType function;

WRAP(function, eglGetProcAddress, const char *name)
{
    const struct {
        const char *name;
        function *real;
        function own;
    } rows[] = {
        {"glBufferStorageEXT", (function *)&real_storage, (function)allocate},
        {"glTexBufferRangeEXT", (function *)&real_texture, (function)make_texture},
        {"glGetGraphicsResetStatusKHR", (function *)&real_status, (function)get_status},
        {"glGetGraphicsResetStatusEXT", (function *)&real_status, (function)get_status},
        {"eglGetPlatformDisplay", (function *)&real_display, (function)get_display},
    };
    const function found = __real_eglGetProcAddress(name);
    for (size_t i = 0; found && i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *rows[i].real = found;
            return rows[i].own;
        }
    }
    return found;
}

//-- EGL -------------------------------------------------------------------------------------------

WRAP(EGLint, eglGetError, void)
{
    const EGLint error = pending_egl;
    pending_egl = EGL_SUCCESS;
    return error != EGL_SUCCESS ? error : __real_eglGetError();
}

WRAP(EGLBoolean, eglInitialize, EGLDisplay display, EGLint *major, EGLint *minor)
{
    return refuses_egl("eglInitialize") ? EGL_FALSE : __real_eglInitialize(display, major, minor);
}

WRAP(EGLBoolean, eglBindAPI, EGLenum api)
{
    return refuses_egl("eglBindAPI") ? EGL_FALSE : __real_eglBindAPI(api);
}

WRAP(const char *, eglQueryString, EGLDisplay display, EGLint name)
{
    return refuses_egl("eglQueryString") ? NULL : __real_eglQueryString(display, name);
}

WRAP(EGLContext, eglCreateContext, EGLDisplay display, EGLConfig config, EGLContext share,
     const EGLint *attribs)
{
    const EGLContext context = refuses_egl("eglCreateContext")
                                   ? EGL_NO_CONTEXT
                                   : __real_eglCreateContext(display, config, share, attribs);
    if (context != EGL_NO_CONTEXT) {
        replace_context(EGL_NO_CONTEXT, context);
    }
    return context;
}

WRAP(EGLBoolean, eglDestroyContext, EGLDisplay display, EGLContext context)
{
    replace_context(context, EGL_NO_CONTEXT);
    return __real_eglDestroyContext(display, context);
}

WRAP(EGLBoolean, eglMakeCurrent, EGLDisplay display, EGLSurface surface, EGLSurface other,
     EGLContext context)
{
    return refuses_egl("eglMakeCurrent") ? EGL_FALSE
                                         : __real_eglMakeCurrent(display, surface, other, context);
}
