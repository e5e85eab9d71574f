// Renderer strings as drivers give them, and the class that each must find.
#include "gpu/device/device_class.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

#include <string.h>

static const struct gi_device_class *find(const char *const fields[])
{
    return gi_device_class_find(fields[0], fields[1][0] ? fields[1] : NULL);
}

static void check_name(const char *const fields[])
{
    assert_string_equal(find(fields)->name, fields[2]);
}

TEST(each_renderer_finds_its_class)
{
    each_case("device_class.cases", "devices", check_name);
}

static void check_completeness(const char *const fields[])
{
    const struct gi_device_class *class = find(fields);
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

TEST(each_class_is_complete)
{
    each_case("device_class.cases", "devices", check_completeness);
}

static void check_nvidia(const char *const fields[])
{
    const struct gi_device_class *class = find(fields);
    const bool is_nvidia = strncmp(fields[2], "NVIDIA", strlen("NVIDIA")) == 0;
    assert_int_equal(class->subgroup_size, is_nvidia ? 32 : 0);
    assert_int_equal(class->large_pages_from > 0, is_nvidia);
    assert_int_equal(class->persistent.is_default, is_nvidia);
    assert_int_equal(class->max_batch > 0, strcmp(fields[2], "NVIDIA") == 0);
}

TEST(subgroups_and_small_pages_are_known_of_one_driver)
{
    each_case("device_class.cases", "devices", check_nvidia);
}

RUN_TESTS(NULL, NULL)
