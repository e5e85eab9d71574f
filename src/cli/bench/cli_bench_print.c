#include "cli/bench/cli_bench_print.h"

#include "cli/common/cli_json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

const char *const cli_bench_formats[] = {"none", "csv", "json", "jsonl", "md", "sql", NULL};

//-- fields of csv, json, jsonl, sql ---------------------------------------------------------------

#define MAX_FIELDS 64

struct field {
    const char *name;
    const char *text; // of a string, NULL: number holds the value
    char number[40];
    bool is_unknown; // null in JSON, 0 elsewhere
};

struct fields {
    struct field items[MAX_FIELDS];
    size_t count;
};

static void add_text(struct fields *fields, const char *name, const char *text)
{
    if (fields->count < MAX_FIELDS) {
        fields->items[fields->count++] = (struct field){.name = name, .text = text};
    }
}

__attribute__((format(printf, 3, 4))) static void
add_number(struct fields *fields, const char *name, const char *format, ...)
{
    if (fields->count < MAX_FIELDS) {
        struct field *field = &fields->items[fields->count++];
        va_list args;
        *field = (struct field){.name = name};
        va_start(args, format);
        vsnprintf(field->number, sizeof(field->number), format, args);
        va_end(args);
    }
}

// Adds a figure that is unknown if it is 0.
static void add_figure(struct fields *fields, const char *name, int n_digit, double value)
{
    add_number(fields, name, "%.*f", n_digit, value);
    fields->items[fields->count - 1].is_unknown = !(value > 0);
}

static void add_origin(struct fields *fields, const struct cli_bench_result *result,
                       const char *cpu)
{
    add_text(fields, "build_commit", glinfer_version());
    add_number(fields, "build_number", "0");
    add_text(fields, "cpu_info", cpu);
    add_text(fields, "gpu_info", result->device->renderer);
    add_text(fields, "backends", "GLES");
    add_text(fields, "model_filename", result->model_path);
    add_text(fields, "model_type", result->model->description);
    add_number(fields, "model_size", "%" PRIu64, result->model->weight_size);
    add_number(fields, "model_n_params", "%" PRIu64, result->model->n_params);
}

// Adds settings; those of llama-bench that glinfer does not have get the value that describes what happens.
static void add_settings(struct fields *fields, const struct cli_bench_result *result)
{
    add_number(fields, "n_batch", "2048");
    add_number(fields, "n_ubatch", "%u", result->n_ubatch);
    add_number(fields, "n_threads", "1");
    add_text(fields, "cpu_mask", "0x0");
    add_number(fields, "cpu_strict", "false");
    add_number(fields, "poll", "0");
    add_text(fields, "type_k", result->type_k);
    add_text(fields, "type_v", result->type_v);
    add_number(fields, "n_gpu_layers", "99");
    add_number(fields, "n_cpu_moe", "0");
    add_text(fields, "split_mode", "none");
    add_number(fields, "main_gpu", "0");
    add_number(fields, "no_kv_offload", "false");
    add_number(fields, "flash_attn", "1");
    add_text(fields, "devices", result->device->device);
    add_text(fields, "tensor_split", "0.00");
    add_text(fields, "tensor_buft_overrides", "none");
    add_text(fields, "load_mode", "mmap");
    add_text(fields, "lazy_mode", "none");
    add_number(fields, "embeddings", "false");
    add_number(fields, "no_op_offload", "0");
    add_number(fields, "no_host", "false");
    add_number(fields, "repack", "true");
    add_number(fields, "fit_target", "0");
    add_number(fields, "fit_min_ctx", "0");
}

static void add_measurements(struct fields *fields, const struct cli_bench_result *result)
{
    const struct cli_bench_figures figures = cli_bench_figures(result);
    add_number(fields, "n_prompt", "%u", result->n_prompt);
    add_number(fields, "n_gen", "%u", result->n_gen);
    add_number(fields, "n_depth", "%u", result->n_depth);
    add_text(fields, "test_time", result->test_time);
    add_number(fields, "avg_ns", "%.0f", figures.avg_ns);
    add_number(fields, "stddev_ns", "%.0f", figures.stddev_ns);
    add_number(fields, "avg_ts", "%f", figures.avg_ts);
    add_number(fields, "stddev_ts", "%f", figures.stddev_ts);
}

static void add_own(struct fields *fields, const struct cli_bench_result *result)
{
    const struct cli_bench_figures figures = cli_bench_figures(result);
    add_number(fields, "weight_bytes_per_token", "%" PRIu64, result->weight_bytes);
    add_figure(fields, "gb_per_s", 3, figures.weight_rate);
    add_figure(fields, "memory_gb_per_s", 3, result->memory_rate);
    add_figure(fields, "memory_share", 4, figures.memory_share);
    add_number(fields, "ttft_ms", "%.3f", result->ttft_ms);
    add_number(fields, "peak_memory_bytes", "%" PRIu64, result->peak_memory);
    add_text(fields, "device", result->device->device);
    add_number(fields, "temperature", "%g", (double)result->temperature);
    add_text(fields, "dispatch", result->n_gen > 0 ? glinfer_dispatch_name(result->dispatch) : "");
}

// Copies the processor's name.
static void read_cpu_name(char *name, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "CPU");
    while (file && fgets(line, sizeof(line), file)) {
        const char *value = strchr(line, ':');
        if (value && (strncmp(line, "model name", 10) == 0 || strncmp(line, "Model", 5) == 0)) {
            value += 1 + strspn(value + 1, " \t");
            snprintf(name, size, "%.*s", (int)strcspn(value, "\n"), value);
            break;
        }
    }
    if (file) {
        fclose(file);
    }
}

//-- rows of csv, json, jsonl, sql -----------------------------------------------------------------

static const char *value_of(const struct field *field)
{
    return field->text ? field->text : field->number;
}

// Prints text between quotes that are doubled inside: csv ("), sql (').
static void print_doubled(FILE *file, const char *text, char quote)
{
    fputc(quote, file);
    for (; *text; text++) {
        if (*text == quote) {
            fputc(quote, file);
        }
        fputc(*text, file);
    }
    fputc(quote, file);
}

// Prints the values between quotes, or with quote 0 the names.
static void print_list(FILE *file, const struct fields *fields, const char *between, char quote)
{
    for (size_t i = 0; i < fields->count; i++) {
        fputs(i ? between : "", file);
        if (quote) {
            print_doubled(file, value_of(&fields->items[i]), quote);
        } else {
            fputs(fields->items[i].name, file);
        }
    }
}

static void print_csv(FILE *file, const struct fields *fields, bool is_first)
{
    if (is_first) {
        print_list(file, fields, ",", 0);
        fputc('\n', file);
    }
    print_list(file, fields, ",", '"');
    fputc('\n', file);
}

static void print_sql(FILE *file, const struct fields *fields, bool is_first)
{
    if (is_first) {
        fputs("CREATE TABLE IF NOT EXISTS llama_bench (\n", file);
        for (size_t i = 0; i < fields->count; i++) {
            const struct field *field = &fields->items[i];
            const bool is_real = strchr(field->number, '.') != NULL;
            fprintf(file, "  %s %s%s\n", field->name,
                    field->text ? "TEXT"
                    : is_real   ? "REAL"
                                : "INTEGER",
                    i + 1 < fields->count ? "," : "");
        }
        fputs(");\n\n", file);
    }
    fputs("INSERT INTO llama_bench (", file);
    print_list(file, fields, ", ", 0);
    fputs(") VALUES (", file);
    print_list(file, fields, ", ", '\'');
    fputs(");\n", file);
}

static void print_samples(FILE *file, const struct cli_bench_result *result, const char *between)
{
    fprintf(file, ",%s\"samples_ns\": [", between);
    for (size_t i = 0; i < result->n_run; i++) {
        fprintf(file, "%s%" PRIu64, i ? ", " : "", result->ns[i]);
    }
    fprintf(file, "],%s\"samples_ts\": [", between);
    for (size_t i = 0; i < result->n_run; i++) {
        fprintf(file, "%s%f", i ? ", " : "", cli_bench_rate(result, i));
    }
    fputc(']', file);
}

static void print_json(FILE *file, const struct cli_bench_result *result,
                       const struct fields *fields, size_t n_llama, const char *between)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct field *field = &fields->items[i];
        if (i == n_llama) {
            print_samples(file, result, between);
        }
        fprintf(file, "%s%s\"%s\": ", i ? "," : "", i ? between : "", field->name);
        if (field->text) {
            cli_json_write(file, cJSON_CreateString(field->text));
        } else {
            fputs(field->is_unknown ? "null" : field->number, file);
        }
    }
}

//-- md --------------------------------------------------------------------------------------------

#define MAX_COLUMNS 20

struct column {
    const char *name;
    int width;
    bool is_left;
    char text[160];
};

struct columns {
    struct column items[MAX_COLUMNS];
    size_t count;
};

__attribute__((format(printf, 5, 6))) static void add_column(struct columns *columns,
                                                             const char *name, int width,
                                                             bool is_left, const char *format, ...)
{
    struct column *column = &columns->items[columns->count++];
    va_list args;
    *column = (struct column){.name = name, .width = width, .is_left = is_left};
    va_start(args, format);
    vsnprintf(column->text, sizeof(column->text), format, args);
    va_end(args);
}

static void add_llama_columns(struct columns *columns, const struct cli_bench_printer *printer,
                              const struct cli_bench_result *result)
{
    const double mib = (double)result->model->weight_size / (1 << 20);
    const double n_params = (double)result->model->n_params;
    const bool has_gib = mib >= 1024, has_billions = n_params >= 1e9;
    const struct cli_bench_figures figures = cli_bench_figures(result);
    char label[64];
    cli_bench_label(result, label, sizeof(label));
    add_column(columns, "model", 30, true, "%s", result->model->description);
    add_column(columns, "size", 10, false, "%.2f %s", has_gib ? mib / 1024 : mib,
               has_gib ? "GiB" : "MiB");
    add_column(columns, "params", 10, false, "%.2f %s", n_params / (has_billions ? 1e9 : 1e6),
               has_billions ? "B" : "M");
    add_column(columns, "backend", 10, true, "GLES");
    add_column(columns, "ngl", 3, false, "99");
    if (printer->has_ubatch) {
        add_column(columns, "n_ubatch", 8, false, "%u", result->n_ubatch);
    }
    if (printer->has_type_k) {
        add_column(columns, "type_k", 6, false, "%s", result->type_k);
    }
    if (printer->has_type_v) {
        add_column(columns, "type_v", 6, false, "%s", result->type_v);
    }
    add_column(columns, "test", 15, false, "%s", label);
    add_column(columns, "t/s", 20, false, "%.2f ± %.2f", figures.avg_ts, figures.stddev_ts);
}

// Adds a figure; 0: none.
static void add_figure_column(struct columns *columns, const char *name, int width, int n_digit,
                              double value)
{
    if (value > 0) {
        add_column(columns, name, width, false, "%.*f", n_digit, value);
    } else {
        add_column(columns, name, width, false, " ");
    }
}

static void add_own_columns(struct columns *columns, const struct cli_bench_result *result)
{
    const struct cli_bench_figures figures = cli_bench_figures(result);
    const double mib = (double)result->weight_bytes / (1 << 20);
    add_figure_column(columns, "MiB/token", 9, 1, figures.weight_rate > 0 ? mib : 0);
    add_figure_column(columns, "GB/s", 8, 2, figures.weight_rate);
    if (figures.memory_share > 0) {
        add_column(columns, "of max", 6, false, "%.0f %%", 100 * figures.memory_share);
    } else {
        add_column(columns, "of max", 6, false, " ");
    }
    add_column(columns, "TTFT ms", 9, false, "%.1f", result->ttft_ms);
    add_column(columns, "peak MiB", 8, false, "%.1f", (double)result->peak_memory / (1 << 20));
    add_column(columns, "dispatch", 10, true, "%s",
               result->n_gen > 0 ? glinfer_dispatch_name(result->dispatch) : " ");
    add_column(columns, "device", 24, true, "%s", result->device->renderer);
}

// Counts the characters of UTF-8.
static int count_characters(const char *text)
{
    int n = 0;
    for (; *text; text++) {
        n += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return n;
}

static void print_cell(FILE *file, const char *text, int width, bool is_left)
{
    const int pad = width - count_characters(text);
    fprintf(file, " %*s%s%*s |", is_left || pad < 0 ? 0 : pad, "", text,
            is_left && pad > 0 ? pad : 0, "");
}

static void print_md_header(FILE *file, const struct columns *columns)
{
    fputc('|', file);
    for (size_t i = 0; i < columns->count; i++) {
        print_cell(file, columns->items[i].name, columns->items[i].width,
                   columns->items[i].is_left);
    }
    fputs("\n|", file);
    for (size_t i = 0; i < columns->count; i++) {
        fputc(' ', file);
        for (int j = 0; j < columns->items[i].width - !columns->items[i].is_left; j++) {
            fputc('-', file);
        }
        fputs(columns->items[i].is_left ? " |" : ": |", file);
    }
    fputc('\n', file);
}

static void print_md(struct cli_bench_printer *printer, const struct cli_bench_result *result)
{
    struct columns columns = {.count = 0};
    add_llama_columns(&columns, printer, result);
    add_own_columns(&columns, result);
    if (printer->n_row == 0) {
        print_md_header(printer->file, &columns);
    }
    fputc('|', printer->file);
    for (size_t i = 0; i < columns.count; i++) {
        const struct column *column = &columns.items[i];
        print_cell(printer->file, column->text, column->width, column->is_left);
    }
    fputc('\n', printer->file);
    if (result->n_prompt == 0) {
        printer->memory_rate = result->memory_rate;
    }
}

//-- the printer -----------------------------------------------------------------------------------

void cli_bench_begin(struct cli_bench_printer *printer)
{
    if (printer->format == CLI_BENCH_JSON) {
        fputs("[\n", printer->file);
    }
}

static void print_fields(struct cli_bench_printer *printer, const struct cli_bench_result *result)
{
    struct fields fields = {.count = 0};
    char cpu[128];
    FILE *file = printer->file;
    read_cpu_name(cpu, sizeof(cpu));
    add_origin(&fields, result, cpu);
    add_settings(&fields, result);
    add_measurements(&fields, result);
    const size_t n_llama = fields.count;
    add_own(&fields, result);
    if (printer->format == CLI_BENCH_JSON) {
        fputs(printer->n_row ? ",\n  {\n    " : "  {\n    ", file);
        print_json(file, result, &fields, n_llama, "\n    ");
        fputs("\n  }", file);
    } else if (printer->format == CLI_BENCH_JSONL) {
        fputc('{', file);
        print_json(file, result, &fields, n_llama, " ");
        fputs("}\n", file);
    } else if (printer->format == CLI_BENCH_CSV) {
        print_csv(file, &fields, printer->n_row == 0);
    } else {
        print_sql(file, &fields, printer->n_row == 0);
    }
}

void cli_bench_row(struct cli_bench_printer *printer, const struct cli_bench_result *result)
{
    if (printer->format == CLI_BENCH_NONE) {
        return;
    }
    if (printer->format == CLI_BENCH_MD) {
        print_md(printer, result);
    } else {
        print_fields(printer, result);
    }
    printer->n_row++;
    fflush(printer->file);
}

void cli_bench_end(struct cli_bench_printer *printer)
{
    if (printer->format == CLI_BENCH_JSON) {
        fputs(printer->n_row ? "\n]\n" : "]\n", printer->file);
    } else if (printer->format == CLI_BENCH_MD && printer->n_row > 0) {
        fprintf(printer->file, "\nbuild: %s (0)\n", glinfer_version());
        if (printer->memory_rate > 0) {
            fprintf(printer->file, "max: %.2f GB/s, what the device was measured to read or copy\n",
                    printer->memory_rate);
        }
    }
}
