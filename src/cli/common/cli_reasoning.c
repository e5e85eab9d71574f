#include "cli/common/cli_reasoning.h"

#include "cli/common/cli_session.h"

#include <string.h>

struct marks {
    const char *begin, *end;
    const char *token;  // the first token of begin; NULL: all of begin
    bool is_throughout; // such thoughts come anywhere in an answer
};
static const struct marks marks[] = {
    {"<think>", "</think>", NULL, false},
    {"[THINK]", "[/THINK]", NULL, false}, // Mistral
    {"<seed:think>", "</seed:think>", NULL, false},
    {"<thought>", "</thought>", NULL, false},                // EXAONE Deep
    {"<|channel>thought", "<channel|>", "<|channel>", true}, // Gemma 4
};
enum { N_MARKS = sizeof(marks) / sizeof(marks[0]), MAX_HEADER = 256 };
// The marks that headers of messages are made of; the first ends one.
static const char *const channel_marks[] = {"<|message|>", "<|end|>", "<|start|>", "<|channel|>",
                                            "<|constrain|>"};
enum { N_CHANNEL_MARKS = sizeof(channel_marks) / sizeof(channel_marks[0]) };

static bool is_same(const char *text, size_t size, const char *mark)
{
    return size == strlen(mark) && memcmp(text, mark, size) == 0;
}

static bool is_mark(const struct cli_reasoning *reasoning, const char *name, size_t size)
{
    bool is_found = false;
    for (size_t i = 0; i < N_MARKS; i++) {
        is_found = is_found ||
                   is_same(name, size, marks[i].token ? marks[i].token : marks[i].begin) ||
                   is_same(name, size, marks[i].end);
    }
    for (size_t i = 0; reasoning->has_channels && i < N_CHANNEL_MARKS; i++) {
        is_found = is_found || is_same(name, size, channel_marks[i]);
    }
    return is_found;
}

const char *cli_reasoning_text(const struct cli_reasoning *reasoning,
                               const struct glinfer_tokenizer *tokenizer, int32_t id,
                               const char *text, size_t text_size, size_t *size)
{
    size_t name_size = 0;
    const char *name =
        id >= 0 && text_size == 0 ? glinfer_token_bytes(tokenizer, id, &name_size) : NULL;
    const bool is_named = name && is_mark(reasoning, name, name_size);
    *size = is_named ? name_size : text_size;
    return is_named ? name : text;
}

static bool ends_with(const struct cli_bytes *text, const char *end)
{
    const size_t n = strlen(end);
    return text->size >= n && memcmp(text->data + text->size - n, end, n) == 0;
}

int cli_reasoning_find_open(const struct glinfer_tokenizer *tokenizer, const struct cli_ids *prompt)
{
    enum { LAST = 16 }; // a mark may be spelled in tokens of its own, even byte by byte
    struct cli_bytes tail = {0};
    int kind = CLI_REASONING_PLAIN;
    cli_bytes_append(&tail, "", 0);
    for (size_t i = prompt->count > LAST ? prompt->count - LAST : 0; i < prompt->count; i++) {
        cli_append_token(&tail, tokenizer, prompt->items[i]);
    }
    while (tail.size > 0 && strchr(" \n", tail.data[tail.size - 1])) {
        tail.size--;
    }
    for (int i = 0; i < N_MARKS; i++) {
        kind = ends_with(&tail, marks[i].begin) ? CLI_REASONING_OPEN + i : kind;
    }
    kind = ends_with(&tail, "<|start|>assistant") ? CLI_REASONING_CHANNELS : kind;
    if (ends_with(&tail, "<|turn>model") || ends_with(&tail, "<channel|>") ||
        ends_with(&tail, "<tool_response|>")) {
        kind = CLI_REASONING_THROUGHOUT;
    }
    cli_bytes_finish(&tail);
    return kind;
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

const char *cli_reasoning_end_of(int kind)
{
    return kind >= CLI_REASONING_OPEN ? marks[kind - CLI_REASONING_OPEN].end : NULL;
}

void cli_reasoning_begin(struct cli_reasoning *reasoning, int kind)
{
    reasoning->is_thinking = kind >= CLI_REASONING_OPEN;
    reasoning->end = cli_reasoning_end_of(kind);
    reasoning->has_channels = reasoning->is_header = kind == CLI_REASONING_CHANNELS;
    reasoning->is_throughout =
        reasoning->has_channels || kind == CLI_REASONING_THROUGHOUT ||
        (kind >= CLI_REASONING_OPEN && marks[kind - CLI_REASONING_OPEN].is_throughout);
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
    return piece;
}

static const char *waiting_text(const struct cli_reasoning *reasoning, size_t *size)
{
    *size = reasoning->waiting.size - reasoning->taken;
    return *size > 0 ? reasoning->waiting.data + reasoning->taken : "";
}

// The first mark in a text.
struct found_mark {
    size_t at, size;
    const char *end; // of the thought that it begins; NULL: none
};

static void look_for(struct found_mark *found, const char *text, size_t size, const char *mark,
                     const char *end)
{
    const size_t at = find_mark(text, size, mark);
    if (at < found->at) {
        *found = (struct found_mark){at, strlen(mark), end};
    }
}

// Takes the next piece of an answer with marks around thoughts. Where these come anywhere, a mark
// that ends none is one all the same.
static bool take_marked(struct cli_reasoning *reasoning, struct cli_piece *piece)
{
    size_t left;
    const char *text = waiting_text(reasoning, &left);
    struct found_mark found = {.at = left};
    if (reasoning->is_thinking) {
        look_for(&found, text, left, reasoning->end, NULL);
    }
    for (size_t i = 0; i < N_MARKS && !reasoning->is_thinking; i++) {
        if (marks[i].is_throughout || !reasoning->is_throughout) {
            look_for(&found, text, left, marks[i].begin, marks[i].end);
        }
        if (reasoning->is_throughout && marks[i].is_throughout) {
            look_for(&found, text, left, marks[i].end, NULL);
        }
    }
    if (found.at > 0) {
        *piece = take(reasoning, found.at, false);
        return true;
    }
    if (left == 0 || left < found.size) {
        return false;
    }
    *piece = take(reasoning, found.size, true);
    reasoning->is_thinking = found.end;
    reasoning->end = found.end;
    return true;
}

//-- channels --------------------------------------------------------------------------------------

// Returns true if a text may be a header of a message, or the beginning of one.
static bool is_like_header(const char *text, size_t size)
{
    static const char *const begins[] = {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>",
                                         "to="};
    size_t blank = 0;
    while (blank < size && text[blank] == ' ') {
        blank++;
    }
    bool is_like = blank == size;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        is_like = is_like || find_mark(text + blank, size - blank, begins[i]) == 0;
    }
    return is_like && size <= MAX_HEADER;
}

static size_t find_whole(const char *text, size_t size, const char *what)
{
    const char *found = size > 0 ? memmem(text, size, what, strlen(what)) : NULL;
    return found ? (size_t)(found - text) : size;
}

// Takes a header, or what stands in it before the name of a tool: a call is content from there on.
static bool take_header(struct cli_reasoning *reasoning, struct cli_piece *piece)
{
    size_t left;
    const char *text = waiting_text(reasoning, &left);
    const size_t end = find_whole(text, left, channel_marks[0]);
    const size_t call = find_whole(text, end, "to=functions.");
    if (end == left) {
        return false;
    }
    const bool is_call = call < end;
    reasoning->is_thinking = false;
    if (is_call && call > 0) {
        *piece = take(reasoning, call, true);
        return true;
    }
    reasoning->is_header = false;
    *piece = take(reasoning, end + strlen(channel_marks[0]), !is_call);
    reasoning->is_thinking = !is_call && find_whole(text, end, "analysis") < end;
    return true;
}

// Takes text of a message, or the mark that ends it.
static bool take_body(struct cli_reasoning *reasoning, struct cli_piece *piece)
{
    size_t left;
    const char *text = waiting_text(reasoning, &left), *mark = NULL;
    size_t at = left;
    for (size_t i = 1; i < N_CHANNEL_MARKS - 1; i++) {
        const size_t found = find_mark(text, left, channel_marks[i]);
        if (found < at) {
            at = found;
            mark = channel_marks[i];
        }
    }
    if (at > 0) {
        *piece = take(reasoning, at, false);
        return true;
    }
    if (left == 0 || left < strlen(mark)) {
        return false;
    }
    const bool is_end = mark == channel_marks[1];
    if (!is_end && !is_like_header(text, left)) { // a mark that begins no header is text
        *piece = take(reasoning, strlen(mark), false);
        return true;
    }
    *piece = take(reasoning, is_end ? strlen(mark) : 0, true);
    reasoning->is_header = true;
    reasoning->is_thinking = false;
    return true;
}

//-- an answer -------------------------------------------------------------------------------------

bool cli_reasoning_next(struct cli_reasoning *reasoning, struct cli_piece *piece)
{
    if (!reasoning->has_channels) {
        return take_marked(reasoning, piece);
    }
    size_t left;
    const char *text = waiting_text(reasoning, &left);
    reasoning->is_header = reasoning->is_header && is_like_header(text, left);
    return reasoning->is_header ? take_header(reasoning, piece) : take_body(reasoning, piece);
}

struct cli_piece cli_reasoning_rest(struct cli_reasoning *reasoning)
{
    size_t left;
    const char *text = waiting_text(reasoning, &left);
    const bool is_cut = reasoning->is_header && left > 0 && is_like_header(text, left);
    return take(reasoning, left, is_cut);
}

void cli_reasoning_finish(struct cli_reasoning *reasoning)
{
    cli_bytes_finish(&reasoning->waiting);
}

void cli_reasoning_strip(int kind, const char *text, size_t size, struct cli_bytes *content)
{
    struct cli_reasoning reasoning = {0};
    struct cli_piece piece;
    cli_reasoning_begin(&reasoning, kind);
    cli_reasoning_append(&reasoning, text, size);
    bool is_more = true;
    while (is_more) {
        is_more = cli_reasoning_next(&reasoning, &piece);
        piece = is_more ? piece : cli_reasoning_rest(&reasoning);
        if (!piece.is_thought && !piece.is_mark) {
            cli_bytes_append(content, piece.text, piece.size);
        }
    }
    cli_reasoning_finish(&reasoning);
}
