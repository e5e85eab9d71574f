// `glinfer convert`: a folder of SafeTensors becomes a GGUF file.
#include "cli/cli_commands.h"
#include "cli/common/cli_session.h"

#include <string.h>
#include <sys/stat.h>

struct settings {
    struct cli_texts words;
    int quantize; // of cli_quantize_types
};

static struct settings defaults;

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Flags"),
    CLI_QUANTIZE_FLAG(quantize),
};

// Describes a folder or a file; a description of zeros if that fails.
static struct glinfer_model_info inspect(const char *path)
{
    struct glinfer_error err;
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    struct glinfer_model_params params;
    glinfer_model_params_init(&params);
    params.path = path;
    if (!glinfer_model_inspect(&params, &info, &err)) {
        memset(&info, 0, sizeof(info));
    }
    return info;
}

// Says what was written, and how it differs from the folder.
static void report(const char *folder, const char *path)
{
    char size[24];
    const struct glinfer_model_info info = inspect(path);
    cli_say("wrote %s: %s, %s", path, info.description, cli_format_size(size, info.file_size));
    if (strstr(inspect(folder).types, "q8_m")) {
        cli_note("weights that MLX quantised to six or eight bits have a type that GGUF files "
                 "lack, and were rounded to another: the file has %s",
                 info.types);
    }
    if (strcmp(info.tokenizer, "gpt2/steps") == 0) {
        cli_note("llama.cpp does not know how this tokenizer cuts words, and cuts them otherwise; "
                 "glinfer reads that from the file");
    }
}

// Gives a file of the library, which only its owner may read, the mode of other new files.
static void share(const char *path)
{
    const mode_t mask = umask(0);
    umask(mask);
    (void)chmod(path, 0666 & ~mask);
}

static bool convert(const struct settings *settings, const char *folder, const char *path)
{
    struct glinfer_error err;
    struct glinfer_model_params params;
    struct cli_bar bar;
    cli_bar_init(&bar);
    glinfer_model_params_init(&params);
    params.path = folder;
    params.quantize = cli_quantize_types[settings->quantize];
    params.progress = cli_progress;
    params.progress_user = &bar;
    const bool is_done = glinfer_model_convert(&params, path, &err);
    if (!cli_bar_end(&bar, is_done, &err)) {
        return false;
    }
    share(path);
    report(folder, path);
    return true;
}

static bool run_command(void *user)
{
    const struct settings *settings = user;
    struct stat status;
    if (settings->words.count != 2) {
        return cli_fail(CLI_EXIT_USAGE, "convert needs a folder and the path of a new GGUF file");
    }
    const char *folder = settings->words.items[0], *path = settings->words.items[1];
    if (lstat(path, &status) == 0) {
        return cli_fail(CLI_EXIT_FAILED,
                        "cannot write %s: it exists; remove it or name another file", path);
    }
    return convert(settings, folder, path);
}

const struct cli_command cli_convert_command = {
    .name = "convert",
    .usage = "FOLDER OUT.gguf [flags]",
    .summary = "Converts a folder of SafeTensors to a GGUF file.",
    .text =
        "FOLDER has config.json, tokenizer.json and SafeTensors, as Hugging Face has them. The\n"
        "file appears once it is complete.",
    .takes_words = true,
    .words = offsetof(struct settings, words),
    CLI_COMMAND(flags, defaults, run_command),
};
