// Tests the values that GLINFER_ variables take, and those that are refused.
#include "gpu/device/settings.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

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

static void check_wrong_dispatch(const char *const fields[])
{
    const struct gi_dispatch_setting *setting = set_dispatch("persistent:2");
    if (gi_settings_set(&settings, "GLINFER_DISPATCH", fields[0])) {
        fail_msg("%s was taken", fields[0]);
    }
    assert_false(setting->is_set);
    assert_int_equal(setting->takeover, GI_TAKEOVER_NEVER);
    assert_int_equal(setting->n_groups, 0);
}

TEST(ill_formed_settings_are_refused)
{
    each_case("settings.cases", "wrong dispatches", check_wrong_dispatch);
}

static void check_taken(const char *const fields[])
{
    assert_true(gi_settings_set(&settings, fields[0], fields[1]));
}

static void check_refused(const char *const fields[])
{
    assert_false(gi_settings_set(&settings, fields[0], fields[1]));
}

TEST(words_of_kernels_are_known)
{
    static const struct gi_settings none;
    memset(&settings, 0, sizeof(settings));
    each_case("settings.cases", "taken", check_taken);
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
    each_case("settings.cases", "refused", check_refused);
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
