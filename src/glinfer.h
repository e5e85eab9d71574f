// glinfer: runs GGUF language models on any Linux GPU with OpenGL ES 3.1 compute shaders.
//
// This is the whole public interface. Objects form a tree, device > model > session: destroy a
// child before its parent. The library prints nothing, sets no signal handler and shares no state
// between devices. Each function restores the caller's current EGL context before it returns. A
// callback that makes another context current must restore it, too.
//
// Threads: several threads may use different devices. A device and all objects that belong to it
// may be used by one thread at a time. Only glinfer_session_cancel may be called from any thread
// and from a signal handler.
//
// Forks: fork before the first device is opened, or call exec. A forked child does not have the
// driver's threads: there, opening a device fails with NO_DEVICE, calls with the parent's objects
// fail with INVALID_ARGUMENT, and destroying them leaves the GPU alone.
//
// Callbacks may call glinfer_session_cancel, the tokenizer functions, the _describe functions and
// the _destroy functions. An object that is destroyed in a callback is released when the running
// call returns. Other functions that need the device fail with INVALID_ARGUMENT in a callback;
// glinfer_session_reset and _rewind have no effect there. Pointers that a callback receives are
// valid until it returns.
//
// Settings: every params struct starts with struct_size, which its _init function sets; a field of
// 0 means the default. The struct and the memory that it points to need to live only until the
// call returns. Structs that a function fills start with struct_size too; the caller sets it to the
// sizeof of the struct.
//
// Errors: a fallible function returns bool, or a pointer that may be NULL, and fills *err if err is
// not NULL. After a failure the objects remain usable, except after GPU_LOST and GPU_FAULT: then
// call glinfer_device_recover. Functions without an error result ignore an invalid call.
//
// Statuses, unless a function says more: INVALID_ARGUMENT means a NULL that is not allowed, an
// unknown struct_size, an enum out of range, or a call that a callback may not make. NO_MEMORY
// means that an allocation on the host or the GPU failed. CANCELLED means that a progress callback
// returned false or that glinfer_session_cancel was called. DRIVER means that the driver failed to
// create an object or to compile a program. GPU_LOST means a reset, a dispatch that did not run to
// its end, or a wait that took too long. GPU_FAULT means an impossible result, such as NaN or a
// token id out of range.
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

// Returns "MAJOR.MINOR.PATCH" of the library that runs, to compare with the macros above.
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
    char message[1024]; // one sentence in UTF-8 with the object, the reason and, where there is
                        // one, a hint; never empty on failure
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

// Receives a line of the log, without a newline.
typedef void (*glinfer_log_fn)(void *user, enum glinfer_log_level level, const char *message);

enum glinfer_phase {
    GLINFER_PHASE_LOAD,    // weights are copied to the GPU; counted in bytes
    GLINFER_PHASE_COMPILE, // programs are compiled or read from the cache; counted in programs
    GLINFER_PHASE_PROMPT,  // the prompt is processed; counted in tokens
    GLINFER_PHASE_TUNE,    // kernel shapes are measured; counted in shapes
};

// Receives the progress of a call: done of total units of the phase. Returning false cancels the
// call, which fails with CANCELLED.
typedef bool (*glinfer_progress_fn)(void *user, enum glinfer_phase phase, uint64_t done,
                                    uint64_t total);

//-- device ------------------------------------------------------------------------------------

struct glinfer_device; // an EGL context with its programs; owns no model

// EGL objects of a host application that renders with GLES, as void * so that this header does not
// include EGL. They must stay valid until the device has been destroyed with its last model; the
// device destroys neither the display nor the context. On a display without
// EGL_TRACK_REFERENCES_KHR any eglTerminate terminates the display for everyone, so the application
// destroys the device before it.
//
// With context NULL (preferred) the device creates its own context on the display and does not
// touch the application's. With a context the device computes in it. Each call then saves the state
// that it changes (the program, buffer bindings, buffer textures) and pending GL errors, and
// restores both before it returns, except GL_OUT_OF_MEMORY. In callbacks the state is the device's,
// and the application must not use GL. A GL program that was deleted while it was current does not
// survive the call.
struct glinfer_host_gl {
    size_t struct_size;
    void *display;       // EGLDisplay, initialised
    void *share_context; // EGLContext of the display whose objects the device's context shares;
                         // NULL: shares none
    void *context;       // EGLContext of OpenGL ES 3.1 or newer; NULL: the device creates its own
    // Called before and after each use of the context, in the calling thread. make_current makes
    // the context current and returns false if it cannot; release_current undoes that. They may
    // take locks and must not call the library. The context that was current before is restored.
    // Both NULL: the context is already current in every thread that calls the library.
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
    const char *device;    // "gbm", "gbm:/dev/dri/renderD128", "egl", "egl:1", "surfaceless"; NULL
                           // or "auto": the best device
    bool allow_software;   // accept a renderer that runs on the CPU (llvmpipe, softpipe, lavapipe)
    bool debug;            // enable debug messages of the driver and log them
    const char *cache_dir; // folder of compiled programs; NULL: $XDG_CACHE_HOME/glinfer or
                           // ~/.cache/glinfer; "": no cache
    glinfer_log_fn log;    // NULL: silent
    void *log_user;
    // Compile slow programs in a separate process (glinfer-compile, installed with the library),
    // which may outlive the caller. Later sessions load these programs from the cache.
    bool compile_in_background;
    // Request a context of low priority (EGL_IMG_context_priority); no effect on drivers without
    // it.
    bool low_priority;
    // EGL objects of the application, used in place of device, debug and low_priority; NULL: the
    // device opens its own. Disables compile_in_background.
    const struct glinfer_host_gl *host;
};

static inline void glinfer_device_params_init(struct glinfer_device_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

struct glinfer_device_info {
    size_t struct_size;
    char device[128]; // value of glinfer_device_params.device that selects this one; "host"
    char
        refusal[1024]; // why the device cannot be used; empty: usable, and the fields below are set
    char renderer[128]; // GL_RENDERER
    char vendor[128];   // GL_VENDOR
    char version[128];  // GL_VERSION
    bool is_software;
    bool is_indirect;                // grids that change are dispatched indirectly
    bool has_timer_query;            // EXT_disjoint_timer_query
    bool has_subgroups;              // KHR_shader_subgroup
    bool has_program_binary;         // compiled programs can be cached, unless cache_refusal is set
    uint32_t max_storage_blocks;     // storage blocks per compute shader
    uint64_t max_storage_block_size; // bytes
    uint32_t storage_alignment;      // bytes
    uint32_t max_invocations;        // invocations per workgroup
    uint32_t max_shared_size;        // bytes of shared memory per workgroup
    uint32_t max_uniform_block_size; // bytes
    uint32_t uniform_alignment;      // bytes
    uint32_t max_group_count;        // workgroups in x
    bool has_fast_half;              // 16-bit arithmetic was measured to be faster than 32-bit
    uint32_t n_tuned;                // kernel shapes that glinfer_tune measured on this device
    uint32_t dispatches; // bit i: decode steps can be submitted as value i of enum glinfer_dispatch
    char cache_refusal[512]; // why the cache is not used; empty: it is used
    char quirks[160];        // quirks set by the driver's name and by GLINFER_QUIRKS; or "none"
    char half_refusal[200];  // why models compute in f32, by the latest self-test; empty: no fault
                             // of 16-bit arithmetic is known
    uint32_t max_batch;      // maximum number of prompt tokens in a batch of a session: 512 or more
};

// Calls each once for every device that could be opened or was refused, best first, and returns the
// number of usable devices. Opens and closes a context for each. params may be NULL; its field
// device selects the devices, its field host is ignored. info is valid during the call of each.
GLINFER_API size_t glinfer_device_list(const struct glinfer_device_params *params,
                                       void (*each)(void *user,
                                                    const struct glinfer_device_info *info),
                                       void *user);

// Opens a device. params may be NULL. Returns a device that the caller destroys. Fails with
// NO_DEVICE (no device is usable, with the refusal of each; or the process was forked from one that
// used a device), IO (as glinfer_driver_cache_check), INVALID_ARGUMENT, NO_MEMORY. With a host's
// context it also fails with INVALID_ARGUMENT if that context is not current, DRIVER if it cannot
// be made current, and GPU_LOST if a reset has ended it; every call that needs the device fails in
// these ways.
GLINFER_API struct glinfer_device *glinfer_device_create(const struct glinfer_device_params *params,
                                                         struct glinfer_error *err);
// Checks that the disk has room for the shader cache of Mesa's drivers. On a full disk Mesa would
// end the process with SIGBUS, so glinfer_device_create fails then. A program that prefers to run
// without that cache calls this function before it starts threads or uses EGL, and sets
// MESA_SHADER_CACHE_DISABLE=true in its environment if it returns false. The cache folder of
// glinfer_device_params is not affected. Fails with IO.
GLINFER_API bool glinfer_driver_cache_check(struct glinfer_error *err);
// Fills *info up to info->struct_size.
GLINFER_API void glinfer_device_describe(const struct glinfer_device *device,
                                         struct glinfer_device_info *info);
// Recovers a device after GPU_LOST or GPU_FAULT, with all its models and sessions. Opens a new
// context, loads the programs from the cache and the weights from the models' sources; sessions
// keep their tokens and rebuild their KV caches in the next call. Answers do not change;
// glinfer_generate_params.resume continues one that was interrupted. progress may be NULL; its
// phase is GLINFER_PHASE_LOAD. Fails with NO_DEVICE, NOT_FOUND, IO, BAD_FILE (a model's file was
// replaced), UNSUPPORTED (a model's source was transient; checked first), NO_MEMORY, CANCELLED,
// DRIVER, GPU_LOST. The device is then still lost, and the call can be repeated.
GLINFER_API bool glinfer_device_recover(struct glinfer_device *device, glinfer_progress_fn progress,
                                        void *user, struct glinfer_error *err);
// Replaces the EGL objects of a device that was created with a host's GL, after the application has
// lost its context. The device is lost until glinfer_device_recover, which uses the new objects; GL
// objects in the old context end with it. Fails with INVALID_ARGUMENT.
GLINFER_API bool glinfer_device_set_host(struct glinfer_device *device,
                                         const struct glinfer_host_gl *host,
                                         struct glinfer_error *err);
// Destroys a device and sets *device to NULL. Accepts NULL and a pointer to NULL. A device that has
// models is released with the last of them. If a host's context can no longer be made current, the
// device's GL objects stay in it.
GLINFER_API void glinfer_device_destroy(struct glinfer_device **device);

//-- model -------------------------------------------------------------------------------------

struct glinfer_model;     // weights on the GPU and the tokenizer
struct glinfer_tokenizer; // text <-> token ids; needs no GPU

// Element type of the KV cache. Q8_0 and Q4_0 store blocks of 32 values in ggml's layout.
enum glinfer_cache_type {
    GLINFER_CACHE_F16, // default
    GLINFER_CACHE_F32,
    GLINFER_CACHE_Q8_0, // 53 % of the size of f16; error up to 0.4 % of the block's largest value
    GLINFER_CACHE_Q4_0, // 28 % of the size of f16; error up to 6 %, of a few values 12 %
};

enum glinfer_source_kind {
    GLINFER_SOURCE_PATH,
    GLINFER_SOURCE_FD,
    GLINFER_SOURCE_MEMORY,
    GLINFER_SOURCE_READER,
};

// Reads the bytes [offset, offset + size), which are within the length, into data. Returns false if
// it cannot read all of them.
typedef bool (*glinfer_read_fn)(void *user, uint64_t offset, void *data, size_t size);

// The place of a GGUF file: a file, a part of one, memory, or a callback. The calling thread reads
// it during glinfer_model_inspect, glinfer_tokenizer_load_source, glinfer_model_load, and
// glinfer_device_recover, which reads the weights again. So the memory, or the data that the reader
// uses, must stay valid and unchanged until the model has been destroyed with its last session,
// unless is_transient is set. Bytes that change meanwhile are reported where that can be detected;
// reads never exceed the length.
struct glinfer_source {
    size_t struct_size;
    enum glinfer_source_kind kind;
    const char *name; // name in messages; NULL: the path, or the kind
    const char *path; // PATH; opened again by glinfer_device_recover. For a model in several
                      // files, such as m-00001-of-00003.gguf, any of them; the others are in
                      // the same folder. Or a folder with config.json, tokenizer.json and
                      // SafeTensors
    int fd;           // FD: a regular file; duplicated for the model's lifetime, read with pread
    uint64_t offset;  // PATH, FD: bytes before the GGUF file
    uint64_t length;  // bytes; 0 with PATH and FD: to the end of the file
    const void *data; // MEMORY
    glinfer_read_fn read; // READER; the rules for callbacks apply
    void *user;
    bool is_transient; // MEMORY, READER: valid only during the call; glinfer_device_recover then
                       // fails with UNSUPPORTED
    // PATH of a folder of SafeTensors: type of its large matrices on the GPU, "q8_0", "q5_1",
    // "q5_0", "q4_1", "q4_0", "f16", "bf16", or "none" for that of the files; NULL: "q8_0"
    const char *quantize;
};

static inline void glinfer_source_init(struct glinfer_source *source)
{
    memset(source, 0, sizeof(*source));
    source->struct_size = sizeof(*source);
    source->fd = -1;
}

// How the vectors of a text's tokens become its embedding.
enum glinfer_pooling {
    GLINFER_POOLING_DEFAULT, // as the file says
    GLINFER_POOLING_NONE,    // the vectors of all tokens, one after another
    GLINFER_POOLING_MEAN,    // the mean of all vectors
    GLINFER_POOLING_CLS,     // the vector of the first token
    GLINFER_POOLING_LAST,    // the vector of the last token
    GLINFER_POOLING_RANK,    // scores by the file's classifier, such as a reranker's
};

struct glinfer_model_params {
    size_t struct_size;
    const char *path; // a GGUF file, for a model in several files any of them; or a folder with
                      // config.json, tokenizer.json and SafeTensors
    // Maximum number of bytes for weights, cache and scratch; 0: unlimited. A software renderer
    // also observes the process's address space (ulimit -v) and its cgroup.
    uint64_t mem_budget;
    uint32_t n_ctx; // context in tokens that the budget includes; 0: as glinfer_session_params
    enum glinfer_cache_type type_k, type_v; // cache types that the budget includes
    glinfer_progress_fn progress;           // phase GLINFER_PHASE_LOAD; NULL: not called
    void *progress_user;
    // Name of a template, such as "chatml", or a Jinja text; NULL: the template of the file.
    const char *chat_template;
    const struct glinfer_source *source; // in place of path, which is NULL then
    // Sessions of glinfer_sessions_create that the budget includes, or texts that a transcription
    // decodes together: its beam_size or, if that is larger, its best_of; 0: 1
    uint32_t n_sessions;
    const char *quantize; // of a folder at path, as in glinfer_source; NULL: "q8_0"
    // LoRA adapters in GGUF files or folders of PEFT, at most 16: pairs of low-rank matrices A and
    // B, which make W x + scale * alpha / rank * B (A x) of a matrix W of attention or of a dense
    // network. They are loaded next to the weights, which stay as they are. Each session has scales
    // of its own (glinfer_session_set_adapter_scales).
    const struct glinfer_source *const *adapters; // (n_adapters)
    uint32_t n_adapters;
    const float *adapter_scales; // (n_adapters) that sessions begin with; NULL: 1 each
    // Adds the product of the only adapter, times its scale, to the weights while they are loaded.
    // Answers then take no more time than the model's alone, but the weights are rounded to their
    // type once more, sessions have no adapters, and no scale can be changed. The matrices that the
    // adapter changes are of f32, f16, bf16, q8_0, q5_1, q5_0, q4_1 or q4_0.
    bool merge_adapter;
};

static inline void glinfer_model_params_init(struct glinfer_model_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

// The properties of a model file and an estimate of the memory that it needs, found without a GPU
// and without reading the weights.
struct glinfer_model_info {
    size_t struct_size;
    char architecture[64];  // general.architecture
    char name[128];         // general.name, may be empty
    char description[128];  // as llama-bench prints it, such as "llama 135M Q4_1"
    char types[256];        // tensor types with their number, such as "210 q4_1, 61 f32, 1 q8_0";
                            // of MLX also its format: "(MLX affine, 4 bits, groups of 64)"
    char tokenizer[64];     // tokenizer.ggml.model, with tokenizer.ggml.pre after a slash; "steps"
                            // there if the file only says step by step how to cut words
    char chat_template[64]; // the template's name, "jinja" if it has no name, "none" or "unknown"
    bool is_supported;      // false: the model cannot run, for the reason in refusal
    char refusal[1024];
    uint64_t file_size;   // bytes
    uint64_t weight_size; // bytes of all tensors in the file
    uint64_t n_params;    // elements of all tensors
    uint32_t n_layer, n_embd, n_ff, n_head, n_kv_head, head_dim, n_vocab; // 0: has none
    uint32_t n_ctx_train; // context in tokens that the model was trained with
    // Estimates for n_ctx, the cache types and n_sessions of the params (bytes):
    uint32_t n_ctx;
    uint64_t weights, kv_cache, scratch; // on the GPU
    uint64_t peak_host;                  // on the host: vocabulary, staging, programs
    uint64_t largest_binding;            // largest storage range that a kernel binds
    enum glinfer_pooling pooling;        // of embeddings; GLINFER_POOLING_DEFAULT: not in the file
    uint32_t n_embedding;                // numbers in an embedding
    bool is_encoder;                     // computes embeddings and generates no text
    uint32_t n_sessions;                 // sessions that kv_cache and scratch are for
    uint64_t drafts;     // additional bytes on the GPU, at most, once an answer uses drafts
    bool is_speech;      // transcribes sound and generates no other text
    uint32_t n_language; // is_speech: it knows the first ones of glinfer_speech_language
    // Sizes of a speech model's encoder, or 0; all others are those of the decoder.
    uint32_t n_encoder_layer, n_encoder_ctx; // n_encoder_ctx: positions of 20 ms
    uint32_t n_mel;                          // bands of the spectrogram
    uint32_t file_type;                      // general.file_type, such as 1: f16, 7: q8_0
    // Sampling that the file recommends (general.sampling.*, or a folder's generation_config.json);
    // below 0: it recommends none.
    float temperature, top_p, min_p;
    int32_t top_k;         // 0: off
    float repeat_penalty;  // with the tokens that it counts, if it is recommended
    int32_t repeat_last_n; // -1: the context
    uint64_t checkpoint;   // bytes on the GPU of a checkpoint of a session; 0: no recurrent layers
    char template_fault[512]; // why the file's own chat template cannot be run; empty: it can
    // A LoRA adapter is a GGUF file or a folder of PEFT: is_supported is false, sizes of a model
    // are 0, and architecture, which folders do not name, is that of its base model.
    bool is_adapter;
    uint32_t adapter_min_rank, adapter_max_rank; // of its pairs of matrices
    uint32_t n_adapted;                          // matrices of the base model that it changes
    // Products count alpha / rank; with PEFT's use_rslora alpha is that of adapter_config.json
    // times the root of the rank; 0: they count as they are.
    float adapter_min_alpha, adapter_max_alpha;
    char base_model[128]; // name of the base model, may be empty
};

// Reads the metadata of a model file and fills *info. A valid file that cannot be run is not a
// failure: is_supported is false. Fails with NOT_FOUND, IO, BAD_FILE, NO_MEMORY, INVALID_ARGUMENT.
GLINFER_API bool glinfer_model_inspect(const struct glinfer_model_params *params,
                                       struct glinfer_model_info *info, struct glinfer_error *err);

// Writes the folder at params->path to a GGUF file at path, which is replaced if it exists and
// appears once it is complete. Reads only path, quantize, progress and progress_user of params.
// Needs no device. Fails as glinfer_model_inspect, and with UNSUPPORTED (the family, the tokenizer,
// types of tensors), IO (the disk is full, path is not a regular file), CANCELLED.
GLINFER_API bool glinfer_model_convert(const struct glinfer_model_params *params, const char *path,
                                       struct glinfer_error *err);

// Loads a model onto the device. Returns a model that the caller destroys. Uses worker threads,
// with all signals blocked, that exit before it returns. Fails as glinfer_model_inspect, and with
// UNSUPPORTED (the model cannot run, as glinfer_model_info.refusal says), OVER_BUDGET, CANCELLED,
// DRIVER, GPU_LOST.
GLINFER_API struct glinfer_model *glinfer_model_load(struct glinfer_device *device,
                                                     const struct glinfer_model_params *params,
                                                     struct glinfer_error *err);
// Fills *info up to info->struct_size, with the settings that the model was loaded with.
GLINFER_API void glinfer_model_describe(const struct glinfer_model *model,
                                        struct glinfer_model_info *info);
// Returns the model's tokenizer, which the model owns; NULL for a speech model.
GLINFER_API const struct glinfer_tokenizer *
glinfer_model_tokenizer(const struct glinfer_model *model);
// Destroys a model and sets *model to NULL. Accepts NULL and a pointer to NULL. A model that has
// sessions is released with the last of them.
GLINFER_API void glinfer_model_destroy(struct glinfer_model **model);

//-- tokenizer ---------------------------------------------------------------------------------

// Loads the vocabulary of a GGUF file, which may contain no tensors. Returns a tokenizer that the
// caller destroys. Fails with NOT_FOUND, IO, BAD_FILE, UNSUPPORTED (an unknown kind of tokenizer),
// NO_MEMORY.
GLINFER_API struct glinfer_tokenizer *glinfer_tokenizer_load(const char *path,
                                                             struct glinfer_error *err);
// Loads the vocabulary of a source, as glinfer_tokenizer_load does of a file.
GLINFER_API struct glinfer_tokenizer *
glinfer_tokenizer_load_source(const struct glinfer_source *source, struct glinfer_error *err);
// Destroys a tokenizer that was loaded by the caller and sets *tokenizer to NULL. Accepts NULL and
// a pointer to NULL.
GLINFER_API void glinfer_tokenizer_destroy(struct glinfer_tokenizer **tokenizer);

enum glinfer_tokenize_flags {
    GLINFER_TOKENIZE_NO_BOS = 1,     // omit the tokens that the file adds around a text
    GLINFER_TOKENIZE_NO_SPECIAL = 2, // text that spells a special token stays text
};

// Encodes text[0..size), any bytes, as token ids. Writes at most cap ids and sets *n to the number
// of ids of the whole text, so a call with cap 0 measures. flags: GLINFER_TOKENIZE_*. Fails with
// NO_MEMORY.
GLINFER_API bool glinfer_tokenize(const struct glinfer_tokenizer *tokenizer, const char *text,
                                  size_t size, unsigned flags, int32_t *ids, size_t cap, size_t *n,
                                  struct glinfer_error *err);

// Encodes a query and a text in the form that the model's reranker expects: by the file's rerank
// template or, without one, each followed by EOS and separated by SEP where the file requires it.
// query_size and size are bytes; ids, cap and n are as in glinfer_tokenize. Special tokens that the
// query or the text spells stay text. Fails with BAD_FILE (the template does not contain both),
// NO_MEMORY.
GLINFER_API bool glinfer_tokenize_pair(const struct glinfer_tokenizer *tokenizer, const char *query,
                                       size_t query_size, const char *text, size_t size,
                                       int32_t *ids, size_t cap, size_t *n,
                                       struct glinfer_error *err);

// Returns a name that glinfer_model_params.chat_template accepts, in unspecified order; NULL if
// index is out of range.
GLINFER_API const char *glinfer_chat_template_at(size_t index);

// Returns the bytes of a token and sets *size to their number. They do not end in 0 and may be a
// part of a character; a control token yields its name. The tokenizer owns them. NULL if id is out
// of range.
GLINFER_API const char *glinfer_token_bytes(const struct glinfer_tokenizer *tokenizer, int32_t id,
                                            size_t *size);

// Copies at most cap of the ids of tokens that end an answer to ids. Returns their number, at most
// 16; 0 without a tokenizer.
GLINFER_API size_t glinfer_token_ends(const struct glinfer_tokenizer *tokenizer, int32_t *ids,
                                      size_t cap);

struct glinfer_message {
    const char *role;    // "system", "user", "assistant"
    const char *content; // UTF-8; text that spells a special token stays text
};

// Encodes a conversation by the model's chat template, up to the start of the assistant's next
// answer. ids, cap and n are as in glinfer_tokenize. Fails with UNSUPPORTED (the file has no
// template or an unknown one), INVALID_ARGUMENT (the template refuses a role), NO_MEMORY.
GLINFER_API bool glinfer_chat_tokenize(const struct glinfer_tokenizer *tokenizer,
                                       const struct glinfer_message *messages, size_t n_messages,
                                       int32_t *ids, size_t cap, size_t *n,
                                       struct glinfer_error *err);

// The end of an encoded conversation.
enum glinfer_chat_end {
    GLINFER_CHAT_END_ANSWER,   // the start of the assistant's next answer
    GLINFER_CHAT_END_CONTINUE, // the text of the last message, which must not be empty; the model
                               // continues it
    GLINFER_CHAT_END_MESSAGE,  // the end of the last message, without the start of an answer
};

// A conversation in JSON, which the model's chat template receives unchanged: messages may have
// more fields than role and content.
struct glinfer_chat_json {
    size_t struct_size;
    const char *messages;  // an array of objects
    const char *tools;     // an array of objects; NULL: no tools
    const char *variables; // an object of further variables of the template, such as
                           // {"enable_thinking": false}; NULL: no variables
    // A secret delimiter, such as 16 random bytes in hex. In all other text of the conversation,
    // text that spells a control token stays text. Between two delimiters it becomes the token:
    // with the delimiter "9f2c", the content "9f2c<tool_call>9f2c{...}9f2c</tool_call>9f2c" has the
    // two control tokens of a tool call. For templates that expect earlier calls within the
    // content. NULL: no delimiter.
    const char *control_fence;
    enum glinfer_chat_end end; // default GLINFER_CHAT_END_ANSWER
};

static inline void glinfer_chat_json_init(struct glinfer_chat_json *chat)
{
    memset(chat, 0, sizeof(*chat));
    chat->struct_size = sizeof(*chat);
}

// Encodes a conversation in JSON by the model's chat template. ids, cap and n are as in
// glinfer_tokenize. Control tokens that a text spells stay text, except between delimiters. A
// template that was chosen by name, or that is recognised but cannot be run, accepts only messages
// of a role and a text, without tools. Fails with INVALID_ARGUMENT (invalid JSON, or a conversation
// that the template refuses, with its message), UNSUPPORTED (no template, or one that does not
// accept this conversation), NO_MEMORY.
GLINFER_API bool glinfer_chat_tokenize_json(const struct glinfer_tokenizer *tokenizer,
                                            const struct glinfer_chat_json *chat, int32_t *ids,
                                            size_t cap, size_t *n, struct glinfer_error *err);
// Writes a conversation in JSON as the model's chat template does, without the BOS token:
// tokenizing the text gives the ids of glinfer_chat_tokenize_json unless contents spell control
// tokens. Copies at most cap bytes, which do not end in 0, to text and sets *size to the size of
// the whole. Fails as glinfer_chat_tokenize_json does.
GLINFER_API bool glinfer_chat_write_json(const struct glinfer_tokenizer *tokenizer,
                                         const struct glinfer_chat_json *chat, char *text,
                                         size_t cap, size_t *size, struct glinfer_error *err);
// Returns the Jinja text of the chat template; NULL without one. The tokenizer owns it.
GLINFER_API const char *glinfer_chat_template_text(const struct glinfer_tokenizer *tokenizer);
// Returns true if the file has a chat template that can be used.
GLINFER_API bool glinfer_chat_available(const struct glinfer_tokenizer *tokenizer);

//-- session -----------------------------------------------------------------------------------

enum glinfer_precision {
    GLINFER_PRECISION_AUTO, // F16 where the device has fast 16-bit arithmetic, else F32
    GLINFER_PRECISION_F32,  // 32 bits in every product and sum
    GLINFER_PRECISION_F16,  // 16 bits in products with weights where that is faster, 32 bits in the
                            // sums over blocks; a device without fast 16-bit arithmetic uses F32,
                            // with a line in the log
};

struct glinfer_generate_params;
struct glinfer_session; // one sequence of tokens: KV cache, position, sampler

struct glinfer_session_params {
    size_t struct_size;
    uint32_t n_ctx; // context in tokens; 0: the smaller of the model's and 4096
    enum glinfer_cache_type type_k, type_v; // types of the KV cache
    // Maximum number of prompt tokens in a batch, 1 to max_batch of the device; 0: max_batch. An
    // encoder processes a text in one batch: up to the context, which is also its default.
    uint32_t n_batch;
    uint32_t chain_length; // decode steps in a submission, 1 to 256; 0: as many as max_batch_ms
                           // allows, fewer at the start of an answer
    uint32_t max_batch_ms; // target for the GPU time of a submission in ms; 0: 100
    glinfer_progress_fn progress; // compiling programs for `expected`; NULL: not called
    void *progress_user;
    enum glinfer_precision precision; // of arithmetic
    // A generation whose programs are compiled in advance, as its n_prompt (of that length; 0: of
    // any), n_predict, n_probs, lookup and samplers require. NULL: the first generation of each
    // kind compiles its programs.
    const struct glinfer_generate_params *expected;
    // Percentage of the time that answers keep the GPU busy, 1 to 99: the session sleeps after each
    // submission, so that others can use the GPU. 0 or 100: no sleep.
    uint32_t gpu_duty;
    // Accepts a speech model, whose session serves glinfer_profile, glinfer_selftest and
    // glinfer_tune only; false: the creation fails with UNSUPPORTED.
    bool allows_speech;
    // Maximum number of checkpoints that the session keeps (glinfer_generate_params.checkpoints), 0
    // to 32. Each takes glinfer_model_info.checkpoint bytes on the GPU once it is needed; without
    // that memory the session has fewer.
    uint32_t n_checkpoints;
};

static inline void glinfer_session_params_init(struct glinfer_session_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

// Creates a session: allocates the KV cache and scratch and records the dispatch lists. params may
// be NULL. Returns a session that the caller destroys. The first generation of a kind compiles its
// programs; after that, decoding allocates and compiles nothing. Where persistent dispatch
// (GLINFER_DISPATCH_PERSISTENT) may be faster and its program is in the cache, a generation tests
// it once for each driver and model, in less than 0.1 s, and keeps the result in the cache. That
// program is compiled by glinfer_session_prepare or glinfer_device_params.compile_in_background.
// Fails with OVER_BUDGET, NO_MEMORY, INVALID_ARGUMENT, CANCELLED, DRIVER, GPU_LOST.
GLINFER_API struct glinfer_session *
glinfer_session_create(struct glinfer_model *model, const struct glinfer_session_params *params,
                       struct glinfer_error *err);
// Creates n sessions, 1 to 16, whose answers can be batched, and stores them in sessions[0..n). The
// caller destroys each. Answers that glinfer_begin began decode together, so each weight is read
// once for all of them; they join and leave at any time and have their own settings. Prompts are
// processed in turns. In f32 the tokens of a session do not depend on the other sessions, bit by
// bit; in f16 a tie may be decided differently. If one session samples on the CPU, all of them wait
// for it after every token. The memory of all sessions is allocated at once and freed with the last
// one. Fails as glinfer_session_create; sessions then holds NULL.
GLINFER_API bool glinfer_sessions_create(struct glinfer_model *model,
                                         const struct glinfer_session_params *params, uint32_t n,
                                         struct glinfer_session **sessions,
                                         struct glinfer_error *err);
// Destroys a session and sets *session to NULL. Accepts NULL and a pointer to NULL. In a callback
// the session is cancelled, and released when the running call returns.
GLINFER_API void glinfer_session_destroy(struct glinfer_session **session);

// How decode steps are submitted.
enum glinfer_dispatch {
    GLINFER_DISPATCH_DIRECT,   // one dispatch per kernel, with grids from the host
    GLINFER_DISPATCH_INDIRECT, // one dispatch per kernel; grids that grow with the context are
                               // computed on the GPU
    // One dispatch for several steps, whose workgroups wait for each other. Where tokens are
    // sampled from the whole vocabulary (top_k 0 or over 112), and where sessions that were created
    // together share their steps, one dispatch for each step up to its logits.
    GLINFER_DISPATCH_PERSISTENT,
    GLINFER_DISPATCH_WAYS, // number of values
};
// Returns "direct", "indirect" or "persistent", "unknown" for any other number.
GLINFER_API const char *glinfer_dispatch_name(enum glinfer_dispatch dispatch);

struct glinfer_prob {
    int32_t id;
    float logprob; // natural logarithm, over the whole vocabulary before any sampler
};

struct glinfer_token {
    int32_t id;       // -1: no token; text was held back until the end of the answer
    const char *text; // the whole characters that this token completes: valid UTF-8, may be empty
    size_t text_size; // bytes; text does not end in 0
    const struct glinfer_prob *probs; // n_probs of them, the most likely first
    uint32_t n_probs;
};

// Receives each token in order. Returning false ends the answer with GLINFER_STOP_CALLBACK.
typedef bool (*glinfer_token_fn)(void *user, const struct glinfer_token *token);

// A number that is added to the logit of a token before all samplers; -INFINITY bans the token.
struct glinfer_logit_bias {
    int32_t id;
    float bias;
};

// Samplers in addition to temperature, top_k, top_p and min_p of struct glinfer_generate_params,
// with the names, formulas, order and defaults of llama.cpp. In the formulas l is the logit of a
// token, and p its probability among the tokens that the previous samplers kept. The GPU applies
// logit biases, and penalties before top_k, top_p and min_p. If another sampler is active the host
// chooses each token, and waits for the logits to do so. Inactive samplers cost no time.
struct glinfer_samplers {
    size_t struct_size;
    // The samplers in order: names separated by semicolons, or their letters. Samplers not listed
    // are disabled. NULL: GLINFER_SAMPLER_ORDER,
    // "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature", "edskypmxt".
    const char *order;
    uint32_t min_keep; // minimum number of tokens that typ_p, top_p, min_p and xtc keep
    // penalties: for tokens that occur n > 0 times in the last repeat_last_n tokens of prompt and
    // answer, l / repeat_penalty if l > 0, else l * repeat_penalty (Keskar et al. 2019); then
    // l - n * frequency_penalty - presence_penalty.
    int32_t repeat_last_n;   // tokens; default 64; 0: off; -1: the context
    float repeat_penalty;    // > 0; default 1: off
    float presence_penalty;  // default 0: off
    float frequency_penalty; // default 0: off
    // dry: if the last n >= dry_allowed_length tokens occurred before, the token that followed them
    // there gets l - dry_multiplier * dry_base^(n - dry_allowed_length). A repetition ends at a
    // breaker, a text of which at most 40 bytes count.
    float dry_multiplier;        // default 0: off
    float dry_base;              // default 1.75; < 1: off
    uint32_t dry_allowed_length; // tokens; default 2
    int32_t dry_penalty_last_n;  // tokens that are searched; default 64; 0: off; -1: the context
    const char *const *dry_breakers; // n_dry_breakers, at most 64; NULL: "\n", ":", "\"", "*"
    size_t n_dry_breakers;
    // top_n_sigma: keeps l >= max l - top_n_sigma * standard deviation of l (Tang et al. 2024).
    float top_n_sigma; // default -1; <= 0: off
    // typ_p: keeps the tokens with the smallest |-ln p - H|, H the entropy, until the sum of their
    // p exceeds typical_p (Meister et al. 2022).
    float typical_p; // default 1: off
    // xtc: with probability xtc_probability, drops all tokens with p >= xtc_threshold except the
    // least likely of them.
    float xtc_probability; // default 0: off
    float xtc_threshold;   // default 0.1; > 0.5: off
    // temperature: l / T; with a range T = a + (b - a) * (H / ln n)^dynatemp_exponent, a and b
    // being temperature -+ dynatemp_range, a at least 0, n the number of tokens left.
    float dynatemp_range;    // default 0: off
    float dynatemp_exponent; // default 1
    // Temperature, then mirostat version 1 or 2, in place of all samplers in `order`: keeps the
    // surprise of the text, the mean -log2 p, near mirostat_tau; mirostat_eta is the learning rate
    // (Basu et al. 2021).
    uint32_t mirostat;  // 0, 1 or 2; default 0: off
    float mirostat_tau; // default 5
    float mirostat_eta; // default 0.1
    // adaptive_p, after all others: l = 5 - 10 d^2 / (1 + d), d = |p - t| / 0.3,
    // t = 2 * adaptive_target - the mean p of the previously chosen tokens, weighted by
    // adaptive_decay per token. Its letter is a; adaptive_target enables it.
    float adaptive_target; // default -1; < 0: off
    float adaptive_decay;  // default 0.9
    const struct glinfer_logit_bias *logit_bias;
    size_t n_logit_bias;
};

// The samplers in the default order: a name for C, the name, the letter.
#define GLINFER_SAMPLER_ORDER(X)                                                                   \
    X(PENALTIES, "penalties", "e")                                                                 \
    X(DRY, "dry", "d")                                                                             \
    X(TOP_N_SIGMA, "top_n_sigma", "s")                                                             \
    X(TOP_K, "top_k", "k")                                                                         \
    X(TYPICAL, "typ_p", "y")                                                                       \
    X(TOP_P, "top_p", "p")                                                                         \
    X(MIN_P, "min_p", "m")                                                                         \
    X(XTC, "xtc", "x")                                                                             \
    X(TEMPERATURE, "temperature", "t")

// The numbers of struct glinfer_samplers: type, field, default, minimum, maximum. Values out of
// range fail with INVALID_ARGUMENT.
#define GLINFER_SAMPLER_MAP(X)                                                                     \
    X(UINT32, min_keep, 0, 0, 1 << 24)                                                             \
    X(INT32, repeat_last_n, 64, -1, 1 << 30)                                                       \
    X(FLOAT, repeat_penalty, 1, 1e-6, 1e6)                                                         \
    X(FLOAT, presence_penalty, 0, -1e6, 1e6)                                                       \
    X(FLOAT, frequency_penalty, 0, -1e6, 1e6)                                                      \
    X(FLOAT, dry_multiplier, 0, 0, 1e6)                                                            \
    X(FLOAT, dry_base, 1.75F, 0, 1e6)                                                              \
    X(UINT32, dry_allowed_length, 2, 0, 1 << 30)                                                   \
    X(INT32, dry_penalty_last_n, 64, -1, 1 << 30)                                                  \
    X(FLOAT, top_n_sigma, -1, -1, 1e6)                                                             \
    X(FLOAT, typical_p, 1, 0, 1)                                                                   \
    X(FLOAT, xtc_probability, 0, 0, 1)                                                             \
    X(FLOAT, xtc_threshold, 0.1F, 0, 1)                                                            \
    X(FLOAT, dynatemp_range, 0, 0, 1000)                                                           \
    X(FLOAT, dynatemp_exponent, 1, 0, 1000)                                                        \
    X(UINT32, mirostat, 0, 0, 2)                                                                   \
    X(FLOAT, mirostat_tau, 5, 0, 1e6)                                                              \
    X(FLOAT, mirostat_eta, 0.1F, 0, 1e6)                                                           \
    X(FLOAT, adaptive_target, -1, -1, 1)                                                           \
    X(FLOAT, adaptive_decay, 0.9F, 0, 0.99)

static inline void glinfer_samplers_init(struct glinfer_samplers *samplers)
{
    memset(samplers, 0, sizeof(*samplers));
    samplers->struct_size = sizeof(*samplers);
#define GLINFER_SAMPLER_SET(type, field, value, least, most) samplers->field = value;
    GLINFER_SAMPLER_MAP(GLINFER_SAMPLER_SET)
#undef GLINFER_SAMPLER_SET
}

// A grammar that an answer follows, in GBNF (the rules are in src/grammar/grammar.h of the source)
// or as a JSON schema. Only tokens that it allows are sampled. The answer ends where the grammar
// ends, or at n_predict. The GPU samples with a mask of allowed tokens, which the host computes
// between two steps.
struct glinfer_grammar {
    size_t struct_size;
    const char *gbnf;        // or NULL
    const char *json_schema; // or NULL; "{}": any JSON
    // A lazy grammar: the text is unconstrained until one of these words or tokens occurs. The
    // grammar applies from there on, and describes the word or token too.
    const char *const *trigger_words; // n_trigger_words, of 1 to 256 bytes
    size_t n_trigger_words;
    const int32_t *trigger_tokens; // n_trigger_tokens ids
    size_t n_trigger_tokens;
    // Texts before and after the JSON of json_schema, such as the marks of a tool call; NULL: no
    // text. A control token whose name is json_before also matches it.
    const char *json_before, *json_after;
    uint32_t max_json; // maximum number of consecutive JSON values, each with its texts; 0: one
    // JSON schemas that define the rules json-1, json-2, ... of gbnf, one each. gbnf itself must
    // not define rules of these names, nor ws, value, object, member, array, string, char, code,
    // pair, hex, number or integer.
    const char *const *schemas;
    size_t n_schemas;
    // Omits keywords of schemas that are not supported or contradict each other, instead of
    // failing: an answer may then not satisfy them. Default false.
    bool schemas_are_hints;
};

static inline void glinfer_grammar_init(struct glinfer_grammar *grammar)
{
    memset(grammar, 0, sizeof(*grammar));
    grammar->struct_size = sizeof(*grammar);
}

// Checks a grammar without a model; names of tokens are checked only with a model. Fails with
// INVALID_ARGUMENT (the place of a mistake and the reason), UNSUPPORTED (a keyword of a schema),
// NO_MEMORY.
GLINFER_API bool glinfer_grammar_check(const struct glinfer_grammar *grammar,
                                       struct glinfer_error *err);

// The behaviour when the context is full before n_predict tokens have been generated.
enum glinfer_context_full {
    GLINFER_CONTEXT_FULL_STOP,  // end the answer with GLINFER_STOP_CONTEXT
    GLINFER_CONTEXT_FULL_ERROR, // fail with CONTEXT_FULL
    // Drop half of the tokens after the first n_keep and process the remaining ones again, which
    // takes the time of a prompt of that length and calls progress. An answer that is interrupted
    // after that cannot be resumed. Ends with GLINFER_STOP_CONTEXT if no tokens can be dropped.
    GLINFER_CONTEXT_FULL_SHIFT,
};

struct glinfer_generate_params {
    size_t struct_size;
    const int32_t *prompt; // ids, appended to the tokens of the session
    size_t n_prompt;       // at least 1
    int32_t n_predict;     // maximum number of tokens; 0: only process the prompt; < 0: until the
                           // context is full
    bool ignore_eos;       // never sample end-of-text tokens; their log-probabilities do not change
    uint32_t n_probs;      // log-probabilities reported per token, 0 to 64
    float temperature;     // <= 0: greedy
    uint32_t top_k;        // 0: off
    float top_p;           // 0 or >= 1: off
    float min_p;           // 0: off
    uint64_t seed;
    const char *const *stop; // n_stop strings that end the answer, which does not include them
    size_t n_stop;
    glinfer_token_fn on_token; // NULL: tokens are only counted
    void *token_user;
    glinfer_progress_fn progress; // compiling programs, processing the prompt; NULL: not called
    void *progress_user;
    // Continues the session's last answer, which failed or was ended by glinfer_end, with the
    // settings of that answer. Tokens that were delivered are not delivered again; stats includes
    // them. Fails with INVALID_ARGUMENT if there is no such answer, or if the session was reset or
    // rewound.
    bool resume;
    const struct glinfer_samplers *samplers; // NULL: only those above
    const struct glinfer_grammar *grammar;   // NULL: any text

    enum glinfer_context_full context_full; // for answers; a prompt that does not fit always fails
    int32_t n_keep; // tokens at the beginning of the session that a shift keeps; < 0: all tokens
                    // before the answer

    // Speculative decoding by prompt lookup. If the last lookup_match or more tokens occurred
    // before, up to `lookup` tokens that followed them there are the draft. One batch computes the
    // draft with the next token; draft tokens that the settings above would not have chosen are
    // discarded. Each token is chosen with the random numbers of its position, so the answer equals
    // the one without drafts, unless two tokens are so close that the different rounding of a batch
    // decides between them. Drafts are disabled where they are measured to be slower, with samplers
    // that change logits, with a grammar, and in sessions that were created together.
    uint32_t lookup;       // maximum tokens of a draft; devices have a limit of 3 to 15; 0: off
    uint32_t lookup_match; // tokens; 0: 3
    bool lookup_always;    // use drafts even where they are slower

    // Numbers of tokens of the prompt, ascending and below n_prompt, at most 32, after which a
    // model with recurrent layers keeps a checkpoint: a rewind to a later token continues from
    // there. 0 also precedes the session's last token, if that is not processed yet. The session
    // drops the checkpoints that save the fewest tokens (n_checkpoints of its params). Other models
    // ignore them, since they continue from any token.
    const uint32_t *checkpoints;
    size_t n_checkpoints;
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
    double prompt_ms;                // from the call to the logits of the first token
    double predicted_ms;             // from the first token to the last
    double ttft_ms;                  // from the call to the first on_token
    uint32_t chain_length;           // largest number of decode steps in a submission
    uint32_t gpu_waits;              // number of times that the host waited for the GPU
    uint32_t dispatches_per_token;   // dispatches in a decode step
    uint32_t n_past;                 // tokens in the KV cache, without the last one of an answer
    uint64_t peak_memory;            // bytes: largest resident size of the process so far
    uint64_t weight_bytes_per_token; // bytes of weights that a decode step reads
    enum glinfer_dispatch dispatch;  // of the last steps
    double prompt_cpu_ms;            // CPU time of the process, driver included, in prompt_ms
    double predicted_cpu_ms;         // CPU time of the process, driver included, in predicted_ms
    uint32_t draft_n;                // tokens drafted (glinfer_generate_params.lookup)
    uint32_t draft_n_accepted;       // drafted tokens that were accepted
    uint32_t stop_index;             // WORD: index into glinfer_generate_params.stop; else 0
    uint32_t draft_batches;          // drafts that were tried, each in one batch
};

// Processes the prompt and generates an answer. Blocks until the answer ends. Calls on_token for
// each token; fills *stats unless it is NULL. All tokens that were delivered are valid, also after
// a failure. Fails with CONTEXT_FULL (the prompt does not fit; the session is unchanged), CANCELLED
// (the session keeps the delivered tokens), DRIVER, GPU_LOST, GPU_FAULT, INVALID_ARGUMENT,
// NO_MEMORY.
GLINFER_API bool glinfer_generate(struct glinfer_session *session,
                                  const struct glinfer_generate_params *params,
                                  struct glinfer_stats *stats, struct glinfer_error *err);

//-- answers in steps ------------------------------------------------------------------------------

// An application with its own main loop generates in steps: glinfer_begin starts an answer, each
// glinfer_step continues the answers of a device within a time budget and reports one event, and
// glinfer_device_fd says when to call it again. Several sessions of a device can have answers at
// the same time. They take turns, except that the decode steps of sessions that were created
// together (glinfer_sessions_create) are batched, where that gives more tokens in total.

enum glinfer_event_kind {
    GLINFER_EVENT_NONE,   // no event yet
    GLINFER_EVENT_PROMPT, // a part of a prompt, or of a cache that is rebuilt, was submitted
    GLINFER_EVENT_TOKEN,
    GLINFER_EVENT_END, // the answer has ended: the session may begin another
};

struct glinfer_event {
    size_t struct_size;
    enum glinfer_event_kind kind;
    struct glinfer_session *session; // session that the event belongs to, or NULL
    // Valid until the next call with the session or its device:
    const struct glinfer_token *token; // TOKEN
    uint32_t done, total;              // PROMPT: tokens
    const struct glinfer_stats *stats; // END, and after the failure of an answer
};

// Begins an answer. Compiles missing programs as glinfer_generate does; use
// glinfer_session_params.expected to compile them in advance. Copies all of params; glinfer_step
// calls its callbacks. During an answer only glinfer_step, glinfer_end, glinfer_session_cancel and
// glinfer_session_destroy may be used with the session. Other functions fail with INVALID_ARGUMENT;
// those without an error result end the answer first. Fails as glinfer_generate does before its
// first token.
GLINFER_API bool glinfer_begin(struct glinfer_session *session,
                               const struct glinfer_generate_params *params,
                               struct glinfer_error *err);
// Continues the answers of the device that were begun and fills *event. Returns after about
// budget_us microseconds. It may exceed them by the unit of work in progress, normally less than
// 8 ms. It returns earlier on an event, or if only the GPU is busy, which continues to work. Event
// NONE means to call again, at the latest when glinfer_device_fd is readable. Fails as
// glinfer_generate does, for the answer of event->session, which has then ended without an END
// event; CANCELLED after glinfer_session_cancel. Fails with INVALID_ARGUMENT and session NULL if no
// answer was begun.
GLINFER_API bool glinfer_step(struct glinfer_device *device, uint32_t budget_us,
                              struct glinfer_event *event, struct glinfer_error *err);
// Ends the session's answer, if there is one, without waiting for the GPU; the session keeps the
// delivered tokens. In a callback the answer ends when the running call returns.
GLINFER_API void glinfer_end(struct glinfer_session *session);
// Returns a descriptor for poll, select and epoll that is readable when glinfer_step has work. The
// device owns it; the caller neither reads nor closes it. On drivers without
// EGL_ANDROID_native_fence_sync the time is an estimate. Returns -1 and fails with IO.
GLINFER_API int glinfer_device_fd(struct glinfer_device *device, struct glinfer_error *err);

// Result of glinfer_session_prepare.
struct glinfer_prepared {
    size_t struct_size;
    enum glinfer_dispatch dispatch;        // how steps are submitted from now on
    double step_ns[GLINFER_DISPATCH_WAYS]; // measured time of a step; 0: not measured
};
// Compiles all programs for generations with these params, measures the ways to submit steps and
// chooses the fastest. Considers n_prompt (of that length; 0: of any), n_predict, temperature,
// top_k, n_probs and lookup; calls progress with GLINFER_PHASE_COMPILE. The first time may take a
// minute. For benchmarks, and for applications that want no delay later. The session keeps its
// tokens. *prepared may be NULL. A persistent dispatch that is not available is not a failure.
// Fails with CANCELLED, DRIVER, NO_MEMORY, OVER_BUDGET, GPU_LOST.
GLINFER_API bool glinfer_session_prepare(struct glinfer_session *session,
                                         const struct glinfer_generate_params *params,
                                         struct glinfer_prepared *prepared,
                                         struct glinfer_error *err);
// Replaces the tokens of the session by ids[0..n), and sets logprobs[i], i < n - 1, to the natural
// logarithm of the probability of ids[i + 1] after ids[0..i]. The perplexity is
// exp(-mean(logprobs)). Fails with CONTEXT_FULL, INVALID_ARGUMENT (n < 2, an id out of range),
// CANCELLED, NO_MEMORY, DRIVER, GPU_LOST, GPU_FAULT.
GLINFER_API bool glinfer_score(struct glinfer_session *session, const int32_t *ids, size_t n,
                               float *logprobs, struct glinfer_error *err);
// Does the work of glinfer_score and sets top[i * n_top + j], i < n - 1, j < n_top, to the most
// likely tokens after ids[0..i], the most likely first. n_top is at most the size of the
// vocabulary. Fails as glinfer_score.
GLINFER_API bool glinfer_score_top(struct glinfer_session *session, const int32_t *ids, size_t n,
                                   uint32_t n_top, float *logprobs, struct glinfer_prob *top,
                                   struct glinfer_error *err);
struct glinfer_embed_params {
    size_t struct_size;
    enum glinfer_pooling pooling;
    bool is_raw; // do not scale an embedding to length 1; vectors of single tokens and scores are
                 // never scaled
};

static inline void glinfer_embed_params_init(struct glinfer_embed_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

// Discards the tokens of the session and computes the embedding of ids[0..n), which come from
// glinfer_tokenize. Writes at most cap numbers to values and sets *n_values to their number: by
// default glinfer_model_info.n_embedding, with GLINFER_POOLING_NONE n_embedding per token, with
// GLINFER_POOLING_RANK one score per class. A call with cap 0 measures. params may be NULL. Fails
// with UNSUPPORTED (neither the file nor params name a pooling, or the file has no classifier),
// INVALID_ARGUMENT (n 0, an id out of range, cap too small), CONTEXT_FULL (n exceeds the context
// or, for an encoder, the batch), CANCELLED, NO_MEMORY, DRIVER, GPU_LOST, GPU_FAULT.
GLINFER_API bool glinfer_embed(struct glinfer_session *session, const int32_t *ids, size_t n,
                               const struct glinfer_embed_params *params, float *values, size_t cap,
                               size_t *n_values, struct glinfer_error *err);
// Discards all tokens of the session.
GLINFER_API void glinfer_session_reset(struct glinfer_session *session);
// Discards all tokens after the first n. Returns the number of tokens that remain: n, or all if
// there are fewer. The last token of an answer counts, also an end-of-text token that was not
// delivered. To continue a conversation, encode all of it again, rewind to the first id that
// differs from the session's tokens, and generate with the remaining ids as the prompt.
GLINFER_API size_t glinfer_session_rewind(struct glinfer_session *session, size_t n);
// Returns the length of the longest common prefix of ids[0..n) and the session's tokens, which
// count as in glinfer_session_rewind. Only the ids after it need processing.
GLINFER_API size_t glinfer_session_match(const struct glinfer_session *session, const int32_t *ids,
                                         size_t n);
// Returns how many of the session's first n tokens a rewind to n keeps without computing them
// again. They are fewer than n if a model with recurrent layers has no checkpoint of n tokens
// (glinfer_generate_params.checkpoints), or after keys and values were lost.
GLINFER_API size_t glinfer_session_ready(const struct glinfer_session *session, size_t n);
// Fills ids[0..cap) with the session's first tokens, which count as in glinfer_session_rewind.
// Returns their number, which may exceed cap.
GLINFER_API size_t glinfer_session_tokens(const struct glinfer_session *session, int32_t *ids,
                                          size_t cap);
// Sets how much each adapter of the model counts in this session, from its next token on; 0
// switches an adapter off. If a scale changes, the keys and values of the session's tokens are
// computed again by the next answer, since they depend on the scales. Fails with INVALID_ARGUMENT
// (n is not the number of adapters, a scale is infinite or no number, an answer is in progress),
// DRIVER, GPU_LOST.
GLINFER_API bool glinfer_session_set_adapter_scales(struct glinfer_session *session,
                                                    const float *scales, size_t n,
                                                    struct glinfer_error *err);
// Fills (n) with the scales of the first n adapters of the session's model. Returns their number.
GLINFER_API size_t glinfer_session_adapter_scales(const struct glinfer_session *session,
                                                  float *scales, size_t n);
// Replaces the contents of `to` by the first n tokens of `from`, or all if there are fewer, with
// their keys and values, the states of the latest checkpoint among them, and the scales of
// adapters. Both sessions have the same model and cache types. The GPU copies. Fails with
// INVALID_ARGUMENT, CONTEXT_FULL (the context of `to` is shorter than n), DRIVER, GPU_LOST.
GLINFER_API bool glinfer_session_copy(struct glinfer_session *to, struct glinfer_session *from,
                                      size_t n, struct glinfer_error *err);
// Writes the session's tokens, keys, values and checkpoints to a file, which appears only when it
// is complete. A session that loads it gives the same answers with the same settings, device and
// driver. An interrupted answer cannot be resumed from it. Fails with IO, NO_MEMORY, DRIVER,
// GPU_LOST.
GLINFER_API bool glinfer_session_save(struct glinfer_session *session, const char *path,
                                      struct glinfer_error *err);
// Replaces the session's contents by those of a saved file. Fails with BAD_FILE (not a saved
// session, truncated, damaged), UNSUPPORTED (another version of the format), INVALID_ARGUMENT
// (another model, other scales of adapters, other cache types), CONTEXT_FULL, NOT_FOUND, IO,
// NO_MEMORY, DRIVER, GPU_LOST.
GLINFER_API bool glinfer_session_load(struct glinfer_session *session, const char *path,
                                      struct glinfer_error *err);
// Saves the session to data[0..cap) and sets *size to the number of bytes; a call with cap 0
// measures. Fails as glinfer_session_save, and with INVALID_ARGUMENT if cap is too small.
GLINFER_API bool glinfer_session_save_memory(struct glinfer_session *session, void *data,
                                             size_t cap, size_t *size, struct glinfer_error *err);
// Replaces the session's contents by those saved in data[0..size). Fails as glinfer_session_load.
GLINFER_API bool glinfer_session_load_memory(struct glinfer_session *session, const void *data,
                                             size_t size, struct glinfer_error *err);
// Replaces the session's contents by the first n tokens of a session saved in data[0..size), or all
// if there are fewer. Fails as glinfer_session_load.
GLINFER_API bool glinfer_session_load_prefix(struct glinfer_session *session, const void *data,
                                             size_t size, size_t n, struct glinfer_error *err);
// Returns the length of the longest common prefix of ids[0..n) and the tokens of a session saved in
// data[0..size), which count as in glinfer_session_rewind. Sets *n_ready, unless it is NULL, to the
// number of these tokens that need not be computed again once they are loaded. Both are 0 if data
// is not a saved session; the model and the hash are not checked.
GLINFER_API size_t glinfer_saved_match(const void *data, size_t size, const int32_t *ids, size_t n,
                                       size_t *n_ready);
// Cancels the running call with the session, or the answer that glinfer_begin began: the call, or
// the next glinfer_step of that answer, fails with CANCELLED once the submission in progress has
// completed (at most about max_batch_ms). The session keeps the delivered tokens. Has no effect on
// an idle session or on an answer that has delivered its last token: a late cancel does not affect
// the next call. May be called from any thread and from a signal handler, as long as the session
// exists.
GLINFER_API void glinfer_session_cancel(struct glinfer_session *session);

//-- speech ------------------------------------------------------------------------------------

// A transcription turns sound into text with a Whisper model. It is fed samples, advanced in steps
// and polled for events, so that an application with its own main loop can listen beside it:
//
//     glinfer_transcription_feed(transcription, samples, n, &err);
//     glinfer_transcription_step(transcription, 8000, &state, &err);
//     while (glinfer_transcription_poll(transcription, &event)) ...
//
// The rules for calls are those of sessions.
struct glinfer_transcription;

#define GLINFER_SPEECH_RATE 16000 // samples a second

struct glinfer_transcription_params {
    size_t struct_size;
    // The network of Silero that detects speech (a file of whisper.cpp), so that silence and noise
    // are not transcribed; NULL: all sound is transcribed.
    const struct glinfer_source *vad;
    // Code or name, such as "de" or "german", in any case; NULL or "auto": detected.
    const char *language;
    bool translate; // to English
    bool is_live;   // tells the text of an utterance before it has ended, and tries no further
                    // temperatures, which would delay the next utterances
    // Encodes whole windows of 30 s, scaled by the loudest frame of the whole sound, as whisper.cpp
    // does; else no more than the sound, which is faster.
    bool is_exact;
    bool no_timestamps;
    bool has_words;         // finds when words and tokens were spoken, by where the model attends
    uint32_t max_length;    // characters of a segment, which then has words; default 0: unlimited
    bool split_on_word;     // with max_length
    const char *prompt;     // text before the first window: names, style; NULL: none
    bool carry_prompt;      // before every window
    uint32_t max_context;   // tokens of earlier text before a window; default 448: all that fit
    uint32_t audio_ctx;     // minimum number of positions of 20 ms to encode; default 384; fewer
                            // have no effect: the sound and 1 s of silence are always encoded
    const char *suppress;   // regular expression (PCRE2) of tokens to leave out; NULL: none
    bool suppress_symbols;  // leaves out tokens that are not speech
    float temperature;      // of the first attempt; default 0: the most likely tokens
    float temperature_step; // to the next attempt, up to 1; default 0.2; 0: one attempt alone
    float entropy_least;    // nats; another attempt if a text has less; default 2.4
    float logprob_least;    // mean of tokens; another attempt if a text has less; default -1
    float no_speech_most;   // probability of silence above which a text less likely than
                            // logprob_least is dropped; default 0.6
    uint32_t best_of;       // texts at temperatures above 0; default 5
    uint32_t beam_size;     // of beam search at temperature 0; default 1: greedy
    uint64_t seed;          // of random numbers
    float vad_threshold;    // probability at which speech begins; default 0.5
    uint32_t vad_min_speech_ms;  // shorter speech is dropped; default 250
    uint32_t vad_min_silence_ms; // shorter silence does not end an utterance; default 100
    float vad_max_speech_s;      // longer speech is split; default 0: unlimited
    uint32_t vad_pad_ms;         // added before and after speech; default 100
    bool no_partials;            // tells no text of an utterance before it has ended
};

// The numbers of struct glinfer_transcription_params: type, field, default, minimum, maximum.
// Values out of range fail with INVALID_ARGUMENT.
#define GLINFER_SPEECH_MAP(X)                                                                      \
    X(UINT32, max_length, 0, 0, 1000)                                                              \
    X(UINT32, max_context, 448, 0, 448)                                                            \
    X(UINT32, audio_ctx, 0, 0, 1500)                                                               \
    X(FLOAT, temperature, 0, 0, 2)                                                                 \
    X(FLOAT, temperature_step, 0.2F, 0, 1)                                                         \
    X(FLOAT, entropy_least, 2.4F, 0, 10)                                                           \
    X(FLOAT, logprob_least, -1, -10, 0)                                                            \
    X(FLOAT, no_speech_most, 0.6F, 0, 1)                                                           \
    X(UINT32, best_of, 5, 1, 16)                                                                   \
    X(UINT32, beam_size, 1, 1, 16)                                                                 \
    X(FLOAT, vad_threshold, 0.5F, 0, 1)                                                            \
    X(UINT32, vad_min_speech_ms, 250, 0, 60000)                                                    \
    X(UINT32, vad_min_silence_ms, 100, 0, 60000)                                                   \
    X(FLOAT, vad_max_speech_s, 0, 0, 3600)                                                         \
    X(UINT32, vad_pad_ms, 100, 0, 10000)

static inline void glinfer_transcription_params_init(struct glinfer_transcription_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
#define GLINFER_SPEECH_SET(type, field, value, least, most) params->field = value;
    GLINFER_SPEECH_MAP(GLINFER_SPEECH_SET)
#undef GLINFER_SPEECH_SET
}

// Returns whether a model is one of speech, which transcribes and generates no other text.
GLINFER_API bool glinfer_model_hears(const struct glinfer_model *model);
// Return the code of language `index`, such as "en", and its name in English, such as "english";
// NULL after the last.
GLINFER_API const char *glinfer_speech_language(size_t index);
GLINFER_API const char *glinfer_speech_language_name(size_t index);

// Checks the settings of a transcription, but neither a model nor vad. Fails with INVALID_ARGUMENT
// (an unknown language, a number out of range, an invalid regular expression), NO_MEMORY.
GLINFER_API bool glinfer_transcription_check(const struct glinfer_transcription_params *params,
                                             struct glinfer_error *err);

// Creates a transcription, which the caller destroys. params may be NULL. Fails as
// glinfer_session_create and glinfer_transcription_check, and with INVALID_ARGUMENT (a language
// that the model does not know, a translation by a model that knows English alone), UNSUPPORTED
// (the model is not one of speech), BAD_FILE, NOT_FOUND, IO (the network of vad).
GLINFER_API struct glinfer_transcription *
glinfer_transcription_create(struct glinfer_model *model,
                             const struct glinfer_transcription_params *params,
                             struct glinfer_error *err);
// Destroys a transcription and sets *transcription to NULL. Accepts NULL and a pointer to NULL.
GLINFER_API void glinfer_transcription_destroy(struct glinfer_transcription **transcription);

// Appends n samples, mono, -1 to 1, GLINFER_SPEECH_RATE a second; those that are not numbers are
// silence. Uses no GPU. Fails with INVALID_ARGUMENT after the end, NO_MEMORY.
GLINFER_API bool glinfer_transcription_feed(struct glinfer_transcription *transcription,
                                            const float *samples, size_t n,
                                            struct glinfer_error *err);
// Ends the sound.
GLINFER_API void glinfer_transcription_end(struct glinfer_transcription *transcription);

enum glinfer_transcription_state {
    GLINFER_TRANSCRIPTION_WORKS, // another step has something to do
    GLINFER_TRANSCRIPTION_WAITS, // for samples, or for the end of the sound
    GLINFER_TRANSCRIPTION_DONE,  // the whole text has been told
};

// Works for about budget_us microseconds (0: until it waits or is done). It may exceed them by the
// unit of work in progress, normally less than 10 ms, and returns early if it waits. Fails with
// CANCELLED, DRIVER, GPU_LOST, GPU_FAULT, NO_MEMORY; the next step repeats the window.
GLINFER_API bool glinfer_transcription_step(struct glinfer_transcription *transcription,
                                            uint32_t budget_us,
                                            enum glinfer_transcription_state *state,
                                            struct glinfer_error *err);

enum glinfer_transcript_kind {
    GLINFER_TRANSCRIPT_LANGUAGE,  // was detected
    GLINFER_TRANSCRIPT_SEGMENT,   // final text
    GLINFER_TRANSCRIPT_PARTIAL,   // is_live: text so far of an utterance, which the next replaces
    GLINFER_TRANSCRIPT_UTTERANCE, // an utterance ended, after its segments
    GLINFER_TRANSCRIPT_DONE,      // the last event
};

struct glinfer_transcript_token {
    int32_t id;
    const char *text; // its bytes, not always whole characters; none of a special token
    size_t size;
    float probability;
    uint64_t from_ms, to_ms; // with has_words, else 0
};

struct glinfer_transcript_word {
    size_t text_begin, text_end; // bytes of the segment's text
    uint64_t from_ms, to_ms;
    float probability;
};

struct glinfer_transcript_event {
    enum glinfer_transcript_kind kind;
    bool is_cancelled;                             // DONE
    const char *language;                          // LANGUAGE: its code
    float probability;                             // LANGUAGE
    uint64_t from_ms, to_ms;                       // SEGMENT, PARTIAL, UTTERANCE
    const char *text;                              // SEGMENT, PARTIAL: UTF-8, ends in 0
    size_t size;                                   // bytes of text
    const struct glinfer_transcript_token *tokens; // SEGMENT
    size_t n_token;
    const struct glinfer_transcript_word *words; // SEGMENT, with has_words
    size_t n_word;
    float average_logprob; // SEGMENT: of the tokens of its window
    float no_speech;       // SEGMENT: probability that its window has no speech
    float temperature;     // SEGMENT: at which its window was decoded
};

// Takes the oldest event. Returns false if there is none. Its pointers are valid until the next
// call with the transcription.
GLINFER_API bool glinfer_transcription_poll(struct glinfer_transcription *transcription,
                                            struct glinfer_transcript_event *event);
// Returns the milliseconds of sound that are done: silence, and speech that was transcribed.
GLINFER_API uint64_t glinfer_transcription_time(const struct glinfer_transcription *transcription);
// Drops the sound that is not transcribed; the event DONE follows.
GLINFER_API void glinfer_transcription_cancel(struct glinfer_transcription *transcription);
// Drops everything: another sound may begin.
GLINFER_API void glinfer_transcription_reset(struct glinfer_transcription *transcription);

// Times of the parts of a transcription, by the host's clock.
struct glinfer_speech_times {
    size_t struct_size;
    double encode_ms, decode_ms;
};

// Measures the network as the transcription runs it, and fills *times. Encodes silence of
// n_position positions, 20 ms each, then writes n_token tokens. With n_position 0, encode_ms is 0:
// a whole window is encoded, unless it already was, and not measured. The first call compiles
// programs. Not for use while a sound is transcribed. Fails with CONTEXT_FULL (too many positions
// or tokens), and as glinfer_transcription_step does.
GLINFER_API bool glinfer_transcription_measure(struct glinfer_transcription *transcription,
                                               uint32_t n_position, uint32_t n_token,
                                               struct glinfer_speech_times *times,
                                               struct glinfer_error *err);

//-- profile -------------------------------------------------------------------------------------

// Peak rates of a device, measured with kernels that only move bytes or only multiply and add.
struct glinfer_device_rates {
    size_t struct_size;
    double copy_gb_per_s; // 1e9 bytes per second, read and written
    double read_gb_per_s; // 1e9 bytes per second, read; the best of several kernels
    double gflop_per_s;   // 1e9 f32 operations per second; a multiply-add counts as two
};

// Measures the peak rates of a device and fills *rates. Takes less than a second on most devices,
// and uses two buffers of up to 128 MiB meanwhile. Fails with NO_MEMORY, DRIVER, GPU_LOST.
GLINFER_API bool glinfer_device_measure(struct glinfer_device *device,
                                        struct glinfer_device_rates *rates,
                                        struct glinfer_error *err);

// All dispatches of a step, or of a prompt, that have the same label and program. Numbers are means
// over the runs.
struct glinfer_profile_kernel {
    const char *label;   // purpose in the model: "attn_out"
    const char *program; // the kernel with its defines: "gemv_residual.comp Q4_1 WG_SIZE=128"
    uint32_t n_dispatches;
    double ns;             // sum over the dispatches
    uint64_t weight_bytes; // bytes of weights read
    uint64_t bytes;        // bytes of weights and cached keys and values read; 0: none
    uint64_t flops;        // operations on these; 0: none
};

// A dispatch of the first run.
struct glinfer_profile_dispatch {
    const char *label, *program;
    uint64_t begin_ns, ns; // begin_ns: the sum of the previous dispatches' times
    uint64_t bytes, flops; // as in struct glinfer_profile_kernel
};

// A dispatch, or a piece of one, that would be submitted; with label NULL the end of a submission.
struct glinfer_planned {
    const char *label, *program;
    uint32_t n_tokens; // tokens in the batch
    uint32_t n_pieces; // remaining pieces of the dispatch, including this one
    double ns;         // estimated time of this piece, or of the submission
};

struct glinfer_profile_params {
    size_t struct_size;
    uint32_t n_runs;   // number of decode steps, or of prompts; 0: 16 steps, 1 prompt
    uint32_t n_prompt; // tokens of a prompt; 0: decode steps
    uint32_t depth;    // tokens in the cache before the first run
    // Called at the end, unless NULL: on_kernel for each kernel, the longest time first;
    // on_dispatch for each dispatch, in order.
    void (*on_kernel)(void *user, const struct glinfer_profile_kernel *kernel);
    void (*on_dispatch)(void *user, const struct glinfer_profile_dispatch *dispatch);
    void *user;
    // Unless NULL, nothing is compiled, run or measured, and stats are not filled. Called in the
    // order in which a new session would submit n_runs steps or the prompt, with first estimates.
    void (*on_planned)(void *user, const struct glinfer_planned *planned);
};

static inline void glinfer_profile_params_init(struct glinfer_profile_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
}

enum glinfer_profile_clock {
    GLINFER_PROFILE_QUERY, // EXT_disjoint_timer_query around each dispatch
    GLINFER_PROFILE_WAIT,  // the host waits for each dispatch, so each time includes the latency of
                           // a submission; used where timer queries are missing or useless
};

struct glinfer_profile_stats {
    size_t struct_size;
    enum glinfer_profile_clock clock;
    uint32_t n_runs;       // runs that were timed
    uint32_t n_repeated;   // runs that were discarded because the GPU's clock jumped
    uint32_t n_dispatches; // dispatches per run
    double kernel_ns;      // sum of the kernels' times per run
    double wall_ns;        // time of a run without timers, by the host's clock
    double host_ns;        // part of wall_ns that the host takes to submit; includes computing on a
                           // software renderer
    uint64_t weight_bytes; // bytes of weights read per run
    // How answers submit greedy steps, as far as it is known. Kernels of a persistent dispatch
    // cannot be timed: all fields above are of multi-dispatch steps.
    enum glinfer_dispatch dispatch;
    double step_ns[GLINFER_DISPATCH_WAYS]; // as in struct glinfer_prepared
};

// Measures the time of each kernel in a decode step, or in a prompt, and fills *stats. Runs on
// made-up tokens and discards the tokens of the session. A prompt of a speech model is a sound of
// n_prompt positions of 20 ms, which the encoder hears from the beginning; its decode steps attend
// to all positions that the encoder can hear. Fails with CONTEXT_FULL (depth and runs do
// not fit), INVALID_ARGUMENT, CANCELLED, NO_MEMORY, DRIVER, GPU_LOST.
GLINFER_API bool glinfer_profile(struct glinfer_session *session,
                                 const struct glinfer_profile_params *params,
                                 struct glinfer_profile_stats *stats, struct glinfer_error *err);

//-- self-test -------------------------------------------------------------------------------------

// The first time that a program runs on a driver, its results are compared with a computation on
// the CPU, and the verdict is kept in the cache folder. A program that is wrong, or that the driver
// does not compile, is disabled: another one replaces it, or an answer fails with its name. If only
// a batched program is wrong, answers of several sessions take turns. GLINFER_SELFTEST=off in the
// environment disables the self-test.

enum glinfer_test_result {
    GLINFER_TEST_RIGHT,
    GLINFER_TEST_WRONG,
    GLINFER_TEST_NOT_COMPILED,
    GLINFER_TEST_NONE, // the program has no test of its own
};

struct glinfer_tested {
    const char *program; // the kernel with its defines: "gemv_residual.comp q4_1 WG_SIZE=128"
    enum glinfer_test_result result;
    const char *text; // the difference, the fault, or the driver's message
    double ns;        // duration of the test
};

// Tests every program that answers of the session's model need, whatever earlier tests found. For
// sessions that were created together it also tests the batched programs, unless one of them has an
// answer. Calls each for every program; each must not call the library. Discards the tokens of the
// session. Fails with UNSUPPORTED (a program is wrong and has no replacement), DRIVER, NO_MEMORY,
// GPU_LOST.
GLINFER_API bool glinfer_selftest(struct glinfer_session *session,
                                  void (*each)(void *user, const struct glinfer_tested *tested),
                                  void *user, struct glinfer_error *err);

//-- tuning ----------------------------------------------------------------------------------------

// The shape of a kernel, how it is spread over invocations, comes from a table by class of device,
// or from a measurement on the device. Measured shapes are kept in the cache folder, by driver and
// version of this library. Every session that is created later uses them, in any process;
// GLINFER_TUNING=off in the environment disables them.

// A matrix kernel and its shape in the notation of GLINFER_GEMV and GLINFER_GEMM. Fields that do
// not apply are 0 or "". The kernels "dispatch" and "batch" describe the device: how grids that
// change are dispatched on an unknown driver, and the form of a small GPU's prompt kernels.
struct glinfer_tuned {
    const char *kernel;      // "gemv_qkv"
    const char *type;        // weight type: "q4_0"
    uint32_t n_rows, n_cols; // of the matrix, or of its part if it is split
    uint32_t extent;         // tokens of a batch
    const char *shape;       // shape in use
    // From glinfer_tune alone:
    const char *table_shape; // shape of the table; equals shape if no other one is clearly faster
    double table_ns, ns;     // time of all such dispatches of a step or a batch, with either shape
    uint32_t n_dispatches;   // number of those dispatches
    uint32_t n_candidates;   // shapes that were measured, including the table's
};
// Receives a tuned shape.
typedef void (*glinfer_tuned_fn)(void *user, const struct glinfer_tuned *tuned);

struct glinfer_tune_params {
    size_t struct_size;
    uint32_t max_ms;              // approximate duration; 0: 10 s, on boards and software renderers
                                  // 60 s
    glinfer_tuned_fn on_tuned;    // called at the end for each shape, the longest time first; NULL:
                                  // not called
    glinfer_progress_fn progress; // compiling, then measuring; NULL: not called
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
    double table_step_ns, step_ns; // time of a decode step with the table's and the new shapes
    uint32_t n_sites;              // matrix kernels of the model
    uint32_t n_measured;           // kernels that were measured before the time was over
    uint32_t n_changed;            // kernels whose shape now differs from the table's
    const char *path;              // file that keeps the shapes; owned by the device
};

// Measures the fastest kernel shapes for the session's model on its device and keeps them. Discards
// the tokens of the session. The session itself keeps its shapes; sessions created later use the
// new ones. Fails with IO (the shapes cannot be stored; checked first), CANCELLED (nothing has
// changed), NO_MEMORY, DRIVER, GPU_LOST.
GLINFER_API bool glinfer_tune(struct glinfer_session *session,
                              const struct glinfer_tune_params *params,
                              struct glinfer_tune_stats *stats, struct glinfer_error *err);
// Calls each, which may be NULL, for every measured shape of the device and returns their number.
GLINFER_API size_t glinfer_device_tuning(const struct glinfer_device *device, glinfer_tuned_fn each,
                                         void *user);
// Discards the measured shapes of the device, the choices between ways to submit steps, and the
// list of programs that the driver refused. Fails with IO.
GLINFER_API bool glinfer_device_reset_tuning(struct glinfer_device *device,
                                             struct glinfer_error *err);

#ifdef __cplusplus
}
#endif

#endif
