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
    AT_N_ROWS = 52,
    AT_N_CHECKPOINTS = 56,
    AT_ZEROS = 60,
    AT_HASH = 64,
};

enum { WITHOUT_CHECKPOINTS = 2 }; // the version that has flags

static const uint8_t magic[AT_VERSION] = {'g', 'l', 'i', 's', 't', 'a', 't', 'e'};

//-- parts -----------------------------------------------------------------------------------------

static uint64_t tokens_size(const struct gi_state_head *head)
{
    return (uint64_t)head->n_tokens * sizeof(uint32_t);
}

static uint64_t checkpoints_offset(const struct gi_state_head *head)
{
    return GI_STATE_HEAD_SIZE + tokens_size(head) + gi_round_up(head->n_tokens, 4);
}

static uint64_t rows_offset(const struct gi_state_head *head)
{
    return checkpoints_offset(head) + (uint64_t)head->n_checkpoints * sizeof(uint32_t);
}

uint64_t gi_state_size(const struct gi_state_shape *shape, const struct gi_state_head *head)
{
    const uint64_t rows = (uint64_t)head->n_rows * shape->row_size;
    const uint64_t n_states = head->n_rows > 0 ? (uint64_t)head->n_checkpoints + 1 : 0;
    return rows_offset(head) + rows + n_states * shape->states_size + GI_STATE_HASH_SIZE;
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
    if (version != GI_STATE_VERSION && version != WITHOUT_CHECKPOINTS) {
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

// Fills *head, except the checkpoints. Returns false if a field is invalid in any model.
static bool parse_head(const uint8_t *bytes, struct gi_state_head *head)
{
    const bool is_old = gi_load_u32(bytes + AT_VERSION) == WITHOUT_CHECKPOINTS;
    const uint32_t flags = gi_load_u32(bytes + AT_FLAGS);
    const uint32_t pending = gi_load_u32(bytes + AT_PENDING);
    const uint32_t n_rows = gi_load_u32(bytes + AT_N_ROWS);
    const uint32_t n_tokens = gi_load_u32(bytes + AT_N_TOKENS);
    *head = (struct gi_state_head){
        .n_tokens = n_tokens,
        .pending = pending == UINT32_MAX ? GI_NO_TOKEN : (int32_t)(pending & INT32_MAX),
        .n_shifted = gi_load_u32(bytes + AT_N_SHIFTED),
        .has_states = is_old || flags,
        .n_rows = is_old && flags ? n_tokens : n_rows,
        .n_checkpoints = gi_load_u32(bytes + AT_N_CHECKPOINTS),
    };
    const uint32_t most = is_old || !head->has_states ? 0 : GI_STATE_CHECKPOINTS;
    const uint32_t zeros = gi_load_u32(bytes + AT_ZEROS) | (is_old ? n_rows : 0);
    return flags <= 1 && zeros == 0 && (pending == UINT32_MAX || pending <= INT32_MAX) &&
           head->n_rows <= n_tokens && head->n_checkpoints <= most;
}

static bool load_head(const struct gi_source *source, uint8_t bytes[GI_STATE_HEAD_SIZE],
                      struct glinfer_error *err)
{
    if (source->size < GI_STATE_HEAD_SIZE) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: has %" PRIu64 " bytes, not enough for a saved session",
                            source->name, source->size);
    }
    return gi_source_read(source, 0, GI_STATE_HEAD_SIZE, bytes, err) &&
           check_format(source, bytes, err);
}

static bool read_head(const struct gi_source *source, const struct gi_state_shape *shape,
                      struct gi_state_head *head, struct glinfer_error *err)
{
    uint8_t bytes[GI_STATE_HEAD_SIZE] = {0};
    if (!load_head(source, bytes, err) || !check_shape(source, shape, bytes, err)) {
        return false;
    }
    const bool is_sound = parse_head(bytes, head);
    const bool is_old = gi_load_u32(bytes + AT_VERSION) == WITHOUT_CHECKPOINTS;
    if (!is_sound || head->pending >= (int64_t)shape->n_vocab ||
        (!is_old && head->has_states != (shape->states_size > 0))) {
        return damaged(source, "the head has an invalid field", err);
    }
    head->has_states = shape->states_size > 0;
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

static bool read_checkpoints(const struct gi_source *source, struct gi_state_head *head,
                             struct glinfer_error *err)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < head->n_checkpoints; i++) {
        uint8_t bytes[sizeof(uint32_t)] = {0};
        if (!gi_source_read(source, checkpoints_offset(head) + i * sizeof(bytes), sizeof(bytes),
                            bytes, err)) {
            return false;
        }
        const uint32_t n = gi_load_u32(bytes);
        if (n <= last || n > head->n_rows) {
            return damaged(source, "a checkpoint has an invalid place", err);
        }
        head->checkpoints[i] = last = n;
    }
    return true;
}

uint32_t gi_state_ready(const struct gi_state_head *head, uint32_t n)
{
    if (n >= head->n_rows || !head->has_states) {
        return n < head->n_rows ? n : head->n_rows;
    }
    uint32_t ready = 0;
    for (uint32_t i = 0; i < head->n_checkpoints && head->checkpoints[i] <= n; i++) {
        ready = head->checkpoints[i];
    }
    return ready;
}

uint32_t gi_state_match(const struct gi_source *source, const int32_t *ids, size_t n,
                        uint32_t *n_ready)
{
    uint8_t bytes[GI_STATE_HEAD_SIZE] = {0};
    struct gi_state_head head;
    uint32_t i = 0;
    *n_ready = 0;
    if (!load_head(source, bytes, NULL) || !parse_head(bytes, &head) ||
        source->size < rows_offset(&head) || !read_checkpoints(source, &head, NULL)) {
        return 0;
    }
    for (; i < n && i < head.n_tokens; i++) {
        uint8_t token[sizeof(uint32_t)] = {0};
        if (!gi_source_read(source, GI_STATE_HEAD_SIZE + i * sizeof(token), sizeof(token), token,
                            NULL) ||
            gi_load_u32(token) != (uint32_t)ids[i]) {
            break;
        }
    }
    *n_ready = gi_state_ready(&head, i);
    const bool is_pending =
        i == head.n_tokens && i < n && head.pending != GI_NO_TOKEN && ids[i] == head.pending;
    *n_ready += is_pending && *n_ready == i;
    return i + is_pending;
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
    const bool ok = block && check_body(source, block, err) && read_checkpoints(source, head, err);
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
    store_u32(bytes + AT_FLAGS, shape->states_size > 0);
    store_hash(bytes + AT_MODEL, &shape->model);
    store_u32(bytes + AT_TYPE_K, shape->type_k);
    store_u32(bytes + AT_TYPE_V, shape->type_v);
    store_u32(bytes + AT_N_TOKENS, head->n_tokens);
    store_u32(bytes + AT_PENDING, (uint32_t)head->pending);
    store_u32(bytes + AT_N_SHIFTED, head->n_shifted);
    store_u32(bytes + AT_N_ROWS, head->n_rows);
    store_u32(bytes + AT_N_CHECKPOINTS, head->n_checkpoints);
    const struct gi_hash hash = hash_head(bytes);
    store_hash(bytes + AT_HASH, &hash);
    emit(writer, bytes, sizeof(bytes));
}

static void write_numbers(struct gi_state_writer *writer, const uint32_t *numbers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t bytes[4];
        store_u32(bytes, numbers[i]);
        gi_state_write(writer, bytes, sizeof(bytes));
    }
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
    write_numbers(writer, tokens, head->n_tokens);
    const size_t padding = (4 - head->n_tokens % 4) % 4;
    gi_state_write(writer, origins, head->n_tokens);
    gi_state_write(writer, zeros, padding);
    write_numbers(writer, head->checkpoints, head->n_checkpoints);
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
