// Renderer strings as drivers give them, and the class that each must find.
#include "gpu/device/device_class.h"
#include "tests/unit/cmocka_test.h"

#include <string.h>

#define MESA "OpenGL ES 3.1 Mesa 25.0.7"

static const struct {
    const char *renderer, *version, *class;
} devices[] = {
    {"llvmpipe (LLVM 15.0.6, 256 bits)", MESA, "llvmpipe"},
    {"softpipe", MESA, "softpipe"},
    {"virgl (LLVMPIPE (LLVM 15.0.6, 256 bits))", MESA, "virgl"},
    {"zink Vulkan 1.3(llvmpipe (LLVM 15.0.6, 256 bits) (LLVMPIPE))", MESA, "llvmpipe"},
    {"zink Vulkan 1.3(AMD Radeon RX 6800 (RADV NAVI21) (MESA_RADV))", MESA, "zink"},
    {"V3D 4.2", MESA, "V3D 4"},
    {"V3D 7.1.7.0", MESA, "V3D 7"},
    {"Mali-T860 (Panfrost)", MESA, "Mali T"},
    {"Mali-G57 (Panfrost)", MESA, "Mali G57"},
    {"Mali-G52 r1 (Panfrost)", MESA, "Mali G"},
    {"Mali-G610 (Panfrost)", MESA, "Mali Valhall"},
    {"Mali-G52", "OpenGL ES 3.2 v1.r32p1", "Mali G"},
    {"Mali-G72", "OpenGL ES 3.2 v1.r32p1", "Mali G"},
    {"Mali-G720", "OpenGL ES 3.2 v1.r32p1", "Mali Valhall"},
    {"Mali-G78 MC20", "OpenGL ES 3.2 v1.r32p1", "Mali Valhall"},
    {"FD530", MESA, "Adreno 4 and 5"},
    {"FD630", MESA, "Adreno 6"},
    {"FD750", MESA, "Adreno 7"},
    {"Adreno (TM) 619", "OpenGL ES 3.2 V@0615.73", "Adreno by Qualcomm"},
    {"PowerVR Rogue GE8300", "OpenGL ES 3.2 build 1.11", "PowerVR"},
    {"AMD CEDAR (DRM 2.50.0 / 6.1.0, LLVM 15.0.6)", MESA, "AMD r600"},
    {"AMD Radeon Vega 10 Graphics (raven, LLVM 15.0.6, DRM 3.49, 6.18)", MESA, "AMD GCN"},
    {"AMD Radeon Vega 10 Graphics (radeonsi, raven, ACO, DRM 3.49, 6.18)", MESA, "AMD GCN"},
    {"AMD Radeon Graphics (renoir, LLVM 15.0.6, DRM 3.49, 6.18)", MESA, "AMD GCN"},
    {"AMD Radeon RX 580 Series (polaris10, LLVM 15.0.6, DRM 3.49, 6.18)", MESA, "AMD GCN"},
    {"AMD Custom GPU 0405 (vangogh, LLVM 15.0.6, DRM 3.49, 6.18)", MESA, "AMD RDNA"},
    {"AMD Radeon RX 5700 XT (navi10, LLVM 15.0.6, DRM 3.49, 6.1)", MESA, "AMD RDNA"},
    {"AMD Radeon RX 6800 (radeonsi, navi21, LLVM 15.0.6, DRM 3.49, 6.18)", MESA, "AMD RDNA"},
    {"AMD Radeon Graphics (gfx1100, LLVM 15.0.6, DRM 3.49, 6.18)", MESA, "AMD RDNA"},
    {"AMD Radeon 780M (radeonsi, phoenix, LLVM 19.1.7, DRM 3.61)", MESA, "AMD RDNA"},
    {"Mesa Intel(R) HD Graphics (BDW GT3)", MESA, "Intel gen 9"},
    {"Mesa Intel(R) HD Graphics 530 (SKL GT2)", MESA, "Intel gen 9"},
    {"Mesa Intel(R) UHD Graphics 620 (KBL GT2)", MESA, "Intel gen 9"},
    {"Mesa Intel(R) Iris(R) Plus Graphics (ICL GT2)", MESA, "Intel gen 11 and 12"},
    {"Mesa Intel(R) Xe Graphics (TGL GT2)", MESA, "Intel gen 11 and 12"},
    {"Mesa Intel(R) UHD Graphics 770 (ADL-S GT1)", MESA, "Intel gen 11 and 12"},
    {"Mesa Intel(R) Graphics (ADL-N)", MESA, "Intel gen 11 and 12"},
    {"Mesa Intel(R) Graphics (MTL)", MESA, "Intel gen 11 and 12"},
    {"Mesa Intel(R) Arc(tm) A770M Graphics (DG2)", MESA, "Intel gen 11 and 12"},
    {"Mesa Intel(R) Graphics (LNL)", MESA, "Intel Xe2"},
    {"Apple M1 (G13G B1)", MESA, "Apple"},
    {"NVIDIA H200/PCIe/SSE2", "OpenGL ES 3.2 NVIDIA 580.159.04", "NVIDIA"},
    {"NVIDIA Tegra X1", "OpenGL ES 3.2 NVIDIA 32.7.1", "NVIDIA"},
    {"NVA8", MESA, "nouveau nv50"},
    {"NV132", MESA, "nouveau"},
    {"Intel(R) Xe Graphics (TGL GT2)", NULL, "Intel gen 11 and 12"},
    {"NVIDIA", NULL, "NVIDIA"},
    {"A GPU of tomorrow", "OpenGL ES 3.2", "unknown"},
};

TEST(each_renderer_finds_its_class)
{
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        const struct gi_device_class *class =
            gi_device_class_find(devices[i].renderer, devices[i].version);
        if (strcmp(class->name, devices[i].class) != 0) {
            fail_msg("%s is of class %s", devices[i].renderer, class->name);
        }
    }
}

TEST(each_class_is_complete)
{
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        const struct gi_device_class *class =
            gi_device_class_find(devices[i].renderer, devices[i].version);
        const struct gi_gemv_row *last = class->gemv;
        while (last->min_pair > 0 || last->min_block > 0 || last->shape.wg_size > 128 ||
               last->shape.form > GI_GEMV_FORM_ROW) {
            last++; // some row is possible everywhere
        }
        assert_true(last->shape.wg_size > 0);
        assert_true(class->n_gemv_candidates > 0);
        assert_true(class->wave_groups > 0 && class->attention_groups > 0);
        assert_true(class->probe_groups > 0 && class->rate_bytes > 0 && class->burst_bytes > 0);
        assert_true(class->copy_wg_size > 0 && class->copy_loads > 0);
        assert_true(class->sample.argmax_size > 0 && class->sample.n_groups > 0);
        assert_true(class->sample.size > 0);
        assert_true(class->persistent.n_groups > 0 && class->persistent.group_size > 0);
    }
}

TEST(subgroups_and_small_pages_are_known_of_one_driver)
{
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        const struct gi_device_class *class =
            gi_device_class_find(devices[i].renderer, devices[i].version);
        const bool is_nvidia = strcmp(class->name, "NVIDIA") == 0;
        assert_int_equal(class->subgroup_size, is_nvidia ? 32 : 0);
        assert_int_equal(class->large_pages_from > 0, is_nvidia);
        assert_int_equal(class->persistent.is_default, is_nvidia);
    }
}

RUN_TESTS(NULL, NULL)
