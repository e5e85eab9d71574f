#include "cli/speech/cli_hearing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP_US 50000 // between two looks at the sound

//-- events ----------------------------------------------------------------------------------------

static char *copy_text(const char *text, size_t size)
{
    char *copy = cli_alloc(size + 1, 1);
    memcpy(copy, text, size);
    return copy;
}

static struct cli_spoken *copy_tokens(const struct glinfer_transcript_event *event)
{
    struct cli_spoken *tokens = cli_alloc(event->n_token + 1, sizeof(*tokens));
    for (size_t i = 0; i < event->n_token; i++) {
        const struct glinfer_transcript_token *token = &event->tokens[i];
        const bool has_times = token->to_ms > 0;
        tokens[i] = (struct cli_spoken){
            .text = copy_text(token->text, token->size),
            .from_ms = has_times ? (int64_t)token->from_ms : -1,
            .to_ms = has_times ? (int64_t)token->to_ms : -1,
            .id = token->id,
            .probability = token->probability,
            .dtw_ms = has_times ? (int64_t)token->from_ms : -1,
        };
    }
    return tokens;
}

static struct cli_spoken *copy_words(const struct glinfer_transcript_event *event)
{
    struct cli_spoken *words = cli_alloc(event->n_word + 1, sizeof(*words));
    for (size_t i = 0; i < event->n_word; i++) {
        const struct glinfer_transcript_word *word = &event->words[i];
        words[i] = (struct cli_spoken){
            .text = copy_text(event->text + word->text_begin, word->text_end - word->text_begin),
            .from_ms = (int64_t)word->from_ms,
            .to_ms = (int64_t)word->to_ms,
            .probability = word->probability,
            .dtw_ms = -1,
        };
    }
    return words;
}

static void free_spoken(const struct cli_spoken *spoken, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free((char *)spoken[i].text);
    }
    free((struct cli_spoken *)spoken);
}

// Removes the text of running speech from the terminal.
static void clear_partial(struct cli_hearing *hearing)
{
    if (hearing->n_shown > 0) {
        fputs("\r\033[K", stdout);
        hearing->n_shown = 0;
    }
}

// Shows the end of the text of running speech, as much as a line holds.
static void show_partial(struct cli_hearing *hearing, const struct glinfer_transcript_event *event)
{
    const size_t width = cli_columns(stdout) > 8 ? cli_columns(stdout) - 2 : 78;
    const size_t first = event->size > width ? event->size - width : 0;
    if (!isatty(STDOUT_FILENO)) {
        return;
    }
    clear_partial(hearing);
    printf("%s", event->text + first);
    hearing->n_shown = event->size - first;
    fflush(stdout);
}

static bool add_segment(struct cli_hearing *hearing, const struct glinfer_transcript_event *event)
{
    const int64_t window_ms = 30000;
    const struct cli_segment segment = {
        .from_ms = (int64_t)event->from_ms,
        .to_ms = (int64_t)event->to_ms,
        .text = copy_text(event->text, event->size),
        .words = copy_words(event),
        .tokens = copy_tokens(event),
        .n_word = event->n_word,
        .n_token = event->n_token,
        .seek_ms = (int64_t)event->from_ms / window_ms * window_ms,
        .temperature = event->temperature,
        .mean_logprob = event->average_logprob,
        .no_speech_probability = event->no_speech,
    };
    *CLI_APPEND(&hearing->segments) = segment;
    if (hearing->is_silent) {
        return true;
    }
    struct cli_bytes line = {0};
    cli_bar_clear(hearing->bar);
    clear_partial(hearing);
    cli_segment_write(&segment, hearing->has_times, &line);
    const bool is_written = cli_write(line.data, line.size);
    fflush(stdout);
    cli_bytes_finish(&line);
    return is_written;
}

static bool take_events(struct cli_hearing *hearing)
{
    struct glinfer_transcript_event event;
    bool ok = true;
    while (ok && glinfer_transcription_poll(hearing->transcription, &event)) {
        if (event.kind == GLINFER_TRANSCRIPT_LANGUAGE) {
            snprintf(hearing->language, sizeof(hearing->language), "%s", event.language);
        } else if (event.kind == GLINFER_TRANSCRIPT_SEGMENT) {
            ok = add_segment(hearing, &event);
        } else if (event.kind == GLINFER_TRANSCRIPT_PARTIAL && hearing->is_live) {
            show_partial(hearing, &event);
        }
    }
    return ok;
}

//-- sound -----------------------------------------------------------------------------------------

// Feeds the next samples; *is_end is set after the last.
static bool feed_block(struct cli_hearing *hearing, bool *is_end, struct glinfer_error *err)
{
    const float *samples;
    size_t n;
    const bool is_read = hearing->sound
                             ? cli_sound_next(hearing->sound, &samples, &n, err)
                             : cli_microphone_next(hearing->microphone, &samples, &n, err);
    *is_end = is_read && n == 0;
    if (*is_end) {
        glinfer_transcription_end(hearing->transcription);
    }
    hearing->n_sample += is_read ? n : 0;
    return is_read &&
           (n == 0 || glinfer_transcription_feed(hearing->transcription, samples, n, err));
}

static bool is_ready(const struct cli_hearing *hearing)
{
    return hearing->sound ? cli_sound_is_ready(hearing->sound)
                          : cli_microphone_is_ready(hearing->microphone);
}

static void show_progress(struct cli_hearing *hearing)
{
    const double seconds = hearing->sound ? cli_sound_seconds(hearing->sound) : 0;
    if (seconds > 0) {
        cli_progress(hearing->bar, GLINFER_PHASE_PROMPT,
                     glinfer_transcription_time(hearing->transcription),
                     (uint64_t)(1000 * seconds));
    }
}

// Feeds what has come, then works; waits for sound only when there is nothing else to do.
static bool run(struct cli_hearing *hearing, struct glinfer_error *err)
{
    enum glinfer_transcription_state state = GLINFER_TRANSCRIPTION_WAITS;
    bool is_end = false;
    while (state != GLINFER_TRANSCRIPTION_DONE) {
        const bool waits = state == GLINFER_TRANSCRIPTION_WAITS;
        if (!is_end && (waits || (hearing->is_live && is_ready(hearing))) &&
            !feed_block(hearing, &is_end, err)) {
            return false;
        }
        if (!glinfer_transcription_step(hearing->transcription, STEP_US, &state, err)) {
            return false;
        }
        if (!take_events(hearing)) {
            *err = (struct glinfer_error){0}; // said already
            return false;
        }
        show_progress(hearing);
        if (cli_is_interrupted() && !is_end) {
            is_end = true; // the sound so far is still transcribed
            glinfer_transcription_end(hearing->transcription);
        }
    }
    return true;
}

bool cli_hearing_run(struct cli_hearing *hearing)
{
    struct glinfer_error err = {0};
    const bool is_done = run(hearing, &err);
    cli_bar_clear(hearing->bar);
    clear_partial(hearing);
    if (is_done && hearing->sound && *cli_sound_note(hearing->sound)) {
        cli_warn("%s", cli_sound_note(hearing->sound));
    }
    return is_done || (err.status && cli_fail_error(&err));
}

void cli_hearing_finish(struct cli_hearing *hearing)
{
    for (size_t i = 0; i < hearing->segments.count; i++) {
        const struct cli_segment *segment = &hearing->segments.items[i];
        free((char *)segment->text);
        free_spoken(segment->words, segment->n_word);
        free_spoken(segment->tokens, segment->n_token);
    }
    free(hearing->segments.items);
}
