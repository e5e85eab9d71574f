// Renderer strings as drivers give them, and the row each must find.
#include "gpu/device/quirk.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>

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
    int class, indirect, dot;
} devices[] = {
    {"llvmpipe (LLVM 15.0.6, 256 bits)",                              MESA,                              LLVMPIPE, NO,      GI_GPU_DOT_PLAIN },
    {"softpipe",                                                      MESA,                              ROW,      NO,      GI_GPU_DOT_PLAIN },
    {"virgl (LLVMPIPE (LLVM 15.0.6, 256 bits))",                      MESA,                              SPLIT,    NO,      GI_GPU_DOT_PLAIN },
    {"zink Vulkan 1.3(llvmpipe (LLVM 15.0.6, 256 bits) (LLVMPIPE))",  MESA,                              LLVMPIPE, NO,
     GI_GPU_DOT_PLAIN                                                                                                                        },
    {"zink Vulkan 1.3(AMD Radeon RX 6800 (RADV NAVI21) (MESA_RADV))", MESA,                              SPLIT,    YES,
     GI_GPU_DOT_PLAIN                                                                                                                        },
    {"V3D 4.2",                                                       MESA,                              ROW,      NO,      GI_GPU_DOT_HALVES},
    {"V3D 7.1.7.0",                                                   MESA,                              ROW,      NO,      GI_GPU_DOT_HALVES},
    {"Mali-T860 (Panfrost)",                                          MESA,                              ROW,      NO,      GI_GPU_DOT_PLACES},
    {"Mali-G57 (Panfrost)",                                           MESA,                              ROW,      NO,      GI_GPU_DOT_BYTES },
    {"Mali-G52 r1 (Panfrost)",                                        MESA,                              ROW,      UNKNOWN, GI_GPU_DOT_BYTES },
    {"Mali-G610 (Panfrost)",                                          MESA,                              ROW,      UNKNOWN, GI_GPU_DOT_BYTES },
    {"Mali-G52",                                                      "OpenGL ES 3.2 v1.r32p1",          ROW,      UNKNOWN, GI_GPU_DOT_BYTES },
    {"FD530",                                                         MESA,                              ROW,      NO,      GI_GPU_DOT_BITS  },
    {"FD630",                                                         MESA,                              ROW,      YES,     GI_GPU_DOT_BITS  },
    {"FD750",                                                         MESA,                              ROW,      YES,     GI_GPU_DOT_BITS  },
    {"Adreno (TM) 619",                                               "OpenGL ES 3.2 V@0615.73",         ROW,      UNKNOWN, GI_GPU_DOT_BITS  },
    {"PowerVR Rogue GE8300",                                          "OpenGL ES 3.2 build 1.11",        ROW,      UNKNOWN, GI_GPU_DOT_PLAIN },
    {"AMD CEDAR (DRM 2.50.0 / 6.1.0, LLVM 15.0.6)",                   MESA,                              SPLIT,    NO,      GI_GPU_DOT_PLAIN },
    {"AMD Radeon RX 5700 XT (navi10, LLVM 15.0.6, DRM 3.49, 6.1)",    MESA,                              SPLIT,    YES,
     GI_GPU_DOT_PLAIN                                                                                                                        },
    {"AMD Radeon 780M (radeonsi, phoenix, LLVM 19.1.7, DRM 3.61)",    MESA,                              SPLIT,    YES,
     GI_GPU_DOT_PLAIN                                                                                                                        },
    {"Mesa Intel(R) UHD Graphics 620 (KBL GT2)",                      MESA,                              SPLIT,    YES,     GI_GPU_DOT_PLAIN },
    {"Apple M1 (G13G B1)",                                            MESA,                              SPLIT,    YES,     GI_GPU_DOT_PLAIN },
    {"NVIDIA H200/PCIe/SSE2",                                         "OpenGL ES 3.2 NVIDIA 580.159.04", SPLIT,    YES,     GI_GPU_DOT_PLAIN },
    {"NVIDIA Tegra X1",                                               "OpenGL ES 3.2 NVIDIA 32.7.1",     SPLIT,    YES,     GI_GPU_DOT_PLAIN },
    {"NVA8",                                                          MESA,                              SPLIT,    NO,      GI_GPU_DOT_PLAIN },
    {"NV132",                                                         MESA,                              SPLIT,    YES,     GI_GPU_DOT_PLAIN },
    {"A GPU of tomorrow",                                             "OpenGL ES 3.2",                   SPLIT,    UNKNOWN, GI_GPU_DOT_PLAIN },
};

static void each_renderer_finds_its_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        const struct gi_quirk *quirk = gi_quirk_find(devices[i].renderer, devices[i].version);
        if ((int)quirk->class != devices[i].class || (int)quirk->indirect != devices[i].indirect ||
            (int)quirk->dot != devices[i].dot) {
            fail_msg("%s: class %d, indirect %d, dot %d", devices[i].renderer, (int)quirk->class,
                     (int)quirk->indirect, (int)quirk->dot);
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

static void small_pages_are_nvidias(void **state)
{
    (void)state;
    assert_true(
        gi_quirk_has_small_pages("NVIDIA H200/PCIe/SSE2", "OpenGL ES 3.2 NVIDIA 580.159.04"));
    assert_false(gi_quirk_has_small_pages("zink Vulkan 1.3(NVIDIA H200)", MESA));
    assert_false(gi_quirk_has_small_pages("AMD Radeon Graphics", MESA));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_renderer_finds_its_row),
        cmocka_unit_test(subgroups_are_used_where_they_have_one_size),
        cmocka_unit_test(small_pages_are_nvidias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
