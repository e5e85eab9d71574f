// glinfer_session: owns a sequence, the lists that compute it, the runner that submits them, and
// the choice of the executors of its steps.
#pragma once

#include "engine/session/lookup.h"
#include "engine/session/session_group.h"
#include "gpu/dispatch/runner.h"
#include "gpu/memory/readback.h"

#include <stdatomic.h>

struct gi_constraint;
struct gi_answer;
struct gi_sampler_chain;
struct gi_scorer;
struct gi_step_executors;
struct gi_verifier;

// An answer that broke off, which glinfer_generate_params.resume continues.
struct gi_broken_answer {
    bool is_there;
    uint32_t n_prompt, base; // as struct gi_answer has them
    struct glinfer_stats stats;
    bool is_finished; // by its last token; nothing but its end was not told
};

struct glinfer_session {
    struct glinfer_model *model;     // borrowed; counts its sessions
    struct glinfer_session *next;    // next session of the model
    struct glinfer_session *encoder; // borrowed; whose keys cross-attention reads, or NULL
    struct glinfer_session_params params;
    struct gi_session_group *group; // owns the memory of the tables and of the cache
    uint32_t slot;                  // slot in the group
    struct gi_sequence sequence;
    float adapter_scales[GI_MAX_ADAPTERS]; // of each adapter of the model
    bool has_scales;                       // the GPU has adapter_scales
    struct gi_tables tables;
    struct gi_runner runner;
    struct gi_step_executors *step_executors; // engine/session/step_executors.h
    struct gi_scorer *scorer;                 // NULL until glinfer_score is called
    struct gi_verifier *verifier;             // NULL until an answer asks for drafts
    struct gi_lookup_times lookup_times;
    uint32_t chain_length; // steps per chain; 0: from the runner's budget
    uint32_t gpu_duty;     // percent, 1..100
    size_t max_token_size; // bytes of the longest token
    int32_t stop_ids[GI_MAX_STOP_IDS];
    uint32_t n_stop_ids;
    struct gi_broken_answer broken;
    struct glinfer_stats stats;       // of the last finished answer of glinfer_begin
    struct gi_answer *answer;         // begun by glinfer_begin; NULL: none
    bool has_company;                 // other sessions of the device have an answer, too
    struct gi_owned *on_gpu;          // objects that end with the GPU's, such as scorer
    struct gi_owned *on_host;         // objects that end with the session, such as constraint
    struct gi_constraint *constraint; // of the last answer with a grammar; NULL: none
    bool is_constrained;              // the last answer had a grammar
    struct gi_sampler_chain *sampler; // host sampling of a current or broken answer
    struct gi_readback logits;        // of a step; all-zero until an answer samples on the host
    bool has_batch;                   // a batch of a prompt was submitted
    atomic_bool is_cancelled;
    bool is_doomed; // destroyed in a callback: freed when the call returns
    bool is_ending; // its answer was destroyed in a callback
};

static inline struct gi_gpu *gi_session_gpu(const struct glinfer_session *session)
{
    return session->model->device->gpu;
}

// Creates the n sessions of a group, from checked params. Sessions that are not complete are marked
// as destroyed. encoder: whose keys cross-attention reads; NULL for models without it.
bool gi_sessions_create(struct glinfer_model *model, const struct glinfer_session_params *params,
                        struct glinfer_session *encoder, uint32_t n,
                        struct glinfer_session **sessions, struct glinfer_error *err);
// Destroys a session without an answer.
void gi_session_destroy(struct glinfer_session *session);
// Sets how many keys of the encoder the cross-attention of the next n_tokens tokens reads. The
// session has an encoder, and n_key >= n_tokens. Fails with GPU_LOST, NO_MEMORY.
bool gi_session_set_keys(struct glinfer_session *session, uint32_t n_key, uint32_t n_tokens,
                         struct glinfer_error *err);
// Prepares all that an answer to params needs: lists, with has_steps the executors of steps, and
// drafts. Fails as these do.
bool gi_session_prepare(struct glinfer_session *session,
                        const struct glinfer_generate_params *params, bool has_steps,
                        bool is_patient, struct glinfer_error *err);

// Sets the scales of adapters, one for each of the model. If one changes, the cache is lost. The
// context is entered and no answer is in progress. Fails with DRIVER, GPU_LOST.
bool gi_session_set_scales(struct glinfer_session *session, const float *scales,
                           struct glinfer_error *err);
// Fails with INVALID_ARGUMENT if the session has an answer in progress.
bool gi_session_check_idle(const struct glinfer_session *session, struct glinfer_error *err);
// Enters the session's GPU (gi_gpu_enter) and settles the chains that an answer left in flight.
// Fails with GPU_LOST, and with INVALID_ARGUMENT inside a callback; the GPU is then not entered.
bool gi_session_enter(struct glinfer_session *session, struct gi_platform_saved *saved,
                      struct glinfer_error *err);
void gi_session_leave(struct glinfer_session *session, const struct gi_platform_saved *saved);
// Removes all tokens, also inside a call.
void gi_session_reset(struct glinfer_session *session);
// Destroys the session's GPU objects; its tokens stay. The context is entered.
void gi_session_release(struct glinfer_session *session);
// Creates the GPU objects again. The next answer recomputes the cache from the tokens. Fails as
// glinfer_session_create does.
bool gi_session_restore(struct glinfer_session *session, struct glinfer_error *err);
// Fails once with CANCELLED if glinfer_session_cancel was called since the call, or the answer,
// began. what: name of the call.
bool gi_session_check_cancel(struct glinfer_session *session, const char *what,
                             struct glinfer_error *err);
