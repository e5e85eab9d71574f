// Tests what a session prepares before an answer: all that the answer needs; a program that it does
// not need is in nobody's way. Exit status 77 where there is no device.
#include "engine/run/upgrades.h"
#include "ops/sample/sample.h"
#include "persistent/persistent_upgrade.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/tiny_model.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_CTX = 512, MAX_COUNTERS = 256 };

struct fixture {
    struct tiny_model tiny;
    struct glinfer_session *session;
    uint32_t ready; // tables at the first token
};

static void must(bool ok, const struct glinfer_error *err)
{
    if (!ok) {
        fail_msg("%s", err->message);
    }
}

static int open_fixture(void **state)
{
    static struct fixture f;
    *state = &f;
    return tiny_model_open(&f.tiny, test_data("data/models/tiny-q4_0.gguf"), NULL) ? 0 : -1;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;
    tiny_model_close(&f->tiny);
    return 0;
}

static int open_session(void **state)
{
    struct fixture *f = *state;
    struct glinfer_session_params params;
    glinfer_session_params_init(&params);
    params.n_ctx = N_CTX;
    f->session = glinfer_session_create(f->tiny.model, &params, NULL);
    return f->session ? 0 : -1;
}

static int close_session(void **state)
{
    struct fixture *f = *state;
    glinfer_session_destroy(&f->session);
    return 0;
}

static struct glinfer_generate_params ask(int32_t n_predict)
{
    static const int32_t prompt[] = {72, 101, 108, 108, 111};
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_prompt = sizeof(prompt) / sizeof(prompt[0]);
    params.n_predict = n_predict;
    params.ignore_eos = true;
    return params;
}

//-- what is not needed ----------------------------------------------------------------------------

// Programs of other kinds are in the same table.
static void a_program_that_is_refused_fails_no_answer_without_it(void **state)
{
    static const char bad[] = "layout(local_size_x = 1) in;\n"
                              "void main()\n"
                              "{ undeclared_thing = 1; }\n";
    struct fixture *f = *state;
    const struct glinfer_generate_params params = ask(4);
    struct glinfer_error err = {0};
    uint32_t index;
    must(gi_program_table_request_source(f->session->tables.recorder.programs, "bad.comp", bad,
                                         NULL, 0, &index, &err),
         &err);
    must(glinfer_generate(f->session, &params, NULL, &err), &err);
    assert_int_equal(gi_program_name(f->session->tables.recorder.programs, index), 0);
}

//-- what is needed --------------------------------------------------------------------------------

static bool note_ready(void *user, const struct glinfer_token *token)
{
    struct fixture *f = user;
    f->ready = f->ready ? f->ready : f->session->tables.ready;
    (void)token;
    return true;
}

static void nothing_is_compiled_in_the_middle_of_an_answer(void **state)
{
    struct fixture *f = *state;
    struct glinfer_error err = {0};
    struct glinfer_generate_params params = ask(8);
    f->ready = 0;
    params.on_token = note_ready;
    params.token_user = f;
    must(glinfer_generate(f->session, &params, NULL, &err), &err);
    assert_true(f->ready & 1u << GI_LIST_STEP);
    assert_int_equal(f->session->tables.ready, f->ready);
}

static void preparing_compiles_all_that_an_answer_needs(void **state)
{
    struct fixture *f = *state;
    struct glinfer_error err = {0};
    const struct glinfer_generate_params params = ask(8);
    must(glinfer_session_prepare(f->session, &params, NULL, &err), &err);
    const uint32_t ready = f->session->tables.ready;
    must(glinfer_generate(f->session, &params, NULL, &err), &err);
    assert_int_equal(f->session->tables.ready, ready);
}

//-- how steps end ---------------------------------------------------------------------------------

static void a_step_ends_as_its_settings_ask(void **state)
{
    static const struct {
        struct glinfer_generate_params params;
        enum gi_step_end end;
    } cases[] = {
        {{.temperature = 0, .top_k = 40},               GI_STEP_END_GREEDY },
        {{.temperature = 1, .top_k = GI_SMALL_K},       GI_STEP_END_SMALL_K},
        {{.temperature = 1, .top_k = GI_SMALL_K + 1},   GI_STEP_END_FULL   },
        {{.temperature = 1, .top_k = 0},                GI_STEP_END_FULL   },
        {{.temperature = 0, .n_probs = 1},              GI_STEP_END_PROBS  },
        {{.temperature = 1, .top_k = 40, .n_probs = 1}, GI_STEP_END_PROBS  },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(gi_tables_choose_end(&cases[i].params), cases[i].end);
    }
}

//-- what is given up ------------------------------------------------------------------------------

static void spoil(struct gi_gpu *gpu, const struct gi_range *range, uint64_t at, uint32_t n)
{
    uint32_t counters[MAX_COUNTERS];
    struct glinfer_error err = {0};
    assert_true(n <= MAX_COUNTERS);
    memset(counters, 1, sizeof(counters));
    must(gi_buffer_write((struct gi_buffer *)range->buffer, gpu,
                         range->offset + at * sizeof(uint32_t), counters, n * sizeof(uint32_t),
                         &err),
         &err);
}

static void assert_zero(struct gi_gpu *gpu, const struct gi_range *range, uint64_t at, uint32_t n)
{
    uint32_t counters[MAX_COUNTERS];
    struct glinfer_error err = {0};
    must(gi_buffer_read(range->buffer, gpu, range->offset + at * sizeof(uint32_t), counters,
                        n * sizeof(uint32_t), &err),
         &err);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(counters[i], 0);
    }
}

// Groups that leave in the middle of attention, or of sampling, leave counters of it behind;
// ordinary steps start from zero.
static void steps_that_are_given_up_leave_no_counter(void **state)
{
    struct fixture *f = *state;
    struct gi_gpu *gpu = f->session->model->device->gpu;
    const struct gi_attention_scratch *scratch = &f->session->tables.graph.attention;
    const struct gi_logits *logits = &f->session->tables.graph.logits;
    const uint32_t n = 4 * f->session->sequence.cache[0].n_head;
    struct gi_platform_saved saved;
    struct glinfer_error err = {0};
    assert_true(scratch->counter + n <= scratch->partial);
    must(gi_gpu_enter(gpu, &saved, &err), &err);
    assert_zero(gpu, &logits->range, logits->scratch, 1); // as a session begins
    spoil(gpu, &scratch->range, scratch->counter, n);
    spoil(gpu, &logits->range, logits->scratch, 1);
    must(gi_upgrades_give_up(f->session, &err), &err);
    assert_zero(gpu, &scratch->range, scratch->counter, n);
    assert_zero(gpu, &logits->range, logits->scratch, 1);
    gi_gpu_leave(gpu, &saved);
}

//-- contexts --------------------------------------------------------------------------------------

// The key of the persistent program of greedy steps of a model in f16, in groups of 128.
static struct gi_hash key_of(const char *path, uint32_t n_ctx, uint32_t n_batch)
{
    struct tiny_model tiny = {0};
    struct glinfer_session_params params;
    struct glinfer_error err = {0};
    setenv("GLINFER_DISPATCH", "persistent:1:128", 1);
    setenv("GLINFER_HALF", "yes", 1); // not what a busy device is measured to like
    must(tiny_model_open(&tiny, path, NULL), &err);
    unsetenv("GLINFER_DISPATCH");
    unsetenv("GLINFER_HALF");
    glinfer_session_params_init(&params);
    params.n_ctx = n_ctx;
    params.n_batch = n_batch;
    struct glinfer_session *session = glinfer_session_create(tiny.model, &params, &err);
    must(session != NULL, &err);
    struct gi_gpu *gpu = tiny.model->device->gpu;
    struct gi_platform_saved saved;
    must(gi_gpu_enter(gpu, &saved, &err), &err);
    uint64_t multi_ns, single_ns;
    gi_upgrades_recall(session, GI_STEP_END_GREEDY, &multi_ns, &single_ns);
    const struct gi_hash *found = gi_upgrade_recall(session->upgrades[GI_STEP_END_GREEDY]).key;
    assert_non_null(found);
    const struct gi_hash key = *found;
    gi_gpu_leave(gpu, &saved);
    glinfer_session_destroy(&session);
    tiny_model_close(&tiny);
    return key;
}

static void one_program_serves_every_context(void **state)
{
    static const char *const models[] = {
        "data/models/tiny-q4_0.gguf", "data/models/tiny-qwen3.gguf", "data/models/tiny-gemma3.gguf",
        "data/models/tiny-qwen3moe.gguf"};
    static const uint32_t sizes[][2] = {
        {256,  512},
        {4096, 64 },
        {37,   8  }
    };
    (void)state;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        const struct gi_hash first = key_of(test_data(models[i]), 128, 512);
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            const struct gi_hash key = key_of(test_data(models[i]), sizes[k][0], sizes[k][1]);
            assert_memory_equal(&first, &key, sizeof(key));
        }
    }
}

// A buffer of its own for the cache takes up to three more storage blocks, of 16 that a program has
// on NVIDIA.
static void cache_and_lists_share_a_buffer(void **state)
{
    const struct fixture *f = *state;
    const struct gi_buffer *buffer = f->session->tables.ranges[GI_SESSION_STATE].buffer;
    assert_non_null(buffer);
    assert_ptr_equal(f->session->tables.ranges[GI_SESSION_VECTORS].buffer, buffer);
    for (uint32_t i = 0; i < f->tiny.model->hparams.n_layer; i++) {
        assert_ptr_equal(f->session->sequence.cache[i].range.buffer, buffer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_program_that_is_refused_fails_no_answer_without_it,
                                        open_session, close_session),
        cmocka_unit_test_setup_teardown(nothing_is_compiled_in_the_middle_of_an_answer,
                                        open_session, close_session),
        cmocka_unit_test_setup_teardown(preparing_compiles_all_that_an_answer_needs, open_session,
                                        close_session),
        cmocka_unit_test_setup_teardown(a_step_ends_as_its_settings_ask, open_session,
                                        close_session),
        cmocka_unit_test_setup_teardown(cache_and_lists_share_a_buffer, open_session,
                                        close_session),
        cmocka_unit_test(one_program_serves_every_context),
        cmocka_unit_test_setup_teardown(steps_that_are_given_up_leave_no_counter, open_session,
                                        close_session),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
