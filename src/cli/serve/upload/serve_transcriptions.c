// Requests to transcribe sound, which come as forms: /v1/audio/transcriptions, /translations, and
// whisper-server's /inference.
#include "cli/common/cli_args.h"
#include "cli/common/cli_json.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/api/serve_request.h"
#include "cli/serve/schedule/serve_speech.h"
#include "cli/serve/upload/serve_multipart.h"
#include "cli/speech/cli_hearing.h"

#include <stdlib.h>
#include <string.h>

// Returns the fields of a form, except its file, as an object of strings.
static cJSON *make_body(const struct serve_form *form)
{
    cJSON *body = cJSON_CreateObject();
    for (size_t i = 0; i < form->n_entry; i++) {
        const struct serve_entry *entry = &form->entries[i];
        if (strcmp(entry->name, "file") != 0 && entry->size > 0) {
            char *text = cli_alloc(entry->size + 1, 1);
            memcpy(text, entry->data, entry->size);
            cli_json_add_first(body, entry->name, cJSON_CreateString(text));
            free(text);
        }
    }
    return body;
}

// Reads a yes or no as forms spell it.
static bool parse_truth(const char *text, void *field, char *why, size_t size)
{
    const bool is_true = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    snprintf(why, size, "true or false");
    *(bool *)field = is_true;
    return is_true || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

// Refuses what whisper-server can do and this server cannot.
static bool parse_false(const char *text, void *field, char *why, size_t size)
{
    (void)field;
    snprintf(why, size, "false: this server does not do it");
    return strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

// In the order of enum serve_speech_format.
static const char *const formats[] = {"json", "text", "srt", "vtt", "verbose_json", NULL};

// The fields of a form but for its file, as flags of struct serve_speech.
#define CLI_SETTINGS                    serve_speech
#define TEXT(field, names)              CLI_TEXT(field, names, NULL, NULL)
#define TRUTH(field, names)             CLI_CUSTOM(field, parse_truth, names, NULL, NULL)
#define NUMBER(field, name)             CLI_SPEECH(field, name, NULL, NULL)
#define COUNT(field, least, most, name) CLI_INT(field, least, most, name, NULL, NULL)
static const struct cli_flag rows[] = {
    CLI_CHOICE(format, formats, "response_format", NULL, NULL),
    TEXT(params.language, "language"),
    TEXT(params.prompt, "prompt"),
    TRUTH(is_stream, "stream"),
    NUMBER(temperature, "temperature"),
    // whisper-server's:
    NUMBER(temperature_step, "temperature_inc"),
    NUMBER(entropy_least, "entropy_thold"),
    NUMBER(logprob_least, "logprob_thold"),
    NUMBER(no_speech_most, "no_speech_thold"),
    NUMBER(best_of, "best_of"),
    NUMBER(beam_size, "beam_size"),
    NUMBER(audio_ctx, "audio_ctx"),
    NUMBER(max_length, "max_len"),
    TRUTH(params.split_on_word, "split_on_word"),
    TRUTH(params.has_words, "token_timestamps"),
    TRUTH(params.no_timestamps, "no_timestamps"),
    TRUTH(no_context, "no_context"),
    COUNT(max_context, -1, 448, "max_context"),
    COUNT(from_ms, 0, UINT32_MAX, "offset_t"),
    COUNT(duration_ms, 0, UINT32_MAX, "duration"),
    TRUTH(only_language, "detect_language"),
    CLI_CUSTOM(has_vad, parse_false, "diarize, tinydiarize, debug_mode, offset_n", NULL, NULL),
    TRUTH(params.carry_prompt, "carry_initial_prompt"),
    TRUTH(params.translate, "translate"),
    TRUTH(params.suppress_symbols, "suppress_nst, suppress_non_speech"),
    TEXT(params.suppress, "suppress_regex"),
    TRUTH(has_vad, "vad"),
    NUMBER(vad_threshold, "vad_threshold"),
    NUMBER(vad_min_speech_ms, "vad_min_speech_duration_ms"),
    NUMBER(vad_min_silence_ms, "vad_min_silence_duration_ms"),
    NUMBER(vad_max_speech_s, "vad_max_speech_duration_s"),
    NUMBER(vad_pad_ms, "vad_speech_pad_ms"),
};

static void read_rows(struct serve_fields *fields, struct serve_speech *speech)
{
    const cJSON *field;
    char why[160] = "";
    cJSON_ArrayForEach(field, fields->object)
    {
        const struct cli_flag *row = cli_find_row(rows, sizeof(rows) / sizeof(rows[0]),
                                                  field->string, strlen(field->string));
        if (row && !cli_store_value(row, speech, field->valuestring, why, sizeof(why))) {
            serve_fields_expect(fields, field->string, why);
        }
    }
    if (speech->is_stream && speech->format != SERVE_SPEECH_JSON) {
        serve_fields_refuse(fields, 400,
                            "invalid \"stream\": events need \"response_format\" json");
    }
}

static void read_times(struct serve_fields *fields, const struct serve_form *form,
                       struct serve_speech *speech)
{
    for (size_t i = 0; i < form->n_entry; i++) {
        const struct serve_entry *entry = &form->entries[i];
        if (strcmp(entry->name, "timestamp_granularities[]") != 0 &&
            strcmp(entry->name, "timestamp_granularities") != 0) {
            continue;
        }
        const bool is_word = entry->size == 4 && memcmp(entry->data, "word", 4) == 0;
        speech->params.has_words = speech->params.has_words || is_word;
        if (!is_word && (entry->size != 7 || memcmp(entry->data, "segment", 7) != 0)) {
            serve_fields_expect(fields, "timestamp_granularities[]", "word or segment");
        } else if (is_word && speech->format != SERVE_SPEECH_VERBOSE) {
            serve_fields_refuse(fields, 400,
                                "invalid \"timestamp_granularities[]\": times of words need "
                                "\"response_format\" verbose_json");
        }
    }
}

// Sets the parameters that follow from several fields, and checks them before the sound waits.
static void finish_params(struct serve_request *request, struct serve_speech *speech)
{
    struct serve_fields *fields = &request->fields;
    struct glinfer_error err;
    if (speech->max_context >= 0 || speech->no_context) {
        speech->params.max_context = speech->no_context ? 0 : (uint32_t)speech->max_context;
    }
    if (speech->only_language) {
        speech->params.language = NULL;
        if (serve_scheduler_speech(request->api->scheduler)->n_language <= 1) {
            serve_fields_refuse(fields, 400,
                                "invalid \"detect_language\": the model knows English alone");
        }
    }
    if (!fields->is_wrong && !glinfer_transcription_check(&speech->params, &err)) {
        serve_fields_refuse(fields, 400, "%s", err.message);
    }
}

static void read_file(struct serve_fields *fields, const struct serve_form *form,
                      struct serve_speech *speech)
{
    struct glinfer_error err;
    const struct serve_entry *file = serve_form_find(form, "file");
    if (fields->is_wrong) {
        return;
    }
    if (!file) {
        serve_fields_refuse(fields, 400, "missing \"file\"; expected a file with sound");
        return;
    }
    cli_bytes_append(&speech->upload, file->data, file->size);
    speech->sound = cli_sound_open_memory(file->filename[0] ? file->filename : "the file",
                                          speech->upload.data, speech->upload.size, &err);
    if (!speech->sound) {
        serve_fields_refuse(fields, 400, "%s", err.message);
        return;
    }
    cli_sound_cut(speech->sound, (uint32_t)speech->from_ms, (uint32_t)speech->duration_ms);
    speech->segments.offset_ms = speech->from_ms;
}

static void read_speech(struct serve_request *request, const struct serve_form *form,
                        bool is_translation)
{
    static const char *const types[] = {
        // NULL: JSON
        [SERVE_SPEECH_TEXT] = "text/plain; charset=utf-8",
        [SERVE_SPEECH_SRT] = "application/x-subrip; charset=utf-8",
        [SERVE_SPEECH_VTT] = "text/vtt; charset=utf-8",
        [SERVE_SPEECH_VERBOSE] = NULL,
    };
    struct serve_speech *speech = cli_alloc(1, sizeof(*speech));
    struct serve_fields *fields = &request->fields;
    request->task->speech = speech;
    serve_task_add(request->task);
    glinfer_transcription_params_init(&speech->params);
    speech->has_vad = true;
    speech->max_context = -1;
    read_rows(fields, speech);
    speech->params.translate = speech->params.translate || is_translation;
    read_times(fields, form, speech);
    finish_params(request, speech);
    read_file(fields, form, speech);
    request->answer->type = types[speech->format];
    request->answer->is_stream = speech->is_stream;
}

// Tells why a form cannot be read, and returns false.
static bool read_form(const struct serve_api *api, const struct serve_call *call,
                      struct serve_form *form, struct serve_reply *reply)
{
    char why[160];
    if (!api->speech_name) {
        serve_reply_error(reply, 501,
                          "this server has no speech model; start it with --speech-model MODEL");
        return false;
    }
    if (!serve_form_is(call->type)) {
        serve_reply_error(reply, 400, "invalid request body: expected multipart/form-data");
        return false;
    }
    if (!serve_form_read(form, call->type, call->body, call->body_size, why, sizeof(why))) {
        serve_reply_error(reply, 400, "%s", why);
        return false;
    }
    return true;
}

void serve_handle_transcription(const struct serve_api *api, const struct serve_call *call,
                                struct serve_reply *reply)
{
    struct serve_form form;
    struct serve_request request;
    if (read_form(api, call, &form, reply)) {
        serve_request_open(&request, api, make_body(&form), &serve_format_speech);
        read_speech(&request, &form, strcmp(call->path, "/v1/audio/translations") == 0);
        serve_request_close(&request, reply);
    }
}

void serve_handle_load(const struct serve_api *api, const struct serve_call *call,
                       struct serve_reply *reply)
{
    static const char done[] = "Load was successful!";
    struct serve_form form;
    if (!read_form(api, call, &form, reply)) {
        return;
    }
    const struct serve_entry *model = serve_form_find(&form, "model");
    if (!model) {
        serve_reply_error(reply, 400, "missing \"model\"; expected the path of a model");
        return;
    }
    const char *slash = memrchr(model->data, '/', model->size);
    const char *name = slash ? slash + 1 : model->data;
    const size_t size = (size_t)(model->data + model->size - name);
    if (size == strlen(api->speech_name) && memcmp(name, api->speech_name, size) == 0) {
        serve_reply_text(reply, "text/plain; charset=utf-8", done, strlen(done));
    } else {
        serve_reply_error(reply, 501,
                          "cannot load another model: this server keeps %s; start it "
                          "with --speech-model MODEL",
                          api->speech_name);
    }
}
