// All programs that a model needs, compiled at load. Rows of glsl/programs.def name the variants; a
// request adds the numbers of a model (HEAD_DIM, N_BLOCK, ...) and the weight type. Requests
// come while recording; one build compiles them all, in parallel where KHR_parallel_shader_compile
// is there, or takes them from the cache on disk (keyed by renderer, version and source; written
// atomically; a damaged or refused binary falls back to compiling).
#pragma once

#include "gpu/device/gpu.h"
#include "gpu/device/settings.h"

enum gi_program_id {
#define GI_PROGRAM(id, file, defines, capability) GI_PROGRAM_##id,
#include "glsl/programs.def"
    GI_PROGRAM_COUNT
};

struct gi_define {
    const char *name; // a literal, in capitals
    int32_t value;
};

#define GI_MAX_DEFINES 22
#define GI_QUANT_NONE  UINT32_MAX

struct gi_program_key {
    enum gi_program_id id;
    uint32_t quant; // enum gi_ggml_type that quant/quant.glsl unpacks, or GI_QUANT_NONE
    uint32_t n_defines;
    struct gi_define defines[GI_MAX_DEFINES];
};

struct gi_program_table;

struct gi_program_table *gi_program_table_create(struct gi_gpu *gpu, struct glinfer_error *err);
// Accepts NULL. The last of several owners destroys it.
void gi_program_table_destroy(struct gi_program_table *table);
// Adds an owner, and returns the table.
struct gi_program_table *gi_program_table_share(struct gi_program_table *table);

// Sets *index to the program's index; equal keys share one. Compiles nothing. Fails with
// UNSUPPORTED if the device lacks the row's capability, NO_MEMORY.
bool gi_program_table_request(struct gi_program_table *table, const struct gi_program_key *key,
                              uint32_t *index, struct glinfer_error *err);
// Returns the capabilities that a row needs, GI_CAPABILITY_ bits: its own and those that its
// defines imply.
uint32_t gi_program_capability(enum gi_program_id id);
// Returns true if the device has them.
bool gi_program_is_possible(const struct gi_gpu *gpu, enum gi_program_id id);
// True if, besides, the program is not in quarantine for any type of weights
// (gpu/program/quarantine.h).
bool gi_program_available(const struct gi_gpu *gpu, enum gi_program_id id);

// Compiles the programs requested since the last build. progress may be NULL; if it returns false,
// the build is cancelled. Fails with DRIVER (file:line and the driver's words), CANCELLED,
// GPU_LOST, NO_MEMORY. A program that the driver refused is not built again, and the next build
// continues after it.
bool gi_program_table_build(struct gi_program_table *table, glinfer_progress_fn progress,
                            void *user, struct glinfer_error *err);
// Builds all programs, continues after those that the driver refuses or whose text does not
// assemble, and keeps the reason (gi_program_refusal). Fails with CANCELLED, GPU_LOST, NO_MEMORY.
bool gi_program_table_build_all(struct gi_program_table *table, glinfer_progress_fn progress,
                                void *user, struct glinfer_error *err);

// Sets *is_loaded to whether the cache has all that was requested, so that a build does not
// compile. May be called again. Fails as a build does.
bool gi_program_table_load(struct gi_program_table *table, bool *is_loaded,
                           struct glinfer_error *err);
// Begins to compile, and returns at once if limits.has_parallel_compile; gi_program_table_build_all
// ends it. Fails as that does.
bool gi_program_table_start(struct gi_program_table *table, struct glinfer_error *err);

// Takes back requests that were not built, after a build that failed. Indices of built programs
// stay valid.
void gi_program_table_forget(struct gi_program_table *table);

struct gi_program_stats {
    uint32_t n_programs, n_compiled, n_cached;
};
void gi_program_table_describe(const struct gi_program_table *table,
                               struct gi_program_stats *stats);

// Returns the GL name of a built program, 0 if the driver refused it.
uint32_t gi_program_name(const struct gi_program_table *table, uint32_t index);
// Returns the reason of such a refusal, a sentence.
const char *gi_program_refusal(const struct gi_program_table *table, uint32_t index);
// Returns the key that a program was requested with.
const struct gi_program_key *gi_program_key(const struct gi_program_table *table, uint32_t index);

// The verdict on the results of a built program on this driver.
enum gi_finding {
    GI_FINDING_NONE, // not tested
    GI_FINDING_RIGHT,
    GI_FINDING_WRONG,
};
// Returns the finding, one line about it (of 200 bytes at most) in text: of this table, or from the
// cache on disk.
enum gi_finding gi_program_finding(struct gi_program_table *table, uint32_t index, char text[200]);
// Forgets all findings, and leaves those on disk alone from now on, or with is_doubted false no
// more.
void gi_program_table_doubt(struct gi_program_table *table, bool is_doubted);
// Sets the finding and keeps it on disk beside the program's binary. text is one line.
void gi_program_set_finding(struct gi_program_table *table, uint32_t index, enum gi_finding finding,
                            const char *text);

// Keeps, on disk too, why products in f16 are done without on this driver; NULL: they are not any
// more.
void gi_program_set_half_refusal(struct gi_program_table *table, const char *reason);
// Returns the last such reason, borrowed, "" for none: of an earlier process, too.
const char *gi_program_half_refusal(struct gi_program_table *table);

// Returns a name for messages: "gemv_qkv.comp q4_0 HEAD_DIM=64".
const char *gi_program_label(const struct gi_program_table *table, uint32_t index);
// Returns true if its dispatches are counted (gpu/dispatch/run_count.h): those of a row are, where
// the driver counts.
bool gi_program_is_counted(const struct gi_program_table *table, uint32_t index);
// Returns true if GLINFER_FAULT breaks this program in this way.
bool gi_program_has_fault(const struct gi_program_table *table, uint32_t index,
                          enum gi_fault_kind kind);

// Requests a kernel that was written at run time, as gi_program_table_request_source does, that
// needs capability (bits of enum gi_capability).
bool gi_program_table_request_text(struct gi_program_table *table, const char *name,
                                   const char *text, uint32_t capability, uint32_t *index,
                                   struct glinfer_error *err);
// Returns the text of such a kernel, and its capability.
const char *gi_program_text(const struct gi_program_table *table, uint32_t index,
                            uint32_t *capability);

// Requests a kernel given as text, which is copied. name is a literal that stands for its file in
// messages. It may include files of glsl/.
bool gi_program_table_request_source(struct gi_program_table *table, const char *name,
                                     const char *text, const struct gi_define *defines,
                                     uint32_t n_defines, uint32_t *index,
                                     struct glinfer_error *err);
