#include "sign.h"

#include "font.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include <EGL/eglext.h>

enum {
    MAX_DEVICES = 16,
    MAX_QUADS = 1024,
    N_BARS = 40,
    CELL_WIDTH = FONT_WIDTH + 1, // of a character in the atlas, pixels
    CELL_HEIGHT = FONT_HEIGHT + 1,
    SCALE = 2, // pixels of the text on the sign for one of the font
    MARGIN = 12,
    COLUMNS = (SIGN_WIDTH - 2 * MARGIN) / (CELL_WIDTH * SCALE),
    ROWS = 10,
    LINE_HEIGHT = (CELL_HEIGHT + 1) * SCALE,
    TEXT_TOP = 48,
    ATLAS_WIDTH = CELL_WIDTH * (FONT_COUNT + 1), // the last cell is white all over
};

struct vertex {
    float x, y; // pixels from the upper left
    float u, v; // texels of the atlas
    uint8_t rgba[4];
};

struct quads {
    struct vertex vertices[6 * MAX_QUADS];
    GLsizei count; // vertices
};

static const char *const vertex_text =
    "#version 300 es\n"
    "layout(location = 0) in vec2 place;\n"
    "layout(location = 1) in vec2 texel;\n"
    "layout(location = 2) in vec4 tint;\n"
    "uniform vec4 scale;\n"
    "out vec2 at;\n"
    "out vec4 colour;\n"
    "void main()\n"
    "{\n"
    "    gl_Position = vec4(place.x * scale.x - 1.0, 1.0 - place.y * scale.y, 0.0, 1.0);\n"
    "    at = texel * scale.zw;\n"
    "    colour = tint;\n"
    "}\n";
static const char *const fragment_text = "#version 300 es\n"
                                         "precision mediump float;\n"
                                         "uniform sampler2D atlas;\n"
                                         "in vec2 at;\n"
                                         "in vec4 colour;\n"
                                         "out vec4 result;\n"
                                         "void main()\n"
                                         "{\n"
                                         "    result = vec4(colour.rgb, texture(atlas, at).r);\n"
                                         "}\n";

//-- EGL -------------------------------------------------------------------------------------------

// Returns a configuration for a kind of surface, with a screen one of its format; NULL: there is
// none.
static EGLConfig choose_config(EGLDisplay display, EGLint surface, const struct screen *screen)
{
    enum { MAX_CONFIGS = 256 };
    const EGLint wanted[] = {EGL_SURFACE_TYPE, surface, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT,
                             EGL_NONE};
    EGLConfig configs[MAX_CONFIGS];
    EGLint n = 0;
    if (!eglChooseConfig(display, wanted, configs, MAX_CONFIGS, &n)) {
        return NULL;
    }
    for (EGLint i = 0; i < n; i++) {
        EGLint format = 0;
        eglGetConfigAttrib(display, configs[i], EGL_NATIVE_VISUAL_ID, &format);
        if (!screen || format == (EGLint)SCREEN_FORMAT) {
            return configs[i];
        }
    }
    return NULL;
}

// Makes a context on the display current, its surface being the screen's if there is one. Returns
// NULL, or what failed.
static const char *start(struct sign *sign, EGLDisplay display, const struct screen *screen)
{
    const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE};
    const EGLint size[] = {EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE};
    if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL)) {
        return "EGL has no display without a window";
    }
    sign->display = display;
    const EGLConfig config =
        eglBindAPI(EGL_OPENGL_ES_API)
            ? choose_config(display, screen ? EGL_WINDOW_BIT : EGL_PBUFFER_BIT, screen)
            : NULL;
    if (!config) {
        return "EGL has no configuration for OpenGL ES 3 and such a surface";
    }
    sign->surface =
        screen ? eglCreateWindowSurface(display, config, (EGLNativeWindowType)screen->surface, NULL)
               : eglCreatePbufferSurface(display, config, size);
    sign->context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    if (sign->surface == EGL_NO_SURFACE || sign->context == EGL_NO_CONTEXT ||
        !eglMakeCurrent(display, sign->surface, sign->surface, sign->context)) {
        return "EGL gives no context of OpenGL ES 3";
    }
    return NULL;
}

static void stop(struct sign *sign)
{
    if (sign->display != EGL_NO_DISPLAY) {
        eglMakeCurrent(sign->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        if (sign->context != EGL_NO_CONTEXT) {
            eglDestroyContext(sign->display, sign->context);
        }
        if (sign->surface != EGL_NO_SURFACE) {
            eglDestroySurface(sign->display, sign->surface);
        }
        eglTerminate(sign->display);
    }
    *sign = (struct sign){0};
}

static bool has_extension(const char *name)
{
    const char *all = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
    return all && strstr(all, name);
}

static const char *start_on_screen(struct sign *sign, const struct screen *screen)
{
    const PFNEGLGETPLATFORMDISPLAYEXTPROC platform_display =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    return platform_display
               ? start(sign, platform_display(EGL_PLATFORM_GBM_KHR, screen->gbm, NULL), screen)
               : "EGL has no platform for GBM";
}

static const char *start_any(struct sign *sign)
{
    const char *failure = "EGL has no platform without a window";
    const PFNEGLQUERYDEVICESEXTPROC query_devices =
        (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
    const PFNEGLGETPLATFORMDISPLAYEXTPROC platform_display =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    EGLDeviceEXT devices[MAX_DEVICES];
    EGLint n = 0;
    if (!platform_display) {
        return failure;
    }
    if (has_extension("EGL_EXT_platform_device") && query_devices &&
        !query_devices(MAX_DEVICES, devices, &n)) {
        n = 0;
    }
    for (EGLint i = 0; i < n; i++) {
        failure = start(sign, platform_display(EGL_PLATFORM_DEVICE_EXT, devices[i], NULL), NULL);
        if (!failure) {
            return NULL;
        }
        stop(sign);
    }
    if (has_extension("EGL_MESA_platform_surfaceless")) {
        failure = start(sign, platform_display(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL), NULL);
    }
    return failure;
}

//-- what is rendered with -------------------------------------------------------------------------

static GLuint compile(GLenum kind, const char *text)
{
    const GLuint shader = glCreateShader(kind);
    glShaderSource(shader, 1, &text, NULL);
    glCompileShader(shader);
    return shader;
}

static bool make_program(struct sign *sign)
{
    GLint is_linked = 0;
    const GLuint vertex = compile(GL_VERTEX_SHADER, vertex_text);
    const GLuint fragment = compile(GL_FRAGMENT_SHADER, fragment_text);
    sign->program = glCreateProgram();
    glAttachShader(sign->program, vertex);
    glAttachShader(sign->program, fragment);
    glLinkProgram(sign->program);
    glDeleteShader(vertex);
    glDeleteShader(fragment);
    glGetProgramiv(sign->program, GL_LINK_STATUS, &is_linked);
    glUseProgram(sign->program);
    glUniform4f(glGetUniformLocation(sign->program, "scale"), 2.0F / SIGN_WIDTH, 2.0F / SIGN_HEIGHT,
                1.0F / ATLAS_WIDTH, 1.0F / CELL_HEIGHT);
    return is_linked;
}

static void make_atlas(struct sign *sign)
{
    static uint8_t texels[CELL_HEIGHT][ATLAS_WIDTH];
    for (int character = 0; character < FONT_COUNT; character++) {
        for (int y = 0; y < FONT_HEIGHT; y++) {
            for (int x = 0; x < FONT_WIDTH; x++) {
                const bool is_set = font_rows[character][y] >> (FONT_WIDTH - 1 - x) & 1;
                texels[y][character * CELL_WIDTH + x] = is_set ? 255 : 0;
            }
        }
    }
    for (int y = 0; y < CELL_HEIGHT; y++) {
        memset(&texels[y][FONT_COUNT * CELL_WIDTH], 255, CELL_WIDTH);
    }
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glGenTextures(1, &sign->atlas);
    glBindTexture(GL_TEXTURE_2D, sign->atlas);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_R8, ATLAS_WIDTH, CELL_HEIGHT, 0, GL_RED, GL_UNSIGNED_BYTE,
                 texels);
}

static void make_buffer(struct sign *sign)
{
    const GLsizei stride = sizeof(struct vertex);
    glGenVertexArrays(1, &sign->array);
    glBindVertexArray(sign->array);
    glGenBuffers(1, &sign->buffer);
    glBindBuffer(GL_ARRAY_BUFFER, sign->buffer);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, stride, NULL);
    glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, stride,
                          (const void *)offsetof(struct vertex, u));
    glVertexAttribPointer(2, 4, GL_UNSIGNED_BYTE, GL_TRUE, stride,
                          (const void *)offsetof(struct vertex, rgba));
    for (GLuint i = 0; i < 3; i++) {
        glEnableVertexAttribArray(i);
    }
}

static bool make_target(struct sign *sign)
{
    glGenTextures(1, &sign->texture);
    glBindTexture(GL_TEXTURE_2D, sign->texture);
    glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, SIGN_WIDTH, SIGN_HEIGHT);
    glGenFramebuffers(1, &sign->framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, sign->framebuffer);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, sign->texture, 0);
    glViewport(0, 0, SIGN_WIDTH, SIGN_HEIGHT);
    glEnable(GL_BLEND);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    return glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
}

const char *sign_open(struct sign *sign, const struct screen *screen)
{
    *sign = (struct sign){0};
    const char *failure = screen ? start_on_screen(sign, screen) : start_any(sign);
    if (!failure && !make_target(sign)) {
        failure = "the driver cannot render to a texture";
    }
    if (!failure && !make_program(sign)) {
        failure = "the driver does not compile the sign's shaders";
    }
    if (!failure) {
        make_atlas(sign);
        make_buffer(sign);
    }
    return failure;
}

//-- a picture -------------------------------------------------------------------------------------

// Adds a rectangle with a cell of the atlas on it.
static void add_quad(struct quads *quads, const float place[4], int cell, const uint8_t rgb[3])
{
    static const int corners[6][2] = {{0, 0}, {1, 0}, {0, 1}, {0, 1}, {1, 0}, {1, 1}};
    for (int i = 0; i < 6 && quads->count < 6 * MAX_QUADS; i++) {
        const int right = corners[i][0], low = corners[i][1];
        quads->vertices[quads->count++] = (struct vertex){
            .x = place[right ? 2 : 0],
            .y = place[low ? 3 : 1],
            .u = (float)((cell + right) * CELL_WIDTH),
            .v = (float)(low * CELL_HEIGHT),
            .rgba = {rgb[0], rgb[1], rgb[2], 255},
        };
    }
}

static void add_character(struct quads *quads, float x, float y, int scale, char c,
                          const uint8_t rgb[3])
{
    const int upper = c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
    const int cell = upper - FONT_FIRST;
    const float place[4] = {x, y, x + (float)(CELL_WIDTH * scale),
                            y + (float)(CELL_HEIGHT * scale)};
    if (upper != ' ') {
        add_quad(quads, place, cell >= 0 && cell < FONT_COUNT ? cell : '?' - FONT_FIRST, rgb);
    }
}

// Bars below the text that go up and down as a wave.
static void add_bars(struct quads *quads, double time)
{
    const float width = (float)SIGN_WIDTH / N_BARS;
    for (int i = 0; i < N_BARS; i++) {
        const double phase = 2.5 * time + 0.35 * i;
        const float height = (float)(16.0 + 10.0 * sin(phase) + 5.0 * sin(1.7 * phase));
        const float place[4] = {(float)i * width + 1.0F, SIGN_HEIGHT - height,
                                (float)(i + 1) * width - 1.0F, SIGN_HEIGHT};
        const uint8_t rgb[3] = {(uint8_t)(120.0 + 100.0 * sin(0.7 * phase)),
                                (uint8_t)(120.0 + 100.0 * sin(0.7 * phase + 2.1)),
                                (uint8_t)(150.0 + 100.0 * sin(0.7 * phase + 4.2))};
        add_quad(quads, place, FONT_COUNT, rgb);
    }
}

// The title, each letter of which bobs, on a band.
static void add_title(struct quads *quads, double time, const char *title)
{
    static const uint8_t band_rgb[3] = {180, 40, 60}, rgb[3] = {255, 240, 200};
    static const float band[4] = {0.0F, 0.0F, SIGN_WIDTH, 38.0F};
    float x = MARGIN;
    add_quad(quads, band, FONT_COUNT, band_rgb);
    for (size_t i = 0; title[i]; i++, x += CELL_WIDTH * 3) {
        const float y = 8.0F + (float)(4.0 * sin(4.0 * time + 0.5 * (double)i));
        add_character(quads, x, y, 3, title[i], rgb);
    }
}

// Returns where the line of the text that begins at `at` ends: at most COLUMNS bytes, between words
// if there is a place.
static size_t end_of_line(const char *text, size_t at)
{
    size_t space = 0;
    for (size_t i = at; text[i] && text[i] != '\n'; i++) {
        if (i - at == COLUMNS) {
            return space ? space : i;
        }
        space = text[i] == ' ' ? i + 1 : space;
    }
    return at + strcspn(text + at, "\n");
}

static void add_text(struct quads *quads, const char *text)
{
    static const uint8_t rgb[3] = {230, 240, 255};
    size_t begins[ROWS] = {0}; // of the last lines, round and round
    size_t n = 0;
    for (size_t at = 0; text[at]; n++) {
        begins[n % ROWS] = at;
        at = end_of_line(text, at);
        at += text[at] == '\n';
    }
    for (size_t line = n > ROWS ? n - ROWS : 0, row = 0; line < n; line++, row++) {
        const size_t begin = begins[line % ROWS], end = end_of_line(text, begin);
        float x = MARGIN;
        for (size_t i = begin; i < end; i++) {
            if (((unsigned char)text[i] & 0xC0) != 0x80) { // not within a character of UTF-8
                add_character(quads, x, (float)(TEXT_TOP + (int)row * LINE_HEIGHT), SCALE, text[i],
                              rgb);
                x += CELL_WIDTH * SCALE;
            }
        }
    }
}

void sign_render(struct sign *sign, double time, const char *title, const char *text)
{
    static struct quads quads;
    quads.count = 0;
    add_title(&quads, time, title);
    add_bars(&quads, time);
    add_text(&quads, text);
    glBindFramebuffer(GL_FRAMEBUFFER, sign->framebuffer);
    glBindTexture(GL_TEXTURE_2D, sign->atlas);
    glClearColor(0.05F, 0.07F, 0.15F, 1.0F);
    glClear(GL_COLOR_BUFFER_BIT);
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)sizeof(quads.vertices[0]) * quads.count,
                 quads.vertices, GL_STREAM_DRAW);
    glDrawArrays(GL_TRIANGLES, 0, quads.count);
    if (sign->fence) {
        glDeleteSync(sign->fence);
    }
    sign->fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    glFlush();
}

void sign_wait(struct sign *sign)
{
    if (sign->fence) {
        glClientWaitSync(sign->fence, 0, 1000000000);
    }
}

// The picture is as large as fits without changing its shape, on black.
const char *sign_show(struct sign *sign, struct screen *screen)
{
    const GLint width = screen->mode.hdisplay, height = screen->mode.vdisplay;
    const bool is_wide = width * SIGN_HEIGHT > height * SIGN_WIDTH;
    const GLint w = is_wide ? height * SIGN_WIDTH / SIGN_HEIGHT : width;
    const GLint h = is_wide ? height : width * SIGN_HEIGHT / SIGN_WIDTH;
    const GLint x = (width - w) / 2, y = (height - h) / 2;
    if (!screen_is_ready(screen)) {
        return NULL;
    }
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, sign->framebuffer);
    glClearColor(0.0F, 0.0F, 0.0F, 1.0F);
    glClear(GL_COLOR_BUFFER_BIT);
    glBlitFramebuffer(0, 0, SIGN_WIDTH, SIGN_HEIGHT, x, y, x + w, y + h, GL_COLOR_BUFFER_BIT,
                      GL_NEAREST);
    glBindFramebuffer(GL_FRAMEBUFFER, sign->framebuffer);
    return eglSwapBuffers(sign->display, sign->surface) ? screen_show(screen)
                                                        : "EGL cannot show the picture";
}

void sign_read(struct sign *sign, uint8_t *rgba)
{
    glBindFramebuffer(GL_FRAMEBUFFER, sign->framebuffer);
    glReadPixels(0, 0, SIGN_WIDTH, SIGN_HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, rgba);
}

void sign_close(struct sign *sign)
{
    if (sign->fence) {
        glDeleteSync(sign->fence);
    }
    stop(sign); // the context takes its objects with it
}
