#include "cli/chat/cli_thoughts.h"

#include "cli/common/cli_io.h"

#include <string.h>

// Writes a piece, dim within thoughts; without styles marks are text.
static bool show(struct cli_thoughts *thoughts, const struct cli_piece *piece)
{
    static const char dim[] = "\033[2m", plain[] = "\033[22m";
    if (piece->size == 0 || (piece->is_mark && thoughts->is_styled)) {
        return true;
    }
    if (thoughts->is_styled && thoughts->is_dim != piece->is_thought) {
        thoughts->is_dim = piece->is_thought;
        cli_wrap_flush(&thoughts->wrap);
        const char *style = thoughts->is_dim ? dim : plain;
        cli_write(style, strlen(style));
    }
    thoughts->is_line_open = piece->text[piece->size - 1] != '\n';
    return cli_wrap_write(&thoughts->wrap, piece->text, piece->size);
}

void cli_thoughts_begin(struct cli_thoughts *thoughts, int kind)
{
    cli_reasoning_begin(&thoughts->reasoning, kind);
    cli_wrap_begin(&thoughts->wrap, cli_columns(stdout));
    thoughts->is_dim = thoughts->is_line_open = false;
}

bool cli_thoughts_write(struct cli_thoughts *thoughts, const char *text, size_t size)
{
    struct cli_piece piece;
    bool is_written = true;
    cli_reasoning_append(&thoughts->reasoning, text, size);
    while (cli_reasoning_next(&thoughts->reasoning, &piece)) {
        is_written = show(thoughts, &piece) && is_written;
    }
    return is_written;
}

void cli_thoughts_end(struct cli_thoughts *thoughts)
{
    const struct cli_piece rest = cli_reasoning_rest(&thoughts->reasoning);
    show(thoughts, &rest);
    cli_wrap_flush(&thoughts->wrap);
    if (thoughts->is_dim) {
        cli_write("\033[22m", strlen("\033[22m"));
        thoughts->is_dim = false;
    }
    if (thoughts->is_line_open) {
        cli_write("\n", 1);
        thoughts->is_line_open = false;
    }
}

void cli_thoughts_finish(struct cli_thoughts *thoughts)
{
    cli_wrap_finish(&thoughts->wrap);
    cli_reasoning_finish(&thoughts->reasoning);
}
