// glinfer: runs GGUF language models on any Linux GPU with OpenGL ES 3.1 compute shaders.
//
// This is the whole public interface. Objects form a tree, device > model > session: a child is
// destroyed before its parent. Nothing is printed, no signal handler is set and no state is shared
// between devices. The caller's current EGL context is put back before each function returns; a
// callback that makes another one current puts it back, too.
//
// Threads: distinct devices may be used from distinct threads. One device and all that belongs to
// it are used by one thread at a time; glinfer_session_cancel alone may be called from any thread
// and from a signal handler.
//
// Forks: fork before the first device is opened, or use exec. A forked child has no threads of the
// driver: there, opening a device fails with NO_DEVICE, calls with the parent's objects fail with
// INVALID_ARGUMENT, and destroying them leaves the GPU alone.
//
// A callback may call glinfer_session_cancel, any function that takes a tokenizer, any _describe
// and any _destroy function. An object that is destroyed in a callback goes away when the running
// call returns. Other functions that need the device fail with INVALID_ARGUMENT in a callback;
// glinfer_session_reset and _rewind have no effect there.
//
// Settings: every params struct starts with struct_size, filled by its _init function; a zero field
// asks for the default. The struct and what it points to need only live until the call returns.
// Structs that a function fills start with struct_size too, which the caller sets to their sizeof.
//
// Errors: a fallible function returns bool, or a pointer that may be NULL, and fills *err when err
// is not NULL. After a failure the objects passed in are as usable as before it, unless the status
// is GLINFER_STATUS_GPU_LOST: then glinfer_device_recover brings them back. Functions fail with
// INVALID_ARGUMENT for a NULL that is not allowed, an unknown struct_size, or an enum out of range.
// Functions without an error result ignore such a call.
#ifndef GLINFER_H
#define GLINFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GLINFER_VERSION_MAJOR 0
#define GLINFER_VERSION_MINOR 2
#define GLINFER_VERSION_PATCH 0

#if defined(__GNUC__) && !defined(GLINFER_STATIC)
#define GLINFER_API __attribute__((visibility("default")))
#else
#define GLINFER_API
#endif

// Returns "MAJOR.MINOR.PATCH" of the library that runs, for comparison with the macros above.
GLINFER_API const char *glinfer_version(void);

//-- errors ------------------------------------------------------------------------------------

// name, value, text
#define GLINFER_STATUS_MAP(X)                                                                      \
    X(OK, 0, "success")                                                                            \
    X(INVALID_ARGUMENT, -1, "invalid argument")                                                    \
    X(NOT_FOUND, -2, "file not found")                                                             \
    X(IO, -3, "file cannot be read or written")                                                    \
    X(BAD_FILE, -4, "damaged or malformed file")                                                   \
    X(UNSUPPORTED, -5, "not supported")                                                            \
    X(NO_DEVICE, -6, "no usable GPU")                                                              \
    X(NO_MEMORY, -7, "out of memory")                                                              \
    X(OVER_BUDGET, -8, "over the memory budget")                                                   \
    X(CONTEXT_FULL, -9, "the context is full")                                                     \
    X(CANCELLED, -10, "cancelled")                                                                 \
    X(DRIVER, -11, "the GPU driver refused a request")                                             \
    X(GPU_LOST, -12, "the GPU was reset or has gone")                                              \
    X(GPU_FAULT, -13, "the GPU computed something impossible")

enum glinfer_status {
#define GLINFER_STATUS_ENUM(name, value, text) GLINFER_STATUS_##name = (value),
    GLINFER_STATUS_MAP(GLINFER_STATUS_ENUM)
#undef GLINFER_STATUS_ENUM
};

struct glinfer_error {
    enum glinfer_status status;
    char message[1024]; // one sentence: what was wrong, where, what to do; UTF-8, never empty on
                        // failure
};

// Returns the fixed text of a status, "unknown status" for any other number.
GLINFER_API const char *glinfer_status_text(enum glinfer_status status);

//-- callbacks ---------------------------------------------------------------------------------

enum glinfer_log_level {
    GLINFER_LOG_ERROR,
    GLINFER_LOG_WARN,
    GLINFER_LOG_INFO,
    GLINFER_LOG_DEBUG,
};

// One line without a newline.
typedef void (*glinfer_log_fn)(void *user, enum glinfer_log_level level, const char *message);

enum glinfer_phase {
    GLINFER_PHASE_LOAD,    // weights travel to the GPU
    GLINFER_PHASE_COMPILE, // programs are compiled or taken from the cache
    GLINFER_PHASE_PROMPT,  // the prompt is processed
    GLINFER_PHASE_TUNE,    // shapes of kernels are measured
};

// Called now and then with done of total (bytes, programs, tokens); returning false cancels the
// call in progress, which then fails with GLINFER_STATUS_CANCELLED.
typedef bool (*glinfer_progress_fn)(void *user, enum glinfer_phase phase, uint64_t done,
                                    uint64_t total);

//-- device ------------------------------------------------------------------------------------

struct glinfer_device; // an EGL context with its programs; owns no model

// Names the EGL of a program that draws itself, as void * so that this header needs none. It
// stays as it is until the device has been destroyed with its last model; the device ends neither
// the display nor the context. An EGL display that is not counted (EGL_TRACK_REFERENCES_KHR) ends
// for all with the first eglTerminate: the program destroys the device before that.
//
// With context NULL the device makes a context of its own on the display, and touches nothing of
// the program's: the way to choose. With a context the device computes in it. Each call then saves
// what it changes there (the program, buffer bindings, buffer textures), takes pending GL errors
// away, and puts all back before it returns, the errors too (all but GL_OUT_OF_MEMORY); the state
// is the device's in callbacks, where the program does not use GL. If you deleted the current GL
// program while it was in use, it is gone after the call.
struct glinfer_host_gl {
    size_t struct_size;
    void *display;       // EGLDisplay, initialised
    void *share_context; // EGLContext of the display that the device's own one shares objects with,
                         // or NULL
    void *context;       // EGLContext of OpenGL ES 3.1 or newer, or NULL
    // Make the context current in the thread that calls, and undo that: called around each use of
    // it, with locks if the program has any for it; false: it cannot be. They do not call the
    // library. What was current before is current again afterwards. Both NULL: the context is
    // current, in every thread that calls.
    bool (*make_current)(void *user);
    void (*release_current)(void *user);
    void *user;
};

static inline void glinfer_host_gl_init(struct glinfer_host_gl *host)
{
    memset(host, 0, sizeof(*host));
    host->struct_size = sizeof(*host);
}

struct glinfer_device_params {
    size_t struct_size;
    const char
        *device; // NULL or "auto"; "gbm", "gbm:/dev/dri/renderD128", "egl", "egl:1", "surfaceless"
    bool allow_software;   // accept a renderer that runs on the CPU (llvmpipe, softpipe, lavapipe)
    bool debug;            // ask the driver for debug messages and log them
    const char *cache_dir; // programs' binaries; NULL: $XDG_CACHE_HOME/glinfer or ~/.cache/glinfer;
                           // "": none
    glinfer_log_fn log;    // NULL: silent
    void *log_user;
    // Compiles slow shader programs in a separate process (glinfer-compile, installed with the
    // library), which may outlive the caller's. Later sessions take them from the cache.
    bool compile_in_background;
    // Asks for a context whose work waits for that of others (EGL_IMG_context_priority), which some
    // drivers have; without effect elsewhere.
    bool low_priority;
    // The caller's own EGL, in place of device, debug and low_priority; NULL: none. Nothing is
    // compiled in the background then.
    const struct glinfer_host_gl *host;
};

static inline void glinfer_device_params_init(struct glinfer_device_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

struct glinfer_device_info {
    size_t struct_size;
    char device[128];   // what to pass as glinfer_device_params.device to get this one; "host"
    char refusal[1024]; // why it cannot be used; empty: usable, and the fields below hold
    char renderer[128]; // GL_RENDERER
    char vendor[128];   // GL_VENDOR
    char version[128];  // GL_VERSION
    bool is_software;
    bool is_indirect;                // grids that change are dispatched indirectly
    bool has_timer_query;            // EXT_disjoint_timer_query
    bool has_subgroups;              // KHR_shader_subgroup
    bool has_program_binary;         // compiled programs can be cached, unless cache_refusal is set
    uint32_t max_storage_blocks;     // a compute shader
    uint64_t max_storage_block_size; // bytes
    uint32_t storage_alignment;      // bytes
    uint32_t max_invocations;        // a work group
    uint32_t max_shared_size;        // bytes a work group
    uint32_t max_uniform_block_size; // bytes
    uint32_t uniform_alignment;      // bytes
    uint32_t max_group_count;        // work groups in x
    bool has_fast_half;              // 16-bit arithmetic was found to be there and faster
    uint32_t n_tuned;                // shapes of kernels that glinfer_tune measured there
    uint32_t dispatches; // bit i: decode steps may be submitted by way i of enum glinfer_dispatch
    char cache_refusal[512]; // why nothing is kept on disk; empty: it is
    char quirks[160];        // flags that the driver's name and GLINFER_QUIRKS set; or "none"
    char half_refusal[200];  // why models compute in f32 all the same, as the self-test found last;
                             // empty: nothing is known against 16-bit arithmetic
};

// Calls each once for every device that could be opened or was refused, best first. Opens and
// closes a context for each. Returns the number of usable ones. params may be NULL; its device
// field selects, its host is left alone.
GLINFER_API size_t glinfer_device_list(const struct glinfer_device_params *params,
                                       void (*each)(void *user,
                                                    const struct glinfer_device_info *info),
                                       void *user);

// Opens a device. Fails with NO_DEVICE and every candidate's refusal, with NO_DEVICE in a process
// that was forked from one that used a device, with IO as glinfer_driver_cache_check does,
// INVALID_ARGUMENT, NO_MEMORY. On a host's GL it also fails with INVALID_ARGUMENT if the context is
// not current where it should be, DRIVER if it cannot be made current, and GPU_LOST if a reset has
// ended it; every call that needs the device fails in these ways.
GLINFER_API struct glinfer_device *glinfer_device_create(const struct glinfer_device_params *params,
                                                         struct glinfer_error *err);
// Checks that the disk has room for the shader cache of Mesa's drivers. On a full disk Mesa would
// end the process with SIGBUS, so glinfer_device_create fails then. A program that prefers to run
// without that cache calls this function before it starts threads or uses EGL, and sets
// MESA_SHADER_CACHE_DISABLE=true in its environment if it returns false. The cache folder of
// glinfer_device_params is not affected. Fails with IO.
GLINFER_API bool glinfer_driver_cache_check(struct glinfer_error *err);
// Fills *info; info->struct_size says how much of it the caller knows.
GLINFER_API void glinfer_device_describe(const struct glinfer_device *device,
                                         struct glinfer_device_info *info);
// Brings a device back after GLINFER_STATUS_GPU_LOST or GLINFER_STATUS_GPU_FAULT, with all its
// models and sessions: opens a new context, takes the programs from the cache, loads the weights
// from the models' sources. Sessions keep their tokens and rebuild their caches on the next
// call. Their answers do not change; glinfer_generate_params.resume continues an answer that broke
// off.
// progress may be NULL and is called with GLINFER_PHASE_LOAD. Fails with NO_DEVICE, NOT_FOUND, IO,
// BAD_FILE (another file is in a model's place), UNSUPPORTED (a model's source was transient; found
// out first), NO_MEMORY, CANCELLED, DRIVER, GPU_LOST; the device is then still lost, and may be
// recovered later.
GLINFER_API bool glinfer_device_recover(struct glinfer_device *device, glinfer_progress_fn progress,
                                        void *user, struct glinfer_error *err);
// Gives a device that was created with a host's GL another one in place of that, as a program must
// that has lost its own context: the device is lost then, what it had in a context of the program's
// is left to end with that context, and glinfer_device_recover goes on with the new one. Fails with
// INVALID_ARGUMENT.
GLINFER_API bool glinfer_device_set_host(struct glinfer_device *device,
                                         const struct glinfer_host_gl *host,
                                         struct glinfer_error *err);
// Accepts NULL and a pointer to NULL; sets *device to NULL. A device with models ends with the last
// of them. Where a host's context can be made current no more, its objects there are left to it.
GLINFER_API void glinfer_device_destroy(struct glinfer_device **device);

//-- model -------------------------------------------------------------------------------------

struct glinfer_model;     // weights on the GPU and the tokenizer
struct glinfer_tokenizer; // text <-> token ids; needs no GPU

enum glinfer_cache_type {
    GLINFER_CACHE_F16, // the default
    GLINFER_CACHE_F32,
    GLINFER_CACHE_Q8_0, // half of f16's size, an error of up to 0.4 % of the largest of 32
    GLINFER_CACHE_Q4_0, // a little over a quarter, an error of up to 6 %, of some values 12 %
};

enum glinfer_source_kind {
    GLINFER_SOURCE_PATH,
    GLINFER_SOURCE_FD,
    GLINFER_SOURCE_MEMORY,
    GLINFER_SOURCE_READER,
};

// Reads [offset, offset + size), which lies within the length, into data; all of it or false.
typedef bool (*glinfer_read_fn)(void *user, uint64_t offset, void *data, size_t size);

// Says where the bytes of a GGUF file are: in a file or a part of one, in memory, or wherever
// callbacks find them. They are read by the thread that calls, during glinfer_model_inspect,
// glinfer_tokenizer_load_source, glinfer_model_load, and glinfer_device_recover, which reads a
// model's weights again: memory and what the reader needs stay, unchanged, until the model has been
// destroyed with its last session, unless is_transient is set. Bytes that change meanwhile, or a
// reader that gives others, are errors where they can be told, and never read past the length.
struct glinfer_source {
    size_t struct_size;
    enum glinfer_source_kind kind;
    const char *name;     // what messages call it; NULL: the path, or the kind
    const char *path;     // PATH; opened again to recover. Of a model in several files, such as
                          // m-00001-of-00003.gguf, any of them: the others lie beside it
    int fd;               // FD, of a regular file: the library has a duplicate as long as the model
                          // lives, and neither uses nor moves its position
    uint64_t offset;      // PATH, FD: where the GGUF file begins, bytes
    uint64_t length;      // bytes; 0 with PATH and FD: to the end of the file
    const void *data;     // MEMORY
    glinfer_read_fn read; // READER; a callback as others are
    void *user;
    bool is_transient; // MEMORY, READER: gone when the call returns. glinfer_device_recover then
                       // fails with UNSUPPORTED
};

static inline void glinfer_source_init(struct glinfer_source *source)
{
    memset(source, 0, sizeof(*source));
    source->struct_size = sizeof(*source);
    source->fd = -1;
}

// Says which of the tokens' vectors make the embedding of a text.
enum glinfer_pooling {
    GLINFER_POOLING_DEFAULT, // what the file says
    GLINFER_POOLING_NONE,    // each token's, one after another
    GLINFER_POOLING_MEAN,    // the mean of all
    GLINFER_POOLING_CLS,     // the first token's
    GLINFER_POOLING_LAST,    // the last token's
    GLINFER_POOLING_RANK,    // scores by the file's classifier, such as a reranker's
};

struct glinfer_model_params {
    size_t struct_size;
    const char *path; // a GGUF file; of a model in several files any of them
    // Bytes for weights, cache and scratch; 0: no limit. A software renderer, whose memory is the
    // process's, also keeps to what its address space (ulimit -v) and its cgroup leave.
    uint64_t mem_budget;
    uint32_t n_ctx; // context the budget is reckoned with; 0: as glinfer_session_params
    enum glinfer_cache_type type_k, type_v; // likewise
    glinfer_progress_fn progress;
    void *progress_user;
    // A template by name, such as "chatml", or a Jinja text; NULL: the one that the file has.
    const char *chat_template;
    const struct glinfer_source *source; // in place of path, which is NULL then
    uint32_t n_sessions; // the budget is reckoned with, as glinfer_sessions_create has them; 0: 1
};

static inline void glinfer_model_params_init(struct glinfer_model_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

// Says what a file holds and what running it takes, found without a GPU and without reading the
// weights.
struct glinfer_model_info {
    size_t struct_size;
    char architecture[64];  // general.architecture
    char name[128];         // general.name, may be empty
    char description[128];  // as llama-bench prints it, such as "llama 135M Q4_1"
    char types[256];        // tensor types with their number, such as "210 q4_1, 61 f32, 1 q8_0"
    char tokenizer[64];     // tokenizer.ggml.model, with tokenizer.ggml.pre after a slash
    char chat_template[64]; // the template's name, "jinja" if it has none, "none" or "unknown"
    bool is_supported;      // false: refusal says why it cannot run
    char refusal[1024];
    uint64_t file_size;   // bytes
    uint64_t weight_size; // bytes of all tensors in the file
    uint64_t n_params;    // elements of all tensors
    uint32_t n_layer, n_embd, n_ff, n_head, n_kv_head, head_dim, n_vocab;
    uint32_t n_ctx_train; // the context the model was trained with
    // The estimate for the n_ctx and cache types asked for (bytes):
    uint32_t n_ctx;
    uint64_t weights, kv_cache, scratch; // on the GPU
    uint64_t peak_host;                  // beside them: vocabulary, staging, programs
    uint64_t largest_binding;            // the largest storage range a kernel sees
    enum glinfer_pooling pooling; // of embeddings; GLINFER_POOLING_DEFAULT: the file does not say
    uint32_t n_embedding;         // numbers of one
    bool is_encoder;              // computes embeddings and generates no text
    uint32_t n_sessions;          // that cache and scratch are for
    uint64_t drafts; // on the GPU too, at most, once a session's answers ask for drafts
};

// Reads the directory of the model's file and fills *info. A file that is sound but cannot be run
// is no failure: is_supported is false. Fails with NOT_FOUND, IO, BAD_FILE, NO_MEMORY,
// INVALID_ARGUMENT.
GLINFER_API bool glinfer_model_inspect(const struct glinfer_model_params *params,
                                       struct glinfer_model_info *info, struct glinfer_error *err);

// Loads a model. Threads that take no signals help to, and have ended when it returns. Fails as
// glinfer_model_inspect does, and with UNSUPPORTED, OVER_BUDGET, CANCELLED, DRIVER, GPU_LOST.
GLINFER_API struct glinfer_model *glinfer_model_load(struct glinfer_device *device,
                                                     const struct glinfer_model_params *params,
                                                     struct glinfer_error *err);
GLINFER_API void glinfer_model_describe(const struct glinfer_model *model,
                                        struct glinfer_model_info *info);
// The model's own tokenizer; lives as long as the model.
GLINFER_API const struct glinfer_tokenizer *
glinfer_model_tokenizer(const struct glinfer_model *model);
// Accepts NULL and a pointer to NULL; sets *model to NULL. A model with sessions ends with the last
// of them.
GLINFER_API void glinfer_model_destroy(struct glinfer_model **model);

//-- tokenizer ---------------------------------------------------------------------------------

// Reads the vocabulary of a GGUF file, which may hold no tensors. Fails with NOT_FOUND, IO,
// BAD_FILE, UNSUPPORTED (names the tokenizer and what is supported), NO_MEMORY.
GLINFER_API struct glinfer_tokenizer *glinfer_tokenizer_load(const char *path,
                                                             struct glinfer_error *err);
// Does the same with what a source has.
GLINFER_API struct glinfer_tokenizer *
glinfer_tokenizer_load_source(const struct glinfer_source *source, struct glinfer_error *err);
GLINFER_API void glinfer_tokenizer_destroy(struct glinfer_tokenizer **tokenizer);

enum glinfer_tokenize_flags {
    GLINFER_TOKENIZE_NO_BOS = 1,     // do not add what the file asks to add around a text
    GLINFER_TOKENIZE_NO_SPECIAL = 2, // text that spells a special token stays text
};

// Encodes text[0..size) as token ids: any bytes, invalid UTF-8 included. Writes at most cap ids and
// sets *n to the number there are, so a call with cap 0 measures. flags: GLINFER_TOKENIZE_*.
// Fails with NO_MEMORY.
GLINFER_API bool glinfer_tokenize(const struct glinfer_tokenizer *tokenizer, const char *text,
                                  size_t size, unsigned flags, int32_t *ids, size_t cap, size_t *n,
                                  struct glinfer_error *err);

// Encodes a query and a text as the model's reranker reads them: in the file's template for it or,
// without one, each with what ends a text, and between them what the file asks for. Sizes as in
// glinfer_tokenize; special tokens spelled in them stay text. Fails with BAD_FILE for a template
// that does not have both, NO_MEMORY.
GLINFER_API bool glinfer_tokenize_pair(const struct glinfer_tokenizer *tokenizer, const char *query,
                                       size_t query_size, const char *text, size_t size,
                                       int32_t *ids, size_t cap, size_t *n,
                                       struct glinfer_error *err);

// The names that glinfer_model_params.chat_template takes, in some order; NULL past the last.
GLINFER_API const char *glinfer_chat_template_at(size_t index);

// Returns the bytes of a token (not ending in 0, may be half a character) and their number in
// *size; control tokens give their name. NULL for an id out of range.
GLINFER_API const char *glinfer_token_bytes(const struct glinfer_tokenizer *tokenizer, int32_t id,
                                            size_t *size);

struct glinfer_message {
    const char *role;    // "system", "user", "assistant"
    const char *content; // UTF-8; text that spells a special token is data, not control
};

// Encodes a conversation with the model's chat template, ready for the assistant's next answer.
// Sizes as in glinfer_tokenize. Fails with UNSUPPORTED if the file has no template or an unknown
// one, INVALID_ARGUMENT for a role that the template does not know, NO_MEMORY.
GLINFER_API bool glinfer_chat_tokenize(const struct glinfer_tokenizer *tokenizer,
                                       const struct glinfer_message *messages, size_t n_messages,
                                       int32_t *ids, size_t cap, size_t *n,
                                       struct glinfer_error *err);

// Says how an encoded conversation ends.
enum glinfer_chat_end {
    GLINFER_CHAT_END_ANSWER,   // with the beginning of the assistant's next answer
    GLINFER_CHAT_END_CONTINUE, // with the text of the last message, which is not empty and which
                               // the model continues
    GLINFER_CHAT_END_MESSAGE,  // after the last message, without the beginning of an answer
};

// A conversation with what messages may have beside a role and a content, as JSON that the model's
// own template finds as it is.
struct glinfer_chat_json {
    size_t struct_size;
    const char *messages;  // an array of objects
    const char *tools;     // an array of objects, or NULL: none
    const char *variables; // an object of what the template also asks for, such as
                           // {"enable_thinking": false}; NULL: none
    // A secret marker, such as 16 random bytes in hex. In all other text of the conversation, text
    // that spells a control token stays text. Between two markers it becomes the token: with the
    // marker "9f2c", the content "9f2c<tool_call>9f2c{...}9f2c</tool_call>9f2c" has the two control
    // tokens of a tool call. For templates that expect earlier calls within the content. NULL: none
    const char *control_fence;
    enum glinfer_chat_end end; // default GLINFER_CHAT_END_ANSWER
};

static inline void glinfer_chat_json_init(struct glinfer_chat_json *chat)
{
    memset(chat, 0, sizeof(*chat));
    chat->struct_size = sizeof(*chat);
}

// Encodes such a conversation. All texts in it are data, but for what stands within fences. A
// template that was chosen by name, or that cannot be run but is recognised, takes messages of a
// role and a text without tools.
// Fails with INVALID_ARGUMENT (invalid JSON, or a conversation that the template refuses, in its
// words), UNSUPPORTED (no template, or one that does not take such a conversation), NO_MEMORY.
GLINFER_API bool glinfer_chat_tokenize_json(const struct glinfer_tokenizer *tokenizer,
                                            const struct glinfer_chat_json *chat, int32_t *ids,
                                            size_t cap, size_t *n, struct glinfer_error *err);
// True if the file has a chat template that is recognised.
GLINFER_API bool glinfer_chat_available(const struct glinfer_tokenizer *tokenizer);

//-- session -----------------------------------------------------------------------------------

enum glinfer_precision {
    GLINFER_PRECISION_AUTO, // F16 where the device has fast halves
    GLINFER_PRECISION_F32,  // every product and sum in 32 bits
    GLINFER_PRECISION_F16,  // products with weights in 16 bits, summed up in 32 block by block,
                           // where that is faster; a device without fast halves computes in 32 bits
                           // all the same, and the log says so
};

struct glinfer_generate_params;
struct glinfer_session; // one timeline of tokens: KV cache, position, sampler

struct glinfer_session_params {
    size_t struct_size;
    uint32_t n_ctx; // tokens; 0: the smaller of the model's and 4096
    enum glinfer_cache_type type_k, type_v;
    // Tokens of a prompt that are processed together, 1..512; 0: 512. An encoder sees a text as a
    // whole: its batch may have, and has for 0, as many tokens as the context.
    uint32_t n_batch;
    uint32_t chain_length; // decode steps between two waits for the GPU, 1..256; 0: by max_batch_ms
                           // (fewer at the start of an answer)
    uint32_t max_batch_ms; // GPU time of a chain or a batch that is aimed at; 0: 100
    glinfer_progress_fn progress; // compiling programs for what is expected
    void *progress_user;
    enum glinfer_precision precision; // of arithmetic
    // A generation to compile for in advance, of which n_prompt (0: prompts of any length),
    // n_predict, n_probs, lookup and the sampling count; NULL: the first generation of each kind
    // compiles what it needs.
    const struct glinfer_generate_params *expected;
    // Percent of the time that answers keep the GPU busy, 1..99: after each submission the session
    // sleeps, so that others can use the GPU; 0, 100: all.
    uint32_t gpu_duty;
};

static inline void glinfer_session_params_init(struct glinfer_session_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

// Allocates the cache and scratch, and records. A generation compiles what none of its kind did
// before; after that, decoding allocates and compiles nothing. Where a chain of steps may be faster
// in one dispatch (GLINFER_DISPATCH_PERSISTENT), a generation takes a program for that from the
// cache before it begins, and tries it out once for each driver and model, in less than a tenth of
// a second; what was found is kept with the compiled programs. Who compiles it:
// glinfer_session_prepare, or glinfer_device_params.compile_in_background. Fails with OVER_BUDGET,
// NO_MEMORY, INVALID_ARGUMENT, CANCELLED, DRIVER, GPU_LOST.
GLINFER_API struct glinfer_session *
glinfer_session_create(struct glinfer_model *model, const struct glinfer_session_params *params,
                       struct glinfer_error *err);
// Creates n sessions, 1 to 16, into sessions[0..n): each is whole, and is destroyed by itself, but
// those answers of theirs that glinfer_begin began decode together, so that each weight is read
// once for all of them. They join and leave at any time, with settings of their own; prompts are
// read in turns. In f32 the tokens of a session do not depend on the other sessions, bit by bit; in
// f16 a tie may be decided differently. If one session samples on the CPU, all of them wait for it
// after every token. The memory of all, reserved at once, is freed with the last session. Fails as
// glinfer_session_create does; sessions then holds NULL.
GLINFER_API bool glinfer_sessions_create(struct glinfer_model *model,
                                         const struct glinfer_session_params *params, uint32_t n,
                                         struct glinfer_session **sessions,
                                         struct glinfer_error *err);
// Accepts NULL and a pointer to NULL; sets *session to NULL. In a callback the session is
// cancelled, and ends with the call.
GLINFER_API void glinfer_session_destroy(struct glinfer_session **session);

// How decode steps are submitted.
enum glinfer_dispatch {
    GLINFER_DISPATCH_DIRECT,   // a dispatch a kernel, with grids from the host
    GLINFER_DISPATCH_INDIRECT, // likewise, grids that grow with the context from the GPU
    // A whole chain in one dispatch, whose groups wait for each other; where tokens are sampled
    // from the whole vocabulary (no top_k, or one over 112) each step up to its logits.
    GLINFER_DISPATCH_PERSISTENT,
    GLINFER_DISPATCH_WAYS, // how many there are
};
// Returns "direct", "indirect" or "persistent", "unknown" for any other number.
GLINFER_API const char *glinfer_dispatch_name(enum glinfer_dispatch dispatch);

struct glinfer_prob {
    int32_t id;
    float logprob; // natural logarithm, over the whole vocabulary before any sampling filter
};

struct glinfer_token {
    int32_t id;       // -1: no token, the text that was held back until the end
    const char *text; // the whole characters that this token completes: valid UTF-8, may be empty
    size_t text_size; // bytes; not ending in 0
    const struct glinfer_prob *probs; // n_probs of them, best first
    uint32_t n_probs;
};

// Receives each token in order; all of it lives only during the call. Returning false stops the
// generation with GLINFER_STOP_CALLBACK.
typedef bool (*glinfer_token_fn)(void *user, const struct glinfer_token *token);

// Added to the logit of a token before anything else; -INFINITY bans it.
struct glinfer_logit_bias {
    int32_t id;
    float bias;
};

// Samplers beyond temperature, top_k, top_p and min_p of struct glinfer_generate_params, with the
// names, formulas, order and defaults of llama.cpp's. In the formulas l is a token's logit, p its
// share of exp(l) among the tokens that the samplers before have left. Values that do nothing cost
// nothing, and logit biases and penalties in front of top_k, top_p and min_p next to nothing; where
// another one does something, each token is chosen by the host, which waits for the logits.
struct glinfer_samplers {
    size_t struct_size;
    // The samplers in order: names with a semicolon between them, or their letters. Samplers that
    // are not listed are off. NULL:
    // "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature", "edskypmxt".
    const char *order;
    uint32_t min_keep; // tokens that typ_p, top_p, min_p and xtc leave at least
    // penalties: for tokens that are n > 0 times among the last repeat_last_n of prompt and answer,
    // l / repeat_penalty where l > 0, else l * repeat_penalty (Keskar et al. 2019); then
    // l - n * frequency_penalty - presence_penalty.
    int32_t repeat_last_n;   // default 64; 0: off; -1: the context
    float repeat_penalty;    // > 0; default 1: off
    float presence_penalty;  // default 0: off
    float frequency_penalty; // default 0: off
    // dry: if the last n tokens were there before, n >= dry_allowed_length, the token that followed
    // them then has l - dry_multiplier * dry_base^(n - dry_allowed_length). Nothing is repeated
    // beyond a breaker, a text of which at most 40 bytes count.
    float dry_multiplier;        // default 0: off
    float dry_base;              // default 1.75; < 1: off
    uint32_t dry_allowed_length; // default 2
    int32_t dry_penalty_last_n;  // tokens that are looked at; default 64; 0: off; -1: the context
    const char *const *dry_breakers; // n_dry_breakers, at most 64; NULL: "\n", ":", "\"", "*"
    size_t n_dry_breakers;
    // top_n_sigma: keeps l >= max l - top_n_sigma * standard deviation of l (Tang et al. 2024).
    float top_n_sigma; // default -1; <= 0: off
    // typ_p: keeps the tokens with the smallest |-ln p - H|, H the entropy, until their p add up to
    // more than typical_p (Meister et al. 2022).
    float typical_p; // default 1: off
    // xtc: with xtc_probability, drops all tokens with p >= xtc_threshold but the least likely.
    float xtc_probability; // default 0: off
    float xtc_threshold;   // default 0.1; > 0.5: off
    // temperature: l / T; with a range T = a + (b - a) * (H / ln n)^dynatemp_exponent, a and b
    // being temperature -+ dynatemp_range, a at least 0, n the number of tokens left.
    float dynatemp_range;    // default 0: off
    float dynatemp_exponent; // default 1
    // Temperature, then mirostat of version 1 or 2, in place of all in `order`: keeps the text's
    // surprise, -log2 p a token, near mirostat_tau; mirostat_eta is the rate (Basu et al. 2021).
    uint32_t mirostat;  // default 0: off
    float mirostat_tau; // default 5
    float mirostat_eta; // default 0.1
    // adaptive_p, behind all others: l = 5 - 10 d^2 / (1 + d), d = |p - t| / 0.3,
    // t = 2 * adaptive_target less the mean p of the tokens chosen before, weighted by
    // adaptive_decay a token. The letter is a; the target alone turns it on.
    float adaptive_target; // default -1; < 0: off
    float adaptive_decay;  // default 0.9
    const struct glinfer_logit_bias *logit_bias;
    size_t n_logit_bias;
};

// The numbers of struct glinfer_samplers: type, field, default, least and greatest value. Others
// fail with INVALID_ARGUMENT.
#define GLINFER_SAMPLER_MAP(X)                                                                     \
    X(uint32_t, min_keep, 0, 0, 1 << 24)                                                           \
    X(int32_t, repeat_last_n, 64, -1, 1 << 30)                                                     \
    X(float, repeat_penalty, 1, 1e-6, 1e6)                                                         \
    X(float, presence_penalty, 0, -1e6, 1e6)                                                       \
    X(float, frequency_penalty, 0, -1e6, 1e6)                                                      \
    X(float, dry_multiplier, 0, 0, 1e6)                                                            \
    X(float, dry_base, 1.75F, 0, 1e6)                                                              \
    X(uint32_t, dry_allowed_length, 2, 0, 1 << 30)                                                 \
    X(int32_t, dry_penalty_last_n, 64, -1, 1 << 30)                                                \
    X(float, top_n_sigma, -1, -1, 1e6)                                                             \
    X(float, typical_p, 1, 0, 1)                                                                   \
    X(float, xtc_probability, 0, 0, 1)                                                             \
    X(float, xtc_threshold, 0.1F, 0, 1)                                                            \
    X(float, dynatemp_range, 0, 0, 1000)                                                           \
    X(float, dynatemp_exponent, 1, 0, 1000)                                                        \
    X(uint32_t, mirostat, 0, 0, 2)                                                                 \
    X(float, mirostat_tau, 5, 0, 1e6)                                                              \
    X(float, mirostat_eta, 0.1F, 0, 1e6)                                                           \
    X(float, adaptive_target, -1, -1, 1)                                                           \
    X(float, adaptive_decay, 0.9F, 0, 0.99)

static inline void glinfer_samplers_init(struct glinfer_samplers *samplers)
{
    memset(samplers, 0, sizeof(*samplers));
    samplers->struct_size = sizeof(*samplers);
#define GLINFER_SAMPLER_SET(type, field, value, least, most) samplers->field = value;
    GLINFER_SAMPLER_MAP(GLINFER_SAMPLER_SET)
#undef GLINFER_SAMPLER_SET
}

// A grammar that an answer keeps to, in GBNF (src/grammar/grammar.h of the source has its rules) or
// as a JSON schema: only tokens that it allows are sampled, and the answer ends where it does, or
// cut off at n_predict. The GPU samples by a mask of what may come, which the host works out
// between two steps.
struct glinfer_grammar {
    size_t struct_size;
    const char *gbnf;        // or NULL
    const char *json_schema; // or NULL; "{}": any JSON
    // A lazy grammar: the text is free until one of these words or tokens comes, and follows the
    // grammar from there on, which describes the word or the token too.
    const char *const *trigger_words; // n_trigger_words, of 1 to 256 bytes
    size_t n_trigger_words;
    const int32_t *trigger_tokens; // n_trigger_tokens ids
    size_t n_trigger_tokens;
    // Texts around the JSON of json_schema, such as those that mark a call of a tool; NULL: none. A
    // control token of the name json_before may stand for it.
    const char *json_before, *json_after;
    uint32_t max_json; // so many of all that, one behind another, at most; 0: one
    // JSON schemas that the rules json-1, json-2, ... of gbnf are the JSON of; gbnf itself then
    // defines no rule of these names, nor of v with a number, nor ws, value, object, member, array,
    // string, char, code, pair, hex, number, integer or never.
    const char *const *schemas;
    size_t n_schemas;
    // Leaves out keywords of schemas that are not supported or contradict each other, instead of
    // failing: an answer may then not satisfy them. Default false.
    bool schemas_are_hints;
};

static inline void glinfer_grammar_init(struct glinfer_grammar *grammar)
{
    memset(grammar, 0, sizeof(*grammar));
    grammar->struct_size = sizeof(*grammar);
}

// Says without a model whether a grammar can be read; which tokens its names are is not known yet.
// Fails with INVALID_ARGUMENT (where, and what is wrong there), UNSUPPORTED (what a schema asks
// for), NO_MEMORY.
GLINFER_API bool glinfer_grammar_check(const struct glinfer_grammar *grammar,
                                       struct glinfer_error *err);

// Says what an answer does when its context is full before n_predict tokens are there.
enum glinfer_context_full {
    GLINFER_CONTEXT_FULL_STOP,  // it ends with GLINFER_STOP_CONTEXT
    GLINFER_CONTEXT_FULL_ERROR, // glinfer_generate fails with CONTEXT_FULL
    // Half of the tokens behind the first n_keep are dropped, and the others processed again, which
    // pauses the answer as a prompt of as many would (progress is called likewise). An answer that
    // broke off behind that cannot be resumed. It ends with GLINFER_STOP_CONTEXT if there is
    // nothing to drop.
    GLINFER_CONTEXT_FULL_SHIFT,
};

struct glinfer_generate_params {
    size_t struct_size;
    const int32_t *prompt; // ids, appended to what the session already holds
    size_t n_prompt;       // at least 1
    int32_t n_predict; // tokens at most; 0: only process the prompt; < 0: to the end of the context
    bool ignore_eos;   // never choose end-of-text tokens; their log-probabilities stay as they are
    uint32_t n_probs;  // log-probabilities wanted a token, 0..64
    float temperature; // <= 0: greedy
    uint32_t top_k;    // 0: off
    float top_p;       // 0 or >= 1: off
    float min_p;       // 0: off
    uint64_t seed;
    const char *const *stop; // n_stop strings that end the answer, and are not part of it
    size_t n_stop;
    glinfer_token_fn on_token; // NULL: tokens are only counted
    void *token_user;
    glinfer_progress_fn progress; // compiling programs, the prompt
    void *progress_user;
    // Goes on with the session's last answer, that glinfer_generate or glinfer_step left unfinished
    // when it failed, or that glinfer_end ended; all else is as it was then. Tokens that were
    // delivered are not delivered again; stats counts them. Fails with INVALID_ARGUMENT if there is
    // none, or the session was reset or rewound.
    bool resume;
    const struct glinfer_samplers *samplers; // NULL: none but those above
    const struct glinfer_grammar *grammar;   // NULL: any text

    enum glinfer_context_full context_full; // what comes then; a prompt that does not fit fails
    int32_t n_keep; // tokens at the beginning of the session that a shift keeps; < 0: all up to the
                    // answer

    // Speculation by prompt lookup: where the last lookup_match tokens of the text or more stood in
    // it before, up to `lookup` of those that followed are computed in one batch with the next
    // token, and those that the settings above would not have chosen are thrown away. Each token is
    // chosen with the seed's numbers for its place, so that the answer is the one without, unless
    // two tokens are so near each other that a batch, whose sums are rounded in another order,
    // prefers the other. There is none where measured times say that it does not pay, with
    // samplers that change logits, a grammar, and in sessions that were created together.
    uint32_t lookup;       // tokens of a draft at most; devices have a limit, 3 to 15; 0: none
    uint32_t lookup_match; // 0: 3
    bool lookup_always;    // also where it does not pay
};

static inline void glinfer_generate_params_init(struct glinfer_generate_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
    params->n_predict = -1;
}

enum glinfer_stop {
    GLINFER_STOP_LIMIT,    // n_predict reached
    GLINFER_STOP_EOS,      // an end-of-text or end-of-turn token
    GLINFER_STOP_WORD,     // one of the stop strings
    GLINFER_STOP_CALLBACK, // on_token returned false
    GLINFER_STOP_CONTEXT,  // the context is full
};

struct glinfer_stats {
    size_t struct_size;
    enum glinfer_stop stop;
    uint32_t prompt_n;               // tokens processed
    uint32_t predicted_n;            // tokens generated
    double prompt_ms;                // from the call to the first token's logits
    double predicted_ms;             // from the first token to the last
    double ttft_ms;                  // from the call to the first on_token
    uint32_t chain_length;           // steps of the longest chain
    uint32_t gpu_waits;              // times the host waited for the GPU
    uint32_t dispatches_per_token;   // of a decode step
    uint32_t n_past;                 // tokens in the cache now, without the last of an answer
    uint64_t peak_memory;            // bytes: the largest resident size of the process so far
    uint64_t weight_bytes_per_token; // bytes of weights a decode step reads
    enum glinfer_dispatch dispatch;  // of the last steps
    double prompt_cpu_ms;            // CPU time of the process, its driver included, in prompt_ms
    double predicted_cpu_ms;         // likewise in predicted_ms
    uint32_t draft_n;                // tokens drafted (glinfer_generate_params.lookup)
    uint32_t draft_n_accepted;       // of those, that were right
    uint32_t stop_index;             // WORD: the text in glinfer_generate_params.stop; else 0
};

// Processes the prompt and generates. Blocks until it ends. stats may be NULL.
// Fails with CONTEXT_FULL (the prompt does not fit; nothing was changed), CANCELLED (the session
// holds the tokens that were delivered), DRIVER (it compiles what is not compiled yet), GPU_LOST (a
// reset, a dispatch that did not run to its end, a wait that took too long), GPU_FAULT (NaN, an id
// out of range), INVALID_ARGUMENT, NO_MEMORY. Every token that was delivered is sound.
GLINFER_API bool glinfer_generate(struct glinfer_session *session,
                                  const struct glinfer_generate_params *params,
                                  struct glinfer_stats *stats, struct glinfer_error *err);

//-- answers in steps ------------------------------------------------------------------------------

// An answer may also come bit by bit, beside what else a program does in its loop:
// glinfer_begin starts it, each glinfer_step of the device takes the answers that were begun as far
// as a budget of time allows and tells one thing that happened, and glinfer_device_fd says when it
// is worth calling again. Several sessions of a device may have answers under way: they take turns,
// but for decode steps of sessions that were created together (glinfer_sessions_create).

enum glinfer_event_kind {
    GLINFER_EVENT_NONE,   // nothing to tell yet
    GLINFER_EVENT_PROMPT, // more of a prompt, or of a cache that was lost or shifted, was submitted
    GLINFER_EVENT_TOKEN,
    GLINFER_EVENT_END, // the answer is over: the session may begin another
};

struct glinfer_event {
    size_t struct_size;
    enum glinfer_event_kind kind;
    struct glinfer_session *session; // whose answer it is; NULL: none's
    // Valid until the next call with the session or its device:
    const struct glinfer_token *token; // TOKEN
    uint32_t done, total;              // PROMPT: tokens
    const struct glinfer_stats *stats; // END; and of an answer that failed, how far it came
};

// Begins an answer, compiling what it needs as glinfer_generate does (glinfer_session_params
// .expected has that done in advance). All of params is copied; its callbacks, if there are any,
// are called by glinfer_step. During an answer only glinfer_step, glinfer_end,
// glinfer_session_cancel and glinfer_session_destroy may be used with the session. Others fail with
// INVALID_ARGUMENT; those that cannot fail end the answer first. Fails as glinfer_generate does
// before its first token.
GLINFER_API bool glinfer_begin(struct glinfer_session *session,
                               const struct glinfer_generate_params *params,
                               struct glinfer_error *err);
// Continues the answers that were begun with sessions of the device and fills *event. Returns after
// about budget_us microseconds. It may overrun by the piece of work in progress, normally less than
// 8 ms. It returns earlier on an event, or when only the GPU is busy. The GPU continues to work
// meanwhile. Event NONE says to call again, at the latest when glinfer_device_fd is readable.
// Fails as glinfer_generate does for the answer of event->session, which then has ended without an
// END event: after glinfer_session_cancel with CANCELLED. Fails with INVALID_ARGUMENT and no
// session if no answer was begun.
GLINFER_API bool glinfer_step(struct glinfer_device *device, uint32_t budget_us,
                              struct glinfer_event *event, struct glinfer_error *err);
// Ends the answer that the session has under way, if any, without waiting for the GPU; the session
// holds the tokens that were delivered. In a callback, when the call returns.
GLINFER_API void glinfer_end(struct glinfer_session *session);
// Returns a descriptor for poll, select and epoll that is readable when glinfer_step has something
// to do; it stays the device's, and is neither read nor closed by the caller. Where a driver has no
// fences of the kernel's (EGL_ANDROID_native_fence_sync), that is an estimate. Fails with -1 and
// IO.
GLINFER_API int glinfer_device_fd(struct glinfer_device *device, struct glinfer_error *err);

// How steps are submitted after glinfer_session_prepare.
struct glinfer_prepared {
    size_t struct_size;
    enum glinfer_dispatch dispatch;
    double step_ns[GLINFER_DISPATCH_WAYS]; // of a step, of ways that were compared; 0: was not
};
// Compiles all that such generations need (n_prompt, 0 for prompts of any length, n_predict,
// temperature, top_k, n_probs, lookup of params), which may take a minute the first time, tries out
// how steps are fastest, and chooses how they are submitted from then on. For programs that
// measure, or that would rather wait before than be slower at first. The session keeps what it
// holds.
// params->progress is called with GLINFER_PHASE_COMPILE; *prepared may be NULL. Fails with
// CANCELLED, DRIVER, NO_MEMORY, OVER_BUDGET, GPU_LOST; where one dispatch cannot be had that is no
// failure.
GLINFER_API bool glinfer_session_prepare(struct glinfer_session *session,
                                         const struct glinfer_generate_params *params,
                                         struct glinfer_prepared *prepared,
                                         struct glinfer_error *err);
// Forgets what the session holds, processes ids[0..n) and sets logprobs[i], i < n - 1, to the
// natural logarithm of the probability of ids[i + 1] after ids[0..i]; the session then holds the n
// tokens. For perplexity: exp(-mean(logprobs)). Fails with CONTEXT_FULL, INVALID_ARGUMENT (fewer
// than two tokens, an id out of range), CANCELLED, NO_MEMORY, DRIVER, GPU_LOST, GPU_FAULT.
GLINFER_API bool glinfer_score(struct glinfer_session *session, const int32_t *ids, size_t n,
                               float *logprobs, struct glinfer_error *err);
// Does the work of glinfer_score and sets top[i * n_top + j], i < n - 1, j < n_top, to the
// likeliest tokens after ids[0..i], the likeliest first; n_top is at most the size of the
// vocabulary. Fails as glinfer_score does.
GLINFER_API bool glinfer_score_top(struct glinfer_session *session, const int32_t *ids, size_t n,
                                   uint32_t n_top, float *logprobs, struct glinfer_prob *top,
                                   struct glinfer_error *err);
struct glinfer_embed_params {
    size_t struct_size;
    enum glinfer_pooling pooling;
    bool is_raw; // as computed; else an embedding has length 1 (those of single tokens and scores
                 // are always as computed)
};

static inline void glinfer_embed_params_init(struct glinfer_embed_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

// Forgets what the session holds and computes the embedding of ids[0..n), which glinfer_tokenize
// gave for a text. Writes at most cap numbers to values and sets *n_values to how many there are:
// glinfer_model_info.n_embedding, with GLINFER_POOLING_NONE as many for each token, with
// GLINFER_POOLING_RANK a score for each class; a call with a cap of 0 only measures. params may be
// NULL. Fails with UNSUPPORTED (the file names no pooling and params neither, or has no
// classifier), INVALID_ARGUMENT (no tokens, an id out of range, no room for all values),
// CONTEXT_FULL (the text is longer than the context or, of an encoder, than a batch), CANCELLED,
// NO_MEMORY, DRIVER, GPU_LOST, GPU_FAULT.
GLINFER_API bool glinfer_embed(struct glinfer_session *session, const int32_t *ids, size_t n,
                               const struct glinfer_embed_params *params, float *values, size_t cap,
                               size_t *n_values, struct glinfer_error *err);
// Forgets all tokens.
GLINFER_API void glinfer_session_reset(struct glinfer_session *session);
// Forgets all tokens behind the first n. Returns how many the session holds now: n, or fewer if it
// held fewer; the last token of an answer counts, an end-of-text token that was not delivered too.
// A conversation goes on by encoding the whole of it anew, rewinding to where those ids begin to
// differ from the ones that the session holds, and generating from the rest.
GLINFER_API size_t glinfer_session_rewind(struct glinfer_session *session, size_t n);
// Returns how many of ids[0..n) are, from the first on, the tokens that the session holds, as
// glinfer_session_rewind counts them: the rest is what a prompt of these ids still has to pay for.
GLINFER_API size_t glinfer_session_match(const struct glinfer_session *session, const int32_t *ids,
                                         size_t n);
// Makes `to` hold the first n tokens that `from` holds, all of them if they are fewer, with their
// keys and values, in place of what it held. Both are sessions of one model with the same cache
// types; the copy is made on the GPU. Fails with INVALID_ARGUMENT, CONTEXT_FULL (the context of
// `to` is shorter than n), DRIVER, GPU_LOST.
GLINFER_API bool glinfer_session_copy(struct glinfer_session *to, struct glinfer_session *from,
                                      size_t n, struct glinfer_error *err);
// Writes what the session holds, tokens, keys and values, to a file that is there whole or not at
// all. A session that loads it goes on as this one would: with the same settings, device and driver
// its answers are the same. An answer that broke off cannot be resumed there. Fails with IO,
// NO_MEMORY, DRIVER, GPU_LOST.
GLINFER_API bool glinfer_session_save(struct glinfer_session *session, const char *path,
                                      struct glinfer_error *err);
// Takes what was saved in place of what the session holds. Fails with BAD_FILE (no saved session,
// truncated, damaged), UNSUPPORTED (another version of the format), INVALID_ARGUMENT (another
// model, other cache types), CONTEXT_FULL, NOT_FOUND, IO, NO_MEMORY, DRIVER, GPU_LOST.
GLINFER_API bool glinfer_session_load(struct glinfer_session *session, const char *path,
                                      struct glinfer_error *err);
// The same in memory: sets *size to the bytes that there are and writes them to data[0..cap); with
// a cap of 0 it only measures. Fails also with INVALID_ARGUMENT if they do not fit.
GLINFER_API bool glinfer_session_save_memory(struct glinfer_session *session, void *data,
                                             size_t cap, size_t *size, struct glinfer_error *err);
GLINFER_API bool glinfer_session_load_memory(struct glinfer_session *session, const void *data,
                                             size_t size, struct glinfer_error *err);
// Cancels the call that runs with the session, or its answer that glinfer_begin began: the call, or
// the next glinfer_step of that answer, fails with CANCELLED after the work in progress (at most
// about max_batch_ms), and the session holds the tokens that were delivered. Has no effect on an
// idle session and on an answer that has delivered its last token: the next call with the session
// forgets the request, so a stop button may come late. May be called from any thread and from a
// signal handler, as long as the session exists.
GLINFER_API void glinfer_session_cancel(struct glinfer_session *session);

//-- profile -------------------------------------------------------------------------------------

// Rates that a device reaches at most, by kernels that only move bytes or only multiply and add.
struct glinfer_device_rates {
    size_t struct_size;
    double copy_gb_per_s; // 1e9 bytes a second, read and written
    double read_gb_per_s; // likewise, read alone: the best of the ways there are
    double gflop_per_s;   // 1e9 f32 operations a second; a multiply-add is two
};

// Measures the device, in under a second on most; for a while it holds two buffers of up to 128
// MiB. Fails with NO_MEMORY, DRIVER, GPU_LOST.
GLINFER_API bool glinfer_device_measure(struct glinfer_device *device,
                                        struct glinfer_device_rates *rates,
                                        struct glinfer_error *err);

// All dispatches of a step, or of a prompt, that have the label and the program in common. Means
// over the runs.
struct glinfer_profile_kernel {
    const char *label;   // what it does there: "attn_out"
    const char *program; // the kernel with its defines: "gemv_residual.comp Q4_1 WG_SIZE=128"
    uint32_t n_dispatches;
    double ns;             // of all of them
    uint64_t weight_bytes; // weights that they read
    uint64_t bytes;        // weights, cached keys and values that they read; 0: neither
    uint64_t flops;        // that these take part in; 0: likewise
};

// One dispatch of the first run.
struct glinfer_profile_dispatch {
    const char *label, *program;
    uint64_t begin_ns, ns; // begin_ns: the time of those before it
    uint64_t bytes, flops; // as above
};

// A dispatch, or a piece of one, as it would be submitted; or, label being NULL, the end of a
// submission.
struct glinfer_planned {
    const char *label, *program;
    uint32_t n_tokens; // of the batch
    uint32_t n_pieces; // that are left of the dispatch, this one included
    double ns;         // estimated: of this piece, of the submission
};

struct glinfer_profile_params {
    size_t struct_size;
    uint32_t n_runs;   // decode steps, or prompts; 0: 16 steps, 1 prompt
    uint32_t n_prompt; // tokens of a prompt; 0: decode steps
    uint32_t depth;    // tokens in the cache before
    // Called, if not NULL, at the end: once for each kernel, the longest time first; once for each
    // dispatch, in order. What they are given lives only during the call.
    void (*on_kernel)(void *user, const struct glinfer_profile_kernel *kernel);
    void (*on_dispatch)(void *user, const struct glinfer_profile_dispatch *dispatch);
    void *user;
    // If not NULL, nothing is compiled, run or measured: called in the order in which a new session
    // would submit n_runs steps or the prompt, with first estimates. No stats are filled.
    void (*on_planned)(void *user, const struct glinfer_planned *planned);
};

static inline void glinfer_profile_params_init(struct glinfer_profile_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

enum glinfer_profile_clock {
    GLINFER_PROFILE_QUERY, // EXT_disjoint_timer_query around each dispatch
    GLINFER_PROFILE_WAIT,  // no such queries, or they tell nothing: the host waits for each
                           // dispatch, so the way to the GPU and back is in each time
};

struct glinfer_profile_stats {
    size_t struct_size;
    enum glinfer_profile_clock clock;
    uint32_t n_runs;       // that were timed
    uint32_t n_repeated;   // runs that were thrown away because the GPU's clock jumped
    uint32_t n_dispatches; // a run
    double kernel_ns;      // sum of the kernels, a run
    double wall_ns;        // a run without any timing inside, by the host's clock
    double host_ns;        // of it, submitting; on a software renderer computing is part of it
    uint64_t weight_bytes; // that a run reads
    // How answers submit greedy steps, as far as that is known; kernels of a persistent dispatch
    // cannot be timed, so that all of the above is of multi-dispatch steps.
    enum glinfer_dispatch dispatch;
    double step_ns[GLINFER_DISPATCH_WAYS]; // as in struct glinfer_prepared
};

// Measures where the time of a decode step, or of a prompt, goes. Runs on made-up tokens and
// forgets what the session held. Fails with CONTEXT_FULL (depth and runs do not fit),
// INVALID_ARGUMENT, CANCELLED, NO_MEMORY, DRIVER, GPU_LOST.
GLINFER_API bool glinfer_profile(struct glinfer_session *session,
                                 const struct glinfer_profile_params *params,
                                 struct glinfer_profile_stats *stats, struct glinfer_error *err);

//-- self-test -------------------------------------------------------------------------------------

// The first time that a program runs with a driver its results are compared with the same worked
// out on the CPU; what is found is kept in the cache folder. One that is wrong, or that the driver
// does not compile, is left out: another takes its place, or an answer fails and names it; answers
// of several sessions take turns where only what computes them together is wrong.
// GLINFER_SELFTEST=off in the environment leaves all that out.

enum glinfer_test_result {
    GLINFER_TEST_RIGHT,
    GLINFER_TEST_WRONG,
    GLINFER_TEST_NOT_COMPILED,
    GLINFER_TEST_NONE, // there is no test of its own
};

struct glinfer_tested {
    const char *program; // the kernel with its defines: "gemv_residual.comp q4_1 WG_SIZE=128"
    enum glinfer_test_result result;
    const char *text; // how far off, what is wrong, or the driver's words
    double ns;        // that the test took
};

// Tests every program that answers of the session's model need, whatever was found before; of one
// that was created together with others also what their answers need together, unless one of them
// is under way. Calls each for every one; what it is given lives only during the call, and it must
// not call back into the library. Forgets what the session held. Fails with UNSUPPORTED (a program
// is wrong, and there is no other), DRIVER, NO_MEMORY, GPU_LOST.
GLINFER_API bool glinfer_selftest(struct glinfer_session *session,
                                  void (*each)(void *user, const struct glinfer_tested *tested),
                                  void *user, struct glinfer_error *err);

//-- tuning ----------------------------------------------------------------------------------------

// How a kernel is spread over invocations is chosen by a table by class of device, or better by
// measuring on the device itself. What was measured is kept in the cache folder, by driver and
// version of this library, and used by every session that is created afterwards, by any process;
// GLINFER_TUNING=off in the environment leaves it unused.

// A kernel on a matrix, and its shape in the words of GLINFER_GEMV and GLINFER_GEMM. Fields that a
// kernel has no use for are 0 or "". The kernels "dispatch" and "batch" are of the device: how
// grids that change are dispatched where nothing is known of the driver, and the form of a small
// GPU's prompt kernels.
struct glinfer_tuned {
    const char *kernel;      // "gemv_qkv"
    const char *type;        // of the weights: "q4_0"
    uint32_t n_rows, n_cols; // of the matrix, or of its part where it is split
    uint32_t extent;         // tokens of a batch
    const char *shape;       // that is used now
    // From glinfer_tune alone:
    const char *table_shape; // the table's: shape itself where none is better beyond the noise
    double table_ns, ns;   // of all such dispatches of a decode step or a batch, with either shape
    uint32_t n_dispatches; // of those
    uint32_t n_candidates; // shapes that were measured, the table's included
};
// Its argument lives only during the call.
typedef void (*glinfer_tuned_fn)(void *user, const struct glinfer_tuned *tuned);

struct glinfer_tune_params {
    size_t struct_size;
    uint32_t max_ms;              // about so long; 0: 10 s, on boards and software renderers 60 s
    glinfer_tuned_fn on_tuned;    // NULL, or called at the end for each, what takes longest first
    glinfer_progress_fn progress; // compiling, then candidates
    void *user;
};

static inline void glinfer_tune_params_init(struct glinfer_tune_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

struct glinfer_tune_stats {
    size_t struct_size;
    enum glinfer_profile_clock clock;
    double table_step_ns, step_ns; // a decode step with the table's shapes, with the new ones
    uint32_t n_sites;              // kernels on matrices that there are
    uint32_t n_measured;           // of them measured before the time was over
    uint32_t n_changed;            // of them with a shape other than the table's
    const char *path;              // the file that keeps them; lives as long as the device
};

// Measures which shapes the session's model runs fastest with on its device, and keeps them.
// Forgets what the session held; its own shapes stay, sessions created from now on have the new
// ones. Fails with IO (nothing can be kept; that is found out first), CANCELLED (nothing has
// changed), NO_MEMORY, DRIVER, GPU_LOST.
GLINFER_API bool glinfer_tune(struct glinfer_session *session,
                              const struct glinfer_tune_params *params,
                              struct glinfer_tune_stats *stats, struct glinfer_error *err);
// Calls each, which may be NULL, for every shape that was measured on the device; returns how many.
GLINFER_API size_t glinfer_device_tuning(const struct glinfer_device *device, glinfer_tuned_fn each,
                                         void *user);
// Forgets them, for which models one dispatch was found to be faster, and what the driver refused.
// Fails with IO.
GLINFER_API bool glinfer_device_reset_tuning(struct glinfer_device *device,
                                             struct glinfer_error *err);

#ifdef __cplusplus
}
#endif

#endif
