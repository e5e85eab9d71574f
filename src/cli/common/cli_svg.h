// Charts as SVG: a frame with two axes, and marks placed by value. Text is escaped; the file needs
// no font and no script, so any browser or converter shows it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cli_axis {
    const char *title;
    double low, high; // low < high; of a logarithmic axis both are positive
    bool is_log;
};

struct cli_chart {
    FILE *file; // borrowed
    const char *title, *subtitle;
    struct cli_axis x, y;
};

// The plot within the picture, in pixels; what is right of it belongs to the caller.
enum {
    CLI_CHART_WIDTH = 1080,
    CLI_CHART_HEIGHT = 640,
    CLI_CHART_LEFT = 84,
    CLI_CHART_RIGHT = 790,
    CLI_CHART_TOP = 84,
    CLI_CHART_BOTTOM = 566,
};

// Widens [low, high] to ends such as 0.1, 0.2, 0.5, 1; an axis from values that are all the same
// still has a length.
void cli_axis_fit(struct cli_axis *axis);

// Prints background, titles, grid and axes.
void cli_chart_begin(const struct cli_chart *chart);
void cli_chart_end(const struct cli_chart *chart);
// Returns the pixels of a value, not clamped.
double cli_chart_x(const struct cli_chart *chart, double value);
double cli_chart_y(const struct cli_chart *chart, double value);
// Prints a text at (x, y) with further attributes, such as "fill=\"#444\"".
void cli_chart_text(const struct cli_chart *chart, double x, double y, const char *attributes,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));
// Returns a colour that everybody can tell from its neighbours; repeats after 8.
const char *cli_chart_colour(size_t index);
