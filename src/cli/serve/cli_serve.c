// `glinfer serve`: answers over HTTP.
#include "cli/cli_commands.h"
#include "cli/embed/cli_embedding.h"
#include "cli/serve/serve_server.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const reasoning_formats[] = {"auto", "deepseek", "none", NULL};

static struct serve_settings defaults = {
    .sampling = CLI_SAMPLING_DEFAULTS,
    .n_predict = -1,
    .thought_budget = -1,
    .norm = CLI_NORM_LENGTH,
    .host = "127.0.0.1",
    .port = 8080,
    .n_slots = 1,
    .n_queue = 32,
    .n_checkpoints = CLI_MAX_CHECKPOINTS,
    .cache_ram = SERVE_CACHE_AUTO,
    .n_threads = 2,
    .timeout_s = 600,
    .drain_s = 30,
    .ping_s = 30,
    .n_connections = 2048,
    .max_body = 25 << 20, // as OpenAI's limit of a sound file
    .models_max = 4,
    .sleep_s = -1,
};

// Reads [HOST:]PORT; an address of IPv6 stands in brackets.
static bool parse_place(const char *text, void *field, char *why, size_t size)
{
    struct serve_place *place = field;
    const char *colon = strrchr(text, ':'), *host = text, *port = colon ? colon + 1 : text;
    size_t n_host = colon ? (size_t)(colon - text) : 0;
    char *end = NULL;
    const unsigned long number = strtoul(port, &end, 10);
    const bool is_six = n_host > 2 && host[0] == '[' && host[n_host - 1] == ']';
    if (is_six) {
        host++;
        n_host -= 2;
    }
    if (!isdigit((unsigned char)port[0]) || *end || number > UINT16_MAX ||
        n_host >= sizeof(place->host) || (colon && n_host == 0) ||
        (!is_six && memchr(host, ':', n_host))) {
        snprintf(why, size, "a port, or a host, a colon and a port, such as 0.0.0.0:10300");
        return false;
    }
    *place = (struct serve_place){.is_set = true, .port = (uint16_t)number};
    memcpy(place->host, host, n_host);
    return true;
}

#define CLI_SETTINGS serve_settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_ANY_MODEL_FLAGS("a GGUF file, or the name of a model; without -m and --speech-model the "
                        "server has several models"),
    CLI_LORA_FLAGS,
    CLI_SWITCH(session.lora.is_off, "--lora-init-without-apply",
               "load adapters switched off, for /lora-adapters and requests to set their scales"),
    CLI_CONTEXT_FLAG("tokens that each of --parallel conversations may have; 0 (default): the "
                     "smaller of the model's and 4096"),
    CLI_TEMPLATE_FLAG,
    CLI_TEXT(speech_model, "--speech-model", "MODEL",
             "a Whisper model for /v1/audio/transcriptions: a file or the name of a model"),
    CLI_TEXT(vad_model, "--vad-model", "MODEL",
             "a network that finds speech in sound, so that silence is not transcribed: a file or "
             "a name; default silero-vad if it was pulled"),
    CLI_SWITCH(no_vad, "--no-vad", "transcribe silence and noise, too"),
    CLI_HEADING("Several models, without -m"),
    CLI_TEXT(models_dir, "--models-dir", "FOLDER",
             "serve the models of this folder, too, besides those that were pulled"),
    CLI_TEXT(models_preset, "--models-preset", "FILE",
             "flags of models, and more models: [NAME], and a line `flag = value` for each; [*] is "
             "for all models"),
    CLI_INT(models_max, 0, 1024, "--models-max", "N",
            "models that are loaded at a time, default %v; 0: unlimited"),
    CLI_SWITCH(no_autoload, "--no-models-autoload", "load models for /models/load alone"),
    CLI_IGNORED("--models-autoload", "a request loads its model"),
    CLI_HEADING("Server"),
    CLI_INT(sleep_s, -1, 1 << 24, "--sleep-idle-seconds", "N",
            "give the memory of the GPU back after N seconds without a request; the next one loads "
            "the model again; -1 (default): never"),
    CLI_TEXT(host, "--host", "HOST",
             "the address to listen on, or several with commas, default %v; 0.0.0.0: all of IPv4; "
             "a path that ends with .sock means --unix"),
    CLI_INT(port, 0, 65535, "--port", "N", "default %v; 0: choose a free port"),
    CLI_TEXT(socket_path, "--unix", "PATH", "listen on this socket instead of --host and --port"),
    CLI_CUSTOM(
        wyoming, parse_place, "--wyoming", "[HOST:]PORT",
        "transcribe for Home Assistant and satellites, too, which speak the Wyoming protocol "
        "and usually expect port 10300; needs --speech-model; HOST: by default that of --host"),
    CLI_TEXT(keys, "--api-key", "KEYS",
             "answer only clients with one of these keys, separated by commas; other users of the "
             "machine can see them in the list of processes"),
    CLI_TEXT(key_file, "--api-key-file", "FILE", "read the keys from a file, one a line"),
    CLI_TEXTS(origins, "--cors, --cors-origins", "ORIGIN",
              "allow pages of this origin to use the server from a browser, such as "
              "https://chat.example; *: all; localhost: of this machine; repeatable"),
    CLI_TEXT(alias, "-a, --alias", "NAME",
             "names of the model, with commas; by default that of its file"),
    CLI_TEXT(tags, "--tags", "TAGS", "words that /v1/models has for the model, with commas"),
    CLI_INT(
        n_slots, 1, 16, "-np, --parallel", "N",
        "answers at a time, each with a cache of its own, default %v; more are faster together, "
        "and each is slower"),
    CLI_INT(cache_ram, -1, 1 << 24, "-cram, --cache-ram", "MIB",
            "memory for conversations that left their slot, so that their prompts are not read "
            "again; 0: none; -1: no limit; without this flag an eighth of the available memory, at "
            "most 8192 and the rest of --mem-budget"),
    CLI_INT(n_checkpoints, 0, 32, "-ctxcp, --ctx-checkpoints, --swa-checkpoints", "N",
            "states that a slot of a model with recurrent layers keeps within its conversation, "
            "to go back to, default %v"),
    CLI_INT(n_queue, 0, 10000, "--queue", "N",
            "answers that may wait for their turn, default %v; beyond that the status is 503"),
    CLI_INT(n_threads, 1, 64, "--threads-http", "N", "threads for connections, default %v"),
    CLI_INT(timeout_s, 1, 86400, "-to, --timeout", "SECONDS",
            "for a request to arrive, and for a client to read its answer, default %v"),
    CLI_SIZE(max_body, "--max-body", "SIZE", "of a request, default %v"),
    CLI_INT(n_connections, 16, 65536, "--max-connections", "N", "at once, default %v"),
    CLI_INT(ping_s, -1, 86400, "--sse-ping-interval", "SECONDS",
            "between comments in a stream that is silent, so that proxies keep it, default %v; "
            "-1: none"),
    CLI_INT(drain_s, 0, 86400, "--drain", "SECONDS", "time for answers after SIGTERM, default %v"),
    CLI_SWITCH(has_metrics, "--metrics", "enable /metrics, for Prometheus"),
    CLI_SWITCH(is_pageless, "--no-ui, --no-webui", "disable the page at /"),
    CLI_SWITCH(has_slots, "--slots", "enable /slots (default)"),
    CLI_SWITCH(is_slotless, "--no-slots", "disable /slots"),
    CLI_TEXT(slot_folder, "--slot-save-path", "FOLDER",
             "enable /slots/ID?action=save, restore and erase, with files of this folder"),
    CLI_HEADING("Defaults of requests"),
    CLI_INT(n_predict, -1, 1 << 24, "-n, --predict, --n-predict", "N",
            "maximum number of tokens; -1 (default): to the end of the context"),
    CLI_SWITCH(shifts, "--context-shift",
               "once the context is full drop the older half of its tokens and go on, without the "
               "first n_keep of a request"),
    CLI_IGNORED("--no-context-shift", "an answer ends when the context is full"),
    CLI_SAMPLING_FLAGS,
    CLI_CHOICE(reasoning_format, reasoning_formats, "--reasoning-format", "FORMAT",
               "a chat's thoughts: auto (default) or deepseek have them in reasoning_content, none "
               "leaves them in the content"),
    CLI_INT(thought_budget, -1, 1 << 24, "--reasoning-budget", "N",
            "maximum number of tokens of a chat's thought, which then ends; 0: no thought; -1 "
            "(default): no limit"),
    CLI_TEXT(thought_message, "--reasoning-budget-message", "TEXT",
             "the last words of a thought that --reasoning-budget ends"),
    CLI_CHOICE(pooling, cli_poolings, "--pooling", "TYPE",
               "of embeddings: default, as the file says, none, mean, cls, last or rank"),
    CLI_INT(norm, -1, 64, "--embd-normalize", "N",
            "of embeddings: 2 (default) is a length of 1, -1 leaves them as they are computed"),
    CLI_HEADING("Speed"),
    CLI_SPEED_FLAGS,
    CLI_IGNORED("-cb, --cont-batching", "answers always join those that are under way"),
    CLI_IGNORED("--cache-prompt", "a slot's tokens are always used again"),
    CLI_IGNORED("--props", "GET /props is always there"),
};

bool serve_settings_check(const struct serve_settings *settings)
{
    if (settings->session.lora.is_merged && settings->session.lora.is_off) {
        return cli_fail(CLI_EXIT_USAGE,
                        "--lora-merge and --lora-init-without-apply exclude each other: the scale "
                        "of a merged adapter cannot be set later");
    }
    if (settings->sampling.speculation.type != CLI_SPEC_NONE && settings->n_slots > 1) {
        return cli_fail(CLI_EXIT_USAGE,
                        "--spec-type needs -np 1: answers that decode together have no drafts");
    }
    return cli_sampling_check(&settings->sampling);
}

// Checks the flags of several models.
static bool check_models(const struct serve_settings *settings)
{
    const bool is_router = settings->models_dir || settings->models_preset;
    if (settings->session.model && is_router) {
        return cli_fail(CLI_EXIT_USAGE,
                        "-m and %s exclude each other: with one model the server "
                        "serves that one alone",
                        settings->models_dir ? "--models-dir" : "--models-preset");
    }
    if (!settings->session.model && settings->alias && (is_router || !settings->speech_model)) {
        return cli_fail(CLI_EXIT_USAGE, "--alias needs -m; a preset may have an alias");
    }
    if (settings->wyoming.is_set && settings->sleep_s >= 0 && !is_router) {
        return cli_fail(CLI_EXIT_USAGE,
                        "--wyoming and --sleep-idle-seconds exclude each other: a satellite waits "
                        "for no model");
    }
    return true;
}

static bool serve_command(void *user)
{
    struct serve_settings *settings = user;
    const size_t n = strlen(settings->host);
    if (!settings->socket_path && n > 5 && strcmp(settings->host + n - 5, ".sock") == 0) {
        settings->socket_path = settings->host;
    }
    settings->has_slots = !settings->is_slotless;
    const struct serve_place *place = &settings->wyoming;
    if (place->is_set && !settings->speech_model) {
        return cli_fail(CLI_EXIT_USAGE, "--wyoming needs --speech-model");
    }
    if (place->port > 0 && place->port == settings->port && !place->host[0] &&
        !settings->socket_path) {
        return cli_fail(CLI_EXIT_USAGE, "--wyoming and --port cannot both listen on port %u",
                        place->port);
    }
    if (settings->slot_folder && access(settings->slot_folder, W_OK | X_OK) != 0) {
        return cli_fail(CLI_EXIT_FAILED, "cannot write to %s: %s", settings->slot_folder,
                        strerror(errno));
    }
    return check_models(settings) && serve_settings_check(settings) && serve_server_run(settings);
}

const struct cli_command cli_serve_command = {
    .name = "serve",
    .usage = "[-m MODEL | --models-dir FOLDER] [--host HOST] [--port N] [flags]",
    .summary = "Answers over HTTP, as OpenAI's API, llama-server and Ollama do.",
    .text =
        "Serves a page at /, /v1/chat/completions, /v1/responses, /v1/completions, /v1/models,\n"
        "/v1/embeddings, /v1/rerank, /api/chat, /completion, /embedding, /tokenize, /health,\n"
        "/props, /slots, /lora-adapters; with --speech-model /v1/audio/transcriptions and\n"
        "/inference, and with --wyoming speech to text for Home Assistant; with --metrics\n"
        "/metrics; `man glinfer-serve` explains them and others. SIGTERM and Ctrl-C wait for\n"
        "answers under way (--drain).\n\n"
        "    glinfer serve -m model.gguf\n"
        "    curl http://127.0.0.1:8080/v1/chat/completions -d \\\n"
        "      '{\"messages\": [{\"role\": \"user\", \"content\": \"Why is the sky blue?\"}]}'",
    .common = "-m, -hf, -c, -dev, -v, --host, --port, --api-key, --cors, -a, -np, -n, --metrics",
    .report = &defaults.report,
    CLI_SESSION_COMMAND(flags, defaults, serve_command),
};
