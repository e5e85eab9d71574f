#include "cli/common/cli_svg.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

//-- axes ------------------------------------------------------------------------------------------

// Returns the nearest of 1, 2, 5 times a power of ten that is not above value, or not below it.
static double round_125(double value, bool is_up)
{
    static const double steps[] = {1, 2, 5, 10};
    const double decade = pow(10, floor(log10(value)));
    double best = decade;
    for (size_t i = 0; i < 4; i++) {
        const double step = steps[i] * decade;
        if (!is_up && step <= value * (1 + 1e-9)) {
            best = step;
        } else if (is_up && step >= value * (1 - 1e-9)) {
            return step;
        }
    }
    return best;
}

void cli_axis_fit(struct cli_axis *axis)
{
    if (axis->is_log) {
        axis->low = round_125(axis->low, false);
        axis->high = round_125(axis->high, true);
        axis->high = axis->high > axis->low * 1.5 ? axis->high : axis->low * 10;
    } else {
        axis->high = axis->high > axis->low ? axis->high : axis->low + 1;
        const double step = round_125((axis->high - axis->low) / 8, true);
        axis->low = floor(axis->low / step) * step;
        axis->high = ceil(axis->high / step) * step;
    }
}

static double fraction(const struct cli_axis *axis, double value)
{
    if (axis->is_log) {
        return log(value / axis->low) / log(axis->high / axis->low);
    }
    return (value - axis->low) / (axis->high - axis->low);
}

double cli_chart_x(const struct cli_chart *chart, double value)
{
    return CLI_CHART_LEFT + fraction(&chart->x, value) * (CLI_CHART_RIGHT - CLI_CHART_LEFT);
}

double cli_chart_y(const struct cli_chart *chart, double value)
{
    return CLI_CHART_BOTTOM - fraction(&chart->y, value) * (CLI_CHART_BOTTOM - CLI_CHART_TOP);
}

//-- text ------------------------------------------------------------------------------------------

static void print_escaped(FILE *file, const char *text)
{
    static const char special[] = "&<>\"";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    for (; *text; text++) {
        const char *found = strchr(special, *text);
        if (found) {
            fputs(names[found - special], file);
        } else {
            fputc((unsigned char)*text < 0x20 ? ' ' : *text, file);
        }
    }
}

void cli_chart_text(const struct cli_chart *chart, double x, double y, const char *attributes,
                    const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(chart->file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    print_escaped(chart->file, text);
    fputs("</text>\n", chart->file);
}

const char *cli_chart_colour(size_t index)
{
    static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                          "#e69f00", "#56b4e9", "#7a5195", "#6b6b6b"};
    return colours[index % 8];
}

//-- the frame -------------------------------------------------------------------------------------

static void print_tick(const struct cli_chart *chart, bool is_x, double value, bool has_label)
{
    const double at = is_x ? cli_chart_x(chart, value) : cli_chart_y(chart, value);
    const char *stroke = has_label ? "#d4d8de" : "#eceef1";
    if (is_x) {
        fprintf(chart->file, "<path d=\"M%.1f %d V%d\" stroke=\"%s\"/>\n", at, CLI_CHART_TOP,
                CLI_CHART_BOTTOM, stroke);
    } else {
        fprintf(chart->file, "<path d=\"M%d %.1f H%d\" stroke=\"%s\"/>\n", CLI_CHART_LEFT, at,
                CLI_CHART_RIGHT, stroke);
    }
    if (has_label) {
        cli_chart_text(chart, is_x ? at : CLI_CHART_LEFT - 8, is_x ? CLI_CHART_BOTTOM + 20 : at + 4,
                       is_x ? "text-anchor=\"middle\" fill=\"#555\""
                            : "text-anchor=\"end\" fill=\"#555\"",
                       "%.6g", value);
    }
}

// Prints labels at 1, 2 and 5 of few decades, at 1 of many.
static void print_log_ticks(const struct cli_chart *chart, bool is_x, const struct cli_axis *axis)
{
    const bool is_short = axis->high / axis->low < 2000;
    double decade = pow(10, floor(log10(axis->low) + 1e-9));
    while (decade <= axis->high * 1.001) {
        for (int i = 1; i < 10; i++) {
            const double value = decade * i;
            if (value >= axis->low * 0.999 && value <= axis->high * 1.001) {
                print_tick(chart, is_x, value, i == 1 || (is_short && (i == 2 || i == 5)));
            }
        }
        decade *= 10;
    }
}

static void print_ticks(const struct cli_chart *chart, bool is_x)
{
    const struct cli_axis *axis = is_x ? &chart->x : &chart->y;
    if (axis->is_log) {
        print_log_ticks(chart, is_x, axis);
        return;
    }
    const double step = round_125((axis->high - axis->low) / 8, true);
    const int n = (int)((axis->high - axis->low) / step + 0.5);
    for (int i = 0; i <= n; i++) {
        print_tick(chart, is_x, axis->low + i * step, true);
    }
}

void cli_chart_begin(const struct cli_chart *chart)
{
    fprintf(chart->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" "
            "font-size=\"12\" fill=\"none\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            CLI_CHART_WIDTH, CLI_CHART_HEIGHT, CLI_CHART_WIDTH, CLI_CHART_HEIGHT);
    cli_chart_text(chart, CLI_CHART_LEFT, 36, "font-size=\"20\" font-weight=\"bold\" fill=\"#222\"",
                   "%s", chart->title);
    cli_chart_text(chart, CLI_CHART_LEFT, 60, "font-size=\"13\" fill=\"#666\"", "%s",
                   chart->subtitle);
    print_ticks(chart, true);
    print_ticks(chart, false);
    fprintf(chart->file, "<path d=\"M%d %d V%d H%d\" stroke=\"#555\"/>\n", CLI_CHART_LEFT,
            CLI_CHART_TOP, CLI_CHART_BOTTOM, CLI_CHART_RIGHT);
    cli_chart_text(chart, (CLI_CHART_LEFT + CLI_CHART_RIGHT) / 2.0, CLI_CHART_BOTTOM + 46,
                   "text-anchor=\"middle\" font-size=\"13\" fill=\"#333\"", "%s", chart->x.title);
    // The text is turned about its own place, (24, 325).
    cli_chart_text(chart, 24, (CLI_CHART_TOP + CLI_CHART_BOTTOM) / 2.0,
                   "text-anchor=\"middle\" font-size=\"13\" fill=\"#333\" "
                   "transform=\"rotate(-90 24 325)\"",
                   "%s", chart->y.title);
}

void cli_chart_end(const struct cli_chart *chart)
{
    fputs("</svg>\n", chart->file);
}
