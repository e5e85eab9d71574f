// transcribe [--raw] MODEL FILE: writes the text of speech with a Whisper model, in steps of a few
// milliseconds. FILE is a WAV file with 16,000 samples of 16 bits a second, mono; with --raw such
// samples without a header.
#include <glinfer.h>
#include <stdio.h>
#include <string.h>

enum { N_PIECE = GLINFER_SPEECH_RATE / 10, BUDGET_US = 4000 };

// Reads the chunks of a WAV file up to its samples. Returns false if these are of another format.
static bool skip_header(FILE *file)
{
    // PCM, 1 channel, 16,000 samples and 32,000 bytes a second, 2 bytes and 16 bits a sample.
    static const uint8_t wanted[16] = {1, 0, 1, 0, 0x80, 0x3E, 0, 0, 0, 0x7D, 0, 0, 2, 0, 16, 0};
    uint8_t head[12], chunk[8], format[sizeof(wanted)] = {0};
    bool is_wave = fread(head, sizeof(head), 1, file) == 1 && memcmp(head, "RIFF", 4) == 0 &&
                   memcmp(head + 8, "WAVE", 4) == 0;
    while (is_wave && fread(chunk, sizeof(chunk), 1, file) == 1 && memcmp(chunk, "data", 4) != 0) {
        long size = chunk[4] | chunk[5] << 8 | chunk[6] << 16; // a chunk of 16 MiB is refused
        if (memcmp(chunk, "fmt ", 4) == 0 && fread(format, sizeof(format), 1, file) == 1) {
            size -= (long)sizeof(format);
        }
        is_wave = chunk[7] == 0 && size >= 0 && fseek(file, size + size % 2, SEEK_CUR) == 0;
    }
    return is_wave && memcmp(format, wanted, sizeof(format)) == 0;
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
    struct glinfer_error err = {.message = "usage: transcribe [--raw] MODEL FILE"};
    struct glinfer_device_params device_params = {sizeof(device_params), .allow_software = true};
    const bool is_raw = argc == 4 && strcmp(argv[1], "--raw") == 0;
    const bool has_names = argc == 3 || is_raw;
    const char *model_path = has_names ? argv[argc - 2] : NULL;
    const char *path = has_names ? argv[argc - 1] : "";
    FILE *file = has_names ? fopen(path, "rb") : NULL;
    bool ok = file && (is_raw || skip_header(file));
    if (has_names && !ok) {
        snprintf(err.message, sizeof(err.message),
                 file ? "%s is not a WAV file with 16,000 samples of 16 bits a second, mono"
                      : "cannot open %s",
                 path);
    }
    struct glinfer_device *device = ok ? glinfer_device_create(&device_params, &err) : NULL;
    struct glinfer_model_params model_params = {sizeof(model_params), .path = model_path};
    struct glinfer_model *model = device ? glinfer_model_load(device, &model_params, &err) : NULL;
    struct glinfer_transcription *transcription =
        model ? glinfer_transcription_create(model, NULL, &err) : NULL;
    ok = transcription && transcribe(transcription, file, &err);
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
