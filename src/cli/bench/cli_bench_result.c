#include "cli/bench/cli_bench_result.h"

#include <math.h>
#include <stdio.h>

double cli_bench_rate(const struct cli_bench_result *result, size_t i)
{
    return result->ns[i] ? (result->n_prompt + result->n_gen) * 1e9 / (double)result->ns[i] : 0;
}

struct cli_bench_figures cli_bench_figures(const struct cli_bench_result *result)
{
    struct cli_bench_figures f = {0};
    const double n = result->n_run ? (double)result->n_run : 1;
    double squares_ns = 0, squares_ts = 0;
    for (size_t i = 0; i < result->n_run; i++) {
        f.avg_ns += (double)result->ns[i] / n;
        f.avg_ts += cli_bench_rate(result, i) / n;
    }
    for (size_t i = 0; i < result->n_run; i++) {
        squares_ns += pow((double)result->ns[i] - f.avg_ns, 2);
        squares_ts += pow(cli_bench_rate(result, i) - f.avg_ts, 2);
    }
    if (result->n_run > 1) {
        f.stddev_ns = sqrt(squares_ns / (n - 1));
        f.stddev_ts = sqrt(squares_ts / (n - 1));
    }
    if (result->n_prompt == 0) {
        f.weight_rate = (double)result->weight_bytes * f.avg_ts / fmax(result->n_parallel, 1) / 1e9;
        f.memory_share = result->memory_rate > 0 ? f.weight_rate / result->memory_rate : 0;
    }
    return f;
}

void cli_bench_label(const struct cli_bench_result *result, char *text, size_t size)
{
    char prompt[24] = "", gen[24] = "", temperature[24] = "", depth[24] = "", parallel[16] = "";
    if (result->n_prompt > 0 && result->model->is_speech) {
        snprintf(prompt, sizeof(prompt), "enc%gs", result->n_prompt / 50.0);
    } else if (result->n_prompt > 0) {
        snprintf(prompt, sizeof(prompt), "pp%u", result->n_prompt);
    }
    if (result->n_gen > 0) {
        snprintf(gen, sizeof(gen), "%stg%u", prompt[0] ? "+" : "", result->n_gen);
    }
    if (result->n_parallel > 1) {
        snprintf(parallel, sizeof(parallel), " x%u", result->n_parallel);
    }
    if (result->n_gen > 0 && result->temperature > 0) {
        snprintf(temperature, sizeof(temperature), " t%g", (double)result->temperature);
    }
    if (result->n_depth > 0) {
        snprintf(depth, sizeof(depth), " @ d%u", result->n_depth);
    }
    snprintf(text, size, "%s%s%s%s%s", prompt, gen, parallel, temperature, depth);
}
