// glinfer_model: weights on the GPU, the small vectors that sessions copy, and the tokenizer.
#pragma once

#include "engine/device/device.h"
#include "engine/model/adapter/model_adapters.h"
#include "engine/model/dense_head.h"
#include "engine/model/weight_store.h"
#include "gguf/identity.h"
#include "speech/model/whisper_model.h"
#include "tokenizer/tokenizer.h"

struct glinfer_tokenizer {
    struct gi_tokenizer *core;
};

struct gi_grammar_vocab;
struct glinfer_session;

struct glinfer_model {
    struct glinfer_device *device;    // borrowed; lists this model
    struct glinfer_model *next;       // of the device
    struct glinfer_session *sessions; // that live
    bool is_doomed;                   // destroyed: ends with the last session
    struct glinfer_source source;     // kept (gi_source_keep), to be read again
    struct gi_tower tower;            // literals
    // In a speech model, whose decoder this is, else NULL: its other tower, which ends with it, and
    // the parts that run on the CPU. Towers have no tokenizer.
    struct glinfer_model *encoder;
    struct gi_whisper_model speech;
    struct gi_hash identity; // of what the file holds
    struct gi_model_adapters adapters;
    const struct gi_model_family *family;
    struct gi_hparams hparams;
    struct gi_qkv_layout qkv_layout;
    struct gi_norm_layout norm_layout;
    struct gi_weight_store store;
    struct gi_model_weights weights; // into the store
    float *norms;                    // norm_layout.size floats
    float *rope_factors;             // n_rot / 2, or NULL
    float *long_rope_factors;  // n_rot / 2, for contexts over hparams.rope.n_ctx_orig, or NULL
    float *positions;          // (n_ctx_train, n_embd) of an encoder, or NULL
    struct gi_dense_head head; // of embeddings
    struct glinfer_tokenizer tokenizer;
    struct glinfer_model_info info;
    struct gi_grammar_vocab *grammar_vocab; // made when an answer first needs it
    uint64_t mem_budget;                    // bytes, 0: none
    uint64_t used;                          // bytes of the budget: weights and sessions
};

// Fills *info from a file as glinfer_model_inspect does.
bool gi_model_inspect(const struct glinfer_source *source,
                      const struct glinfer_model_params *params, struct glinfer_model_info *info,
                      struct glinfer_error *err);
// Adds a model to the device and loads a file as glinfer_model_load does. A model that fails to
// load is marked as destroyed.
struct glinfer_model *gi_model_load(struct glinfer_device *device,
                                    const struct glinfer_source *source,
                                    const struct glinfer_model_params *params,
                                    struct glinfer_error *err);
// Loads one tower of a file alone, without its parts on the CPU; tower NULL: the file is one.
struct glinfer_model *gi_model_load_tower(struct glinfer_device *device,
                                          const struct glinfer_source *source,
                                          const struct glinfer_model_params *params,
                                          const struct gi_tower *tower, struct glinfer_error *err);
// Destroys a model without sessions.
void gi_model_destroy(struct glinfer_model *model);

// Destroys the weights on the GPU. The context is entered.
void gi_model_release(struct glinfer_model *model);
// Checks that the weights can be read again. Fails with UNSUPPORTED.
bool gi_model_can_restore(const struct glinfer_model *model, struct glinfer_error *err);
// Loads the weights again from the source. Fails as glinfer_model_load does, and with BAD_FILE if
// the file has changed. The device is busy.
bool gi_model_restore(struct glinfer_model *model, glinfer_progress_fn progress, void *user,
                      struct glinfer_error *err);

// Fails with UNSUPPORTED if the model is one of speech, which has no sessions of text.
bool gi_model_check_text(const struct glinfer_model *model, struct glinfer_error *err);
// Fails with UNSUPPORTED if the model is an encoder, which generates no text.
bool gi_model_check_decoder(const struct glinfer_model *model, struct glinfer_error *err);

// Adds the bytes of sessions to the model's used budget; the caller subtracts them later. host:
// bytes needed besides if the GPU uses the memory of the process. Fails with OVER_BUDGET: "<who> N
// MiB, ... leaves M MiB: <advice>".
bool gi_model_reserve(struct glinfer_model *model, uint64_t size, uint64_t host, const char *who,
                      const char *advice, struct glinfer_error *err);
