#include "cli/run/cli_escapes.h"

#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Returns the character of the escape at text, after its backslash. Sets *n_used to its bytes; 0 if
// it is not an escape.
static char read_escape(const char *text, size_t size, size_t *n_used)
{
    static const char letters[] = "nrt\\\"'", values[] = "\n\r\t\\\"'";
    const char *found = size > 0 && text[0] ? strchr(letters, text[0]) : NULL;
    if (size >= 3 && text[0] == 'x' && hex_digit(text[1]) >= 0 && hex_digit(text[2]) >= 0) {
        *n_used = 3;
        return (char)(hex_digit(text[1]) * 16 + hex_digit(text[2]));
    }
    *n_used = found != NULL;
    return found ? values[found - letters] : 0;
}

void cli_resolve_escapes(struct cli_bytes *bytes)
{
    size_t to = 0;
    for (size_t from = 0; from < bytes->size;) {
        size_t n_used = 0;
        char c = bytes->data[from++];
        if (c == '\\') {
            char value = read_escape(bytes->data + from, bytes->size - from, &n_used);
            c = n_used > 0 ? value : c;
        }
        from += n_used;
        bytes->data[to++] = c;
    }
    bytes->size = to;
    if (bytes->data) {
        bytes->data[to] = 0;
    }
}
