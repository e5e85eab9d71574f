#include "cli/profile/cli_roofline.h"

#include "cli/common/cli_svg.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_MARKS = 24, LABEL_HEIGHT = 34 };

struct mark {
    const struct cli_profile_kernel *kernel;
    double intensity, rate; // flops a byte, Gflop/s
    double share;           // of its stage's time
    double x, y, label_y;   // pixels
    size_t stage, colour;
};

struct picture {
    const struct cli_profile_data *data;
    struct cli_chart chart;
    struct mark marks[MAX_MARKS];
    size_t n_mark;
    double memory, peak;
    double left_out[2]; // share of a stage's time that has no mark
};

static void add_stage(struct picture *picture, size_t index)
{
    const struct cli_profile_stage *stage = &picture->data->stages[index];
    for (size_t i = 0; i < stage->kernels.count; i++) {
        const struct cli_profile_kernel *kernel = &stage->kernels.items[i];
        const double share =
            stage->stats.kernel_ns > 0 ? kernel->figures.ns / stage->stats.kernel_ns : 0;
        const double flops = (double)kernel->figures.flops, ns = kernel->figures.ns;
        // A kernel that reads next to nothing would only stretch the picture.
        if (kernel->figures.bytes == 0 || ns <= 0 || share < 0.002 ||
            flops / ns <= picture->peak / 2000 || picture->n_mark == MAX_MARKS) {
            picture->left_out[index] += share;
            continue;
        }
        picture->marks[picture->n_mark] = (struct mark){
            .kernel = kernel,
            .intensity = flops / (double)kernel->figures.bytes,
            .rate = flops / ns,
            .share = share,
            .stage = index,
            .colour = picture->n_mark,
        };
        picture->n_mark++;
    }
}

static void fit_axes(struct picture *picture)
{
    const double ridge = picture->peak / picture->memory;
    struct cli_axis *x = &picture->chart.x, *y = &picture->chart.y;
    *x = (struct cli_axis){"operations a byte read (flop/B)", ridge / 4, ridge * 4, true};
    *y = (struct cli_axis){"Gflop/s", picture->peak / 4, picture->peak * 1.6, true};
    for (size_t i = 0; i < picture->n_mark; i++) {
        const struct mark *mark = &picture->marks[i];
        x->low = fmin(x->low, mark->intensity / 2.5);
        x->high = fmax(x->high, mark->intensity * 2.5);
        y->low = fmin(y->low, mark->rate / 2);
    }
    y->low = fmin(y->low, fmin(picture->memory * x->low, picture->peak)); // the roof's left end
    cli_axis_fit(x);
    cli_axis_fit(y);
}

//-- roofs -----------------------------------------------------------------------------------------

static void print_roof(const struct picture *picture)
{
    const struct cli_chart *chart = &picture->chart;
    const double ridge = picture->peak / picture->memory;
    const double low_rate = fmax(picture->memory * chart->x.low, chart->y.low);
    const double low = low_rate / picture->memory;
    const double x0 = cli_chart_x(chart, low), y0 = cli_chart_y(chart, low_rate);
    const double x1 = cli_chart_x(chart, ridge), y1 = cli_chart_y(chart, picture->peak);
    fprintf(chart->file,
            "<path d=\"M%.1f %.1f L%.1f %.1f H%d V%d H%.1f Z\" fill=\"#0072b2\" "
            "fill-opacity=\"0.05\"/>\n"
            "<path d=\"M%.1f %.1f L%.1f %.1f H%d\" stroke=\"#222\" stroke-width=\"2.5\" "
            "stroke-linejoin=\"round\"/>\n",
            x0, y0, x1, y1, CLI_CHART_RIGHT, CLI_CHART_BOTTOM, x0, x0, y0, x1, y1, CLI_CHART_RIGHT);
    const double angle = atan2(y1 - y0, x1 - x0) * 180 / acos(-1.0);
    const double mx = x0 + (x1 - x0) * 0.5, my = y0 + (y1 - y0) * 0.5;
    char attributes[160];
    snprintf(attributes, sizeof(attributes),
             "text-anchor=\"middle\" font-size=\"13\" fill=\"#222\" "
             "transform=\"rotate(%.1f %.1f %.1f) translate(0 -9)\"",
             angle, mx, my);
    cli_chart_text(chart, mx, my, attributes, "memory %.4g GB/s", picture->memory);
    cli_chart_text(chart, CLI_CHART_RIGHT - 8, y1 - 9,
                   "text-anchor=\"end\" font-size=\"13\" fill=\"#222\"", "arithmetic %.4g Gflop/s",
                   picture->peak);
}

//-- marks -----------------------------------------------------------------------------------------

static int compare_marks(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    return (x->y > y->y) - (x->y < y->y);
}

// Spreads the labels over the margin in the order of the marks, each as near to its mark as the
// others let it.
static void place_labels(struct picture *picture)
{
    const double top = CLI_CHART_TOP + 12, bottom = CLI_CHART_BOTTOM;
    const double height = fmin(LABEL_HEIGHT, (bottom - top) / (double)(picture->n_mark + 1));
    for (size_t i = 0; i < picture->n_mark; i++) {
        struct mark *mark = &picture->marks[i];
        mark->x = cli_chart_x(&picture->chart, mark->intensity);
        mark->y = cli_chart_y(&picture->chart, mark->rate);
    }
    qsort(picture->marks, picture->n_mark, sizeof(picture->marks[0]), compare_marks);
    double next = top;
    for (size_t i = 0; i < picture->n_mark; i++) {
        struct mark *mark = &picture->marks[i];
        mark->label_y = fmax(mark->y, next);
        next = mark->label_y + height;
    }
    double limit = bottom;
    for (size_t i = picture->n_mark; i-- > 0;) {
        struct mark *mark = &picture->marks[i];
        mark->label_y = fmin(mark->label_y, limit);
        limit = mark->label_y - height;
    }
}

// Sorts by share, largest first; of two equal shares the higher one first.
static int compare_shares(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    return x->share == y->share ? compare_marks(a, b) : x->share < y->share ? 1 : -1;
}

static void print_label(const struct picture *picture, const struct mark *mark)
{
    const struct cli_chart *chart = &picture->chart;
    const char *colour = cli_chart_colour(mark->colour);
    const double label_x = CLI_CHART_RIGHT + 28;
    char attributes[64];
    fprintf(chart->file,
            "<path d=\"M%.1f %.1f L%d %.1f L%.1f %.1f\" stroke=\"%s\" stroke-opacity=\"0.45\"/>\n",
            mark->x, mark->y, CLI_CHART_RIGHT + 4, mark->label_y - 4, label_x - 6,
            mark->label_y - 4, colour);
    snprintf(attributes, sizeof(attributes), "font-size=\"13\" fill=\"%s\"", colour);
    cli_chart_text(chart, label_x, mark->label_y, attributes, "%s%s", mark->kernel->label,
                   picture->data->stages[mark->stage].n_prompt > 0 ? " (prompt)" : "");
    cli_chart_text(chart, label_x, mark->label_y + 14, "font-size=\"11\" fill=\"#666\"",
                   "%.0f %% of the time, %.0f %% of the roof", 100 * mark->share,
                   100 * cli_profile_roof_share(picture->data, &mark->kernel->figures));
}

static void print_note(const struct picture *picture)
{
    const struct cli_profile_data *data = picture->data;
    char text[256];
    int used = snprintf(text, sizeof(text),
                        "Area: share of the time. Not shown: kernels that read almost nothing (");
    for (size_t i = 0; i < data->n_stage && used > 0 && (size_t)used < sizeof(text); i++) {
        const char *end = i + 1 == data->n_stage ? ")." : ", ";
        used += snprintf(text + used, sizeof(text) - (size_t)used, "%.0f %% of the %s%s",
                         100 * picture->left_out[i], data->stages[i].name, end);
    }
    cli_chart_text(&picture->chart, CLI_CHART_LEFT, CLI_CHART_HEIGHT - 8,
                   "font-size=\"11\" fill=\"#666\"", "%s", text);
}

void cli_roofline_print(FILE *file, const struct cli_profile_data *data)
{
    char title[320];
    struct picture picture = {.data = data};
    picture.memory = fmax(cli_profile_memory_rate(data), 1e-3);
    picture.peak = fmax(data->rates.gflop_per_s, 1e-3);
    for (size_t i = 0; i < data->n_stage; i++) {
        add_stage(&picture, i);
    }
    fit_axes(&picture);
    snprintf(title, sizeof(title), "%s: %s%s%s", data->model,
             data->n_stage > 0 ? data->stages[0].name : "", data->n_stage > 1 ? ", " : "",
             data->n_stage > 1 ? data->stages[1].name : "");
    picture.chart.file = file;
    picture.chart.title = title;
    picture.chart.subtitle = data->device;
    cli_chart_begin(&picture.chart);
    print_roof(&picture);
    place_labels(&picture);
    for (size_t i = 0; i < picture.n_mark; i++) {
        print_label(&picture, &picture.marks[i]);
    }
    qsort(picture.marks, picture.n_mark, sizeof(picture.marks[0]), compare_shares);
    for (size_t i = 0; i < picture.n_mark; i++) {
        const struct mark *mark = &picture.marks[i];
        fprintf(file,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" fill-opacity=\"0.85\" "
                "stroke=\"#fff\" stroke-width=\"1.5\"/>\n",
                mark->x, mark->y, 4 + 16 * sqrt(mark->share), cli_chart_colour(mark->colour));
    }
    print_note(&picture);
    cli_chart_end(&picture.chart);
}
