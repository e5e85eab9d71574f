// llama.cpp's flags that no command has, or only some. A flag of the same name in a command's own
// table comes first.
#include "cli/common/cli_args.h"

const struct cli_flag cli_foreign_flags[] = {
    CLI_IGNORED_VALUE(
        "-t, --threads, -tb, --threads-batch, -C, --cpu-mask, -Cr, --cpu-range, --cpu-strict, "
        "-Cb, --cpu-mask-batch, -Crb, --cpu-range-batch, --cpu-strict-batch, --prio-batch, "
        "--numa",
        "the GL driver manages its threads"),
    CLI_IGNORED_VALUE(
        "-ngl, --gpu-layers, --n-gpu-layers, -ot, --override-tensor, --override-tensors, "
        "-ncmoe, --n-cpu-moe, --moe-cache-mib, --moe-cache, -ncffn, --n-cpu-ffn",
        "every layer runs on the device"),
    CLI_IGNORED_VALUE("-b, --batch-size",
                      "-ub sets the number of prompt tokens that are processed together"),
    CLI_IGNORED_VALUE("-fa, --flash-attn", "attention is always fused"),
    CLI_IGNORED_VALUE("-sm, --split-mode, -ts, --tensor-split", "there is one device"),
    CLI_IGNORED_VALUE("-mg, --main-gpu", "-dev chooses the device"),
    CLI_IGNORED_VALUE("-lv, --verbosity, --log-verbosity", "-v prints every message"),
    CLI_IGNORED_VALUE("--log-file", "notes go to stderr"),
    CLI_IGNORED_VALUE("-co, --color", "the answer is plain text"),
    CLI_IGNORED_VALUE("--prio", "--low-priority and --gpu-duty leave the GPU to others"),
    CLI_IGNORED_VALUE("--poll, --poll-batch", "the host sleeps while it waits"),
    CLI_IGNORED_VALUE("--repack, -nr, --no-repack", "weights are always repacked for the GPU"),
    CLI_IGNORED_VALUE("-lm, --load-mode, -lzm, --lazy-mode",
                      "the file is mapped, copied to the device and unmapped"),
    CLI_IGNORED_VALUE("-dt, --defrag-thold", "a cache has no gaps"),
    CLI_IGNORED_VALUE("-fit, --fit, -fitt, --fit-target, -fitc, --fit-ctx",
                      "-c and --mem-budget limit the memory"),
    CLI_IGNORED_VALUE("--reasoning-format", "thoughts are printed as the model writes them"),
    CLI_IGNORED_VALUE(
        "-ctxcp, --ctx-checkpoints, --swa-checkpoints, -cms, --checkpoint-min-step, -cram, "
        "--cache-ram",
        "a session keeps its tokens in one cache"),
    CLI_IGNORED_VALUE("--log-colors", "notes are plain lines on stderr"),
    CLI_IGNORED_VALUE("--kv-unified-per-slot", "each slot has a cache of its own, of -c tokens"),
    CLI_IGNORED_VALUE("--cache-reuse", "a slot's tokens are always used again"),
    CLI_IGNORED_VALUE("-sps, --slot-prompt-similarity",
                      "the slot with the longest common prefix takes a prompt"),
    CLI_MISSING("--tags", "`glinfer serve` has models for clients, and takes this flag"),
    CLI_MISSING("--sse-ping-interval", "`glinfer serve` has streams, and takes this flag"),
    CLI_IGNORED("--no-warmup, --warmup", "there is no warm-up"),
    CLI_IGNORED("-nkvo, --no-kv-offload, -kvo, --kv-offload", "the cache is on the device"),
    CLI_IGNORED("--jinja", "a file's own chat template is used as it is"),
    CLI_IGNORED("--simple-io", "output is always plain"),
    CLI_IGNORED("--no-display-prompt, --display-prompt", "the prompt is never printed"),
    CLI_IGNORED("-cmoe, --cpu-moe, --op-offload, --no-op-offload, -nopo, --no-host",
                "every layer runs on the device"),
    CLI_IGNORED("--mmap, --no-mmap, --mlock, -dio, --direct-io, -ndio, --no-direct-io",
                "the file is mapped, copied to the device and unmapped"),
    CLI_IGNORED("--swa-full", "the cache is as large as the context"),
    CLI_IGNORED("--no-mmproj, --no-mmproj-auto, --no-mmproj-offload", "models read only text"),
    CLI_IGNORED("-mli, --multiline-input",
                "a backslash or three quotes continue a message on the next line"),
    CLI_IGNORED("--reasoning-preserve, --no-reasoning-preserve",
                "the chat template decides which thoughts to keep"),
    CLI_IGNORED("--skip-chat-parsing, --no-skip-chat-parsing",
                "calls are parsed if a request has tools"),
    CLI_IGNORED("-bs, --backend-sampling", "tokens are sampled on the device if possible"),
    CLI_IGNORED("--log-jsonl, --no-log-jsonl, --log-prefix, --no-log-prefix, --log-timestamps, "
                "--no-log-timestamps",
                "notes are plain lines on stderr"),
    CLI_IGNORED("-nocb, --no-cont-batching", "requests are always batched with those in progress"),
    CLI_IGNORED("-kvu, --kv-unified, -no-kvu, --no-kv-unified, --cache-idle-slots, "
                "--no-cache-idle-slots",
                "each slot has a cache of its own, of -c tokens"),
    CLI_IGNORED("--no-cache-prompt", "a slot's tokens are always used again"),
    CLI_IGNORED("--ui, --webui", "the page is there unless --no-ui is given"),
    CLI_IGNORED_VALUE("--cors-methods, --cors-headers", "allowed pages may send what they want"),
    CLI_IGNORED("--cors-credentials, --no-cors-credentials", "the server has no cookies"),
    CLI_IGNORED("--no-ui-mcp-proxy, --no-webui-mcp-proxy, --no-agent, -no-ag",
                "the server runs no tools"),
    CLI_IGNORED("--no-prefill-assistant", "an answer starts a new message"),
    CLI_IGNORED("--embedding, --embeddings", "/v1/embeddings is always there"),
    CLI_IGNORED("--rerank, --reranking", "/v1/rerank is always there"),
    CLI_MISSING("--json", "`glinfer bench -o json` prints it, and `glinfer run --json`"),
    CLI_MISSING("--rpc, -rpc", "glinfer uses one device; leave it out"),
    CLI_MISSING("--check-tensors", "sizes and types of a file are always checked, and `glinfer "
                                   "selftest -m FILE` compares kernels with the CPU"),
    CLI_MISSING("--override-kv",
                "gguf-set-metadata of the Python package gguf changes the metadata of a file"),
    CLI_MISSING(
        "--rope-scaling, --rope-scale, --rope-freq-base, --rope-freq-scale, --yarn-orig-ctx, "
        "--yarn-ext-factor, --yarn-attn-factor, --yarn-beta-slow, --yarn-beta-fast",
        "the model's file sets RoPE; leave it out"),
    CLI_MISSING("-m, --model", "name the model or the folder without it"),
    CLI_MISSING("--outtype", "--quantize sets the type of the large matrices of a folder"),
    CLI_MISSING("--lora, --lora-scaled, --lora-merge",
                "`glinfer run`, `chat`, `serve` and other commands take adapters; `glinfer run -v` "
                "shows the memory with them"),
    CLI_MISSING("--lora-init-without-apply", "`glinfer serve` takes it; --lora-scaled FILE:0 "
                                             "switches an adapter off"),
    CLI_MISSING("--control-vector, --control-vector-scaled, --control-vector-layer-range",
                "vectors that steer a model are not supported; leave it out"),
    CLI_MISSING("-dr, --docker-repo", "-hf USER/REPO and -m URL fetch models"),
    CLI_MISSING("-cl, --cache-list", "`glinfer models` lists the models on this machine"),
    CLI_MISSING("--gpt-oss-20b-default, --gpt-oss-120b-default, --vision-gemma-4b-default, "
                "--vision-gemma-12b-default, --embd-gemma-default, --fim-qwen-1.5b-default, "
                "--fim-qwen-3b-default, --fim-qwen-7b-default, --fim-qwen-7b-spec, "
                "--fim-qwen-14b-spec, --fim-qwen-30b-default",
                "`glinfer models --known` lists models that `glinfer pull NAME` fetches"),
    CLI_MISSING(
        "-mm, --mmproj, -mmu, --mmproj-url, -mmdev, --mmproj-device, --mmproj-auto, "
        "--mmproj-offload, --image, --audio, --video, --image-min-tokens, --image-max-tokens, "
        "--mtmd-batch-max-tokens, --video-fps, --video-timestamp-interval, --video-ffmpeg-dir, "
        "--media-path",
        "models read only text; leave it out"),
    CLI_MISSING(
        "-md, --model-draft, --spec-draft-model, -hfd, -hfrd, --hf-repo-draft, "
        "--spec-draft-hf, -ctkd, --cache-type-k-draft, --spec-draft-type-k, -ctvd, "
        "--cache-type-v-draft, --spec-draft-type-v, -td, --threads-draft, "
        "--spec-draft-threads, -tbd, --threads-batch-draft, --spec-draft-threads-batch, -Cd, "
        "--cpu-mask-draft, --spec-draft-cpu-mask, -Crd, --cpu-range-draft, "
        "--spec-draft-cpu-range, --cpu-strict-draft, --spec-draft-cpu-strict, --prio-draft, "
        "--spec-draft-prio, --poll-draft, --spec-draft-poll, -Cbd, --cpu-mask-batch-draft, "
        "--spec-draft-cpu-mask-batch, --cpu-strict-batch-draft, --spec-draft-cpu-strict-batch, "
        "--prio-batch-draft, --spec-draft-prio-batch, --poll-batch-draft, "
        "--spec-draft-poll-batch, -otd, --override-tensor-draft, --spec-draft-override-tensor, "
        "-cmoed, --cpu-moe-draft, --spec-draft-cpu-moe, -ncmoed, --n-cpu-moe-draft, "
        "--spec-draft-n-cpu-moe, --spec-draft-ncmoe, --draft-p-split, --spec-draft-p-split, "
        "--draft-p-min, --spec-draft-p-min, --spec-draft-backend-sampling, "
        "--no-spec-draft-backend-sampling, -devd, --device-draft, --spec-draft-device, -ngld, "
        "--gpu-layers-draft, --n-gpu-layers-draft, --spec-draft-ngl, --spec-draft-sampling, "
        "--spec-synth-len, --spec-synth-rates",
        "a second model is not supported; --spec-type ngram-simple drafts from the text itself"),
    CLI_IGNORED_VALUE("--spec-draft-n-min, --spec-ngram-mod-n-min, --spec-ngram-simple-min-hits, "
                      "--spec-ngram-map-k-min-hits, --spec-ngram-map-k4v-min-hits, "
                      "--spec-ngram-min-hits",
                      "a draft of any length is tried where that is faster"),
    CLI_IGNORED_VALUE("--spec-ngram-mod-n-max, --spec-ngram-mod-n-match, "
                      "--spec-ngram-map-k-size-n, --spec-ngram-map-k-size-m, "
                      "--spec-ngram-map-k4v-size-n, --spec-ngram-map-k4v-size-m",
                      "--spec-ngram-simple-size-n and --spec-draft-n-max set the sizes"),
    CLI_MISSING("--draft, --draft-n, --draft-max, --draft-min, --draft-n-min, --spec-draft-n-max",
                "use --spec-type ngram-simple and --spec-draft-n-max, which `glinfer run`, `chat` "
                "and `serve` take"),
    CLI_MISSING("-lcs, --lookup-cache-static, -lcd, --lookup-cache-dynamic, --spec-default",
                "use --spec-type ngram-simple"),
    CLI_MISSING("-i, --interactive, -if, --interactive-first", "use `glinfer chat`"),
    CLI_MISSING("--in-prefix, --in-suffix",
                "the chat template writes turns; --chat-template-file takes another"),
    CLI_MISSING("-bf, --binary-file", "-f takes any bytes with --raw"),
    CLI_MISSING("-o, --output, --output-file", "> FILE saves the output"),
    CLI_MISSING("--verbose-prompt",
                "--json prints the ids of the prompt, `glinfer tokenize` the ids of any text"),
    CLI_MISSING("-sp, --special",
                "special tokens are not printed; `glinfer run --json` has their ids"),
    CLI_MISSING("--no-jinja", "--chat-template selects a built-in template"),
    CLI_MISSING("--reasoning-effort", "`glinfer run`, `chat` and `serve` take it"),
    CLI_MISSING("--reasoning-budget, --reasoning-budget-message",
                "`glinfer serve` takes it; --reasoning off turns thoughts off"),
    CLI_MISSING("--server-base", "`glinfer serve` answers, and curl or OpenAI's clients ask"),
    CLI_MISSING("--log-prompts-dir", "-vv prints all messages"),
    CLI_MISSING("--version", "`glinfer --version` prints it"),
    CLI_MISSING("--completion-bash",
                "completions for bash, zsh and fish are installed with the command"),
    CLI_MISSING("--n-gen-warmup", "one run before each test warms up; --no-warmup leaves it out"),
    CLI_MISSING("--no-ui, --no-webui", "`glinfer serve` has a page, and takes this flag"),
    CLI_MISSING(
        "--ui-config, --webui-config, --ui-config-file, --webui-config-file, --ui-mcp-proxy, "
        "--webui-mcp-proxy",
        "the page keeps its own settings in the browser"),
    CLI_MISSING("--tools, --tools-runtime, --mcp-servers-config, --mcp-servers-json, -ag, --agent",
                "the server runs no tools; clients do, and /v1/chat/completions accepts them"),
    CLI_MISSING("--cors-origins", "`glinfer serve` takes it"),
    CLI_MISSING("--ssl-key-file, --ssl-cert-file, --api-prefix, --path",
                "use a proxy such as nginx: tools/examples/serve"),
    CLI_MISSING("--reuse-port", "systemd can pass a socket: tools/examples/serve"),
    CLI_MISSING("--sleep-idle-seconds, --models-dir, --models-preset, --models-max, "
                "--models-autoload, --no-models-autoload",
                "`glinfer serve` takes it"),
    CLI_MISSING("--prefill-assistant",
                "an answer starts a new message; /completion continues any text"),
    CLI_MISSING("--spm-infill", "/completion accepts a prompt in the model's own format"),
    {.names = ""},
};
