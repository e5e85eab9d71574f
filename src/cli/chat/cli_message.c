#include "cli/chat/cli_message.h"

#include <stdlib.h>
#include <string.h>

static const char quotes[] = "\"\"\"";

//-- lines that go on ------------------------------------------------------------------------------

static void remove_bytes(struct cli_bytes *text, size_t at, size_t n)
{
    memmove(text->data + at, text->data + at + n, text->size - at - n);
    text->size -= n;
    text->data[text->size] = 0;
}

// Returns true if the text ends in an odd number of backslashes.
static bool goes_on(const struct cli_bytes *text)
{
    size_t n = 0;
    while (n < text->size && text->data[text->size - 1 - n] == '\\') {
        n++;
    }
    return n % 2 == 1;
}

// Returns the """ that opens a text, at the beginning or after a command; NULL without one.
static char *find_quotes(const struct cli_bytes *text)
{
    char *start = text->data + strspn(text->data, " \t");
    if (*start == '/') {
        start += strcspn(start, " \t\n");
        start += strspn(start, " \t");
        start = strncmp(start, "system ", 7) == 0 ? start + 7 : start; // of /set
    }
    return strncmp(start, quotes, 3) == 0 ? start : NULL;
}

// Reads up to the closing """ and removes both, and a newline after the first and before the last.
static enum cli_line read_quoted(struct cli_lines *lines, struct cli_bytes *text, size_t at)
{
    enum cli_line result = CLI_LINE_TEXT;
    const char *end;
    remove_bytes(text, at, 3);
    while (!(end = strstr(text->data + at, quotes)) && result == CLI_LINE_TEXT) {
        result = cli_lines_read_on(lines, text);
    }
    if (end) {
        size_t last = (size_t)(end - text->data);
        remove_bytes(text, last, 3);
        if (last > at && text->data[last - 1] == '\n') {
            remove_bytes(text, last - 1, 1);
        }
    }
    if (text->data[at] == '\n') {
        remove_bytes(text, at, 1);
    }
    return result;
}

enum cli_line cli_message_read(struct cli_lines *lines, struct cli_bytes *text, bool *is_quoted)
{
    enum cli_line result = cli_lines_read(lines, text);
    *is_quoted = false;
    if (result != CLI_LINE_TEXT || strlen(text->data) != text->size) {
        return result;
    }
    const char *opening = find_quotes(text);
    *is_quoted = opening && opening == text->data + strspn(text->data, " \t");
    if (opening) {
        result = read_quoted(lines, text, (size_t)(opening - text->data));
    }
    while (!opening && result == CLI_LINE_TEXT && goes_on(text)) {
        remove_bytes(text, text->size - 1, 1);
        result = cli_lines_read_on(lines, text);
    }
    return result == CLI_LINE_END ? CLI_LINE_TEXT : result;
}

//-- files -----------------------------------------------------------------------------------------

void cli_message_path(const char *argument, struct cli_bytes *path)
{
    const char *home = getenv("HOME");
    size_t size = strlen(argument);
    char quote = 0;
    path->size = 0;
    cli_bytes_append(path, "", 0);
    while (size > 0 && strchr(" \t\n", argument[size - 1])) {
        size--;
    }
    if (size > 0 && argument[0] == '~' && (size == 1 || argument[1] == '/') && home && home[0]) {
        cli_bytes_add(path, home);
        argument++, size--;
    }
    for (size_t i = 0; i < size; i++) {
        const char c = argument[i];
        if (quote ? c == quote : c == '"' || c == '\'') {
            quote = quote ? 0 : c;
        } else if (c == '\\' && quote != '\'' && i + 1 < size) {
            cli_bytes_append(path, argument + ++i, 1);
        } else {
            cli_bytes_append(path, &c, 1);
        }
    }
}

bool cli_state_path(const char *name, char *path, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (state && state[0] == '/') {
        n = snprintf(path, size, "%s/glinfer/%s", state, name);
    } else if (home && home[0] == '/') {
        n = snprintf(path, size, "%s/.local/state/glinfer/%s", home, name);
    }
    return n > 0 && (size_t)n < size && cli_make_folders(path, 0700);
}
