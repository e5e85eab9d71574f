#include "cli/serve/schedule/serve_hearing.h"

#include "cli/serve/schedule/serve_speech.h"

static void fill_params(const struct serve_hearing *hearing, const struct serve_settings *settings,
                        struct glinfer_model_params *params)
{
    glinfer_model_params_init(params);
    params->path = hearing->path;
    params->mem_budget = settings->session.mem_budget;
}

bool serve_hearing_find(struct serve_hearing *hearing, const struct serve_settings *settings)
{
    struct glinfer_error err;
    struct glinfer_model_params params;
    struct glinfer_model_info *info = &hearing->info;
    info->struct_size = sizeof(*info);
    glinfer_source_init(&hearing->vad);
    if (!settings->speech_model) {
        return !settings->vad_model || cli_fail(CLI_EXIT_USAGE, "--vad-model needs --speech-model");
    }
    const struct cli_hub_flags *hub = &settings->session.hub;
    const struct models_asked asked = {.token = hub->token, .is_offline = hub->is_offline};
    hearing->path = models_path(settings->speech_model, hub);
    if (!hearing->path ||
        (!settings->no_vad && !models_find_vad(settings->vad_model, &asked, hearing->vad_path))) {
        return false;
    }
    hearing->vad.path = hearing->vad_path[0] ? hearing->vad_path : NULL;
    fill_params(hearing, settings, &params);
    if (!glinfer_model_inspect(&params, info, &err)) {
        return cli_fail_error(&err);
    }
    if (!info->is_speech) {
        return cli_fail(CLI_EXIT_FAILED,
                        "invalid --speech-model %s: not a speech model; expected a Whisper model",
                        settings->speech_model);
    }
    return info->is_supported || cli_fail(CLI_EXIT_FAILED, "%s", info->refusal);
}

// Transcribes a second of silence, which compiles the programs and reads the network that finds
// speech.
static bool warm_up(struct serve_hearing *hearing, struct glinfer_error *err)
{
    static const float silence[GLINFER_SPEECH_RATE];
    struct glinfer_transcription_params params;
    enum glinfer_transcription_state state;
    glinfer_transcription_params_init(&params);
    params.vad = hearing->vad.path ? &hearing->vad : NULL;
    params.vad_threshold = 1e-9F; // all sound is speech
    params.temperature_step = 0;
    struct glinfer_transcription *first =
        glinfer_transcription_create(hearing->model, &params, err);
    bool is_done = first && glinfer_transcription_feed(first, silence, GLINFER_SPEECH_RATE, err);
    glinfer_transcription_end(first);
    is_done = is_done && glinfer_transcription_step(first, 0, &state, err);
    glinfer_transcription_destroy(&first);
    return is_done;
}

bool serve_hearing_load(struct serve_hearing *hearing, const struct serve_settings *settings,
                        struct glinfer_device *device, struct glinfer_error *err)
{
    struct glinfer_model_params params;
    if (!hearing->path) {
        return true;
    }
    fill_params(hearing, settings, &params);
    hearing->model = glinfer_model_load(device, &params, err);
    return hearing->model && warm_up(hearing, err);
}

void serve_hearing_finish(struct serve_hearing *hearing)
{
    glinfer_transcription_destroy(&hearing->transcription);
    glinfer_model_destroy(&hearing->model);
}

bool serve_hearing_begin(struct serve_hearing *hearing, struct serve_job *job,
                         struct glinfer_error *err)
{
    struct glinfer_transcription_params params = job->task->speech->params;
    params.vad = job->task->speech->has_vad && hearing->vad.path ? &hearing->vad : NULL;
    hearing->transcription = glinfer_transcription_create(hearing->model, &params, err);
    hearing->job = hearing->transcription ? job : NULL;
    atomic_store(&hearing->is_busy, hearing->job != NULL);
    return hearing->transcription;
}

// Feeds the next samples, or the end of the sound.
static bool feed(struct serve_hearing *hearing, struct glinfer_error *err)
{
    const float *samples = NULL;
    size_t n = 0;
    if (!serve_speech_read(hearing->job->task->speech, &samples, &n, err)) {
        return false;
    }
    if (n == 0) {
        glinfer_transcription_end(hearing->transcription);
        return true;
    }
    return glinfer_transcription_feed(hearing->transcription, samples, n, err);
}

// Adds an event to the transcript, and sends its text if the client wants that.
static void take_event(struct serve_job *job, const struct glinfer_transcript_event *event)
{
    const struct serve_event part = {
        .kind = SERVE_EVENT_TOKEN, .choice = job->choice, .id = -1, .text_size = event->size};
    serve_speech_add(job->task->speech, event);
    if (job->task->speech->is_stream && !job->task->speech->only_language &&
        event->kind == GLINFER_TRANSCRIPT_SEGMENT) {
        serve_mailbox_send(&job->task->mailbox, &part, event->text, NULL);
    }
}

// Adds what a step finds to the transcript and feeds the sound that it waits for.
static bool advance(struct serve_hearing *hearing, uint32_t budget_us, bool *is_done,
                    struct glinfer_error *err)
{
    const double end = cli_now() + 1e-6 * budget_us;
    enum glinfer_transcription_state state;
    struct glinfer_transcript_event event;
    do {
        if (!glinfer_transcription_step(hearing->transcription, budget_us, &state, err)) {
            return false;
        }
        while (glinfer_transcription_poll(hearing->transcription, &event)) {
            take_event(hearing->job, &event);
        }
        const struct serve_speech *speech = hearing->job->task->speech;
        if (speech->only_language && speech->language[0]) {
            *is_done = true;
            return true;
        }
        if (state == GLINFER_TRANSCRIPTION_WAITS && !feed(hearing, err)) {
            return false;
        }
    } while (state == GLINFER_TRANSCRIPTION_WAITS && cli_now() < end);
    *is_done = state == GLINFER_TRANSCRIPTION_DONE;
    return true;
}

static struct serve_job *release(struct serve_hearing *hearing)
{
    struct serve_job *job = hearing->job;
    glinfer_transcription_destroy(&hearing->transcription);
    hearing->job = NULL;
    atomic_store(&hearing->is_busy, false);
    return job;
}

enum serve_hearing_end serve_hearing_step(struct serve_hearing *hearing, uint32_t budget_us,
                                          struct glinfer_error *err)
{
    bool is_done = false;
    if (atomic_load(&hearing->job->task->is_cancelled)) {
        serve_task_unref(release(hearing)->task);
        return SERVE_HEARING_CANCELLED;
    }
    if (!advance(hearing, budget_us, &is_done, err)) {
        serve_job_fail(release(hearing), err);
        return SERVE_HEARING_FAILED;
    }
    if (is_done) {
        struct serve_job *job = release(hearing);
        const struct serve_event event = {.kind = SERVE_EVENT_END, .choice = job->choice};
        serve_mailbox_send(&job->task->mailbox, &event, NULL, NULL);
        serve_task_unref(job->task);
    }
    return is_done ? SERVE_HEARING_DONE : SERVE_HEARING_WORKS;
}

void serve_hearing_fail(struct serve_hearing *hearing, const struct glinfer_error *err)
{
    if (hearing->job) {
        serve_job_fail(release(hearing), err);
    }
}
