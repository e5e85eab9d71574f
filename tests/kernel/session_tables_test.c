// Tests what a session prepares before an answer: all that the answer needs; a program that it does
// not need is in nobody's way. Exit status 77 where there is no device.
#include "engine/api/call.h"
#include "engine/session/samplers.h"
#include "engine/session/step_executors.h"
#include "gpu/device/gpu_private.h"
#include "ops/sample/sample.h"
#include "persistent/persistent_upgrade.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <string.h>

enum { N_CTX = 512, MAX_COUNTERS = 256, N_SLOTS = 3 };

static struct glinfer_session *session; // of a test

static int create_session(void **state)
{
    const struct tiny_model *tiny = *state;
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = N_CTX);
    session = glinfer_session_create(tiny->model, &params, NULL);
    return session ? 0 : -1;
}

static int destroy_session(void **state)
{
    (void)state;
    glinfer_session_destroy(&session);
    return 0;
}

// Answers by n greedy tokens.
static struct answer must_answer(int n)
{
    struct answer answer = {0};
    answer_more(session, prompt, 5, n, &answer);
    assert_int_equal(answer.n, n);
    return answer;
}

// Opens a model under settings in place of the environment's.
static void open_under(struct tiny_model *tiny, const char *path,
                       const struct gi_settings *settings, struct gi_log log)
{
    const struct glinfer_device_params device =
        PARAMS(device, .allow_software = true, .log = log.fn, .log_user = log.user);
    tiny->device = must_do(gi_device_create(&device, settings, &err));
    const struct glinfer_model_params model = PARAMS(model, .path = path);
    tiny->model = must_do(glinfer_model_load(tiny->device, &model, &err));
}

// Returns settings that ask for a single dispatch of one group of 128 before the first answer, with
// products in f16, whatever a busy device is measured to like.
static struct gi_settings ask_for_persistent(void)
{
    return (struct gi_settings){
        .half = GI_CHOICE_YES,
        .dispatch = {
            .is_set = true, .takeover = GI_TAKEOVER_AT_ONCE, .n_groups = 1, .group_size = 128}};
}

//-- logits that come before the choice ------------------------------------------------------------

// Answers in JSON with penalties, on a device that passes for one of hardware if is_early: the
// logits of a step are then submitted before the token before them is read.
static struct answer answer_in_json(struct glinfer_session *own, bool is_early)
{
    struct gi_platform_info *platform =
        (struct gi_platform_info *)gi_gpu_platform(gi_session_gpu(own));
    const bool was_software = platform->is_software;
    struct answer answer = {0};
    struct glinfer_generate_params params = ask(prompt, 5, 40, &answer);
    struct glinfer_grammar grammar;
    struct glinfer_samplers samplers;
    struct glinfer_error err = {0};
    glinfer_grammar_init(&grammar);
    glinfer_samplers_init(&samplers);
    grammar.json_schema = "{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"bc\",17]},"
                          "\"minItems\":3,\"maxItems\":9}";
    samplers.frequency_penalty = 0.4f;
    params.ignore_eos = false;
    params.temperature = 1;
    params.seed = 5;
    params.grammar = &grammar;
    params.samplers = &samplers;
    platform->is_software = was_software && !is_early;
    const bool ok = glinfer_generate(own, &params, NULL, &err);
    platform->is_software = was_software;
    must(ok, &err);
    return answer;
}

// Early or late, in many dispatches, in one, or in one that is given up again and again.
TEST(early_logits_change_no_token)
{
    const struct answer late = answer_in_json(session, false);
    glinfer_session_reset(session);
    const struct answer early = answer_in_json(session, true);
    assert_true(late.n > 5);
    assert_same(&early, &late);
    for (int has_faults = 0; has_faults < 2; has_faults++) {
        struct gi_settings settings = ask_for_persistent();
        struct tiny_model tiny = {0};
        settings.half = GI_CHOICE_NO;
        settings.dispatch.has_spins = has_faults;
        open_under(&tiny, test_data("data/models/tiny-q4_0.gguf"), &settings, (struct gi_log){0});
        const struct glinfer_session_params params = PARAMS(session, .n_ctx = N_CTX);
        struct glinfer_session *own = glinfer_session_create(tiny.model, &params, NULL);
        assert_non_null(own);
        const struct answer found = answer_in_json(own, true);
        assert_same(&found, &late);
        glinfer_session_destroy(&own);
        tiny_model_close(&tiny);
    }
}

//-- what is not needed ----------------------------------------------------------------------------

// Programs of other kinds are in the same table.
TEST(a_program_that_is_refused_fails_no_answer_without_it)
{
    static const char bad[] = "layout(local_size_x = 1) in;\n"
                              "void main()\n"
                              "{ undeclared_thing = 1; }\n";
    uint32_t index;
    must_do(gi_program_table_request_source(session->tables.recorder.programs, "bad.comp", bad,
                                            NULL, 0, &index, &err));
    must_answer(4);
    assert_int_equal(gi_program_name(session->tables.recorder.programs, index), 0);
}

//-- what is needed --------------------------------------------------------------------------------

static bool note_ready(void *user, const struct glinfer_token *token)
{
    uint32_t *ready = user; // tables at the first token
    *ready = *ready ? *ready : session->tables.ready;
    (void)token;
    return true;
}

TEST(nothing_is_compiled_in_the_middle_of_an_answer)
{
    uint32_t ready = 0;
    struct glinfer_generate_params params = ask(prompt, 5, 8, NULL);
    params.on_token = note_ready;
    params.token_user = &ready;
    must_generate(session, &params);
    assert_true(ready & 1u << GI_LIST_STEP);
    assert_int_equal(session->tables.ready, ready);
}

TEST(preparing_compiles_all_that_an_answer_needs)
{
    const struct glinfer_generate_params params = ask(prompt, 5, 8, NULL);
    must_do(glinfer_session_prepare(session, &params, NULL, &err));
    const uint32_t ready = session->tables.ready;
    must_answer(8);
    assert_int_equal(session->tables.ready, ready);
}

// Kernels are chosen by the room of a list.
TEST(a_batch_takes_the_smallest_list_with_room)
{
    static const struct {
        uint32_t n_tokens, list;
    } batches[] = {{1, GI_LIST_PROMPT_SMALL},  {32, GI_LIST_PROMPT_SMALL},
                   {33, GI_LIST_PROMPT_SHORT}, {256, GI_LIST_PROMPT_SHORT},
                   {257, GI_LIST_PROMPT},      {5000, GI_LIST_PROMPT}};
    struct gi_tables tables = session->tables;
    tables.n_batch = 2048;
    memcpy(tables.n_most, (uint32_t[]){32, 256, 256}, sizeof(tables.n_most)); // no middle one
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
        assert_int_equal(gi_tables_prompt_list(&tables, batches[i].n_tokens), batches[i].list);
    }
    const uint32_t end = 1u << (GI_LIST_PROMPT_END + GI_STEP_END_GREEDY);
    const uint32_t all =
        1u << GI_LIST_PROMPT_SMALL | 1u << GI_LIST_PROMPT_SHORT | 1u << GI_LIST_PROMPT;
    assert_int_equal(gi_tables_choose(&tables, GI_STEP_END_GREEDY, 0, false), end | all);
    assert_int_equal(gi_tables_choose(&tables, GI_STEP_END_GREEDY, 100, false),
                     end | 1u << GI_LIST_PROMPT_SHORT);
    const uint32_t long_prompt = gi_tables_choose(&tables, GI_STEP_END_GREEDY, 2048 + 20, false);
    const uint32_t ends = 1u << GI_LIST_PROMPT | 1u << GI_LIST_PROMPT_SMALL;
    assert_int_equal(long_prompt & ends, ends);
}

//-- how steps end ---------------------------------------------------------------------------------

TEST(a_step_ends_as_its_settings_ask)
{
    static const struct {
        struct glinfer_generate_params params;
        enum gi_step_end end;
    } cases[] = {
        {{.temperature = 0, .top_k = 40}, GI_STEP_END_GREEDY},
        {{.temperature = 1, .top_k = GI_SMALL_K}, GI_STEP_END_SMALL_K},
        {{.temperature = 1, .top_k = GI_SMALL_K + 1}, GI_STEP_END_FULL},
        {{.temperature = 1, .top_k = 0}, GI_STEP_END_FULL},
        {{.temperature = 0, .n_probs = 1}, GI_STEP_END_PROBS},
        {{.temperature = 1, .top_k = 40, .n_probs = 1}, GI_STEP_END_PROBS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(gi_samplers_choose_end(&cases[i].params), cases[i].end);
    }
}

//-- what is given up ------------------------------------------------------------------------------

// Returns the counters of attention (0) and of sampling (1), which are zero between steps.
static struct gi_range counters_of(int which)
{
    const struct gi_attention_scratch *scratch = &session->tables.graph.attention;
    const struct gi_logits *logits = &session->tables.graph.logits;
    struct gi_range range = which == 0 ? scratch->range : logits->range;
    range.offset += (which == 0 ? scratch->counter : logits->scratch) * sizeof(uint32_t);
    range.size = (which == 0 ? 4 * session->sequence.cache[0].n_head : 1) * sizeof(uint32_t);
    assert_true(range.size <= MAX_COUNTERS * sizeof(uint32_t));
    return range;
}

static void spoil_counters(void)
{
    uint32_t counters[MAX_COUNTERS];
    memset(counters, 1, sizeof(counters));
    for (int i = 0; i < 2; i++) {
        const struct gi_range range = counters_of(i);
        must_do(gi_runner_fill(&session->runner, &range, counters, range.size, &err));
    }
}

static void assert_counters_are_zero(void)
{
    static const uint32_t zeros[MAX_COUNTERS];
    uint32_t counters[MAX_COUNTERS];
    for (int i = 0; i < 2; i++) {
        const struct gi_range range = counters_of(i);
        must_do(gi_buffer_read(range.buffer, gi_session_gpu(session), range.offset, counters,
                               range.size, &err));
        assert_memory_equal(counters, zeros, range.size);
    }
}

// Groups that exit in the middle of attention or sampling do not reset its counters;
// multi-dispatch steps start from zero.
TEST(steps_that_are_given_up_leave_no_counter)
{
    struct gi_platform_saved saved;
    must_do(gi_session_enter(session, &saved, &err));
    assert_counters_are_zero(); // as a session begins
    spoil_counters();
    must_do(gi_step_executors_settle(session, true, &err));
    assert_counters_are_zero();
    gi_session_leave(session, &saved);
}

struct faulty {
    struct gi_executor base;
    struct gi_range fault;
};

static bool submit_nothing(struct gi_executor *self, const struct gi_chain *chain,
                           struct glinfer_error *err)
{
    (void)self, (void)chain, (void)err;
    return true;
}

static struct gi_range fault_of(const struct gi_executor *self)
{
    return ((const struct faulty *)self)->fault;
}

// Leaves a chain in flight that was given up half-way, as an answer does that ends by a stop string
// while its next chain runs.
static void leave_faulty_chain(void)
{
    static const struct gi_executor_class class = {.submit = submit_nothing, .fault = fault_of};
    const struct gi_chain chain = {.n_past = 0, .n_tokens = 1, .n_steps = 1};
    struct faulty faulty = {{&class}, counters_of(1)}; // any word that is not zero
    struct gi_platform_saved saved;
    must_do(gi_session_enter(session, &saved, &err));
    spoil_counters();
    must_do(gi_runner_begin(&session->runner, &err));
    must_do(gi_runner_submit(&session->runner, &faulty.base, &chain, 0, &err));
    gi_session_leave(session, &saved);
}

TEST(a_fault_that_no_answer_waited_for_changes_no_token)
{
    struct gi_platform_saved saved;
    const struct answer expected = must_answer(8);
    glinfer_session_reset(session);
    leave_faulty_chain();
    const struct answer found = must_answer(8);
    assert_same(&found, &expected);
    must_do(gi_session_enter(session, &saved, &err));
    assert_counters_are_zero();
    gi_session_leave(session, &saved);
}

static bool is_lost;

// user: the session.
static void lose_gpu(void *user, enum glinfer_log_level level, const char *message)
{
    struct glinfer_session **own = user;
    (void)level;
    if (strstr(message, "was given up")) {
        gi_gpu_lose(gi_session_gpu(*own), "recovering", "the test says so", NULL);
        is_lost = true;
    }
}

// The persistent executor is gone by then.
TEST(a_gpu_that_is_lost_after_a_fault_is_an_error)
{
    struct tiny_model tiny = {0};
    struct glinfer_session *own = NULL;
    struct gi_settings settings = ask_for_persistent();
    struct answer answer = {0};
    const struct glinfer_generate_params asked = ask(prompt, 5, 8, &answer);
    struct glinfer_stats stats = {.struct_size = sizeof(stats)};
    settings.dispatch.has_spins = true; // none: each wait is a fault
    open_under(&tiny, test_data("data/models/tiny-q4_0.gguf"), &settings,
               (struct gi_log){lose_gpu, &own});
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = N_CTX);
    own = must_do(glinfer_session_create(tiny.model, &params, &err));
    must_fail(glinfer_generate(own, &asked, &stats, &err), GPU_LOST, "");
    assert_true(is_lost);
    assert_int_equal(stats.dispatch, gi_gpu_limits(gi_session_gpu(own))->is_indirect
                                         ? GLINFER_DISPATCH_INDIRECT
                                         : GLINFER_DISPATCH_DIRECT);
    glinfer_session_destroy(&own);
    tiny_model_close(&tiny);
}

//-- contexts --------------------------------------------------------------------------------------

// Sets the keys of the persistent programs of greedy steps of sessions that are created together.
static void find_keys(const char *path, uint32_t n_ctx, uint32_t n_batch, uint32_t n,
                      struct gi_hash *keys)
{
    struct tiny_model tiny = {0};
    const struct gi_settings settings = ask_for_persistent();
    open_under(&tiny, path, &settings, (struct gi_log){0});
    const struct glinfer_session_params params =
        PARAMS(session, .n_ctx = n_ctx, .n_batch = n_batch);
    struct glinfer_session *own[N_SLOTS];
    must_do(glinfer_sessions_create(tiny.model, &params, n, own, &err));
    struct gi_gpu *gpu = tiny.model->device->gpu;
    struct gi_platform_saved saved;
    must_do(gi_gpu_enter(gpu, &saved, &err));
    for (uint32_t i = 0; i < n; i++) {
        const struct gi_hash *found = gi_step_executors_key(own[i], GI_STEP_END_GREEDY);
        assert_non_null(found);
        keys[i] = *found;
    }
    gi_gpu_leave(gpu, &saved);
    for (uint32_t i = 0; i < n; i++) {
        glinfer_session_destroy(&own[i]);
    }
    tiny_model_close(&tiny);
}

TEST(one_program_serves_every_context_and_slot)
{
    static const char *const models[] = {
        "data/models/tiny-q4_0.gguf", "data/models/tiny-qwen3.gguf", "data/models/tiny-gemma3.gguf",
        "data/models/tiny-qwen3moe.gguf"};
    static const uint32_t sizes[][2] = {{256, 512}, {4096, 64}, {37, 8}};
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        struct gi_hash first, key, slots[N_SLOTS];
        find_keys(test_data(models[i]), 128, 512, 1, &first);
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            find_keys(test_data(models[i]), sizes[k][0], sizes[k][1], 1, &key);
            assert_memory_equal(&first, &key, sizeof(key));
        }
        find_keys(test_data(models[i]), 128, 512, N_SLOTS, slots);
        for (int k = 1; k < N_SLOTS; k++) {
            assert_memory_equal(&slots[0], &slots[k], sizeof(key));
        }
    }
}

// A buffer of its own for the cache takes up to three more storage blocks, of 16 that a program has
// on NVIDIA.
TEST(cache_and_lists_share_a_buffer)
{
    const struct tiny_model *tiny = *state;
    const struct gi_buffer *buffer = session->tables.ranges[GI_SESSION_STATE].buffer;
    assert_non_null(buffer);
    assert_ptr_equal(session->tables.ranges[GI_SESSION_VECTORS].buffer, buffer);
    for (uint32_t i = 0; i < tiny->model->hparams.n_layer; i++) {
        assert_ptr_equal(session->sequence.cache[i].range.buffer, buffer);
    }
}

RUN_TESTS_EACH(open_tiny_model, close_tiny_model, create_session, destroy_session)
