#include "speech/whisper_rules.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

//-- vocabulary --------------------------------------------------------------------------------

static const struct {
    const char *code, *name;
} languages[] = {
    {"en", "english"},        {"zh", "chinese"},     {"de", "german"},        {"es", "spanish"},
    {"ru", "russian"},        {"ko", "korean"},      {"fr", "french"},        {"ja", "japanese"},
    {"pt", "portuguese"},     {"tr", "turkish"},     {"pl", "polish"},        {"ca", "catalan"},
    {"nl", "dutch"},          {"ar", "arabic"},      {"sv", "swedish"},       {"it", "italian"},
    {"id", "indonesian"},     {"hi", "hindi"},       {"fi", "finnish"},       {"vi", "vietnamese"},
    {"he", "hebrew"},         {"uk", "ukrainian"},   {"el", "greek"},         {"ms", "malay"},
    {"cs", "czech"},          {"ro", "romanian"},    {"da", "danish"},        {"hu", "hungarian"},
    {"ta", "tamil"},          {"no", "norwegian"},   {"th", "thai"},          {"ur", "urdu"},
    {"hr", "croatian"},       {"bg", "bulgarian"},   {"lt", "lithuanian"},    {"la", "latin"},
    {"mi", "maori"},          {"ml", "malayalam"},   {"cy", "welsh"},         {"sk", "slovak"},
    {"te", "telugu"},         {"fa", "persian"},     {"lv", "latvian"},       {"bn", "bengali"},
    {"sr", "serbian"},        {"az", "azerbaijani"}, {"sl", "slovenian"},     {"kn", "kannada"},
    {"et", "estonian"},       {"mk", "macedonian"},  {"br", "breton"},        {"eu", "basque"},
    {"is", "icelandic"},      {"hy", "armenian"},    {"ne", "nepali"},        {"mn", "mongolian"},
    {"bs", "bosnian"},        {"kk", "kazakh"},      {"sq", "albanian"},      {"sw", "swahili"},
    {"gl", "galician"},       {"mr", "marathi"},     {"pa", "punjabi"},       {"si", "sinhala"},
    {"km", "khmer"},          {"sn", "shona"},       {"yo", "yoruba"},        {"so", "somali"},
    {"af", "afrikaans"},      {"oc", "occitan"},     {"ka", "georgian"},      {"be", "belarusian"},
    {"tg", "tajik"},          {"sd", "sindhi"},      {"gu", "gujarati"},      {"am", "amharic"},
    {"yi", "yiddish"},        {"lo", "lao"},         {"uz", "uzbek"},         {"fo", "faroese"},
    {"ht", "haitian creole"}, {"ps", "pashto"},      {"tk", "turkmen"},       {"nn", "nynorsk"},
    {"mt", "maltese"},        {"sa", "sanskrit"},    {"lb", "luxembourgish"}, {"my", "myanmar"},
    {"bo", "tibetan"},        {"tl", "tagalog"},     {"mg", "malagasy"},      {"as", "assamese"},
    {"tt", "tatar"},          {"haw", "hawaiian"},   {"ln", "lingala"},       {"ha", "hausa"},
    {"ba", "bashkir"},        {"jw", "javanese"},    {"su", "sundanese"},     {"yue", "cantonese"}};
enum { N_LANGUAGES = sizeof(languages) / sizeof(languages[0]) };

const char *gi_whisper_language(uint32_t i)
{
    return i < N_LANGUAGES ? languages[i].code : NULL;
}

const char *gi_whisper_language_name(uint32_t i)
{
    return i < N_LANGUAGES ? languages[i].name : NULL;
}

int32_t gi_whisper_find_language(const char *text)
{
    for (int32_t i = 0; i < N_LANGUAGES; i++) {
        if (strcasecmp(languages[i].code, text) == 0 || strcasecmp(languages[i].name, text) == 0) {
            return i;
        }
    }
    return -1;
}

bool gi_whisper_take_language(const char *name, int32_t *language, struct glinfer_error *err)
{
    *language = -1;
    if (!name || strcmp(name, "auto") == 0) {
        return true;
    }
    *language = gi_whisper_find_language(name);
    return *language >= 0 || gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                          "invalid language \"%.32s\": expected a code or a name "
                                          "such as de or german, or auto",
                                          name);
}

bool gi_whisper_ids_init(struct gi_whisper_ids *ids, uint32_t n_vocab)
{
    enum { N_ENGLISH = 51864, N_TIMES = 1501 };
    if (n_vocab < N_ENGLISH || n_vocab > N_ENGLISH + 2) {
        return false;
    }
    const bool is_english = n_vocab == N_ENGLISH;
    const uint32_t time = n_vocab - N_TIMES;
    const uint32_t end = is_english ? 50256 : 50257;
    *ids = (struct gi_whisper_ids){
        .n_vocab = n_vocab,
        .end = end,
        .start = end + 1,
        .language = end + 2,
        .n_language = is_english ? 0 : n_vocab - 51766,
        .translate = time - 6,
        .transcribe = time - 5,
        .start_of_model = time - 4,
        .previous = time - 3,
        .no_speech = time - 2,
        .no_times = time - 1,
        .time = time,
    };
    return true;
}

uint32_t gi_whisper_count_languages(uint32_t n_vocab)
{
    struct gi_whisper_ids ids;
    return !gi_whisper_ids_init(&ids, n_vocab) ? 0 : ids.n_language > 0 ? ids.n_language : 1;
}

//-- masks -------------------------------------------------------------------------------------

static bool is_time(const struct gi_whisper_window *window, size_t i)
{
    return window->data[i].id >= window->ids->time;
}

struct gi_whisper_mask gi_whisper_next_mask(const struct gi_whisper_window *window)
{
    const struct gi_whisper_ids *ids = window->ids;
    const size_t n = window->count;
    struct gi_whisper_mask mask = {
        .has_text = true,
        .has_end = n > 0,
        .has_blank = n > 0,
        .time_begin = ids->time,
        .time_end = window->without_times ? ids->time : ids->n_vocab,
    };
    if (n == 0 && !window->without_times) {
        mask.time_end = ids->time + GI_WHISPER_MAX_FIRST_TIME + 1;
    }
    if (window->has_time) {
        mask.time_begin += window->n_frames / GI_WHISPER_FRAMES_A_TIME;
    }
    // Timestamps come in pairs, the end of a segment and the start of the next, but for the first.
    if (n > 0 && is_time(window, n - 1)) {
        if (n < 2 || is_time(window, n - 2)) {
            mask.time_end = mask.time_begin;
        } else {
            mask.has_text = mask.has_blank = false;
        }
    }
    return mask;
}

//-- progress ----------------------------------------------------------------------------------

void gi_whisper_begin(struct gi_whisper_window *window)
{
    window->count = window->n_result = 0;
    window->n_frames = GI_WHISPER_WINDOW;
    window->has_time = false;
}

void gi_whisper_finish(struct gi_whisper_window *window)
{
    free(window->data);
    *window = (struct gi_whisper_window){0};
}

static bool reaches_end(const struct gi_whisper_window *window)
{
    return window->seek + window->n_frames + GI_WHISPER_LEAST_SOUND >= window->end;
}

uint32_t gi_whisper_last_time(const struct gi_whisper_window *window)
{
    const uint32_t begin = window->seek + GI_WHISPER_LEAST_SOUND;
    const uint32_t n_left = window->end > begin ? window->end - begin : 0;
    const uint32_t n = (n_left + GI_WHISPER_FRAMES_A_TIME - 1) / GI_WHISPER_FRAMES_A_TIME;
    return window->ids->time + (n > 0 ? n : 1); // <|0.00|> moves nothing
}

// After a single timestamp at the end, the rest of the window is silent.
static void complete(struct gi_whisper_window *window)
{
    const size_t n = window->n_result;
    if (n > 1 && is_time(window, n - 1) && window->data[n - 1].id > window->ids->time &&
        window->data[n - 2].id < window->ids->time) {
        const uint32_t left = window->end - window->seek;
        window->n_frames = left < GI_WHISPER_WINDOW ? left : GI_WHISPER_WINDOW;
    }
}

bool gi_whisper_push(struct gi_whisper_window *window, struct gi_whisper_token token,
                     enum gi_whisper_progress *progress, struct glinfer_error *err)
{
    const struct gi_whisper_ids *ids = window->ids;
    *progress = GI_WHISPER_FAILED;
    if (!GI_ARRAY_PUSH(window, "tokens of a transcript", err, token)) {
        return false;
    }
    if (token.id > ids->time) { // <|0.00|> moves nothing
        const uint32_t n_frames = GI_WHISPER_FRAMES_A_TIME * (token.id - ids->time);
        if (window->has_time && window->n_frames > n_frames &&
            window->n_result < window->count - 1) {
            return true;
        }
        window->n_frames = n_frames;
        window->n_result = window->count;
        window->has_time = true;
    }
    const bool is_over = token.id == ids->end;
    if (is_over || (window->has_time && reaches_end(window))) {
        if (window->n_result == 0 && (reaches_end(window) || window->without_times)) {
            window->n_result = window->count;
        }
        if (window->n_result > 0) {
            complete(window);
            *progress = GI_WHISPER_COMPLETE;
        }
        return true;
    }
    if (window->count < window->max_tokens) {
        *progress = GI_WHISPER_CONTINUES;
    } else if (window->n_result > 0 && window->n_frames >= GI_WHISPER_WINDOW / 2) {
        complete(window);
        *progress = GI_WHISPER_COMPLETE;
    }
    return true;
}

float gi_whisper_average(const struct gi_whisper_window *window)
{
    double sum = 0;
    for (size_t i = 0; i < window->n_result; i++) {
        sum += (double)window->data[i].logprob;
    }
    return window->n_result > 0 ? (float)(sum / (double)window->n_result) : -INFINITY;
}

float gi_whisper_entropy(const struct gi_whisper_window *window)
{
    enum { N = GI_WHISPER_ENTROPY_TOKENS };
    const size_t begin = window->n_result > N ? window->n_result - N : 0;
    const double n = (double)(window->n_result - begin);
    double entropy = 0;
    for (size_t i = begin; i < window->n_result; i++) {
        size_t n_equal = 0;
        for (size_t j = begin; j < window->n_result; j++) {
            n_equal += window->data[j].id == window->data[i].id;
        }
        entropy -= log((double)n_equal / n) / n; // each token adds its share of p log p
    }
    return (float)entropy;
}

//-- segments ----------------------------------------------------------------------------------

static uint32_t frame_of(const struct gi_whisper_window *window, size_t i)
{
    return window->seek + GI_WHISPER_FRAMES_A_TIME * (window->data[i].time - window->ids->time);
}

// A timestamp that separates segments; <|0.00|> does not.
static bool separates(const struct gi_whisper_window *window, size_t i)
{
    return window->data[i].id > window->ids->time;
}

bool gi_whisper_next_segment(const struct gi_whisper_window *window, size_t *at,
                             struct gi_whisper_segment *segment)
{
    // Without a separator before it, a segment begins with its first token.
    size_t begin = *at;
    uint32_t from = begin < window->n_result ? frame_of(window, begin > 0 ? begin - 1 : 0) : 0;
    bool has_text = false;
    for (size_t i = begin; i < window->n_result; i++) {
        has_text = has_text || window->data[i].id < window->ids->end;
        if (!separates(window, i)) {
            continue;
        }
        const uint32_t to = frame_of(window, i);
        *segment = (struct gi_whisper_segment){begin, i + 1, from, to};
        from = to;
        while (i + 1 < window->n_result && separates(window, i + 1)) {
            from = frame_of(window, ++i);
        }
        begin = *at = i + 1;
        if (has_text) {
            return true;
        }
    }
    *at = window->n_result;
    *segment =
        (struct gi_whisper_segment){begin, window->n_result, from, window->seek + window->n_frames};
    return has_text;
}
