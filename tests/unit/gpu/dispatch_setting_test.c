// What GLINFER_DISPATCH may say, and what is refused.
#include "gpu/device/dispatch_setting.h"
#include "tests/unit/cmocka_test.h"

static void modes_are_known_by_name(void **state)
{
    struct gi_dispatch_setting setting;
    (void)state;
    assert_true(gi_dispatch_setting_parse(NULL, &setting));
    assert_int_equal(setting.mode, GI_DISPATCH_MODE_AUTO);
    assert_true(gi_dispatch_setting_parse("", &setting));
    assert_false(setting.is_set);
    assert_true(gi_dispatch_setting_parse("ordinary", &setting));
    assert_true(setting.is_set);
    assert_int_equal(setting.mode, GI_DISPATCH_MODE_AUTO);
    assert_int_equal(setting.persistent_mode, GI_PERSISTENT_NEVER);
    assert_true(gi_dispatch_setting_parse("direct", &setting));
    assert_int_equal(setting.mode, GI_DISPATCH_MODE_DIRECT);
    assert_true(gi_dispatch_setting_parse("indirect", &setting));
    assert_int_equal(setting.mode, GI_DISPATCH_MODE_INDIRECT);
    assert_int_equal(setting.persistent_mode, GI_PERSISTENT_NEVER);
}

static void numbers_may_be_left_out_from_the_end(void **state)
{
    struct gi_dispatch_setting setting;
    (void)state;
    assert_true(gi_dispatch_setting_parse("persistent", &setting));
    assert_int_equal(setting.persistent_mode, GI_PERSISTENT_AT_ONCE);
    assert_int_equal(setting.persistent.n_groups, 0);
    assert_false(setting.has_spins);
    assert_true(gi_dispatch_setting_parse("persistent:66:128", &setting));
    assert_int_equal(setting.persistent.n_groups, 66);
    assert_int_equal(setting.persistent.group_size, 128);
    assert_false(setting.has_spins);
    assert_true(gi_dispatch_setting_parse("persistent:1:1024:0", &setting));
    assert_true(setting.has_spins);
    assert_int_equal(setting.persistent.max_spins, 0);
    assert_true(gi_dispatch_setting_parse("persistent:1:64:4294967295", &setting));
    assert_int_equal(setting.persistent.max_spins, UINT32_MAX);
    assert_true(gi_dispatch_setting_parse("background:2:64", &setting));
    assert_int_equal(setting.persistent_mode, GI_PERSISTENT_BACKGROUND);
    assert_int_equal(setting.persistent.n_groups, 2);
    assert_int_equal(setting.persistent.group_size, 64);
}

static void ill_formed_settings_are_refused(void **state)
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
        "ordinary:1",
        "direct:1",
        "Direct",
        "direct ",
        "yes",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct gi_dispatch_setting setting;
        if (gi_dispatch_setting_parse(texts[i], &setting)) {
            fail_msg("%s was taken", texts[i]);
        }
        assert_false(setting.is_set);
        assert_int_equal(setting.persistent_mode, GI_PERSISTENT_NEVER);
        assert_int_equal(setting.persistent.n_groups, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_known_by_name),
        cmocka_unit_test(numbers_may_be_left_out_from_the_end),
        cmocka_unit_test(ill_formed_settings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
