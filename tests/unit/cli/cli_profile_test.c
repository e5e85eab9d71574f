// The pictures and traces of `glinfer profile` and `glinfer bench`: well-formed whatever the names
// and figures are; and what is said of two measurements.
#include "cli/bench/cli_bench_compare.h"
#include "cli/bench/cli_sweep.h"
#include "cli/common/cli_svg.h"
#include "cli/profile/cli_profile_data.h"
#include "cli/profile/cli_roofline.h"
#include "tests/unit/cmocka_test.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct glinfer_profile_kernel kernels[] = {
    {"ffn_gate_up", "gemv_swiglu.comp Q4_1", 30, 4e6, 60000000, 60000000, 192000000},
    {"output", "gemv_vocab.comp Q8_0", 1, 2e6, 30000000, 30000000, 56000000},
    {"<\"&'\\>\t", "hostile \"name\" & <co>", 7, 1e6, 0, 10, 20},
    {"argmax", "argmax.comp", 1, 1e4, 0, 0, 0},
    {"nothing", "", 1, 0, 1, 1, 1},
};

static void fill(struct cli_profile_data *data, double scale)
{
    memset(data, 0, sizeof(*data));
    data->model = "llama <135M> & \"co\"";
    data->device = "device \\ \"&\"";
    data->rates = (struct glinfer_device_rates){sizeof(data->rates), 8 * scale, 12 * scale, 60};
    data->n_stage = 2;
    for (size_t i = 0; i < 2; i++) {
        struct cli_profile_stage *stage = &data->stages[i];
        uint64_t begin = 0;
        snprintf(stage->name, sizeof(stage->name), "stage %zu", i);
        stage->n_prompt = (uint32_t)i * 128;
        stage->stats.kernel_ns = 7e6;
        for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
            const struct glinfer_profile_dispatch dispatch = {
                kernels[k].label, kernels[k].program, begin, 1000, kernels[k].bytes, 5};
            cli_profile_add_kernel(stage, &kernels[k]);
            cli_profile_add_dispatch(stage, &dispatch);
            begin += 1000;
        }
    }
}

static char *print(void (*printer)(FILE *file, const struct cli_profile_data *data),
                   const struct cli_profile_data *data)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    printer(file, data);
    fclose(file);
    return text;
}

TEST(trace_is_json_with_every_dispatch)
{
    struct cli_profile_data data;
    fill(&data, 1);
    char *text = print(cli_trace_print, &data);
    cJSON *trace = cJSON_Parse(text);
    assert_non_null(trace);
    size_t n_dispatch = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        const cJSON *args = cJSON_GetObjectItem(event, "args");
        assert_true(cJSON_IsString(cJSON_GetObjectItem(event, "ph")));
        if (cJSON_GetObjectItem(args, "program")) {
            const size_t k = n_dispatch++ % 5;
            assert_string_equal(cJSON_GetObjectItem(event, "name")->valuestring, kernels[k].label);
            assert_true(fabs(cJSON_GetObjectItem(event, "ts")->valuedouble - (double)k) < 1e-9);
        }
    }
    assert_int_equal(n_dispatch, 10);
    cJSON_Delete(trace);
    free(text);
    cli_profile_finish(&data);
}

// Elements closed in order, no bare & or <, quoted attributes; enough of XML for what we print.
static void check_xml(const char *text)
{
    char open[8][32];
    size_t depth = 0;
    for (const char *p = text; *p; p++) {
        if (*p == '&') {
            assert_true(strncmp(p, "&amp;", 5) == 0 || strncmp(p, "&lt;", 4) == 0 ||
                        strncmp(p, "&gt;", 4) == 0 || strncmp(p, "&quot;", 6) == 0);
        } else if (*p == '<') {
            const char *end = strchr(p, '>');
            assert_non_null(end);
            char name[32] = "";
            const bool is_end = p[1] == '/';
            assert_int_equal(sscanf(p + 1 + is_end, "%31[a-z]", name), 1);
            if (is_end) {
                assert_true(depth > 0);
                assert_string_equal(open[--depth], name);
            } else if (end[-1] != '/') {
                assert_true(depth < 8);
                memcpy(open[depth++], name, sizeof(name));
            }
            size_t n_quote = 0;
            for (; p < end; p++) {
                n_quote += *p == '"';
            }
            assert_int_equal(n_quote % 2, 0);
        }
    }
    assert_int_equal(depth, 0);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
}

TEST(roofline_is_well_formed)
{
    const double scales[] = {1, 1e-6, 1e6, 0};
    for (size_t i = 0; i < 4; i++) {
        struct cli_profile_data data;
        fill(&data, scales[i]);
        char *text = print(cli_roofline_print, &data);
        check_xml(text);
        assert_non_null(strstr(text, "ffn_gate_up"));
        free(text);
        cli_profile_finish(&data);
    }
}

TEST(roof_share_takes_the_lower_roof)
{
    struct cli_profile_data data = {.rates = {sizeof(data.rates), 10, 8, 100}};
    const struct glinfer_profile_kernel by_memory = {.ns = 1, .bytes = 5, .flops = 10};
    const struct glinfer_profile_kernel by_arithmetic = {.ns = 1, .bytes = 1, .flops = 50};
    const struct glinfer_profile_kernel unknown = {.ns = 1};
    assert_true(fabs(cli_profile_roof_share(&data, &by_memory) - 0.5) < 1e-9);
    assert_true(fabs(cli_profile_roof_share(&data, &by_arithmetic) - 0.5) < 1e-9);
    assert_true(cli_profile_roof_share(&data, &unknown) == 0);
}

TEST(axes_end_on_round_numbers)
{
    struct cli_axis log_axis = {"", 0.3, 70, true};
    struct cli_axis flat = {"", 5, 5, false};
    struct cli_axis same = {"", 2, 2, true};
    cli_axis_fit(&log_axis);
    assert_true(fabs(log_axis.low - 0.2) < 1e-9 && fabs(log_axis.high - 100) < 1e-9);
    cli_axis_fit(&flat);
    assert_true(flat.low <= 5 && flat.high > flat.low);
    cli_axis_fit(&same);
    assert_true(same.low <= 2 && same.high > same.low);
}

TEST(sweep_is_well_formed)
{
    const struct cli_sweep_point points[] = {
        {"a < b & \"c\"", 1, 0, 0},
        {"a < b & \"c\"", 64, 12.5, 0.5},
        {"other", 512, 900, 0},
    };
    for (size_t n = 0; n <= 3; n++) {
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        cli_sweep_print(file, "device <1>", points, n);
        fclose(file);
        check_xml(text);
        free(text);
    }
}

TEST(noise_decides_between_faster_and_the_same)
{
    const struct cli_sample before = {100, 2, 5}, near = {102, 2, 5}, far = {104, 2, 5},
                            less = {90, 2, 5}, twice = {200, 1, 2}, exact = {100, 0, 5},
                            more = {100.1, 0, 5};
    double noise;
    assert_int_equal(cli_noise_judge(&before, &near, &noise), CLI_VERDICT_SAME);
    assert_true(fabs(noise - 2.306 * sqrt(1.6)) < 0.01); // 8 degrees of freedom
    assert_int_equal(cli_noise_judge(&before, &far, &noise), CLI_VERDICT_MORE);
    assert_int_equal(cli_noise_judge(&before, &less, &noise), CLI_VERDICT_LESS);
    assert_int_equal(cli_noise_judge(&before, &twice, &noise), CLI_VERDICT_UNKNOWN);
    assert_int_equal(cli_noise_judge(&twice, &before, &noise), CLI_VERDICT_UNKNOWN);
    assert_int_equal(cli_noise_judge(&exact, &exact, &noise), CLI_VERDICT_SAME);
    assert_int_equal(cli_noise_judge(&exact, &more, &noise), CLI_VERDICT_MORE);
}

RUN_TESTS(NULL, NULL)
