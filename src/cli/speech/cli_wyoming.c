#include "cli/speech/cli_wyoming.h"

#include "cli/common/cli_json_read.h"

#include <inttypes.h>
#include <string.h>

void cli_wyoming_reader_finish(struct cli_wyoming_reader *reader)
{
    cJSON_Delete(reader->line);
    cli_bytes_finish(&reader->bytes);
    *reader = (struct cli_wyoming_reader){0};
}

void cli_wyoming_reader_feed(struct cli_wyoming_reader *reader, const void *bytes, size_t size)
{
    struct cli_bytes *own = &reader->bytes;
    if (reader->at > 0) {
        own->size -= reader->at;
        memmove(own->data, own->data + reader->at, own->size);
        reader->at = 0;
    }
    cli_bytes_append(own, bytes, size);
}

static enum cli_wyoming_found refuse(struct cli_wyoming_reader *reader, const char *why,
                                     struct glinfer_error *err)
{
    reader->is_broken = true;
    err->status = GLINFER_STATUS_BAD_FILE;
    snprintf(err->message, sizeof(err->message), "invalid Wyoming event: %s", why);
    return CLI_WYOMING_BROKEN;
}

// Sets *length to a member of a line, 0 without it. Returns false if it is not a number up to most.
static bool read_length(const cJSON *line, const char *name, size_t most, size_t *length)
{
    const cJSON *item = cli_json_get(line, name);
    int64_t value = 0;
    if (item && !cJSON_IsNull(item) && !cli_json_int(item, &value)) {
        return false;
    }
    *length = (size_t)value;
    return value >= 0 && value <= (int64_t)most;
}

// Sets the members of an object in another one, and deletes the first.
static void merge(cJSON *into, cJSON *from)
{
    for (cJSON *item = from->child; item; item = from->child) {
        char *name = item->string;
        item->string = NULL; // cJSON sets another one
        cJSON_DetachItemViaPointer(from, item);
        cli_json_set(into, name, item);
        cJSON_free(name);
    }
    cJSON_Delete(from);
}

// Sets the data of the line, an object, together with those of n bytes.
static bool read_data(struct cli_wyoming_reader *reader, const char *text, size_t n)
{
    cJSON *data = cJSON_GetObjectItemCaseSensitive(reader->line, "data");
    if (!data || cJSON_IsNull(data)) {
        data = cJSON_CreateObject();
        cli_json_set(reader->line, "data", data);
    }
    cJSON *more = n > 0 ? cli_json_parse_all(text, n, NULL) : cJSON_CreateObject();
    if (!cJSON_IsObject(data) || !cJSON_IsObject(more)) {
        cJSON_Delete(more);
        return false;
    }
    merge(data, more);
    return true;
}

enum cli_wyoming_found cli_wyoming_reader_next(struct cli_wyoming_reader *reader,
                                               struct cli_wyoming_event *event,
                                               struct glinfer_error *err)
{
    const size_t size = reader->bytes.size - reader->at;
    const char *line = size > 0 ? reader->bytes.data + reader->at : "";
    size_t n_data, n_payload;
    cJSON_Delete(reader->line);
    reader->line = NULL;
    if (reader->is_broken) {
        return refuse(reader, "it follows an invalid event", err);
    }
    const char *end = memchr(line, '\n', size);
    const size_t n_line = end ? (size_t)(end - line) : size;
    if (n_line > CLI_WYOMING_MAX_LINE) {
        return refuse(reader, "its line is longer than 64 KiB", err);
    }
    if (!end) {
        return CLI_WYOMING_MORE;
    }
    reader->line = cli_json_parse_all(line, n_line, NULL);
    const char *type = cli_json_get_text(reader->line, "type");
    if (!type) {
        return refuse(reader, "its line is not an object of JSON with a type", err);
    }
    if (!read_length(reader->line, "data_length", CLI_WYOMING_MAX_DATA, &n_data) ||
        !read_length(reader->line, "payload_length", CLI_WYOMING_MAX_PAYLOAD, &n_payload)) {
        return refuse(reader, "data_length is not 0 to 1 MiB, or payload_length 0 to 16 MiB", err);
    }
    if (size - n_line - 1 < n_data + n_payload) {
        return CLI_WYOMING_MORE;
    }
    if (!read_data(reader, end + 1, n_data)) {
        return refuse(reader, "its data are not an object of JSON", err);
    }
    *event = (struct cli_wyoming_event){
        .type = type,
        .data = cli_json_get(reader->line, "data"),
        .payload = (const unsigned char *)end + 1 + n_data,
        .n_payload = n_payload,
    };
    reader->at += n_line + 1 + n_data + n_payload;
    return CLI_WYOMING_EVENT;
}

//-- writing ---------------------------------------------------------------------------------------

void cli_wyoming_write(struct cli_bytes *bytes, const char *type, cJSON *data, const void *payload,
                       size_t n_payload)
{
    struct cli_bytes text = {0};
    cJSON *line = cJSON_CreateObject();
    cli_bytes_add(&text, "");
    cli_append_json(&text, data);
    cJSON_AddStringToObject(line, "type", type);
    cJSON_AddNumberToObject(line, "data_length", (double)text.size);
    cJSON_AddNumberToObject(line, "payload_length", (double)n_payload);
    cli_append_json(bytes, line);
    cli_bytes_add(bytes, "\n");
    cli_bytes_append(bytes, text.data, text.size);
    cli_bytes_append(bytes, payload, n_payload);
    cli_bytes_finish(&text);
    cJSON_Delete(line);
    cJSON_Delete(data);
}

void cli_wyoming_write_text(struct cli_bytes *bytes, const char *type, const char *text,
                            const char *language)
{
    cJSON *data = cJSON_CreateObject();
    if (text) {
        cJSON_AddItemToObject(data, "text", cli_json_text(text, strlen(text)));
    }
    if (language) {
        cJSON_AddStringToObject(data, "language", language);
    }
    cli_wyoming_write(bytes, type, data, NULL, 0);
}

// Adds the members that programs and models share.
static cJSON *add_artifact(cJSON *list, const char *name, const char *description,
                           const char *author, const char *url)
{
    cJSON *object = cli_json_append(list);
    cJSON_AddItemToObject(object, "name", cli_json_text(name, strlen(name)));
    cJSON_AddStringToObject(object, "description", description);
    cJSON *attribution = cJSON_AddObjectToObject(object, "attribution");
    cJSON_AddStringToObject(attribution, "name", author);
    cJSON_AddStringToObject(attribution, "url", url);
    cJSON_AddBoolToObject(object, "installed", true);
    cJSON_AddStringToObject(object, "version", glinfer_version());
    return object;
}

void cli_wyoming_write_info(struct cli_bytes *bytes, const char *name, size_t n_language)
{
    static const char *const others[] = {"tts", "handle", "intent", "wake", "mic", "snd"};
    cJSON *data = cJSON_CreateObject();
    cJSON *program = add_artifact(cJSON_AddArrayToObject(data, "asr"), "glinfer",
                                  "Whisper on OpenGL ES GPUs", "glinfer", "");
    cJSON *model = add_artifact(cJSON_AddArrayToObject(program, "models"), name, "speech to text",
                                "OpenAI", "https://github.com/openai/whisper");
    cJSON *languages = cJSON_AddArrayToObject(model, "languages");
    for (size_t i = 0; i < n_language; i++) {
        cJSON_AddItemToArray(languages, cJSON_CreateString(glinfer_speech_language(i)));
    }
    cJSON_AddBoolToObject(program, "supports_transcript_streaming", true);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        cJSON_AddArrayToObject(data, others[i]);
    }
    cli_wyoming_write(bytes, "info", data, NULL, 0);
}
