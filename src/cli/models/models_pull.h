// Finds the file of a model that the user names: a local file is used; a URL or a repository of the
// hub is fetched if it is not local. A path or a name never causes a network request.
#pragma once

#include "cli/common/cli_args.h"
#include "cli/models/models_cache.h"

#define MODELS_TIMEOUT_S 30

struct models_asked {
    const char *token;  // NULL: the variable HF_TOKEN
    const char *sha256; // NULL: the one that is known, or that the hub has
    int64_t timeout_s;  // for which a server may send nothing; 0: MODELS_TIMEOUT_S
    bool is_offline;    // nothing is fetched
};

// Watches a download: url of the file that arrives, done and total bytes (0: unknown); or url NULL,
// between files. Returns false to end the download.
typedef bool (*models_watch_fn)(void *user, const char *url, uint64_t done, uint64_t total);
// Sets the function that watches the downloads of this thread; NULL: none.
void models_watch(models_watch_fn watch, void *user);
// Calls the function of this thread. Returns false if the download has to end, by Ctrl-C too.
bool models_goes_on(const char *url, uint64_t done, uint64_t total);

// Fetches a source that may be fetched and writes its path; what is here already is compared with
// what is known of it, or what the hub says. Returns false with the reason printed.
bool models_pull(struct models_source *source, const char *word, const struct models_asked *asked,
                 char path[MODELS_MAX_PATH]);

// Writes the path of the model of -m: a file's, a known name's, one that was pulled; a URL and a
// repository of the hub are fetched unless they are here. False with a sentence printed that says
// what the word was taken for.
bool models_find(const char *word, const struct models_asked *asked, char path[MODELS_MAX_PATH]);

struct cli_hub_flags {
    const char *repo, *file, *token, *url;
    bool is_offline;
};
// Rows of a flag table for settings with a field `session`, a struct cli_session_flags.
#define CLI_HUB_FLAGS                                                                              \
    CLI_TEXT(session.hub.repo, "-hf, -hfr, --hf-repo", "REPO",                                     \
             "in place of -m: USER/REPO[:QUANT] on Hugging Face, fetched unless it is here"),      \
        CLI_TEXT(session.hub.file, "-hff, --hf-file", "FILE", "this file of -hf"),                 \
        CLI_TEXT(session.hub.token, "-hft, --hf-token", "TOKEN",                                   \
                 "a token of Hugging Face, default that of HF_TOKEN"),                             \
        CLI_TEXT(session.hub.url, "-mu, --model-url", "URL",                                       \
                 "in place of -m: fetched unless it is here"),                                     \
        CLI_SWITCH(session.hub.is_offline, "--offline", "fetch nothing")

// Gives -m what -hf or -mu say in its place, once a command's flags are read. False with the reason
// printed if they contradict each other, or there is no model and one is needed.
bool models_take_flags(const struct cli_command *command, const struct cli_report *report);
// Writes the path of the network that finds speech: that of the word, if there is one, or of
// silero-vad; "" with a note printed if silero-vad was not pulled. False with the reason printed if
// the word's model is not found.
bool models_find_vad(const char *word, const struct models_asked *asked,
                     char path[MODELS_MAX_PATH]);
// Returns the path that models_find finds for -m, which is kept until the process ends; NULL with
// the reason printed.
const char *models_path(const char *word, const struct cli_hub_flags *hub);
