#include "cli/serve/schedule/serve_slots.h"

#include "cli/common/cli_io.h"
#include "cli/embed/cli_embedding.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// Creates sessions whose answers decode together; a single one is a plain session.
static bool create_sessions(struct glinfer_model *model,
                            const struct glinfer_session_params *params, uint32_t n,
                            struct glinfer_session *sessions[SERVE_MAX_SLOTS],
                            struct glinfer_error *err)
{
    if (n > 1) {
        return glinfer_sessions_create(model, params, n, sessions, err);
    }
    sessions[0] = glinfer_session_create(model, params, err);
    return sessions[0] != NULL;
}

bool serve_slots_init(struct serve_slots *slots, struct glinfer_model *model,
                      const struct glinfer_session_params *params, uint32_t n,
                      struct glinfer_error *err)
{
    assert(n <= SERVE_MAX_SLOTS);
    struct glinfer_session *sessions[SERVE_MAX_SLOTS] = {NULL};
    const bool is_done = create_sessions(model, params, n, sessions, err);
    *slots = (struct serve_slots){.count = n};
    for (uint32_t i = 0; i < n; i++) {
        slots->items[i].session = sessions[i];
    }
    return is_done;
}

void serve_slots_finish(struct serve_slots *slots)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        glinfer_session_destroy(&slots->items[i].session);
    }
    slots->count = 0;
}

static size_t count_held(const struct serve_slot *slot, const struct serve_job *job)
{
    if (job->task->is_fresh || job->prompt.count == 0) {
        return 0;
    }
    const size_t n = glinfer_session_match(slot->session, job->prompt.items, job->prompt.count);
    return n < job->prompt.count ? n : n - 1; // the last token is always processed
}

struct serve_slot *serve_slots_choose(struct serve_slots *slots, const struct serve_job *job)
{
    struct serve_slot *oldest = NULL, *best = NULL;
    size_t most = 0;
    const int32_t wanted = job->task->slot;
    for (uint32_t i = 0; i < slots->count; i++) {
        struct serve_slot *slot = &slots->items[i];
        if (slot->job || (wanted >= 0 && (uint32_t)wanted != i)) {
            continue;
        }
        if (!oldest || slot->last_used < oldest->last_used) {
            oldest = slot;
        }
        const size_t n = count_held(slot, job);
        if (n > most) {
            most = n;
            best = slot;
        }
    }
    return most * 10 >= job->prompt.count && best ? best : oldest;
}

struct serve_slot *serve_slots_find(struct serve_slots *slots,
                                    const struct glinfer_session *session)
{
    for (uint32_t i = 0; session && i < slots->count; i++) {
        if (slots->items[i].session == session) {
            return &slots->items[i];
        }
    }
    return NULL;
}

static bool embed(struct serve_slot *slot, struct serve_job *job, struct glinfer_error *err)
{
    struct serve_task *task = job->task;
    struct cli_embedding embedding;
    if (!cli_embed(slot->session, &job->prompt, task->pooling, task->norm, &embedding, err)) {
        return false;
    }
    if (task->n_dimensions > 0) {
        embedding.count = task->n_dimensions;
        cli_scale_values(embedding.values, embedding.count, task->norm);
    }
    const struct serve_event values = {.kind = SERVE_EVENT_VALUES,
                                       .choice = job->choice,
                                       .text_size = embedding.count * sizeof(float)};
    const struct serve_event end = {.kind = SERVE_EVENT_END, .choice = job->choice};
    serve_mailbox_send(&task->mailbox, &values, (const char *)embedding.values, NULL);
    serve_mailbox_send(&task->mailbox, &end, NULL, NULL);
    free(embedding.values);
    return true;
}

static void send_prompt_token(const struct serve_job *job, size_t index,
                              const struct glinfer_prob *probs, size_t n_probs)
{
    const struct serve_event event = {.kind = SERVE_EVENT_PROMPT,
                                      .choice = job->choice,
                                      .id = job->prompt.items[index],
                                      .n_probs = n_probs};
    serve_mailbox_send(&job->task->mailbox, &event, NULL, probs);
}

// Computes the log-probabilities of a prompt and sends each of its tokens with those of the
// likeliest tokens and, last, its own. The session then holds the prompt.
static bool score(struct serve_slot *slot, const struct serve_job *job, struct glinfer_error *err)
{
    const size_t n = job->prompt.count;
    const uint32_t n_top = job->task->n_echo_probs;
    float *logprobs = cli_alloc(n, sizeof(*logprobs));
    struct glinfer_prob *top = cli_alloc(n * (n_top + 1), sizeof(*top));
    struct glinfer_prob *probs = cli_alloc(n_top + 1, sizeof(*probs));
    const bool is_done =
        n < 2 || glinfer_score_top(slot->session, job->prompt.items, n, n_top, logprobs, top, err);
    for (size_t i = 0; is_done && i < n; i++) {
        if (i > 0) {
            memcpy(probs, top + (i - 1) * n_top, n_top * sizeof(*probs));
            probs[n_top] = (struct glinfer_prob){job->prompt.items[i], logprobs[i - 1]};
        }
        send_prompt_token(job, i, probs, i > 0 ? n_top + 1 : 0);
    }
    free(probs);
    free(top);
    free(logprobs);
    return is_done;
}

bool serve_slot_begin(struct serve_slots *slots, struct serve_slot *slot, struct serve_job *job,
                      struct glinfer_error *err)
{
    struct glinfer_generate_params params = job->task->params;
    if (job->task->has_echo_probs && !score(slot, job, err)) {
        return false;
    }
    const size_t n = count_held(slot, job);
    slot->n_cached = (uint32_t)glinfer_session_rewind(slot->session, n);
    slot->begin = cli_now();
    slot->last_used = ++slots->n_used;
    slot->n_recovered = 0;
    if (job->task->is_embedding) {
        return embed(slot, job, err);
    }
    params.prompt = job->prompt.items + slot->n_cached;
    params.n_prompt = job->prompt.count - slot->n_cached;
    params.seed = job->seed;
    if (!glinfer_begin(slot->session, &params, err)) {
        return false;
    }
    slot->job = job;
    slots->n_running++;
    return true;
}

bool serve_slot_act(const struct serve_slot *slot, const struct serve_job *job,
                    struct glinfer_error *err)
{
    struct serve_event event = {.kind = SERVE_EVENT_END, .choice = job->choice};
    if (!serve_action_run(&job->task->action, slot->session, &event.result, err)) {
        return false;
    }
    serve_mailbox_send(&job->task->mailbox, &event, NULL, NULL);
    return true;
}

bool serve_slot_resume(struct serve_slots *slots, struct serve_slot *slot,
                       struct glinfer_error *err)
{
    struct glinfer_generate_params params = slot->job->task->params;
    params.prompt = slot->job->prompt.items + slot->n_cached;
    params.n_prompt = slot->job->prompt.count - slot->n_cached;
    params.seed = slot->job->seed;
    params.resume = true;
    if (!glinfer_begin(slot->session, &params, err)) {
        return false;
    }
    slot->is_broken = false;
    slots->n_broken--;
    slots->n_running++;
    return true;
}

void serve_slot_break(struct serve_slots *slots, struct serve_slot *slot)
{
    assert(slot->job && !slot->is_broken);
    slot->is_broken = true;
    slot->n_recovered++;
    slots->n_running--;
    slots->n_broken++;
}

struct serve_job *serve_slot_release(struct serve_slots *slots, struct serve_slot *slot)
{
    struct serve_job *job = slot->job;
    assert(job);
    if (slot->is_broken) {
        slots->n_broken--;
    } else {
        slots->n_running--;
    }
    slot->is_broken = false;
    slot->job = NULL;
    return job;
}
