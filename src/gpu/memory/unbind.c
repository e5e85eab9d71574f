
#include "gpu/memory/unbind.h"

#include "base/memory_room.h"
#include "gpu/device/gpu_private.h"

#include <stdio.h>

// Compiles a program that writes a word to each storage block of its n; 0 if it cannot be had.
static GLuint create_program(uint32_t n)
{
    char text[4096];
    size_t size =
        (size_t)snprintf(text, sizeof(text), "#version 310 es\nlayout(local_size_x = 1) in;\n");
    for (uint32_t i = 0; i < n; i++) {
        size +=
            (size_t)snprintf(text + size, sizeof(text) - size,
                             "layout(std430, binding = %u) buffer B%u { uint b%u; };\n", i, i, i);
    }
    size += (size_t)snprintf(text + size, sizeof(text) - size, "void main()\n{\n");
    for (uint32_t i = 0; i < n; i++) {
        size += (size_t)snprintf(text + size, sizeof(text) - size, "    b%u = 0u;\n", i);
    }
    snprintf(text + size, sizeof(text) - size, "}\n");
    const char *source = text;
    return glCreateShaderProgramv(GL_COMPUTE_SHADER, 1, &source);
}

void gi_gpu_unbind(struct gi_gpu *gpu)
{
    enum { MOST = 16 };
    const uint32_t blocks = gpu->limits.max_storage_blocks, n = blocks < MOST ? blocks : MOST;
    GLint is_linked = 0;
    GLuint word;
    if (gpu->is_lost || !gi_address_check(GI_ROOM_TO_COMPILE, "", NULL)) {
        return;
    }
    gi_gpu_clear_errors(gpu);
    if (!gpu->unbinder) {
        gpu->unbinder = create_program(n);
    }
    glGetProgramiv(gpu->unbinder, GL_LINK_STATUS, &is_linked);
    if (is_linked) {
        glGenBuffers(1, &word);
        glBindBuffer(GL_COPY_WRITE_BUFFER, word);
        glBufferData(GL_COPY_WRITE_BUFFER, 16, NULL, GL_STREAM_COPY);
        glUseProgram(gpu->unbinder);
        for (GLuint i = 0; i < n; i++) {
            glBindBufferBase(GL_SHADER_STORAGE_BUFFER, i, word);
        }
        glDispatchCompute(1, 1, 1);
        glUseProgram(0);
        glDeleteBuffers(1, &word);
    }
    gi_gpu_clear_errors(gpu);
    glFlush();
}
