#include "speech/transcriber.h"

#include "base/arguments.h"
#include "base/array.h"
#include "base/round.h"
#include "speech/stream/speech_stream.h"
#include "speech/window/window_job.h"

#include <stdlib.h>
#include <string.h>

enum {
    NEAR_END = 500,            // frames; the last window of a sound without past text
    SILENCE = 100,             // least frames of silence after the sound that is encoded
    GRANULE = 128,             // frames; the encoder's input is a multiple of it
    LEAST_INPUT = 768,         // frames; with less the decoder repeats itself
    PARTIAL = GI_MEL_RATE / 2, // samples of new sound between partial texts
    HEARD_WINDOWS = 32,        // of the VAD, in a step
    LIVE_STRETCH = 28,         // s; longer speech is cut so that a window holds it
};

struct gi_transcriber {
    struct gi_transcriber_inputs inputs;
    struct glinfer_error *failure; // the network's: of the step in progress
    struct glinfer_transcription_params params;
    struct gi_whisper_ids ids;
    uint32_t *suppressed;                    // bits of ids; owned
    struct gi_whisper_id_list initial, past; // tokens: the prompt, and those of earlier windows
    struct gi_speech_stream stream;
    uint64_t seek;          // frames of the sound that are transcribed
    int32_t given_language; // -1: to be detected
    int32_t language;       // of the sound; -1: not known yet
    struct gi_window_job job;
    bool is_working;   // at the job's window
    bool is_cancelled; // DONE is to follow
    bool is_done;
    struct gi_transcript transcript;
    uint64_t partial_begin, partial_end; // samples of the latest partial text
};

//-- life --------------------------------------------------------------------------------------

bool gi_transcriber_check(const struct glinfer_transcription_params *params,
                          struct glinfer_error *err)
{
    int32_t language;
#define GI_NUMBER(type, field, value, least, most)                                                 \
    gi_check_number(#field, (double)params->field, least, most, err) &&
    return GLINFER_SPEECH_MAP(GI_NUMBER)
               gi_whisper_take_language(params->language, &language, err) &&
           (!params->suppress || gi_whisper_suppress_regex(NULL, params->suppress, NULL, err));
#undef GI_NUMBER
}

static bool check_params(const struct gi_transcriber *t)
{
    const struct glinfer_transcription_params *params = &t->params;
    const struct gi_speech_net *net = t->inputs.net;
    const uint32_t n_language = gi_whisper_count_languages(t->ids.n_vocab);
    if (t->given_language >= 0 && (uint32_t)t->given_language >= n_language) {
        return gi_error_set(t->failure, GLINFER_STATUS_INVALID_ARGUMENT,
                            "invalid language %s: the model does not know it%s",
                            gi_whisper_language_name((uint32_t)t->given_language),
                            t->ids.n_language == 0 ? ", it knows English alone" : "");
    }
    if (params->translate && t->ids.n_language == 0) {
        return gi_error_set(t->failure, GLINFER_STATUS_INVALID_ARGUMENT,
                            "cannot translate: the model knows English alone");
    }
    if (net->n_seq == 0 || net->n_text_ctx < 16 || net->n_audio_ctx < 1) {
        return gi_error_set(t->failure, GLINFER_STATUS_INVALID_ARGUMENT,
                            "invalid speech network: %u sequences of %u tokens over %u positions",
                            net->n_seq, net->n_text_ctx, net->n_audio_ctx);
    }
    return true;
}

static bool prepare_text(struct gi_transcriber *t)
{
    const struct glinfer_transcription_params *params = &t->params;
    const struct gi_whisper_text *text = t->inputs.text;
    t->suppressed =
        gi_array_zeroed(t->ids.n_vocab / 32 + 1, sizeof(uint32_t), "suppressed tokens", t->failure);
    struct gi_whisper_id_list blank = {0};
    bool is_ok = t->suppressed && gi_whisper_encode(text, " ", &blank, t->failure);
    t->job.decoder.choice.blank = blank.count == 1 ? blank.data[0] : UINT32_MAX;
    free(blank.data);
    if (is_ok && params->suppress_symbols) {
        gi_whisper_suppress_symbols(text, t->suppressed);
    }
    is_ok = is_ok && (!params->suppress ||
                      gi_whisper_suppress_regex(text, params->suppress, t->suppressed, t->failure));
    is_ok = is_ok &&
            (!params->prompt || gi_whisper_encode(text, params->prompt, &t->initial, t->failure));
    return is_ok && GI_ARRAY_RESERVE(&t->past, t->initial.count, "tokens of a prompt", t->failure);
}

static bool init(struct gi_transcriber *t)
{
    const struct gi_transcriber_inputs *inputs = &t->inputs;
    struct gi_window_job *job = &t->job;
    if (!gi_whisper_ids_init(&t->ids, inputs->net->n_vocab)) {
        return gi_error_set(t->failure, GLINFER_STATUS_BAD_FILE,
                            "a vocabulary of %u tokens is not that of a Whisper model",
                            inputs->net->n_vocab);
    }
    t->stream.is_by_stretch = t->params.is_live && inputs->vad;
    t->stream.listener.vad = inputs->vad;
    const float longest = t->params.vad_max_speech_s;
    const bool is_long = t->params.is_live && !(longest > 0 && longest < LIVE_STRETCH);
    t->stream.listener.voice.params =
        (struct gi_voice_params){.threshold = t->params.vad_threshold,
                                 .min_speech_ms = t->params.vad_min_speech_ms,
                                 .min_silence_ms = t->params.vad_min_silence_ms,
                                 .max_speech_s = is_long ? LIVE_STRETCH : longest,
                                 .pad_ms = t->params.vad_pad_ms};
    t->stream.sound.mel = inputs->mel;
    t->stream.sound.n_band = inputs->net->n_mel;
    job->net = job->decoder.net = inputs->net;
    job->params = &t->params;
    job->initial = t->params.carry_prompt ? &t->initial : NULL;
    job->past = &t->past;
    job->decoder.choice.ids = &t->ids;
    job->decoder.entropy_least = t->params.entropy_least;
    job->decoder.seed = t->params.seed;
    if (!gi_whisper_take_language(t->params.language, &t->given_language, t->failure) ||
        !check_params(t) || !prepare_text(t) || !gi_window_job_init(job)) {
        return false;
    }
    job->decoder.choice.suppressed = t->suppressed;
    t->params.prompt = t->params.suppress = t->params.language = NULL;
    t->params.vad = NULL;
    gi_transcriber_reset(t);
    return true;
}

struct gi_transcriber *gi_transcriber_create(const struct gi_transcriber_inputs *inputs,
                                             const struct glinfer_transcription_params *params,
                                             struct glinfer_error *err)
{
    struct gi_transcriber *t = gi_transcriber_check(params, err)
                                   ? gi_array_zeroed(1, sizeof(*t), "a transcription", err)
                                   : NULL;
    if (t) {
        t->inputs = *inputs;
        t->params = *params;
        t->params.has_words = params->has_words || params->max_length > 0;
        t->failure = inputs->net->failure;
        if (!init(t)) {
            gi_error_pass(err, t->failure);
            gi_transcriber_destroy(t);
            return NULL;
        }
    }
    return t;
}

void gi_transcriber_destroy(struct gi_transcriber *t)
{
    if (t) {
        gi_window_job_finish(&t->job);
        gi_stream_finish(&t->stream);
        gi_transcript_finish(&t->transcript);
        free(t->suppressed);
        free(t->initial.data);
        free(t->past.data);
        free(t);
    }
}

// Starts a sound, whose text has nothing to do with that before it.
static void begin_sound(struct gi_transcriber *t)
{
    t->seek = 0;
    t->language = t->given_language;
    t->past.count = 0;
    if (!t->params.carry_prompt && t->initial.count > 0) { // past has room for it
        memcpy(t->past.data, t->initial.data, t->initial.count * sizeof(*t->past.data));
        t->past.count = t->initial.count;
    }
}

void gi_transcriber_reset(struct gi_transcriber *t)
{
    gi_stream_reset(&t->stream);
    begin_sound(t);
    gi_transcript_cut(&t->transcript, 0);
    t->is_working = t->is_cancelled = t->is_done = false;
    t->partial_begin = t->partial_end = 0;
}

//-- sound -------------------------------------------------------------------------------------

bool gi_transcriber_push(struct gi_transcriber *t, const float *samples, size_t n,
                         struct glinfer_error *err)
{
    if (t->stream.listener.is_ended || t->is_cancelled) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "cannot add samples: the sound has ended");
    }
    return gi_listener_push(&t->stream.listener, samples, n, err);
}

void gi_transcriber_end(struct gi_transcriber *t)
{
    t->stream.listener.is_ended = true;
}

//-- windows -----------------------------------------------------------------------------------

// Returns the frames that are encoded for n_left frames of sound.
static uint32_t frames_to_encode(const struct gi_transcriber *t, uint64_t n_left)
{
    const uint64_t n_full = 2 * (uint64_t)t->inputs.net->n_audio_ctx;
    const uint64_t rounded = (n_left + SILENCE + GRANULE - 1) / GRANULE * GRANULE;
    const uint64_t given = 2 * (uint64_t)t->params.audio_ctx;
    const uint64_t needed = gi_max_u64(rounded, gi_max_u64(given, LEAST_INPUT));
    return (uint32_t)(t->params.is_exact || needed > n_full ? n_full : needed);
}

// Starts the job of the window at `seek`, of a sound that ends at frame `end`.
static void begin_window(struct gi_transcriber *t, uint64_t end, bool is_partial)
{
    struct gi_window_job *job = &t->job;
    gi_sound_window(&t->stream.sound, t->seek, 2 * (size_t)t->inputs.net->n_audio_ctx,
                    t->params.is_exact, job->mel);
    job->seek = (uint32_t)t->seek;
    job->end = (uint32_t)end;
    job->n_frame = frames_to_encode(t, end - t->seek);
    job->language = t->language;
    job->is_partial = is_partial;
    job->is_past_useful = t->seek == 0 || t->seek + NEAR_END < end;
    gi_window_job_begin(job);
    t->is_working = true;
}

// Starts the next window if its sound is complete.
static bool begin_ready_window(struct gi_transcriber *t)
{
    const uint64_t end = t->stream.sound.n_frame;
    const bool is_last = gi_stream_is_final(&t->stream);
    const uint64_t needed =
        is_last ? GI_WHISPER_LEAST_SOUND : GI_WHISPER_WINDOW + GI_WHISPER_LEAST_SOUND;
    if (!t->stream.has_sound || end <= t->seek + needed || (t->params.is_exact && !is_last)) {
        return false;
    }
    begin_window(t, end, false);
    return true;
}

// Starts a window for a partial text if enough was spoken since the last one.
static bool begin_partial(struct gi_transcriber *t, bool *has_begun)
{
    struct gi_stretch running = {t->seek * GI_MEL_HOP, t->stream.sound.n_samples};
    *has_begun = false;
    if (!t->params.is_live || t->params.no_partials || t->stream.listener.is_ended ||
        (t->stream.is_by_stretch && t->stream.has_sound) ||
        (t->inputs.vad && !gi_voice_running(&t->stream.listener.voice, &running))) {
        return true;
    }
    const uint64_t before = t->partial_begin == running.begin ? t->partial_end : running.begin;
    if (running.end < before + PARTIAL) {
        return true;
    }
    if (t->inputs.vad) {
        begin_sound(t);
        if (!gi_stream_look(&t->stream, running, t->failure)) {
            return false;
        }
    }
    t->partial_begin = running.begin;
    t->partial_end = running.end;
    begin_window(t, t->stream.sound.n_frame, true);
    *has_begun = true;
    return true;
}

//-- results -----------------------------------------------------------------------------------

static bool has_spaces(const struct gi_transcriber *t)
{
    static const char *const without[] = {"zh", "ja", "th", "lo", "my", "yue"};
    const char *code =
        t->ids.n_language > 0 ? gi_whisper_language((uint32_t)t->job.language) : "en";
    for (size_t i = 0; code && i < sizeof(without) / sizeof(without[0]); i++) {
        if (strcmp(code, without[i]) == 0) {
            return false;
        }
    }
    return true;
}

// Remembers the window's tokens for the prompt of the next one.
static bool remember(struct gi_transcriber *t)
{
    struct gi_window_job *job = &t->job;
    const struct gi_whisper_window *window = &job->best->window;
    struct gi_whisper_id_list *past = &t->past;
    if (!GI_ARRAY_RESERVE(past, past->count + window->n_result, "tokens of a prompt", t->failure)) {
        return false;
    }
    memmove(past->data, &past->data[past->count - job->n_past], job->n_past * sizeof(*past->data));
    past->count = job->n_past;
    for (size_t i = 0; i < window->n_result && !job->is_silent; i++) {
        past->data[past->count++] = window->data[i].id;
    }
    return true;
}

static bool tell_language(struct gi_transcriber *t)
{
    const struct gi_window_job *job = &t->job;
    return job->language_probability <= 0 || job->is_partial ||
           gi_transcript_add(&t->transcript,
                             (struct glinfer_transcript_event){
                                 .kind = GLINFER_TRANSCRIPT_LANGUAGE,
                                 .language = gi_whisper_language((uint32_t)job->language),
                                 .probability = job->language_probability},
                             t->failure);
}

// Tells the text of a window that is over.
static bool tell_window(struct gi_transcriber *t)
{
    struct gi_window_job *job = &t->job;
    const struct gi_transcript_window source = {
        .window = &job->best->window,
        .text = t->inputs.text,
        .map = &t->stream.map,
        .times = t->params.has_words ? job->times : NULL,
        .end = t->params.is_exact && !job->is_partial ? UINT64_MAX : gi_stream_end(&t->stream),
        .has_words = t->params.has_words,
        .has_spaces = has_spaces(t),
        .max_length = t->params.max_length,
        .splits_on_word = t->params.split_on_word,
        .no_speech = job->decoder.no_speech,
        .temperature = job->temperature,
    };
    if (job->is_silent) {
        return true;
    }
    if (job->is_partial) {
        return gi_transcript_add_partial(&t->transcript, &source, t->failure);
    }
    if (source.times && !job->has_times) {
        gi_transcript_divide_times(&source, job->times);
    }
    return gi_transcript_add_window(&t->transcript, &source, t->failure);
}

// Ends the window: its text is told, and the next begins where it ended.
static bool end_window(struct gi_transcriber *t)
{
    const size_t n_event = t->transcript.count;
    const struct gi_window_job *job = &t->job;
    if (!tell_language(t) || !tell_window(t) || (!job->is_partial && !remember(t))) {
        gi_transcript_cut(&t->transcript, n_event);
        return false;
    }
    t->is_working = false;
    if (!job->is_partial) {
        t->language = job->language;
        t->seek += job->best->window.n_frames;
        gi_sound_drop(&t->stream.sound, t->seek);
    }
    return true;
}

// Ends the sound that was transcribed.
static bool end_utterance(struct gi_transcriber *t)
{
    const struct glinfer_transcript_event event = {
        .kind = GLINFER_TRANSCRIPT_UTTERANCE,
        .from_ms = gi_time_map_ms(&t->stream.map, 0, false, 0),
        .to_ms = gi_time_map_ms(&t->stream.map, gi_stream_end(&t->stream), true, 0),
    };
    t->stream.has_sound = !gi_transcript_add(&t->transcript, event, t->failure);
    return !t->stream.has_sound;
}

//-- steps -------------------------------------------------------------------------------------

static bool finish(struct gi_transcriber *t, enum glinfer_transcription_state *state)
{
    const struct glinfer_transcript_event event = {.kind = GLINFER_TRANSCRIPT_DONE,
                                                   .is_cancelled = t->is_cancelled};
    if (!gi_transcript_add(&t->transcript, event, t->failure)) {
        return false;
    }
    t->is_done = true;
    *state = GLINFER_TRANSCRIPTION_DONE;
    return true;
}

void gi_transcriber_repeat(struct gi_transcriber *t)
{
    t->is_working = false;
    t->partial_begin = t->partial_end = 0;
}

static bool step_window(struct gi_transcriber *t)
{
    const enum gi_net_result result = gi_window_job_step(&t->job);
    if (result == GI_NET_DONE) {
        return end_window(t);
    }
    if (result == GI_NET_FAILED) {
        gi_transcriber_repeat(t);
    }
    return result == GI_NET_BUSY;
}

// Looks for work where no window is in progress, in the order of what the text needs first.
static bool find_work(struct gi_transcriber *t, enum glinfer_transcription_state *state)
{
    bool has_work;
    if (begin_ready_window(t)) {
        return true;
    }
    if (t->stream.is_by_stretch && t->stream.has_sound) {
        return end_utterance(t);
    }
    if (!gi_stream_take(&t->stream, &has_work, t->failure)) {
        return false;
    }
    if (has_work) {
        if (t->stream.is_by_stretch) {
            begin_sound(t);
        }
        return true;
    }
    if (!gi_stream_hear(&t->stream, HEARD_WINDOWS, &has_work, t->failure) ||
        (!has_work && !begin_partial(t, &has_work))) {
        return false;
    }
    if (has_work) {
        return true;
    }
    if (!t->stream.listener.is_ended || !gi_stream_is_final(&t->stream)) {
        *state = GLINFER_TRANSCRIPTION_WAITS;
        return true;
    }
    return t->stream.has_sound ? end_utterance(t) : finish(t, state);
}

static bool step(struct gi_transcriber *t, enum glinfer_transcription_state *state)
{
    *state = t->is_done ? GLINFER_TRANSCRIPTION_DONE : GLINFER_TRANSCRIPTION_WORKS;
    if (t->is_done) {
        return true;
    }
    if (t->is_cancelled) {
        return finish(t, state);
    }
    if (t->params.is_live) {
        bool has_heard;
        if (!gi_stream_hear(&t->stream, HEARD_WINDOWS, &has_heard, t->failure)) {
            return false;
        }
        // A partial text of speech that has ended is of no use.
        gi_stream_find_stretch(&t->stream);
        t->is_working = t->is_working && !(t->job.is_partial && t->stream.has_stretch);
    }
    return t->is_working ? step_window(t) : find_work(t, state);
}

bool gi_transcriber_step(struct gi_transcriber *t, enum glinfer_transcription_state *state,
                         struct glinfer_error *err)
{
    return step(t, state) || gi_error_pass(err, t->failure);
}

bool gi_transcriber_poll(struct gi_transcriber *t, struct glinfer_transcript_event *event)
{
    return gi_transcript_take(&t->transcript, event);
}

uint64_t gi_transcriber_time(const struct gi_transcriber *t)
{
    const struct gi_speech_stream *stream = &t->stream;
    const struct gi_listener *listener = &stream->listener;
    const uint64_t n_sample = stream->sound.n_samples, n_done = t->seek * GI_MEL_HOP;
    struct gi_stretch next = {listener->vad ? listener->n_heard : n_sample, 0}; // not in the sound
    if (stream->has_stretch) {
        next = stream->stretch;
    } else if (listener->vad) {
        gi_voice_running(&listener->voice, &next);
    }
    // A window without timestamps may end after the sound.
    const uint64_t waiting = stream->has_sound && n_sample > n_done ? n_sample - n_done : 0;
    return next.begin > waiting ? (next.begin - waiting) * 1000 / GI_MEL_RATE : 0;
}

void gi_transcriber_cancel(struct gi_transcriber *t)
{
    t->is_working = false;
    t->is_cancelled = true;
}
