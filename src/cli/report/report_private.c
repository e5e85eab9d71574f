#include "cli/report/report_private.h"

#include <stdbool.h>
#include <string.h>

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

// Replaces each `from`, which is not empty.
static void replace(struct cli_bytes *text, const char *from, const char *to)
{
    struct cli_bytes result = {0};
    const char *at = text->data;
    for (const char *found = strstr(at, from); found; found = strstr(at, from)) {
        cli_bytes_append(&result, at, (size_t)(found - at));
        cli_bytes_add(&result, to);
        at = found + strlen(from);
    }
    cli_bytes_add(&result, at);
    cli_bytes_finish(text);
    *text = result;
}

static bool is_public(const char *path)
{
    static const char *const folders[] = {"/dev/", "/sys/", "/proc/", "/usr/", "/lib/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return true;
        }
    }
    return false;
}

// Returns the length of the absolute path at a place of the text, 0 if none begins there.
static size_t path_size(const char *text, const char *at)
{
    const bool begins = at == text || strchr(" \t\n\"'`(=[<,", at[-1]);
    const size_t size = strcspn(at, " \t\n\"'`)]>,;");
    const bool is_path = begins && at[0] == '/' && size > 1 && at[1] != '/';
    return is_path && memchr(at + 1, '/', size - 1) ? size : 0;
}

static void replace_paths(struct cli_bytes *text)
{
    struct cli_bytes result = {0};
    for (const char *at = text->data; *at;) {
        const size_t size = path_size(text->data, at);
        const bool is_hidden = size > 0 && !is_public(at);
        const size_t n = size > 0 ? size : 1;
        size_t skip = 0;
        for (size_t i = 0; is_hidden && i < size; i++) {
            skip = at[i] == '/' ? i : skip;
        }
        if (is_hidden) {
            cli_bytes_add(&result, "...");
        }
        cli_bytes_append(&result, at + skip, n - skip);
        at += n;
    }
    cli_bytes_finish(text);
    *text = result;
}

void report_make_private(struct cli_bytes *text, const char *name, const char *home)
{
    if (text->size == 0) {
        return;
    }
    if (name && name[0]) {
        replace(text, name, base_of(name));
    }
    if (home && home[0] && home[1]) {
        replace(text, home, "~");
    }
    replace_paths(text);
}
