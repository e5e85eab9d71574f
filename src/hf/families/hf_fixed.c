#include "hf/families/hf_fixed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Writes words with "or" between them.
static void list_words(const char *words, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (; *words && used < size; words += *words == '|') {
        const size_t n = strcspn(words, "|");
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", used > 0 ? " or " : "", (int)n,
                                 words);
        words += n;
    }
}

// A text is a word as it is; true, false and numbers as JSON writes them.
static bool is_allowed(const cJSON *value, const char *words)
{
    char number[32];
    if (cJSON_IsNumber(value)) {
        snprintf(number, sizeof(number), "%g", value->valuedouble);
    }
    const char *text = cJSON_IsString(value)   ? value->valuestring
                       : cJSON_IsNumber(value) ? number
                       : cJSON_IsTrue(value)   ? "true"
                       : cJSON_IsFalse(value)  ? "false"
                                               : "";
    const bool is_named = strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    return *text && !(cJSON_IsString(value) && is_named) && gi_hf_is_word(text, words);
}

static void refuse(struct gi_hf_build *b, const struct gi_hf_fixed *row, const cJSON *value,
                   const char *verb)
{
    char words[200];
    char *text = cJSON_PrintUnformatted(value);
    list_words(row->words, words, sizeof(words));
    gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
               *words ? "config.json: %s %s %.60s, only %s is supported"
                      : "config.json: %s %s %.60s, which is not supported%s",
               row->key, verb, text ? text : "", words);
    cJSON_free(text);
}

// Checks a key that says whether the folder has a tensor.
static void check_tensor(struct gi_hf_build *b, const struct gi_hf_fixed *row)
{
    const bool is_there = gi_hf_find(b, row->words);
    if (gi_hf_bool_or(b, row->key, is_there) != is_there) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: %s is %s, but the folder has %s tensor %s", row->key,
                   is_there ? "false" : "true", is_there ? "the" : "no", row->words);
    }
}

void gi_hf_check_fixed(struct gi_hf_build *b, const struct gi_hf_fixed *rows)
{
    for (; rows && rows->key && gi_hf_ok(b); rows++) {
        const cJSON *value = gi_hf_get(b, rows->key), *item;
        if (strncmp(rows->words, "layers.", strlen("layers.")) == 0) {
            check_tensor(b, rows);
            continue;
        }
        const bool is_list = cJSON_IsArray(value) && (value->child || !*rows->words);
        if (value && !is_list && !is_allowed(value, rows->words)) {
            refuse(b, rows, value, "is");
        }
        for (item = is_list ? value->child : NULL; item; item = item->next) {
            if (!is_allowed(item, rows->words)) {
                refuse(b, rows, item, "has");
            }
        }
    }
}
