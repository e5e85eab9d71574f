#include "cli/common/cli_reasoning.h"

#include <string.h>

static const char begin_mark[] = "<think>", end_mark[] = "</think>";

static bool is_same(const char *text, size_t size, const char *mark)
{
    return size == strlen(mark) && memcmp(text, mark, size) == 0;
}

const char *cli_reasoning_text(const struct glinfer_tokenizer *tokenizer, int32_t id,
                               const char *text, size_t text_size, size_t *size)
{
    size_t name_size = 0;
    const char *name =
        id >= 0 && text_size == 0 ? glinfer_token_bytes(tokenizer, id, &name_size) : NULL;
    const bool is_mark =
        name && (is_same(name, name_size, begin_mark) || is_same(name, name_size, end_mark));
    *size = is_mark ? name_size : text_size;
    return is_mark ? name : text;
}

bool cli_reasoning_is_open(const struct glinfer_tokenizer *tokenizer, const struct cli_ids *prompt)
{
    enum { LAST = 12 }; // a mark may be spelled in tokens of its own, even byte by byte
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
        tail.size >= size && is_same(tail.data + tail.size - size, size, begin_mark);
    cli_bytes_finish(&tail);
    return is_open;
}

//-- pieces ----------------------------------------------------------------------------------------

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

void cli_reasoning_begin(struct cli_reasoning *reasoning, bool is_thinking)
{
    reasoning->is_thinking = is_thinking;
    reasoning->waiting.size = reasoning->taken = 0;
}

void cli_reasoning_append(struct cli_reasoning *reasoning, const char *text, size_t size)
{
    struct cli_bytes *waiting = &reasoning->waiting;
    if (reasoning->taken > 0) {
        waiting->size -= reasoning->taken;
        memmove(waiting->data, waiting->data + reasoning->taken, waiting->size);
        reasoning->taken = 0;
    }
    cli_bytes_append(waiting, text, size);
}

static struct cli_piece take(struct cli_reasoning *reasoning, size_t size, bool is_mark)
{
    const struct cli_piece piece = {
        .text = reasoning->waiting.data ? reasoning->waiting.data + reasoning->taken : "",
        .size = size,
        .is_thought = reasoning->is_thinking,
        .is_mark = is_mark,
    };
    reasoning->taken += size;
    reasoning->is_thinking = reasoning->is_thinking != is_mark;
    return piece;
}

bool cli_reasoning_next(struct cli_reasoning *reasoning, struct cli_piece *piece)
{
    const char *mark = reasoning->is_thinking ? end_mark : begin_mark;
    const size_t left = reasoning->waiting.size - reasoning->taken;
    const size_t at =
        left > 0 ? find_mark(reasoning->waiting.data + reasoning->taken, left, mark) : 0;
    const bool is_mark = at == 0 && left >= strlen(mark);
    if (at == 0 && !is_mark) {
        return false;
    }
    *piece = take(reasoning, is_mark ? strlen(mark) : at, is_mark);
    return true;
}

struct cli_piece cli_reasoning_rest(struct cli_reasoning *reasoning)
{
    return take(reasoning, reasoning->waiting.size - reasoning->taken, false);
}

void cli_reasoning_finish(struct cli_reasoning *reasoning)
{
    cli_bytes_finish(&reasoning->waiting);
}
