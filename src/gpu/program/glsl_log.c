#include "gpu/program/glsl_log.h"

#include <stdio.h>
#include <string.h>

bool gi_glsl_source_locate(const struct gi_glsl_source *source, uint32_t line, const char **file,
                           uint32_t *file_line)
{
    uint32_t i = source->n_runs;
    while (i > 0 && source->runs[i - 1].first > line) {
        i--;
    }
    if (i == 0 || line > source->n_lines) {
        return false;
    }
    const struct gi_glsl_run *run = &source->runs[i - 1];
    *file = source->files[run->file];
    *file_line = run->line + (line - run->first);
    return true;
}

// A text that is cut at the end of its memory.
struct sink {
    char *out;
    size_t size, used; // used < size
};

static void append(struct sink *sink, const char *text, size_t size)
{
    size_t room = sink->size - 1 - sink->used;
    size_t taken = size < room ? size : room;
    memcpy(sink->out + sink->used, text, taken);
    sink->used += taken;
    sink->out[sink->used] = 0;
}

// Reads a decimal number of at most 8 digits. Returns its end, NULL if there is none.
static const char *parse_number(const char *text, uint32_t *number)
{
    const char *start = text;
    *number = 0;
    while (*text >= '0' && *text <= '9' && text - start < 8) {
        *number = *number * 10 + (uint32_t)(*text++ - '0');
    }
    return text > start ? text : NULL;
}

// Reads a place in one of the two spellings, "0:20:" with a column "(5)" or without, and "0(20) :".
// Returns the beginning of the message, NULL without a place.
static const char *parse_place(const char *text, uint32_t *line)
{
    uint32_t ignored;
    const char *end = parse_number(text, &ignored);
    if (!end || (*end != ':' && *end != '(')) {
        return NULL;
    }
    const bool is_colon = *end == ':';
    end = parse_number(end + 1, line);
    if (end && !is_colon) {
        end = *end == ')' ? end + 1 : NULL;
    } else if (end && *end == '(') {
        end = parse_number(end + 1, &ignored);
        end = end && *end == ')' ? end + 1 : NULL;
    }
    if (!end) {
        return NULL;
    }
    end += strspn(end, " ");
    return *end == ':' ? end + 1 + strspn(end + 1, " ") : NULL;
}

// Returns the length of the word that some drivers put before the place.
static size_t measure_prefix(const char *line)
{
    static const char *const prefixes[] = {"ERROR: ", "WARNING: ", "INTERNAL ERROR: "};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(line, prefixes[i], strlen(prefixes[i])) == 0) {
            return strlen(prefixes[i]);
        }
    }
    return 0;
}

static void append_line(struct sink *sink, const struct gi_glsl_source *source, const char *line,
                        size_t size)
{
    char place[160];
    const char *file;
    uint32_t text_line, file_line;
    size_t prefix = measure_prefix(line);
    const char *message = parse_place(line + prefix, &text_line);
    if (message && gi_glsl_source_locate(source, text_line, &file, &file_line)) {
        int length = snprintf(place, sizeof(place), "%s:%u: ", file, file_line);
        append(sink, place, (size_t)length < sizeof(place) ? (size_t)length : sizeof(place) - 1);
        append(sink, line, prefix);
        size -= (size_t)(message - line);
        line = message;
    }
    append(sink, line, size);
}

void gi_glsl_source_log(const struct gi_glsl_source *source, const char *log, char *out,
                        size_t size)
{
    struct sink sink = {out, size, 0};
    out[0] = 0;
    while (*log) {
        size_t line_size = strcspn(log, "\n");
        if (line_size > 0) {
            append(&sink, "\n", sink.used > 0);
            append_line(&sink, source, log, line_size);
        }
        log += line_size + (log[line_size] == '\n');
    }
}
