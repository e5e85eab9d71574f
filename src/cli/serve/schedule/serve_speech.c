#include "cli/serve/schedule/serve_speech.h"

#include <stdlib.h>
#include <string.h>

void serve_speech_destroy(struct serve_speech *speech)
{
    if (!speech) {
        return;
    }
    for (size_t i = 0; i < speech->segments.count; i++) {
        const struct cli_segment *segment = &speech->segments.items[i];
        for (size_t w = 0; w < segment->n_word; w++) {
            free((char *)segment->words[w].text);
        }
        free((void *)segment->words);
        free((void *)segment->tokens);
        free((char *)segment->text);
    }
    free(speech->segments.items);
    cli_sound_close(speech->sound);
    cli_bytes_finish(&speech->upload);
    free(speech);
}

bool serve_speech_read(struct serve_speech *speech, const float **samples, size_t *n,
                       struct glinfer_error *err)
{
    const bool is_done = cli_sound_next(speech->sound, samples, n, err);
    speech->n_sample += is_done ? *n : 0;
    return is_done;
}

static char *copy_text(const char *text, size_t size)
{
    char *copy = cli_alloc(size + 1, 1);
    memcpy(copy, text, size);
    return copy;
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
        };
    }
    return words;
}

static struct cli_spoken *copy_tokens(const struct glinfer_transcript_event *event)
{
    struct cli_spoken *tokens = cli_alloc(event->n_token + 1, sizeof(*tokens));
    for (size_t i = 0; i < event->n_token; i++) {
        tokens[i] = (struct cli_spoken){.id = event->tokens[i].id};
    }
    return tokens;
}

void serve_speech_add(struct serve_speech *speech, const struct glinfer_transcript_event *event)
{
    if (event->kind == GLINFER_TRANSCRIPT_LANGUAGE) {
        snprintf(speech->language, sizeof(speech->language), "%s", event->language);
    }
    if (event->kind != GLINFER_TRANSCRIPT_SEGMENT) {
        return;
    }
    *CLI_APPEND(&speech->segments) = (struct cli_segment){
        .from_ms = (int64_t)event->from_ms,
        .to_ms = (int64_t)event->to_ms,
        .text = copy_text(event->text, event->size),
        .words = copy_words(event),
        .n_word = event->n_word,
        .tokens = copy_tokens(event),
        .n_token = event->n_token,
        .seek_ms = (int64_t)event->from_ms,
        .temperature = event->temperature,
        .mean_logprob = event->average_logprob,
        .no_speech_probability = event->no_speech,
    };
}
