// Sequences on their way between sessions: copied on the GPU, saved to a file or to memory, and
// loaded.
#include "base/arguments.h"
#include "base/array.h"
#include "engine/api/call.h"
#include "engine/session/saved/cache_rows.h"
#include "engine/session/saved/checkpoints.h"
#include "engine/session/session.h"
#include "engine/session/step_executors.h"

#include <stdlib.h>
#include <string.h>

static const struct gi_hparams *hparams_of(const struct glinfer_session *session)
{
    return &session->model->hparams;
}

// The identity of the model includes its active adapters, on which the cache depends.
static struct gi_state_shape describe(const struct glinfer_session *session)
{
    const struct gi_sequence *sequence = &session->sequence;
    struct gi_hash model = session->model->identity;
    gi_model_adapters_identify(&session->model->adapters, session->adapter_scales, &model);
    return (struct gi_state_shape){
        .model = model,
        .type_k = sequence->cache[0].type_k,
        .type_v = sequence->cache[0].type_v,
        .row_size = gi_cache_rows_size(sequence, hparams_of(session)),
        .states_size = gi_states_size(hparams_of(session)),
        .n_vocab = session->model->hparams.n_vocab,
        .n_ctx = sequence->n_ctx,
    };
}

// Notes that the session holds the tokens of a state, whose notes are written, and the cache and
// the states of its rows.
static void adopt(struct glinfer_session *session, const struct gi_state_head *head)
{
    const uint32_t n_rows = head->n_rows;
    struct gi_sequence *sequence = &session->sequence;
    sequence->n_past = head->n_tokens;
    sequence->n_shifted = head->n_shifted;
    sequence->pending = head->pending;
    sequence->is_stale = n_rows < head->n_tokens;
    sequence->n_sound = n_rows;
    sequence->n_state = n_rows > 0 || head->n_tokens == 0 ? n_rows : GI_NO_STATE;
    if (sequence->is_stale) {
        gi_checkpoints_copy(session, n_rows);
    }
    session->broken.is_there = false;
    gi_sequence_limit_batches(sequence, session->tables.n_batch);
}

//-- copy ------------------------------------------------------------------------------------------

size_t glinfer_session_match(const struct glinfer_session *session, const int32_t *ids, size_t n)
{
    if (!session || !ids) {
        return 0;
    }
    const struct gi_sequence *sequence = &session->sequence;
    size_t i = 0;
    while (i < n && i < sequence->n_past && (uint32_t)ids[i] == sequence->tokens[i]) {
        i++;
    }
    return i + (i == sequence->n_past && i < n && sequence->pending != GI_NO_TOKEN &&
                ids[i] == sequence->pending);
}

static bool check_pair(const struct glinfer_session *to, const struct glinfer_session *from,
                       size_t n, struct glinfer_error *err)
{
    const struct gi_kv_layer *a = to->sequence.cache, *b = from->sequence.cache;
    if (to == from || to->model != from->model) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a session is copied to another one of the same model");
    }
    if (a->type_k != b->type_k || a->type_v != b->type_v) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a session with keys in %s and values in %s cannot be copied to one "
                            "with %s and %s",
                            gi_cache_type_name(b->type_k), gi_cache_type_name(b->type_v),
                            gi_cache_type_name(a->type_k), gi_cache_type_name(a->type_v));
    }
    return n <= to->sequence.n_ctx ||
           gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                        "%zu tokens do not fit into a context of %u: copy fewer or ask for a "
                        "larger context",
                        n, to->sequence.n_ctx);
}

static bool copy(struct glinfer_session *to, struct glinfer_session *from, uint32_t n,
                 int32_t pending, struct glinfer_error *err)
{
    struct gi_sequence *target = &to->sequence;
    const struct gi_sequence *source = &from->sequence;
    if (!gi_session_check_idle(from, err) || !gi_step_executors_settle(from, false, err)) {
        return false;
    }
    if (!gi_session_set_scales(to, from->adapter_scales, err)) {
        return false;
    }
    const bool is_now = !source->is_stale && source->n_state == n;
    const uint32_t n_rows = gi_sequence_ready(source, n);
    gi_sequence_lose(target, 0);
    if (!gi_cache_rows_copy(target, source, hparams_of(to), n_rows, gi_session_gpu(to), err)) {
        return false;
    }
    if (n_rows > 0 && source->is_recurrent && !is_now) {
        gi_checkpoints_take(to, source, n_rows);
    }
    memcpy(target->tokens, source->tokens, n * sizeof(target->tokens[0]));
    memcpy(target->origins, source->origins, n * sizeof(target->origins[0]));
    const struct gi_state_head head = {
        .n_tokens = n, .pending = pending, .n_shifted = source->n_shifted, .n_rows = n_rows};
    adopt(to, &head);
    return true;
}

bool glinfer_session_copy(struct glinfer_session *to, struct glinfer_session *from, size_t n,
                          struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(to), GI_SET(from))) {
        return false;
    }
    const uint32_t n_past = from->sequence.n_past;
    const int32_t pending = n > n_past ? from->sequence.pending : GI_NO_TOKEN;
    n = n < n_past ? n : n_past;
    if (!check_pair(to, from, n, err) || !gi_call_begin(to, &saved, err)) {
        return false;
    }
    const bool ok = copy(to, from, (uint32_t)n, pending, err);
    gi_call_leave(to, &saved);
    return ok;
}

//-- save ------------------------------------------------------------------------------------------

static struct gi_state_head head_of(const struct gi_sequence *sequence)
{
    struct gi_state_head head = {.n_tokens = sequence->n_past,
                                 .pending = sequence->pending,
                                 .n_shifted = sequence->n_shifted,
                                 .n_rows = gi_sequence_ready(sequence, sequence->n_past)};
    for (uint32_t n = 0; (n = gi_sequence_next_checkpoint(sequence, n)) > 0 && n <= head.n_rows;) {
        head.checkpoints[head.n_checkpoints++] = n;
    }
    return head;
}

// Writes the whole to the writer's file or memory.
static bool write_state(struct glinfer_session *session, struct gi_state_writer *writer,
                        struct glinfer_error *err)
{
    const struct gi_sequence *sequence = &session->sequence;
    const struct gi_state_shape shape = describe(session);
    const struct gi_state_head head = head_of(sequence);
    gi_checkpoints_return(session);
    gi_state_write_begin(writer, &shape, &head, sequence->tokens, sequence->origins);
    gi_cache_rows_save(sequence, hparams_of(session), gi_session_gpu(session), &head, writer);
    const bool ok = gi_state_write_end(writer, err);
    gi_state_write_finish(writer);
    return ok;
}

bool glinfer_session_save(struct glinfer_session *session, const char *path,
                          struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    struct gi_new_file file;
    if (!GI_CHECK(err, GI_SET(session), GI_SET(path)) || !gi_call_begin(session, &saved, err)) {
        return false;
    }
    struct gi_state_writer writer = {.file = &file};
    const bool ok = gi_new_file_open(&file, path, err) && write_state(session, &writer, err) &&
                    gi_new_file_commit(&file, err);
    gi_new_file_close(&file);
    gi_call_leave(session, &saved);
    return ok;
}

bool glinfer_session_save_memory(struct glinfer_session *session, void *data, size_t cap,
                                 size_t *size, struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(session), GI_SET(size), GI_ARRAY(data, cap)) ||
        !gi_device_is_free(session->model->device, err) || !gi_session_check_idle(session, err)) {
        return false;
    }
    const struct gi_state_shape shape = describe(session);
    const struct gi_state_head head = head_of(&session->sequence);
    const uint64_t needed = gi_state_size(&shape, &head);
    if (needed > SIZE_MAX) {
        return gi_error_no_memory(err, SIZE_MAX, "a saved session");
    }
    *size = (size_t)needed;
    if (cap == 0) {
        return true;
    }
    if (cap < needed) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the saved session takes %zu bytes, there is room for %zu", *size, cap);
    }
    if (!gi_call_begin(session, &saved, err)) {
        return false;
    }
    struct gi_state_writer writer = {.memory = data};
    const bool ok = write_state(session, &writer, err);
    gi_call_leave(session, &saved);
    return ok;
}

//-- load ------------------------------------------------------------------------------------------

// Reads the cache of the head's tokens, which is that of the first ones of the whole state.
static bool read_rows(struct glinfer_session *session, const struct gi_source *source,
                      const struct gi_state_head *whole, struct gi_state_head *head,
                      struct glinfer_error *err)
{
    struct gi_sequence *sequence = &session->sequence;
    head->n_rows = gi_state_ready(whole, head->n_tokens);
    gi_sequence_lose(sequence, 0);
    gi_checkpoints_expect(session, whole, head->n_rows);
    if (!gi_cache_rows_load(sequence, hparams_of(session), gi_session_gpu(session), source, whole,
                            head->n_rows, err)) {
        gi_sequence_lose(sequence, 0);
        return false;
    }
    if (sequence->is_recurrent && head->n_rows > 0 && head->n_rows < whole->n_rows) {
        gi_checkpoints_take(session, sequence, head->n_rows);
    }
    return true;
}

// Takes the place of what the session held once all that can be checked was. Keeps n tokens. If
// loading rows fails its own are lost, and are computed anew from the tokens.
static bool read_state(struct glinfer_session *session, const struct gi_source *source, size_t n,
                       struct glinfer_error *err)
{
    struct gi_sequence *sequence = &session->sequence;
    const struct gi_state_shape shape = describe(session);
    struct gi_state_head whole, head;
    if (!gi_state_check(source, &shape, &whole, err)) {
        return false;
    }
    head = whole;
    if (n <= whole.n_tokens) {
        head.n_tokens = (uint32_t)n;
        head.pending = GI_NO_TOKEN;
    }
    uint32_t *tokens;
    uint8_t *origins;
    bool ok = GI_ARRAYS_ZEROED("a saved session", err, GI_NEW(tokens, whole.n_tokens),
                               GI_NEW(origins, whole.n_tokens)) &&
              gi_state_read_tokens(source, &shape, &whole, tokens, origins, err) &&
              read_rows(session, source, &whole, &head, err);
    if (ok) {
        memcpy(sequence->tokens, tokens, head.n_tokens * sizeof(tokens[0]));
        memcpy(sequence->origins, origins, head.n_tokens * sizeof(origins[0]));
        adopt(session, &head);
    }
    free(tokens);
    free(origins);
    return ok;
}

static bool load(struct glinfer_session *session, const struct gi_source *source, size_t n,
                 struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!gi_call_begin(session, &saved, err)) {
        return false;
    }
    const bool ok = read_state(session, source, n, err);
    gi_call_leave(session, &saved);
    return ok;
}

bool glinfer_session_load(struct glinfer_session *session, const char *path,
                          struct glinfer_error *err)
{
    struct gi_source source;
    if (!GI_CHECK(err, GI_SET(session), GI_SET(path)) ||
        !gi_source_open(&source, GI_SOURCE_PATH(path), err)) {
        return false;
    }
    const bool ok = load(session, &source, SIZE_MAX, err);
    gi_source_close(&source);
    return ok;
}

static struct gi_source in_memory(const void *data, size_t size)
{
    return (struct gi_source){.memory = data, .size = size, .name = (char *)"a session in memory"};
}

bool glinfer_session_load_memory(struct glinfer_session *session, const void *data, size_t size,
                                 struct glinfer_error *err)
{
    const struct gi_source source = in_memory(data, size);
    return GI_CHECK(err, GI_SET(session), GI_ARRAY(data, size)) &&
           load(session, &source, SIZE_MAX, err);
}

bool glinfer_session_load_prefix(struct glinfer_session *session, const void *data, size_t size,
                                 size_t n, struct glinfer_error *err)
{
    const struct gi_source source = in_memory(data, size);
    return GI_CHECK(err, GI_SET(session), GI_ARRAY(data, size)) && load(session, &source, n, err);
}

//-- what is reused --------------------------------------------------------------------------------

size_t glinfer_session_ready(const struct glinfer_session *session, size_t n)
{
    if (!session) {
        return 0;
    }
    const struct gi_sequence *sequence = &session->sequence;
    const uint32_t most = n < sequence->n_past ? (uint32_t)n : sequence->n_past;
    const uint32_t ready = gi_sequence_ready(sequence, most);
    return ready + (ready == sequence->n_past && n > ready && sequence->pending != GI_NO_TOKEN);
}

size_t glinfer_session_tokens(const struct glinfer_session *session, int32_t *ids, size_t cap)
{
    if (!session || (!ids && cap > 0)) {
        return 0;
    }
    const struct gi_sequence *sequence = &session->sequence;
    for (size_t i = 0; i < cap && i < sequence->n_past; i++) {
        ids[i] = (int32_t)sequence->tokens[i];
    }
    if (sequence->pending != GI_NO_TOKEN && sequence->n_past < cap) {
        ids[sequence->n_past] = sequence->pending;
    }
    return sequence->n_past + (size_t)(sequence->pending != GI_NO_TOKEN);
}

size_t glinfer_saved_match(const void *data, size_t size, const int32_t *ids, size_t n,
                           size_t *n_ready)
{
    const struct gi_source source = in_memory(data, size);
    uint32_t ready = 0;
    const size_t n_match = data && ids ? gi_state_match(&source, ids, n, &ready) : 0;
    if (n_ready) {
        *n_ready = ready;
    }
    return n_match;
}
