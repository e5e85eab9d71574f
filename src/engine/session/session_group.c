#include "engine/session/session_group.h"

#include "base/array.h"
#include "base/round.h"
#include "engine/model/model_info.h"
#include "engine/session/session.h"
#include "ops/gemm/batch_form.h"

#include <stdio.h>
#include <stdlib.h>

//-- sizes -----------------------------------------------------------------------------------------

// The sizes in bytes of all ranges of a group.
struct sizes {
    uint64_t session[GI_SESSION_RANGE_COUNT]; // of a session
    uint64_t joint[GI_JOINT_RANGE_COUNT];     // 0 in a group of one
    struct gi_session_kept kept;              // per layer of one session
};

static uint64_t kept_size(const struct gi_session_group *group, const struct sizes *sizes,
                          uint32_t layer)
{
    const struct gi_hparams *hparams = &group->model->hparams;
    return gi_memory_layer(hparams, layer) == layer
               ? sizes->kept.sizes[gi_layer_kind(hparams, layer)]
               : 0;
}

static bool reserve(struct gi_session_group *group, uint32_t n_ctx, uint64_t size,
                    struct glinfer_error *err)
{
    char who[64];
    if (group->n_slots > 1) {
        snprintf(who, sizeof(who), "%u sessions with a context of %u need", group->n_slots, n_ctx);
    } else {
        snprintf(who, sizeof(who), "a session with a context of %u needs", n_ctx);
    }
    if (!gi_model_reserve(group->model, size, GI_HOST_BYTES, who, "take a shorter context", err)) {
        return false;
    }
    group->reserved = size;
    return true;
}

// Refuses a context with a range that is too large to be bound whole.
static bool check_context(const struct gi_session_group *group, uint32_t n_ctx,
                          const struct sizes *sizes, struct glinfer_error *err)
{
    const uint64_t room = gi_arena_max_range(gi_gpu_limits(group->model->device->gpu));
    const struct gi_hparams *hparams = &group->model->hparams;
    uint64_t kept = 0;
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        kept = gi_max_u64(kept, kept_size(group, sizes, i));
    }
    uint64_t largest = group->n_slots > 1 ? group->n_slots * gi_slot_stride(kept) : kept;
    largest = gi_max_u64(largest, sizes->session[GI_SESSION_ATTENTION]);
    largest = gi_max_u64(largest, sizes->joint[GI_JOINT_ATTENTION]);
    largest = gi_max_u64(largest, sizes->session[GI_SESSION_VECTORS]);
    if (largest <= room) {
        return true;
    }
    const double mib = 1048576.0;
    return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                        "a context of %u needs %.0f MiB in one piece, and this device binds %.0f "
                        "MiB: take a shorter context, of about %.0f",
                        n_ctx, (double)largest / mib, (double)room / mib,
                        (double)n_ctx * ((double)room / (double)largest));
}

//-- memory ----------------------------------------------------------------------------------------

// Lists the sizes of all ranges in memory order: of sessions, joint steps, the cache.
static uint32_t list_sizes(const struct gi_session_group *group, const struct sizes *sizes,
                           uint64_t *all)
{
    const uint32_t n_layer = group->model->hparams.n_layer;
    uint32_t n = 0;
    for (uint32_t i = 0; i < GI_SESSION_RANGE_COUNT; i++) {
        all[n++] = gi_session_range_size(group->n_slots, i, sizes->session[i]);
    }
    for (uint32_t i = 0; group->n_slots > 1 && i < GI_JOINT_RANGE_COUNT; i++) {
        all[n++] = sizes->joint[i];
    }
    for (uint32_t i = 0; i < n_layer; i++) {
        all[n++] = gi_session_range_size(group->n_slots, GI_SESSION_RANGE_COUNT,
                                         kept_size(group, sizes, i));
    }
    return n;
}

static struct gi_slot_array make_array(struct gi_range range, uint64_t size)
{
    return (struct gi_slot_array){range, gi_slot_stride(size), size};
}

static void hand_out(struct gi_session_group *group, const struct sizes *sizes,
                     const struct gi_range *ranges)
{
    for (uint32_t i = 0; i < GI_SESSION_RANGE_COUNT; i++) {
        group->arrays[i] = make_array(*ranges++, sizes->session[i]);
        group->arrays[i].stride = i == GI_SESSION_VECTORS ? 0 : group->arrays[i].stride;
    }
    for (uint32_t i = 0; group->n_slots > 1 && i < GI_JOINT_RANGE_COUNT; i++) {
        group->joint_ranges[i] = *ranges++;
    }
    for (uint32_t i = 0; i < group->model->hparams.n_layer; i++, ranges++) {
        const struct gi_hparams *hparams = &group->model->hparams;
        const uint32_t own = gi_memory_layer(hparams, gi_cache_layer(hparams, i));
        group->kv[i] = own == i ? make_array(*ranges, kept_size(group, sizes, i)) : group->kv[own];
    }
}

// Allocates the ranges of all slots, followed by those of their caches. Uses a single buffer if its
// device prefers few buffers and can bind it whole.
static bool allocate(struct gi_session_group *group, uint32_t n_ctx, const struct sizes *sizes,
                     struct glinfer_error *err)
{
    struct gi_gpu *gpu = group->model->device->gpu;
    const uint32_t n_layer = group->model->hparams.n_layer;
    const uint32_t most = GI_SESSION_RANGE_COUNT + GI_JOINT_RANGE_COUNT + n_layer;
    uint64_t *all;
    struct gi_range *ranges;
    free(group->kv);
    bool ok = GI_ARRAYS_ZEROED("a session", err, GI_NEW(all, most), GI_NEW(ranges, most),
                               GI_NEW(group->kv, n_layer));
    struct gi_arena_request request = {.sizes = all, .n_wanted = 1, .label = "session"};
    if (ok) {
        request.n = list_sizes(group, sizes, all);
        ok = reserve(group, n_ctx, gi_arena_total(&request, gpu), err) &&
             gi_arena_place(&group->memory, gpu, &request, ranges, err);
    }
    if (ok) {
        hand_out(group, sizes, ranges);
    }
    free(all);
    free(ranges);
    return ok;
}

// Sets a layer's cache and the range of its state in a slot, which are empty if it has none. A
// layer that reads the keys of another layer has that layer's cache.
static void split_kept(const struct gi_session_group *group, const struct gi_session_kept *kept,
                       uint32_t layer, uint32_t slot, struct gi_kv_layer *cache,
                       struct gi_range *state)
{
    const struct gi_hparams *hparams = &group->model->hparams;
    const uint32_t own = gi_cache_layer(hparams, layer);
    const bool keeps_rows = gi_keeps_rows(hparams, own);
    const enum gi_layer_kind kind = gi_layer_kind(hparams, own);
    *cache = kept->kv[kind];
    const uint64_t size =
        kept->sizes[kind == GI_LAYER_WINDOW ? GI_LAYER_WINDOW : GI_LAYER_ATTENTION];
    *state = cache->range = gi_slot_range(&group->kv[layer], slot);
    cache->range.size = keeps_rows ? size : 0;
    state->size = gi_keeps_state(hparams, layer) ? kept->sizes[GI_LAYER_RECURRENT] : 0;
    state->offset += keeps_rows ? gi_slot_stride(size) : 0;
}

// Takes the caches that layers of cross-attention read from the session of the encoder, whose last
// layers they are.
static void read_encoder(const struct glinfer_session *session, struct gi_kv_layer *caches)
{
    const struct gi_hparams *hparams = &session->model->hparams;
    const struct gi_sequence *encoder = session->encoder ? &session->encoder->sequence : NULL;
    uint32_t next = encoder ? session->encoder->model->hparams.n_layer : 0;
    for (uint32_t i = hparams->n_layer; encoder && i-- > 0;) {
        if (gi_layer_kind(hparams, i) == GI_LAYER_CROSS) {
            caches[i] = encoder->cache[--next];
        }
    }
}

// Points the session's sequence and tables at its slots.
static bool give_slots(struct gi_session_group *group, struct glinfer_session *session,
                       const struct gi_session_kept *kept, struct glinfer_error *err)
{
    struct gi_recorder *recorder = &session->tables.recorder;
    struct gi_range ranges[GI_SESSION_RANGE_COUNT];
    const uint32_t n_layer = group->model->hparams.n_layer;
    struct gi_kv_layer *caches;
    struct gi_range *states;
    if (!GI_ARRAYS_ZEROED("a session", err, GI_NEW(caches, n_layer), GI_NEW(states, n_layer))) {
        return false;
    }
    for (uint32_t i = 0; i < n_layer; i++) {
        split_kept(group, kept, i, session->slot, &caches[i], &states[i]);
    }
    read_encoder(session, caches);
    for (uint32_t i = 0; i < GI_SESSION_RANGE_COUNT; i++) {
        ranges[i] = gi_slot_range(&group->arrays[i], session->slot);
    }
    gi_sequence_place(&session->sequence, caches, states);
    session->sequence.is_recurrent = gi_has_recurrence(&group->model->hparams);
    session->tables.graph.kv_cache = caches;
    session->tables.graph.states = states;
    gi_tables_init(&session->tables, ranges);
    recorder->movable = group->n_slots > 1 ? (struct gi_range){.buffer = group->memory.buffers}
                                           : ranges[GI_SESSION_VECTORS];
    recorder->n_later =
        (uint32_t)(group->memory.buffers + group->memory.n_buffers - 1 - recorder->movable.buffer);
    return true;
}

// Reduces an encoder's batch to a size that fits in a range.
static void fit_batch(const struct gi_session_group *group, struct gi_tables *tables,
                      struct gi_session_shape *shape)
{
    static const uint32_t rows[] = {
        GI_SESSION_X,    GI_SESSION_NORM,        GI_SESSION_QKV,          GI_SESSION_Q,
        GI_SESSION_ATTN, GI_SESSION_FFN_GATE_UP, GI_SESSION_FFN_ACT_ROWS, GI_SESSION_ADAPTER_ROWS};
    const uint64_t room = gi_arena_max_range(gi_gpu_limits(group->model->device->gpu));
    const struct gi_session_shape one = {shape->n_ctx, 1, shape->type_k, shape->type_v};
    struct sizes sizes = {0};
    uint64_t widest = 1;
    gi_session_layout(&tables->graph, &one, &sizes.kept, sizes.session);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        widest = gi_max_u64(widest, sizes.session[rows[i]]);
    }
    if (shape->n_batch > GI_MAX_BATCH && shape->n_batch * widest > room) {
        shape->n_batch = (uint32_t)gi_max_u64(room / widest, GI_MAX_BATCH);
        tables->n_batch = shape->n_batch;
    }
}

// Sets the sizes of smaller batches.
static void set_sizes(struct gi_tables *tables)
{
    _Static_assert((int)GI_BATCH_SIZES == (int)GI_LIST_PROMPT, "a list for each size");
    for (uint32_t list = 0, n_before = 0; list < GI_LIST_PROMPT; list++) {
        const uint32_t n = gi_batch_most_tokens(tables->recorder.gpu, list);
        n_before = n > n_before && n < tables->n_batch ? n : n_before;
        tables->n_most[list] = n_before;
    }
}

bool gi_session_group_place(struct gi_session_group *group, struct glinfer_session *session,
                            struct glinfer_error *err)
{
    const struct glinfer_model *model = group->model;
    struct gi_tables *tables = &session->tables;
    struct gi_session_shape shape = {
        .n_ctx = session->sequence.n_ctx,
        .n_batch = tables->n_batch,
        .type_k = (enum gi_cache_type)session->params.type_k,
        .type_v = (enum gi_cache_type)session->params.type_v,
    };
    const bool is_first = group->placed == 0;
    struct sizes sizes = {0};
    tables->graph.hparams = &model->hparams;
    tables->graph.weights = model->weights;
    tables->graph.qkv_layout = model->qkv_layout;
    tables->graph.norm_layout = model->norm_layout;
    fit_batch(group, tables, &shape);
    set_sizes(tables);
    gi_session_layout(&tables->graph, &shape, &sizes.kept, sizes.session);
    if (group->n_slots > 1) {
        gi_joint_layout(&tables->graph, sizes.session, group->n_slots, sizes.joint);
    }
    if (!check_context(group, shape.n_ctx, &sizes, err)) {
        return false;
    }
    group->placed |= 1u << session->slot;
    if ((is_first && !allocate(group, shape.n_ctx, &sizes, err)) ||
        !give_slots(group, session, &sizes.kept, err)) {
        return false;
    }
    if (is_first && group->n_slots > 1) {
        gi_joint_tables_init(&group->joint, tables, group->n_slots,
                             &group->arrays[GI_SESSION_STATE], &group->arrays[GI_SESSION_RING],
                             &group->arrays[GI_SESSION_ADJUST], &group->arrays[GI_SESSION_ADAPTER],
                             group->kv, group->joint_ranges);
    }
    return true;
}

void gi_session_group_release(struct gi_session_group *group, const struct glinfer_session *session)
{
    const uint32_t bit = 1u << session->slot;
    if (!(group->placed & bit)) {
        return;
    }
    group->placed &= ~bit;
    if (group->placed == 0) {
        gi_owned_destroy_all(&group->owned);
        gi_joint_tables_finish(&group->joint);
        gi_arena_finish(&group->memory, group->model->device->gpu);
        group->model->used -= group->reserved;
        group->reserved = 0;
    }
}

//-- life ------------------------------------------------------------------------------------------

struct gi_session_group *gi_session_group_create(struct glinfer_model *model, uint32_t n_slots,
                                                 struct glinfer_error *err)
{
    struct gi_session_group *group = gi_array_zeroed(1, sizeof(*group), "a session", err);
    if (group) {
        group->model = model;
        group->n_slots = n_slots;
    }
    return group;
}

void gi_session_group_leave(struct gi_session_group *group, const struct glinfer_session *session)
{
    bool has_others = false;
    group->sessions[session->slot] = NULL;
    for (uint32_t i = 0; i < group->n_slots; i++) {
        has_others = has_others || group->sessions[i];
        if (group->sessions[i] && group->joint.model) {
            // Recorded lists use the cache of one session, which may go; those of all slots have
            // one layout.
            group->joint.graph.kv_cache = group->sessions[i]->sequence.cache;
            group->joint.graph.states = group->sessions[i]->sequence.states;
        }
    }
    if (!has_others) {
        free(group->kv);
        free(group);
    }
}
