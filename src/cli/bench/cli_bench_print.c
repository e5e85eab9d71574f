#include "cli/bench/cli_bench_print.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#ifndef CLI_BUILD_COMMIT // built outside of a repository
#define CLI_BUILD_COMMIT glinfer_version()
#define CLI_BUILD_NUMBER 0
#endif

const char *const cli_bench_formats[] = {"none", "csv", "json", "jsonl", "md", "sql", NULL};

//-- fields of csv, json, jsonl, sql ---------------------------------------------------------------

// llama-bench's fields. What glinfer does not let one set has the value that describes what
// happens; the rest is replaced by fill_llama.
static const char llama_fields[] =
    "{'build_commit':'','build_number':0,'cpu_info':'','gpu_info':'','backends':'GLES',"
    "'model_filename':'','model_type':'','model_size':0,'model_n_params':0,'n_batch':2048,"
    "'n_ubatch':0,'n_threads':1,'cpu_mask':'0x0','cpu_strict':false,'poll':0,'type_k':'',"
    "'type_v':'','n_gpu_layers':99,'n_cpu_moe':0,'split_mode':'none','main_gpu':0,"
    "'no_kv_offload':false,'flash_attn':1,'devices':'','tensor_split':'0.00',"
    "'tensor_buft_overrides':'none','load_mode':'mmap','lazy_mode':'none','embeddings':false,"
    "'no_op_offload':0,'no_host':false,'repack':true,'fit_target':0,'fit_min_ctx':0,'n_prompt':0,"
    "'n_gen':0,'n_depth':0,'test_time':'','avg_ns':0,'stddev_ns':0,'avg_ts':0,'stddev_ts':0}";

static void set_text(cJSON *row, const char *name, const char *text)
{
    cli_json_set(row, name, cJSON_CreateString(text));
}

__attribute__((format(printf, 3, 4))) static void set_number(cJSON *row, const char *name,
                                                             const char *format, ...)
{
    char number[40];
    va_list args;
    va_start(args, format);
    vsnprintf(number, sizeof(number), format, args);
    va_end(args);
    cli_json_set(row, name, cJSON_CreateRaw(number));
}

// Sets a figure that is unknown if it is 0.
static void set_figure(cJSON *row, const char *name, int n_digit, double value)
{
    if (value > 0) {
        set_number(row, name, "%.*f", n_digit, value);
    } else {
        cli_json_set(row, name, cJSON_CreateNull());
    }
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

static void fill_llama(cJSON *row, const struct cli_bench_result *result)
{
    const struct cli_bench_figures figures = cli_bench_figures(result);
    char cpu[128];
    read_cpu_name(cpu, sizeof(cpu));
    set_text(row, "build_commit", CLI_BUILD_COMMIT);
    set_number(row, "build_number", "%d", CLI_BUILD_NUMBER);
    set_text(row, "cpu_info", cpu);
    set_text(row, "gpu_info", result->device->renderer);
    set_text(row, "model_filename", result->model_path);
    set_text(row, "model_type", result->model->description);
    set_number(row, "model_size", "%" PRIu64, result->model->weight_size);
    set_number(row, "model_n_params", "%" PRIu64, result->model->n_params);
    set_number(row, "n_ubatch", "%u", result->n_ubatch);
    set_text(row, "type_k", result->type_k);
    set_text(row, "type_v", result->type_v);
    set_text(row, "devices", result->device->device);
    set_number(row, "n_prompt", "%u", result->n_prompt);
    set_number(row, "n_gen", "%u", result->n_gen);
    set_number(row, "n_depth", "%u", result->n_depth);
    set_text(row, "test_time", result->test_time);
    set_number(row, "avg_ns", "%.0f", figures.avg_ns);
    set_number(row, "stddev_ns", "%.0f", figures.stddev_ns);
    set_number(row, "avg_ts", "%f", figures.avg_ts);
    set_number(row, "stddev_ts", "%f", figures.stddev_ts);
}

// Adds arrays; csv and sql leave them out.
static void add_samples(cJSON *row, const struct cli_bench_result *result)
{
    cJSON *ns = cJSON_AddArrayToObject(row, "samples_ns");
    cJSON *ts = cJSON_AddArrayToObject(row, "samples_ts");
    char number[40];
    for (size_t i = 0; i < result->n_run; i++) {
        snprintf(number, sizeof(number), "%" PRIu64, result->ns[i]);
        cJSON_AddItemToArray(ns, cJSON_CreateRaw(number));
        snprintf(number, sizeof(number), "%f", cli_bench_rate(result, i));
        cJSON_AddItemToArray(ts, cJSON_CreateRaw(number));
    }
}

static void add_own(cJSON *row, const struct cli_bench_result *result)
{
    const struct cli_bench_figures figures = cli_bench_figures(result);
    set_number(row, "weight_bytes_per_token", "%" PRIu64, result->weight_bytes);
    set_figure(row, "gb_per_s", 3, figures.weight_rate);
    set_figure(row, "memory_gb_per_s", 3, result->memory_rate);
    set_figure(row, "memory_share", 4, figures.memory_share);
    set_number(row, "ttft_ms", "%.3f", result->ttft_ms);
    set_number(row, "peak_memory_bytes", "%" PRIu64, result->peak_memory);
    set_text(row, "device", result->device->device);
    set_number(row, "temperature", "%g", (double)result->temperature);
    set_number(row, "n_parallel", "%u", result->n_parallel);
    set_text(row, "dispatch", result->n_gen > 0 ? glinfer_dispatch_name(result->dispatch) : "");
}

//-- rows of csv, json, jsonl, sql -----------------------------------------------------------------

// Prints text between quotes that are doubled inside: csv ("), sql (').
static void print_quoted(FILE *file, const char *text, char quote)
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
static void print_list(FILE *file, const cJSON *row, const char *between, char quote)
{
    const cJSON *field;
    const char *separator = "";
    cJSON_ArrayForEach(field, row)
    {
        if (cJSON_IsArray(field)) {
            continue;
        }
        char *number = field->valuestring ? NULL : cJSON_PrintUnformatted(field);
        const char *value = number ? number : field->valuestring;
        fputs(separator, file);
        if (quote && cJSON_IsNull(field)) { // csv leaves it empty
            fputs(quote == '"' ? "" : "NULL", file);
        } else if (quote) {
            print_quoted(file, value, quote);
        } else {
            fputs(field->string, file);
        }
        separator = between;
        cJSON_free(number);
    }
}

static void print_sql(FILE *file, const cJSON *row, bool is_first)
{
    const cJSON *field;
    const char *separator = "CREATE TABLE IF NOT EXISTS llama_bench (\n";
    cJSON_ArrayForEach(field, row)
    {
        const bool is_real = field->valuestring && strchr(field->valuestring, '.');
        if (is_first && !cJSON_IsArray(field)) {
            fprintf(file, "%s  %s %s", separator, field->string,
                    cJSON_IsString(field)            ? "TEXT"
                    : is_real || cJSON_IsNull(field) ? "REAL"
                                                     : "INTEGER");
            separator = ",\n";
        }
    }
    fputs(is_first ? "\n);\n\nINSERT INTO llama_bench (" : "INSERT INTO llama_bench (", file);
    print_list(file, row, ", ", 0);
    fputs(") VALUES (", file);
    print_list(file, row, ", ", '\'');
    fputs(");\n", file);
}

static void print_json(FILE *file, const cJSON *row, const char *between)
{
    const cJSON *field;
    cJSON_ArrayForEach(field, row)
    {
        char *value = cJSON_PrintUnformatted(field);
        fprintf(file, "%s%s\"%s\": %s", field == row->child ? "" : ",",
                field == row->child ? "" : between, field->string, value ? value : "null");
        cJSON_free(value);
    }
}

static void print_fields(const struct cli_bench_printer *printer,
                         const struct cli_bench_result *result)
{
    FILE *file = printer->file;
    char text[sizeof(llama_fields)];
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = llama_fields[i] == '\'' ? '"' : llama_fields[i];
    }
    cJSON *row = cJSON_Parse(text);
    fill_llama(row, result);
    add_samples(row, result);
    add_own(row, result);
    if (printer->format == CLI_BENCH_JSON) {
        fputs(printer->n_row ? ",\n  {\n    " : "  {\n    ", file);
        print_json(file, row, "\n    ");
        fputs("\n  }", file);
    } else if (printer->format == CLI_BENCH_JSONL) {
        fputc('{', file);
        print_json(file, row, " ");
        fputs("}\n", file);
    } else if (printer->format == CLI_BENCH_CSV) {
        if (printer->n_row == 0) {
            print_list(file, row, ",", 0);
            fputc('\n', file);
        }
        print_list(file, row, ",", '"');
        fputc('\n', file);
    } else {
        print_sql(file, row, printer->n_row == 0);
    }
    cJSON_Delete(row);
}

//-- md --------------------------------------------------------------------------------------------

enum line { NAMES, RULE, VALUES };

static void print_padded(FILE *file, const char *text, int width, bool is_left)
{
    int pad = width;
    for (const char *c = text; *c; c++) {
        pad -= !cli_utf8_continues(*c);
    }
    fprintf(file, " %*s%s%*s |", is_left || pad < 0 ? 0 : pad, "", text,
            is_left && pad > 0 ? pad : 0, "");
}

// Prints a column's part of a line; of a column that is aligned to the left width is negative.
__attribute__((format(printf, 5, 6))) static void
print_cell(FILE *file, enum line line, const char *name, int width, const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const bool is_left = width < 0;
    width = is_left ? -width : width;
    if (line == RULE) {
        memset(text, '-', (size_t)width);
        fprintf(file, " %.*s%s |", width - !is_left, text, is_left ? "" : ":");
    } else {
        print_padded(file, line == NAMES ? name : text, width, is_left);
    }
}

static void print_llama_cells(const struct cli_bench_printer *printer, enum line line,
                              const struct cli_bench_result *result)
{
    FILE *file = printer->file;
    const double mib = (double)result->model->weight_size / (1 << 20);
    const double n_params = (double)result->model->n_params;
    const bool has_gib = mib >= 1024, has_billions = n_params >= 1e9;
    const struct cli_bench_figures figures = cli_bench_figures(result);
    char label[64];
    cli_bench_label(result, label, sizeof(label));
    print_cell(file, line, "model", printer->is_wide ? -30 : -24, "%s", result->model->description);
    print_cell(file, line, "size", 10, "%.2f %s", has_gib ? mib / 1024 : mib,
               has_gib ? "GiB" : "MiB");
    if (printer->is_wide) {
        print_cell(file, line, "params", 10, "%.2f %s", n_params / (has_billions ? 1e9 : 1e6),
                   has_billions ? "B" : "M");
        print_cell(file, line, "backend", -10, "GLES");
        print_cell(file, line, "ngl", 3, "99");
    }
    if (printer->has_ubatch) {
        print_cell(file, line, "n_ubatch", 8, "%u", result->n_ubatch);
    }
    if (printer->has_type_k) {
        print_cell(file, line, "type_k", 6, "%s", result->type_k);
    }
    if (printer->has_type_v) {
        print_cell(file, line, "type_v", 6, "%s", result->type_v);
    }
    print_cell(file, line, "test", 15, "%s", label);
    print_cell(file, line, "t/s", printer->is_wide ? 20 : 16, "%.2f ± %.2f", figures.avg_ts,
               figures.stddev_ts);
    if (printer->has_ms) {
        print_cell(file, line, "ms", 16, "%.1f ± %.1f", figures.avg_ns / 1e6,
                   figures.stddev_ns / 1e6);
    }
}

// Prints a figure and its unit; blank if it is 0.
static void print_figure(FILE *file, enum line line, const char *name, int width, int n_digit,
                         double value, const char *unit)
{
    if (value > 0) {
        print_cell(file, line, name, width, "%.*f%s", n_digit, value, unit);
    } else {
        print_cell(file, line, name, width, " ");
    }
}

static void print_own_cells(const struct cli_bench_printer *printer, enum line line,
                            const struct cli_bench_result *result)
{
    FILE *file = printer->file;
    const struct cli_bench_figures figures = cli_bench_figures(result);
    const double rate = figures.weight_rate, mib = 1 << 20;
    if (printer->is_wide) {
        const double weight_mib = rate > 0 ? (double)result->weight_bytes / mib : 0;
        print_figure(file, line, "MiB/token", 9, 1, weight_mib, "");
    }
    print_figure(file, line, "GB/s", 8, 2, rate, "");
    print_figure(file, line, "of max", 6, 0, 100 * figures.memory_share, " %");
    if (!printer->is_wide) {
        return;
    }
    print_cell(file, line, "TTFT ms", 9, "%.1f", result->ttft_ms);
    print_cell(file, line, "peak MiB", 8, "%.1f", (double)result->peak_memory / mib);
    print_cell(file, line, "dispatch", -10, "%s",
               result->n_gen > 0 ? glinfer_dispatch_name(result->dispatch) : " ");
    print_cell(file, line, "device", -24, "%s", result->device->renderer);
}

static void print_md(struct cli_bench_printer *printer, const struct cli_bench_result *result)
{
    for (enum line line = printer->n_row == 0 ? NAMES : VALUES; line <= VALUES; line++) {
        fputc('|', printer->file);
        print_llama_cells(printer, line, result);
        print_own_cells(printer, line, result);
        fputc('\n', printer->file);
    }
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
        fprintf(printer->file, "\nbuild: %s (%d)\n", CLI_BUILD_COMMIT, CLI_BUILD_NUMBER);
        if (printer->memory_rate > 0) {
            fprintf(printer->file, "max: %.2f GB/s, measured\n", printer->memory_rate);
        }
    }
}
