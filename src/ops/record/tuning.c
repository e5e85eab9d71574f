#include "ops/record/tuning.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// No device has as many; a file that says so is wrong.
#define MAX_ROWS 4096
#define MAX_LINE 128

struct row {
    char kernel[GI_TUNING_KERNEL_SIZE];
    uint32_t type, n_rows, n_cols, extent;
    char shape[GI_TUNING_SHAPE_SIZE];
};

struct gi_tuning {
    struct row *rows;
    size_t count, capacity;
};

bool gi_tuning_is_same_key(const struct gi_tuning_key *a, const struct gi_tuning_key *b)
{
    return a->type == b->type && a->n_rows == b->n_rows && a->n_cols == b->n_cols &&
           a->extent == b->extent && strcmp(a->kernel, b->kernel) == 0;
}

struct gi_tuning *gi_tuning_create(struct glinfer_error *err)
{
    struct gi_tuning *tuning = calloc(1, sizeof(*tuning));
    if (!tuning) {
        gi_error_no_memory(err, sizeof(*tuning), "a tuning");
    }
    return tuning;
}

void gi_tuning_destroy(struct gi_tuning *tuning)
{
    if (tuning) {
        free(tuning->rows);
        free(tuning);
    }
}

static struct gi_tuning_key key_of(const struct row *row)
{
    return (struct gi_tuning_key){row->kernel, row->type, row->n_rows, row->n_cols, row->extent};
}

static struct row *find_row(const struct gi_tuning *tuning, const struct gi_tuning_key *key)
{
    for (size_t i = 0; i < tuning->count; i++) {
        struct row *row = &tuning->rows[i];
        const struct gi_tuning_key own = key_of(row);
        if (gi_tuning_is_same_key(&own, key)) {
            return row;
        }
    }
    return NULL;
}

const char *gi_tuning_find(const struct gi_tuning *tuning, const struct gi_tuning_key *key)
{
    const struct row *row = tuning ? find_row(tuning, key) : NULL;
    return row ? row->shape : NULL;
}

static bool reserve_row(struct gi_tuning *tuning, struct glinfer_error *err)
{
    if (tuning->count < tuning->capacity) {
        return true;
    }
    const size_t capacity = tuning->capacity ? tuning->capacity * 2 : 32;
    struct row *rows = realloc(tuning->rows, capacity * sizeof(*rows));
    if (!rows) {
        return gi_error_no_memory(err, capacity * sizeof(*rows), "a tuning");
    }
    tuning->rows = rows;
    tuning->capacity = capacity;
    return true;
}

bool gi_tuning_set(struct gi_tuning *tuning, const struct gi_tuning_key *key, const char *shape,
                   struct glinfer_error *err)
{
    struct row *row = find_row(tuning, key);
    assert(strlen(key->kernel) < GI_TUNING_KERNEL_SIZE);
    if (!shape) {
        if (row) {
            *row = tuning->rows[--tuning->count];
        }
        return true;
    }
    assert(strlen(shape) < GI_TUNING_SHAPE_SIZE);
    if (!row) {
        if (!reserve_row(tuning, err)) {
            return false;
        }
        row = &tuning->rows[tuning->count++];
        *row = (struct row){
            .type = key->type, .n_rows = key->n_rows, .n_cols = key->n_cols, .extent = key->extent};
        snprintf(row->kernel, sizeof(row->kernel), "%s", key->kernel);
    }
    snprintf(row->shape, sizeof(row->shape), "%s", shape);
    return true;
}

void gi_tuning_clear(struct gi_tuning *tuning)
{
    tuning->count = 0;
}

size_t gi_tuning_count(const struct gi_tuning *tuning)
{
    return tuning ? tuning->count : 0;
}

const char *gi_tuning_at(const struct gi_tuning *tuning, size_t i, struct gi_tuning_key *key)
{
    const struct row *row = &tuning->rows[i];
    assert(i < tuning->count);
    *key = key_of(row);
    return row->shape;
}

//-- text ------------------------------------------------------------------------------------------

// Takes the next word of a line: letters, digits and the given others, with a space or the end
// after it.
static bool take_word(const char **at, const char *others, char *word, size_t size)
{
    size_t n = 0;
    const char *p = *at;
    while ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || (*p && strchr(others, *p))) {
        if (n + 1 == size) {
            return false;
        }
        word[n++] = *p++;
    }
    word[n] = 0;
    if (n == 0 || (*p != ' ' && *p != 0)) {
        return false;
    }
    *at = *p == ' ' ? p + 1 : p;
    return true;
}

static bool take_number(const char **at, uint32_t *number)
{
    char word[11];
    if (!take_word(at, "", word, sizeof(word))) {
        return false;
    }
    char *end;
    const unsigned long long value = strtoull(word, &end, 10);
    *number = (uint32_t)value;
    return *end == 0 && value <= UINT32_MAX;
}

static bool parse_line(const char *line, struct row *row)
{
    return take_word(&line, "_", row->kernel, sizeof(row->kernel)) &&
           take_number(&line, &row->type) && take_number(&line, &row->n_rows) &&
           take_number(&line, &row->n_cols) && take_number(&line, &row->extent) &&
           take_word(&line, ":", row->shape, sizeof(row->shape)) && *line == 0;
}

long gi_tuning_parse(struct gi_tuning *tuning, const char *text, size_t size,
                     struct glinfer_error *err)
{
    long n_added = 0;
    while (size > 0 && tuning->count < MAX_ROWS) {
        const char *newline = memchr(text, '\n', size);
        const size_t length = newline ? (size_t)(newline - text) : size;
        char line[MAX_LINE];
        struct row row;
        // A line that does not end was cut off.
        if (newline && length < sizeof(line) && !memchr(text, 0, length)) {
            memcpy(line, text, length);
            line[length] = 0;
            if (parse_line(line, &row)) {
                const struct gi_tuning_key key = key_of(&row);
                if (!gi_tuning_set(tuning, &key, row.shape, err)) {
                    return -1;
                }
                n_added++;
            }
        }
        text += newline ? length + 1 : length;
        size -= newline ? length + 1 : length;
    }
    return n_added;
}

char *gi_tuning_format(const struct gi_tuning *tuning, size_t *size, struct glinfer_error *err)
{
    const size_t capacity = tuning->count * MAX_LINE + 1;
    char *text = malloc(capacity);
    if (!text) {
        gi_error_no_memory(err, capacity, "the text of a tuning");
        return NULL;
    }
    *size = 0;
    text[0] = 0;
    for (size_t i = 0; i < tuning->count; i++) {
        const struct row *row = &tuning->rows[i];
        *size +=
            (size_t)snprintf(text + *size, capacity - *size, "%s %u %u %u %u %s\n", row->kernel,
                             row->type, row->n_rows, row->n_cols, row->extent, row->shape);
    }
    return text;
}
