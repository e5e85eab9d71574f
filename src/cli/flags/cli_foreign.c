// The table of llama.cpp's flags that are not glinfer's, in rows as commands have them. A name that
// a command has too is that command's there.
#include "cli/flags/cli_foreign.h"

#include "cli/cli_commands.h"

#include <string.h>

#define THREADS "the GL driver manages its threads"
#define WEIGHTS "every layer runs on the device"
#define MAPPED  "the file is mapped, copied to the device and unmapped"
#define ROPE    "RoPE is as the model's file says; leave it out"
#define KNOWN   "`glinfer models --known` lists models that `glinfer pull NAME` fetches"
#define TEXT    "models read text alone; leave it out"
#define DRAFT                                                                                      \
    "a second model is not supported; --spec-type ngram-simple drafts from the text itself"
#define SIMPLE "use --spec-type ngram-simple, --spec-ngram-simple-size-n and -size-m"
#define EFFORT "--chat-template-kwargs takes {\"reasoning_effort\": \"low\"}"
#define BUDGET "--reasoning off turns thoughts off; a prompt may ask for short ones"
#define PAGE   "the page keeps its own settings in the browser"
#define PROXY  "a proxy such as nginx in front does that: tools/examples/serve"

#define NOTED(names_, why)       CLI_IGNORED(names_, why)
#define NOTED_VALUE(names_, why) CLI_IGNORED_VALUE(names_, why)
#define MISSING(names_, why)                                                                       \
    {                                                                                              \
        .kind = CLI_KIND_MISSING, .names = (names_), .help = (why)                                 \
    }
#define MISSING_VALUE(names_, why)                                                                 \
    {                                                                                              \
        .kind = CLI_KIND_MISSING, .names = (names_), .value = "X", .help = (why)                   \
    }

static const struct cli_flag flags[] = {
    // A flag of other commands here.
    MISSING("--json", "`glinfer bench -o json` prints it, and `glinfer run --json`"),
    // Flags of the processor, and of where weights lie.
    NOTED_VALUE("-C, --cpu-mask", THREADS),
    NOTED_VALUE("-Cr, --cpu-range", THREADS),
    NOTED_VALUE("--cpu-strict", THREADS),
    NOTED_VALUE("-Cb, --cpu-mask-batch", THREADS),
    NOTED_VALUE("-Crb, --cpu-range-batch", THREADS),
    NOTED_VALUE("--cpu-strict-batch", THREADS),
    NOTED_VALUE("--prio-batch", THREADS),
    NOTED_VALUE("--numa", THREADS),
    NOTED_VALUE("--prio", "--low-priority and --gpu-duty leave the GPU to others"),
    NOTED_VALUE("--poll", "the host sleeps while it waits"),
    NOTED_VALUE("--poll-batch", "the host sleeps while it waits"),
    NOTED_VALUE("-ot, --override-tensor, --override-tensors", WEIGHTS),
    NOTED("-cmoe, --cpu-moe", WEIGHTS),
    NOTED_VALUE("-ncmoe, --n-cpu-moe", WEIGHTS),
    NOTED_VALUE("--moe-cache-mib, --moe-cache", WEIGHTS),
    NOTED_VALUE("-ncffn, --n-cpu-ffn", WEIGHTS),
    NOTED("--op-offload, --no-op-offload, -nopo", WEIGHTS),
    NOTED("--no-host", WEIGHTS),
    NOTED_VALUE("--repack, -nr, --no-repack", "weights are always repacked for the GPU"),
    NOTED_VALUE("-ts, --tensor-split", "there is one device"),
    NOTED_VALUE("-lm, --load-mode", MAPPED),
    NOTED_VALUE("-lzm, --lazy-mode", MAPPED),
    NOTED("--mmap, --no-mmap, --mlock", MAPPED),
    NOTED("-dio, --direct-io, -ndio, --no-direct-io", MAPPED),
    NOTED("-kvo, --kv-offload", "the cache is on the device"),
    NOTED_VALUE("-dt, --defrag-thold", "a cache has no gaps"),
    NOTED("--swa-full", "the cache is as large as the context"),
    NOTED_VALUE("-fit, --fit", "-c and --mem-budget say what is taken"),
    NOTED_VALUE("-fitt, --fit-target", "-c and --mem-budget say what is taken"),
    NOTED_VALUE("-fitc, --fit-ctx", "-c and --mem-budget say what is taken"),
    MISSING_VALUE("--rpc, -rpc", "one device computes; leave it out"),
    MISSING("--check-tensors", "sizes and types of a file are always checked, and `glinfer "
                               "selftest -m FILE` compares kernels with the CPU"),
    // Flags of what the model is.
    MISSING_VALUE(
        "--override-kv",
        "what a file says holds; gguf-set-metadata of the Python package gguf changes the file"),
    MISSING_VALUE("--rope-scaling", ROPE),
    MISSING_VALUE("--rope-scale", ROPE),
    MISSING_VALUE("--rope-freq-base", ROPE),
    MISSING_VALUE("--rope-freq-scale", ROPE),
    MISSING_VALUE("--yarn-orig-ctx", ROPE),
    MISSING_VALUE("--yarn-ext-factor", ROPE),
    MISSING_VALUE("--yarn-attn-factor", ROPE),
    MISSING_VALUE("--yarn-beta-slow", ROPE),
    MISSING_VALUE("--yarn-beta-fast", ROPE),
    MISSING_VALUE("--lora",
                  "llama-export-lora merges an adapter into a model file, which -m takes"),
    MISSING_VALUE("--lora-scaled",
                  "llama-export-lora merges an adapter into a model file, which -m takes"),
    MISSING("--lora-init-without-apply",
            "llama-export-lora merges an adapter into a model file, which -m takes"),
    MISSING_VALUE("--control-vector", "vectors that steer a model are not supported; leave it out"),
    MISSING_VALUE("--control-vector-scaled",
                  "vectors that steer a model are not supported; leave it out"),
    MISSING_VALUE("--control-vector-layer-range",
                  "vectors that steer a model are not supported; leave it out"),
    MISSING_VALUE("-dr, --docker-repo", "-hf USER/REPO and -m URL fetch models"),
    MISSING("-cl, --cache-list", "`glinfer models` lists what is here"),
    MISSING("--gpt-oss-20b-default, --gpt-oss-120b-default", KNOWN),
    MISSING("--vision-gemma-4b-default, --vision-gemma-12b-default, --embd-gemma-default", KNOWN),
    MISSING("--fim-qwen-1.5b-default, --fim-qwen-3b-default, --fim-qwen-7b-default", KNOWN),
    MISSING("--fim-qwen-7b-spec, --fim-qwen-14b-spec, --fim-qwen-30b-default", KNOWN),
    MISSING_VALUE("-mm, --mmproj", TEXT),
    MISSING_VALUE("-mmu, --mmproj-url", TEXT),
    MISSING_VALUE("-mmdev, --mmproj-device", TEXT),
    MISSING("--mmproj-auto, --mmproj-offload", TEXT),
    MISSING_VALUE("--image, --audio, --video", TEXT),
    MISSING_VALUE("--image-min-tokens", TEXT),
    MISSING_VALUE("--image-max-tokens", TEXT),
    MISSING_VALUE("--mtmd-batch-max-tokens", TEXT),
    MISSING_VALUE("--video-fps", TEXT),
    MISSING_VALUE("--video-timestamp-interval", TEXT),
    MISSING_VALUE("--video-ffmpeg-dir", TEXT),
    MISSING_VALUE("--media-path", TEXT),
    NOTED("--no-mmproj, --no-mmproj-auto, --no-mmproj-offload", "models read text alone"),
    // Flags of drafts.
    MISSING_VALUE("-md, --model-draft, --spec-draft-model", DRAFT),
    MISSING_VALUE("-hfd, -hfrd, --hf-repo-draft, --spec-draft-hf", DRAFT),
    MISSING_VALUE("-ctkd, --cache-type-k-draft, --spec-draft-type-k", DRAFT),
    MISSING_VALUE("-ctvd, --cache-type-v-draft, --spec-draft-type-v", DRAFT),
    MISSING_VALUE("-td, --threads-draft, --spec-draft-threads", DRAFT),
    MISSING_VALUE("-tbd, --threads-batch-draft, --spec-draft-threads-batch", DRAFT),
    MISSING_VALUE("-Cd, --cpu-mask-draft, --spec-draft-cpu-mask", DRAFT),
    MISSING_VALUE("-Crd, --cpu-range-draft, --spec-draft-cpu-range", DRAFT),
    MISSING_VALUE("--cpu-strict-draft, --spec-draft-cpu-strict", DRAFT),
    MISSING_VALUE("--prio-draft, --spec-draft-prio", DRAFT),
    MISSING_VALUE("--poll-draft, --spec-draft-poll", DRAFT),
    MISSING_VALUE("-Cbd, --cpu-mask-batch-draft, --spec-draft-cpu-mask-batch", DRAFT),
    MISSING_VALUE("--cpu-strict-batch-draft, --spec-draft-cpu-strict-batch", DRAFT),
    MISSING_VALUE("--prio-batch-draft, --spec-draft-prio-batch", DRAFT),
    MISSING_VALUE("--poll-batch-draft, --spec-draft-poll-batch", DRAFT),
    MISSING_VALUE("-otd, --override-tensor-draft, --spec-draft-override-tensor", DRAFT),
    MISSING("-cmoed, --cpu-moe-draft, --spec-draft-cpu-moe", DRAFT),
    MISSING_VALUE("-ncmoed, --n-cpu-moe-draft, --spec-draft-n-cpu-moe, --spec-draft-ncmoe", DRAFT),
    MISSING_VALUE("--draft-p-split, --spec-draft-p-split", DRAFT),
    MISSING_VALUE("--draft-p-min, --spec-draft-p-min", DRAFT),
    MISSING("--spec-draft-backend-sampling, --no-spec-draft-backend-sampling", DRAFT),
    MISSING_VALUE("-devd, --device-draft, --spec-draft-device", DRAFT),
    MISSING_VALUE("-ngld, --gpu-layers-draft, --n-gpu-layers-draft, --spec-draft-ngl", DRAFT),
    MISSING_VALUE("--spec-draft-sampling", DRAFT),
    MISSING_VALUE("--spec-synth-len", DRAFT),
    MISSING_VALUE("--spec-synth-rates", DRAFT),
    MISSING_VALUE("--spec-draft-n-max, --draft, --draft-n, --draft-max", SIMPLE),
    MISSING_VALUE("--spec-draft-n-min, --draft-min, --draft-n-min", SIMPLE),
    MISSING_VALUE("--spec-ngram-mod-n-min", SIMPLE),
    MISSING_VALUE("--spec-ngram-mod-n-max", SIMPLE),
    MISSING_VALUE("--spec-ngram-mod-n-match", SIMPLE),
    MISSING_VALUE("--spec-ngram-map-k-size-n", SIMPLE),
    MISSING_VALUE("--spec-ngram-map-k-size-m", SIMPLE),
    MISSING_VALUE("--spec-ngram-map-k-min-hits", SIMPLE),
    MISSING_VALUE("--spec-ngram-map-k4v-size-n", SIMPLE),
    MISSING_VALUE("--spec-ngram-map-k4v-size-m", SIMPLE),
    MISSING_VALUE("--spec-ngram-map-k4v-min-hits", SIMPLE),
    MISSING_VALUE("--spec-ngram-simple-min-hits, --spec-ngram-min-hits", SIMPLE),
    MISSING_VALUE("-lcs, --lookup-cache-static", SIMPLE),
    MISSING_VALUE("-lcd, --lookup-cache-dynamic", SIMPLE),
    MISSING("--spec-default", SIMPLE),
    // Flags of prompts and answers.
    MISSING("-i, --interactive, -if, --interactive-first", "`glinfer chat` talks"),
    MISSING_VALUE("--in-prefix",
                  "the chat template writes turns; --chat-template-file takes another"),
    MISSING_VALUE("--in-suffix",
                  "the chat template writes turns; --chat-template-file takes another"),
    NOTED("-mli, --multiline-input",
          "a backslash or three quotes continue a message on the next line"),
    MISSING_VALUE("-bf, --binary-file", "-f takes any bytes with --raw"),
    MISSING_VALUE("-o, --output, --output-file", "> FILE keeps what is printed"),
    NOTED("--display-prompt", "the prompt is never printed"),
    MISSING("--verbose-prompt",
            "--json has the ids of the prompt, `glinfer tokenize` those of any text"),
    MISSING("-sp, --special", "special tokens are no text; --json of `glinfer run` has their ids"),
    MISSING("--no-jinja", "--chat-template names a template that is built in"),
    MISSING_VALUE("--reasoning-effort", EFFORT),
    MISSING_VALUE("--reasoning-budget, --reasoning-budget-message", BUDGET),
    NOTED_VALUE("--reasoning-format", "what a model thinks is printed as it writes it"),
    NOTED("--reasoning-preserve, --no-reasoning-preserve",
          "the chat template says which thoughts it keeps"),
    NOTED("--skip-chat-parsing, --no-skip-chat-parsing",
          "calls are looked for where a request has tools"),
    NOTED("-bs, --backend-sampling", "tokens are sampled on the device where that can be"),
    NOTED_VALUE("-ctxcp, --ctx-checkpoints, --swa-checkpoints",
                "a session keeps the tokens that it has, and no more"),
    NOTED_VALUE("-cms, --checkpoint-min-step",
                "a session keeps the tokens that it has, and no more"),
    NOTED_VALUE("-cram, --cache-ram", "a session keeps the tokens that it has, and no more"),
    MISSING_VALUE("--server-base", "`glinfer serve` answers, and curl or OpenAI's clients ask"),
    // Flags of notes.
    NOTED("--log-jsonl, --no-log-jsonl, --log-prefix, --no-log-prefix",
          "notes are plain lines on stderr"),
    NOTED("--log-timestamps, --no-log-timestamps", "notes are plain lines on stderr"),
    NOTED_VALUE("--log-colors", "notes are plain lines on stderr"),
    MISSING_VALUE("--log-prompts-dir", "-vv prints all messages"),
    MISSING("--version", "`glinfer --version` prints it"),
    MISSING("--completion-bash",
            "completions for bash, zsh and fish are installed with the command"),
    MISSING_VALUE("--n-gen-warmup", "one run before each test warms up; --no-warmup leaves it out"),
    // Flags of the server.
    NOTED("-nocb, --no-cont-batching", "answers always join those that are under way"),
    NOTED_VALUE("--kv-unified-per-slot", "each slot has a cache of its own, of -c tokens"),
    NOTED("-kvu, --kv-unified, -no-kvu, --no-kv-unified",
          "each slot has a cache of its own, of -c tokens"),
    NOTED("--cache-idle-slots, --no-cache-idle-slots",
          "each slot has a cache of its own, of -c tokens"),
    NOTED("--no-cache-prompt", "a slot's tokens are always used again"),
    NOTED_VALUE("--cache-reuse", "a slot's tokens are always used again"),
    NOTED_VALUE("-sps, --slot-prompt-similarity", "the slot that knows most of a prompt takes it"),
    NOTED_VALUE("--tags", "the model has one name, --alias"),
    NOTED_VALUE("--sse-ping-interval", "streams have no pings"),
    NOTED("--ui, --webui", "the page is always there"),
    MISSING("--no-ui, --no-webui", "the page is always there; a proxy in front may keep it back"),
    MISSING_VALUE("--ui-config, --webui-config", PAGE),
    MISSING_VALUE("--ui-config-file, --webui-config-file", PAGE),
    MISSING("--ui-mcp-proxy, --webui-mcp-proxy", PAGE),
    NOTED("--no-ui-mcp-proxy, --no-webui-mcp-proxy, --no-agent, -no-ag",
          "the server runs no tools"),
    MISSING_VALUE("--tools",
                  "the server runs no tools; clients do, and /v1/chat/completions takes theirs"),
    MISSING_VALUE("--tools-runtime",
                  "the server runs no tools; clients do, and /v1/chat/completions takes theirs"),
    MISSING_VALUE("--mcp-servers-config",
                  "the server runs no tools; clients do, and /v1/chat/completions takes theirs"),
    MISSING_VALUE("--mcp-servers-json",
                  "the server runs no tools; clients do, and /v1/chat/completions takes theirs"),
    MISSING("-ag, --agent",
            "the server runs no tools; clients do, and /v1/chat/completions takes theirs"),
    MISSING_VALUE("--cors-origins", "--cors ORIGIN says whose pages may ask"),
    MISSING_VALUE("--cors-methods", "--cors ORIGIN says whose pages may ask"),
    MISSING_VALUE("--cors-headers", "--cors ORIGIN says whose pages may ask"),
    MISSING("--cors-credentials, --no-cors-credentials", "--cors ORIGIN says whose pages may ask"),
    MISSING_VALUE("--ssl-key-file", PROXY),
    MISSING_VALUE("--ssl-cert-file", PROXY),
    MISSING_VALUE("--api-prefix", PROXY),
    MISSING_VALUE("--path", PROXY),
    MISSING("--reuse-port", "systemd hands over a socket: tools/examples/serve"),
    MISSING_VALUE("--sleep-idle-seconds",
                  "systemd starts a server at its first request: tools/examples/serve"),
    MISSING_VALUE("--models-dir", "a server has one model; start one for each"),
    MISSING_VALUE("--models-preset", "a server has one model; start one for each"),
    MISSING_VALUE("--models-max", "a server has one model; start one for each"),
    MISSING("--models-autoload, --no-models-autoload",
            "a server has one model; start one for each"),
    NOTED("--no-prefill-assistant", "an answer begins anew"),
    MISSING("--prefill-assistant", "an answer begins anew; /completion goes on from any text"),
    NOTED("--embedding, --embeddings", "/v1/embeddings is always there"),
    NOTED("--rerank, --reranking", "/v1/rerank is always there"),
    MISSING("--spm-infill", "/completion takes a prompt as the model's authors write it"),
};

const struct cli_flag *cli_foreign_find(const char *word, size_t size)
{
    return cli_find_row(flags, sizeof(flags) / sizeof(flags[0]), word, size);
}

const char *cli_foreign_owner(const char *word)
{
    static const struct cli_command *const commands[] = {
#define COMMAND_ADDRESS(name) &cli_##name##_command,
        CLI_COMMANDS(COMMAND_ADDRESS)
#undef COMMAND_ADDRESS
    };
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (cli_find_flag(commands[i], word)) {
            return commands[i]->name;
        }
    }
    return NULL;
}
