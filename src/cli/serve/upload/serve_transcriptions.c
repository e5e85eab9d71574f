// Requests to transcribe sound, which come as forms: /v1/audio/transcriptions, /translations, and
// whisper-server's /inference.
#include "cli/common/cli_json.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/api/serve_request.h"
#include "cli/serve/schedule/serve_speech.h"
#include "cli/serve/upload/serve_multipart.h"

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

static void read_language(struct serve_fields *fields, const char **language)
{
    const char *known = "auto";
    serve_fields_text(fields, "language", language);
    for (size_t i = 0; *language && known && strcmp(known, *language) != 0; i++) {
        known = glinfer_speech_language(i);
    }
    if (!known) {
        serve_fields_expect(fields, "language", "a code such as en, de or zh, or auto");
    }
}

static void read_format(struct serve_fields *fields, enum serve_speech_format *format)
{
    static const char *const names[] = {"json", "text", "srt", "vtt", "verbose_json"};
    const char *name = names[0];
    serve_fields_text(fields, "response_format", &name);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            *format = (enum serve_speech_format)i;
            return;
        }
    }
    serve_fields_expect(fields, "response_format", "json, text, srt, vtt or verbose_json");
}

// Reads a number from 0 to 1 that a form has as text.
static void read_share(struct serve_fields *fields, const char *name, float *value)
{
    const char *text = NULL;
    char *end = NULL;
    if (serve_fields_text(fields, name, &text)) {
        const double number = strtod(text, &end);
        if (*end || !(number >= 0 && number <= 1)) {
            serve_fields_expect(fields, name, "a number from 0 to 1");
        }
        *value = (float)number;
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
        if (entry->size == 4 && memcmp(entry->data, "word", 4) == 0) {
            speech->params.has_words = true;
        } else if (entry->size != 7 || memcmp(entry->data, "segment", 7) != 0) {
            serve_fields_expect(fields, "timestamp_granularities[]", "word or segment");
        }
    }
    if (speech->params.has_words && speech->format != SERVE_SPEECH_VERBOSE) {
        serve_fields_refuse(fields, 400,
                            "invalid \"timestamp_granularities[]\": times of words need "
                            "\"response_format\" verbose_json");
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
    }
}

static void read_speech(struct serve_request *request, const struct serve_form *form,
                        bool is_translation)
{
    static const char *const types[] = {
        [SERVE_SPEECH_JSON] = "application/json; charset=utf-8",
        [SERVE_SPEECH_TEXT] = "text/plain; charset=utf-8",
        [SERVE_SPEECH_SRT] = "application/x-subrip; charset=utf-8",
        [SERVE_SPEECH_VTT] = "text/vtt; charset=utf-8",
        [SERVE_SPEECH_VERBOSE] = "application/json; charset=utf-8",
    };
    struct serve_speech *speech = cli_alloc(1, sizeof(*speech));
    struct serve_fields *fields = &request->fields;
    const char *translate = "false";
    float step = 0.2F;
    request->task->speech = speech;
    serve_task_add(request->task);
    glinfer_transcription_params_init(&speech->params);
    read_language(fields, &speech->params.language);
    serve_fields_text(fields, "prompt", &speech->params.prompt);
    read_format(fields, &speech->format);
    read_share(fields, "temperature", &speech->params.temperature);
    read_share(fields, "temperature_inc", &step);
    speech->params.temperature_step = step;
    serve_fields_text(fields, "translate", &translate);
    speech->params.translate = is_translation || strcmp(translate, "true") == 0;
    read_times(fields, form, speech);
    read_file(fields, form, speech);
    request->answer->type = types[speech->format];
}

static void transcribe(const struct serve_api *api, const struct serve_call *call,
                       bool is_translation, struct serve_reply *reply)
{
    struct serve_form form;
    struct serve_request request;
    char why[160];
    if (!api->speech_name) {
        serve_reply_error(reply, 501,
                          "this server has no speech model; start it with --speech-model MODEL");
    } else if (!serve_form_is(call->type)) {
        serve_reply_error(reply, 400,
                          "invalid request body: expected multipart/form-data with a \"file\"");
    } else if (!serve_form_read(&form, call->type, call->body, call->body_size, why, sizeof(why))) {
        serve_reply_error(reply, 400, "%s", why);
    } else {
        serve_request_open(&request, api, make_body(&form), &serve_format_speech);
        read_speech(&request, &form, is_translation);
        serve_request_close(&request, reply);
    }
}

void serve_handle_transcription(const struct serve_api *api, const struct serve_call *call,
                                struct serve_reply *reply)
{
    transcribe(api, call, false, reply);
}

void serve_handle_translation(const struct serve_api *api, const struct serve_call *call,
                              struct serve_reply *reply)
{
    transcribe(api, call, true, reply);
}
