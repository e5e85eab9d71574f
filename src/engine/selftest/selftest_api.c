#include "engine/api/arguments.h"
#include "engine/embed/text_embedding.h"
#include "engine/run/score.h"
#include "engine/run/session.h"
#include "engine/run/verify.h"

static void close_verifier(struct glinfer_session *session)
{
    gi_verifier_destroy(session->verifier, session);
    session->verifier = NULL;
}

// Tests the lists of drafts, unless the budget leaves no room for any.
static bool test_drafts(struct glinfer_session *session, struct glinfer_error *err)
{
    const struct glinfer_generate_params params = {.lookup = 1};
    struct glinfer_error own = {0};
    const bool ok = gi_verifier_prepare(session, &params, GI_STEP_END_GREEDY, &own);
    close_verifier(session);
    return ok || own.status == GLINFER_STATUS_OVER_BUDGET ||
           gi_error_set(err, own.status, "%s", own.message);
}

// Makes all lists anew that answers or, of an encoder, embeddings need.
static bool prepare_all(struct gi_tables *tables, struct glinfer_error *err)
{
    const uint32_t prompts = (1u << GI_LIST_STEP) - 1;
    uint32_t lists = 0;
    for (uint32_t end = 0; end < GI_STEP_END_COUNT; end++) {
        lists |= gi_tables_choose(tables, (enum gi_step_end)end, 0, true);
    }
    gi_tables_forget(tables);
    return gi_tables_prepare(tables, tables->model->hparams.is_encoder ? lists & prompts : lists,
                             NULL, NULL, err);
}

// Tests what an encoder has behind its lists.
static bool test_embedder(struct glinfer_session *session, struct glinfer_error *err)
{
    gi_embedder_destroy(session->embedder);
    session->embedder = NULL;
    return gi_embedder_open(session, err);
}

bool glinfer_selftest(struct glinfer_session *session,
                      void (*each)(void *user, const struct glinfer_tested *tested), void *user,
                      struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!GI_CHECK_SET(session, err) ||
        !gi_check_set((const void *)(uintptr_t)each, "each", __func__, err) ||
        !gi_session_enter_call(session, &saved, err)) {
        return false;
    }
    struct gi_tables *tables = &session->tables;
    gi_session_reset(session);
    tables->on_tested = each;
    tables->tested_user = user;
    gi_program_table_doubt(tables->recorder.programs, true);
    gi_scorer_destroy(session->scorer, gi_session_gpu(session));
    session->scorer = NULL;
    close_verifier(session);
    const bool ok = prepare_all(tables, err) &&
                    (session->model->hparams.is_encoder
                         ? test_embedder(session, err)
                         : gi_scorer_open(session, err) && test_drafts(session, err));
    gi_program_table_doubt(tables->recorder.programs, false);
    tables->on_tested = NULL;
    gi_session_leave(session, &saved);
    gi_device_end_call(session->model->device);
    return ok;
}
