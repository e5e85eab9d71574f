// Sequences on their way between sessions: copied on the GPU, saved to a file or to memory, and
// loaded.
#include "base/arguments.h"
#include "base/array.h"
#include "engine/api/call.h"
#include "engine/session/saved/cache_rows.h"
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
        .states_size = gi_cache_states_size(hparams_of(session)),
        .n_vocab = session->model->hparams.n_vocab,
        .n_ctx = sequence->n_ctx,
    };
}

// Notes that the session holds the tokens of a state, whose notes are written, and their cache if
// the state has rows.
static void adopt(struct glinfer_session *session, const struct gi_state_head *head)
{
    struct gi_sequence *sequence = &session->sequence;
    sequence->n_past = head->n_tokens;
    sequence->n_shifted = head->n_shifted;
    sequence->pending = head->pending;
    sequence->is_stale = !head->has_rows && head->n_tokens > 0;
    sequence->n_sound = 0;
    sequence->n_state = head->has_rows ? head->n_tokens : GI_NO_STATE;
    sequence->n_copied = 0;
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
    gi_sequence_settle(&from->sequence);
    const bool has_rows = !source->is_stale && (!source->is_recurrent || n == source->n_state);
    if (has_rows &&
        !gi_cache_rows_copy(target, source, hparams_of(to), n, gi_session_gpu(to), err)) {
        gi_sequence_lose(target, 0);
        return false;
    }
    memcpy(target->tokens, source->tokens, n * sizeof(target->tokens[0]));
    memcpy(target->origins, source->origins, n * sizeof(target->origins[0]));
    const struct gi_state_head head = {
        .n_tokens = n, .pending = pending, .n_shifted = source->n_shifted, .has_rows = has_rows};
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
    return (struct gi_state_head){.n_tokens = sequence->n_past,
                                  .pending = sequence->pending,
                                  .n_shifted = sequence->n_shifted,
                                  .has_rows = !sequence->is_stale};
}

// Writes the whole to the writer's file or memory.
static bool write_state(struct glinfer_session *session, struct gi_state_writer *writer,
                        struct glinfer_error *err)
{
    const struct gi_sequence *sequence = &session->sequence;
    gi_sequence_settle(&session->sequence);
    const struct gi_state_shape shape = describe(session);
    const struct gi_state_head head = head_of(sequence);
    gi_state_write_begin(writer, &shape, &head, sequence->tokens, sequence->origins);
    if (head.has_rows) {
        gi_cache_rows_save(sequence, hparams_of(session), gi_session_gpu(session), writer);
    }
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
    gi_sequence_settle(&session->sequence);
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

// Takes the place of what the session held once all that can be checked was. If loading rows fails
// its own are lost, and are computed anew from the tokens.
static bool read_state(struct glinfer_session *session, const struct gi_source *source,
                       struct glinfer_error *err)
{
    struct gi_sequence *sequence = &session->sequence;
    const struct gi_state_shape shape = describe(session);
    struct gi_state_head head;
    if (!gi_state_check(source, &shape, &head, err)) {
        return false;
    }
    uint32_t *tokens;
    uint8_t *origins;
    bool ok = GI_ARRAYS_ZEROED("a saved session", err, GI_NEW(tokens, head.n_tokens),
                               GI_NEW(origins, head.n_tokens)) &&
              gi_state_read_tokens(source, &shape, &head, tokens, origins, err);
    if (ok && head.has_rows) {
        ok = gi_cache_rows_load(sequence, hparams_of(session), gi_session_gpu(session), source,
                                &head, err);
        if (!ok) {
            gi_sequence_lose(sequence, 0);
        }
    }
    if (ok) {
        memcpy(sequence->tokens, tokens, head.n_tokens * sizeof(tokens[0]));
        memcpy(sequence->origins, origins, head.n_tokens * sizeof(origins[0]));
        adopt(session, &head);
    }
    free(tokens);
    free(origins);
    return ok;
}

static bool load(struct glinfer_session *session, const struct gi_source *source,
                 struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!gi_call_begin(session, &saved, err)) {
        return false;
    }
    const bool ok = read_state(session, source, err);
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
    const bool ok = load(session, &source, err);
    gi_source_close(&source);
    return ok;
}

bool glinfer_session_load_memory(struct glinfer_session *session, const void *data, size_t size,
                                 struct glinfer_error *err)
{
    if (!GI_CHECK(err, GI_SET(session), GI_ARRAY(data, size))) {
        return false;
    }
    const struct gi_source source = {
        .memory = data, .size = size, .name = (char *)"a session in memory"};
    return load(session, &source, err);
}
