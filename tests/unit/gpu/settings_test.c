// Tests the values that GLINFER_ variables take, and those that are refused.
#include "gpu/device/settings.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

static struct gi_settings settings;

static const struct gi_dispatch_setting *set_dispatch(const char *text)
{
    assert_true(gi_settings_set(&settings, "GLINFER_DISPATCH", text));
    return &settings.dispatch;
}

TEST(modes_are_known_by_name)
{
    const struct gi_dispatch_setting *setting;
    setting = set_dispatch(NULL);
    assert_int_equal(setting->mode, GI_DISPATCH_MODE_AUTO);
    setting = set_dispatch("");
    assert_false(setting->is_set);
    setting = set_dispatch("multi");
    assert_true(setting->is_set);
    assert_int_equal(setting->mode, GI_DISPATCH_MODE_AUTO);
    assert_int_equal(setting->takeover, GI_TAKEOVER_NEVER);
    setting = set_dispatch("direct");
    assert_int_equal(setting->mode, GI_DISPATCH_MODE_DIRECT);
    setting = set_dispatch("indirect");
    assert_int_equal(setting->mode, GI_DISPATCH_MODE_INDIRECT);
    assert_int_equal(setting->takeover, GI_TAKEOVER_NEVER);
}

TEST(numbers_may_be_left_out_from_the_end)
{
    const struct gi_dispatch_setting *setting;
    setting = set_dispatch("persistent");
    assert_int_equal(setting->takeover, GI_TAKEOVER_AT_ONCE);
    assert_int_equal(setting->n_groups, 0);
    assert_false(setting->has_spins);
    setting = set_dispatch("persistent:66:128");
    assert_int_equal(setting->n_groups, 66);
    assert_int_equal(setting->group_size, 128);
    assert_false(setting->has_spins);
    setting = set_dispatch("persistent:1:1024:0");
    assert_true(setting->has_spins);
    assert_int_equal(setting->max_spins, 0);
    setting = set_dispatch("persistent:1:64:4294967295");
    assert_int_equal(setting->max_spins, UINT32_MAX);
    setting = set_dispatch("background:2:64");
    assert_int_equal(setting->takeover, GI_TAKEOVER_BACKGROUND);
    assert_int_equal(setting->n_groups, 2);
    assert_int_equal(setting->group_size, 64);
}

TEST(ill_formed_settings_are_refused)
{
    static const char *const texts[] = {
        "persistent:0:256:0",
        "persistent:0",
        "persistent:132:0",
        "persistent:",
        "persistent:132:",
        "persistent:132:256:",
        "persistent:132:256:10:1",
        "persistent:132:256:1 ",
        "persistent:65536",
        "persistent:132:1025",
        "persistent:132:2048",
        "persistent:132:32",
        "persistent:132:129",
        "persistent:8:7",
        "persistent:-1",
        "persistent: 1",
        "persistent:+1",
        "persistent:1x",
        "persistent:99999999999999999999",
        "persistent::256",
        "persistent132",
        "persistent:132:256:4294967296",
        "background:0",
        "backgroundx",
        "ordinary",
        "multi:1",
        "direct:1",
        "Direct",
        "direct ",
        "yes",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct gi_dispatch_setting *setting = set_dispatch("persistent:2");
        if (gi_settings_set(&settings, "GLINFER_DISPATCH", texts[i])) {
            fail_msg("%s was taken", texts[i]);
        }
        assert_false(setting->is_set);
        assert_int_equal(setting->takeover, GI_TAKEOVER_NEVER);
        assert_int_equal(setting->n_groups, 0);
    }
}

TEST(words_of_kernels_are_known)
{
    static const char *const good[][2] = {
        {"GLINFER_GEMV", "split"},
        {"GLINFER_GEMV", "f16:256:4:66"},
        {"GLINFER_GEMM", "64x64:3"},
        {"GLINFER_GEMM", "128x64"},
        {"GLINFER_GEMM", "few"},
        {"GLINFER_GEMM", "few:64:1:1:4"},
        {"GLINFER_BATCH", "lane"},
        {"GLINFER_HALF", "no"},
        {"GLINFER_PAGES", "large"},
        {"GLINFER_LIMITS", "es31"},
        {"GLINFER_LIMITS",
         "es31,blocks=8,invocations=128,shared=16384,alignment=256,uniform=65536"},
        {"GLINFER_QUIRKS", "V3D@22.3-25=no-timer,direct;=no-half"},
    };
    static const char *const bad[][2] = {
        {"GLINFER_GEMV", "splits"},
        {"GLINFER_GEMV", "split:"},
        {"GLINFER_GEMM", "64x32"},
        {"GLINFER_GEMM", "few:64"},
        {"GLINFER_GEMM", "few:00000000000000000000000000064:1:1:4"},
        {"GLINFER_BATCH", "rows"},
        {"GLINFER_HALF", "1"},
        {"GLINFER_PAGES", "smal"},
        {"GLINFER_LIMITS", "es32"},
        {"GLINFER_LIMITS", "es31,"},
        {"GLINFER_LIMITS", "blocks"},
        {"GLINFER_LIMITS", "blocks=3"},
        {"GLINFER_LIMITS", "alignment=24"},
        {"GLINFER_LIMITS", "shared=16384;uniform=65536"},
        {"GLINFER_QUIRKS", "V3D"},
        {"GLINFER_QUIRKS", "V3D=slow"},
        {"GLINFER_QUIRKS", "V3D@22.3=direct"},
        {"GLINFER_QUIRKS", "V3D@22.3-25direct"},
        {"GLINFER_QUIRKS", "V3D=direct;Mali"},
        {"GLINFER_GLSL_DIR", "/no/where"},
    };
    static const struct gi_settings none;
    memset(&settings, 0, sizeof(settings));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(gi_settings_set(&settings, good[i][0], good[i][1]));
    }
    assert_int_equal(settings.gemv.shape.form, GI_GEMV_FORM_F16);
    assert_int_equal(settings.gemv.shape.max_groups, 66);
    assert_string_equal(settings.gemm, "few:64:1:1:4");
    assert_int_equal(settings.batch.form, GI_BATCH_FORM_LANE);
    assert_int_equal(settings.half, GI_CHOICE_NO);
    assert_int_equal(settings.large_pages, GI_CHOICE_YES);
    assert_true(settings.limits.is_es31);
    assert_int_equal(settings.limits.blocks, 8);
    assert_int_equal(settings.limits.uniform, 65536);
    assert_string_equal(settings.quirks, "V3D@22.3-25=no-timer,direct;=no-half");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(gi_settings_set(&settings, bad[i][0], bad[i][1]));
    }
    assert_memory_equal(&settings, &none, sizeof(none));
}

// The classes that only Mesa's version tells from others too.
TEST(classes_are_found_by_renderer)
{
    assert_true(gi_settings_set(&settings, "GLINFER_CLASS", "navi21"));
    assert_string_equal(settings.device_class->name, "AMD RDNA");
    assert_true(gi_settings_set(&settings, "GLINFER_CLASS", "FD630"));
    assert_string_equal(settings.device_class->name, "Adreno 6");
    assert_false(gi_settings_set(&settings, "GLINFER_CLASS", "A GPU of tomorrow"));
    assert_null(settings.device_class);
}

TEST(faults_are_of_named_programs)
{
    static const char *const bad[] = {"wrong",      "wrong:",      "wrongs:GLU",
                                      "wrong:GLU:", "wrong:GLU:0", "wrong:GLU:1:2"};
    const struct gi_fault_setting *fault = &settings.fault;
    assert_true(gi_settings_set(&settings, "GLINFER_FAULT", "wrong:GLU"));
    assert_int_equal(fault->occurrence, 0);
    assert_true(gi_fault_is_of(fault, GI_FAULT_WRONG, "GLU"));
    assert_false(gi_fault_is_of(fault, GI_FAULT_WRONG, "GLU_2"));
    assert_false(gi_fault_is_of(fault, GI_FAULT_SKIP, "GLU"));
    assert_true(gi_settings_set(&settings, "GLINFER_FAULT", "lost:GEMV_*:3"));
    assert_int_equal(fault->occurrence, 3);
    assert_true(gi_fault_is_of(fault, GI_FAULT_LOST, "GEMV_QKV_ROW"));
    assert_false(gi_fault_is_of(fault, GI_FAULT_LOST, "GEMM"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(gi_settings_set(&settings, "GLINFER_FAULT", bad[i]));
        assert_int_equal(fault->kind, GI_FAULT_NONE);
    }
}

static void count_warning(void *user, enum glinfer_log_level level, const char *message)
{
    assert_int_equal(level, GLINFER_LOG_WARN);
    assert_string_equal(message, "GLINFER_HALF=maybe is invalid and ignored: expected yes or no");
    ++*(int *)user;
}

TEST(environment_is_read_and_what_is_unknown_said)
{
    int n = 0;
    const struct gi_log log = {.fn = count_warning, .user = &n};
    setenv("GLINFER_HALF", "maybe", 1);
    setenv("GLINFER_BATCH", "row", 1);
    setenv("GLINFER_LIMITS", "", 1);
    settings.limits.is_es31 = true;
    gi_settings_read(&settings, &log);
    assert_int_equal(n, 1);
    assert_int_equal(settings.half, GI_CHOICE_NONE);
    assert_int_equal(settings.batch.form, GI_BATCH_FORM_ROW);
    assert_false(settings.limits.is_es31);
}

RUN_TESTS(NULL, NULL)
