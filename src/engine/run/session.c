#include "engine/run/session.h"

#include "engine/run/generate.h"
#include "engine/run/score.h"
#include "engine/run/session_persistent.h"
#include "engine/run/session_tables.h"
#include "ops/gemm/batch_class.h"

#include <stdlib.h>
#include <string.h>

static struct glinfer_session_params take_params(const struct glinfer_session_params *params)
{
    struct glinfer_session_params own = {0};
    if (params) {
        const size_t size = params->struct_size < sizeof(own) ? params->struct_size : sizeof(own);
        memcpy(&own, params, size);
    }
    return own;
}

static bool check_params(const struct glinfer_model *model,
                         const struct glinfer_session_params *params, struct glinfer_error *err)
{
    if (params->n_batch > GI_MAX_BATCH || params->chain_length > GI_MAX_CHAIN) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a batch of %u or a chain of %u is too long: %u and %u are the most",
                            params->n_batch, params->chain_length, GI_MAX_BATCH, GI_MAX_CHAIN);
    }
    if (params->n_ctx > model->hparams.n_ctx_train) {
        gi_log_write(&model->device->log, GLINFER_LOG_WARN,
                     "a context of %u is more than the %u that the model was trained with",
                     params->n_ctx, model->hparams.n_ctx_train);
    }
    return true;
}

static bool takes_halves(const struct glinfer_model *model, enum glinfer_precision precision)
{
    // Quants and small activations are denormals.
    const struct gi_limits *limits = gi_gpu_limits(model->device->gpu);
    const bool has_half = limits->has_fast_half && limits->keeps_half_denormals;
    if (precision == GLINFER_PRECISION_F16 && !has_half) {
        gi_log_write(&model->device->log, GLINFER_LOG_WARN,
                     "%s has no fast 16-bit arithmetic: computing in f32",
                     gi_gpu_platform(model->device->gpu)->renderer);
    }
    return has_half && precision != GLINFER_PRECISION_F32;
}

//-- buffers -------------------------------------------------------------------------------------

void gi_session_hand_out_ranges(struct glinfer_session *session)
{
    struct gi_graph *graph = &session->graph;
    const struct gi_range *ranges = session->ranges;
    graph->stream.range = ranges[GI_SESSION_STREAM];
    graph->attention.range = ranges[GI_SESSION_ATTENTION];
    graph->row.range = ranges[GI_SESSION_ROW];
    graph->ffn_act = ranges[GI_SESSION_FFN_ACT];
    graph->logits.range = ranges[GI_SESSION_LOGITS];
    graph->vectors.range = ranges[GI_SESSION_VECTORS];
    graph->tokens = ranges[GI_SESSION_TOKENS];
    graph->x.range = ranges[GI_SESSION_X];
    graph->norm.range = ranges[GI_SESSION_NORM];
    graph->qkv.range = ranges[GI_SESSION_QKV];
    graph->q.range = ranges[GI_SESSION_Q];
    graph->attn.range = ranges[GI_SESSION_ATTN];
    graph->ffn_gate_up.range = ranges[GI_SESSION_FFN_GATE_UP];
    graph->ffn_act_rows.range = ranges[GI_SESSION_FFN_ACT_ROWS];
    graph->kv_cache = session->kv_cache;
    session->step_buffers = (struct gi_step_buffers){.state = ranges[GI_SESSION_STATE],
                                                     .ring = ranges[GI_SESSION_RING],
                                                     .counts = ranges[GI_SESSION_COUNTS]};
}

static bool reserve(struct glinfer_session *session, uint64_t size, struct glinfer_error *err)
{
    struct glinfer_model *model = session->model;
    if (model->mem_budget > 0 && model->used + size > model->mem_budget) {
        const double mib = 1048576.0;
        return gi_error_set(err, GLINFER_STATUS_OVER_BUDGET,
                            "a session with a context of %u needs %.0f MiB, of the budget of %.0f "
                            "MiB %.0f are left: take a shorter context",
                            session->n_ctx, (double)size / mib, (double)model->mem_budget / mib,
                            (double)(model->mem_budget - model->used) / mib);
    }
    session->reserved = size;
    model->used += size;
    return true;
}

static bool allocate(struct glinfer_session *session, const struct gi_kv_layer *kv,
                     uint64_t kv_size, const uint64_t sizes[GI_SESSION_RANGE_COUNT],
                     struct glinfer_error *err)
{
    struct gi_gpu *gpu = session->model->device->gpu;
    const uint32_t n_layer = session->model->hparams.n_layer;
    const uint32_t n_slots = n_layer + GI_SESSION_RANGE_COUNT;
    struct gi_arena_slot *slots = calloc(n_slots, sizeof(*slots));
    uint64_t *all = calloc(n_slots, sizeof(*all));
    const struct gi_arena_request request = {
        .sizes = all, .n = n_slots, .n_wanted = 1, .label = "session"};
    session->kv_cache = calloc(n_layer, sizeof(session->kv_cache[0]));
    bool ok = slots && all && session->kv_cache;
    if (!ok) {
        gi_error_no_memory(err, n_slots * sizeof(*slots), "a session");
    }
    for (uint32_t i = 0; ok && i < n_slots; i++) {
        all[i] = i < GI_SESSION_RANGE_COUNT ? sizes[i] : kv_size;
    }
    ok = ok && reserve(session, gi_arena_total(&request, gpu), err) &&
         gi_arena_place(&session->arena, gpu, &request, slots, err);
    for (uint32_t i = 0; ok && i < n_slots; i++) {
        const struct gi_range range = gi_arena_range(&session->arena, &slots[i]);
        if (i < GI_SESSION_RANGE_COUNT) {
            session->ranges[i] = range;
        } else {
            session->kv_cache[i - GI_SESSION_RANGE_COUNT] = *kv;
            session->kv_cache[i - GI_SESSION_RANGE_COUNT].range = range;
        }
    }
    free(all);
    free(slots);
    return ok;
}

// The ranges that grow with the context are bound whole.
static bool check_context(const struct glinfer_session *session, uint64_t kv_size,
                          const uint64_t sizes[GI_SESSION_RANGE_COUNT], struct glinfer_error *err)
{
    const uint64_t room = gi_arena_max_range(gi_gpu_limits(session->model->device->gpu));
    const uint64_t others[] = {sizes[GI_SESSION_ATTENTION], sizes[GI_SESSION_VECTORS]};
    uint64_t largest = kv_size;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        largest = others[i] > largest ? others[i] : largest;
    }
    if (largest <= room) {
        return true;
    }
    const double mib = 1048576.0;
    return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                        "a context of %u needs %.0f MiB in one piece, and this device binds %.0f "
                        "MiB: take a shorter context, of about %.0f",
                        session->n_ctx, (double)largest / mib, (double)room / mib,
                        (double)session->n_ctx * ((double)room / (double)largest));
}

static bool create_buffers(struct glinfer_session *session,
                           const struct glinfer_session_params *params, struct glinfer_error *err)
{
    const struct glinfer_model *model = session->model;
    const struct gi_session_shape shape = {
        .n_ctx = session->n_ctx,
        .n_batch = session->n_batch,
        .type_k = (enum gi_cache_type)params->type_k,
        .type_v = (enum gi_cache_type)params->type_v,
    };
    struct gi_kv_layer kv;
    uint64_t kv_size = 0, sizes[GI_SESSION_RANGE_COUNT];
    session->graph.hparams = &model->hparams;
    session->graph.weights = model->weights;
    session->graph.qkv_layout = model->qkv_layout;
    session->graph.norm_layout = model->norm_layout;
    gi_session_layout(&session->graph, &shape, &kv, &kv_size, sizes);
    if (!check_context(session, kv_size, sizes, err) ||
        !allocate(session, &kv, kv_size, sizes, err)) {
        return false;
    }
    gi_session_hand_out_ranges(session);
    for (int i = 0; i < GI_CHAINS_IN_FLIGHT; i++) {
        if (!gi_readback_init(&session->readbacks[i], model->device->gpu, GI_READBACK_SIZE, err)) {
            return false;
        }
    }
    return true;
}

static bool write_rotations(struct glinfer_session *session, const struct gi_rope_hparams *rope,
                            const float *factors, uint32_t offset, struct glinfer_error *err)
{
    const struct glinfer_model *model = session->model;
    const struct gi_range range = session->ranges[GI_SESSION_VECTORS];
    const uint32_t n_rot = model->hparams.n_rot;
    const uint64_t size = (uint64_t)session->n_ctx * n_rot * sizeof(float);
    float *table = malloc(size + sizeof(float));
    if (!table) {
        return gi_error_no_memory(err, size, "the table of rotations");
    }
    gi_rope_table_fill(rope, n_rot, factors, session->n_ctx, table);
    const bool ok =
        size == 0 || gi_buffer_write((struct gi_buffer *)range.buffer, model->device->gpu,
                                     range.offset + offset * sizeof(float), table, size, err);
    free(table);
    return ok;
}

// Norm weights and the tables of rotations.
static bool write_vectors(struct glinfer_session *session, struct glinfer_error *err)
{
    const struct glinfer_model *model = session->model;
    const struct gi_hparams *hparams = &model->hparams;
    const float *factors =
        session->n_ctx > hparams->rope.n_ctx_orig ? model->long_rope_factors : model->rope_factors;
    const struct gi_range range = session->ranges[GI_SESSION_VECTORS];
    return gi_buffer_write((struct gi_buffer *)range.buffer, model->device->gpu, range.offset,
                           model->norms, model->norm_layout.size * sizeof(float), err) &&
           write_rotations(session, &hparams->rope, factors, session->graph.rope.table, err) &&
           (!hparams->has_window_rope || write_rotations(session, &hparams->window_rope, NULL,
                                                         session->graph.window_rope.table, err));
}

//-- the session ---------------------------------------------------------------------------------

static void measure_tokens(struct glinfer_session *session)
{
    const struct gi_tokenizer *tokenizer = session->model->tokenizer.core;
    const size_t n = gi_tokenizer_size(tokenizer);
    for (size_t i = 0; i < n; i++) {
        const size_t size = gi_tokenizer_bytes(tokenizer, (int32_t)i).size;
        session->max_token_size = size > session->max_token_size ? size : session->max_token_size;
    }
    session->n_stop_ids = (uint32_t)gi_tokenizer_stop_ids(tokenizer, session->stop_ids);
}

static bool prepare_expected(struct glinfer_session *session,
                             const struct glinfer_session_params *params, struct glinfer_error *err)
{
    const struct glinfer_generate_params expected = gi_generation_params(params->expected);
    return !params->expected ||
           gi_session_prepare(
               session,
               gi_session_choose_tables(session, gi_session_choose_end(session, &expected),
                                        expected.n_prompt, (uint32_t)expected.n_predict > 1),
               params->progress, params->progress_user, err);
}

// What is asked for by name is compared with the ordinary steps at once.
static bool open_persistent(struct glinfer_session *session,
                            const struct glinfer_session_params *params, struct glinfer_error *err)
{
    const struct glinfer_generate_params expected = gi_generation_params(params->expected);
    const int end =
        params->expected ? (int)gi_session_choose_end(session, &expected) : GI_STEP_END_COUNT;
    const bool is_asked =
        gi_gpu_persistent(session->model->device->gpu)->mode == GI_PERSISTENT_AT_ONCE;
    return (!is_asked || !params->expected ||
            gi_session_prepare(session, gi_session_step_bit((enum gi_step_end)end),
                               params->progress, params->progress_user, err)) &&
           gi_session_open_persistent(session, end, err);
}

static bool build(struct glinfer_session *session, const struct glinfer_session_params *params,
                  struct glinfer_error *err)
{
    struct glinfer_device *device = session->model->device;
    return create_buffers(session, params, err) && write_vectors(session, err) &&
           gi_session_check_tables(session, err) && prepare_expected(session, params, err) &&
           open_persistent(session, params, err) &&
           gi_gpu_check(device->gpu, "creating a session", err);
}

struct glinfer_session *glinfer_session_create(struct glinfer_model *model,
                                               const struct glinfer_session_params *params,
                                               struct glinfer_error *err)
{
    const struct glinfer_session_params own = take_params(params);
    struct gi_platform_saved saved;
    if (!check_params(model, &own, err)) {
        return NULL;
    }
    struct glinfer_session *session = calloc(1, sizeof(*session));
    if (!session) {
        gi_error_no_memory(err, sizeof(*session), "a session");
        return NULL;
    }
    session->model = model;
    session->recorder = (struct gi_recorder){
        .gpu = model->device->gpu,
        .programs = model->device->programs,
        .tuning = model->device->tuning,
        .is_half = takes_halves(model, own.precision),
    };
    model->n_sessions++;
    session->n_ctx = own.n_ctx ? own.n_ctx : gi_default_context(&model->hparams);
    session->n_batch = own.n_batch ? own.n_batch : GI_DEFAULT_BATCH;
    session->n_few = gi_batch_few_tokens(model->device->gpu);
    session->n_few = session->n_few < session->n_batch ? session->n_few : 0;
    session->chain_length = own.chain_length;
    session->budget_ns = (own.max_batch_ms ? own.max_batch_ms : 100) * 1000000ull;
    session->pending = GI_NO_TOKEN;
    measure_tokens(session);
    bool ok = gi_gpu_enter(model->device->gpu, &saved, err);
    if (ok) {
        ok = build(session, &own, err);
        gi_gpu_leave(model->device->gpu, &saved);
    }
    if (!ok) {
        glinfer_session_destroy(&session);
    }
    return session;
}

static void release(struct glinfer_session *session)
{
    struct gi_gpu *gpu = session->model->device->gpu;
    gi_session_close_persistent(session);
    gi_session_destroy_tables(session);
    gi_scorer_destroy(session->scorer, gpu);
    for (int i = 0; i < GI_CHAINS_IN_FLIGHT; i++) {
        gi_readback_finish(&session->readbacks[i], gpu);
        gi_fence_finish(gpu, &session->batch_fences[i]);
    }
    gi_arena_finish(&session->arena, gpu);
}

void glinfer_session_destroy(struct glinfer_session **session)
{
    struct glinfer_session *self = session ? *session : NULL;
    if (!self) {
        return;
    }
    struct gi_platform_saved saved;
    if (gi_gpu_enter(self->model->device->gpu, &saved, NULL)) {
        release(self);
        gi_gpu_leave(self->model->device->gpu, &saved);
    }
    free(self->kv_cache);
    self->model->used -= self->reserved;
    self->model->n_sessions--;
    free(self);
    *session = NULL;
}

void glinfer_session_reset(struct glinfer_session *session)
{
    session->n_past = 0;
    session->pending = GI_NO_TOKEN;
}

size_t glinfer_session_rewind(struct glinfer_session *session, size_t n)
{
    const size_t n_pending = session->pending != GI_NO_TOKEN;
    if (n > session->n_past) {
        return session->n_past + n_pending;
    }
    session->n_past = (uint32_t)n;
    session->pending = GI_NO_TOKEN;
    return n;
}

void glinfer_session_cancel(struct glinfer_session *session)
{
    atomic_store(&session->is_cancelled, true);
}
