// Allocations that fail while a list is recorded, each alone: no list with a hole is returned, and
// the error is that of the allocation. Exit status 77 where there is no device.
#include "engine/api/score.h"
#include "engine/session/verify.h"
#include "gpu/dispatch/multi_executor.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/tiny_model.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

#include <stdio.h>

typedef struct gi_dispatch_table *record_fn(struct glinfer_session *session, uint32_t list,
                                            struct glinfer_error *err);

static struct gi_dispatch_table *record_own(struct glinfer_session *session, uint32_t list,
                                            struct glinfer_error *err)
{
    return gi_tables_record(&session->tables, list, err);
}

static struct gi_dispatch_table *record_joint(struct glinfer_session *session, uint32_t end,
                                              struct glinfer_error *err)
{
    return gi_joint_tables_record(&session->group->joint, 3, (enum gi_step_end)end, err);
}

// Refuses each allocation of a recording alone: none after it may hide it.
static void record_list(struct glinfer_session *session, record_fn *record, uint32_t list)
{
    struct gi_recorder *recorders[] = {&session->tables.recorder, &session->group->joint.recorder};
    struct gi_program_table *own = recorders[0]->programs;
    for (long i = -1, n = 0; i < n; i++) { // -1: none is refused
        struct glinfer_error err = {GLINFER_STATUS_OK, ""};
        struct gi_program_table *programs = gi_program_table_create(recorders[0]->gpu, &err);
        recorders[0]->programs = recorders[1]->programs = programs;
        fail_one_allocation(i);
        struct gi_dispatch_table *table = record(session, list, &err);
        n = i < 0 ? count_allocations() : n;
        fail_allocations_after(-1);
        assert_true(programs && (table != NULL) == (i < 0 || i == n));
        assert_int_equal(err.status, table ? GLINFER_STATUS_OK : GLINFER_STATUS_NO_MEMORY);
        gi_dispatch_table_destroy(table);
        gi_program_table_destroy(programs);
    }
    recorders[0]->programs = recorders[1]->programs = own;
}

// Opens everything that records lists of rows: of scores, embeddings and drafts. Returns the number
// of dispatches in the lists of drafts.
static uint32_t open_rows(struct glinfer_session *session, struct glinfer_error *err)
{
    uint32_t n = 0;
    if (gi_scorer_open(session, err) && gi_tables_find(&session->tables, GI_LIST_NORM, err) &&
        gi_verifier_open(session, GI_STEP_END_GREEDY, err)) {
        const struct gi_verifier *own = session->verifier;
        n = gi_dispatch_table_count(gi_multi_executor_list(own->rows)) +
            gi_dispatch_table_count(gi_multi_executor_list(own->choices[GI_STEP_END_GREEDY]));
    }
    return n;
}

// Refuses each allocation of open_rows alone.
static void record_rows(struct glinfer_session *session)
{
    uint32_t n_dispatches = 0;
    for (long i = -2, n = 0; i < n; i++) { // -2: also tests the programs; -1: none is refused
        struct glinfer_error err = {GLINFER_STATUS_OK, ""};
        fail_one_allocation(i < 0 ? -1 : i);
        const uint32_t n_opened = open_rows(session, &err);
        n = i < 0 ? count_allocations() : n;
        fail_allocations_after(-1);
        n_dispatches = i < 0 ? n_opened : n_dispatches;
        assert_int_equal(n_opened, err.status ? 0 : n_dispatches);
        assert_true(n > 0 && n_dispatches > 0 &&
                    (err.status == (i < 0 ? GLINFER_STATUS_OK : GLINFER_STATUS_NO_MEMORY)));
        gi_verifier_close(session);
        gi_scorer_close(session);
        gi_tables_forget(&session->tables);
    }
}

TEST(a_failure_is_kept)
{
    const char *const models[] = {"tiny-q4_0", "tiny-gemma3n", "tiny-qwen35moe", "tiny-falcon_h1"};
    (void)state;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        char path[64];
        struct tiny_model tiny;
        struct gi_platform_saved saved;
        struct glinfer_error err;
        snprintf(path, sizeof(path), "data/models/%s.gguf", models[i]);
        assert_true(tiny_model_open(&tiny, test_data(path), NULL));
        struct glinfer_session *session = glinfer_session_create(tiny.model, NULL, &err);
        assert_true(session && gi_session_enter(session, &saved, &err));
        record_list(session, record_own, GI_LIST_PROMPT);
        record_list(session, record_own, GI_LIST_STEP + GI_STEP_END_GREEDY);
        record_list(session, record_own,
                    GI_LIST_PROMPT_END + GI_STEP_END_ADJUSTED + GI_STEP_END_PROBS);
        gi_session_leave(session, &saved);
        glinfer_session_destroy(&session);
        tiny_model_close(&tiny);
    }
}

TEST(a_failure_of_rows_is_kept)
{
    struct tiny_model tiny;
    struct gi_platform_saved saved;
    struct glinfer_session *sessions[2];
    struct glinfer_error err;
    (void)state;
    assert_true(tiny_model_open(&tiny, test_data("data/models/tiny-q4_0.gguf"), NULL));
    assert_true(glinfer_sessions_create(tiny.model, NULL, 2, sessions, &err) &&
                gi_session_enter(sessions[0], &saved, &err));
    record_list(sessions[0], record_joint, GI_STEP_END_GREEDY);
    record_rows(sessions[0]);
    gi_session_leave(sessions[0], &saved);
    glinfer_session_destroy(&sessions[0]);
    glinfer_session_destroy(&sessions[1]);
    tiny_model_close(&tiny);
}

RUN_TESTS(NULL, NULL)
