#include "cli/tools/cli_tokenize.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_start.h"

#include <stdlib.h>

struct settings {
    const char *model, *prompt, *file;
    bool is_json, has_no_bos, has_no_special;
};

static const struct cli_flag flags[] = {
    CLI_FLAG_HEADING("Flags"),
    CLI_FLAG_TEXT(settings, model, "-m, --model", "FILE",
                  "a GGUF file, which may hold a vocabulary alone (required)"),
    CLI_FLAG_TEXT(settings, prompt, "-p, --prompt", "TEXT", "this text in place of standard input"),
    CLI_FLAG_TEXT(settings, file, "-f, --file", "FILE", "this file in place of standard input"),
    CLI_FLAG_SWITCH(settings, is_json, "--json", "a JSON array instead of numbers between spaces"),
    CLI_FLAG_SWITCH(settings, has_no_bos, "--no-bos",
                    "without the tokens that the model wants around a text"),
    CLI_FLAG_SWITCH(settings, has_no_special, "--no-parse-special",
                    "text that spells a special token stays text"),
    CLI_FLAG_IGNORED("--ids", "ids are all there is"),
    CLI_FLAG_IGNORED("--stdin", "standard input is what is read anyway"),
    CLI_FLAG_IGNORED("--log-disable", "nothing is logged"),
};

const struct cli_command cli_tokenize_command = {
    .name = "tokenize",
    .usage = "-m MODEL [flags] < TEXT",
    .summary = "Prints the token ids of the bytes on standard input in one line.",
    .word = "a text is given with -p",
    .flags = flags,
    .n_flag = sizeof(flags) / sizeof(flags[0]),
};

static int print_ids(const int32_t *ids, size_t n, bool is_json)
{
    if (is_json) {
        return cli_json_print(cli_json_ids(ids, n));
    }
    for (size_t i = 0; i < n; i++) {
        printf("%s%d", i ? " " : "", (int)ids[i]);
    }
    putchar('\n');
    return cli_close_output(CLI_EXIT_DONE);
}

// The ids of a text, owned by the caller; NULL with the reason printed.
static int32_t *encode(const struct settings *settings, const struct glinfer_tokenizer *tokenizer,
                       const struct cli_bytes *text, size_t *n)
{
    struct glinfer_error err;
    const unsigned flag_bits = (settings->has_no_bos ? GLINFER_TOKENIZE_NO_BOS : 0u) |
                               (settings->has_no_special ? GLINFER_TOKENIZE_NO_SPECIAL : 0u);
    int32_t *ids = NULL;
    size_t cap = 0;
    while (glinfer_tokenize(tokenizer, text->data, text->size, flag_bits, ids, cap, n, &err)) {
        if (ids) {
            return ids;
        }
        cap = *n + 1;
        ids = calloc(cap, sizeof(*ids));
        if (!ids) {
            cli_fail(0, "no memory for %zu tokens", *n);
            return NULL;
        }
    }
    cli_fail_error(&err);
    free(ids);
    return NULL;
}

static int encode_text(const struct settings *settings, const struct cli_bytes *text)
{
    struct glinfer_error err;
    size_t n = 0;
    struct glinfer_tokenizer *tokenizer = glinfer_tokenizer_load(settings->model, &err);
    if (!tokenizer) {
        return cli_fail_error(&err);
    }
    int32_t *ids = encode(settings, tokenizer, text, &n);
    const int status = ids ? print_ids(ids, n, settings->is_json) : CLI_EXIT_FAILED;
    free(ids);
    glinfer_tokenizer_destroy(&tokenizer);
    return status;
}

static bool read_text(const struct settings *settings, struct cli_bytes *text)
{
    *text = (struct cli_bytes){0};
    if (!settings->prompt) {
        return cli_read_all(settings->file, text);
    }
    return cli_bytes_append(text, settings->prompt, strlen(settings->prompt));
}

static int tokenize(const struct settings *settings)
{
    struct cli_bytes text;
    if (!settings->model) {
        return cli_fail(CLI_EXIT_USAGE, "tokenize needs a model: -m FILE.gguf");
    }
    if (settings->prompt && settings->file) {
        return cli_fail(CLI_EXIT_USAGE, "-p and -f exclude each other");
    }
    if (!read_text(settings, &text)) {
        return cli_is_interrupted() ? CLI_EXIT_INTERRUPTED : CLI_EXIT_FAILED;
    }
    int status = encode_text(settings, &text);
    cli_bytes_finish(&text);
    return status;
}

int cli_tokenize(int argc, const char *const *argv)
{
    struct settings settings = {0};
    int status;
    if (!cli_start(&cli_tokenize_command, &settings, argc, argv, &status)) {
        return status;
    }
    return tokenize(&settings);
}
