// Saved sequences on any bytes, as they are and with hashes that match: what is accepted is
// written, and comes out the same.
#include "base/bytes.h"
#include "engine/session/saved/state_format.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { N_CTX = 40, ROW_SIZE = 24, STATES_SIZE = 8, HEAD_HASHED = 64 };

#define SHAPE(states_size_)                                                                        \
    {                                                                                              \
        .model = {.lo = 0x0706050403020100, .hi = 0x0F0E0D0C0B0A0908}, .type_k = GI_CACHE_Q4_0,    \
        .type_v = GI_CACHE_Q8_0, .row_size = ROW_SIZE, .states_size = (states_size_),              \
        .n_vocab = 300, .n_ctx = N_CTX,                                                            \
    }
static const struct gi_state_shape shapes[] = {SHAPE(0), SHAPE(STATES_SIZE)};

_Static_assert(GI_CACHE_Q4_0 == 3 && GI_CACHE_Q8_0 == 2,
               "make_cache_corpus.py writes these, and other types are refused");

// Writes what was read, and compares.
static void rewrite(const struct gi_source *source, const struct gi_state_shape *shape,
                    const struct gi_state_head *head, const uint32_t *tokens,
                    const uint8_t *origins)
{
    static uint8_t rows[N_CTX * ROW_SIZE + (GI_STATE_CHECKPOINTS + 1) * STATES_SIZE];
    const size_t size = (size_t)head->n_rows * shape->row_size +
                        (head->n_rows > 0 ? (head->n_checkpoints + 1) * shape->states_size : 0);
    struct gi_state_writer writer = {.memory = malloc(source->size)};
    uint8_t *copy = writer.memory;
    if (!copy || !gi_state_read_rows(source, head, 0, size, rows, NULL)) {
        free(copy);
        return;
    }
    gi_state_write_begin(&writer, shape, head, tokens, origins);
    gi_state_write(&writer, rows, size);
    if (gi_state_write_end(&writer, NULL)) {
        // Padding may have any value, and is part of the hash after it. The version may be older.
        const size_t same = (size_t)head->n_tokens * 5;
        if (memcmp(copy + GI_STATE_HEAD_SIZE, source->memory + GI_STATE_HEAD_SIZE, same) != 0) {
            abort();
        }
    }
    gi_state_write_finish(&writer);
    free(copy);
}

// Compares a match with the tokens, and what is ready with the rows.
static void match(const struct gi_source *source, const struct gi_state_head *head,
                  const uint32_t *tokens)
{
    int32_t ids[N_CTX + 1];
    uint32_t ready;
    for (uint32_t i = 0; i < head->n_tokens; i++) {
        ids[i] = (int32_t)tokens[i];
    }
    ids[head->n_tokens] = -1;
    if (gi_state_match(source, ids, head->n_tokens + 1, &ready) != head->n_tokens ||
        ready > head->n_rows || (head->n_rows == head->n_tokens && ready != head->n_rows)) {
        abort();
    }
}

static void read_all(const struct gi_state_shape *shape, const uint8_t *data, size_t size)
{
    const struct gi_source source = {.memory = data, .size = size, .name = (char *)"fuzz"};
    struct gi_state_head head;
    uint32_t tokens[N_CTX];
    uint8_t origins[N_CTX];
    uint32_t ready;
    gi_state_match(&source, (int32_t[]){1, 2}, 2, &ready);
    if (!gi_state_check(&source, shape, &head, NULL) ||
        !gi_state_read_tokens(&source, shape, &head, tokens, origins, NULL)) {
        return;
    }
    match(&source, &head, tokens);
    struct gi_sequence sequence = {
        .n_ctx = N_CTX, .n_past = head.n_tokens, .tokens = tokens, .origins = origins};
    rewrite(&source, shape, &head, tokens, origins);
    gi_sequence_limit_batches(&sequence, 7);
    for (uint32_t at = 0; at < head.n_tokens; at += gi_sequence_batch_at(&sequence, at)) {
        if (gi_sequence_batch_at(&sequence, at) > 7) {
            abort();
        }
    }
}

static void store_hash(uint8_t *at, const uint8_t *data, size_t size)
{
    struct gi_hash hash;
    gi_hash_init(&hash);
    for (size_t done = 0, n; done < size; done += n) {
        n = size - done < GI_STATE_BLOCK ? size - done : GI_STATE_BLOCK;
        gi_hash_add(&hash, data + done, n);
    }
    for (size_t i = 0; i < 8; i++) {
        at[i] = (uint8_t)(hash.lo >> 8 * i);
        at[8 + i] = (uint8_t)(hash.hi >> 8 * i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t body = GI_STATE_HEAD_SIZE, end = size - GI_STATE_HASH_SIZE;
    read_all(&shapes[0], data, size);
    read_all(&shapes[1], data, size);
    uint8_t *sealed = size >= body + GI_STATE_HASH_SIZE ? malloc(size) : NULL;
    if (sealed) {
        memcpy(sealed, data, size);
        store_hash(sealed + HEAD_HASHED, sealed, HEAD_HASHED);
        store_hash(sealed + end, sealed + body, end - body);
        read_all(&shapes[0], sealed, size);
        read_all(&shapes[1], sealed, size);
    }
    free(sealed);
    return 0;
}
