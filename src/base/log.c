#include "base/log.h"

#include "base/printable.h"

#include <stdarg.h>
#include <stdio.h>

// Driver text comes in several lines; the callback takes them one by one.
static void write_lines(const struct gi_log *log, enum glinfer_log_level level, char *text)
{
    char *line = text;
    while (*line) {
        size_t size = strcspn(line, "\n");
        bool is_last = !line[size];
        line[size] = 0;
        if (size) {
            log->fn(log->user, level, line);
        }
        line += is_last ? size : size + 1;
    }
}

void gi_log_write(const struct gi_log *log, enum glinfer_log_level level, const char *format, ...)
{
    if (!log || !log->fn) {
        return;
    }
    char text[2048];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (length <= 0) {
        return;
    }
    text[gi_printable(text, strlen(text))] = 0;
    write_lines(log, level, text);
}
