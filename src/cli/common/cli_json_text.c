#include "cli/common/cli_json_text.h"

size_t cli_json_escape(char byte, char text[8])
{
    const unsigned char c = (unsigned char)byte;
    int size = 1;
    text[0] = byte;
    if (c == '"' || c == '\\') {
        size = snprintf(text, 8, "\\%c", c);
    } else if (c == '\n') {
        size = snprintf(text, 8, "\\n");
    } else if (c < 0x20 || c == 0x7F) {
        size = snprintf(text, 8, "\\u%04x", c);
    }
    return (size_t)size;
}

void cli_json_write_text(FILE *file, const char *text)
{
    char escaped[8];
    fputc('"', file);
    for (; *text; text++) {
        fwrite(escaped, 1, cli_json_escape(*text, escaped), file);
    }
    fputc('"', file);
}
