// glinfer_session: a sequence, the tables that compute it, a runner that submits them, and what
// chooses the executors of its steps.
#ifndef GI_ENGINE_SESSION_H
#define GI_ENGINE_SESSION_H

#include "engine/answer/lookup.h"
#include "engine/run/session_group.h"
#include "gpu/dispatch/runner.h"
#include "gpu/memory/readback.h"

#include <stdatomic.h>

struct gi_constraint;
struct gi_embedder;
struct gi_answer;
struct gi_sampler_chain;
struct gi_scorer;
struct gi_step_executors;
struct gi_verifier;

// An answer that broke off, which glinfer_generate_params.resume goes on with.
struct gi_broken_answer {
    bool is_there;
    uint32_t n_prompt, base; // as struct gi_answer has them
    uint32_t n_delivered;    // tokens
};

struct glinfer_session {
    struct glinfer_model *model;  // borrowed; counts this session
    struct glinfer_session *next; // of the model
    struct glinfer_session_params params;
    struct gi_session_group *group; // owns the memory of the tables and the sequence's cache
    uint32_t slot;                  // of the group
    struct gi_sequence sequence;
    struct gi_tables tables;
    struct gi_runner runner;
    struct gi_step_executors *step_executors; // engine/run/step_executors.h
    struct gi_scorer *scorer;                 // NULL until glinfer_score is called
    struct gi_embedder *embedder;             // NULL until glinfer_embed is called
    struct gi_verifier *verifier;             // NULL until an answer asks for drafts
    struct gi_lookup_times lookup_times;
    uint32_t chain_length; // steps; 0: by the runner's budget
    uint32_t gpu_duty;     // percent, 1..100
    size_t max_token_size; // bytes of the longest token
    int32_t stop_ids[GI_MAX_STOP_IDS];
    uint32_t n_stop_ids;
    struct gi_broken_answer broken;
    struct glinfer_stats stats;       // of the last answer in steps that ended
    struct gi_answer *answer;         // that glinfer_begin began; NULL: none
    bool has_company;                 // other sessions of the device have one, too
    struct gi_constraint *constraint; // of the last answer that kept to a grammar; NULL: none
    bool is_constrained;              // so was the last one
    struct gi_sampler_chain *sampler; // of an answer that samples on the host, or that broke off
    struct gi_readback logits;        // of a step; zero until an answer samples on the host
    bool has_batch;                   // of a prompt, that was submitted
    atomic_bool is_cancelled;
    bool is_doomed; // destroyed in a callback: ends with the call
    bool is_ending; // likewise, its answer in steps
};

static inline struct gi_gpu *gi_session_gpu(const struct glinfer_session *session)
{
    return session->model->device->gpu;
}

// Fails with INVALID_ARGUMENT if the session has an answer under way.
bool gi_session_check_idle(const struct glinfer_session *session, struct glinfer_error *err);
// Enters the session's GPU (gi_gpu_enter) and settles the chains that an answer left in flight.
// Fails with GPU_LOST, and with INVALID_ARGUMENT inside a callback, not entered.
bool gi_session_enter(struct glinfer_session *session, struct gi_platform_saved *saved,
                      struct glinfer_error *err);
// The same for a call that is over if it fails (gi_device_end_call), maybe with the session.
bool gi_session_enter_call(struct glinfer_session *session, struct gi_platform_saved *saved,
                           struct glinfer_error *err);
void gi_session_leave(struct glinfer_session *session, const struct gi_platform_saved *saved);
// Forgets all tokens, inside a call too.
void gi_session_reset(struct glinfer_session *session);
// Destroys what the session has on the GPU; its tokens stay. The context is entered.
void gi_session_release(struct glinfer_session *session);
// Makes that anew, but for the cache, which the next answer computes from the tokens. Fails as
// glinfer_session_create does.
bool gi_session_restore(struct glinfer_session *session, struct glinfer_error *err);
// Ends the answer that glinfer_begin began, if there is one, as one that broke off.
void gi_session_end_answer(struct glinfer_session *session);
// Fails with CANCELLED, once, if glinfer_session_cancel was called since the call, or the answer,
// began; what names the call.
bool gi_session_check_cancel(struct glinfer_session *session, const char *what,
                             struct glinfer_error *err);

#endif
