#include "cli/bench/cli_sweep.h"

#include "cli/common/cli_svg.h"

#include <math.h>
#include <string.h>

enum { MAX_SERIES = 16 };

struct sweep {
    struct cli_chart chart;
    const struct cli_sweep_point *points;
    size_t n;
    const char *series[MAX_SERIES]; // names, in the order of their first points
    size_t n_series;
};

static void find_series(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->n; i++) {
        size_t s = 0;
        while (s < sweep->n_series && strcmp(sweep->series[s], sweep->points[i].series) != 0) {
            s++;
        }
        if (s == sweep->n_series && s < MAX_SERIES) {
            sweep->series[sweep->n_series++] = sweep->points[i].series;
        }
    }
}

// Fits the axes: rates begin at zero, so that heights compare; lengths mostly double.
static void fit_axes(struct sweep *sweep)
{
    struct cli_axis *x = &sweep->chart.x, *y = &sweep->chart.y;
    *x = (struct cli_axis){"prompt tokens", 1e9, 1, false};
    *y = (struct cli_axis){"tokens/s", 0, 0, false};
    for (size_t i = 0; i < sweep->n; i++) {
        const struct cli_sweep_point *point = &sweep->points[i];
        x->low = fmin(x->low, point->n_prompt);
        x->high = fmax(x->high, point->n_prompt);
        y->high = fmax(y->high, point->rate + point->stddev);
    }
    x->low = fmax(fmin(x->low, x->high), 1);
    x->is_log = x->high >= 8 * x->low;
    if (!x->is_log) {
        x->low = 0;
    }
    cli_axis_fit(x);
    cli_axis_fit(y);
}

// Prints the line of a series; returns its last point, or NULL.
static const struct cli_sweep_point *print_line(const struct sweep *sweep, size_t series)
{
    const struct cli_chart *chart = &sweep->chart;
    const struct cli_sweep_point *last = NULL;
    fprintf(chart->file, "<path d=\"");
    for (size_t i = 0; i < sweep->n; i++) {
        const struct cli_sweep_point *point = &sweep->points[i];
        if (strcmp(point->series, sweep->series[series]) == 0) {
            fprintf(chart->file, "%c%.1f %.1f ", last ? 'L' : 'M',
                    cli_chart_x(chart, point->n_prompt), cli_chart_y(chart, point->rate));
            last = point;
        }
    }
    fprintf(chart->file, "\" stroke=\"%s\" stroke-width=\"2.5\" stroke-linejoin=\"round\"/>\n",
            cli_chart_colour(series));
    return last;
}

static void print_point(const struct sweep *sweep, size_t series,
                        const struct cli_sweep_point *point)
{
    const struct cli_chart *chart = &sweep->chart;
    const char *colour = cli_chart_colour(series);
    const double x = cli_chart_x(chart, point->n_prompt), y = cli_chart_y(chart, point->rate);
    // The ends of the spread; y grows downwards.
    const double low = cli_chart_y(chart, fmax(point->rate - point->stddev, 0));
    const double high = cli_chart_y(chart, point->rate + point->stddev);
    fprintf(chart->file,
            "<path d=\"M%.1f %.1f V%.1f M%.1f %.1f h10 M%.1f %.1f h10\" stroke=\"%s\" "
            "stroke-opacity=\"0.6\"/>\n"
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\" stroke=\"#fff\" "
            "stroke-width=\"1.5\"/>\n",
            x, low, high, x - 5, low, x - 5, high, colour, x, y, colour);
    const double above = fmin(y - 8, high), below = fmax(y + 8, low);
    cli_chart_text(chart, x, series % 2 ? below + 14 : above - 5,
                   "text-anchor=\"middle\" font-size=\"11\" fill=\"#444\" stroke=\"#fff\" "
                   "stroke-width=\"3\" paint-order=\"stroke\"",
                   "%.*f", point->rate < 100, point->rate);
}

static void print_series(const struct sweep *sweep, size_t series)
{
    char attributes[64];
    const struct cli_sweep_point *last = print_line(sweep, series);
    for (size_t i = 0; i < sweep->n; i++) {
        if (strcmp(sweep->points[i].series, sweep->series[series]) == 0) {
            print_point(sweep, series, &sweep->points[i]);
        }
    }
    snprintf(attributes, sizeof(attributes), "font-size=\"13\" fill=\"%s\"",
             cli_chart_colour(series));
    if (last) {
        cli_chart_text(&sweep->chart, CLI_CHART_RIGHT + 16,
                       CLI_CHART_TOP + 12 + 24.0 * (double)series, attributes, "%s",
                       sweep->series[series]);
    }
}

void cli_sweep_print(FILE *file, const char *device, const struct cli_sweep_point *points, size_t n)
{
    struct sweep sweep = {.points = points, .n = n};
    find_series(&sweep);
    fit_axes(&sweep);
    sweep.chart.file = file;
    sweep.chart.title = "Prompt processing by length";
    sweep.chart.subtitle = device;
    cli_chart_begin(&sweep.chart);
    for (size_t i = 0; i < sweep.n_series; i++) {
        print_series(&sweep, i);
    }
    cli_chart_end(&sweep.chart);
}
