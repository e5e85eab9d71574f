#include "cli/speech/cli_transcript.h"

#include "cli/common/cli_utf8.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

//-- segments --------------------------------------------------------------------------------------

static char *copy_text(const char *text, size_t size)
{
    char *copy = cli_alloc(size + 1, 1);
    if (size > 0) { // the text of a special token is NULL
        memcpy(copy, text, size);
    }
    return copy;
}

static struct cli_spoken *copy_tokens(const struct glinfer_transcript_event *event,
                                      int64_t offset_ms)
{
    struct cli_spoken *tokens = cli_alloc(event->n_token + 1, sizeof(*tokens));
    for (size_t i = 0; i < event->n_token; i++) {
        const struct glinfer_transcript_token *token = &event->tokens[i];
        const bool has_times = token->to_ms > 0;
        const int64_t from_ms = has_times ? (int64_t)token->from_ms + offset_ms : -1;
        tokens[i] = (struct cli_spoken){
            .text = copy_text(token->text, token->size),
            .from_ms = from_ms,
            .to_ms = has_times ? (int64_t)token->to_ms + offset_ms : -1,
            .id = token->id,
            .probability = token->probability,
            .dtw_ms = from_ms,
        };
    }
    return tokens;
}

static struct cli_spoken *copy_words(const struct glinfer_transcript_event *event,
                                     int64_t offset_ms)
{
    struct cli_spoken *words = cli_alloc(event->n_word + 1, sizeof(*words));
    for (size_t i = 0; i < event->n_word; i++) {
        const struct glinfer_transcript_word *word = &event->words[i];
        words[i] = (struct cli_spoken){
            .text = copy_text(event->text + word->text_begin, word->text_end - word->text_begin),
            .from_ms = (int64_t)word->from_ms + offset_ms,
            .to_ms = (int64_t)word->to_ms + offset_ms,
            .probability = word->probability,
            .dtw_ms = -1,
        };
    }
    return words;
}

static void free_spoken(const struct cli_spoken *spoken, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free((char *)spoken[i].text);
    }
    free((struct cli_spoken *)spoken);
}

const struct cli_segment *cli_segments_add(struct cli_segments *segments,
                                           const struct glinfer_transcript_event *event)
{
    const int64_t window_ms = 30000; // the event has no window: they are taken to be complete
    const int64_t offset_ms = segments->offset_ms;
    struct cli_segment *segment = CLI_APPEND(segments);
    *segment = (struct cli_segment){
        .from_ms = (int64_t)event->from_ms + offset_ms,
        .to_ms = (int64_t)event->to_ms + offset_ms,
        .text = copy_text(event->text, event->size),
        .words = copy_words(event, offset_ms),
        .tokens = copy_tokens(event, offset_ms),
        .n_word = event->n_word,
        .n_token = event->n_token,
        .seek_ms = (int64_t)event->from_ms / window_ms * window_ms + offset_ms,
        .temperature = event->temperature,
        .mean_logprob = event->average_logprob,
        .no_speech_probability = event->no_speech,
    };
    return segment;
}

void cli_segments_finish(struct cli_segments *segments)
{
    for (size_t i = 0; i < segments->count; i++) {
        const struct cli_segment *segment = &segments->items[i];
        free((char *)segment->text);
        free_spoken(segment->words, segment->n_word);
        free_spoken(segment->tokens, segment->n_token);
    }
    free(segments->items);
    *segments = (struct cli_segments){0};
}

size_t cli_language_find(const char *text)
{
    size_t i = 0;
    while (glinfer_speech_language(i) && strcasecmp(glinfer_speech_language(i), text) != 0 &&
           strcasecmp(glinfer_speech_language_name(i), text) != 0) {
        i++;
    }
    return i;
}

bool cli_parse_language(const char *text, void *field, char *why, size_t size)
{
    snprintf(why, size, "auto, or a code or a name such as de or german");
    *(const char **)field = text;
    return strcmp(text, "auto") == 0 || glinfer_speech_language(cli_language_find(text));
}

const char *cli_transcript_language(const char *detected, const char *asked)
{
    const char *code = glinfer_speech_language(cli_language_find(detected[0] ? detected : asked));
    return code ? code : "en";
}

//-- texts -----------------------------------------------------------------------------------------

static const char *format_time(char text[32], int64_t ms, char point)
{
    ms = ms > 0 ? ms : 0;
    snprintf(text, 32, "%02" PRId64 ":%02d:%02d%c%03d", ms / 3600000, (int)(ms / 60000 % 60),
             (int)(ms / 1000 % 60), point, (int)(ms % 1000));
    return text;
}

// Appends "from --> to".
static void add_times(struct cli_bytes *text, const struct cli_segment *segment, char point)
{
    char time[32];
    cli_bytes_add(text, format_time(time, segment->from_ms, point));
    cli_bytes_add(text, " --> ");
    cli_bytes_add(text, format_time(time, segment->to_ms, point));
}

// A text that has a meaning in a format, and its replacement. Lists end with a zero row.
struct escape {
    const char *mark, *instead;
};
static const struct escape plain[] = {{0}};
static const struct escape srt[] = {{"-->", "->"}, {0}};
static const struct escape vtt[] = {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {0}};
static const struct escape csv[] = {{"\"", "\"\""}, {0}};

// Appends a text. Bytes that are not UTF-8 become U+FFFD, a control character becomes a space.
static void add_escaped(struct cli_bytes *text, const char *from, const struct escape *escapes)
{
    for (size_t left = strlen(from), n; left > 0; from += n, left -= n) {
        const struct escape *escape = escapes;
        while (escape->mark && strncmp(from, escape->mark, strlen(escape->mark)) != 0) {
            escape++;
        }
        const size_t found = cli_utf8_size(from, left);
        n = found > 0 ? found : 1;
        if (escape->mark) {
            cli_bytes_add(text, escape->instead);
            n = strlen(escape->mark);
        } else if (found == 0) {
            cli_bytes_add(text, "\xEF\xBF\xBD");
        } else if ((unsigned char)*from < 0x20 || *from == 0x7F) {
            cli_bytes_add(text, " ");
        } else {
            cli_bytes_append(text, from, n);
        }
    }
}

void cli_segment_write(const struct cli_segment *segment, bool has_times, struct cli_bytes *text)
{
    if (has_times) {
        cli_bytes_add(text, "[");
        add_times(text, segment, '.');
        cli_bytes_add(text, "]  ");
    }
    add_escaped(text, segment->text, plain);
    cli_bytes_add(text, has_times ? "\n" : "");
}

static void add_srt(struct cli_bytes *text, const struct cli_segment *segment, size_t number)
{
    char line[32];
    snprintf(line, sizeof(line), "%zu\n", number);
    cli_bytes_add(text, line);
    add_times(text, segment, ',');
    cli_bytes_add(text, "\n");
    add_escaped(text, segment->text, srt);
    cli_bytes_add(text, "\n\n");
}

static void add_vtt(struct cli_bytes *text, const struct cli_segment *segment)
{
    add_times(text, segment, '.');
    cli_bytes_add(text, "\n");
    add_escaped(text, segment->text, vtt);
    cli_bytes_add(text, "\n\n");
}

static void add_lrc(struct cli_bytes *text, const struct cli_segment *segment)
{
    const int64_t ms = segment->from_ms > 0 ? segment->from_ms : 0;
    char time[48];
    snprintf(time, sizeof(time), "[%02" PRId64 ":%02d.%02d]", ms / 60000, (int)(ms / 1000 % 60),
             (int)(ms / 10 % 100));
    cli_bytes_add(text, time);
    add_escaped(text, segment->text, plain);
    cli_bytes_add(text, "\n");
}

static void add_csv(struct cli_bytes *text, const struct cli_segment *segment)
{
    char times[64];
    snprintf(times, sizeof(times), "%" PRId64 ",%" PRId64 ",\"", segment->from_ms, segment->to_ms);
    cli_bytes_add(text, times);
    add_escaped(text, segment->text, csv);
    cli_bytes_add(text, "\"\n");
}

//-- whisper-cli's JSON ----------------------------------------------------------------------------

static void add_text(cJSON *object, const char *name, const char *text)
{
    cJSON_AddItemToObject(object, name, cli_json_text(text, strlen(text)));
}

static void add_ms(cJSON *object, const char *name, int64_t ms)
{
    cJSON_AddNumberToObject(object, name, (double)ms);
}

static void add_span(cJSON *object, int64_t from_ms, int64_t to_ms)
{
    char time[32];
    cJSON *times = cJSON_AddObjectToObject(object, "timestamps");
    cJSON_AddStringToObject(times, "from", format_time(time, from_ms, ','));
    cJSON_AddStringToObject(times, "to", format_time(time, to_ms, ','));
    cJSON *offsets = cJSON_AddObjectToObject(object, "offsets");
    add_ms(offsets, "from", from_ms);
    add_ms(offsets, "to", to_ms);
}

static void add_token(cJSON *list, const struct cli_spoken *token)
{
    cJSON *object = cli_json_append(list);
    add_text(object, "text", token->text);
    if (token->from_ms >= 0 && token->to_ms >= 0) {
        add_span(object, token->from_ms, token->to_ms);
    }
    cJSON_AddNumberToObject(object, "id", token->id);
    cli_json_add_float(object, "p", token->probability);
    // whisper-cli counts in hundredths here.
    add_ms(object, "t_dtw", token->dtw_ms < 0 ? -1 : token->dtw_ms / 10);
}

static void add_tower(cJSON *model, const char *name, const struct cli_transcript_tower *tower)
{
    CLI_JSON_ADD(cJSON_AddObjectToObject(model, name), tower,
                 CLI_JSON_AS("ctx", cli_transcript_tower, n_ctx),
                 CLI_JSON_AS("state", cli_transcript_tower, n_state),
                 CLI_JSON_AS("head", cli_transcript_tower, n_head),
                 CLI_JSON_AS("layer", cli_transcript_tower, n_layer));
}

static void add_model(cJSON *object, const struct cli_transcript_model *from)
{
    cJSON *model = cJSON_AddObjectToObject(object, "model");
    CLI_JSON_ADD(model, from, CLI_JSON_AS("type", cli_transcript_model, type),
                 CLI_JSON_AS("multilingual", cli_transcript_model, is_multilingual),
                 CLI_JSON_AS("vocab", cli_transcript_model, n_vocab));
    add_tower(model, "audio", &from->audio);
    add_tower(model, "text", &from->text);
    CLI_JSON_ADD(model, from, CLI_JSON_AS("mels", cli_transcript_model, n_mel),
                 CLI_JSON_AS("ftype", cli_transcript_model, ftype));
}

static cJSON *make_json(const struct cli_transcript *transcript, bool is_full)
{
    cJSON *object = cJSON_CreateObject();
    char system[64];
    snprintf(system, sizeof(system), "glinfer %s", glinfer_version());
    cJSON_AddStringToObject(object, "systeminfo", system);
    add_model(object, &transcript->model);
    cJSON *params = cJSON_AddObjectToObject(object, "params");
    add_text(params, "model", transcript->model.path);
    cJSON_AddStringToObject(params, "language", transcript->asked);
    cJSON_AddBoolToObject(params, "translate", transcript->is_translation);
    cJSON *result = cJSON_AddObjectToObject(object, "result");
    cJSON_AddStringToObject(result, "language", transcript->language);
    cJSON *list = cJSON_AddArrayToObject(object, "transcription");
    for (size_t i = 0; i < transcript->n_segment; i++) {
        const struct cli_segment *segment = &transcript->segments[i];
        cJSON *item = cli_json_append(list);
        add_span(item, segment->from_ms, segment->to_ms);
        add_text(item, "text", segment->text);
        cJSON *tokens = is_full ? cJSON_AddArrayToObject(item, "tokens") : NULL;
        for (size_t t = 0; is_full && t < segment->n_token; t++) {
            add_token(tokens, &segment->tokens[t]);
        }
    }
    return object;
}

static void add_json(struct cli_bytes *text, const struct cli_transcript *transcript, bool is_full)
{
    cJSON *object = make_json(transcript, is_full);
    char *printed = cJSON_Print(object);
    cli_bytes_add(text, printed ? printed : "");
    cli_bytes_add(text, "\n");
    cJSON_free(printed);
    cJSON_Delete(object);
}

//-- formats ---------------------------------------------------------------------------------------

const char *cli_transcript_ending(enum cli_transcript_format format)
{
    static const char *const endings[CLI_TRANSCRIPT_FORMATS] = {
        [CLI_TRANSCRIPT_TXT] = "txt",        [CLI_TRANSCRIPT_SRT] = "srt",
        [CLI_TRANSCRIPT_VTT] = "vtt",        [CLI_TRANSCRIPT_LRC] = "lrc",
        [CLI_TRANSCRIPT_CSV] = "csv",        [CLI_TRANSCRIPT_JSON] = "json",
        [CLI_TRANSCRIPT_JSON_FULL] = "json",
    };
    return endings[format];
}

void cli_transcript_write(const struct cli_transcript *transcript,
                          enum cli_transcript_format format, struct cli_bytes *text)
{
    static const char *const heads[CLI_TRANSCRIPT_FORMATS] = {
        [CLI_TRANSCRIPT_VTT] = "WEBVTT\n\n",
        [CLI_TRANSCRIPT_LRC] = "[by:glinfer]\n",
        [CLI_TRANSCRIPT_CSV] = "start,end,text\n",
    };
    if (format == CLI_TRANSCRIPT_JSON || format == CLI_TRANSCRIPT_JSON_FULL) {
        add_json(text, transcript, format == CLI_TRANSCRIPT_JSON_FULL);
        return;
    }
    cli_bytes_add(text, heads[format] ? heads[format] : "");
    for (size_t i = 0; i < transcript->n_segment; i++) {
        const struct cli_segment *segment = &transcript->segments[i];
        if (format == CLI_TRANSCRIPT_SRT) {
            add_srt(text, segment, i + 1);
        } else if (format == CLI_TRANSCRIPT_VTT) {
            add_vtt(text, segment);
        } else if (format == CLI_TRANSCRIPT_LRC) {
            add_lrc(text, segment);
        } else if (format == CLI_TRANSCRIPT_CSV) {
            add_csv(text, segment);
        } else {
            cli_segment_write(segment, false, text);
            cli_bytes_add(text, "\n");
        }
    }
}

//-- OpenAI's JSON ---------------------------------------------------------------------------------

void cli_transcript_join(const struct cli_transcript *transcript, struct cli_bytes *text)
{
    struct cli_bytes whole = {0};
    cli_bytes_add(&whole, "");
    for (size_t i = 0; i < transcript->n_segment; i++) {
        // A character may begin in one segment and end in the next.
        cli_bytes_add(&whole, transcript->segments[i].text);
    }
    char *from = whole.data, *end = whole.data + whole.size;
    while (isspace((unsigned char)*from)) {
        from++;
    }
    while (end > from && isspace((unsigned char)end[-1])) {
        *--end = 0;
    }
    add_escaped(text, from, plain);
    cli_bytes_finish(&whole);
}

static void add_language(cJSON *object, const char *name, const char *code)
{
    cJSON_AddStringToObject(object, name, glinfer_speech_language_name(cli_language_find(code)));
}

cJSON *cli_transcript_json(const struct cli_transcript *transcript)
{
    cJSON *object = cJSON_CreateObject();
    struct cli_bytes text = {0};
    cli_bytes_add(&text, "");
    cli_transcript_join(transcript, &text);
    cJSON_AddItemToObject(object, "text", cli_json_text(text.data, text.size));
    if (transcript->language_probability > 0) {
        add_language(object, "detected_language", transcript->language);
        cli_json_add_float(object, "detected_language_probability",
                           transcript->language_probability);
    }
    if (transcript->warning) {
        const char *warning = transcript->warning;
        cJSON_AddItemToObject(object, "warning", cli_json_text(warning, strlen(warning)));
    }
    cli_bytes_finish(&text);
    return object;
}

// Adds a time in seconds with the digits of milliseconds.
static void add_seconds(cJSON *object, const char *name, int64_t ms)
{
    cJSON_AddNumberToObject(object, name, (double)ms / 1000);
}

// Returns the bytes of a text over those that zlib compresses it to: high for a text in a loop.
static double compression_ratio(const char *text, size_t size)
{
    uLongf compressed = compressBound(size);
    unsigned char *bytes = cli_alloc(compressed, 1);
    const int status = compress(bytes, &compressed, (const unsigned char *)text, size);
    free(bytes);
    return status == Z_OK && size > 0 ? (double)size / (double)compressed : 0;
}

// Returns the ratio of the text of the 30 seconds in which a segment was heard.
static double window_ratio(const struct cli_transcript *transcript, size_t id)
{
    const struct cli_segment *segments = transcript->segments;
    struct cli_bytes text = {0};
    cli_bytes_add(&text, "");
    for (size_t i = 0; i < transcript->n_segment; i++) {
        cli_bytes_add(&text, segments[i].seek_ms == segments[id].seek_ms ? segments[i].text : "");
    }
    const size_t n_space = text.data[0] == ' ';
    const double ratio = compression_ratio(text.data + n_space, text.size - n_space);
    cli_bytes_finish(&text);
    return ratio;
}

static void add_segment(cJSON *list, const struct cli_transcript *transcript, size_t id)
{
    const struct cli_segment *segment = &transcript->segments[id];
    cJSON *object = cli_json_append(list);
    cJSON_AddNumberToObject(object, "id", (double)id);
    add_ms(object, "seek", segment->seek_ms / 10); // in frames of 10 ms
    add_seconds(object, "start", segment->from_ms);
    add_seconds(object, "end", segment->to_ms);
    add_text(object, "text", segment->text);
    cJSON *tokens = cJSON_AddArrayToObject(object, "tokens");
    for (size_t i = 0; i < segment->n_token; i++) {
        cJSON_AddItemToArray(tokens, cJSON_CreateNumber(segment->tokens[i].id));
    }
    cli_json_add_float(object, "temperature", segment->temperature);
    cli_json_add_float(object, "avg_logprob", segment->mean_logprob);
    cli_json_add_float(object, "compression_ratio", (float)window_ratio(transcript, id));
    cli_json_add_float(object, "no_speech_prob", segment->no_speech_probability);
}

static void add_words(cJSON *list, const struct cli_segment *segment)
{
    for (size_t i = 0; i < segment->n_word; i++) {
        const struct cli_spoken *word = &segment->words[i];
        const char *text = word->text + (word->text[0] == ' ');
        cJSON *object = cli_json_append(list);
        add_text(object, "word", text);
        add_seconds(object, "start", word->from_ms);
        add_seconds(object, "end", word->to_ms);
        cli_json_add_float(object, "probability", word->probability);
    }
}

cJSON *cli_transcript_verbose(const struct cli_transcript *transcript, bool has_words)
{
    cJSON *object = cli_transcript_json(transcript);
    cJSON *text = cJSON_DetachItemFromObject(object, "text");
    cJSON_AddStringToObject(object, "task",
                            transcript->is_translation ? "translate" : "transcribe");
    add_language(object, "language", transcript->language);
    add_seconds(object, "duration", llround(transcript->seconds * 1000));
    cJSON_AddItemToObject(object, "text", text);
    cJSON *segments = cJSON_AddArrayToObject(object, "segments");
    cJSON *words = has_words ? cJSON_AddArrayToObject(object, "words") : NULL;
    for (size_t i = 0; i < transcript->n_segment; i++) {
        add_segment(segments, transcript, i);
        if (has_words) {
            add_words(words, &transcript->segments[i]);
        }
    }
    return object;
}
