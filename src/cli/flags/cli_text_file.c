#include "cli/flags/cli_text_file.h"

#include "cli/common/cli_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Returns the rest of a stream as text, owned by the caller; NULL with why.
static char *read_text(FILE *file, const char *name, char *why, size_t size)
{
    char block[65536];
    size_t n;
    struct cli_bytes bytes = {0};
    cli_bytes_append(&bytes, "", 0);
    while ((n = fread(block, 1, sizeof(block), file)) > 0 && bytes.size < CLI_MAX_TEXT) {
        cli_bytes_append(&bytes, block, n);
    }
    if (ferror(file)) {
        snprintf(why, size, "cannot read %.200s: %s", name, strerror(errno));
    } else if (bytes.size >= CLI_MAX_TEXT) {
        snprintf(why, size, "cannot read %.200s: it is longer than %d MiB", name,
                 CLI_MAX_TEXT >> 20);
    } else if (strlen(bytes.data) != bytes.size) {
        snprintf(why, size, "invalid text in %.200s: zero byte at offset %zu", name,
                 strlen(bytes.data));
    } else {
        cli_bytes_skip_mark(&bytes);
        return bytes.data;
    }
    cli_bytes_finish(&bytes);
    return NULL;
}

bool cli_parse_text_file(const char *path, void *field, char *why, size_t size)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        snprintf(why, size, "cannot read %.200s: %s", path, strerror(errno));
        return false;
    }
    char *text = read_text(file, path, why, size);
    fclose(file);
    if (text) {
        *(const char **)field = text;
    }
    return text != NULL;
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
