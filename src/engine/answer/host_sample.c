#include "engine/answer/host_sample.h"

#include "engine/answer/answer.h"
#include "engine/answer/constraint.h"
#include "engine/session/samplers.h"

#include <math.h>

static uint32_t count_logits(const struct gi_answer *answer)
{
    return answer->session->tables.graph.logits.n_vocab;
}

// Creates the chain of samplers and passes it the text so far.
static bool create_chain(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    const struct gi_sequence *sequence = &session->sequence;
    const uint32_t *tokens = answer->prompt.tokens;
    session->sampler =
        gi_samplers_create_chain(&answer->params, session->model->tokenizer.core,
                                 count_logits(answer), sequence->n_ctx, &answer->err);
    for (uint32_t i = 0; session->sampler && i < sequence->n_past; i++) {
        gi_sampler_chain_accept(session->sampler, sequence->tokens[i]);
    }
    for (uint32_t i = 0; session->sampler && tokens && i < answer->prompt.n_tokens; i++) {
        gi_sampler_chain_accept(session->sampler, tokens[i]);
    }
    if (session->sampler && !tokens && sequence->pending != GI_NO_TOKEN) {
        gi_sampler_chain_accept(session->sampler, (uint32_t)sequence->pending);
    }
    return session->sampler != NULL;
}

// Begins a text of the grammar, unless a broken answer with the same grammar resumes.
static bool begin_constraint(struct gi_answer *answer, bool goes_on)
{
    struct glinfer_session *session = answer->session;
    const struct glinfer_grammar *grammar = answer->params.grammar;
    const bool was_constrained = session->is_constrained;
    answer->host.has_constraint = session->is_constrained = grammar != NULL;
    return !grammar ||
           (goes_on && was_constrained && gi_constraint_is(session->constraint, grammar)) ||
           gi_constraint_begin(session, grammar, &answer->err);
}

bool gi_host_sample_begin(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    const bool is_resumed = !answer->prompt.tokens;
    const bool goes_on = is_resumed && session->sampler;
    if (!goes_on) {
        gi_sampler_chain_destroy(session->sampler); // of a broken answer that will not be resumed
        session->sampler = NULL;
    }
    if (answer->params.n_predict == 0) {
        return true;
    }
    if (!begin_constraint(answer, is_resumed)) {
        return false;
    }
    if (!gi_samplers_need_host(&answer->params)) {
        return true;
    }
    if (!goes_on && !create_chain(answer)) {
        return false;
    }
    answer->host.chain = session->sampler;
    return session->logits.capacity > 0 ||
           gi_readback_init(&session->logits, gi_session_gpu(session),
                            count_logits(answer) * sizeof(float), &answer->err);
}

void gi_host_sample_end(struct gi_answer *answer, bool is_done)
{
    struct glinfer_session *session = answer->session;
    if (is_done) {
        gi_sampler_chain_destroy(session->sampler);
        session->sampler = NULL;
    }
    answer->host.chain = NULL;
}

bool gi_host_sample_request(struct gi_answer *answer, const struct gi_range *logits)
{
    struct gi_gpu *gpu = gi_session_gpu(answer->session);
    if (!gi_host_sample_is_on(answer)) {
        return true;
    }
    gi_readback_begin(&answer->session->logits);
    gi_readback_add_checked(&answer->session->logits, gpu, logits->buffer, logits->offset,
                            answer->session->logits.capacity);
    if (!gi_readback_end(&answer->session->logits, gpu, &answer->err)) {
        return false;
    }
    // The host computes the mask while the GPU works.
    answer->host.mask = answer->host.has_constraint
                            ? gi_constraint_mask(answer->session->constraint, &answer->err)
                            : NULL;
    return answer->host.mask || !answer->host.has_constraint;
}

// Returns the logits, with ignored stop ids at -infinity; NULL if they cannot be read.
static float *fetch_logits(struct gi_answer *answer)
{
    const struct glinfer_session *session = answer->session;
    if (!gi_readback_wait(&answer->session->logits, gi_session_gpu(session), &answer->err)) {
        return NULL;
    }
    float *logits = answer->session->logits.data;
    for (uint32_t i = 0; answer->params.ignore_eos && i < session->n_stop_ids; i++) {
        logits[session->stop_ids[i]] = -INFINITY;
    }
    return logits;
}

bool gi_host_sample_choose(struct gi_answer *answer, struct gi_landing *landing)
{
    if (!gi_host_sample_is_on(answer)) {
        return !gi_adjust_is_masked(answer) ||
               gi_constraint_accept(answer->session->constraint, landing->entries[0].token,
                                    &answer->err);
    }
    float *logits = fetch_logits(answer);
    if (!logits) {
        return false;
    }
    const uint32_t token =
        gi_sampler_chain_apply(answer->host.chain, logits, answer->host.mask,
                               answer->base + landing->first + answer->session->sequence.n_shifted);
    if (token == GI_SAMPLER_NO_TOKEN) {
        return gi_error_set(&answer->err, GLINFER_STATUS_UNSUPPORTED,
                            "every token of the vocabulary is banned");
    }
    if (answer->host.has_constraint &&
        !gi_constraint_accept(answer->session->constraint, token, &answer->err)) {
        return false;
    }
    gi_sampler_chain_accept(answer->host.chain, token);
    answer->host.entry = landing->entries[0];
    answer->host.entry.token = token;
    landing->entries = &answer->host.entry;
    return true;
}
