// Runs the self-test of programs that no device here chooses, on llvmpipe made to pass for one that
// does. Their cases, and the programs, would else run on such GPUs alone. Exit status 77 without
// llvmpipe.
#include "engine/api/call.h"
#include "engine/selftest/selftest.h"
#include "engine/session/session.h"
#include "gpu/program/quarantine.h"
#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CTX = 1280, MAX_SETTINGS = 5, SKIPPED = 77 };

// Subgroups, which shared memory makes up, and fast halves.
static const char *const large_gpu[MAX_SETTINGS][2] = {
    {"GLINFER_CLASS", "NVIDIA"},
    {"GLINFER_QUIRKS", "=shared-shuffles"},
    {"GLINFER_HALF", "yes"},
    {"GLINFER_DISPATCH", "multi"},
};

// Projections that read sums of x.
static const char *const board[MAX_SETTINGS][2] = {
    {"GLINFER_CLASS", "Mali-G52"},
    {"GLINFER_DISPATCH", "multi"},
};

// Programs by their names in glsl/programs.def.
static const char *const names[] = {
#define GI_PROGRAM(id, file, defines, capability) #id,
#include "glsl/programs.def"
};

// Programs that a step and a prompt of tiny-qwen35 have there and nowhere else here.
static const enum gi_program_id wanted[] = {
    GI_PROGRAM_GEMV_PLAIN_SUBGROUP, GI_PROGRAM_GEMV_RESIDUAL_SUBGROUP, GI_PROGRAM_GEMV_GLU_SUBGROUP,
    GI_PROGRAM_GEMV_VOCAB_SUBGROUP, GI_PROGRAM_ATTENTION_QKV,          GI_PROGRAM_GEMM_HALF,
    GI_PROGRAM_HALF_ROWS,           GI_PROGRAM_DELTA_SCAN_SUBGROUP,
};

struct test {
    const struct gi_program_table *programs;
    bool is_right[GI_PROGRAM_COUNT];
    uint32_t n_bad;
};

// The label is that of the table.
static enum gi_program_id find_id(const struct gi_program_table *programs, const char *label)
{
    struct gi_program_stats stats;
    gi_program_table_describe(programs, &stats);
    for (uint32_t i = 0; i < stats.n_programs; i++) {
        if (gi_program_label(programs, i) == label) {
            return gi_program_key(programs, i)->id;
        }
    }
    return GI_PROGRAM_COUNT;
}

static void on_tested(void *user, const struct glinfer_tested *tested)
{
    struct test *test = user;
    const enum gi_program_id id = find_id(test->programs, tested->program);
    assert_true(id < GI_PROGRAM_COUNT);
    test->is_right[id] = test->is_right[id] || tested->result == GLINFER_TEST_RIGHT;
    if (tested->result != GLINFER_TEST_RIGHT && tested->result != GLINFER_TEST_NONE) {
        fprintf(stderr, "%s: %s\n", tested->program, tested->text);
        test->n_bad++;
    }
}

// Programs and findings of other tests tell nothing here: there is no cache.
static struct glinfer_device *open_device(const char *const (*settings)[2])
{
    struct glinfer_device_params params;
    struct gi_settings own;
    struct glinfer_error err;
    glinfer_device_params_init(&params);
    params.allow_software = true;
    params.cache_dir = "";
    gi_settings_read(&own, &(struct gi_log){0});
    for (int i = 0; i < MAX_SETTINGS && settings[i][0]; i++) {
        assert_true(gi_settings_set(&own, settings[i][0], settings[i][1]));
    }
    struct glinfer_device *device = gi_device_create(&params, &own, &err);
    if (!device || !strstr(gi_gpu_platform(device->gpu)->renderer, "llvmpipe")) {
        printf("skipped: %s\n", device ? "not llvmpipe" : err.message);
        exit(SKIPPED);
    }
    return device;
}

// Makes lists ready, which tests their programs.
static bool test_lists(struct glinfer_session *session, uint32_t lists, struct test *test,
                       struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    struct gi_tables *tables = &session->tables;
    if (!gi_session_enter(session, &saved, err)) {
        return false;
    }
    tables->listener = (struct gi_listener){on_tested, test};
    const bool ok = gi_tables_prepare(tables, lists, NULL, NULL, err);
    gi_session_leave(session, &saved);
    return ok;
}

// Does as where a program in quarantine has no other in f16: lists are to be recorded in f32.
static void leave_halves(struct glinfer_device *device, struct gi_tables *tables)
{
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    const struct glinfer_error why = {.status = GLINFER_STATUS_UNSUPPORTED, .message = "no other"};
    const struct gi_tested tested = gi_tables_tested(tables);
    assert_true(tables->recorder.is_half);
    assert_false(gi_selftest_leave_halves(&tested, &why)); // nothing is wrong
    gi_quarantine_add(device->gpu, GI_PROGRAM_GLU, GI_QUANT_NONE, "wrong");
    assert_true(gi_selftest_leave_halves(&tested, &why));
    assert_false(tables->recorder.is_half || gi_quarantine_has_any(device->gpu));
    glinfer_device_describe(device, &info);
    assert_string_equal(info.half_refusal, "no other");
    for (uint32_t i = 0; i < 64; i++) { // that is full of them
        gi_quarantine_add(device->gpu, GI_PROGRAM_GLU, i, "wrong, as all are");
    }
    assert_false(gi_program_available(device->gpu, GI_PROGRAM_RMSNORM));
    assert_string_equal(gi_quarantine_find(device->gpu, GI_PROGRAM_RMSNORM, GI_QUANT_NONE),
                        "wrong, as all are");
    gi_quarantine_clear(device->gpu);
    gi_quarantine_add(device->gpu, GI_PROGRAM_GLU, GI_QUANT_NONE, "wrong in f32 too");
    assert_false(gi_selftest_leave_halves(&tested, &why));
}

// Tests lists of a model on a device of these settings, then calls `then`, unless it is NULL.
static void test_on(const char *const (*settings)[2], const char *path, uint32_t lists,
                    struct test *test,
                    void (*then)(struct glinfer_device *device, struct gi_tables *tables))
{
    struct glinfer_model_params model_params;
    struct glinfer_session_params params;
    struct glinfer_error err = {0};
    struct glinfer_device *device = open_device(settings);
    test->programs = device->programs;
    glinfer_model_params_init(&model_params);
    model_params.path = test_data(path);
    struct glinfer_model *model = glinfer_model_load(device, &model_params, &err);
    glinfer_session_params_init(&params);
    params.n_ctx = N_CTX;
    struct glinfer_session *session = model ? glinfer_session_create(model, &params, &err) : NULL;
    if (!session || !test_lists(session, lists, test, &err)) {
        fail_msg("%s", err.message);
    }
    if (then) {
        then(device, &session->tables);
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
}

TEST(programs_of_large_gpus_pass_their_self_test)
{
    struct test test = {0};
    test_on(large_gpu, "data/models/tiny-qwen35.gguf", 1u << GI_LIST_STEP | 1u << GI_LIST_PROMPT,
            &test, leave_halves);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (!test.is_right[wanted[i]]) {
            fprintf(stderr, "%s was not tested\n", names[wanted[i]]);
            test.n_bad++;
        }
    }
    assert_int_equal(test.n_bad, 0);
}

// Layers of two widths share the programs that write sums, of which the first one's entry alone
// runs.
TEST(sums_of_layers_of_two_widths_pass)
{
    struct test test = {0};
    test_on(board, "data/models/tiny-gemma4.gguf", 1u << GI_LIST_STEP, &test, NULL);
    assert_int_equal(test.n_bad, 0);
    assert_true(test.is_right[GI_PROGRAM_GEMV_PLAIN_BYTES]);
}

RUN_TESTS(NULL, NULL)
