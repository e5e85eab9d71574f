// `glinfer tokenize`: the token ids of a text.
#include "cli/cli_commands.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_session.h"

#include <stdlib.h>

struct settings {
    struct cli_session_flags session; // the model alone
    const char *prompt, *file;
    bool is_json, has_no_bos, has_no_special;
};

static struct settings defaults;

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Flags"),
    CLI_TEXT(session.model, "-m, --model", "FILE",
             "a GGUF file, which may hold a vocabulary alone, a folder of SafeTensors, or the name "
             "of a model (required)"),
    CLI_HUB_FLAGS,
    CLI_TEXT(prompt, "-p, --prompt", "TEXT", "this text in place of standard input"),
    CLI_TEXT(file, "-f, --file", "FILE", "this file in place of standard input"),
    CLI_SWITCH(is_json, "--json", "a JSON array instead of numbers between spaces"),
    CLI_SWITCH(has_no_bos, "--no-bos", "omit the tokens that the model adds around a text"),
    CLI_SWITCH(has_no_special, "--no-parse-special",
               "read the names of special tokens as plain text"),
    CLI_IGNORED("--ids", "only ids are printed"),
    CLI_IGNORED("--stdin", "standard input is the default"),
    CLI_IGNORED("--log-disable", "nothing is logged"),
};

static const struct cli_rule rules[] = {
    CLI_EXCLUDES("-p", "-f"),
    {NULL, NULL, false},
};

static bool print_ids(const struct cli_ids *ids, bool is_json)
{
    if (is_json) {
        return cli_json_print(cli_json_ids(ids->items, ids->count));
    }
    for (size_t i = 0; i < ids->count; i++) {
        printf("%s%d", i ? " " : "", (int)ids->items[i]);
    }
    putchar('\n');
    return cli_close_output();
}

static bool print_text(const struct settings *settings, const struct cli_bytes *text)
{
    struct glinfer_error err;
    struct cli_ids ids = {0};
    const unsigned flag_bits = (settings->has_no_bos ? GLINFER_TOKENIZE_NO_BOS : 0u) |
                               (settings->has_no_special ? GLINFER_TOKENIZE_NO_SPECIAL : 0u);
    const char *path = models_path(settings->session.model, &settings->session.hub);
    struct glinfer_tokenizer *tokenizer = path ? glinfer_tokenizer_load(path, &err) : NULL;
    if (!path) {
        return false;
    }
    if (!tokenizer) {
        return cli_fail_error(&err);
    }
    const bool is_done =
        cli_tokenize(tokenizer, text, flag_bits, &ids) && print_ids(&ids, settings->is_json);
    free(ids.items);
    glinfer_tokenizer_destroy(&tokenizer);
    return is_done;
}

static bool run_command(void *user)
{
    const struct settings *settings = user;
    struct cli_bytes text = {0};
    if (settings->prompt) {
        cli_bytes_add(&text, settings->prompt);
    } else if (!cli_read_all(settings->file, &text)) {
        return false;
    }
    const bool is_done = print_text(settings, &text);
    cli_bytes_finish(&text);
    return is_done;
}

const struct cli_command cli_tokenize_command = {
    .name = "tokenize",
    .usage = "-m MODEL [flags] < TEXT",
    .summary = "Prints the token ids of the bytes on standard input in one line.",
    .word = "a text is given with -p",
    .rules = rules,
    .needs_model = true,
    CLI_COMMAND(flags, defaults, run_command),
};
