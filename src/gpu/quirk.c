#include "gpu/quirk.h"

#include <string.h>

// First match wins: drivers that lie over others (virgl, zink) name the GPU below them too.
// Indirect: what each driver does in launch_grid with a buffer of counts, read in Mesa 25.0.
static const struct gi_quirk quirks[] = {
    {"virgl",       NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO     },
    {"llvmpipe",    NULL,   GI_GPU_CLASS_LLVMPIPE, GI_QUIRK_INDIRECT_NO     },
    {"lavapipe",    NULL,   GI_GPU_CLASS_LLVMPIPE, GI_QUIRK_INDIRECT_NO     },
    {"softpipe",    NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"swiftshader", NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"zink",        NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
    {"V3D",         NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"Mali-G610",   "Mesa", GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     }, // RUN_COMPUTE_INDIRECT hangs
    {"Mali-G310",   "Mesa", GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     }, // likewise
    {"Mali",        NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"FD4",         NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"FD5",         NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO     },
    {"FD6",         NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_YES    },
    {"FD7",         NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_YES    },
    {"Adreno",      NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_YES    },
    {"PowerVR",     NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_UNKNOWN},
    {"Apple",       NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
    {"NVIDIA",      NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
    {"Tegra",       NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
    {"GeForce",     NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
    {"radeonsi",    NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
    {"Intel",       NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES    },
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
