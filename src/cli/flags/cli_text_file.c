#include "cli/flags/cli_text_file.h"

#include "cli/common/cli_io.h"

#include <string.h>

bool cli_parse_text_file(const char *path, void *field, char *why, size_t size)
{
    struct cli_bytes bytes;
    if (!cli_read_file(path, CLI_MAX_TEXT, &bytes, why, size)) {
        return false;
    }
    if (strlen(bytes.data) != bytes.size) {
        snprintf(why, size, "invalid text in %.200s: zero byte at offset %zu", path,
                 strlen(bytes.data));
        cli_bytes_finish(&bytes);
        return false;
    }
    cli_bytes_skip_mark(&bytes);
    *(const char **)field = bytes.data;
    return true;
}

bool cli_parse_line_file(const char *path, void *field, char *why, size_t size)
{
    char *text = NULL;
    if (!cli_parse_text_file(path, &text, why, size)) {
        return false;
    }
    struct cli_bytes bytes = {.data = text, .size = strlen(text)};
    cli_bytes_trim(&bytes);
    *(const char **)field = text;
    return true;
}
