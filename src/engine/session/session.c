#include "engine/session/session.h"

#include "base/array.h"
#include "base/round.h"
#include "engine/session/samplers.h"
#include "engine/session/saved/checkpoints.h"
#include "engine/session/step_executors.h"
#include "engine/session/verify.h"
#include "gpu/memory/unbind.h"
#include "sampler/sampler.h"

#include <stdlib.h>
#include <string.h>

static void warn_of_context(const struct glinfer_model *model, uint32_t n_ctx)
{
    if (n_ctx > model->hparams.n_ctx_train) {
        gi_log_write(&model->device->log, GLINFER_LOG_WARN,
                     "a context of %u is more than the %u that the model was trained with", n_ctx,
                     model->hparams.n_ctx_train);
    }
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

static bool create_buffers(struct glinfer_session *session, struct glinfer_error *err)
{
    const struct gi_step_buffers *buffers = &session->tables.step_buffers;
    const uint32_t ms = session->params.max_batch_ms ? session->params.max_batch_ms : 100;
    if (!gi_session_group_place(session->group, session, err) ||
        !gi_runner_init(&session->runner, gi_session_gpu(session), buffers->state, buffers->ring,
                        err)) {
        return false;
    }
    gi_runner_set_budget(&session->runner, ms * UINT64_C(1000000));
    return true;
}

// Writes n floats to the session's vectors, from float `at` on.
static bool write_vectors(const struct glinfer_session *session, uint64_t at, const float *values,
                          uint64_t n, struct glinfer_error *err)
{
    const struct gi_range *range = &session->tables.ranges[GI_SESSION_VECTORS];
    return n == 0 ||
           gi_buffer_write(range->buffer, gi_session_gpu(session),
                           range->offset + at * sizeof(float), values, n * sizeof(float), err);
}

static bool write_rotations(const struct glinfer_session *session,
                            const struct gi_rope_hparams *rope, const float *factors,
                            const struct gi_rope *table_of, struct glinfer_error *err)
{
    const uint32_t n_ctx = session->sequence.n_ctx;
    const uint64_t n = (uint64_t)n_ctx * table_of->n_rot;
    float *table = gi_array_zeroed(n, sizeof(*table), "the table of rotations", err);
    if (!table) {
        return false;
    }
    gi_rope_table_fill(rope, table_of->n_rot, factors, n_ctx, table);
    const bool ok = write_vectors(session, table_of->table, table, n, err);
    free(table);
    return ok;
}

// Writes the norm weights, the tables of rotations and, for an encoder, the vectors that it adds to
// embeddings, of positions that it knows.
static bool fill_vectors(const struct glinfer_session *session, struct glinfer_error *err)
{
    const struct glinfer_model *model = session->model;
    const struct gi_hparams *hparams = &model->hparams;
    const struct gi_graph *graph = &session->tables.graph;
    const uint32_t n_ctx = session->sequence.n_ctx;
    const float *factors =
        n_ctx > hparams->rope.n_ctx_orig ? model->long_rope_factors : model->rope_factors;
    const uint64_t n_position = model->positions ? gi_min_u32(n_ctx, hparams->n_ctx_train) : 0;
    return write_vectors(session, 0, model->norms, model->norm_layout.size, err) &&
           write_vectors(session, graph->positions, model->positions, n_position * hparams->n_embd,
                         err) &&
           write_rotations(session, &hparams->rope, factors, &graph->rope, err) &&
           (!hparams->has_window_rope ||
            write_rotations(session, &hparams->window_rope, NULL, &graph->window_rope, err));
}

// Writes the scale of each column of adapters to all ranges that have a copy.
static bool write_scales(struct glinfer_session *session, struct glinfer_error *err)
{
    const struct glinfer_model *model = session->model;
    const struct gi_adapters *adapters = &session->tables.graph.adapters;
    const uint32_t n = model->hparams.adapter_rank;
    const struct {
        enum gi_session_range range;
        uint32_t at;
    } copies[] = {{GI_SESSION_ADAPTER, 0},
                  {GI_SESSION_STREAM, adapters->stream},
                  {GI_SESSION_ATTENTION, adapters->attention},
                  {GI_SESSION_FFN_ACT, adapters->ffn_act}};
    float columns[GI_MAX_ADAPTER_RANK];
    bool ok = true;
    gi_model_adapters_fill(&model->adapters, session->adapter_scales, n, columns);
    for (size_t i = 0; ok && n > 0 && i < sizeof(copies) / sizeof(copies[0]); i++) {
        const struct gi_range *range = &session->tables.ranges[copies[i].range];
        ok = gi_buffer_write(range->buffer, gi_session_gpu(session),
                             range->offset + copies[i].at * sizeof(float), columns,
                             n * sizeof(float), err);
    }
    session->has_scales = ok;
    return ok;
}

//-- the session ---------------------------------------------------------------------------------

static void measure_tokens(struct glinfer_session *session)
{
    const struct gi_tokenizer *tokenizer = session->model->tokenizer.core;
    if (!tokenizer) { // of a tower
        return;
    }
    const size_t n = gi_tokenizer_size(tokenizer);
    for (size_t i = 0; i < n; i++) {
        const size_t size = gi_tokenizer_bytes(tokenizer, (int32_t)i).size;
        session->max_token_size = size > session->max_token_size ? size : session->max_token_size;
    }
    session->n_stop_ids = (uint32_t)gi_tokenizer_stop_ids(tokenizer, session->stop_ids);
}

bool gi_session_prepare(struct glinfer_session *session,
                        const struct glinfer_generate_params *params, bool has_steps,
                        bool is_patient, struct glinfer_error *err)
{
    const enum gi_step_end end = gi_samplers_choose_end(params);
    const uint32_t lists = gi_tables_choose(&session->tables, end, params->n_prompt, has_steps);
    return gi_tables_prepare(&session->tables, lists, params->progress, params->progress_user,
                             err) &&
           (!has_steps || (gi_step_executors_prepare(session, end, is_patient, params->progress,
                                                     params->progress_user, err) &&
                           gi_verifier_prepare(session, params, end, err)));
}

// Sets what lists are recorded with.
static void init_tables(struct glinfer_session *session)
{
    const struct glinfer_model *model = session->model;
    struct gi_tables *tables = &session->tables;
    tables->model = model;
    tables->recorder = (struct gi_recorder){
        .gpu = model->device->gpu,
        .programs = model->device->programs,
        .tuning = model->device->tuning,
        .is_half = takes_halves(model, session->params.precision),
        .packs_rows = session->params.precision != GLINFER_PRECISION_F32 &&
                      model->hparams.adapter_rank == 0 &&
                      gi_gpu_class(model->device->gpu)->packs_rows,
    };
    tables->n_batch = gi_default_batch(&model->hparams, session->sequence.n_ctx,
                                       gi_gpu_class(model->device->gpu)->max_batch);
    if (session->params.n_batch > 0 && session->params.n_batch < tables->n_batch) {
        tables->n_batch = session->params.n_batch;
    }
}

static bool build(struct glinfer_session *session, const struct glinfer_session_params *params,
                  struct glinfer_error *err)
{
    init_tables(session);
    return create_buffers(session, err) && fill_vectors(session, err) &&
           write_scales(session, err) && gi_tables_check(&session->tables, err) &&
           gi_step_executors_open(session, err) &&
           (!params->expected ||
            gi_session_prepare(session, params->expected, (uint32_t)params->expected->n_predict > 1,
                               false, err)) &&
           gi_gpu_check(gi_session_gpu(session), "creating a session", err);
}

// Adds a session without memory to the model and to a slot of the group.
static struct glinfer_session *add(struct gi_session_group *group, uint32_t slot,
                                   const struct glinfer_session_params *params,
                                   struct glinfer_error *err)
{
    struct glinfer_model *model = group->model;
    struct glinfer_session *session = gi_array_zeroed(1, sizeof(*session), "a session", err);
    if (!session) {
        return NULL;
    }
    session->model = model;
    session->group = group;
    session->slot = slot;
    session->params = *params;
    session->params.expected = NULL; // it lives during the call
    for (uint32_t i = 0; i < model->adapters.n; i++) {
        session->adapter_scales[i] = model->adapters.data[i].scale;
    }
    session->next = model->sessions;
    model->sessions = session;
    group->sessions[slot] = session;
    session->chain_length = params->chain_length;
    session->gpu_duty = params->gpu_duty ? params->gpu_duty : 100;
    measure_tokens(session);
    return session;
}

bool gi_sessions_create(struct glinfer_model *model, const struct glinfer_session_params *params,
                        struct glinfer_session *encoder, uint32_t n,
                        struct glinfer_session **sessions, struct glinfer_error *err)
{
    struct gi_session_group *group = gi_session_group_create(model, n, err);
    if (!group) {
        return false;
    }
    const uint32_t n_ctx = params->n_ctx ? params->n_ctx : gi_default_context(&model->hparams);
    struct gi_platform_saved saved;
    uint32_t n_made = 0;
    bool ok = true;
    for (; ok && n_made < n; n_made += sessions[n_made] != NULL) {
        sessions[n_made] = add(group, n_made, params, err);
        if (sessions[n_made]) {
            sessions[n_made]->encoder = encoder;
        }
        ok = sessions[n_made] && gi_sequence_init(&sessions[n_made]->sequence, n_ctx, err);
    }
    if (n_made == 0) {
        free(group);
    }
    ok = ok && gi_device_enter(model->device, &saved, err);
    if (ok) {
        warn_of_context(model, params->n_ctx);
        for (uint32_t i = 0; ok && i < n; i++) {
            ok = build(sessions[i], params, err);
        }
        gi_device_leave(model->device, &saved);
    }
    for (uint32_t i = 0; !ok && i < n_made; i++) {
        sessions[i]->is_doomed = true;
        sessions[i] = NULL;
    }
    return ok;
}

bool gi_session_set_keys(struct glinfer_session *session, uint32_t n_key, uint32_t n_tokens,
                         struct glinfer_error *err)
{
    const struct gi_step_state state = {.n_past = n_key - n_tokens, .n_tokens = n_tokens};
    return gi_runner_fill(&session->runner, &session->tables.graph.cross_state, &state,
                          sizeof(state), err);
}

bool gi_session_set_scales(struct glinfer_session *session, const float *scales,
                           struct glinfer_error *err)
{
    const size_t size = session->model->adapters.n * sizeof(*scales);
    if (session->has_scales && memcmp(session->adapter_scales, scales, size) == 0) {
        return true;
    }
    memcpy(session->adapter_scales, scales, size);
    gi_sequence_lose(&session->sequence, 0);
    session->broken.is_there = false;
    return write_scales(session, err);
}

bool gi_session_check_idle(const struct glinfer_session *session, struct glinfer_error *err)
{
    return !session->answer ||
           gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                        "the session has an answer under way: glinfer_step takes it to its end, "
                        "glinfer_end ends it");
}

bool gi_session_enter(struct glinfer_session *session, struct gi_platform_saved *saved,
                      struct glinfer_error *err)
{
    struct glinfer_device *device = session->model->device;
    if (!gi_device_enter(device, saved, err)) {
        return false;
    }
    const bool is_idle = gi_session_check_idle(session, err);
    if (is_idle) { // a cancel that came before this call was for an earlier one
        atomic_store(&session->is_cancelled, false);
    }
    const bool ok = is_idle && gi_gpu_check(device->gpu, "beginning", err) &&
                    gi_step_executors_settle(session, false, err);
    if (!ok) {
        gi_device_leave(device, saved);
    }
    return ok;
}

void gi_session_leave(struct glinfer_session *session, const struct gi_platform_saved *saved)
{
    gi_device_leave(session->model->device, saved);
}

void gi_session_release(struct glinfer_session *session)
{
    struct gi_gpu *gpu = gi_session_gpu(session);
    gi_step_executors_close(session);
    gi_owned_destroy_all(&session->on_gpu);
    if (session->logits.capacity > 0) {
        gi_readback_finish(&session->logits, gpu);
    }
    gi_runner_finish(&session->runner);
    gi_tables_finish(&session->tables);
    gi_checkpoints_release(session);
    gi_session_group_release(session->group, session);
}

bool gi_session_restore(struct glinfer_session *session, struct glinfer_error *err)
{
    gi_sequence_lose(&session->sequence, 0);
    return build(session, &session->params, err);
}

void gi_session_destroy(struct glinfer_session *session)
{
    struct gi_platform_saved saved;
    struct gi_gpu *gpu = gi_session_gpu(session);
    if (gi_gpu_enter_last(gpu, &saved)) {
        gi_session_release(session);
        gi_gpu_unbind(gpu);
        gi_gpu_leave(gpu, &saved);
    }
    gi_sampler_chain_destroy(session->sampler);
    gi_owned_destroy_all(&session->on_host);
    gi_sequence_finish(&session->sequence);
    struct glinfer_session **place = &session->model->sessions;
    while (*place != session) {
        place = &(*place)->next;
    }
    *place = session->next;
    gi_session_group_leave(session->group, session);
    free(session);
}

void gi_session_reset(struct glinfer_session *session)
{
    gi_sequence_reset(&session->sequence);
    session->broken.is_there = false;
}

bool gi_session_check_cancel(struct glinfer_session *session, const char *what,
                             struct glinfer_error *err)
{
    return !atomic_exchange(&session->is_cancelled, false) ||
           gi_error_set(err, GLINFER_STATUS_CANCELLED, "%s was cancelled", what);
}
