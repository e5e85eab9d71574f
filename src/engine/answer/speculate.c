#include "engine/answer/speculate.h"

#include "base/clock.h"
#include "engine/answer/answer.h"
#include "engine/session/verify.h"

#include <string.h>

//-- whether ---------------------------------------------------------------------------------------

bool gi_speculation_begin(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    const struct glinfer_generate_params *params = &answer->params;
    const uint32_t n_rows = gi_verifier_rows(session);
    if (params->lookup == 0 || params->n_predict == 0 || gi_host_sample_is_on(answer) ||
        answer->end >= GI_STEP_END_ADJUSTED || session->group->n_slots > 1) {
        return true;
    }
    if (gi_has_recurrence(&session->model->hparams)) {
        gi_log_write(&session->model->device->log, GLINFER_LOG_WARN,
                     "there are no drafts with models whose layers keep states: a wrong one could "
                     "not be taken back");
        return true;
    }
    if (n_rows == 0) {
        gi_log_write(&session->model->device->log, GLINFER_LOG_WARN,
                     "there are no drafts with batches of at most %u tokens",
                     session->tables.n_batch);
        return true;
    }
    if (!gi_verifier_prepare(session, params, answer->end, &answer->err)) {
        return false;
    }
    if (!session->verifier || !session->verifier->choices[answer->end]) {
        return true;
    }
    const uint32_t most = params->lookup < n_rows - 1 ? params->lookup : n_rows - 1;
    gi_lookup_init(&answer->speculation.lookup, &session->lookup_times, params->lookup_match, most,
                   params->lookup_always);
    return true;
}

bool gi_speculation_holds(const struct gi_answer *answer)
{
    return gi_lookup_wants(&answer->speculation.lookup);
}

bool gi_speculation_choose(struct gi_answer *answer)
{
    struct gi_speculation *own = &answer->speculation;
    const struct gi_sequence *sequence = &answer->session->sequence;
    if (own->phase != GI_SPECULATION_IDLE) {
        return true;
    }
    if (answer->session->runner.n_flights > 0 || sequence->pending == GI_NO_TOKEN ||
        !gi_lookup_wants(&own->lookup)) {
        return false;
    }
    const uint32_t left = answer->max_steps - answer->n_submitted; // the last one is never drafted
    own->n_draft = gi_lookup_choose(&own->lookup, sequence->tokens, sequence->n_past + 1,
                                    left > 0 ? left - 1 : 0);
    own->phase = own->n_draft > 0 ? GI_SPECULATION_BATCH : GI_SPECULATION_IDLE;
    return own->n_draft > 0;
}

//-- what it submits -------------------------------------------------------------------------------

static uint32_t find_past(const struct gi_answer *answer)
{
    return answer->base + answer->n_submitted - 1;
}

// Writes the tokens of the batch, its step_state, and that of each row.
static bool write_batch(struct gi_answer *answer)
{
    struct gi_speculation *own = &answer->speculation;
    struct glinfer_session *session = answer->session;
    const uint32_t n_past = find_past(answer), n_rows = own->n_draft + 1;
    uint32_t tokens[GI_MAX_ROWS] = {(uint32_t)session->sequence.pending};
    uint8_t states[GI_MAX_ROWS * GI_STEP_STATE_STRIDE] = {0};
    own->place.live = (1u << n_rows) - 1;
    for (uint32_t i = 0; i < n_rows; i++) {
        struct gi_step_state state = gi_answer_state(answer, tokens[i], n_past + i, 1);
        state.epoch = session->runner.epoch;
        state.step += i;
        memcpy(states + (size_t)i * GI_STEP_STATE_STRIDE, &state, sizeof(state));
        own->place.n_past[i] = n_past + i;
        if (i < own->n_draft) {
            tokens[i + 1] = own->lookup.draft[i];
        }
    }
    return gi_runner_fill(&session->runner, &session->tables.ranges[GI_SESSION_TOKENS], tokens,
                          n_rows * sizeof(tokens[0]), &answer->err) &&
           gi_runner_fill(&session->runner, &session->verifier->states.range, states,
                          (uint64_t)n_rows * GI_STEP_STATE_STRIDE, &answer->err) &&
           gi_answer_write_state(answer, 0, n_past, n_rows);
}

static struct gi_executor *find_executor(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    const struct gi_speculation *own = &answer->speculation;
    switch (own->phase) {
    case GI_SPECULATION_BATCH:
        return gi_tables_prompt(&session->tables, own->n_draft + 1, &answer->err);
    case GI_SPECULATION_LOGITS:
        return session->verifier->rows;
    default:
        return session->verifier->choices[answer->end];
    }
}

bool gi_speculation_submit(struct gi_answer *answer)
{
    struct gi_speculation *own = &answer->speculation;
    const struct gi_runner *runner = &answer->session->runner;
    const uint32_t n_rows = own->n_draft + 1;
    const uint64_t known_ns = own->lookup.times->rows_ns[n_rows];
    const bool is_choice = own->phase == GI_SPECULATION_CHOICE;
    struct gi_executor *executor = find_executor(answer);
    if (own->phase == GI_SPECULATION_BATCH) {
        own->begin_ns = gi_clock_ns();
        if (!write_batch(answer)) {
            return false;
        }
    }
    answer->open = (struct gi_open_chain){
        .executor = executor,
        .n_past = find_past(answer),
        .n_tokens = n_rows,
        .n_steps = 1,
        .n_entries = is_choice ? n_rows : 0,
        .joint = is_choice ? &own->place : NULL,
        .is_batch = !is_choice,
        .is_boxed = known_ns == 0 || known_ns > runner->budget_ns || answer->session->has_company,
        .begin_ns = gi_clock_ns()};
    return executor && gi_answer_submit_open(answer);
}

bool gi_speculation_advance(struct gi_answer *answer)
{
    struct gi_speculation *own = &answer->speculation;
    if (own->phase == GI_SPECULATION_IDLE) {
        return false;
    }
    own->phase = own->phase == GI_SPECULATION_BATCH    ? GI_SPECULATION_LOGITS
                 : own->phase == GI_SPECULATION_LOGITS ? GI_SPECULATION_CHOICE
                                                       : GI_SPECULATION_FLYING;
    return true;
}

//-- what has run ----------------------------------------------------------------------------------

bool gi_speculation_is_right(const struct gi_answer *answer, const struct gi_landing *landing,
                             uint32_t i)
{
    const struct gi_speculation *own = &answer->speculation;
    return own->phase != GI_SPECULATION_FLYING ||
           (i < own->n_draft && landing->entries[i].token == own->lookup.draft[i]);
}

void gi_speculation_land(struct gi_answer *answer, const struct gi_landing *landing,
                         uint32_t n_live, uint64_t ns)
{
    struct gi_speculation *own = &answer->speculation;
    own->was_draft = own->phase == GI_SPECULATION_FLYING;
    if (!own->was_draft) {
        gi_lookup_learn_steps(&own->lookup, landing->n_steps, own->is_alone, ns);
        return;
    }
    answer->n_submitted = landing->first + n_live;
    answer->stats.draft_batches++;
    answer->stats.draft_n += own->n_draft;
    answer->stats.draft_n_accepted += n_live - 1;
    gi_lookup_learn_draft(&own->lookup, own->n_draft, n_live - 1, ns);
    own->phase = GI_SPECULATION_IDLE;
    own->is_behind = true;
}

void gi_speculation_note(struct gi_answer *answer, const struct gi_landing *landing, uint32_t i)
{
    struct gi_speculation *own = &answer->speculation;
    struct gi_sequence *sequence = &answer->session->sequence;
    if (own->was_draft) {
        gi_sequence_join_batch(sequence, answer->base + landing->first - 1, i + 1);
    } else if (i + 1 == answer->n_live && sequence->n_past < sequence->n_ctx) {
        gi_lookup_note(&own->lookup, sequence->tokens, sequence->n_past + 1, answer->n_live);
    }
}
