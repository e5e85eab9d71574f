#include "engine/session/saved/state_format.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/round.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// Places in the head.
enum {
    AT_VERSION = 8,
    AT_FLAGS = 12,
    AT_MODEL = 16,
    AT_TYPE_K = 32,
    AT_TYPE_V = 36,
    AT_N_TOKENS = 40,
    AT_PENDING = 44,
    AT_N_SHIFTED = 48,
    AT_ZEROS = 52,
    AT_HASH = 64,
};

enum { FLAG_HAS_ROWS = 1 };

static const uint8_t magic[AT_VERSION] = {'g', 'l', 'i', 's', 't', 'a', 't', 'e'};

//-- parts -----------------------------------------------------------------------------------------

static uint64_t tokens_size(const struct gi_state_head *head)
{
    return (uint64_t)head->n_tokens * sizeof(uint32_t);
}

static uint64_t rows_offset(const struct gi_state_head *head)
{
    return GI_STATE_HEAD_SIZE + tokens_size(head) + gi_round_up(head->n_tokens, 4);
}

uint64_t gi_state_size(const struct gi_state_shape *shape, const struct gi_state_head *head)
{
    const bool has_rows = head->has_rows && head->n_tokens > 0;
    const uint64_t rows =
        has_rows ? (uint64_t)head->n_tokens * shape->row_size + shape->states_size : 0;
    return rows_offset(head) + rows + GI_STATE_HASH_SIZE;
}

static void store_u32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(value >> 8 * i);
    }
}

static void store_hash(uint8_t *p, const struct gi_hash *hash)
{
    const uint64_t halves[] = {hash->lo, hash->hi};
    for (int i = 0; i < 4; i++) {
        store_u32(p + 4 * (size_t)i, (uint32_t)(halves[i / 2] >> 32 * (i % 2)));
    }
}

static bool is_hash(const uint8_t *p, const struct gi_hash *hash)
{
    return gi_load_u64(p) == hash->lo && gi_load_u64(p + 8) == hash->hi;
}

static struct gi_hash hash_head(const uint8_t *bytes)
{
    struct gi_hash hash;
    gi_hash_init(&hash);
    gi_hash_add(&hash, bytes, AT_HASH);
    return hash;
}

//-- the head --------------------------------------------------------------------------------------

static bool damaged(const struct gi_source *source, const char *what, struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: %s: the saved session is damaged, and has to be computed anew",
                        source->name, what);
}

static bool check_format(const struct gi_source *source, const uint8_t *bytes,
                         struct glinfer_error *err)
{
    const uint32_t version = gi_load_u32(bytes + AT_VERSION);
    if (memcmp(bytes, magic, sizeof(magic)) != 0) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE, "%s: not a saved session", source->name);
    }
    if (version != GI_STATE_VERSION) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: is a saved session of version %" PRIu32
                            ", this library reads version %u",
                            source->name, version, GI_STATE_VERSION);
    }
    const struct gi_hash hash = hash_head(bytes);
    return is_hash(bytes + AT_HASH, &hash) ||
           damaged(source, "the head does not match its hash", err);
}

static const char *name_type(uint32_t type)
{
    return type < GI_CACHE_TYPE_COUNT ? gi_cache_type_name((enum gi_cache_type)type)
                                      : "an unknown type";
}

static bool check_shape(const struct gi_source *source, const struct gi_state_shape *shape,
                        const uint8_t *bytes, struct glinfer_error *err)
{
    const uint32_t type_k = gi_load_u32(bytes + AT_TYPE_K), type_v = gi_load_u32(bytes + AT_TYPE_V);
    if (!is_hash(bytes + AT_MODEL, &shape->model)) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "%s: was saved with another model or other scales of its adapters",
                            source->name);
    }
    return (type_k == (uint32_t)shape->type_k && type_v == (uint32_t)shape->type_v) ||
           gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                        "%s: was saved with keys in %s and values in %s, the session has %s and "
                        "%s: create it with these types",
                        source->name, name_type(type_k), name_type(type_v),
                        name_type(shape->type_k), name_type(shape->type_v));
}

static bool read_head(const struct gi_source *source, const struct gi_state_shape *shape,
                      struct gi_state_head *head, struct glinfer_error *err)
{
    uint8_t bytes[GI_STATE_HEAD_SIZE];
    if (source->size < sizeof(bytes)) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: has %" PRIu64 " bytes, not enough for a saved session",
                            source->name, source->size);
    }
    if (!gi_source_read(source, 0, sizeof(bytes), bytes, err) ||
        !check_format(source, bytes, err) || !check_shape(source, shape, bytes, err)) {
        return false;
    }
    const uint32_t flags = gi_load_u32(bytes + AT_FLAGS);
    const uint32_t pending = gi_load_u32(bytes + AT_PENDING);
    *head = (struct gi_state_head){
        .n_tokens = gi_load_u32(bytes + AT_N_TOKENS),
        .pending = pending == UINT32_MAX ? GI_NO_TOKEN : (int32_t)(pending & INT32_MAX),
        .n_shifted = gi_load_u32(bytes + AT_N_SHIFTED),
        .has_rows = (flags & FLAG_HAS_ROWS) != 0,
    };
    const uint64_t zeros = gi_load_u64(bytes + AT_ZEROS) | gi_load_u32(bytes + AT_ZEROS + 8);
    if (flags > FLAG_HAS_ROWS || (pending != UINT32_MAX && pending >= shape->n_vocab) || zeros) {
        return damaged(source, "the head has an invalid field", err);
    }
    return head->n_tokens <= shape->n_ctx ||
           gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                        "%s: holds %" PRIu32 " tokens, the session's context %" PRIu32
                        ": ask for a larger context",
                        source->name, head->n_tokens, shape->n_ctx);
}

//-- reading ---------------------------------------------------------------------------------------

static bool check_body(const struct gi_source *source, uint8_t *block, struct glinfer_error *err)
{
    const uint64_t end = source->size - GI_STATE_HASH_SIZE;
    struct gi_hash hash;
    gi_hash_init(&hash);
    for (uint64_t at = GI_STATE_HEAD_SIZE, n; at < end; at += n) {
        n = end - at < GI_STATE_BLOCK ? end - at : GI_STATE_BLOCK;
        if (!gi_source_read(source, at, n, block, err)) {
            return false;
        }
        gi_hash_add(&hash, block, n);
    }
    return gi_source_read(source, end, GI_STATE_HASH_SIZE, block, err) &&
           (is_hash(block, &hash) || damaged(source, "the bytes do not match their hash", err));
}

bool gi_state_check(const struct gi_source *source, const struct gi_state_shape *shape,
                    struct gi_state_head *head, struct glinfer_error *err)
{
    if (!read_head(source, shape, head, err)) {
        return false;
    }
    const uint64_t size = gi_state_size(shape, head);
    if (source->size != size) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: has %" PRIu64 " bytes, a session of %" PRIu32 " tokens %" PRIu64
                            ": the saved session is %s",
                            source->name, source->size, head->n_tokens, size,
                            source->size < size ? "truncated" : "damaged");
    }
    uint8_t *block = gi_array_zeroed(GI_STATE_BLOCK, 1, "a block of a saved session", err);
    const bool ok = block && check_body(source, block, err);
    free(block);
    return ok;
}

bool gi_state_read_tokens(const struct gi_source *source, const struct gi_state_shape *shape,
                          const struct gi_state_head *head, uint32_t *tokens, uint8_t *origins,
                          struct glinfer_error *err)
{
    const uint64_t at = GI_STATE_HEAD_SIZE;
    if (!gi_source_read(source, at, tokens_size(head), tokens, err) ||
        !gi_source_read(source, at + tokens_size(head), head->n_tokens, origins, err)) {
        return false;
    }
    for (uint32_t i = 0; i < head->n_tokens; i++) {
        uint8_t bytes[sizeof(tokens[0])];
        memcpy(bytes, &tokens[i], sizeof(bytes));
        tokens[i] = gi_load_u32(bytes);
        if (tokens[i] >= shape->n_vocab || origins[i] > GI_ORIGIN_STEP) {
            return damaged(source, "a token or its origin is invalid", err);
        }
    }
    return true;
}

bool gi_state_read_rows(const struct gi_source *source, const struct gi_state_head *head,
                        uint64_t offset, size_t size, void *rows, struct glinfer_error *err)
{
    return gi_source_read(source, rows_offset(head) + offset, size, rows, err);
}

//-- writing ---------------------------------------------------------------------------------------

static void emit(struct gi_state_writer *writer, const void *data, size_t size)
{
    if (writer->failure.status) {
        return;
    }
    if (writer->file) {
        gi_new_file_write(writer->file, data, size, &writer->failure);
    } else {
        memcpy(writer->memory + writer->at, data, size);
        writer->at += size;
    }
}

static void emit_block(struct gi_state_writer *writer)
{
    if (writer->used > 0) {
        gi_hash_add(&writer->hash, writer->block, writer->used);
    }
    emit(writer, writer->block, writer->used);
    writer->used = 0;
}

void gi_state_write(struct gi_state_writer *writer, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t n; size > 0 && !writer->failure.status; size -= n, bytes += n) {
        const size_t room = GI_STATE_BLOCK - writer->used;
        n = size < room ? size : room;
        memcpy(writer->block + writer->used, bytes, n);
        writer->used += (uint32_t)n;
        if (writer->used == GI_STATE_BLOCK) {
            emit_block(writer);
        }
    }
}

static void write_head(struct gi_state_writer *writer, const struct gi_state_shape *shape,
                       const struct gi_state_head *head)
{
    uint8_t bytes[GI_STATE_HEAD_SIZE] = {0};
    memcpy(bytes, magic, sizeof(magic));
    store_u32(bytes + AT_VERSION, GI_STATE_VERSION);
    store_u32(bytes + AT_FLAGS, head->has_rows ? FLAG_HAS_ROWS : 0);
    store_hash(bytes + AT_MODEL, &shape->model);
    store_u32(bytes + AT_TYPE_K, shape->type_k);
    store_u32(bytes + AT_TYPE_V, shape->type_v);
    store_u32(bytes + AT_N_TOKENS, head->n_tokens);
    store_u32(bytes + AT_PENDING, (uint32_t)head->pending);
    store_u32(bytes + AT_N_SHIFTED, head->n_shifted);
    const struct gi_hash hash = hash_head(bytes);
    store_hash(bytes + AT_HASH, &hash);
    emit(writer, bytes, sizeof(bytes));
}

void gi_state_write_begin(struct gi_state_writer *writer, const struct gi_state_shape *shape,
                          const struct gi_state_head *head, const uint32_t *tokens,
                          const uint8_t *origins)
{
    static const uint8_t zeros[4] = {0};
    gi_hash_init(&writer->hash);
    writer->block =
        gi_array_zeroed(GI_STATE_BLOCK, 1, "a block of a saved session", &writer->failure);
    write_head(writer, shape, head);
    for (uint32_t i = 0; i < head->n_tokens; i++) {
        uint8_t bytes[4];
        store_u32(bytes, tokens[i]);
        gi_state_write(writer, bytes, sizeof(bytes));
    }
    const size_t padding = (4 - head->n_tokens % 4) % 4;
    gi_state_write(writer, origins, head->n_tokens);
    gi_state_write(writer, zeros, padding);
}

bool gi_state_write_end(struct gi_state_writer *writer, struct glinfer_error *err)
{
    uint8_t bytes[GI_STATE_HASH_SIZE];
    const struct glinfer_error *failure = &writer->failure;
    emit_block(writer);
    store_hash(bytes, &writer->hash);
    emit(writer, bytes, sizeof(bytes));
    return !failure->status || gi_error_pass(err, failure);
}

void gi_state_write_finish(struct gi_state_writer *writer)
{
    free(writer->block);
    *writer = (struct gi_state_writer){0};
}
