#include "gpu/quirk.h"

#include <string.h>

// First match wins: drivers that lie over others (virgl, zink) name the GPU below them too.
// Indirect: what each driver's launch_grid does with a buffer of counts, as read in Mesa 25.0; other
// drivers are unknown until measured. FD4 and FD5 flush at every barrier.
static const struct gi_quirk quirks[] = {
    {"virgl",       NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"llvmpipe",    NULL,   GI_GPU_CLASS_LLVMPIPE, GI_QUIRK_INDIRECT_NO     },
    {"lavapipe",    NULL,   GI_GPU_CLASS_LLVMPIPE, GI_QUIRK_INDIRECT_NO     },
    {"softpipe",    NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"swiftshader", NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"zink",        NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
    {"V3D",         NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"Mali-T",      NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"Mali-G57",    NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"Mali",        NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_UNKNOWN},
    {"FD4",         "Mesa", GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"FD5",         "Mesa", GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"FD6",         "Mesa", GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_YES    },
    {"FD7",         "Mesa", GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_YES    },
    {"Adreno",      NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_UNKNOWN},
    {"PowerVR",     NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_UNKNOWN},
    {"Apple",       NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
    {"NVIDIA",      NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
    {"Intel",       NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
    {"AMD CEDAR",   NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     }, // r600
    {"AMD REDWOOD", NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD JUNIPER", NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD CYPRESS", NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD HEMLOCK", NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD PALM",    NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD SUMO",    NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD BARTS",   NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD TURKS",   NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD CAICOS",  NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD CAYMAN",  NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD ARUBA",   NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"AMD",         NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    }, // radeonsi
    {"NV5",         "Mesa", GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     }, // nv50
    {"NV8",         "Mesa", GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"NV9",         "Mesa", GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"NVA",         "Mesa", GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"NV",          "Mesa", GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    }, // nvc0 and later
    {"",            NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_UNKNOWN},
};

const struct gi_quirk *gi_quirk_find(const char *renderer, const char *version)
{
    const struct gi_quirk *quirk = quirks;
    while (!strcasestr(renderer, quirk->renderer) ||
           (quirk->version && !strcasestr(version, quirk->version))) {
        quirk++;
    }
    return quirk;
}

uint32_t gi_quirk_subgroup_size(const char *renderer, const char *version)
{
    return strcasestr(renderer, "NVIDIA") && !strcasestr(version, "Mesa") ? 32 : 0;
}
