#include "gpu/device/quirk.h"

#include <string.h>

// First match wins: drivers that lie over others (virgl, zink) name the GPU below them too.
// Indirect: what each driver's launch_grid does with a buffer of counts, as read in Mesa 25.0; other
// drivers are unknown until measured. FD4 and FD5 flush at every barrier.
static const struct gi_quirk quirks[] = {
    {"virgl",       NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"llvmpipe",    NULL,   GI_GPU_CLASS_LLVMPIPE, GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"lavapipe",    NULL,   GI_GPU_CLASS_LLVMPIPE, GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"softpipe",    NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"swiftshader", NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"zink",        NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES,     GI_GPU_DOT_PLAIN },
    {"V3D",         NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_HALVES},
    {"Mali-T",      NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLACES},
    {"Mali-G57",    NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_BYTES },
    {"Mali",        NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_UNKNOWN, GI_GPU_DOT_BYTES },
    {"FD4",         "Mesa", GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_BITS  },
    {"FD5",         "Mesa", GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_BITS  },
    {"FD6",         "Mesa", GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_YES,     GI_GPU_DOT_BITS  },
    {"FD7",         "Mesa", GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_YES,     GI_GPU_DOT_BITS  },
    {"Adreno",      NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_UNKNOWN, GI_GPU_DOT_BITS  },
    {"PowerVR",     NULL,   GI_GPU_CLASS_ROW,      GI_QUIRK_INDIRECT_UNKNOWN, GI_GPU_DOT_PLAIN },
    {"Apple",       NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES,     GI_GPU_DOT_PLAIN },
    {"NVIDIA",      NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES,     GI_GPU_DOT_PLAIN },
    {"Intel",       NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES,     GI_GPU_DOT_PLAIN },
    {"AMD CEDAR",   NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN }, // r600
    {"AMD REDWOOD", NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD JUNIPER", NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD CYPRESS", NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD HEMLOCK", NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD PALM",    NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD SUMO",    NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD BARTS",   NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD TURKS",   NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD CAICOS",  NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD CAYMAN",  NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD ARUBA",   NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"AMD",         NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES,     GI_GPU_DOT_PLAIN }, // radeonsi
    {"NV5",         "Mesa", GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN }, // nv50
    {"NV8",         "Mesa", GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"NV9",         "Mesa", GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"NVA",         "Mesa", GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_NO,      GI_GPU_DOT_PLAIN },
    {"NV",          "Mesa", GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_YES,     GI_GPU_DOT_PLAIN }, // nvc0 and later
    {"",            NULL,   GI_GPU_CLASS_SPLIT,    GI_QUIRK_INDIRECT_UNKNOWN, GI_GPU_DOT_PLAIN },
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

static bool is_nvidia(const char *renderer, const char *version)
{
    return strcasestr(renderer, "NVIDIA") && !strcasestr(version, "Mesa");
}

uint32_t gi_quirk_subgroup_size(const char *renderer, const char *version)
{
    return is_nvidia(renderer, version) ? 32 : 0;
}

bool gi_quirk_has_small_pages(const char *renderer, const char *version)
{
    return is_nvidia(renderer, version);
}
