#include "cli/speech/cli_hearing.h"

#include "cli/common/cli_utf8.h"

#include <ctype.h>

#define STEP_US 50000 // of a live text: work between two checks for new sound

const struct cli_number cli_speech_numbers[] = {
#define ROW(type, field, value, least, most)                                                       \
    {#field, CLI_NUMBER_##type, offsetof(struct glinfer_transcription_params, field), least, most},
    GLINFER_SPEECH_MAP(ROW)
#undef ROW
};

//-- events ----------------------------------------------------------------------------------------

// Removes the text of running speech from the terminal.
static void clear_partial(struct cli_hearing *hearing)
{
    if (hearing->is_partial_shown) {
        fputs("\r\033[K", stdout);
        hearing->is_partial_shown = false;
    }
}

// Returns true for a text with a letter or a digit: the beginning of a note such as [music] has
// none.
static bool has_letter(const char *text)
{
    while (*text && isascii((unsigned char)*text) && !isalnum((unsigned char)*text)) {
        text++;
    }
    return *text != '\0';
}

// Shows the end of the text of running speech, as much as fits in a line.
static void show_partial(struct cli_hearing *hearing, const struct glinfer_transcript_event *event)
{
    if (!has_letter(event->text)) {
        return;
    }
    const size_t n_columns = cli_columns(stdout), width = n_columns > 8 ? n_columns - 2 : 78;
    const bool is_cut = event->size > width;
    const char *text = cli_utf8_tail(event->text, event->size, is_cut ? width - 4 : width);
    clear_partial(hearing);
    fprintf(stdout, "%s%s", is_cut ? "... " : "", text);
    hearing->is_partial_shown = true;
    fflush(stdout);
}

static bool add_segment(struct cli_hearing *hearing, const struct glinfer_transcript_event *event)
{
    struct cli_bytes line = {0};
    cli_bar_clear(hearing->bar);
    clear_partial(hearing);
    cli_segment_write(cli_segments_add(&hearing->segments, event), hearing->has_times, &line);
    const bool is_written = cli_write(line.data, line.size);
    fflush(stdout);
    cli_bytes_finish(&line);
    return is_written;
}

// Prints the language and its probability.
static bool tell_language(struct cli_hearing *hearing, const struct glinfer_transcript_event *event)
{
    char line[64];
    const int n =
        snprintf(line, sizeof(line), "%.16s %.3f\n", event->language, (double)event->probability);
    cli_bar_clear(hearing->bar);
    return cli_write(line, (size_t)n);
}

static bool take_events(struct cli_hearing *hearing)
{
    struct glinfer_transcript_event event;
    bool ok = true;
    while (ok && glinfer_transcription_poll(hearing->transcription, &event)) {
        if (event.kind == GLINFER_TRANSCRIPT_LANGUAGE) {
            snprintf(hearing->language, sizeof(hearing->language), "%s", event.language);
            if (hearing->only_language) {
                return tell_language(hearing, &event);
            }
        } else if (event.kind == GLINFER_TRANSCRIPT_SEGMENT) {
            ok = add_segment(hearing, &event);
        } else if (event.kind == GLINFER_TRANSCRIPT_PARTIAL) {
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

// Feeds the sound that has arrived, then works; waits for sound only when nothing else is left.
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
        const uint32_t budget_us = hearing->is_live ? STEP_US : 0;
        if (!glinfer_transcription_step(hearing->transcription, budget_us, &state, err)) {
            return false;
        }
        if (!take_events(hearing)) {
            *err = (struct glinfer_error){0}; // cli_close_output says why
            return false;
        }
        if (hearing->only_language && hearing->language[0]) {
            return true;
        }
        show_progress(hearing);
        if (cli_is_interrupted() && !is_end) {
            is_end = true; // the sound so far is still transcribed
            glinfer_transcription_end(hearing->transcription);
        }
    }
    return true;
}

// Ends the line of a text without times.
static bool end_line(const struct cli_hearing *hearing)
{
    return hearing->has_times || hearing->segments.count == 0 || cli_write("\n", 1);
}

bool cli_hearing_run(struct cli_hearing *hearing)
{
    struct glinfer_error err = {0};
    bool is_done = run(hearing, &err);
    cli_bar_clear(hearing->bar);
    clear_partial(hearing);
    is_done = end_line(hearing) && is_done;
    if (is_done && hearing->sound && *cli_sound_note(hearing->sound)) {
        cli_warn("%s", cli_sound_note(hearing->sound));
    }
    if (hearing->microphone && cli_microphone_n_lost(hearing->microphone) > 0) {
        cli_warn("sound of the microphone was lost because transcribing is too slow: try a smaller "
                 "model");
    }
    return is_done || (err.status && cli_fail_error(&err));
}

void cli_hearing_finish(struct cli_hearing *hearing)
{
    cli_segments_finish(&hearing->segments);
}
