// `glinfer pull`: fetches models into the cache.
#include "cli/cli_commands.h"
#include "cli/common/cli_io.h"
#include "cli/models/models_pull.h"

struct settings {
    struct cli_texts words;
    struct models_asked asked;
};

static struct settings defaults = {.asked = {.timeout_s = MODELS_TIMEOUT_S}};

static bool parse_sha256(const char *text, void *field, char *why, size_t size)
{
    if (!models_is_sha256(text)) {
        snprintf(why, size, "the 64 hexadecimal digits of a sha256");
        return false;
    }
    *(const char **)field = text;
    return true;
}

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Flags"),
    CLI_CUSTOM(asked.sha256, parse_sha256, "--sha256", "HEX",
               "expected sha256 of the file, default: the known one or Hugging Face's"),
    CLI_INT(asked.timeout_s, 1, 86400, "--timeout", "SECONDS",
            "give up on a server that sends nothing for this long, default %v"),
    CLI_TEXT(asked.token, "-hft, --hf-token", "TOKEN",
             "a token of Hugging Face, default that of HF_TOKEN"),
};

static bool pull(const char *word, const struct models_asked *asked)
{
    char why[512], path[MODELS_MAX_PATH];
    struct models_source source;
    if (!models_source_read(&source, word, why, sizeof(why))) {
        return cli_fail(CLI_EXIT_USAGE, "invalid model %s: %s", word, why);
    }
    if (source.kind == MODELS_PATH) {
        const bool is_repo = models_source_read_hub(&source, word, NULL, why, sizeof(why));
        return cli_fail(CLI_EXIT_USAGE,
                        is_repo ? "%s is a path; is it hf:%s?"
                                : "%s is a path; pull takes a known name, hf:USER/REPO[:QUANT] or "
                                  "a URL%s",
                        word, is_repo ? word : "");
    }
    if (source.kind == MODELS_NAME && !source.known) {
        const char *nearest = models_known_nearest(word);
        if (models_known_beginning(word, why, sizeof(why))) {
            return cli_fail(CLI_EXIT_USAGE, "unknown model %s; the known ones are %s", word, why);
        }
        return cli_fail(CLI_EXIT_USAGE,
                        nearest ? "unknown model %s; is it %s?"
                                : "unknown model %s; `glinfer models --known` lists names, "
                                  "and hf:USER/REPO fetches any GGUF of Hugging Face%s",
                        word, nearest ? nearest : "");
    }
    if (!models_pull(&source, word, asked, path)) {
        return false;
    }
    printf("%s\n", path);
    return true;
}

static bool run_command(void *user)
{
    const struct settings *settings = user;
    bool is_done = true;
    if (settings->words.count == 0) {
        return cli_fail(CLI_EXIT_USAGE, "pull needs a model: a name that `glinfer models --known` "
                                        "lists, hf:USER/REPO[:QUANT] or a URL");
    }
    if (settings->asked.sha256 && settings->words.count > 1) {
        return cli_fail(CLI_EXIT_USAGE, "cannot check several models with one --sha256");
    }
    for (size_t i = 0; i < settings->words.count && is_done; i++) {
        is_done = pull(settings->words.items[i], &settings->asked);
    }
    return cli_close_output() && is_done;
}

const struct cli_command cli_pull_command = {
    .name = "pull",
    .usage = "NAME|URL|hf:USER/REPO[:QUANT] ... [flags]",
    .summary = "Fetches models into the cache, and prints their paths.",
    .text =
        "NAME is one that `glinfer models --known` lists. QUANT is a type of weights, such as\n"
        "Q8_0; without it, pull takes the first of Q4_0, Q4_K_M, Q4_K_S, Q8_0, ... that exists,\n"
        "and of a repository without GGUF files its folder of SafeTensors.\n"
        "A download that was interrupted continues where it stopped.",
    .takes_words = true,
    .words = offsetof(struct settings, words),
    CLI_COMMAND(flags, defaults, run_command),
};
