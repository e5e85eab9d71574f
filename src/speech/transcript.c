#include "speech/transcript.h"

#include "base/array.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>

enum { SLACK = 30 }; // frames by which timestamps of the network miss a gap

//-- queue -------------------------------------------------------------------------------------

static void finish_event(struct gi_transcript_event *event)
{
    free((void *)event->text);
    free((void *)event->tokens);
    free((void *)event->words);
    *event = (struct gi_transcript_event){0};
}

bool gi_transcript_add(struct gi_transcript *transcript, struct gi_transcript_event event,
                       struct glinfer_error *err)
{
    return GI_ARRAY_PUSH(transcript, "a transcript", err, event);
}

bool gi_transcript_take(struct gi_transcript *transcript, struct gi_transcript_event *event)
{
    struct gi_transcript_event *data = transcript->data;
    for (size_t i = 0; i < transcript->n_taken; i++) {
        finish_event(&data[i]);
    }
    transcript->count -= transcript->n_taken;
    if (transcript->n_taken > 0) {
        memmove(data, &data[transcript->n_taken], transcript->count * sizeof(*data));
    }
    transcript->n_taken = transcript->count > 0;
    if (transcript->n_taken == 0) {
        return false;
    }
    *event = data[0];
    return true;
}

void gi_transcript_cut(struct gi_transcript *transcript, size_t count)
{
    while (transcript->count > count) {
        finish_event(&transcript->data[--transcript->count]);
    }
    transcript->n_taken = transcript->n_taken < count ? transcript->n_taken : count;
}

void gi_transcript_finish(struct gi_transcript *transcript)
{
    gi_transcript_cut(transcript, 0);
    free(transcript->data);
    *transcript = (struct gi_transcript){0};
}

//-- tokens ------------------------------------------------------------------------------------

static struct gi_text text_of(const struct gi_transcript_window *source, size_t i)
{
    const uint32_t id = source->window->data[i].id;
    return id < source->window->ids->end ? gi_whisper_token_text(source->text, id)
                                         : (struct gi_text){0};
}

static size_t count_characters(struct gi_text text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.size; i++) {
        n += !gi_utf8_continues(text.data[i]);
    }
    return n;
}

// True if a token begins a word. Where words have no spaces, every character is one, with the
// punctuation after it.
static bool begins_word(const struct gi_transcript_window *source, struct gi_text token)
{
    static const char after[] = ".。,，!！?？:：”)]}、";
    if (token.size == 0 || gi_utf8_continues(token.data[0])) {
        return false;
    }
    return token.data[0] == ' ' ||
           (!source->has_spaces && !memmem(after, sizeof(after) - 1, token.data, token.size));
}

static bool can_split_at(const struct gi_transcript_window *source, struct gi_text token)
{
    return source->splits_on_word ? begins_word(source, token)
                                  : token.size > 0 && !gi_utf8_continues(token.data[0]);
}

static uint64_t map_time(const struct gi_transcript_window *source, uint64_t frame, bool is_end,
                         uint32_t n_slack)
{
    return gi_time_map_ms(source->map, frame < source->end ? frame : source->end, is_end, n_slack);
}

void gi_transcript_divide_times(const struct gi_transcript_window *source,
                                struct gi_token_time *times)
{
    const struct gi_whisper_window *window = source->window;
    struct gi_whisper_segment segment;
    size_t at = 0;
    while (gi_whisper_next_segment(window, &at, &segment)) {
        const uint64_t end = segment.to < source->end ? segment.to : source->end;
        const uint64_t length = end > segment.from ? end - segment.from : 0;
        uint64_t size = 0, passed = 0;
        for (size_t i = segment.begin; i < segment.end; i++) {
            size += text_of(source, i).size;
        }
        for (size_t i = segment.begin; i < segment.end; i++) {
            const uint64_t from = passed;
            passed += text_of(source, i).size;
            times[i] = (struct gi_token_time){
                segment.from - window->seek + (uint32_t)(length * from / (size ? size : 1)),
                segment.from - window->seek + (uint32_t)(length * passed / (size ? size : 1))};
        }
    }
}

//-- segments ----------------------------------------------------------------------------------

// Appends a token to the event's text; `text` has room for it.
static void write_token(const struct gi_transcript_window *source, size_t i,
                        struct gi_utf8_stream *stream, char *text, size_t *size)
{
    const struct gi_text token = text_of(source, i);
    *size += gi_utf8_stream_push(stream, token.data, token.size, text + *size);
}

// Adds token i, whose text begins at byte `begin`, to the words of an event, or to its last word.
static void write_word(const struct gi_transcript_window *source, size_t i,
                       const struct gi_transcript_token *token, size_t begin, size_t end,
                       struct gi_transcript_word *words, size_t *n, uint32_t *n_joined)
{
    const struct gi_text text = text_of(source, i);
    if (text.size == 0) {
        return;
    }
    if (*n == 0 || begins_word(source, text)) {
        words[(*n)++] = (struct gi_transcript_word){begin, end, token->from_ms, token->to_ms, 0};
        *n_joined = 0;
    }
    struct gi_transcript_word *word = &words[*n - 1];
    word->text_end = end;
    word->to_ms = token->to_ms;
    word->probability += (token->logprob - word->probability) / (float)++*n_joined; // mean, for now
}

// Appends the segment of tokens [begin, end).
static bool add_segment(struct gi_transcript *transcript, const struct gi_transcript_window *source,
                        struct gi_whisper_segment part, struct glinfer_error *err)
{
    const struct gi_whisper_window *window = source->window;
    const size_t n = part.end - part.begin;
    size_t room = 16;
    for (size_t i = part.begin; i < part.end; i++) {
        room += 3 * (text_of(source, i).size + 4);
    }
    char *text = gi_array_zeroed(room, 1, "a transcript", err);
    struct gi_transcript_token *tokens = gi_array_zeroed(n, sizeof(*tokens), "a transcript", err);
    struct gi_transcript_word *words = gi_array_zeroed(n, sizeof(*words), "a transcript", err);
    struct gi_transcript_event event = {
        .kind = GI_TRANSCRIPT_SEGMENT,
        .from_ms = map_time(source, part.from, false, SLACK),
        .to_ms = map_time(source, part.to, true, SLACK),
        .text = text,
        .tokens = tokens,
        .words = words,
        .n_token = n,
        .average = gi_whisper_average(window),
        .no_speech = source->no_speech,
        .temperature = source->temperature,
    };
    bool is_ok = text && tokens && words;
    struct gi_utf8_stream stream = {0};
    uint32_t n_joined = 0;
    for (size_t i = part.begin; is_ok && i < part.end; i++) {
        struct gi_transcript_token *token = &tokens[i - part.begin];
        const size_t before = event.size;
        token->id = window->data[i].id;
        token->logprob = window->data[i].logprob;
        if (source->times) {
            token->from_ms = map_time(source, window->seek + source->times[i].from, false, 0);
            token->to_ms = map_time(source, window->seek + source->times[i].to, true, 0);
            token->to_ms = token->to_ms > token->from_ms ? token->to_ms : token->from_ms;
        }
        write_token(source, i, &stream, text, &event.size);
        if (source->has_words) {
            write_word(source, i, token, before, event.size, words, &event.n_word, &n_joined);
        }
    }
    if (is_ok) {
        event.size += gi_utf8_stream_flush(&stream, text + event.size);
    }
    for (size_t i = 0; i < event.n_word; i++) {
        words[i].probability = expf(words[i].probability);
    }
    event.to_ms = event.to_ms > event.from_ms ? event.to_ms : event.from_ms;
    is_ok = is_ok && gi_transcript_add(transcript, event, err);
    if (!is_ok) {
        finish_event(&event);
    }
    return is_ok;
}

// Appends a segment in pieces of at most max_length characters.
static bool add_pieces(struct gi_transcript *transcript, const struct gi_transcript_window *source,
                       struct gi_whisper_segment segment, struct glinfer_error *err)
{
    struct gi_whisper_segment part = segment;
    size_t n_character = 0;
    for (size_t i = segment.begin; source->max_length > 0 && i < segment.end; i++) {
        const struct gi_text token = text_of(source, i);
        const size_t n = count_characters(token);
        if (n_character > 0 && n_character + n > source->max_length &&
            can_split_at(source, token)) {
            part.end = i;
            part.to = source->window->seek + source->times[i].from;
            if (!add_segment(transcript, source, part, err)) {
                return false;
            }
            part.begin = i;
            part.from = part.to;
            n_character = 0;
        }
        n_character += n;
    }
    part.end = segment.end;
    part.to = segment.to;
    return add_segment(transcript, source, part, err);
}

bool gi_transcript_add_window(struct gi_transcript *transcript,
                              const struct gi_transcript_window *source, struct glinfer_error *err)
{
    struct gi_whisper_segment segment;
    size_t at = 0;
    while (gi_whisper_next_segment(source->window, &at, &segment)) {
        if (!add_pieces(transcript, source, segment, err)) {
            return false;
        }
    }
    return true;
}

bool gi_transcript_add_partial(struct gi_transcript *transcript,
                               const struct gi_transcript_window *source, struct glinfer_error *err)
{
    const struct gi_whisper_window *window = source->window;
    struct gi_transcript_window plain = *source;
    plain.has_words = false;
    plain.times = NULL;
    const struct gi_whisper_segment all = {0, window->count, window->seek, (uint32_t)source->end};
    if (!add_segment(transcript, &plain, all, err)) {
        return false;
    }
    transcript->data[transcript->count - 1].kind = GI_TRANSCRIPT_PARTIAL;
    return true;
}
