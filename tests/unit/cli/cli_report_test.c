// A report hides paths and names, and reads clocks and temperatures of sysfs.
#include "cli/report/report_private.h"
#include "cli/report/report_sensors.h"
#include "tests/unit/temp_folder.h"

#include <string.h>

TEST(a_report_hides_names_of_files)
{
    static const char *const cases[][2] = {
        {"model /home/ann b/m.gguf: llama", "model m.gguf: llama"},
        {"\"file\":\"/home/ann b/m.gguf\",", "\"file\":\"m.gguf\","},
        {"/home/ann b/.cache/x is refused", "~/.cache/x is refused"},
        {"cannot open /srv/people/ann/key: no", "cannot open .../key: no"},
        {"gbm:/dev/dri/renderD128, (/usr/lib/dri/x.so)",
         "gbm:/dev/dri/renderD128, (/usr/lib/dri/x.so)"},
        {"OpenGL ES 3.2 Mesa, Mesa/X.org, 3 GB/s, / and //x",
         "OpenGL ES 3.2 Mesa, Mesa/X.org, 3 GB/s, / and //x"},
        {"(/a/b) [/a/b] </a/b> =/a/b", "(.../b) [.../b] <.../b> =.../b"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cli_bytes text = {0};
        cli_bytes_add(&text, cases[i][0]);
        report_make_private(&text, "/home/ann b/m.gguf", "/home/ann b");
        assert_string_equal(text.data ? text.data : "", cases[i][1]);
        cli_bytes_finish(&text);
    }
}

TEST(a_report_without_names_stays)
{
    struct cli_bytes text = {0};
    cli_bytes_add(&text, "a / b");
    report_make_private(&text, NULL, "/");
    assert_string_equal(text.data, "a / b");
    cli_bytes_finish(&text);
}

static void make_sensor(const char *folder, const char *name, const char *value)
{
    char path[64];
    const char *const levels[] = {"class",     "class/thermal",   "class/devfreq",
                                  "class/drm", "class/drm/card0", folder};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        mkdir(temp_path(levels[i]), 0700);
    }
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    write_file(temp_path(path), value, strlen(value));
}

TEST(clocks_and_temperatures_are_ranges)
{
    struct report_readings readings = {0};
    struct cli_bytes text = {0};
    make_sensor("class/thermal/thermal_zone0", "type", "gpu-thermal\n");
    make_sensor("class/thermal/thermal_zone0", "temp", "48300\n");
    make_sensor("class/thermal/thermal_zone1", "temp", "no number\n");
    make_sensor("class/devfreq/fb.gpu", "cur_freq", "300000000\n");
    make_sensor("class/drm/card0/device", "pp_dpm_sclk", "0: 200Mhz\n1: 700Mhz *\n2: 1100Mhz\n");
    report_sample(temp_folder, &readings);
    make_sensor("class/thermal/thermal_zone0", "temp", "61000\n");
    make_sensor("class/devfreq/fb.gpu", "cur_freq", "1000000000\n");
    report_sample(temp_folder, &readings);
    report_print_readings(&readings, &text);
    assert_string_equal(text.data, "class/thermal/thermal_zone0/temp (gpu-thermal) 48300 to 61000\n"
                                   "class/devfreq/fb.gpu/cur_freq 300000000 to 1000000000\n"
                                   "class/drm/card0/device/pp_dpm_sclk 700\n");
    cli_bytes_finish(&text);
    report_readings_finish(&readings);
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
