// What a session promises whatever the model and the driver: chains of any length and either way of
// dispatching give the same tokens, a split conversation the same as a whole one, a cancelled or refused
// call leaves the session usable, and decoding allocates nothing. Runs on the tiny models; exits 77
// without a device.
#include "golden/tiny_model.h"
#include "unit/cmocka_test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef MODELS
#error "MODELS: the folder of the tiny models"
#endif

enum { MAX_TOKENS = 300 };

//-- allocations -----------------------------------------------------------------------------------

// Linked with --wrap: counts what the library itself allocates, not what the driver does.
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *data, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *data, size_t size);

static long n_allocations;

void *__wrap_malloc(size_t size)
{
    n_allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    n_allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *data, size_t size)
{
    n_allocations++;
    return __real_realloc(data, size);
}

//-- a session and what it says --------------------------------------------------------------------

struct answer {
    int32_t ids[MAX_TOKENS];
    int n;
    char text[4096];
    size_t text_size;
    int stop_after;                 // tokens; 0: never
    struct glinfer_session *cancel; // cancelled at the second token
    long allocations_at_second;
};

static bool on_token(void *user, const struct glinfer_token *token)
{
    struct answer *answer = user;
    for (size_t i = 0; i < token->text_size && answer->text_size + 1 < sizeof(answer->text); i++) {
        answer->text[answer->text_size++] = token->text[i];
    }
    answer->text[answer->text_size] = 0;
    if (token->id < 0) {
        return true;
    }
    answer->ids[answer->n++] = token->id;
    if (answer->n == 2) {
        answer->allocations_at_second = n_allocations;
        if (answer->cancel) {
            glinfer_session_cancel(answer->cancel);
        }
    }
    return answer->n != answer->stop_after;
}

static struct glinfer_session *open_session(struct tiny_model *f, uint32_t chain, uint32_t n_ctx,
                                            uint32_t n_batch)
{
    struct glinfer_session_params params;
    struct glinfer_error err;
    glinfer_session_params_init(&params);
    params.chain_length = chain;
    params.n_ctx = n_ctx;
    params.n_batch = n_batch;
    params.precision = GLINFER_PRECISION_F32; // answers by different kernels are compared closely
    struct glinfer_session *session = glinfer_session_create(f->model, &params, &err);
    if (!session) {
        fail_msg("%s", err.message);
    }
    return session;
}

static struct glinfer_generate_params ask(const int32_t *prompt, size_t n, int32_t n_predict,
                                          struct answer *answer)
{
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_prompt = n;
    params.n_predict = n_predict;
    params.ignore_eos = true;
    params.on_token = on_token;
    params.token_user = answer;
    return params;
}

static struct glinfer_stats must_generate(struct glinfer_session *session,
                                          const struct glinfer_generate_params *params)
{
    struct glinfer_stats stats = {.struct_size = sizeof(stats)};
    struct glinfer_error err;
    if (!glinfer_generate(session, params, &stats, &err)) {
        fail_msg("%s", err.message);
    }
    return stats;
}

static void assert_same(const struct answer *a, const struct answer *b)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        assert_int_equal(a->ids[i], b->ids[i]);
    }
    assert_string_equal(a->text, b->text);
}

static const int32_t prompt[] = {72, 101, 108, 108, 111, 32, 119, 111, 114, 108, 100, 33, 40, 41};
enum { N_PROMPT = sizeof(prompt) / sizeof(prompt[0]) };

//-- chains ----------------------------------------------------------------------------------------

enum { N_CHAINED = 150 }; // the last of the growing chains has 69

static void generate_with_chain(struct tiny_model *f, uint32_t chain, float temperature,
                                struct answer *answer)
{
    struct glinfer_session *session = open_session(f, chain, 512, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_CHAINED, answer);
    params.temperature = temperature;
    params.top_k = 40;
    params.top_p = 0.95F;
    params.min_p = 0.01F;
    params.seed = 1234567890123;
    must_generate(session, &params);
    glinfer_session_destroy(&session);
    assert_null(session);
    assert_int_equal(answer->n, N_CHAINED);
}

static void chains_of_any_length_give_the_same_tokens(void **state)
{
    const uint32_t lengths[] = {7, 32, 256, 0};
    for (int sampled = 0; sampled < 2; sampled++) {
        struct answer single = {0};
        generate_with_chain(*state, 1, (float)sampled, &single);
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            struct answer chained = {0};
            generate_with_chain(*state, lengths[i], (float)sampled, &chained);
            assert_same(&chained, &single);
        }
    }
}

static void seeds_give_different_answers(void **state)
{
    struct glinfer_session *session = open_session(*state, 8, 256, 0);
    struct answer answers[2] = {0};
    for (uint64_t i = 0; i < 2; i++) {
        struct glinfer_generate_params params = ask(prompt, N_PROMPT, 40, &answers[i]);
        params.temperature = 1.5F;
        params.seed = i << 32; // the high word counts, too
        glinfer_session_reset(session);
        must_generate(session, &params);
    }
    assert_memory_not_equal(answers[0].ids, answers[1].ids, 40 * sizeof(int32_t));
    glinfer_session_destroy(&session);
}

static void waits_are_few(void **state)
{
    struct glinfer_session *session = open_session(*state, 8, 256, 0);
    struct answer answer = {0};
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 64, &answer);
    const struct glinfer_stats stats = must_generate(session, &params);
    assert_in_range(stats.gpu_waits, 1, 10);
    assert_int_equal(stats.chain_length, 8);
    assert_int_equal(stats.predicted_n, 64);
    assert_int_equal(stats.stop, GLINFER_STOP_LIMIT);
    glinfer_session_destroy(&session);
}

// What is submitted behind the first tokens must not hold them back.
static void the_first_tokens_come_before_long_chains(void **state)
{
    struct glinfer_session *session = open_session(*state, 64, 512, 0);
    struct answer answer = {.stop_after = 2};
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 200, &answer);
    const struct glinfer_stats stats = must_generate(session, &params);
    assert_int_equal(stats.stop, GLINFER_STOP_CALLBACK);
    assert_in_range(stats.chain_length, 1, 6);
    glinfer_session_destroy(&session);
}

static void decoding_allocates_nothing(void **state)
{
    struct glinfer_session *session = open_session(*state, 4, 256, 0);
    struct answer answer = {0};
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 64, &answer);
    must_generate(session, &params);
    assert_int_equal(n_allocations, answer.allocations_at_second);
    glinfer_session_destroy(&session);
}

//-- compiling -------------------------------------------------------------------------------------

static bool count_compiling(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    *(int *)user += phase == GLINFER_PHASE_COMPILE;
    return true;
}

// How often a generation said that it compiles.
static int compile_calls(struct glinfer_session *session, size_t n_prompt, float temperature)
{
    struct answer answer = {0};
    int n_calls = 0;
    struct glinfer_generate_params params = ask(prompt, n_prompt, 3, &answer);
    params.temperature = temperature;
    params.top_k = 40;
    params.progress = count_compiling;
    params.progress_user = &n_calls;
    must_generate(session, &params);
    return n_calls;
}

// Programs are the device's, and sessions before had them compiled: what is a session's own is what a software
// renderer compiles at the first dispatches.
static void a_generation_compiles_what_none_of_its_kind_did(void **state)
{
    struct tiny_model *f = *state;
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    struct glinfer_session *session = open_session(f, 4, 256, 0);
    glinfer_device_describe(f->device, &info);
    for (int temperature = 0; temperature < 2; temperature++) {
        const int n_calls = compile_calls(session, N_PROMPT, (float)temperature);
        assert_true(n_calls > 0 || !info.is_software);
        assert_int_equal(compile_calls(session, N_PROMPT, (float)temperature), 0);
    }
    glinfer_session_destroy(&session);
}

static void what_is_expected_is_compiled_ahead(void **state)
{
    struct tiny_model *f = *state;
    struct glinfer_session_params params;
    struct glinfer_generate_params expected;
    struct glinfer_error err;
    int n_calls = 0;
    glinfer_generate_params_init(&expected);
    expected.temperature = 1;
    expected.top_k = 40;
    glinfer_session_params_init(&params);
    params.n_ctx = 256;
    params.expected = &expected;
    params.progress = count_compiling;
    params.progress_user = &n_calls;
    struct glinfer_session *session = glinfer_session_create(f->model, &params, &err);
    assert_non_null(session);
    assert_true(n_calls > 0);
    assert_int_equal(compile_calls(session, N_PROMPT, 1), 0);
    assert_int_equal(compile_calls(session, 3, 1), 0);
    glinfer_session_destroy(&session);
}

// Fields behind the end of a caller's struct are no wishes.
static void what_is_expected_may_be_of_an_older_caller(void **state)
{
    struct tiny_model *f = *state;
    struct glinfer_session_params params;
    struct glinfer_generate_params expected;
    struct glinfer_error err;
    glinfer_generate_params_init(&expected);
    expected.struct_size = offsetof(struct glinfer_generate_params, n_probs);
    expected.n_probs = 8;
    glinfer_session_params_init(&params);
    params.n_ctx = 256;
    params.expected = &expected;
    struct glinfer_session *session = glinfer_session_create(f->model, &params, &err);
    assert_non_null(session);
    assert_int_equal(compile_calls(session, N_PROMPT, 0), 0);
    glinfer_session_destroy(&session);
}

//-- prompts ---------------------------------------------------------------------------------------

static void a_prompt_in_parts_is_the_whole_prompt(void **state)
{
    struct answer whole = {0}, parts = {0};
    struct glinfer_session *session = open_session(*state, 8, 256, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 20, &whole);
    must_generate(session, &params);
    glinfer_session_reset(session);
    params = ask(prompt, 5, 0, &parts);
    assert_int_equal(must_generate(session, &params).n_past, 5);
    params = ask(prompt + 5, 1, 0, &parts);
    must_generate(session, &params);
    params = ask(prompt + 6, N_PROMPT - 6, 20, &parts);
    must_generate(session, &params);
    assert_same(&whole, &parts);
    glinfer_session_destroy(&session);
}

static void an_answer_can_be_gone_on_with(void **state)
{
    struct answer whole = {0}, parts = {0};
    struct glinfer_session *session = open_session(*state, 8, 256, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 21, &whole);
    must_generate(session, &params);
    glinfer_session_reset(session);
    params = ask(prompt, N_PROMPT, 20, &parts);
    assert_int_equal(must_generate(session, &params).n_past, N_PROMPT + 19);
    struct answer rest = {0}, all = {0};
    params = ask(prompt, N_PROMPT, 10, &rest); // after the 20 tokens
    must_generate(session, &params);
    int32_t history[2 * N_PROMPT + 20];
    for (int i = 0; i < N_PROMPT; i++) {
        history[i] = history[N_PROMPT + 20 + i] = prompt[i];
    }
    for (int i = 0; i < 20; i++) {
        assert_int_equal(parts.ids[i], whole.ids[i]);
        history[N_PROMPT + i] = whole.ids[i];
    }
    glinfer_session_reset(session);
    params = ask(history, 2 * N_PROMPT + 20, 10, &all);
    must_generate(session, &params);
    assert_same(&rest, &all);
    glinfer_session_destroy(&session);
}

static void small_batches_are_one_large_batch(void **state)
{
    int32_t ids[200];
    struct answer large = {0}, small = {0};
    for (int i = 0; i < 200; i++) {
        ids[i] = 33 + (i * 37 + i / 7) % 90;
    }
    const uint32_t batches[] = {512, 33, 5, 1};
    for (int i = 0; i < 4; i++) {
        struct glinfer_session *session = open_session(*state, 8, 256, batches[i]);
        const struct glinfer_generate_params params = ask(ids, 200, 16, i ? &small : &large);
        small = (struct answer){0};
        must_generate(session, &params);
        glinfer_session_destroy(&session);
        if (i > 0) {
            assert_same(&large, &small);
        }
    }
}

static void a_full_context_ends_the_answer(void **state)
{
    struct answer answer = {0};
    struct glinfer_session *session = open_session(*state, 8, 32, 0);
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, -1, &answer);
    const struct glinfer_stats stats = must_generate(session, &params);
    assert_int_equal(stats.stop, GLINFER_STOP_LIMIT);
    assert_int_equal(answer.n, 32 - N_PROMPT + 1); // the last one needs no place
    assert_int_equal(stats.n_past, 32);
    glinfer_session_destroy(&session);
}

static bool keep_logprob(void *user, const struct glinfer_token *token)
{
    float **next = user;
    if (token->id >= 0) {
        *(*next)++ = token->probs[0].logprob;
    }
    return true;
}

// Batches of few tokens have kernels of their own; what they leave is what one batch leaves.
static void a_prompt_may_be_split_anywhere(void **state)
{
    enum { N_IDS = 48, N_PREDICT = 8 };
    const uint32_t splits[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 44, 46};
    int32_t ids[N_IDS];
    float whole[N_PREDICT], parts[N_PREDICT], *next = whole;
    for (int i = 0; i < N_IDS; i++) {
        ids[i] = 33 + (i * 29 + i / 5) % 90;
    }
    struct glinfer_session *session = open_session(*state, 8, 256, 0);
    struct glinfer_generate_params params = ask(ids, N_IDS, N_PREDICT, NULL);
    params.on_token = keep_logprob;
    params.token_user = &next;
    params.n_probs = 1;
    must_generate(session, &params);
    for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
        const uint32_t split = splits[i];
        struct glinfer_generate_params head = ask(ids, split, 0, NULL), tail = params;
        glinfer_session_reset(session);
        must_generate(session, &head);
        tail.prompt += split;
        tail.n_prompt -= split;
        next = parts;
        must_generate(session, &tail);
        for (int k = 0; k < N_PREDICT; k++) {
            assert_true(fabsf(whole[k] - parts[k]) < 1e-3F);
        }
    }
    glinfer_session_destroy(&session);
}

// What generation says of its own tokens, scoring says of them as a given text.
static void scores_agree_with_generation(void **state)
{
    enum { N = 90 };
    struct answer answer = {0};
    float told[N], *next = told, scored[N_PROMPT + N];
    int32_t ids[N_PROMPT + N];
    struct glinfer_error err;
    struct glinfer_session *session = open_session(*state, 8, 256, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N, &answer);
    params.ignore_eos = false;
    const int n = (int)must_generate(session, &params).predicted_n;
    params.on_token = keep_logprob;
    params.token_user = &next;
    params.n_probs = 1;
    glinfer_session_reset(session);
    must_generate(session, &params);
    memcpy(ids, prompt, sizeof(prompt));
    memcpy(ids + N_PROMPT, answer.ids, sizeof(int32_t) * (size_t)answer.n);
    assert_true(n > 70 || answer.n < n); // more than one batch of scoring
    assert_true(glinfer_score(session, ids, (size_t)(N_PROMPT + answer.n), scored, &err));
    for (int i = 0; i < answer.n; i++) {
        assert_true(fabsf(scored[N_PROMPT - 1 + i] - told[i]) < 2e-3F);
    }
    assert_false(glinfer_score(session, ids, 1, scored, &err));
    assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
    glinfer_session_destroy(&session);
}

static void a_prompt_that_fills_the_context_gives_one_token(void **state)
{
    struct answer filled = {0}, roomy = {0}, none = {0};
    struct glinfer_session *session = open_session(*state, 8, N_PROMPT, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, -1, &filled);
    struct glinfer_stats stats = must_generate(session, &params);
    assert_int_equal(stats.stop, GLINFER_STOP_LIMIT);
    assert_int_equal(stats.n_past, N_PROMPT);
    struct glinfer_error err = {0};
    params = ask(prompt, 1, 1, &none);
    assert_false(glinfer_generate(session, &params, NULL, &err));
    assert_int_equal(err.status, GLINFER_STATUS_CONTEXT_FULL);
    glinfer_session_destroy(&session);
    session = open_session(*state, 8, 256, 0);
    params = ask(prompt, N_PROMPT, 1, &roomy);
    must_generate(session, &params);
    assert_same(&filled, &roomy);
    glinfer_session_destroy(&session);
}

//-- refusals --------------------------------------------------------------------------------------

static void expect_refusal(struct glinfer_session *session,
                           const struct glinfer_generate_params *params, enum glinfer_status status)
{
    struct glinfer_error err = {0};
    assert_false(glinfer_generate(session, params, NULL, &err));
    assert_int_equal(err.status, status);
    assert_true(err.message[0] != 0);
}

static void wrong_requests_are_refused_and_nothing_is_lost(void **state)
{
    struct answer before = {0}, after = {0}, none = {0};
    struct glinfer_session *session = open_session(*state, 8, 24, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 4, &before);
    must_generate(session, &params);
    glinfer_session_reset(session);
    int32_t long_prompt[30] = {0};
    params = ask(long_prompt, 30, 4, &none);
    expect_refusal(session, &params, GLINFER_STATUS_CONTEXT_FULL);
    params = ask(prompt, 0, 4, &none);
    expect_refusal(session, &params, GLINFER_STATUS_INVALID_ARGUMENT);
    const int32_t wrong[] = {3, 1 << 30};
    params = ask(wrong, 2, 4, &none);
    expect_refusal(session, &params, GLINFER_STATUS_INVALID_ARGUMENT);
    params = ask(prompt, N_PROMPT, 4, &none);
    params.n_probs = 65;
    expect_refusal(session, &params, GLINFER_STATUS_INVALID_ARGUMENT);
    params.n_probs = 1;
    params.temperature = NAN;
    expect_refusal(session, &params, GLINFER_STATUS_INVALID_ARGUMENT);
    params.temperature = 1.0F;
    params.min_p = NAN;
    expect_refusal(session, &params, GLINFER_STATUS_INVALID_ARGUMENT);
    assert_int_equal(none.n, 0);
    params = ask(prompt, N_PROMPT, 4, &after);
    must_generate(session, &params);
    assert_same(&before, &after);
    glinfer_session_destroy(&session);
}

static void a_budget_is_kept(void **state)
{
    struct tiny_model *f = *state;
    struct glinfer_model_params params;
    struct glinfer_error err;
    glinfer_model_params_init(&params);
    params.path = MODELS "/tiny-q8_0.gguf";
    params.mem_budget = 64 << 10;
    assert_null(glinfer_model_load(f->device, &params, &err));
    assert_int_equal(err.status, GLINFER_STATUS_OVER_BUDGET);
}

static void a_context_that_fits_no_storage_block_is_refused(void **state)
{
    struct tiny_model *f = *state;
    const uint32_t contexts[] = {1u << 24, UINT32_MAX};
    for (int i = 0; i < 2; i++) {
        struct glinfer_session_params params;
        struct glinfer_error err = {0};
        glinfer_session_params_init(&params);
        params.n_ctx = contexts[i];
        assert_null(glinfer_session_create(f->model, &params, &err));
        assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "context"));
    }
}

//-- stopping --------------------------------------------------------------------------------------

static void the_callback_stops_the_answer(void **state)
{
    struct answer answer = {.stop_after = 3};
    struct glinfer_session *session = open_session(*state, 8, 256, 0);
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 50, &answer);
    const struct glinfer_stats stats = must_generate(session, &params);
    assert_int_equal(stats.stop, GLINFER_STOP_CALLBACK);
    assert_int_equal(answer.n, 3);
    assert_int_equal(stats.n_past, N_PROMPT + 2);
    glinfer_session_destroy(&session);
}

static void a_cancelled_answer_leaves_a_usable_session(void **state)
{
    struct answer whole = {0}, cancelled = {0}, again = {0};
    struct glinfer_session *session = open_session(*state, 4, 256, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 50, &whole);
    must_generate(session, &params);
    glinfer_session_reset(session);
    cancelled.cancel = session;
    params = ask(prompt, N_PROMPT, 50, &cancelled);
    expect_refusal(session, &params, GLINFER_STATUS_CANCELLED);
    assert_in_range(cancelled.n, 2, 8);
    glinfer_session_reset(session);
    params = ask(prompt, N_PROMPT, 50, &again);
    must_generate(session, &params);
    assert_same(&whole, &again);
    glinfer_session_destroy(&session);
}

static void a_cancelled_session_holds_what_was_delivered(void **state)
{
    struct answer cancelled = {0}, rest = {0}, all = {0};
    int32_t history[2 * N_PROMPT + 50];
    struct glinfer_session *session = open_session(*state, 4, 256, 0);
    cancelled.cancel = session;
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 50, &cancelled);
    expect_refusal(session, &params, GLINFER_STATUS_CANCELLED);
    params = ask(prompt, N_PROMPT, 10, &rest);
    must_generate(session, &params);
    const size_t n = N_PROMPT + (size_t)cancelled.n;
    memcpy(history, prompt, sizeof(prompt));
    memcpy(history + N_PROMPT, cancelled.ids, (size_t)cancelled.n * sizeof(int32_t));
    memcpy(history + n, prompt, sizeof(prompt));
    glinfer_session_reset(session);
    params = ask(history, n + N_PROMPT, 10, &all);
    must_generate(session, &params);
    assert_same(&rest, &all);
    glinfer_session_destroy(&session);
}

static void *cancel_soon(void *session)
{
    usleep(20000);
    glinfer_session_cancel(session);
    return NULL;
}

static void another_thread_may_cancel(void **state)
{
    struct glinfer_session *session = open_session(*state, 1, 0, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, -1, NULL);
    pthread_t thread;
    params.on_token = NULL;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, session), 0);
    struct glinfer_error err = {0};
    const bool ok = glinfer_generate(session, &params, NULL, &err);
    pthread_join(thread, NULL);
    assert_true(ok || err.status == GLINFER_STATUS_CANCELLED); // a fast device may be done
    glinfer_session_destroy(&session);
}

static void stop_strings_end_the_answer(void **state)
{
    struct answer whole = {0}, stopped = {0};
    struct glinfer_session *session = open_session(*state, 8, 256, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 60, &whole);
    must_generate(session, &params);
    assert_true(whole.text_size > 12);
    char word[4] = {whole.text[8], whole.text[9], whole.text[10], 0};
    const char *const words[] = {"never to be found", word};
    glinfer_session_reset(session);
    params = ask(prompt, N_PROMPT, 60, &stopped);
    params.stop = words;
    params.n_stop = 2;
    const struct glinfer_stats stats = must_generate(session, &params);
    const char *hit = strstr(whole.text, word);
    assert_int_equal(stats.stop, GLINFER_STOP_WORD);
    assert_int_equal(stopped.text_size, (size_t)(hit - whole.text));
    assert_memory_equal(stopped.text, whole.text, stopped.text_size);
    glinfer_session_destroy(&session);
}

//-- the program -----------------------------------------------------------------------------------

static int open_fixture(void **state)
{
    static struct tiny_model tiny;
    *state = &tiny;
    return tiny_model_open(&tiny, MODELS "/tiny-q4_0.gguf") ? 0 : -1;
}

static int close_fixture(void **state)
{
    tiny_model_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_any_length_give_the_same_tokens),
        cmocka_unit_test(seeds_give_different_answers),
        cmocka_unit_test(waits_are_few),
        cmocka_unit_test(the_first_tokens_come_before_long_chains),
        cmocka_unit_test(decoding_allocates_nothing),
        cmocka_unit_test(a_generation_compiles_what_none_of_its_kind_did),
        cmocka_unit_test(what_is_expected_is_compiled_ahead),
        cmocka_unit_test(what_is_expected_may_be_of_an_older_caller),
        cmocka_unit_test(a_prompt_in_parts_is_the_whole_prompt),
        cmocka_unit_test(an_answer_can_be_gone_on_with),
        cmocka_unit_test(small_batches_are_one_large_batch),
        cmocka_unit_test(a_prompt_may_be_split_anywhere),
        cmocka_unit_test(scores_agree_with_generation),
        cmocka_unit_test(a_full_context_ends_the_answer),
        cmocka_unit_test(a_prompt_that_fills_the_context_gives_one_token),
        cmocka_unit_test(wrong_requests_are_refused_and_nothing_is_lost),
        cmocka_unit_test(a_budget_is_kept),
        cmocka_unit_test(a_context_that_fits_no_storage_block_is_refused),
        cmocka_unit_test(the_callback_stops_the_answer),
        cmocka_unit_test(a_cancelled_answer_leaves_a_usable_session),
        cmocka_unit_test(a_cancelled_session_holds_what_was_delivered),
        cmocka_unit_test(another_thread_may_cancel),
        cmocka_unit_test(stop_strings_end_the_answer),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
