#include "engine/api/settings.h"

#include "gpu/device/dispatch_setting.h"
#include "ops/gemm/batch.h"
#include "ops/gemv/gemv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_limits(const char *text)
{
    return strcmp(text, "es31") == 0;
}

static bool is_yes_or_no(const char *text)
{
    return strcmp(text, "yes") == 0 || strcmp(text, "no") == 0;
}

static bool is_form(const char *text)
{
    return strcmp(text, "split") == 0 || strcmp(text, "lane") == 0 || strcmp(text, "row") == 0;
}

static bool is_pages(const char *text)
{
    return strcmp(text, "large") == 0 || strcmp(text, "small") == 0;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_dispatch(const char *text)
{
    struct gi_dispatch_setting setting;
    return gi_dispatch_setting_parse(text, &setting);
}

static const struct {
    const char *variable;
    bool (*is_known)(const char *text);
    const char *known;
} settings[] = {
    {"GLINFER_DISPATCH", is_dispatch,      GI_DISPATCH_SETTING_EXPECTED                             },
    {"GLINFER_LIMITS",   is_limits,        "es31"                                                   },
    {"GLINFER_GEMM",     gi_gemm_is_tile,  "64x64, 64x64:2, 64x64:3, 32x64:2, 128x64, narrow or few"},
    {"GLINFER_GEMV",     gi_gemv_is_shape,
     "split, f16, row, texel, halves, bytes, places, bits or texbits"                               },
    {"GLINFER_HALF",     is_yes_or_no,     "yes or no"                                              },
    {"GLINFER_BATCH",    is_form,          "split, lane or row"                                     },
    {"GLINFER_PAGES",    is_pages,         "large or small"                                         },
    {"GLINFER_GLSL_DIR", is_folder,        "a folder"                                               },
};

void gi_settings_check(const struct gi_log *log)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        const char *text = getenv(settings[i].variable);
        if (text && *text && !settings[i].is_known(text)) {
            gi_log_write(log, GLINFER_LOG_WARN, "%s=%s is not known and left out: expected %s",
                         settings[i].variable, text, settings[i].known);
        }
    }
}
