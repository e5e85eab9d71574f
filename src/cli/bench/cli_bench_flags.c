#include "cli/bench/cli_bench_flags.h"

#include "cli/cli_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBER (INT64_C(1) << 24)

struct range {
    int64_t first, last, step;
    bool is_factor;
};

static bool read_number(const char **text, int64_t *number)
{
    char *end;
    if (**text < '0' || **text > '9') {
        return false;
    }
    *number = strtoll(*text, &end, 10);
    *text = end;
    return *number <= MAX_NUMBER;
}

// Reads "first", "first-last", "first-last+step" or "first-last*factor".
static bool read_range(const char **text, struct range *range)
{
    if (!read_number(text, &range->first)) {
        return false;
    }
    range->last = range->first;
    range->step = 1;
    range->is_factor = false;
    if (**text != '-') {
        return true;
    }
    ++*text;
    if (!read_number(text, &range->last) || range->last < range->first) {
        return false;
    }
    if (**text != '+' && **text != '*') {
        return true;
    }
    range->is_factor = *(*text)++ == '*';
    if (!read_number(text, &range->step) || range->step < 1) {
        return false;
    }
    return !range->is_factor || (range->step > 1 && range->first > 0);
}

static bool append_range(struct cli_list *list, const struct range *range)
{
    int64_t item = range->first;
    while (item <= range->last) {
        if (list->count == CLI_MAX_LIST) {
            return false;
        }
        list->items[list->count++] = item;
        item = range->is_factor ? item * range->step : item + range->step;
    }
    return true;
}

bool cli_list_parse(const char *text, void *field, char *why, size_t size)
{
    struct range range;
    do {
        if (!read_range(&text, &range) || (*text && *text != ',')) {
            snprintf(why, size,
                     "numbers up to 16777216 such as 512, 128,256 or ranges 1-8, 1-9+2, 64-512*2");
            return false;
        }
        if (!append_range(field, &range)) {
            snprintf(why, size, "at most %d numbers", CLI_MAX_LIST);
            return false;
        }
    } while (*text++ == ',');
    return true;
}

bool cli_pairs_parse(const char *text, void *field, char *why, size_t size)
{
    struct cli_pairs *pairs = field;
    struct cli_pair pair;
    if (!read_number(&text, &pair.prompt) || *text++ != ',' || !read_number(&text, &pair.gen) ||
        *text || pair.prompt == 0 || pair.gen == 0) {
        snprintf(why, size, "prompt and answer tokens, such as 512,128");
        return false;
    }
    if (pairs->count == CLI_MAX_LIST) {
        snprintf(why, size, "at most %d pairs", CLI_MAX_LIST);
        return false;
    }
    pairs->items[pairs->count++] = pair;
    return true;
}

// Reads "f16", "f32", "q8_0" or a list of them.
static bool parse_types(const char *text, void *field, char *why, size_t size)
{
    struct cli_list *list = field;
    while (*text) {
        const size_t length = strcspn(text, ",");
        int64_t type = -1;
        for (int i = 0; cli_cache_types[i]; i++) {
            if (strlen(cli_cache_types[i]) == length &&
                memcmp(cli_cache_types[i], text, length) == 0) {
                type = i;
            }
        }
        if (type < 0 || list->count == CLI_MAX_LIST) {
            snprintf(why, size, "f16, f32, q8_0 or q4_0");
            return false;
        }
        list->items[list->count++] = type;
        text += length + (text[length] == ',');
    }
    return true;
}

static struct cli_bench_settings defaults = {
    .n_run = 5,
    .output = CLI_BENCH_MD,
    .sampling = CLI_SAMPLING_AT(0),
};

#define CLI_SETTINGS cli_bench_settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_TEXTS(
        models, "-m, --model", "FILE",
        "a GGUF file, a folder of SafeTensors, or the name of a model (required); may be given "
        "many times"),
    CLI_HUB_FLAGS,
    CLI_DEVICE_FLAGS,
    CLI_QUANTIZE_FLAG(session.quantize),
    CLI_LORA_FLAGS,
    CLI_HEADING("Tests; numbers may be lists (128,256) and ranges (1-8, 1-9+2, 64-512*2)"),
    CLI_CUSTOM(n_prompt, cli_list_parse, "-p, --n-prompt", "N",
               "process a prompt of N tokens, or for a speech model N positions of 20 ms of sound, "
               "each of which counts as a token in t/s; default 512; 0: skip this test"),
    CLI_CUSTOM(n_gen, cli_list_parse, "-n, --n-gen", "N",
               "generate N tokens, default 128; 0: skip this test"),
    CLI_CUSTOM(pairs, cli_pairs_parse, "-pg", "P,N", "process P tokens, then generate N"),
    CLI_CUSTOM(n_depth, cli_list_parse, "-d, --n-depth", "N",
               "tokens already in the cache, default 0"),
    CLI_INT(n_run, 1, CLI_BENCH_MAX_RUNS, "-r, --repetitions", "N",
            "runs of each test, default %v"),
    CLI_CUSTOM(n_parallel, cli_list_parse, "-np, --parallel", "N",
               "sequences that generate at once in tests of -n, 1 (default) to 16; tokens a second "
               "are those of all"),
    CLI_INT(delay, 0, 86400, "--delay", "SECONDS", "wait before each test, so that a board cools"),
    CLI_SWITCH(has_no_warmup, "--no-warmup",
               "measure the first run too: it compiles and wakes the GPU"),
    CLI_HEADING("Ways of running"),
    CLI_CUSTOM(n_ubatch, cli_list_parse, "-ub, --ubatch-size", "N",
               "prompt tokens processed together; without it the most, which `glinfer info` tells"),
    CLI_CUSTOM(types_k, parse_types, "-ctk, --cache-type-k", "TYPE",
               "keys in the cache: f16 (default), f32, q8_0, q4_0"),
    CLI_CUSTOM(types_v, parse_types, "-ctv, --cache-type-v", "TYPE",
               "values in the cache: f16 (default), f32, q8_0, q4_0"),
    CLI_CHOICE(session.precision, cli_precisions, "--precision", "TYPE", CLI_PRECISION_HELP),
    CLI_INT(session.chain, 0, 256, "--chain", "N",
            "decode steps between two waits for the GPU, 1 to 256, fewer at first; 0 (default): by "
            "time"),
    CLI_INT(session.max_batch_ms, 0, 60000, "--max-batch-ms", "MS",
            "target GPU time of one submission, default 100"),
    CLI_FLOAT(sampling.temperature, 0, 1000, "--temp, --temperature", "T",
              "sample at this temperature; 0 (default): always the likeliest token"),
    CLI_FILTER_FLAGS,
    CLI_HEADING("Output"),
    CLI_CHOICE(output, cli_bench_formats, "-o, --output", "FORMAT",
               "csv, json, jsonl, md (default), sql or none on standard output"),
    CLI_CHOICE(output_err, cli_bench_formats, "-oe, --output-err", "FORMAT",
               "the same on stderr, default %v"),
    CLI_TEXT(
        compare, "--compare", "FILE",
        "an earlier output of -o json: tell for each test whether it is faster now, beyond the "
        "noise"),
    CLI_TEXT(svg, "--svg", "FILE",
             "a plot of tokens a second over the prompt lengths of -p, at least two"),
    CLI_SWITCH(has_progress, "--progress", "print on stderr which test runs"),
    // llama-bench's values of flags that have none elsewhere.
    CLI_IGNORED_VALUE("-nkvo, --no-kv-offload", "the cache is on the device"),
    CLI_IGNORED_VALUE("-mmp, --mmap, -dio, --direct-io",
                      "the file is mapped, copied to the device and unmapped"),
    CLI_IGNORED_VALUE("-embd, --embeddings", "tests compute logits"),
    CLI_IGNORED_VALUE("-nopo, --no-op-offload, --no-host", "every operation runs on the device"),
    CLI_IGNORED_VALUE("-rpc, --rpc", "there is one device"),
};

const struct cli_command cli_bench_command = {
    .name = "bench",
    .usage = "-m MODEL [flags]",
    .summary = "Measures tokens a second, with llama-bench's flags and tables.",
    .text =
        "The columns after tokens a second are the bandwidth at which decoding reads weights, in\n"
        "GB/s, and its share of the device's maximum. -v prints llama-bench's columns, then the\n"
        "weights read per token, the time to the first token, the largest resident size of the\n"
        "process so far, and the device. Tokenizing and printing are not measured; choosing the\n"
        "token, which runs on the device, is.\n\n"
        "    glinfer bench -m model.gguf\n"
        "    glinfer bench -m model.gguf -n 128 -p 512,4096 -pg 4096,128 -r 2 -o json",
    .common = "-m, -hf, -dev, -v, -p, -n, -pg, -d, -r, -np, -ctk, -ctv, -o, --compare, --svg",
    .needs_model = true,
    CLI_SESSION_COMMAND(flags, defaults, cli_bench),
};

static void set_default(struct cli_list *list, int64_t value)
{
    if (list->count == 0) {
        list->items[list->count++] = value;
    }
}

void cli_bench_fill(struct cli_bench_settings *settings)
{
    set_default(&settings->n_prompt, 512);
    set_default(&settings->n_gen, 128);
    set_default(&settings->n_depth, 0);
    set_default(&settings->n_parallel, 1);
    set_default(&settings->n_ubatch, 0);
    set_default(&settings->types_k, GLINFER_CACHE_F16);
    set_default(&settings->types_v, GLINFER_CACHE_F16);
}
