// Renderer strings as drivers give them, and the row each must find.
#include "gpu/quirk.h"

#include <stdio.h>

// cmocka.h needs the three before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#define MESA "OpenGL ES 3.1 Mesa 25.0.7"

enum {
    SPLIT = GI_GPU_CLASS_SPLIT,
    ROW = GI_GPU_CLASS_ROW,
    LLVMPIPE = GI_GPU_CLASS_LLVMPIPE,
    UNKNOWN = GI_QUIRK_INDIRECT_UNKNOWN,
    NO = GI_QUIRK_INDIRECT_NO,
    YES = GI_QUIRK_INDIRECT_YES,
};

static const struct {
    const char *renderer, *version;
    int class, indirect;
} devices[] = {
    {"llvmpipe (LLVM 15.0.6, 256 bits)",                              MESA,                              LLVMPIPE, NO     },
    {"softpipe",                                                      MESA,                              ROW,      NO     },
    {"virgl (LLVMPIPE (LLVM 15.0.6, 256 bits))",                      MESA,                              SPLIT,    NO     },
    {"zink Vulkan 1.3(llvmpipe (LLVM 15.0.6, 256 bits) (LLVMPIPE))",  MESA,                              LLVMPIPE, NO     },
    {"zink Vulkan 1.3(AMD Radeon RX 6800 (RADV NAVI21) (MESA_RADV))", MESA,                              SPLIT,    YES    },
    {"V3D 4.2",                                                       MESA,                              ROW,      NO     },
    {"V3D 7.1.7.0",                                                   MESA,                              ROW,      NO     },
    {"Mali-T860 (Panfrost)",                                          MESA,                              ROW,      NO     },
    {"Mali-G57 (Panfrost)",                                           MESA,                              ROW,      NO     },
    {"Mali-G52 r1 (Panfrost)",                                        MESA,                              ROW,      UNKNOWN},
    {"Mali-G610 (Panfrost)",                                          MESA,                              ROW,      UNKNOWN},
    {"Mali-G52",                                                      "OpenGL ES 3.2 v1.r32p1",          ROW,      UNKNOWN},
    {"FD530",                                                         MESA,                              ROW,      NO     },
    {"FD630",                                                         MESA,                              ROW,      YES    },
    {"FD750",                                                         MESA,                              ROW,      YES    },
    {"Adreno (TM) 619",                                               "OpenGL ES 3.2 V@0615.73",         ROW,      UNKNOWN},
    {"PowerVR Rogue GE8300",                                          "OpenGL ES 3.2 build 1.11",        ROW,      UNKNOWN},
    {"AMD CEDAR (DRM 2.50.0 / 6.1.0, LLVM 15.0.6)",                   MESA,                              SPLIT,    NO     },
    {"AMD Radeon RX 5700 XT (navi10, LLVM 15.0.6, DRM 3.49, 6.1)",    MESA,                              SPLIT,    YES    },
    {"AMD Radeon 780M (radeonsi, phoenix, LLVM 19.1.7, DRM 3.61)",    MESA,                              SPLIT,    YES    },
    {"Mesa Intel(R) UHD Graphics 620 (KBL GT2)",                      MESA,                              SPLIT,    YES    },
    {"Apple M1 (G13G B1)",                                            MESA,                              SPLIT,    YES    },
    {"NVIDIA H200/PCIe/SSE2",                                         "OpenGL ES 3.2 NVIDIA 580.159.04", SPLIT,    YES    },
    {"NVIDIA Tegra X1",                                               "OpenGL ES 3.2 NVIDIA 32.7.1",     SPLIT,    YES    },
    {"NVA8",                                                          MESA,                              SPLIT,    NO     },
    {"NV132",                                                         MESA,                              SPLIT,    YES    },
    {"A GPU of tomorrow",                                             "OpenGL ES 3.2",                   SPLIT,    UNKNOWN},
};

static void each_renderer_finds_its_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        const struct gi_quirk *quirk = gi_quirk_find(devices[i].renderer, devices[i].version);
        if ((int)quirk->class != devices[i].class || (int)quirk->indirect != devices[i].indirect) {
            fail_msg("%s: class %d, indirect %d", devices[i].renderer, (int)quirk->class,
                     (int)quirk->indirect);
        }
    }
}

static void subgroups_are_used_where_they_have_one_size(void **state)
{
    (void)state;
    assert_int_equal(
        32, gi_quirk_subgroup_size("NVIDIA H200/PCIe/SSE2", "OpenGL ES 3.2 NVIDIA 580.159.04"));
    assert_int_equal(0, gi_quirk_subgroup_size("zink Vulkan 1.3(NVIDIA H200)", MESA));
    assert_int_equal(0, gi_quirk_subgroup_size("Mesa Intel(R) Graphics", MESA));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_renderer_finds_its_row),
        cmocka_unit_test(subgroups_are_used_where_they_have_one_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
