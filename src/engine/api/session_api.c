#include "base/arguments.h"
#include "engine/answer/joint_run.h"
#include "engine/api/call.h"
#include "engine/session/samplers.h"
#include "engine/session/step_executors.h"

#include <math.h>
#include <string.h>

static bool check_params(const struct glinfer_model *model,
                         const struct glinfer_session_params *params, struct glinfer_error *err)
{
    const uint32_t most = gi_max_u32(gi_gpu_class(model->device->gpu)->max_batch, GI_MAX_BATCH);
    const bool is_long = params->n_batch > most && !model->hparams.is_encoder;
    if (!GI_CHECK(err, GI_ENUM(params->type_k, GLINFER_CACHE_Q4_0),
                  GI_ENUM(params->type_v, GLINFER_CACHE_Q4_0),
                  GI_ENUM(params->precision, GLINFER_PRECISION_F16))) {
        return false;
    }
    if (is_long || params->chain_length > GI_MAX_CHAIN) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a batch of %u or a chain of %u is too long: %u and %u are the most",
                            params->n_batch, params->chain_length, most, GI_MAX_CHAIN);
    }
    if (params->gpu_duty > 100) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a GPU duty of %u %% is too much: 100 is the most", params->gpu_duty);
    }
    if (params->n_checkpoints > GI_MAX_CHECKPOINTS) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "%u checkpoints are more than the limit of %u", params->n_checkpoints,
                            GI_MAX_CHECKPOINTS);
    }
    return true;
}

// Creates a session of a speech model's decoder, for measuring, with one of its encoder.
static bool create_towers(struct glinfer_model *model, const struct glinfer_session_params *params,
                          struct glinfer_session **session, struct glinfer_error *err)
{
    struct glinfer_session_params own = *params, hears = *params;
    struct glinfer_session *encoder = NULL;
    own.n_ctx = model->hparams.n_ctx_train;
    hears.n_ctx = model->encoder->hparams.n_ctx_train;
    hears.n_batch = 0;
    own.expected = hears.expected = NULL;
    if (!gi_sessions_create(model->encoder, &hears, NULL, 1, &encoder, err)) {
        return false;
    }
    encoder->is_doomed = !gi_sessions_create(model, &own, encoder, 1, session, err);
    return !encoder->is_doomed;
}

static bool create(struct glinfer_model *model, const struct glinfer_session_params *params,
                   uint32_t n, struct glinfer_session **sessions, struct glinfer_error *err)
{
    struct glinfer_session_params own = {0};
    struct glinfer_generate_params expected = {0};
    if (!GI_CHECK(err, GI_SET(model), GI_COPY(&own, params)) ||
        !GI_CHECK(err, GI_COPY(&expected, own.expected)) || !check_params(model, &own, err)) {
        return false;
    }
    const bool is_measured = own.allows_speech && model->info.is_speech && n == 1;
    if (!is_measured && !gi_model_check_text(model, err)) {
        return false;
    }
    if (own.expected) {
        expected.progress = own.progress;
        expected.progress_user = own.progress_user;
        own.expected = &expected;
    }
    const bool ok = is_measured ? create_towers(model, &own, sessions, err)
                                : gi_sessions_create(model, &own, NULL, n, sessions, err);
    gi_call_end(model->device);
    return ok;
}

struct glinfer_session *glinfer_session_create(struct glinfer_model *model,
                                               const struct glinfer_session_params *params,
                                               struct glinfer_error *err)
{
    struct glinfer_session *session = NULL;
    return create(model, params, 1, &session, err) ? session : NULL;
}

bool glinfer_sessions_create(struct glinfer_model *model,
                             const struct glinfer_session_params *params, uint32_t n,
                             struct glinfer_session **sessions, struct glinfer_error *err)
{
    if (!GI_CHECK(err, GI_SET(sessions))) {
        return false;
    }
    if (n == 0 || n > GI_MAX_ROWS) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "%u sessions cannot be created together: 1 to %d can", n, GI_MAX_ROWS);
    }
    memset(sessions, 0, n * sizeof(sessions[0]));
    return create(model, params, n, sessions, err);
}

bool glinfer_session_prepare(struct glinfer_session *session,
                             const struct glinfer_generate_params *params,
                             struct glinfer_prepared *prepared, struct glinfer_error *err)
{
    struct glinfer_generate_params own = {0};
    struct glinfer_prepared full = {0};
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(session), GI_COPY(&own, params), GI_SIZED(prepared)) ||
        !gi_call_begin(session, &saved, err)) {
        return false;
    }
    const bool ok = gi_session_prepare(session, &own, true, true, err) &&
                    gi_joint_run_prepare_session(session, gi_samplers_choose_end(&own), true,
                                                 own.progress, own.progress_user, err);
    if (ok && prepared) {
        full.dispatch =
            gi_step_executors_recall(session, gi_samplers_choose_end(&own), full.step_ns);
        gi_sized_give(prepared, &full, sizeof(full));
    }
    gi_call_leave(session, &saved);
    return ok;
}

bool glinfer_session_set_adapter_scales(struct glinfer_session *session, const float *scales,
                                        size_t n, struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(session), GI_ARRAY(scales, n))) {
        return false;
    }
    if (n != session->model->adapters.n) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "%zu scales do not fit the %u adapters of the model", n,
                            session->model->adapters.n);
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(scales[i])) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "the scale of adapter %zu is infinite or not a number", i);
        }
    }
    if (!gi_call_begin(session, &saved, err)) {
        return false;
    }
    const bool ok = gi_session_set_scales(session, scales, err);
    gi_call_leave(session, &saved);
    return ok;
}

size_t glinfer_session_adapter_scales(const struct glinfer_session *session, float *scales,
                                      size_t n)
{
    const size_t n_own = session ? session->model->adapters.n : 0;
    for (size_t i = 0; scales && i < n && i < n_own; i++) {
        scales[i] = session->adapter_scales[i];
    }
    return n_own;
}

void glinfer_session_reset(struct glinfer_session *session)
{
    if (session && !session->model->device->is_busy) {
        gi_session_end_answer(session);
        gi_session_reset(session);
    }
}

size_t glinfer_session_rewind(struct glinfer_session *session, size_t n)
{
    if (!session || session->model->device->is_busy) {
        return session ? gi_sequence_rewind(&session->sequence, SIZE_MAX) : 0;
    }
    gi_session_end_answer(session);
    session->broken.is_there = false;
    return gi_sequence_rewind(&session->sequence, n);
}

void glinfer_session_cancel(struct glinfer_session *session)
{
    if (session) {
        atomic_store(&session->is_cancelled, true);
    }
}
