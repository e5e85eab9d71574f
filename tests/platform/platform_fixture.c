#include "platform_fixture.h"

#include "fake_egl.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>

#include <GLES3/gl31.h>

char default_device[128];
bool default_is_software;

static bool default_computes; // false over a simulated kernel, which only records

int reset_fake(void **state)
{
    (void)state;
    fake_egl = (struct fake_egl){.shown = NULL};
    return 0;
}

struct gi_platform *try_open(const char *device, struct glinfer_error *err)
{
    const struct gi_platform_params params = {.device = device, .allow_software = true};
    return gi_platform_open(&params, err);
}

struct gi_platform *open_device(const char *device)
{
    struct glinfer_error err = {0};
    struct gi_platform *platform = try_open(device, &err);
    if (platform == NULL) {
        fail_msg("%s: %s", device, err.message);
    }
    return platform;
}

void assert_refused(const char *device, enum glinfer_status status, const char *words)
{
    struct glinfer_error err = {0};
    assert_null(try_open(device, &err));
    assert_int_equal(err.status, status);
    assert_says(err.message, words);
}

// Runs a compute shader that writes 42, so that a context that only seems to live is found out.
static GLuint compute_word(struct gi_platform *platform)
{
    const char *source = "#version 310 es\nlayout(local_size_x = 1) in;\n"
                         "layout(std430, binding = 0) buffer B { uint b[]; };\n"
                         "void main() { b[0] = 42u; }\n";
    const GLuint zero = 0;
    struct gi_platform_saved saved;
    assert_true(gi_platform_enter(platform, &saved, NULL));
    GLuint program = glCreateShaderProgramv(GL_COMPUTE_SHADER, 1, &source);
    GLuint buffer = 0;
    glGenBuffers(1, &buffer);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, buffer);
    glBufferData(GL_SHADER_STORAGE_BUFFER, 4, &zero, GL_DYNAMIC_READ);
    glUseProgram(program);
    glDispatchCompute(1, 1, 1);
    glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    const GLuint *mapped = glMapBufferRange(GL_SHADER_STORAGE_BUFFER, 0, 4, GL_MAP_READ_BIT);
    assert_non_null(mapped);
    GLuint word = *mapped;
    glUnmapBuffer(GL_SHADER_STORAGE_BUFFER);
    glDeleteBuffers(1, &buffer);
    glDeleteProgram(program);
    assert_int_equal(glGetError(), GL_NO_ERROR);
    gi_platform_leave(platform, &saved);
    return word;
}

void assert_computes(struct gi_platform *platform)
{
    GLuint word = compute_word(platform);
    assert_true(word == 42 || !default_computes);
}

bool find_default(void)
{
    struct glinfer_error err = {0};
    struct gi_platform *platform = try_open(NULL, &err);
    if (platform == NULL) {
        fprintf(stderr, "skipped: %s\n", err.message);
        return false;
    }
    const struct gi_platform_info *info = gi_platform_describe(platform);
    snprintf(default_device, sizeof(default_device), "%s", info->device);
    default_is_software = info->is_software;
    default_computes = compute_word(platform) == 42;
    printf("# %s: %s%s\n", info->device, info->renderer,
           default_computes ? "" : " (does not compute)");
    gi_platform_close(platform);
    return true;
}
