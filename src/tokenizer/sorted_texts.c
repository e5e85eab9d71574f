#include "tokenizer/sorted_texts.h"

#include "base/array.h"

#include <stdlib.h>

bool gi_sorted_texts_init(struct gi_sorted_texts *sorted, const struct gi_text_list *list,
                          size_t count_max, struct glinfer_error *err)
{
    *sorted = (struct gi_sorted_texts){.list = list};
    sorted->ids = gi_array_zeroed(count_max, sizeof(sorted->ids[0]), "a vocabulary", err);
    return sorted->ids;
}

void gi_sorted_texts_finish(struct gi_sorted_texts *sorted)
{
    free(sorted->ids);
    *sorted = (struct gi_sorted_texts){0};
}

static int compare_texts(struct gi_text a, struct gi_text b)
{
    const int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_ids(const void *left, const void *right, void *user)
{
    const struct gi_text_list *list = user;
    const int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    const int order =
        compare_texts(gi_text_list_at(list, (size_t)a), gi_text_list_at(list, (size_t)b));
    return order ? order : (a > b) - (a < b);
}

void gi_sorted_texts_sort(struct gi_sorted_texts *sorted)
{
    qsort_r(sorted->ids, sorted->count, sizeof(sorted->ids[0]), compare_ids, (void *)sorted->list);
}

void gi_sorted_texts_index(struct gi_sorted_texts *sorted)
{
    for (size_t i = 0, byte = 0; byte <= 256; byte++) {
        while (i < sorted->count && (uint8_t)gi_sorted_texts_at(sorted, i).data[0] < byte) {
            i++;
        }
        sorted->first[byte] = i;
    }
}

bool gi_sorted_texts_is_equal(const struct gi_sorted_texts *sorted, size_t i, size_t j)
{
    return compare_texts(gi_sorted_texts_at(sorted, i), gi_sorted_texts_at(sorted, j)) == 0;
}

// Returns the first of texts [low, high), which share `depth` bytes, whose next byte is above
// limit; those that end there come before all bytes.
static size_t find_above(const struct gi_sorted_texts *sorted, size_t low, size_t high,
                         size_t depth, int limit)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct gi_text text = gi_sorted_texts_at(sorted, middle);
        const int byte = text.size > depth ? (uint8_t)text.data[depth] : -1;
        if (byte > limit) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

void gi_sorted_texts_narrow(const struct gi_sorted_texts *sorted, size_t depth, uint8_t byte,
                            size_t *low, size_t *high)
{
    *low = find_above(sorted, *low, *high, depth, byte - 1);
    *high = find_above(sorted, *low, *high, depth, byte);
}
