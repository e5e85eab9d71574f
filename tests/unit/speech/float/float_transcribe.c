// Transcribes a sound with the reference network, and prints its events as lines of JSON:
//
//   float_transcribe MODEL.bin SOUND.f32 [exact] [words] [live] [vad=SILERO.bin] [beam=N] [ml=N]
//                    [language=N] [translate] [piece=N] [prompt=TEXT] [ac=N] [pad=MS] [greedy]
//
// SOUND.f32: raw samples at 16 kHz. piece: samples that are pushed between steps.
#include "base/file.h"
#include "speech/model/whisper_model.h"
#include "tests/unit/speech/float/float_whisper.h"
#include "tests/unit/speech/speech_defaults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gi_gguf *open_file(const char *path)
{
    struct glinfer_error err;
    struct glinfer_source source;
    glinfer_source_init(&source);
    source.path = path;
    struct gi_gguf *file = gi_gguf_open(&source, &err);
    if (!file) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    return file;
}

static void print_text(const char *name, const char *text, size_t size)
{
    printf(", \"%s\": \"", name);
    for (size_t i = 0; i < size; i++) {
        printf(text[i] == '"' || text[i] == '\\' ? "\\%c" : "%c", text[i]);
    }
    printf("\"");
}

static void print_event(const struct gi_transcript_event *event)
{
    static const char *const kinds[] = {"language", "segment", "partial", "utterance", "done"};
    printf("{\"kind\": \"%s\", \"from\": %llu, \"to\": %llu", kinds[event->kind],
           (unsigned long long)event->from_ms, (unsigned long long)event->to_ms);
    if (event->language) {
        printf(", \"language\": \"%s\", \"p\": %.5f", event->language, (double)event->probability);
    }
    if (event->text) {
        print_text("text", event->text, event->size);
    }
    if (event->kind == GI_TRANSCRIPT_SEGMENT) {
        printf(", \"average\": %.4f, \"no_speech\": %.5f, \"temperature\": %.1f, \"tokens\": [",
               (double)event->average, (double)event->no_speech, (double)event->temperature);
        for (size_t i = 0; i < event->n_token; i++) {
            printf("%s%u", i ? ", " : "", event->tokens[i].id);
        }
        printf("], \"logprobs\": [");
        for (size_t i = 0; i < event->n_token; i++) {
            printf("%s%.4f", i ? ", " : "", (double)event->tokens[i].logprob);
        }
        printf("], \"words\": [");
        for (size_t i = 0; i < event->n_word; i++) {
            const struct gi_transcript_word *word = &event->words[i];
            printf("%s{\"from\": %llu, \"to\": %llu, \"p\": %.3f", i ? ", " : "",
                   (unsigned long long)word->from_ms, (unsigned long long)word->to_ms,
                   (double)word->probability);
            print_text("text", event->text + word->text_begin, word->text_end - word->text_begin);
            printf("}");
        }
        printf("]");
    }
    printf("}\n");
    fflush(stdout);
}

static float *read_sound(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file) / sizeof(float);
    rewind(file);
    float *samples = malloc((*n + 1) * sizeof(float));
    *n = samples ? fread(samples, sizeof(float), *n, file) : 0;
    fclose(file);
    return samples;
}

static void run(struct gi_transcriber *t, const float *samples, size_t n, size_t piece)
{
    struct glinfer_error err;
    struct gi_transcript_event event;
    enum gi_transcriber_state state = GI_TRANSCRIBER_WAITS;
    for (size_t at = 0; state != GI_TRANSCRIBER_DONE;) {
        const size_t left = n - at, next = piece > 0 && piece < left ? piece : left;
        if (state == GI_TRANSCRIBER_WAITS && left == 0) {
            gi_transcriber_end(t);
        } else if (state == GI_TRANSCRIBER_WAITS) {
            gi_transcriber_push(t, samples + at, next, &err);
            at += next;
        }
        if (!gi_transcriber_step(t, &state, &err)) {
            fprintf(stderr, "%s\n", err.message);
            exit(1);
        }
        while (gi_transcriber_poll(t, &event)) {
            print_event(&event);
        }
    }
}

int main(int n_arg, char **args)
{
    struct glinfer_error err;
    struct gi_transcriber_params params = transcriber_defaults();
    struct gi_whisper_model model;
    struct gi_vad *vad = NULL;
    size_t n, piece = 0;
    if (n_arg < 3) {
        fprintf(stderr, "usage: float_transcribe MODEL.bin SOUND.f32 [OPTION...]\n");
        return 2;
    }
    for (int i = 3; i < n_arg; i++) {
        const char *value = strchr(args[i], '=');
        const uint32_t number = value ? (uint32_t)strtoul(value + 1, NULL, 10) : 0;
        params.is_exact |= strcmp(args[i], "exact") == 0;
        params.has_words |= strcmp(args[i], "words") == 0;
        params.is_live |= strcmp(args[i], "live") == 0;
        params.translates |= strcmp(args[i], "translate") == 0;
        params.temperature_step = strcmp(args[i], "greedy") == 0 ? 0 : params.temperature_step;
        params.beam_size = strncmp(args[i], "beam=", 5) == 0 ? number : params.beam_size;
        params.max_length = strncmp(args[i], "ml=", 3) == 0 ? number : params.max_length;
        params.voice.pad_ms = strncmp(args[i], "pad=", 4) == 0 ? number : params.voice.pad_ms;
        params.audio_ctx = strncmp(args[i], "ac=", 3) == 0 ? number : params.audio_ctx;
        params.prompt = strncmp(args[i], "prompt=", 7) == 0 ? value + 1 : params.prompt;
        params.language = strncmp(args[i], "language=", 9) == 0 ? (int32_t)number : params.language;
        piece = strncmp(args[i], "piece=", 6) == 0 ? number : piece;
        if (strncmp(args[i], "vad=", 4) == 0) {
            struct gi_gguf *file = open_file(value + 1);
            vad = gi_vad_create(file, &err);
            gi_gguf_close(file);
        }
    }
    struct gi_gguf *file = open_file(args[1]);
    float *samples = read_sound(args[2], &n);
    if (!gi_whisper_model_init(&model, file, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    struct float_whisper *whisper = float_whisper_create(file, 5);
    const struct gi_speech_net net = float_whisper_net(whisper);
    const struct gi_transcriber_inputs inputs = {&net, model.mel, model.text, vad};
    struct gi_transcriber *t = gi_transcriber_create(&inputs, &params, &err);
    if (!t) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    run(t, samples, n, piece);
    gi_transcriber_destroy(t);
    float_whisper_destroy(whisper);
    gi_whisper_model_finish(&model);
    gi_vad_destroy(vad);
    gi_gguf_close(file);
    free(samples);
    return 0;
}
