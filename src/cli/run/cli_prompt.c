#include "cli/run/cli_prompt.h"

#include "cli/common/cli_io.h"
#include "cli/run/cli_escapes.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_prompt_copy(const struct cli_prompt_flags *flags, const char *text,
                     struct cli_bytes *bytes)
{
    cli_bytes_add(bytes, text);
    if (!flags->has_no_escapes) {
        cli_resolve_escapes(bytes);
    }
}

// Reads a file, or standard input with path NULL. Its backslashes are its own unless -e says
// otherwise.
static bool read_file(const struct cli_prompt_flags *flags, const char *path,
                      struct cli_bytes *bytes)
{
    if (!path && isatty(STDIN_FILENO)) {
        cli_say("type the prompt, then Ctrl-D:");
    }
    if (!cli_read_all(path, bytes)) {
        return false;
    }
    cli_bytes_trim(bytes);
    if (flags->has_escapes) {
        cli_resolve_escapes(bytes);
    }
    return true;
}

// Returns true if standard input is a pipe or a file. Says so where a pipe keeps one waiting.
static bool has_input(void)
{
    enum { PATIENCE_MS = 1000 };
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct stat status;
    if (fstat(STDIN_FILENO, &status) != 0 ||
        !(S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode))) {
        return false;
    }
    if (poll(&input, 1, PATIENCE_MS) == 0) {
        cli_note("waiting for the end of standard input, which is appended to -p; </dev/null "
                 "appends nothing");
    }
    return true;
}

static bool join_input(const struct cli_prompt_flags *flags, struct cli_bytes *text)
{
    struct cli_bytes input = {0};
    if (!has_input()) {
        return true;
    }
    if (!read_file(flags, NULL, &input)) {
        return false;
    }
    if (input.size > 0) {
        cli_note("%zu byte%s of standard input %s appended to -p", input.size,
                 cli_plural(input.size), input.size == 1 ? "is" : "are");
        if (text->size > 0 && text->data[text->size - 1] != '\n') {
            cli_bytes_append(text, "\n", 1);
        }
        cli_bytes_append(text, input.data, input.size);
    }
    cli_bytes_finish(&input);
    return true;
}

bool cli_prompt_read(const struct cli_prompt_flags *flags, struct cli_prompt *prompt)
{
    if (flags->system) {
        cli_prompt_copy(flags, flags->system, &prompt->system);
    } else if (flags->system_file) {
        cli_bytes_add(&prompt->system, flags->system_file);
    }
    if (flags->text) {
        cli_prompt_copy(flags, flags->text, &prompt->text);
        return join_input(flags, &prompt->text);
    }
    const bool is_input = !flags->file || strcmp(flags->file, "-") == 0;
    return read_file(flags, is_input ? NULL : flags->file, &prompt->text);
}

void cli_prompt_finish(struct cli_prompt *prompt)
{
    cli_bytes_finish(&prompt->text);
    cli_bytes_finish(&prompt->system);
}

bool cli_prompt_cache_check(const struct cli_prompt_cache *cache)
{
    const char *end = cache->path ? strrchr(cache->path, '/') : NULL;
    char folder[4096] = ".";
    if (!cache->path || cache->is_read_only) {
        return true;
    }
    if (end) {
        const size_t size = (size_t)(end - cache->path) + 1;
        snprintf(folder, sizeof(folder), "%.*s", (int)size, cache->path);
    }
    return access(folder, W_OK | X_OK) == 0 ||
           cli_fail(CLI_EXIT_FAILED, "cannot write %s: %s", cache->path, strerror(errno));
}

bool cli_prompt_cache_load(struct cli_prompt_cache *cache, struct glinfer_session *session,
                           const struct cli_ids *ids)
{
    struct glinfer_error err;
    if (!cache->path) {
        return true;
    }
    if (!glinfer_session_load(session, cache->path, &err)) {
        return err.status == GLINFER_STATUS_NOT_FOUND || cli_fail_error(&err);
    }
    size_t n = glinfer_session_match(session, ids->items, ids->count);
    n = n < ids->count ? n : ids->count - 1; // the last one gives the first token of the answer
    cache->n_reused = glinfer_session_rewind(session, n);
    return true;
}

bool cli_prompt_cache_save(const struct cli_prompt_cache *cache, struct glinfer_session *session,
                           const struct cli_ids *ids)
{
    struct glinfer_error err;
    const bool is_known = !cache->has_answers && cache->n_reused + 1 == ids->count;
    if (!cache->path || cache->is_read_only || (is_known && cache->n_reused > 0)) {
        return true;
    }
    if (!cache->has_answers) {
        glinfer_session_rewind(session, glinfer_session_match(session, ids->items, ids->count));
    }
    return glinfer_session_save(session, cache->path, &err) || cli_fail_error(&err);
}
