#include "speech/window/window_job.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define LAST_TEMPERATURE 1.000001F
#define PAST_TEMPERATURE 0.5F // from here on earlier text only repeats a fault

bool gi_window_job_init(struct gi_window_job *job)
{
    const struct gi_speech_net *net = job->net;
    job->stage = GI_JOB_OVER;
    return GI_ARRAYS_ZEROED("a window of sound", net->failure,
                            GI_NEW(job->mel, (size_t)2 * net->n_audio_ctx * net->n_mel),
                            GI_NEW(job->prompt, net->n_text_ctx),
                            GI_NEW(job->times, net->n_text_ctx)) &&
           gi_window_decoder_init(&job->decoder);
}

void gi_window_job_finish(struct gi_window_job *job)
{
    gi_window_decoder_finish(&job->decoder);
    free(job->mel);
    free(job->prompt);
    free(job->times);
    *job = (struct gi_window_job){0};
}

void gi_window_job_begin(struct gi_window_job *job)
{
    if (job->net->drop) {
        job->net->drop(job->net->user);
    }
    job->stage = GI_JOB_ENCODE;
    job->temperature = job->params->temperature;
    job->language_probability = 0;
    job->best = NULL;
    job->is_silent = job->has_times = false;
}

//-- prompt ------------------------------------------------------------------------------------

static const struct gi_whisper_ids *ids_of(const struct gi_window_job *job)
{
    return job->decoder.choice.ids;
}

static void add_last(struct gi_window_job *job, const struct gi_whisper_id_list *list, uint32_t n)
{
    if (n > 0) {
        memcpy(&job->prompt[job->n_prompt], &list->data[list->count - n], n * sizeof(uint32_t));
        job->n_prompt += n;
    }
}

// Adds the tokens that begin a transcript.
static void add_start(struct gi_window_job *job)
{
    const struct gi_whisper_ids *ids = ids_of(job);
    job->prompt[job->n_prompt++] = ids->start;
    if (ids->n_language > 0) {
        job->prompt[job->n_prompt++] = ids->language + (uint32_t)job->language;
        job->prompt[job->n_prompt++] = job->params->translate ? ids->translate : ids->transcribe;
    }
}

static uint32_t least(size_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

static void write_prompt(struct gi_window_job *job)
{
    const uint32_t n_most = least(job->params->max_context, job->net->n_text_ctx / 2 - 1);
    const bool has_past = job->temperature < PAST_TEMPERATURE;
    const uint32_t n_initial = has_past && job->initial ? least(job->initial->count, n_most) : 0;
    job->n_past = has_past && job->is_past_useful ? least(job->past->count, n_most - n_initial) : 0;
    job->n_prompt = 0;
    if (n_initial + job->n_past > 0) {
        job->prompt[job->n_prompt++] = ids_of(job)->previous;
        add_last(job, job->initial, n_initial);
        add_last(job, job->past, job->n_past);
    }
    add_start(job);
    if (job->params->no_timestamps) {
        job->prompt[job->n_prompt++] = ids_of(job)->no_times;
    }
}

//-- stages ------------------------------------------------------------------------------------

static void begin_attempt(struct gi_window_job *job)
{
    const struct glinfer_transcription_params *params = job->params;
    const uint32_t n_most = least(job->net->n_seq, GI_MAX_BEAMS);
    const uint32_t n = job->is_partial        ? 1
                       : job->temperature > 0 ? params->best_of
                                              : params->beam_size;
    const struct gi_whisper_window window = {
        .seek = job->seek,
        .end = job->end,
        .max_tokens = job->net->n_text_ctx / 2 - 4,
        .without_times = params->no_timestamps,
    };
    write_prompt(job);
    job->decoder.prompt = job->prompt;
    job->decoder.n_prompt = job->n_prompt;
    job->decoder.n_wanted = n < 1 ? 1 : least(n, n_most);
    gi_window_decoder_begin(&job->decoder, &window, job->temperature);
    job->stage = GI_JOB_DECODE;
}

static enum gi_net_result encode(struct gi_window_job *job)
{
    const enum gi_net_result result = job->net->encode(job->net->user, job->mel, job->n_frame);
    if (result == GI_NET_DONE) {
        if (job->language < 0 && ids_of(job)->n_language > 0) {
            job->stage = GI_JOB_DETECT;
        } else {
            begin_attempt(job);
        }
    }
    return result;
}

static enum gi_net_result detect(struct gi_window_job *job)
{
    const struct gi_whisper_ids *ids = ids_of(job);
    const uint32_t begin = ids->language, end = begin + ids->n_language;
    float *logits = job->decoder.logits;
    const enum gi_net_result result =
        job->net->decode(job->net->user, 0, 0, &ids->start, 1, logits);
    if (result == GI_NET_DONE) {
        const uint32_t id = gi_whisper_most_likely(logits, begin, end);
        job->language = (int32_t)(id - begin);
        job->language_probability = gi_whisper_probability(logits, begin, end, id);
        begin_attempt(job);
    }
    return result;
}

// Tells whether the text says the same twice in a row, as the decoder does over a short context.
static bool repeats_itself(struct gi_window_job *job)
{
    enum { LEAST = 4 }; // tokens
    const struct gi_whisper_window *window = &job->best->window;
    uint32_t *text = job->prompt; // is written again before its next use
    size_t n = 0;
    for (size_t i = 0; i < window->count && n < job->net->n_text_ctx; i++) {
        text[n] = window->data[i].id;
        n += window->data[i].id < ids_of(job)->end;
    }
    for (size_t period = LEAST; 2 * period <= n; period++) {
        size_t n_equal = 0;
        for (size_t i = 0; i + period < n && n_equal < period; i++) {
            n_equal = text[i] == text[i + period] ? n_equal + 1 : 0;
        }
        if (n_equal == period) {
            return true;
        }
    }
    return false;
}

// Decides what follows an attempt: another one, times of tokens, or the end.
static void end_attempt(struct gi_window_job *job)
{
    const struct glinfer_transcription_params *params = job->params;
    const uint32_t n_full = 2 * job->net->n_audio_ctx;
    job->best = gi_window_decoder_best(&job->decoder);
    struct gi_whisper_window *window = &job->best->window;
    const float average = gi_whisper_average(window);
    const bool is_poor = average < params->logprob_least;
    const bool is_repeated = job->n_frame < n_full && repeats_itself(job);
    // Live, a text that is only unlikely is told: another attempt would delay the next utterances.
    const bool is_unlikely =
        !params->is_live && is_poor && job->decoder.no_speech < params->no_speech_most;
    const bool is_good = job->best->progress == GI_WHISPER_COMPLETE && !is_repeated && !is_unlikely;
    if (!is_good && !job->is_partial && params->temperature_step > 0) {
        if (job->n_frame < n_full) { // a short context may be the reason
            job->n_frame = n_full;
            job->stage = GI_JOB_ENCODE;
            return;
        }
        if (!params->is_live && job->temperature + params->temperature_step <= LAST_TEMPERATURE) {
            job->temperature += params->temperature_step;
            begin_attempt(job);
            return;
        }
    }
    if (window->n_result == 0) { // failed without a timestamp
        window->n_result = window->count;
    }
    job->is_silent = (is_poor && job->decoder.no_speech > params->no_speech_most) ||
                     (is_repeated && job->is_partial);
    job->stage =
        job->params->has_words && !job->is_partial && !job->is_silent ? GI_JOB_ALIGN : GI_JOB_OVER;
}

// Decodes the text once more as a whole, and finds where the network looked for each token.
static enum gi_net_result align(struct gi_window_job *job)
{
    const struct gi_whisper_ids *ids = ids_of(job);
    const struct gi_whisper_window *window = &job->best->window;
    job->n_prompt = 0;
    add_start(job);
    job->prompt[job->n_prompt++] = ids->no_times;
    const uint32_t n_before = job->n_prompt;
    uint32_t n_text = 0;
    for (size_t i = 0; i < window->n_result; i++) {
        n_text += window->data[i].id < ids->end;
    }
    if (!job->net->attend || n_text == 0 || n_before + n_text + 1 > job->net->n_text_ctx) {
        job->stage = GI_JOB_OVER; // times are divided evenly
        return GI_NET_DONE;
    }
    for (size_t i = 0; i < window->n_result; i++) {
        if (window->data[i].id < ids->end) {
            job->prompt[job->n_prompt++] = window->data[i].id;
        }
    }
    job->prompt[job->n_prompt++] = ids->end;
    const enum gi_net_result result = job->net->attend(job->net->user, job->prompt, job->n_prompt);
    if (result != GI_NET_DONE) {
        return result;
    }
    if (!gi_word_times_find(job->net, n_before, n_text, job->n_frame,
                            least(job->end - job->seek, job->n_frame), job->times)) {
        return GI_NET_FAILED;
    }
    // Back to their places among timestamps, from the last on.
    for (size_t i = window->n_result; i-- > 0;) {
        const struct gi_whisper_token *token = &window->data[i];
        const uint32_t time = GI_WHISPER_FRAMES_A_TIME * (token->time - ids->time);
        job->times[i] =
            token->id < ids->end ? job->times[--n_text] : (struct gi_token_time){time, time};
    }
    job->has_times = true;
    job->stage = GI_JOB_OVER;
    return GI_NET_DONE;
}

enum gi_net_result gi_window_job_step(struct gi_window_job *job)
{
    enum gi_net_result result = GI_NET_DONE;
    bool is_over = false;
    switch (job->stage) {
    case GI_JOB_ENCODE:
        result = encode(job);
        break;
    case GI_JOB_DETECT:
        result = detect(job);
        break;
    case GI_JOB_DECODE:
        result = gi_window_decoder_step(&job->decoder, &is_over);
        if (result == GI_NET_DONE && is_over) {
            end_attempt(job);
        }
        break;
    case GI_JOB_ALIGN:
        result = align(job);
        break;
    case GI_JOB_OVER:
        break;
    }
    return result == GI_NET_DONE && job->stage != GI_JOB_OVER ? GI_NET_BUSY : result;
}
