// Feeds lines "VARIABLE=text" to the settings: an accepted one is within the ranges that the gpu
// builds on, a refused one leaves the setting cleared.
#include "gpu/device/quirk.h"
#include "gpu/device/settings.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {
    "GLINFER_DISPATCH", "GLINFER_LIMITS", "GLINFER_QUIRKS", "GLINFER_GEMM",
    "GLINFER_GEMV",     "GLINFER_HALF",   "GLINFER_BATCH",  "GLINFER_PAGES",
    "GLINFER_GLSL_DIR", "GLINFER_TUNING", "GLINFER_FAULT",  "GLINFER_SELFTEST",
};
enum { N_VARIABLES = sizeof(variables) / sizeof(variables[0]) };

static bool is_power_of_two(uint32_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

static void check_shape(const struct gi_gemv_shape *shape)
{
    struct gi_gemv_shape again;
    char text[64];
    FUZZ_CHECK(shape->form < GI_GEMV_FORM_COUNT);
    gi_gemv_shape_write(shape, text, sizeof(text));
    FUZZ_CHECK(gi_gemv_shape_parse(text, &again) && again.form == shape->form &&
               again.wg_size == shape->wg_size && again.pairs == shape->pairs &&
               again.max_groups == shape->max_groups);
}

static void check_settings(const struct gi_settings *settings)
{
    const struct gi_dispatch_setting *dispatch = &settings->dispatch;
    const struct gi_fault_setting *fault = &settings->fault;
    FUZZ_CHECK(dispatch->n_groups <= 65535 && dispatch->group_size <= 1024);
    FUZZ_CHECK(dispatch->group_size == 0 || is_power_of_two(dispatch->group_size));
    FUZZ_CHECK(settings->limits.alignment == 0 || is_power_of_two(settings->limits.alignment));
    FUZZ_CHECK(memchr(settings->quirks, 0, sizeof(settings->quirks)));
    FUZZ_CHECK(gi_quirks_find("Mesa V3D 4.2", "OpenGL ES 3.1 Mesa 22.3.6", settings->quirks) <
               2048);
    FUZZ_CHECK(memchr(settings->gemm, 0, sizeof(settings->gemm)));
    FUZZ_CHECK(memchr(settings->glsl_dir, 0, sizeof(settings->glsl_dir)));
    FUZZ_CHECK(memchr(settings->tuning, 0, sizeof(settings->tuning)));
    FUZZ_CHECK(memchr(fault->program, 0, sizeof(fault->program)));
    FUZZ_CHECK(!fault->program[0] == (fault->kind == GI_FAULT_NONE));
    FUZZ_CHECK(fault->kind == GI_FAULT_NONE || strchr(fault->program, '*') ||
               gi_fault_is_of(fault, fault->kind, fault->program));
    if (settings->gemv.is_set) {
        check_shape(&settings->gemv.shape);
    }
}

static void set_line(struct gi_settings *settings, const char *line)
{
    static const struct gi_settings none;
    for (size_t i = 0; i < N_VARIABLES; i++) {
        const size_t size = strlen(variables[i]);
        if (strncmp(line, variables[i], size) == 0 && line[size] == '=') {
            *settings = none;
            if (!gi_settings_set(settings, variables[i], line + size + 1)) {
                FUZZ_CHECK(memcmp(settings, &none, sizeof(none)) == 0);
            }
            check_settings(settings);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gi_settings settings;
    char *text = strndup((const char *)data, size), *state = NULL;
    FUZZ_CHECK(text);
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        set_line(&settings, line);
    }
    free(text);
    return 0;
}
