#include "cli/bench/cli_list.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_NUMBER (INT64_C(1) << 24)

struct range {
    int64_t first, last, step;
    bool is_factor;
};

static bool read_number(const char **text, int64_t *number)
{
    char *end;
    if (**text < '0' || **text > '9') {
        return false;
    }
    *number = strtoll(*text, &end, 10);
    *text = end;
    return *number <= MAX_NUMBER;
}

// Reads "first", "first-last", "first-last+step" or "first-last*factor".
static bool read_range(const char **text, struct range *range)
{
    if (!read_number(text, &range->first)) {
        return false;
    }
    range->last = range->first;
    range->step = 1;
    range->is_factor = false;
    if (**text != '-') {
        return true;
    }
    ++*text;
    if (!read_number(text, &range->last) || range->last < range->first) {
        return false;
    }
    if (**text != '+' && **text != '*') {
        return true;
    }
    range->is_factor = *(*text)++ == '*';
    if (!read_number(text, &range->step) || range->step < 1) {
        return false;
    }
    return !range->is_factor || (range->step > 1 && range->first > 0);
}

static bool append_range(struct cli_list *list, const struct range *range)
{
    int64_t item = range->first;
    while (item <= range->last) {
        if (list->count == CLI_MAX_LIST) {
            return false;
        }
        list->items[list->count++] = item;
        item = range->is_factor ? item * range->step : item + range->step;
    }
    return true;
}

bool cli_list_parse(const char *text, void *field, char *why, size_t size)
{
    struct range range;
    do {
        if (!read_range(&text, &range) || (*text && *text != ',')) {
            snprintf(why, size,
                     "numbers up to 16777216 such as 512, 128,256 or ranges 1-8, 1-9+2, 64-512*2");
            return false;
        }
        if (!append_range(field, &range)) {
            snprintf(why, size, "at most %d numbers", CLI_MAX_LIST);
            return false;
        }
    } while (*text++ == ',');
    return true;
}

bool cli_pairs_parse(const char *text, void *field, char *why, size_t size)
{
    struct cli_pairs *pairs = field;
    struct cli_pair pair;
    if (!read_number(&text, &pair.prompt) || *text++ != ',' || !read_number(&text, &pair.gen) ||
        *text || pair.prompt == 0 || pair.gen == 0) {
        snprintf(why, size, "prompt and answer tokens, such as 512,128");
        return false;
    }
    if (pairs->count == CLI_MAX_LIST) {
        snprintf(why, size, "at most %d pairs", CLI_MAX_LIST);
        return false;
    }
    pairs->items[pairs->count++] = pair;
    return true;
}
