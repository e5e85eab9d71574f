// model_programs MODEL...: compiles every program that answers, embeddings or transcriptions of the
// models need, one after the other, and writes what the library and the driver say meanwhile to
// standard error. Needs no result, so it also works over a simulated kernel.
#include "glinfer.h"

#include <stdio.h>

// A session for greedy answers to any prompt, or for sampled ones; of an encoder, for embeddings.
static bool compile(struct glinfer_model *model, float temperature, struct glinfer_error *err)
{
    struct glinfer_generate_params expected;
    struct glinfer_session_params params;
    glinfer_generate_params_init(&expected);
    glinfer_session_params_init(&params);
    expected.temperature = temperature;
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    glinfer_model_describe(model, &info);
    params.expected = info.is_encoder ? NULL : &expected;
    struct glinfer_session *session = glinfer_session_create(model, &params, err);
    const bool is_good = session != NULL;
    if (session && info.is_encoder) {
        const int32_t ids[] = {1, 2};
        float values[4096];
        size_t n;
        glinfer_embed(session, ids, 2, NULL, values, 4096, &n, NULL);
    }
    glinfer_session_destroy(&session);
    return is_good;
}

// Nothing is computed, so measuring ends in a failure after the programs are compiled.
static bool compile_speech(struct glinfer_model *model, struct glinfer_error *err)
{
    struct glinfer_speech_times times = {.struct_size = sizeof(times)};
    struct glinfer_transcription *transcription = glinfer_transcription_create(model, NULL, err);
    const bool is_good = transcription != NULL;
    if (transcription) {
        glinfer_transcription_measure(transcription, 64, 2, &times, NULL);
    }
    glinfer_transcription_destroy(&transcription);
    return is_good;
}

static void print_line(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", message);
}

static bool compile_model(struct glinfer_device *device, const char *path,
                          struct glinfer_error *err)
{
    struct glinfer_model_params params;
    glinfer_model_params_init(&params);
    params.path = path;
    struct glinfer_model *model = glinfer_model_load(device, &params, err);
    const bool is_good = model && (glinfer_model_hears(model)
                                       ? compile_speech(model, err)
                                       : compile(model, 0.0F, err) && compile(model, 0.8F, err));
    glinfer_model_destroy(&model);
    return is_good;
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {.message = "usage: model_programs MODEL..."};
    struct glinfer_device_info info = {.struct_size = sizeof(info)};

    struct glinfer_device_params params;
    glinfer_device_params_init(&params);
    params.allow_software = true;
    params.debug = true;
    params.cache_dir = "";
    params.log = print_line;
    struct glinfer_device *device = argc > 1 ? glinfer_device_create(&params, &err) : NULL;
    bool is_good = device != NULL;
    if (is_good) {
        glinfer_device_describe(device, &info);
        printf("%s\n%s\n", info.renderer, info.version);
    }
    for (int i = 1; is_good && i < argc; i++) {
        is_good = compile_model(device, argv[i], &err);
    }
    if (!is_good) {
        fprintf(stderr, "model_programs: %s\n", err.message);
    }
    glinfer_device_destroy(&device);
    return is_good ? 0 : 1;
}
