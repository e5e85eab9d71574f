#include "cli/chat/cli_thoughts.h"

#include "cli/common/cli_io.h"

#include <string.h>

static const char begin_mark[] = "<think>", end_mark[] = "</think>";

const char *cli_thoughts_text(const struct glinfer_tokenizer *tokenizer,
                              const struct glinfer_token *token, size_t *size)
{
    size_t name_size = 0;
    const char *name = token->id >= 0 && token->text_size == 0
                           ? glinfer_token_bytes(tokenizer, token->id, &name_size)
                           : NULL;
    const bool is_mark =
        name && ((name_size == strlen(begin_mark) && memcmp(name, begin_mark, name_size) == 0) ||
                 (name_size == strlen(end_mark) && memcmp(name, end_mark, name_size) == 0));
    *size = is_mark ? name_size : token->text_size;
    return is_mark ? name : token->text;
}

bool cli_thoughts_open(const struct glinfer_tokenizer *tokenizer, const struct cli_ids *prompt)
{
    enum { LAST = 6 }; // a mark may be spelled in tokens of its own
    const size_t size = strlen(begin_mark);
    struct cli_bytes tail = {0};
    cli_bytes_append(&tail, "", 0);
    for (size_t i = prompt->count > LAST ? prompt->count - LAST : 0; i < prompt->count; i++) {
        size_t n = 0;
        const char *bytes = glinfer_token_bytes(tokenizer, prompt->items[i], &n);
        cli_bytes_append(&tail, bytes ? bytes : "", bytes ? n : 0);
    }
    while (tail.size > 0 && strchr(" \n", tail.data[tail.size - 1])) {
        tail.size--;
    }
    const bool is_open =
        tail.size >= size && memcmp(tail.data + tail.size - size, begin_mark, size) == 0;
    cli_bytes_finish(&tail);
    return is_open;
}

//-- writing ---------------------------------------------------------------------------------------

// Writes text, dim within thoughts.
static bool show(struct cli_thoughts *thoughts, const char *text, size_t size)
{
    static const char dim[] = "\033[2m", plain[] = "\033[22m";
    if (size == 0) {
        return true;
    }
    if (thoughts->is_styled && thoughts->is_dim != thoughts->is_thinking) {
        thoughts->is_dim = thoughts->is_thinking;
        const char *style = thoughts->is_dim ? dim : plain;
        cli_write(style, strlen(style));
    }
    thoughts->is_line_open = text[size - 1] != '\n';
    return cli_write(text, size);
}

// Returns where in the text the mark, or a beginning of it at the text's end, begins; size:
// nowhere.
static size_t find_mark(const char *text, size_t size, const char *mark)
{
    const size_t mark_size = strlen(mark);
    for (size_t at = 0; at < size; at++) {
        const size_t left = size - at < mark_size ? size - at : mark_size;
        if (memcmp(text + at, mark, left) == 0) {
            return at;
        }
    }
    return size;
}

void cli_thoughts_begin(struct cli_thoughts *thoughts, bool is_thinking)
{
    thoughts->is_thinking = is_thinking;
    thoughts->is_dim = thoughts->is_line_open = false;
    thoughts->waiting.size = 0;
}

bool cli_thoughts_write(struct cli_thoughts *thoughts, const char *text, size_t size)
{
    struct cli_bytes *waiting = &thoughts->waiting;
    bool is_written = true;
    cli_bytes_append(waiting, text, size);
    for (;;) {
        const char *mark = thoughts->is_thinking ? end_mark : begin_mark;
        const size_t at = find_mark(waiting->data, waiting->size, mark);
        const bool is_whole = waiting->size - at >= strlen(mark);
        const size_t shown =
            is_whole && !thoughts->is_styled ? at + strlen(mark) : at; // marks are text then
        const size_t used = is_whole ? at + strlen(mark) : at;
        is_written = show(thoughts, waiting->data, shown) && is_written;
        memmove(waiting->data, waiting->data + used, waiting->size - used);
        waiting->size -= used;
        if (!is_whole) {
            return is_written;
        }
        thoughts->is_thinking = !thoughts->is_thinking;
    }
}

void cli_thoughts_end(struct cli_thoughts *thoughts)
{
    show(thoughts, thoughts->waiting.data, thoughts->waiting.size);
    thoughts->waiting.size = 0;
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
    cli_bytes_finish(&thoughts->waiting);
}
