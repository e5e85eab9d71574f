#include "cli/bench/cli_bench_compare.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_json_read.h"

#include <math.h>
#include <string.h>

// Returns the two-sided 95 % quantile of Student's t.
static double student_95(double freedom)
{
    static const double small[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
    if (freedom < 10) {
        return small[freedom < 1 ? 0 : (int)freedom - 1];
    }
    return 1.960 + 2.45 / freedom; // within 0.03 of the table
}

// Welch's test: B. L. Welch, "The generalization of Student's problem when several different
// population variances are involved", Biometrika 34, 1947.
enum cli_verdict cli_noise_judge(const struct cli_sample *before, const struct cli_sample *now,
                                 double *noise)
{
    *noise = 0;
    if (before->n < CLI_NOISE_RUNS || now->n < CLI_NOISE_RUNS) {
        return CLI_VERDICT_UNKNOWN;
    }
    const double a = before->stddev * before->stddev / (double)before->n;
    const double b = now->stddev * now->stddev / (double)now->n;
    const double error = a + b;
    if (error > 0) {
        const double freedom =
            error * error / (a * a / ((double)before->n - 1) + b * b / ((double)now->n - 1));
        *noise = student_95(freedom) * sqrt(error);
    }
    const double difference = now->mean - before->mean;
    if (fabs(difference) <= *noise) {
        return CLI_VERDICT_SAME;
    }
    return difference > 0 ? CLI_VERDICT_MORE : CLI_VERDICT_LESS;
}

// Appends a value of the file, or the items of an array.
static void add_value(cJSON *rows, cJSON *value)
{
    if (!cJSON_IsArray(value)) {
        cJSON_AddItemToArray(rows, value);
        return;
    }
    while (value->child) {
        cJSON_AddItemToArray(rows, cJSON_DetachItemFromArray(value, 0));
    }
    cJSON_Delete(value);
}

// Reads jsonl, values one after the other, or json, an array; false where it is neither.
static bool parse_rows(const char *text, cJSON *rows)
{
    text += strspn(text, " \t\r\n");
    while (*text) {
        const char *end = NULL;
        cJSON *value = cJSON_ParseWithOpts(text, &end, 0);
        if (!value) {
            return false;
        }
        add_value(rows, value);
        text = end + strspn(end, " \t\r\n");
    }
    return cli_json_get(rows->child, "avg_ts") != NULL;
}

cJSON *cli_baseline_load(const char *path)
{
    struct cli_bytes bytes = {0};
    if (!cli_read_all(path, &bytes)) {
        return NULL;
    }
    cJSON *rows = cJSON_CreateArray();
    if (!parse_rows(bytes.data, rows)) {
        cli_fail(CLI_EXIT_FAILED,
                 "invalid baseline %s: expected the output of `glinfer bench -o json`", path);
        cJSON_Delete(rows);
        rows = NULL;
    }
    cli_bytes_finish(&bytes);
    return rows;
}

static double number_of(const cJSON *row, const char *name)
{
    const cJSON *item = cli_json_get(row, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

// Returns true if a number of the row, 0 if it is missing, is near a value.
static bool is_near(const cJSON *row, const char *name, double value)
{
    return fabs(number_of(row, name) - value) < 1e-3;
}

static bool is_text(const cJSON *row, const char *name, const char *value)
{
    const char *text = cJSON_GetStringValue(cli_json_get(row, name));
    return text && strcmp(text, value) == 0;
}

// Returns true if a row is of n sequences; older files do not name the number.
static bool is_parallel(const cJSON *row, uint32_t n)
{
    return is_near(row, "n_parallel", n) || (n == 1 && is_near(row, "n_parallel", 0));
}

static const cJSON *find_row(const cJSON *rows, const struct cli_bench_result *result)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        if (is_text(row, "model_type", result->model->description) &&
            is_near(row, "model_n_params", (double)result->model->n_params) &&
            is_near(row, "n_prompt", result->n_prompt) && is_near(row, "n_gen", result->n_gen) &&
            is_near(row, "n_depth", result->n_depth) && is_parallel(row, result->n_parallel) &&
            is_near(row, "n_ubatch", result->n_ubatch) &&
            is_near(row, "temperature", (double)result->temperature) &&
            is_text(row, "type_k", result->type_k) && is_text(row, "type_v", result->type_v)) {
            return row;
        }
    }
    return NULL;
}

static void print_verdict(FILE *file, const struct cli_sample *before, const struct cli_sample *now)
{
    double noise;
    const enum cli_verdict verdict = cli_noise_judge(before, now, &noise);
    const double percent = before->mean > 0 ? 100 / before->mean : 0;
    const double difference = fabs(now->mean - before->mean) * percent;
    const size_t n_run = before->n < now->n ? before->n : now->n;
    switch (verdict) {
    case CLI_VERDICT_SAME:
        fprintf(file, "the same as %.2f ± %.2f: a difference of %.1f %%, noise up to %.1f %%\n",
                before->mean, before->stddev, difference, noise * percent);
        break;
    case CLI_VERDICT_UNKNOWN:
        fprintf(file, "%.1f %% %s than %.2f, but %s too few to know the noise: -r %d\n", difference,
                now->mean > before->mean ? "more" : "less", before->mean,
                n_run < 2 ? "one run is" : "two runs are", CLI_NOISE_RUNS);
        break;
    default:
        fprintf(file, "%.1f %% %s than %.2f ± %.2f, noise up to %.1f %%\n", difference,
                verdict == CLI_VERDICT_MORE ? "faster" : "slower", before->mean, before->stddev,
                noise * percent);
    }
}

void cli_baseline_print(FILE *file, const char *path, const cJSON *rows,
                        const struct cli_bench_result *result)
{
    char label[64];
    const cJSON *row = find_row(rows, result);
    const struct cli_bench_figures figures = cli_bench_figures(result);
    const struct cli_sample now = {figures.avg_ts, figures.stddev_ts, result->n_run};
    cli_bench_label(result, label, sizeof(label));
    fprintf(file, "%s %s: %.2f ± %.2f t/s, ", result->model->description, label, now.mean,
            now.stddev);
    if (!row) {
        fprintf(file, "not in %s\n", path);
        return;
    }
    const cJSON *samples = cli_json_get(row, "samples_ts");
    const struct cli_sample before = {number_of(row, "avg_ts"), number_of(row, "stddev_ts"),
                                      (size_t)cJSON_GetArraySize(samples)};
    print_verdict(file, &before, &now);
}
