// Allocations that fail while a list is recorded, each alone: no list with a hole is returned, and
// the error is that of the allocation. Exit status 77 where there is no device.
#include "engine/run/session.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/tiny_model.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

#include <stdio.h>

// Refuses each allocation of a recording alone: none after it may hide it.
static void record_list(struct gi_tables *tables, uint32_t list)
{
    struct gi_program_table *own = tables->recorder.programs;
    for (long i = -1, n = 0; i < n; i++) { // -1: none is refused
        struct glinfer_error err = {GLINFER_STATUS_OK, ""};
        tables->recorder.programs = gi_program_table_create(tables->recorder.gpu, &err);
        fail_one_allocation(i);
        struct gi_dispatch_table *table = gi_tables_record(tables, list, &err);
        n = i < 0 ? count_allocations() : n;
        fail_allocations_after(-1);
        assert_true(tables->recorder.programs && (table != NULL) == (i < 0 || i == n));
        assert_int_equal(err.status, table ? GLINFER_STATUS_OK : GLINFER_STATUS_NO_MEMORY);
        gi_dispatch_table_destroy(table);
        gi_program_table_destroy(tables->recorder.programs);
    }
    tables->recorder.programs = own;
}

static void a_failure_is_kept(void **state)
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
        record_list(&session->tables, GI_LIST_PROMPT);
        record_list(&session->tables, GI_LIST_STEP + GI_STEP_END_GREEDY);
        record_list(&session->tables,
                    GI_LIST_PROMPT_END + GI_STEP_END_ADJUSTED + GI_STEP_END_PROBS);
        gi_session_leave(session, &saved);
        glinfer_session_destroy(&session);
        tiny_model_close(&tiny);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_failure_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
