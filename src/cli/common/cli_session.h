// A device with a model and a session on it, and the flags for them. Functions print the failure
// and return false. Commands call them in this order, with their own checks between, so that cheap
// checks fail first.
#pragma once

#include "cli/common/cli_device.h"
#include "cli/flags/cli_lora.h"
#include "cli/models/models_pull.h"

#include <cjson/cJSON.h>

// The setting of the chat template that makes the model think before it answers.
enum cli_thinking {
    CLI_THINKING_AUTO, // the template's own default
    CLI_THINKING_ON,
    CLI_THINKING_OFF,
};
extern const char *const cli_thinkings[];      // auto, on, off
extern const char *const cli_quantize_types[]; // as struct glinfer_source has them, q8_0 first

// Checkpoints of recurrent states that a session keeps, by default of a server's slots.
enum { CLI_MAX_CHECKPOINTS = 4 };

struct cli_session_flags {
    struct cli_device_flags device;
    struct cli_hub_flags hub;
    const char *model;
    struct cli_lora_flags lora;
    const char *chat_template;    // NULL: the file's own
    int quantize;                 // of cli_quantize_types
    const char *variables;        // of the chat template, a JSON object; NULL: none
    int reasoning;                // enum cli_thinking
    const char *reasoning_effort; // for the chat template; NULL: its default
    uint64_t mem_budget;
    int64_t n_ctx, n_batch;
    int type_k, type_v; // enum glinfer_cache_type
    int precision;      // enum glinfer_precision
    int64_t chain;      // 0: auto
    int64_t max_batch_ms;
    int64_t gpu_duty; // percent; 0: all
};

#define CLI_CACHE_HELP "f16 (default), f32, q8_0 or q4_0 (q4_0 hurts small models)"

// Rows of a flag table for settings with a field `session` of the type above.
#define CLI_MODEL_FLAGS                                                                            \
    CLI_ANY_MODEL_FLAGS(                                                                           \
        "a GGUF file, a folder of SafeTensors, or the name of a model (required)"),                \
        CLI_LORA_FLAGS
#define CLI_QUANTIZE_FLAG(field)                                                                   \
    CLI_CHOICE(field, cli_quantize_types, "--quantize", "TYPE",                                    \
               "type of the large matrices of a folder of SafeTensors: q8_0 (default), q5_1, "     \
               "q5_0, q4_1, q4_0, f16, bf16, or none for that of the files")
#define CLI_ANY_MODEL_FLAGS(help)                                                                  \
    CLI_TEXT(session.model, "-m, --model", "FILE", help), CLI_HUB_FLAGS, CLI_DEVICE_FLAGS,         \
        CLI_QUANTIZE_FLAG(session.quantize),                                                       \
        CLI_SIZE(session.mem_budget, "--mem-budget", "SIZE",                                       \
                 "memory for weights, cache and scratch, such as 300M or 1.5G: refuse a model "    \
                 "that needs more"),                                                               \
        CLI_CHOICE(session.type_k, cli_cache_types, "-ctk, --cache-type-k", "TYPE",                \
                   "keys in the cache: " CLI_CACHE_HELP),                                          \
        CLI_CHOICE(session.type_v, cli_cache_types, "-ctv, --cache-type-v", "TYPE",                \
                   "values in the cache: " CLI_CACHE_HELP),                                        \
        CLI_CHOICE(session.precision, cli_precisions, "--precision", "TYPE", CLI_PRECISION_HELP)
#define CLI_CONTEXT_FLAG(help) CLI_INT(session.n_ctx, 0, 1 << 24, "-c, --ctx-size", "N", help)
#define CLI_TEMPLATE_FLAG                                                                          \
    CLI_CUSTOM(session.chat_template, cli_parse_template, "--chat-template", "NAME",               \
               "a chat template instead of the file's, such as chatml or llama3, or a template's " \
               "text; an unknown name prints the list"),                                           \
        CLI_FILE(session.chat_template, cli_parse_template_file, "--chat-template-file", "FILE",   \
                 "a file with a chat template, in Jinja as model files have it"),                  \
        CLI_CUSTOM(session.variables, cli_parse_variables, "--chat-template-kwargs", "JSON",       \
                   "a JSON object with variables of the chat template, such as "                   \
                   "{\"reasoning_effort\": \"low\"}"),                                             \
        CLI_CHOICE(                                                                                \
            session.reasoning, cli_thinkings, "-rea, --reasoning", "MODE",                         \
            "on, off or auto (default): whether the model thinks before it answers, if its "       \
            "chat template reads enable_thinking or thinking"),                                    \
        CLI_TEXT(session.reasoning_effort, "--reasoning-effort", "LEVEL",                          \
                 "how long the model thinks, if its chat template reads reasoning_effort: a word " \
                 "such as low, medium or high")
#define CLI_SPEED_FLAGS                                                                            \
    CLI_CUSTOM(session.chain, cli_parse_chain, "--chain", "N",                                     \
               "decode steps between two waits for the GPU, 1 to 256, fewer at first; auto "       \
               "(default): as many as fit --max-batch-ms"),                                        \
        CLI_INT(session.max_batch_ms, 0, 60000, "--max-batch-ms", "MS",                            \
                "target GPU time of one submission, default 100: less keeps a screen smooth, "     \
                "more is slightly faster"),                                                        \
        CLI_INT(session.gpu_duty, 1, 100, "--gpu-duty", "PERCENT",                                 \
                "largest share of the time in which the GPU works for glinfer, default 100"),      \
        CLI_SWITCH(session.device.is_low_priority, "--low-priority",                               \
                   "let the GPU run other programs first, if the driver supports it"),             \
        CLI_UBATCH_FLAG
#define CLI_UBATCH_FLAG                                                                            \
    CLI_INT(session.n_batch, 0, 1 << 24, "-ub, --ubatch-size", "N",                                \
            "prompt tokens processed together; without it the most, which `glinfer info` tells")

// Reads a number of tokens, at least 1, or -1: no limit.
bool cli_parse_predict(const char *text, void *field, char *why, size_t size);
bool cli_parse_chain(const char *text, void *field, char *why, size_t size);
bool cli_parse_template(const char *text, void *field, char *why, size_t size);
bool cli_parse_variables(const char *text, void *field, char *why, size_t size);
bool cli_parse_template_file(const char *path, void *field, char *why, size_t size);

struct cli_session {
    const struct cli_session_flags *flags; // borrowed
    const char *path;                      // of the model, once it is found; kept until the end
    struct glinfer_model_info info;
    struct glinfer_device_info device_info;
    struct glinfer_device *device;
    struct glinfer_model *model;
    struct glinfer_session *session;
    bool allows_speech; // as in struct glinfer_session_params
    double compile_ms;  // time to create the session, mostly compiling programs
    struct cli_bar bar;
};

void cli_session_init(struct cli_session *session, const struct cli_session_flags *flags);
// Fills *params but for progress; path is that of the model.
void cli_session_params(const struct cli_session_flags *flags, const char *path,
                        struct glinfer_model_params *params);
// Finds the model, fetching it if needed, and fills info from the file's header. Returns false if
// glinfer cannot run it.
bool cli_session_check(struct cli_session *session);
// Does cli_session_check, and refuses speech models.
bool cli_session_check_text(struct cli_session *session);
// Does cli_session_check, and refuses encoders.
bool cli_session_check_decoder(struct cli_session *session);
// Does cli_session_check, and refuses speech models and encoders, for commands that generate text.
bool cli_session_check_generator(struct cli_session *session);
// Opens the device, unless it is open, and loads the model.
bool cli_session_load(struct cli_session *session);
// Fills *params of a session except for `expected`.
void cli_session_fill(struct cli_session *session, struct glinfer_session_params *params);
// Creates the session and compiles for the expected generation; NULL: no generation.
bool cli_session_start(struct cli_session *session, const struct glinfer_generate_params *expected);
// Destroys the session alone; another may be started.
void cli_session_stop(struct cli_session *session);
// Destroys the session and the model; another may be loaded.
void cli_session_unload(struct cli_session *session);
void cli_session_finish(struct cli_session *session);

// Appends the text of a token; nothing for an unknown one.
void cli_append_token(struct cli_bytes *text, const struct glinfer_tokenizer *tokenizer,
                      int32_t id);
// Replaces ids by those of a text, flags: GLINFER_TOKENIZE_*, or of a conversation.
bool cli_tokenize(const struct glinfer_tokenizer *tokenizer, const struct cli_bytes *text,
                  unsigned flags, struct cli_ids *ids);
// Returns messages as a list of objects with a role and a content.
cJSON *cli_json_messages(const struct glinfer_message *messages, size_t n);
// Tokenizes a conversation in JSON with the model's template; err may be NULL.
bool cli_chat_json_ids(const struct glinfer_tokenizer *tokenizer,
                       const struct glinfer_chat_json *chat, struct cli_ids *ids,
                       struct glinfer_error *err);
// Replaces text by a conversation in JSON as the model's template writes it.
bool cli_chat_json_text(const struct glinfer_tokenizer *tokenizer,
                        const struct glinfer_chat_json *chat, struct cli_bytes *text,
                        struct glinfer_error *err);
// Tokenizes messages for a session's model, with the template variables of its flags.
bool cli_session_encode(const struct cli_session *session, const struct glinfer_message *messages,
                        size_t n, struct cli_ids *ids, struct glinfer_error *err);
// Fills the checkpoints of a prompt of n tokens that follow `held` tokens of the session. places:
// numbers of tokens of the conversation, ascending, after which it may go on in other ways; 0:
// none. Leaves out those that save too few tokens. Returns the number of checkpoints, at most
// n_places.
size_t cli_fill_checkpoints(const uint32_t *places, size_t n_places, size_t held, size_t n,
                            uint32_t *checkpoints);
// Returns the template variables of the flags as JSON, owned by the caller; NULL: none.
char *cli_session_variables(const struct cli_session_flags *flags);

// Runs glinfer_generate with the progress bar until the first token or the end; on_token clears it.
// If the GPU is lost or computes something impossible, recovers once with a note and continues.
bool cli_generate(struct cli_session *session, struct glinfer_generate_params *params,
                  struct glinfer_stats *stats, struct glinfer_error *err);
// Returns true for a failure after which the device can be recovered.
bool cli_is_broken(const struct glinfer_error *err);
// Returns n in ms milliseconds as a rate; 0 where there was no time.
double cli_per_second(uint32_t n, double ms);
// Returns the number of timed tokens of an answer: all but the first, which comes with the prompt.
uint32_t cli_timed_tokens(const struct glinfer_stats *stats);
// Adds "<what>_n", "_ms", "_per_token_ms" and "_per_second" of n tokens, n_timed of them timed.
void cli_add_rate(cJSON *timings, const char *what, uint32_t n, uint32_t n_timed, double ms);
// Returns the CPU time in ms per token of the answer, without the first.
double cli_cpu_per_token(const struct glinfer_stats *stats);
// Prints the lines of prompt and answer on stderr: tokens, milliseconds, tokens a second. A single
// token of an answer comes with the prompt and has no time of its own.
void cli_print_speeds(const struct glinfer_stats *stats);
