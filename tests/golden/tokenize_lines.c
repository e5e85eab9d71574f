// tokenize_lines MODEL.gguf: encodes standard input with the model's vocabulary, one line of
// ids for each record. Numbers are 32-bit in the host's order.
//   text:  flags (GLINFER_TOKENIZE_*), size, bytes
//   chat:  0xffffffff, number of messages, then for each: size, role, size, content
// Its caller is tools/golden/compare_tokenizer.py.
#include "glinfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CHAT         UINT32_MAX
#define MESSAGES_MAX 64

static bool read_u32(uint32_t *value)
{
    return fread(value, sizeof(*value), 1, stdin) == 1;
}

// Returns size bytes and a 0 in fresh memory, or NULL.
static char *read_bytes(uint32_t *size)
{
    if (!read_u32(size)) {
        return NULL;
    }
    char *bytes = calloc((size_t)*size + 1, 1);
    if (bytes && fread(bytes, 1, *size, stdin) != *size) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static void print_ids(const int32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        printf("%s%" PRId32, i ? " " : "", ids[i]);
    }
    putchar('\n');
}

static bool tokenize_text(const struct glinfer_tokenizer *tokenizer, unsigned flags,
                          struct glinfer_error *err)
{
    uint32_t size;
    char *text = read_bytes(&size);
    size_t cap = (size_t)size * 3 + 2, n = 0; // an invalid byte becomes U+FFFD
    int32_t *ids = calloc(cap, sizeof(*ids));
    bool is_done = text && ids && glinfer_tokenize(tokenizer, text, size, flags, ids, cap, &n, err);
    if (is_done) {
        print_ids(ids, n);
    }
    free(ids);
    free(text);
    return is_done;
}

static bool print_chat(const struct glinfer_tokenizer *tokenizer,
                       const struct glinfer_message *messages, size_t n_messages,
                       struct glinfer_error *err)
{
    size_t n = 0;
    if (!glinfer_chat_tokenize(tokenizer, messages, n_messages, NULL, 0, &n, err)) {
        return false;
    }
    int32_t *ids = calloc(n + 1, sizeof(*ids));
    bool is_done = ids && glinfer_chat_tokenize(tokenizer, messages, n_messages, ids, n, &n, err);
    if (is_done) {
        print_ids(ids, n);
    }
    free(ids);
    return is_done;
}

static bool tokenize_chat(const struct glinfer_tokenizer *tokenizer, struct glinfer_error *err)
{
    uint32_t n_messages, size;
    char *texts[2 * MESSAGES_MAX] = {0};
    struct glinfer_message messages[MESSAGES_MAX];
    if (!read_u32(&n_messages) || n_messages > MESSAGES_MAX) {
        return false;
    }
    bool is_read = true;
    for (uint32_t i = 0; i < 2 * n_messages; i++) {
        texts[i] = read_bytes(&size);
        is_read = is_read && texts[i];
    }
    for (uint32_t i = 0; i < n_messages; i++) {
        messages[i] = (struct glinfer_message){texts[2 * i], texts[2 * i + 1]};
    }
    bool is_done = is_read && print_chat(tokenizer, messages, n_messages, err);
    for (uint32_t i = 0; i < 2 * n_messages; i++) {
        free(texts[i]);
    }
    return is_done;
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {GLINFER_STATUS_IO, "stdin ends within a record"};
    if (argc != 2) {
        fprintf(stderr, "usage: tokenize_lines MODEL.gguf < records\n");
        return 2;
    }
    struct glinfer_tokenizer *tokenizer = glinfer_tokenizer_load(argv[1], &err);
    bool is_done = tokenizer;
    uint32_t flags;
    while (is_done && read_u32(&flags)) {
        is_done =
            flags == CHAT ? tokenize_chat(tokenizer, &err) : tokenize_text(tokenizer, flags, &err);
    }
    if (!is_done) {
        fprintf(stderr, "tokenize_lines: %s\n", err.message);
    }
    glinfer_tokenizer_destroy(&tokenizer);
    return is_done ? 0 : 1;
}
