#include "cli/serve/answer/serve_thoughts.h"

#include <string.h>

static const char white[] = " \t\r\n";

void serve_thoughts_begin(struct serve_thoughts *thoughts, int kind, bool is_on)
{
    thoughts->is_on = is_on;
    thoughts->is_named = !is_on;
    thoughts->text.size = thoughts->shown = 0;
    cli_reasoning_begin(&thoughts->reasoning, kind);
}

bool serve_thoughts_is_before_content(const struct serve_thoughts *thoughts)
{
    return thoughts->is_on && !thoughts->reasoning.is_throughout;
}

static size_t count_white(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && strchr(white, text[n])) {
        n++;
    }
    return n;
}

// Appends a piece. White space before the content is kept until a thought follows, which drops it.
static void take(struct serve_thoughts *thoughts, const struct cli_piece *piece,
                 struct cli_bytes *content)
{
    const size_t n = count_white(piece->text, piece->size);
    const bool is_throughout = thoughts->reasoning.is_throughout;
    if (piece->is_mark) {
        content->size = is_throughout ? content->size : 0;
    } else if (piece->is_thought) {
        const size_t skipped = thoughts->text.size == 0 ? n : 0;
        cli_bytes_append(&thoughts->text, piece->text + skipped, piece->size - skipped);
    } else if (is_throughout) {
        cli_bytes_append(content, piece->text, piece->size);
    } else if (n < piece->size) {
        const size_t skipped = thoughts->text.size > 0 ? n : 0;
        cli_bytes_append(content, piece->text + skipped, piece->size - skipped);
        thoughts->is_on = false;
    } else if (thoughts->text.size == 0) {
        cli_bytes_append(content, piece->text, piece->size);
    }
}

void serve_thoughts_take(struct serve_thoughts *thoughts, const char *text, size_t size,
                         struct cli_bytes *content)
{
    struct cli_piece piece;
    if (!thoughts->is_on) {
        cli_bytes_append(content, text, size);
        return;
    }
    cli_reasoning_append(&thoughts->reasoning, text, size);
    while (thoughts->is_on && cli_reasoning_next(&thoughts->reasoning, &piece)) {
        take(thoughts, &piece, content);
    }
    if (!thoughts->is_on) { // marks within the content are text
        piece = cli_reasoning_rest(&thoughts->reasoning);
        cli_bytes_append(content, piece.text, piece.size);
    }
}

void serve_thoughts_close(struct serve_thoughts *thoughts, struct cli_bytes *content)
{
    if (thoughts->is_on) {
        const struct cli_piece rest = cli_reasoning_rest(&thoughts->reasoning);
        take(thoughts, &rest, content);
        thoughts->is_on = false;
    }
    thoughts->text.size = serve_thoughts_count(thoughts);
}

size_t serve_thoughts_count(const struct serve_thoughts *thoughts)
{
    size_t n = thoughts->text.size;
    while (n > 0 && strchr(white, thoughts->text.data[n - 1])) {
        n--;
    }
    return n;
}

void serve_thoughts_finish(struct serve_thoughts *thoughts)
{
    cli_reasoning_finish(&thoughts->reasoning);
    cli_bytes_finish(&thoughts->text);
}
