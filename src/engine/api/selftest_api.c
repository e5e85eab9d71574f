#include "base/arguments.h"
#include "engine/api/call.h"
#include "engine/api/score.h"
#include "engine/session/verify.h"

// Tests the lists of drafts unless they exceed the budget. Groups do not use drafts, but share
// their programs. Wrong programs only disable drafts.
static bool test_drafts(struct glinfer_session *session, struct glinfer_error *err)
{
    struct glinfer_error own = {0};
    bool ok = true;
    for (uint32_t end = 0; ok && end < GI_STEP_END_ADJUSTED && gi_verifier_suits(session); end++) {
        ok = gi_verifier_open(session, (enum gi_step_end)end, &own);
    }
    gi_verifier_close(session);
    return ok || own.status == GLINFER_STATUS_OVER_BUDGET ||
           own.status == GLINFER_STATUS_UNSUPPORTED || gi_error_pass(err, &own);
}

// Returns true if another session of the group has an answer in progress, which uses the lists.
static bool has_company(const struct glinfer_session *session)
{
    const struct gi_session_group *group = session->group;
    bool is_any = false;
    for (uint32_t i = 0; i < group->n_slots; i++) {
        is_any = is_any || (group->sessions[i] && group->sessions[i]->answer);
    }
    return is_any;
}

// Records the lists of joint steps again: of all sessions of the group, and of this one.
static bool test_joint(const struct glinfer_session *session, struct glinfer_error *err)
{
    const struct gi_session_group *group = session->group;
    struct gi_joint_tables *tables = &session->group->joint;
    const uint32_t sets[] = {(1u << group->n_slots) - 1, 1u << session->slot};
    bool ok = true;
    if (group->n_slots == 1 || gi_has_recurrence(&group->model->hparams) || has_company(session)) {
        return true;
    }
    gi_joint_tables_forget(tables);
    tables->is_refused = false;
    tables->listener = session->tables.listener;
    for (uint32_t i = 0; ok && i < 2 * GI_STEP_END_COUNT; i++) {
        const enum gi_step_end end = (enum gi_step_end)(i / 2);
        ok = gi_joint_tables_prepare(tables, sets[i % 2], end, err);
    }
    tables->listener = (struct gi_listener){0};
    return ok;
}

// Records all lists again that answers, transcriptions or, in an encoder, embeddings need.
static bool prepare_all(struct gi_tables *tables, struct glinfer_error *err)
{
    const struct gi_hparams *hparams = &tables->model->hparams;
    const bool has_norm = hparams->n_sound == 0 && hparams->embed_norm != GI_EMBED_NORM_OUTPUT;
    uint32_t lists = (uint32_t)tables->model->info.is_speech << GI_LIST_LOGITS;
    for (uint32_t end = 0; end < GI_STEP_END_COUNT; end++) {
        lists |= gi_tables_choose(tables, (enum gi_step_end)end, 0, true);
    }
    if (hparams->is_encoder) {
        lists &= (1u << GI_LIST_STEP) - 1;
        lists |= (uint32_t)has_norm << GI_LIST_NORM;
        lists |= (uint32_t)(hparams->n_sound > 0) << GI_LIST_HEAR;
    }
    gi_tables_forget(tables);
    return gi_tables_prepare(tables, lists, NULL, NULL, err);
}

// Tests the towers of a speech model.
static bool test_towers(struct glinfer_session *session, struct glinfer_error *err)
{
    struct gi_tables *encoder = &session->encoder->tables;
    encoder->listener = session->tables.listener;
    const bool ok = prepare_all(encoder, err) && prepare_all(&session->tables, err);
    encoder->listener = (struct gi_listener){0};
    return ok;
}

static bool test_session(struct glinfer_session *session, struct glinfer_error *err)
{
    return prepare_all(&session->tables, err) &&
           (session->model->hparams.is_encoder ||
            (gi_scorer_open(session, err) && test_drafts(session, err) &&
             test_joint(session, err)));
}

bool glinfer_selftest(struct glinfer_session *session,
                      void (*each)(void *user, const struct glinfer_tested *tested), void *user,
                      struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(session), GI_CALLBACK(each)) ||
        !gi_call_begin_any(session, &saved, err)) {
        return false;
    }
    struct gi_tables *tables = &session->tables;
    gi_session_reset(session);
    tables->listener = (struct gi_listener){each, user};
    gi_program_table_doubt(tables->recorder.programs, true);
    gi_scorer_close(session);
    gi_verifier_close(session);
    const bool ok = session->encoder ? test_towers(session, err) : test_session(session, err);
    gi_program_table_doubt(tables->recorder.programs, false);
    tables->listener = (struct gi_listener){0};
    gi_call_leave(session, &saved);
    return ok;
}
