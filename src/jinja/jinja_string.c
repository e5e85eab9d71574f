#include "jinja/jinja_run.h"

#include <ctype.h>
#include <string.h>

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

struct gi_jinja_string gi_jinja_strip(struct gi_jinja_string string,
                                      const struct gi_jinja_string *what, enum gi_jinja_sides sides)
{
    bool is_cut[256] = {false};
    size_t begin = 0, end = string.size;
    for (size_t i = 0; what && i < what->size; i++) {
        is_cut[(unsigned char)what->data[i]] = true;
    }
    for (const char *spaces = " \t\n\v\f\r"; !what && *spaces; spaces++) {
        is_cut[(unsigned char)*spaces] = true;
    }
    while ((sides & GI_JINJA_LEFT) && begin < end && is_cut[(unsigned char)string.data[begin]]) {
        begin++;
    }
    while ((sides & GI_JINJA_RIGHT) && begin < end && is_cut[(unsigned char)string.data[end - 1]]) {
        end--;
    }
    return gi_jinja_part(string, begin, end);
}

struct gi_jinja_string gi_jinja_replace(struct gi_jinja_pool *pool, struct gi_jinja_string string,
                                        struct gi_jinja_string old, struct gi_jinja_string with,
                                        int64_t at_most)
{
    struct gi_jinja_text text = {0};
    size_t begin = 0, found;
    for (; old.size && at_most != 0 && !pool->has_failed &&
           (found = gi_jinja_locate(string, old, begin)) != SIZE_MAX;
         at_most--) {
        gi_jinja_append(pool, &text, gi_jinja_part(string, begin, found));
        gi_jinja_append(pool, &text, with);
        gi_jinja_spend(pool, 1);
        begin = found + old.size;
    }
    gi_jinja_append(pool, &text, gi_jinja_part(string, begin, string.size));
    return gi_jinja_text_string(&text);
}

static void split_words(struct gi_jinja_pool *pool, struct gi_jinja_string string,
                        struct gi_jinja_list *list, int64_t at_most)
{
    string = gi_jinja_strip(string, NULL, GI_JINJA_LEFT);
    while (string.size && !pool->has_failed) {
        size_t end = 0;
        while (end < string.size && (at_most == 0 || !is_space(string.data[end]))) {
            end++;
        }
        gi_jinja_push(pool, list, gi_jinja_text_value(gi_jinja_part(string, 0, end)));
        string = gi_jinja_strip(gi_jinja_part(string, end, string.size), NULL, GI_JINJA_LEFT);
        at_most--;
    }
}

struct gi_jinja_value gi_jinja_split(struct gi_jinja_pool *pool, struct gi_jinja_string string,
                                     const struct gi_jinja_string *separator, int64_t at_most)
{
    struct gi_jinja_value value = gi_jinja_new_list(pool);
    size_t begin = 0, found;
    if (value.kind != GI_JINJA_LIST) {
        return value;
    }
    if (!separator) {
        split_words(pool, string, value.list, at_most);
        return value;
    }
    for (; separator->size && at_most != 0 && !pool->has_failed &&
           (found = gi_jinja_locate(string, *separator, begin)) != SIZE_MAX;
         at_most--) {
        gi_jinja_push(pool, value.list, gi_jinja_text_value(gi_jinja_part(string, begin, found)));
        begin = found + separator->size;
    }
    gi_jinja_push(pool, value.list, gi_jinja_text_value(gi_jinja_part(string, begin, string.size)));
    return value;
}

struct gi_jinja_string gi_jinja_change_case(struct gi_jinja_pool *pool,
                                            struct gi_jinja_string string, enum gi_jinja_case to)
{
    struct gi_jinja_string copy = gi_jinja_copy(pool, string);
    char *data = (char *)copy.data; // the copy is ours
    for (size_t i = 0; i < copy.size; i++) {
        const bool is_first = to == GI_JINJA_CASE_CAPITALIZE
                                  ? i == 0
                                  : i == 0 || !isalpha((unsigned char)data[i - 1]);
        const bool is_upper = to == GI_JINJA_CASE_UPPER || (to != GI_JINJA_CASE_LOWER && is_first);
        if (data[i] >= 'a' && data[i] <= 'z' && is_upper) {
            data[i] = (char)(data[i] - 'a' + 'A');
        } else if (data[i] >= 'A' && data[i] <= 'Z' && !is_upper) {
            data[i] = (char)(data[i] - 'A' + 'a');
        }
    }
    return copy;
}
