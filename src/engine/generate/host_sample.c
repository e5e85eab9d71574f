#include "engine/generate/host_sample.h"

#include "engine/api/samplers.h"
#include "engine/generate/constraint.h"
#include "engine/generate/generate.h"

#include <math.h>

bool gi_host_sample_is_on(const struct gi_generation *run)
{
    return run->host.chain != NULL;
}

static uint32_t count_logits(const struct gi_generation *run)
{
    return run->session->tables.graph.logits.n_vocab;
}

// Creates the chain and tells it the text so far.
static bool create_chain(struct gi_generation *run, const uint32_t *tokens)
{
    struct glinfer_session *session = run->session;
    const struct gi_sequence *sequence = &session->sequence;
    session->sampler = gi_samplers_create_chain(&run->params, session->model->tokenizer.core,
                                                count_logits(run), sequence->n_ctx, run->err);
    for (uint32_t i = 0; session->sampler && i < sequence->n_past; i++) {
        gi_sampler_chain_accept(session->sampler, sequence->tokens[i]);
    }
    for (uint32_t i = 0; session->sampler && tokens && i < run->n_prompt; i++) {
        gi_sampler_chain_accept(session->sampler, tokens[i]);
    }
    if (session->sampler && !tokens && sequence->pending != GI_NO_TOKEN) {
        gi_sampler_chain_accept(session->sampler, (uint32_t)sequence->pending);
    }
    return session->sampler != NULL;
}

// Begins a text of the grammar, unless the broken answer kept to the same and goes on.
static bool begin_constraint(struct gi_generation *run, bool goes_on)
{
    struct glinfer_session *session = run->session;
    const struct glinfer_grammar *grammar = run->params.grammar;
    const bool was_constrained = session->is_constrained;
    run->host.has_constraint = session->is_constrained = grammar != NULL;
    return !grammar ||
           (goes_on && was_constrained && gi_constraint_is(session->constraint, grammar)) ||
           gi_constraint_begin(&session->constraint, session->model, grammar, run->err);
}

bool gi_host_sample_begin(struct gi_generation *run, const uint32_t *tokens)
{
    struct glinfer_session *session = run->session;
    const bool goes_on = !tokens && session->sampler;
    if (!goes_on) {
        gi_sampler_chain_destroy(session->sampler); // of an answer that nobody goes on with
        session->sampler = NULL;
    }
    if (run->params.n_predict == 0) {
        return true;
    }
    if (!begin_constraint(run, !tokens)) {
        return false;
    }
    if (!gi_samplers_need_host(&run->params)) {
        return true;
    }
    if (!goes_on && !create_chain(run, tokens)) {
        return false;
    }
    run->host.chain = session->sampler;
    return session->logits.capacity > 0 ||
           gi_readback_init(&session->logits, gi_session_gpu(session),
                            count_logits(run) * sizeof(float), run->err);
}

void gi_host_sample_end(struct gi_generation *run, bool is_done)
{
    struct glinfer_session *session = run->session;
    if (is_done) {
        gi_sampler_chain_destroy(session->sampler);
        session->sampler = NULL;
    }
    run->host.chain = NULL;
}

bool gi_host_sample_write(const struct gi_generation *run)
{
    return !gi_host_sample_is_on(run) ||
           gi_generation_write_state(run, (uint32_t)run->session->sequence.pending,
                                     run->base + run->n_submitted - 1, 1);
}

bool gi_host_sample_request(struct gi_generation *run, const struct gi_range *logits)
{
    struct gi_gpu *gpu = gi_session_gpu(run->session);
    if (!gi_host_sample_is_on(run)) {
        return true;
    }
    gi_readback_begin(&run->session->logits);
    gi_readback_add_checked(&run->session->logits, gpu, logits->buffer, logits->offset,
                            run->session->logits.capacity);
    if (!gi_readback_end(&run->session->logits, gpu, run->err)) {
        return false;
    }
    // The mask is worked out while the GPU works.
    run->host.mask =
        run->host.has_constraint ? gi_constraint_mask(run->session->constraint, run->err) : NULL;
    return run->host.mask || !run->host.has_constraint;
}

// Returns the logits, without those that are never chosen; NULL if they cannot be read.
static float *fetch_logits(struct gi_generation *run)
{
    const struct glinfer_session *session = run->session;
    if (!gi_readback_wait(&run->session->logits, gi_session_gpu(session), run->err)) {
        return NULL;
    }
    float *logits = run->session->logits.data;
    for (uint32_t i = 0; run->params.ignore_eos && i < session->n_stop_ids; i++) {
        logits[session->stop_ids[i]] = -INFINITY;
    }
    return logits;
}

bool gi_host_sample_choose(struct gi_generation *run, struct gi_landing *landing)
{
    if (!gi_host_sample_is_on(run)) {
        return !gi_adjust_is_masked(run) ||
               gi_constraint_accept(run->session->constraint, landing->entries[0].token, run->err);
    }
    float *logits = fetch_logits(run);
    if (!logits) {
        return false;
    }
    const uint32_t token =
        gi_sampler_chain_apply(run->host.chain, logits, run->host.mask,
                               run->base + landing->first + run->session->sequence.n_shifted);
    if (token == GI_SAMPLER_NO_TOKEN) {
        return gi_error_set(run->err, GLINFER_STATUS_UNSUPPORTED,
                            "every token of the vocabulary is banned");
    }
    if (run->host.has_constraint &&
        !gi_constraint_accept(run->session->constraint, token, run->err)) {
        return false;
    }
    gi_sampler_chain_accept(run->host.chain, token);
    run->host.entry = landing->entries[0];
    run->host.entry.token = token;
    landing->entries = &run->host.entry;
    return true;
}
