// Tests which quirks a driver has by its names and versions, and rows that are added.
#include "gpu/device/quirk.h"
#include "tests/unit/cmocka_test.h"

#define V3D "V3D 4.2.14.0", "OpenGL ES 3.1 Mesa 25.0.7"

TEST(drivers_that_compile_late_are_known)
{
    const char *mesa = "OpenGL ES 3.2 Mesa 22.3.6";
    assert_int_equal(gi_quirks_find("llvmpipe (LLVM 15.0.6, 256 bits)", mesa, ""),
                     GI_QUIRK_LATE_COMPILE | GI_QUIRK_LOOP_LIMIT | GI_QUIRK_SERIAL_GROUPS);
    assert_int_equal(gi_quirks_find("virgl (LLVMPIPE (LLVM 15.0.6))", mesa, ""),
                     gi_quirks_find("llvmpipe", mesa, ""));
    assert_int_equal(gi_quirks_find(V3D, ""), GI_QUIRK_LATE_COMPILE);
    assert_int_equal(gi_quirks_find("NVIDIA H200", "OpenGL ES 3.2 NVIDIA 580.159.04", ""),
                     GI_QUIRK_NO_COUNT | GI_QUIRK_LATE_BINARY);
    assert_int_equal(gi_quirks_find("Mali-G52", "OpenGL ES 3.2 v1.r32p1", ""), 0);
}

TEST(added_rows_fit_by_name_and_version)
{
    static const struct {
        const char *added;
        bool fits;
    } rows[] = {
        {"v3d=no-half", true},         {"=no-half", true},
        {"V3D@25.0-=no-half", true},   {"V3D@-25.1=no-half", true},
        {"V3D@22.3-26=no-half", true}, {"Mali=direct;V3D=no-half", true},
        {"V3D@25.1-=no-half", false},  {"V3D@-25.0=no-half", false},
        {"V3D 7=no-half", false},      {"Mali=no-half", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(gi_quirks_parse(rows[i].added));
        const uint32_t quirks = gi_quirks_find(V3D, rows[i].added);
        if (quirks != (GI_QUIRK_LATE_COMPILE | (rows[i].fits ? GI_QUIRK_NO_HALF : 0))) {
            fail_msg("%s gives 0x%x", rows[i].added, quirks);
        }
    }
    assert_int_equal(gi_quirks_find("V3D", "no number", "V3D@1-=no-half"), GI_QUIRK_LATE_COMPILE);
}

TEST(flags_have_names)
{
    char text[64];
    gi_quirks_print(GI_QUIRK_DIRECT | GI_QUIRK_NO_HALF, text, sizeof(text));
    assert_string_equal(text, "direct,no-half");
    gi_quirks_print(0, text, sizeof(text));
    assert_string_equal(text, "none");
    gi_quirks_print(UINT32_MAX, text, 16);
    assert_string_equal(text, "late-compile,lo");
}

RUN_TESTS(NULL, NULL)
