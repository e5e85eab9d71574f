#include "speech/transcript.h"

#include "base/array.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>

enum { SLACK = 30 }; // frames by which timestamps of the network miss a gap

//-- queue -------------------------------------------------------------------------------------

static void finish_event(struct glinfer_transcript_event *event)
{
    free((void *)event->text);
    free((void *)event->tokens);
    free((void *)event->words);
    *event = (struct glinfer_transcript_event){0};
}

bool gi_transcript_add(struct gi_transcript *transcript, struct glinfer_transcript_event event,
                       struct glinfer_error *err)
{
    return GI_ARRAY_PUSH(transcript, "a transcript", err, event);
}

bool gi_transcript_take(struct gi_transcript *transcript, struct glinfer_transcript_event *event)
{
    struct glinfer_transcript_event *data = transcript->data;
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

static uint64_t limit(const struct gi_transcript_window *source, uint64_t frame)
{
    return frame < source->end ? frame : source->end;
}

void gi_transcript_divide_times(const struct gi_transcript_window *source,
                                struct gi_token_time *times)
{
    const struct gi_whisper_window *window = source->window;
    struct gi_whisper_segment segment;
    size_t at = 0;
    while (gi_whisper_next_segment(window, &at, &segment)) {
        const uint64_t end = limit(source, segment.to);
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

// The text of a segment in progress.
struct writer {
    const struct gi_transcript_window *source;
    char *text; // with room for all tokens
    size_t size;
    struct gi_utf8_stream stream; // the beginning of a character at the end of text
    struct glinfer_transcript_token *tokens;
    struct glinfer_transcript_word *words;
    size_t n_token, n_word;
    uint32_t n_joined; // tokens of the last word
};

// Ends a character whose other bytes do not follow. It belongs to the word that it began in.
static void end_character(struct writer *w)
{
    w->size += gi_utf8_stream_flush(&w->stream, w->text + w->size);
    if (w->n_word > 0) {
        w->words[w->n_word - 1].text_end = w->size;
    }
}

// Appends the text of a token, to the last word or as another one.
static void write_text(struct writer *w, const struct glinfer_transcript_token *token,
                       float logprob)
{
    const struct gi_text text = {token->text, token->size};
    if (text.size == 0) {
        return;
    }
    if (!gi_utf8_continues(text.data[0])) {
        end_character(w);
    }
    const size_t begin = w->size;
    w->size += gi_utf8_stream_push(&w->stream, text.data, text.size, w->text + w->size);
    if (!w->source->has_words) {
        return;
    }
    if (w->n_word == 0 || begins_word(w->source, text)) {
        w->words[w->n_word++] =
            (struct glinfer_transcript_word){begin, begin, token->from_ms, token->to_ms, 0};
        w->n_joined = 0;
    }
    struct glinfer_transcript_word *word = &w->words[w->n_word - 1];
    word->text_end = w->size;
    word->to_ms = token->to_ms;
    word->probability += (logprob - word->probability) / (float)++w->n_joined; // the mean
}

static void write_token(struct writer *w, size_t i)
{
    const struct gi_transcript_window *source = w->source;
    const struct gi_whisper_window *window = source->window;
    struct glinfer_transcript_token *token = &w->tokens[w->n_token++];
    const struct gi_text text = text_of(source, i);
    *token = (struct glinfer_transcript_token){(int32_t)window->data[i].id,   text.data, text.size,
                                               expf(window->data[i].logprob), 0,         0};
    if (source->times) {
        const struct gi_token_time *time = &source->times[i];
        gi_time_map_word(source->map, limit(source, window->seek + time->from),
                         limit(source, window->seek + time->to), &token->from_ms, &token->to_ms);
    }
    write_text(w, token, window->data[i].logprob);
}

// Lets a word or a token end no later than its segment: the model's attention, which times words,
// may last longer than the timestamp after them.
static void end_within(const struct glinfer_transcript_event *segment, uint64_t *from_ms,
                       uint64_t *to_ms)
{
    *to_ms = *to_ms < segment->to_ms ? *to_ms : segment->to_ms;
    *from_ms = *from_ms < *to_ms ? *from_ms : *to_ms;
}

// Appends the segment of tokens [begin, end).
static bool add_segment(struct gi_transcript *transcript, const struct gi_transcript_window *source,
                        struct gi_whisper_segment part, struct glinfer_error *err)
{
    const size_t n = part.end - part.begin;
    size_t room = 16;
    for (size_t i = part.begin; i < part.end; i++) {
        room += 3 * (text_of(source, i).size + 4);
    }
    struct writer w = {
        .source = source,
    };
    bool is_ok = GI_ARRAYS_ZEROED("a transcript", err, GI_NEW(w.text, room), GI_NEW(w.tokens, n),
                                  GI_NEW(w.words, n));
    for (size_t i = part.begin; is_ok && i < part.end; i++) {
        write_token(&w, i);
    }
    if (is_ok) {
        end_character(&w);
    }
    for (size_t i = 0; i < w.n_word; i++) {
        w.words[i].probability = expf(w.words[i].probability);
    }
    struct glinfer_transcript_event event = {
        .kind = GLINFER_TRANSCRIPT_SEGMENT,
        .from_ms = gi_time_map_ms(source->map, limit(source, part.from), false, SLACK),
        .to_ms = gi_time_map_ms(source->map, limit(source, part.to), true, SLACK),
        .text = w.text,
        .size = w.size,
        .tokens = w.tokens,
        .n_token = w.n_token,
        .words = w.words,
        .n_word = w.n_word,
        .average_logprob = gi_whisper_average(source->window),
        .no_speech = source->no_speech,
        .temperature = source->temperature,
    };
    event.to_ms = event.to_ms > event.from_ms ? event.to_ms : event.from_ms;
    for (size_t i = 0; i < w.n_token; i++) {
        end_within(&event, &w.tokens[i].from_ms, &w.tokens[i].to_ms);
    }
    for (size_t i = 0; i < w.n_word; i++) {
        end_within(&event, &w.words[i].from_ms, &w.words[i].to_ms);
    }
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
        const size_t n = gi_utf8_count(token.data, token.size);
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
    transcript->data[transcript->count - 1].kind = GLINFER_TRANSCRIPT_PARTIAL;
    return true;
}
