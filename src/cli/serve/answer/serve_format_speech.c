// The shapes of /v1/audio/transcriptions: json, text, srt, vtt and verbose_json.
#include "cli/common/cli_json.h"
#include "cli/serve/answer/serve_answer.h"
#include "cli/serve/schedule/serve_speech.h"

static void write_transcript(const struct serve_answer *answer, struct cli_bytes *body)
{
    const struct serve_speech *speech = answer->task->speech;
    const char *asked = speech->params.language ? speech->params.language : "auto";
    const char *language = cli_transcript_language(speech->language, asked);
    const struct cli_transcript transcript = {
        .segments = speech->segments.items,
        .n_segment = speech->segments.count,
        .language = language,
        .asked = asked,
        .is_translation = speech->params.translate,
        .language_probability = speech->format == SERVE_SPEECH_VERBOSE || speech->only_language
                                    ? speech->language_probability
                                    : 0,
        .seconds = (double)speech->n_sample / GLINFER_SPEECH_RATE,
        .warning = speech->note,
    };
    cJSON *json = NULL;
    switch (speech->format) {
    case SERVE_SPEECH_JSON:
        json = cli_transcript_json(&transcript);
        break;
    case SERVE_SPEECH_VERBOSE:
        json = cli_transcript_verbose(&transcript, speech->params.has_words);
        break;
    case SERVE_SPEECH_TEXT:
        cli_transcript_join(&transcript, body);
        cli_bytes_add(body, "\n");
        break;
    case SERVE_SPEECH_SRT:
        cli_transcript_write(&transcript, CLI_TRANSCRIPT_SRT, body);
        break;
    case SERVE_SPEECH_VTT:
        cli_transcript_write(&transcript, CLI_TRANSCRIPT_VTT, body);
    }
    cli_append_json(body, json);
    cJSON_Delete(json);
}

// Returns the text of a segment as an event. The text of the whole begins without a space.
static cJSON *write_delta(struct serve_answer *answer, uint32_t choice, const char *text,
                          size_t size, cJSON *probs)
{
    cJSON *json = cJSON_CreateObject();
    const size_t n_space = size > 0 && text[0] == ' ' && text == answer->choices[choice].text.data;
    (void)probs;
    cJSON_AddStringToObject(json, "type", "transcript.text.delta");
    cJSON_AddItemToObject(json, "delta", cli_json_text(text + n_space, size - n_space));
    return json;
}

static cJSON *write_done(const struct serve_answer *answer, uint32_t choice)
{
    const struct serve_speech *speech = answer->task->speech;
    (void)choice;
    const struct cli_transcript transcript = {.segments = speech->segments.items,
                                              .n_segment = speech->segments.count,
                                              .warning = speech->note};
    cJSON *json = cli_transcript_json(&transcript);
    cJSON_AddStringToObject(json, "type", "transcript.text.done");
    return json;
}

const struct serve_format serve_format_speech = {.id_prefix = "transcript-",
                                                 .end = "",
                                                 .write = write_transcript,
                                                 .token = write_delta,
                                                 .finish = write_done};
