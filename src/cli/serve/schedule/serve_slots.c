#include "cli/serve/schedule/serve_slots.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_session.h"
#include "cli/embed/cli_embedding.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool serve_slots_init(struct serve_slots *slots, struct glinfer_model *model,
                      const struct glinfer_session_params *params, uint32_t n,
                      struct glinfer_error *err)
{
    assert(n <= SERVE_MAX_SLOTS);
    struct glinfer_session *sessions[SERVE_MAX_SLOTS] = {NULL};
    const bool is_done = glinfer_sessions_create(model, params, n, sessions, err);
    *slots = (struct serve_slots){.count = n};
    for (uint32_t i = 0; i < n; i++) {
        slots->items[i].session = sessions[i];
    }
    slots->prefixes.n_adapters = (uint32_t)glinfer_session_adapter_scales(sessions[0], NULL, 0);
    return is_done;
}

void serve_slots_finish(struct serve_slots *slots)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        glinfer_session_destroy(&slots->items[i].session);
    }
    slots->count = 0;
    serve_prefixes_finish(&slots->prefixes);
}

// Returns true if the slot computes with the scales of adapters that a task asks for.
static bool has_scales(const struct serve_slot *slot, const struct serve_task *task)
{
    float scales[CLI_MAX_LORA] = {0};
    glinfer_session_adapter_scales(slot->session, scales, task->n_adapters);
    return memcmp(scales, task->adapter_scales, task->n_adapters * sizeof(scales[0])) == 0;
}

// Gives a slot the scales of a task. Its tokens were computed with others, if these differ.
static bool set_scales(struct serve_slot *slot, const struct serve_task *task,
                       struct glinfer_error *err)
{
    if (!has_scales(slot, task)) {
        glinfer_session_reset(slot->session);
    }
    return task->n_adapters == 0 || glinfer_session_set_adapter_scales(
                                        slot->session, task->adapter_scales, task->n_adapters, err);
}

// Returns the number of first tokens of a job's prompt that may come from elsewhere: the last token
// is always processed.
static size_t count_shared(const struct serve_job *job)
{
    return job->task->is_fresh || job->prompt.count == 0 ? 0 : job->prompt.count - 1;
}

// Returns the number of first tokens of a job's prompt that a slot has.
static size_t count_match(const struct serve_slot *slot, const struct serve_job *job)
{
    return has_scales(slot, job->task)
               ? glinfer_session_match(slot->session, job->prompt.items, count_shared(job))
               : 0;
}

// Returns how many of them need not be computed again.
static size_t count_held(const struct serve_slot *slot, const struct serve_job *job)
{
    return glinfer_session_ready(slot->session, count_match(slot, job));
}

static size_t count_tokens(const struct serve_slot *slot)
{
    return glinfer_session_tokens(slot->session, NULL, 0);
}

enum { FEW_LOST = 64 }; // tokens that a slot may always lose

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
    const size_t n_lost = best ? count_tokens(best) - most : 0;
    const bool goes_on =
        best && most * 10 >= job->prompt.count && (n_lost <= most || n_lost <= FEW_LOST);
    return goes_on ? best : oldest;
}

//-- prefixes --------------------------------------------------------------------------------------

// Returns the idle slot with the most tokens of a job's prompt, at least `least`. NULL: none. Sets
// *n_match to the most tokens in common with any idle slot, if they are more.
static struct serve_slot *find_holder(struct serve_slots *slots, const struct serve_slot *but,
                                      const struct serve_job *job, size_t least, size_t *n_match)
{
    struct serve_slot *holder = NULL;
    for (uint32_t i = 0; i < slots->count; i++) {
        struct serve_slot *slot = &slots->items[i];
        const size_t n = slot->job ? 0 : count_match(slot, job);
        const size_t n_held = slot->job || slot == but ? 0 : count_held(slot, job);
        *n_match = n > *n_match ? n : *n_match;
        if (n_held > 0 && n_held >= least) {
            holder = slot;
            least = n_held + 1;
        }
    }
    return holder;
}

// Gives a slot the tokens of a job's prompt that it has itself or that another slot or the prefix
// cache has, where that spares more than FEWEST tokens. The prefix cache takes the slot's tokens if
// most of them go. Returns the number of tokens that need not be computed; without memory 0.
static size_t give_prefix(struct serve_slots *slots, struct serve_slot *slot,
                          const struct serve_job *job)
{
    enum { FEWEST = 16 };
    const struct serve_task *task = job->task;
    const bool is_replaced = task->is_embedding || task->has_echo_probs;
    const size_t own = is_replaced ? 0 : count_held(slot, job), n_tokens = count_tokens(slot);
    struct serve_found found = {0};
    struct serve_slot *holder = NULL;
    size_t n_match = 0;
    if (!is_replaced) {
        found = serve_prefixes_find(&slots->prefixes, job->prompt.items, count_shared(job),
                                    task->adapter_scales);
        const size_t least = found.n_ready > own ? found.n_ready : own;
        holder = find_holder(slots, slot, job, least, &n_match);
    }
    slot->places = job->places;
    serve_places_add(&slot->places, n_match > found.n_match ? n_match : found.n_match);
    const size_t there = holder ? count_held(holder, job) : found.n_ready;
    const bool is_copied = there >= own + FEWEST;
    const size_t kept = is_copied ? 0 : own;
    if (n_tokens > 2 * kept) {
        serve_prefixes_store(&slots->prefixes, slot->session, is_copied ? found.prefix : NULL);
    }
    const bool is_done =
        !is_copied || (holder ? glinfer_session_copy(slot->session, holder->session, there, NULL)
                              : set_scales(slot, task, NULL) &&
                                    serve_prefixes_load(&slots->prefixes, found.prefix,
                                                        slot->session, there, NULL));
    if (!is_done) {
        glinfer_session_reset(slot->session);
    }
    return is_copied && is_done ? there : kept;
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
    serve_mailbox_send(&task->mailbox, &values, (const char *)embedding.values, NULL);
    free(embedding.values);
    return true;
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
        const struct serve_event event = {.kind = SERVE_EVENT_PROMPT,
                                          .choice = job->choice,
                                          .id = job->prompt.items[i],
                                          .n_probs = i > 0 ? n_top + 1 : 0};
        serve_mailbox_send(&job->task->mailbox, &event, NULL, probs);
    }
    free(probs);
    free(top);
    free(logprobs);
    return is_done;
}

// Begins or resumes an answer after the tokens that the slot holds.
static bool begin(const struct serve_slot *slot, const struct serve_job *job, bool is_resumed,
                  struct glinfer_error *err)
{
    struct glinfer_generate_params params = job->task->params;
    params.prompt = job->prompt.items + slot->n_cached;
    params.n_prompt = job->prompt.count - slot->n_cached;
    uint32_t checkpoints[SERVE_MAX_PLACES];
    params.n_checkpoints = cli_fill_checkpoints(slot->places.at, slot->places.n, slot->n_cached,
                                                params.n_prompt, checkpoints);
    params.checkpoints = checkpoints;
    params.seed = job->seed;
    params.resume = is_resumed;
    return glinfer_begin(slot->session, &params, err);
}

bool serve_slot_begin(struct serve_slots *slots, struct serve_slot *slot, struct serve_job *job,
                      struct glinfer_error *err)
{
    const bool is_scored = job->task->has_echo_probs;
    size_t n = give_prefix(slots, slot, job);
    if (!set_scales(slot, job->task, err) || (is_scored && !score(slot, job, err))) {
        return false;
    }
    n = is_scored ? count_held(slot, job) : n;
    slot->n_cached = (uint32_t)glinfer_session_rewind(slot->session, n);
    slot->begin = cli_now();
    slot->last_used = ++slots->n_used;
    slot->n_recovered = 0;
    if (job->task->is_embedding) {
        return embed(slot, job, err);
    }
    if (!begin(slot, job, false, err)) {
        return false;
    }
    slot->job = job;
    slots->n_running++;
    return true;
}

bool serve_slot_end_thought(struct serve_slot *slot, const struct glinfer_tokenizer *tokenizer,
                            struct glinfer_error *err)
{
    struct serve_job *job = slot->job;
    struct glinfer_generate_params params = job->task->params;
    struct cli_bytes text = {0};
    struct cli_ids ids = {0};
    const int64_t left = params.n_predict - job->budget.n_token;
    if (params.n_predict >= 0 && left <= 0) { // it ends by itself
        return true;
    }
    job->budget.is_over = true;
    serve_budget_end_text(&job->budget, &text);
    *err = (struct glinfer_error){GLINFER_STATUS_NO_MEMORY, "cannot end a thought: out of memory"};
    bool is_done = cli_tokenize(tokenizer, &text, GLINFER_TOKENIZE_NO_BOS, &ids);
    if (is_done) {
        params.prompt = ids.items;
        params.n_prompt = ids.count;
        params.n_predict = params.n_predict < 0 ? -1 : (int32_t)left;
        params.seed = job->seed;
        glinfer_end(slot->session); // keeps the tokens that were sent
        is_done = glinfer_begin(slot->session, &params, err);
    }
    const struct serve_event event = {
        .kind = SERVE_EVENT_TOKEN, .choice = job->choice, .id = -1, .text_size = text.size};
    if (is_done) {
        serve_mailbox_send(&job->task->mailbox, &event, text.data, NULL);
    }
    cli_bytes_finish(&text);
    free(ids.items);
    return is_done;
}

bool serve_slot_act(struct serve_slot *slot, const struct serve_job *job, struct glinfer_error *err)
{
    const struct serve_action *action = &job->task->action;
    struct serve_event event = {.kind = SERVE_EVENT_END, .choice = job->choice};
    struct stat state;
    const double begin = cli_now();
    const size_t n_before = glinfer_session_rewind(slot->session, SIZE_MAX);
    if (action->kind != SERVE_ACTION_SAVE) {
        glinfer_session_reset(slot->session);
    }
    if ((action->kind == SERVE_ACTION_SAVE &&
         !glinfer_session_save(slot->session, action->path, err)) ||
        (action->kind == SERVE_ACTION_RESTORE &&
         !(set_scales(slot, job->task, err) &&
           glinfer_session_load(slot->session, action->path, err)))) {
        return false;
    }
    const size_t n = glinfer_session_rewind(slot->session, SIZE_MAX);
    event.result.n_tokens = action->kind == SERVE_ACTION_ERASE ? n_before : n;
    event.result.size =
        action->path && stat(action->path, &state) == 0 ? (uint64_t)state.st_size : 0;
    event.result.ms = 1e3 * (cli_now() - begin);
    serve_mailbox_send(&job->task->mailbox, &event, NULL, NULL);
    return true;
}

bool serve_slot_resume(struct serve_slots *slots, struct serve_slot *slot,
                       struct glinfer_error *err)
{
    if (!begin(slot, slot->job, true, err)) {
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
