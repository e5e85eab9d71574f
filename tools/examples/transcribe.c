// transcribe MODEL FILE: writes the text of speech with a Whisper model, in steps of a few
// milliseconds. FILE is a WAV file or raw samples of 16 bits: mono, 16,000 samples a second.
#include <glinfer.h>
#include <stdio.h>

enum { N_PIECE = GLINFER_SPEECH_RATE / 10, BUDGET_US = 4000 };

// Skips the header of a WAV file, which ends with the word "data" and a size.
static void skip_header(FILE *file)
{
    char word[4] = "";
    const bool is_wave = fread(word, 1, 4, file) == 4 && memcmp(word, "RIFF", 4) == 0;
    size_t n = is_wave ? 2 : 0;
    while (n == 2 && memcmp(word, "data", 4) != 0) {
        memmove(word, word + 2, 2); // words begin at even places
        n = fread(word + 2, 1, 2, file);
    }
    fseek(file, is_wave ? 4 : 0, is_wave ? SEEK_CUR : SEEK_SET);
}

// Feeds the next samples, or the end of the sound.
static bool feed(struct glinfer_transcription *transcription, FILE *file, struct glinfer_error *err)
{
    int16_t numbers[N_PIECE];
    float samples[N_PIECE];
    const size_t n = fread(numbers, sizeof(*numbers), N_PIECE, file);
    if (n == 0) {
        glinfer_transcription_end(transcription);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        samples[i] = (float)numbers[i] / 32768;
    }
    return glinfer_transcription_feed(transcription, samples, n, err);
}

static bool transcribe(struct glinfer_transcription *transcription, FILE *file,
                       struct glinfer_error *err)
{
    enum glinfer_transcription_state state = GLINFER_TRANSCRIPTION_WAITS;
    struct glinfer_transcript_event event;
    skip_header(file);
    while (state != GLINFER_TRANSCRIPTION_DONE) {
        if ((state == GLINFER_TRANSCRIPTION_WAITS && !feed(transcription, file, err)) ||
            !glinfer_transcription_step(transcription, BUDGET_US, &state, err)) {
            return false;
        }
        while (glinfer_transcription_poll(transcription, &event)) {
            if (event.kind == GLINFER_TRANSCRIPT_SEGMENT) {
                printf("%7.2f s %s\n", 1e-3 * (double)event.from_ms, event.text);
            }
        }
        // A program with other work does it here, between two steps.
    }
    return true;
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {.message = "usage: transcribe MODEL FILE"};
    struct glinfer_device_params device_params = {sizeof(device_params), .allow_software = true};
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
    if (argc == 3 && !file) {
        snprintf(err.message, sizeof(err.message), "cannot open %s", argv[2]);
    }
    struct glinfer_device *device = file ? glinfer_device_create(&device_params, &err) : NULL;
    struct glinfer_model_params model_params = {sizeof(model_params), .path = argv[1]};
    struct glinfer_model *model = device ? glinfer_model_load(device, &model_params, &err) : NULL;
    struct glinfer_transcription *transcription =
        model ? glinfer_transcription_create(model, NULL, &err) : NULL;
    const bool ok = transcription && transcribe(transcription, file, &err);
    if (!ok) {
        fprintf(stderr, "transcribe: %s\n", err.message);
    }
    glinfer_transcription_destroy(&transcription);
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    if (file) {
        fclose(file);
    }
    return ok ? 0 : 1;
}
