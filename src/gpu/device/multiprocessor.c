#include "gpu/device/multiprocessor.h"

#include "gpu/device/gpu_private.h"
#include "gpu/device/quirk.h"

//-- numbers ---------------------------------------------------------------------------------------

static bool compiles(const char *text)
{
    GLint is_good = 0;
    const GLuint shader = glCreateShader(GL_COMPUTE_SHADER);
    glShaderSource(shader, 1, &text, NULL);
    glCompileShader(shader);
    glGetShaderiv(shader, GL_COMPILE_STATUS, &is_good);
    glDeleteShader(shader);
    return is_good != 0;
}

bool gi_multiprocessor_probe(struct gi_gpu *gpu)
{
    static const char text[] = "#version 310 es\n"
                               "#extension GL_NV_shader_thread_group : enable\n"
                               "layout(local_size_x = 1) in;\n"
                               "layout(std430, binding = 0) buffer Dst { uint dst; };\n"
                               "void main() { dst = gl_SMIDNV; }\n";
    if (!gpu->multiprocessors.is_known) {
        const struct gi_platform_info *info = gi_gpu_platform(gpu);
        gpu->multiprocessors.is_known = true;
        gpu->multiprocessors.are_numbered =
            gpu->limits.subgroup_size > 0 &&
            gi_quirk_numbers_multiprocessors(info->renderer, info->version) && compiles(text);
    }
    return gpu->multiprocessors.are_numbered;
}

//-- places ----------------------------------------------------------------------------------------

enum {
    N_PART = 8, // that a large GPU consists of, more or less
    N_TURN = GI_MULTIPROCESSOR_WAYS / 2,
};

bool gi_multiprocessor_is_order(const uint32_t *seen, uint32_t n)
{
    bool is_seen[GI_MULTIPROCESSORS] = {false};
    for (uint32_t i = 0; i < n; i++) {
        if (seen[i] >= GI_MULTIPROCESSORS || is_seen[seen[i]]) {
            return false;
        }
        is_seen[seen[i]] = true;
    }
    return n > 1 && n <= GI_MULTIPROCESSORS;
}

// The ways from 0 on in an order in which neighbours are far apart.
static uint32_t spread(uint32_t way)
{
    uint32_t far = 0;
    for (uint32_t bit = 1; bit < N_TURN; bit *= 2) {
        far = far * 2 + (way / bit & 1);
    }
    return far;
}

// The groups of `seen` in the order in which they are to be, before it is turned: as they are, or every second part
// of them and then the others.
static void arrange(uint32_t n, bool is_alternate, uint32_t groups[GI_MULTIPROCESSORS])
{
    uint32_t n_done = 0;
    for (uint32_t i = 0; i < N_PART; i++) {
        const uint32_t part = !is_alternate ? i : i < N_PART / 2 ? 2 * i : 2 * i - N_PART + 1;
        for (uint32_t j = part * n / N_PART; j < (part + 1) * n / N_PART; j++) {
            groups[n_done++] = j;
        }
    }
}

void gi_multiprocessor_place(const uint32_t *seen, uint32_t n, uint32_t way,
                             uint32_t places[GI_MULTIPROCESSORS])
{
    const uint32_t first = spread(way / 2) * n / N_TURN;
    uint32_t groups[GI_MULTIPROCESSORS];
    arrange(n, way % 2 == 1, groups);
    for (uint32_t i = 0; i < GI_MULTIPROCESSORS; i++) {
        places[i] = n;
    }
    for (uint32_t i = 0; i < n; i++) {
        places[seen[groups[i]]] = (i + first) % n;
    }
}
