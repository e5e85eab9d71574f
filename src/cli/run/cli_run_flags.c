#include "cli/run/cli_run_flags.h"

#include "cli/run/cli_run.h"

static const struct cli_flag flags[] = {
    CLI_FLAG_HEADING("Model and device"),
    CLI_MODEL_FLAGS(cli_run_settings),
    CLI_CONTEXT_FLAG(cli_run_settings,
                     "tokens that prompt and answer may have together; 0 (default): the smaller of "
                     "the model's and 4096"),
    CLI_FLAG_HEADING("Prompt (standard input when neither -p nor -f is given)"),
    CLI_FLAG_TEXT(cli_run_settings, prompt, "-p, --prompt", "TEXT", "the prompt"),
    CLI_FLAG_TEXT(cli_run_settings, file, "-f, --file", "FILE",
                  "a file with the prompt; the end of its last line is not part of it"),
    CLI_FLAG_SWITCH(cli_run_settings, has_escapes, "-e, --escape",
                    "read \\n, \\t, \\r, \\\\, \\\", \\' and \\xHH in -p, -f, -sys and -r as the "
                    "characters they stand for"),
    CLI_FLAG_TEXT(cli_run_settings, system, "-sys, --system-prompt", "TEXT",
                  "a system message for the chat template"),
    CLI_TEMPLATE_FLAG(cli_run_settings),
    CLI_FLAG_SWITCH(cli_run_settings, is_raw, "--raw, -no-cnv, --no-conversation",
                    "continue the prompt as it stands: no chat template"),
    CLI_FLAG_HEADING("Answer"),
    CLI_FLAG_INT(cli_run_settings, n_predict, -2, 1 << 24, "-n, --predict, --n-predict", "N",
                 "tokens at most; -1 (default): to the end of the context"),
    CLI_FLAG_TEXTS(cli_run_settings, stop, "-r, --reverse-prompt, --stop", "TEXT",
                   "end the answer before this text; may be given many times"),
    CLI_FLAG_SWITCH(cli_run_settings, ignores_eos, "--ignore-eos",
                    "go on past end-of-text tokens, to -n"),
    CLI_SAMPLING_FLAGS(cli_run_settings),
    CLI_FLAG_HEADING("Output"),
    CLI_FLAG_SWITCH(cli_run_settings, is_json, "--json",
                    "one JSON object on standard output in place of the text: device, "
                    "prompt_tokens, tokens, text, stop (eos, limit, word), probs, timings"),
    CLI_FLAG_INT(cli_run_settings, n_probs, 0, 64, "--n-probs", "K",
                 "with --json: the K likeliest tokens of every step with their log-probabilities "
                 "over the whole vocabulary before any filter, at most 64"),
    CLI_FLAG_SWITCH(cli_run_settings, is_timed, "--perf, --show-timings",
                    "timings on stderr at the end even where that is no terminal"),
    CLI_FLAG_SWITCH(cli_run_settings, is_untimed, "--no-perf, --no-show-timings", "no timings"),
    CLI_FLAG_HEADING("Speed"),
    CLI_SPEED_FLAGS(cli_run_settings),
    CLI_IGNORED_FLAGS,
    CLI_FLAG_IGNORED_VALUE("--keep", "a full context ends the answer"),
    CLI_FLAG_IGNORED("--no-context-shift", "a full context ends the answer"),
    CLI_FLAG_IGNORED("--no-escape", "escapes are read with -e only"),
    CLI_FLAG_IGNORED("-st, --single-turn", "there is one turn"),
    CLI_FLAG_IGNORED("-cnv, --conversation", "there is one turn; `glinfer chat` has more"),
};

const struct cli_command cli_run_command = {
    .name = "run",
    .usage = "-m MODEL [-p TEXT | -f FILE] [flags]",
    .summary = "Answers one prompt, printing the text as it comes.",
    .word = "the prompt is given with -p",
    .text =
        "The model's chat template is used if it has one (--raw: plain completion). Notes, the\n"
        "progress bar (on a terminal) and timings (on a terminal, or with --perf) go to stderr.\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C.\n\n"
        "    glinfer run -m model.gguf -p \"Why is the sky blue?\"\n"
        "    git diff | glinfer run -m model.gguf -sys \"Summarise the change.\" --temp 0\n"
        "    glinfer run -m model.gguf --raw -p \"Once upon a time\" -n 64 --json --n-probs 5",
    .flags = flags,
    .n_flag = sizeof(flags) / sizeof(flags[0]),
};

void cli_run_defaults(struct cli_run_settings *settings)
{
    *settings = (struct cli_run_settings){
        .n_predict = -1,
        .sampling = CLI_SAMPLING_DEFAULTS,
    };
}
