#include "cli/serve/schedule/serve_scheduler.h"

#include "cli/flags/cli_template.h"
#include "cli/serve/schedule/serve_hearing.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    STEP_US = 4000,  // of a call of glinfer_step; bounds how late a new or lost client is noticed
    WAIT_MS = 100,   // limit of a wait for the device, whose descriptor may be late
    MAX_RECOVER = 2, // recoveries for one answer
};

struct serve_scheduler {
    const struct serve_settings *settings;   // borrowed
    struct glinfer_generate_params expected; // parameters to compile for in advance
    struct cli_session session;              // its own glinfer_session is not used
    pthread_t thread;
    bool has_thread;
    int wake_fd, ready_fd; // eventfd
    atomic_int state;
    atomic_bool is_stopped;
    struct glinfer_error failure; // of loading
    struct serve_queue queue;
    // The thread's own:
    struct serve_slots slots;
    struct serve_hearing hearing;
    int device_fd;
    bool is_device_lost; // and not yet recovered
    // Shared:
    pthread_mutex_t lock;
    struct serve_snapshot seen;
};

static void notify(int fd)
{
    const uint64_t one = 1;
    if (write(fd, &one, sizeof(one)) < 0) {
        // The counter is full: the descriptor is readable already.
    }
}

//-- counts ----------------------------------------------------------------------------------------

static struct serve_slot_state *lock_slot(struct serve_scheduler *s, const struct serve_slot *slot)
{
    pthread_mutex_lock(&s->lock);
    return &s->seen.slots[slot - s->slots.items];
}

static void unlock_slot(struct serve_scheduler *s)
{
    s->seen.n_running = s->slots.n_running + s->slots.n_broken;
    pthread_mutex_unlock(&s->lock);
}

static void count_begin(struct serve_scheduler *s, const struct serve_slot *slot)
{
    struct serve_slot_state *state = lock_slot(s, slot);
    *state = (struct serve_slot_state){
        .is_busy = true,
        .n_prompt = (uint32_t)slot->job->prompt.count,
        .n_cached = slot->n_cached,
        .n_processed = slot->n_cached,
        .n_predict = slot->job->task->params.n_predict,
        .n_answers = state->n_answers + 1,
    };
    s->seen.counts.n_cached += slot->n_cached;
    unlock_slot(s);
}

// Counts a text of n tokens whose embedding was computed.
static void count_text(struct serve_scheduler *s, const struct serve_slot *slot, size_t n)
{
    struct serve_counts *counts = &s->seen.counts;
    pthread_mutex_lock(&s->lock);
    counts->n_prompt += n;
    counts->prompt_ms += 1e3 * (cli_now() - slot->begin);
    counts->n_steps++;
    counts->n_busy++;
    counts->n_done++;
    pthread_mutex_unlock(&s->lock);
}

static void count_end(struct serve_scheduler *s, const struct serve_slot *slot,
                      const struct glinfer_stats *stats, bool has_failed)
{
    struct serve_slot_state *state = lock_slot(s, slot);
    struct serve_counts *counts = &s->seen.counts;
    const double ms = 1e3 * (cli_now() - slot->begin);
    state->is_busy = false;
    if (stats) {
        counts->n_prompt += stats->prompt_n;
        counts->prompt_ms += stats->prompt_ms;
        counts->n_predicted += stats->predicted_n;
        counts->predicted_ms += stats->predicted_ms;
        counts->n_done++;
        counts->n_drafts += stats->draft_batches;
        counts->n_drafted += stats->draft_n;
        counts->n_accepted += stats->draft_n_accepted;
        counts->n_tokens_max =
            stats->n_past > counts->n_tokens_max ? stats->n_past : counts->n_tokens_max;
        counts->answer_ms += (ms - counts->answer_ms) * (counts->answer_ms > 0 ? 0.1 : 1);
    }
    counts->n_failed += has_failed;
    unlock_slot(s);
}

//-- events ----------------------------------------------------------------------------------------

static void send_progress(struct serve_scheduler *s, const struct serve_slot *slot,
                          const struct glinfer_event *from)
{
    struct serve_task *task = slot->job->task;
    lock_slot(s, slot)->n_processed = slot->n_cached + from->done;
    unlock_slot(s);
    const struct serve_event event = {.kind = SERVE_EVENT_PROGRESS,
                                      .choice = slot->job->choice,
                                      .done = from->done,
                                      .total = from->total,
                                      .ms = 1e3 * (cli_now() - slot->begin)};
    if (task->has_progress) {
        serve_mailbox_send(&task->mailbox, &event, NULL, NULL);
    }
}

static void send_token(struct serve_scheduler *s, const struct serve_slot *slot,
                       const struct glinfer_token *token)
{
    const struct serve_event event = {.kind = SERVE_EVENT_TOKEN,
                                      .choice = slot->job->choice,
                                      .id = token->id,
                                      .text_size = token->text_size,
                                      .n_probs = token->n_probs};
    if (token->id >= 0) {
        struct serve_slot_state *state = lock_slot(s, slot);
        state->n_processed = state->n_prompt;
        state->n_decoded++;
        s->seen.counts.n_steps++;
        s->seen.counts.n_busy += s->slots.n_running;
        unlock_slot(s);
    }
    serve_mailbox_send(&slot->job->task->mailbox, &event, token->text, token->probs);
}

// Turns the stats of what follows a thought that was ended into those of the whole answer.
static void join_stats(const struct serve_slot *slot, const struct serve_job *job,
                       struct glinfer_stats *stats)
{
    const struct serve_budget *budget = &job->budget;
    if (budget->is_over) {
        stats->prompt_n = (uint32_t)job->prompt.count - slot->n_cached;
        stats->prompt_ms = 1e3 * (budget->first - slot->begin);
        stats->predicted_n = (uint32_t)budget->n_token;
        stats->predicted_ms = 1e3 * (cli_now() - budget->first);
    }
}

static void end_job(struct serve_scheduler *s, struct serve_slot *slot,
                    const struct glinfer_stats *stats, const struct glinfer_error *err)
{
    struct serve_job *job = serve_slot_release(&s->slots, slot);
    struct serve_event event = {.kind = SERVE_EVENT_END, .choice = job->choice};
    if (stats) {
        event.stats = *stats;
        join_stats(slot, job, &event.stats);
    }
    count_end(s, slot, stats ? &event.stats : NULL, err != NULL);
    if (stats) {
        serve_mailbox_send(&job->task->mailbox, &event, NULL, NULL);
        serve_task_unref(job->task);
    } else if (err) {
        serve_job_fail(job, err);
    } else {
        serve_task_unref(job->task);
    }
}

//-- answers ---------------------------------------------------------------------------------------

static bool has_slot(void *user, const struct serve_job *job)
{
    struct serve_scheduler *s = user;
    return job->task->speech ? !s->hearing.job : serve_slots_choose(&s->slots, job) != NULL;
}

static void start_job(struct serve_scheduler *s, struct serve_job *job)
{
    struct glinfer_error err;
    if (atomic_load(&job->task->is_cancelled)) {
        pthread_mutex_lock(&s->lock);
        s->seen.counts.n_cancelled++;
        pthread_mutex_unlock(&s->lock);
        serve_task_unref(job->task);
        return;
    }
    const bool is_speech = job->task->speech;
    const bool is_action = job->task->action.kind != SERVE_ACTION_NONE;
    struct serve_slot *slot = is_speech ? NULL : serve_slots_choose(&s->slots, job);
    if (!(is_speech   ? serve_hearing_begin(&s->hearing, job, &err)
          : is_action ? serve_slot_act(slot, job, &err)
                      : serve_slot_begin(&s->slots, slot, job, &err))) {
        s->is_device_lost = s->is_device_lost || err.status == GLINFER_STATUS_GPU_LOST;
        serve_job_fail(job, &err);
        return;
    }
    if (is_speech) {
        return;
    }
    if (is_action) {
        serve_task_unref(job->task);
        return;
    }
    if (!slot->job) { // an embedding, which is counted before its client may look
        const struct serve_event end = {.kind = SERVE_EVENT_END, .choice = job->choice};
        count_text(s, slot, job->prompt.count);
        serve_mailbox_send(&job->task->mailbox, &end, NULL, NULL);
        serve_task_unref(job->task);
        return;
    }
    count_begin(s, slot);
    const struct serve_event event = {.kind = SERVE_EVENT_START,
                                      .choice = job->choice,
                                      .slot = (uint32_t)(slot - s->slots.items),
                                      .n_cached = slot->n_cached};
    serve_mailbox_send(&job->task->mailbox, &event, NULL, NULL);
}

static void drop_cancelled(struct serve_scheduler *s)
{
    for (uint32_t i = 0; i < s->slots.count; i++) {
        struct serve_slot *slot = &s->slots.items[i];
        if (slot->job && atomic_load(&slot->job->task->is_cancelled)) {
            glinfer_end(slot->session);
            end_job(s, slot, NULL, NULL);
            pthread_mutex_lock(&s->lock);
            s->seen.counts.n_cancelled++;
            pthread_mutex_unlock(&s->lock);
        }
    }
}

static void fail_all(struct serve_scheduler *s, const struct glinfer_error *err)
{
    serve_hearing_fail(&s->hearing, err);
    for (uint32_t i = 0; i < s->slots.count; i++) {
        if (s->slots.items[i].job) {
            glinfer_end(s->slots.items[i].session);
            end_job(s, &s->slots.items[i], NULL, err);
        }
    }
}

static void note_failure(struct serve_scheduler *s, struct serve_slot *slot,
                         const struct glinfer_error *err)
{
    s->is_device_lost = s->is_device_lost || err->status == GLINFER_STATUS_GPU_LOST;
    if (!slot) {
        cli_say("error: %s", err->message);
        fail_all(s, err);
    } else if (cli_is_broken(err) && slot->n_recovered < MAX_RECOVER) {
        cli_note("%s", err->message);
        serve_slot_break(&s->slots, slot);
    } else {
        end_job(s, slot, NULL, err);
    }
}

// Advances the transcription and counts the job if it ends.
static void step_hearing(struct serve_scheduler *s)
{
    struct glinfer_error err = {.status = GLINFER_STATUS_OK};
    const enum serve_hearing_end end = serve_hearing_step(&s->hearing, STEP_US, &err);
    s->is_device_lost = s->is_device_lost || err.status == GLINFER_STATUS_GPU_LOST;
    if (end != SERVE_HEARING_WORKS) {
        notify(s->wake_fd); // another sound may wait
    }
    pthread_mutex_lock(&s->lock);
    s->seen.counts.n_done += end == SERVE_HEARING_DONE;
    s->seen.counts.n_failed += end == SERVE_HEARING_FAILED;
    s->seen.counts.n_cancelled += end == SERVE_HEARING_CANCELLED;
    pthread_mutex_unlock(&s->lock);
}

// Recovers the device when no answer is running, and resumes the broken answers.
static void recover(struct serve_scheduler *s)
{
    struct glinfer_error err;
    s->is_device_lost = false;
    cli_note("recovering the GPU: creating a context, loading the model, resuming the answers");
    if (!glinfer_device_recover(s->session.device, NULL, NULL, &err)) {
        cli_say("error: %s", err.message);
        fail_all(s, &err);
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->seen.counts.n_recovered++;
    pthread_mutex_unlock(&s->lock);
    s->device_fd = glinfer_device_fd(s->session.device, NULL);
    for (uint32_t i = 0; i < s->slots.count; i++) {
        struct serve_slot *slot = &s->slots.items[i];
        if (slot->is_broken && !serve_slot_resume(&s->slots, slot, &err)) {
            s->is_device_lost = s->is_device_lost || err.status == GLINFER_STATUS_GPU_LOST;
            end_job(s, slot, NULL, &err);
        }
    }
}

static void rest(const struct serve_scheduler *s, bool has_answers)
{
    struct pollfd fds[2] = {
        {.fd = s->wake_fd, .events = POLLIN},
        {.fd = has_answers ? s->device_fd : -1, .events = POLLIN},
    };
    if (poll(fds, 2, has_answers ? WAIT_MS : -1) > 0 && fds[0].revents) {
        uint64_t n;
        if (read(s->wake_fd, &n, sizeof(n)) < 0) {
            // Another call has read it; its cause is handled next.
        }
    }
}

static void step(struct serve_scheduler *s)
{
    struct glinfer_error err;
    struct glinfer_event event = {.struct_size = sizeof(event)};
    const bool is_done = glinfer_step(s->session.device, STEP_US, &event, &err);
    struct serve_slot *slot = serve_slots_find(&s->slots, event.session);
    if (!is_done) {
        note_failure(s, slot, &err);
    } else if (event.kind == GLINFER_EVENT_NONE) {
        if (!s->hearing.job) {
            rest(s, true);
        }
    } else if (event.kind == GLINFER_EVENT_PROMPT) {
        send_progress(s, slot, &event);
    } else if (event.kind == GLINFER_EVENT_TOKEN) {
        const bool is_long =
            serve_budget_take(&slot->job->budget, serve_scheduler_tokenizer(s), event.token);
        send_token(s, slot, event.token);
        if (is_long && !serve_slot_end_thought(slot, serve_scheduler_tokenizer(s), &err)) {
            note_failure(s, slot, &err);
        }
    } else {
        end_job(s, slot, event.stats, NULL);
    }
}

//-- the thread ------------------------------------------------------------------------------------

// Creates the slots of the language model, which is loaded.
static bool open_slots(struct serve_scheduler *s, struct glinfer_error *err)
{
    struct glinfer_session_params params;
    cli_template_warn(&s->session);
    cli_session_fill(&s->session, &params);
    params.expected = s->session.info.is_encoder ? NULL : &s->expected;
    params.n_checkpoints = (uint32_t)s->settings->n_checkpoints;
    const struct glinfer_model_info *info = &s->session.info;
    if (!serve_slots_init(&s->slots, s->session.model, &params, s->seen.n_slots, err)) {
        return false;
    }
    const uint64_t used = info->weights + info->kv_cache + info->scratch;
    const int64_t mib = s->settings->cache_ram;
    s->slots.prefixes.limit = mib == SERVE_CACHE_AUTO
                                  ? serve_prefixes_limit(s->settings->session.mem_budget, used)
                              : mib < 0 ? UINT64_MAX
                                        : (uint64_t)mib << 20;
    return true;
}

// Loads the models that there are.
static bool load(struct serve_scheduler *s)
{
    struct glinfer_error err;
    const bool has_text = s->settings->session.model;
    s->session.device = cli_device_open(&s->settings->session.device, &s->session.device_info);
    if (!s->session.device || (has_text && !cli_session_load(&s->session))) {
        return false;
    }
    const bool can_hear = (!has_text || open_slots(s, &err)) &&
                          serve_hearing_load(&s->hearing, s->settings, s->session.device, &err);
    s->device_fd = can_hear ? glinfer_device_fd(s->session.device, &err) : -1;
    return cli_bar_end(&s->session.bar, s->device_fd >= 0, &err);
}

static void serve(struct serve_scheduler *s)
{
    struct serve_job *job;
    while (!atomic_load(&s->is_stopped)) {
        drop_cancelled(s);
        while (s->slots.n_broken == 0 && !s->is_device_lost &&
               (job = serve_queue_pop(&s->queue, has_slot, s))) {
            start_job(s, job);
        }
        serve_queue_tell(&s->queue);
        if (s->hearing.job && s->slots.n_broken == 0 && !s->is_device_lost) {
            step_hearing(s);
        }
        if (s->slots.n_running > 0) {
            step(s);
        } else if (s->slots.n_broken > 0 || s->is_device_lost) {
            recover(s);
        } else if (!s->hearing.job) {
            rest(s, false);
        }
    }
}

static void *run(void *user)
{
    struct glinfer_error over = {GLINFER_STATUS_CANCELLED, "the server is shutting down"};
    struct serve_scheduler *s = user;
    int loading = SERVE_LOADING;
    cli_keep_failures(&s->failure);
    const bool is_loaded = load(s);
    cli_keep_failures(NULL);
    if (is_loaded) {
        atomic_compare_exchange_strong(&s->state, &loading, SERVE_READY);
    } else {
        atomic_store(&s->state, SERVE_OVER);
    }
    notify(s->ready_fd);
    if (is_loaded) {
        serve(s);
    }
    // Running and waiting answers fail, and new ones are refused.
    if (serve_scheduler_state(s) == SERVE_READY) {
        snprintf(over.message, sizeof(over.message), "the model was unloaded");
    }
    serve_queue_close(&s->queue);
    fail_all(s, &over);
    for (struct serve_job *job; (job = serve_queue_pop(&s->queue, NULL, NULL));) {
        serve_job_fail(job, &over);
    }
    atomic_store(&s->state, SERVE_OVER);
    serve_hearing_finish(&s->hearing);
    serve_slots_finish(&s->slots);
    return NULL;
}

struct serve_scheduler *serve_scheduler_create(struct serve_settings *settings,
                                               const struct serve_counts *counts)
{
    struct serve_scheduler *s = cli_alloc(1, sizeof(*s));
    s->settings = settings;
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->seen.counts = counts ? *counts : s->seen.counts;
    s->seen.n_slots = settings->session.model ? (uint32_t)settings->n_slots : 0;
    pthread_mutex_init(&s->lock, NULL);
    serve_queue_init(&s->queue, (uint32_t)settings->n_queue);
    cli_session_init(&s->session, &settings->session);
    if ((settings->session.model && !cli_session_check_text(&s->session)) ||
        !serve_hearing_find(&s->hearing, settings)) {
        serve_scheduler_destroy(s);
        return NULL;
    }
    cli_template_choose(&s->session, &settings->session);
    cli_sampling_take(&settings->sampling, &s->session.info);
    glinfer_generate_params_init(&s->expected);
    cli_sampling_fill(&settings->sampling, 0, &s->expected);
    s->expected.grammar = NULL;
    s->has_thread =
        s->wake_fd >= 0 && s->ready_fd >= 0 && pthread_create(&s->thread, NULL, run, s) == 0;
    if (!s->has_thread) {
        cli_fail(CLI_EXIT_FAILED, "cannot create the GPU thread: %s", strerror(errno));
        serve_scheduler_destroy(s);
        return NULL;
    }
    return s;
}

void serve_scheduler_destroy(struct serve_scheduler *s)
{
    if (!s) {
        return;
    }
    serve_scheduler_stop(s);
    cli_session_finish(&s->session); // no answer uses the tokenizer now
    serve_queue_finish(&s->queue);
    pthread_mutex_destroy(&s->lock);
    close(s->wake_fd);
    close(s->ready_fd);
    free(s);
}

//-- for other threads -----------------------------------------------------------------------------

const struct glinfer_error *serve_scheduler_failure(const struct serve_scheduler *s)
{
    return &s->failure;
}

enum serve_state serve_scheduler_state(struct serve_scheduler *s)
{
    return (enum serve_state)atomic_load(&s->state);
}

int serve_scheduler_ready_fd(const struct serve_scheduler *s)
{
    return s->ready_fd;
}

const struct glinfer_model_info *serve_scheduler_info(const struct serve_scheduler *s)
{
    return &s->session.info;
}

const struct glinfer_device_info *serve_scheduler_device(const struct serve_scheduler *s)
{
    return &s->session.device_info;
}

const struct glinfer_tokenizer *serve_scheduler_tokenizer(const struct serve_scheduler *s)
{
    return glinfer_model_tokenizer(s->session.model);
}

const struct glinfer_model_info *serve_scheduler_speech(const struct serve_scheduler *s)
{
    return &s->hearing.info;
}

enum serve_queued serve_scheduler_submit(struct serve_scheduler *s, struct serve_task *task)
{
    if (serve_scheduler_state(s) != SERVE_READY) {
        return SERVE_QUEUE_CLOSED;
    }
    pthread_mutex_lock(&s->lock);
    const uint32_t n_idle =
        task->speech ? !atomic_load(&s->hearing.is_busy) : s->seen.n_slots - s->seen.n_running;
    pthread_mutex_unlock(&s->lock);
    const enum serve_queued queued = serve_queue_push(&s->queue, task, n_idle);
    notify(s->wake_fd);
    return queued;
}

void serve_scheduler_cancel(struct serve_scheduler *s, struct serve_task *task)
{
    atomic_store(&task->is_cancelled, true);
    notify(s->wake_fd);
}

void serve_scheduler_drain(struct serve_scheduler *s)
{
    int ready = SERVE_READY;
    atomic_compare_exchange_strong(&s->state, &ready, SERVE_DRAINING);
}

void serve_scheduler_stop(struct serve_scheduler *s)
{
    atomic_store(&s->is_stopped, true);
    notify(s->wake_fd);
    if (s->has_thread) {
        pthread_join(s->thread, NULL);
        s->has_thread = false;
    }
}

void serve_scheduler_look(struct serve_scheduler *s, struct serve_snapshot *snapshot)
{
    pthread_mutex_lock(&s->lock);
    *snapshot = s->seen;
    pthread_mutex_unlock(&s->lock);
    snapshot->n_waiting = serve_queue_count(&s->queue);
    snapshot->state = serve_scheduler_state(s);
}
