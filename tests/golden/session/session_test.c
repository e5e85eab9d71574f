// Tests what holds of any model and driver: chains of any length and either way of
// dispatching give the same tokens, a prompt in parts the same as a whole one, and decoding
// allocates nothing. Runs on a tiny model; exits 77 without a device.
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

#include <math.h>
#include <stdlib.h>

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

TEST(chains_of_any_length_give_the_same_tokens)
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

// With log-probabilities, and with a small top_k, other kernels sample.
TEST(every_way_to_sample_gives_the_same)
{
    static const struct {
        uint32_t top_k;
        float top_p;
    } filters[] = {
        {0, 0.9F}, {0, 0.3F}, {200, 1.0F}, {200, 0.9F}, {40, 0.95F}, {0, 1.0F},
    };
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        struct answer answers[2] = {0};
        for (uint32_t n_probs = 0; n_probs < 2; n_probs++) {
            SESSION *session = open_session(*state, 8, 256, 0);
            struct glinfer_generate_params params = ask(prompt, N_PROMPT, 60, &answers[n_probs]);
            params.temperature = 1.5F;
            params.top_k = filters[i].top_k;
            params.top_p = filters[i].top_p;
            params.seed = 99;
            params.n_probs = n_probs;
            must_generate(session, &params);
        }
        assert_same(&answers[0], &answers[1]);
    }
}

TEST(seeds_give_different_answers)
{
    SESSION *session = open_session(*state, 8, 256, 0);
    struct answer answers[2] = {0};
    for (uint64_t i = 0; i < 2; i++) {
        struct glinfer_generate_params params = ask(prompt, N_PROMPT, 40, &answers[i]);
        params.temperature = 1.5F;
        params.seed = i << 32; // the high word counts, too
        glinfer_session_reset(session);
        must_generate(session, &params);
    }
    assert_memory_not_equal(answers[0].ids, answers[1].ids, 40 * sizeof(int32_t));
}

TEST(waits_are_few)
{
    SESSION *session = open_session(*state, 8, 256, 0);
    struct answer first = {0}, answer = {0};
    const struct glinfer_generate_params timed = ask(prompt, N_PROMPT, 8, &first);
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 64, &answer);
    must_generate(session, &timed); // waits for programs that were never timed
    must_generate(session, &timed);
    glinfer_session_reset(session);
    const struct glinfer_stats stats = must_generate(session, &params);
    assert_in_range(stats.gpu_waits, 1, 16); // of 64 tokens
    assert_int_equal(stats.chain_length, 8);
    assert_int_equal(stats.predicted_n, 64);
    assert_int_equal(stats.stop, GLINFER_STOP_LIMIT);
}

// Chains that are submitted after the first tokens do not delay them.
TEST(the_first_tokens_come_before_long_chains)
{
    SESSION *session = open_session(*state, 64, 512, 0);
    struct answer answer = {.stop_after = 2};
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 200, &answer);
    const struct glinfer_stats stats = must_generate(session, &params);
    assert_int_equal(stats.stop, GLINFER_STOP_CALLBACK);
    assert_in_range(stats.chain_length, 1, 6);
}

// Holds the allocations of the library itself, not of the driver, at the second token.
struct counted {
    int n;
    long at_second;
};

static bool count_at_second(void *user, const struct glinfer_token *token)
{
    struct counted *counted = user;
    if (token->id >= 0 && ++counted->n == 2) {
        counted->at_second = count_allocations();
    }
    return true;
}

TEST(decoding_allocates_nothing)
{
    SESSION *session = open_session(*state, 4, 256, 0);
    struct counted counted = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 64, NULL);
    params.on_token = count_at_second;
    params.token_user = &counted;
    must_generate(session, &params);
    assert_int_equal(counted.n, 64);
    assert_int_equal(count_allocations(), counted.at_second);
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

// Programs are the device's, and sessions before had them compiled: what is a session's own is what
// a software renderer compiles at the first dispatches.
TEST(a_generation_compiles_what_none_of_its_kind_did)
{
    struct tiny_model *f = *state;
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    SESSION *session = open_session(f, 4, 256, 0);
    glinfer_device_describe(f->device, &info);
    for (int temperature = 0; temperature < 2; temperature++) {
        const int n_calls = compile_calls(session, N_PROMPT, (float)temperature);
        assert_true(n_calls > 0 || !info.is_software);
        assert_int_equal(compile_calls(session, N_PROMPT, (float)temperature), 0);
    }
}

TEST(what_is_expected_is_compiled_ahead)
{
    struct tiny_model *f = *state;
    int n_calls = 0;
    const struct glinfer_generate_params expected =
        PARAMS(generate, .n_predict = -1, .temperature = 1, .top_k = 40);
    const struct glinfer_session_params params =
        PARAMS(session, .n_ctx = 256, .expected = &expected, .progress = count_compiling,
               .progress_user = &n_calls);
    SESSION *session = must_do(glinfer_session_create(f->model, &params, &err));
    assert_true(n_calls > 0);
    assert_int_equal(compile_calls(session, N_PROMPT, 1), 0);
    assert_int_equal(compile_calls(session, 3, 1), 0);
}

// Fields after the end of a caller's struct are not read.
TEST(what_is_expected_may_be_of_an_older_caller)
{
    struct tiny_model *f = *state;
    struct glinfer_generate_params expected = PARAMS(generate, .n_predict = -1, .n_probs = 8);
    expected.struct_size = offsetof(struct glinfer_generate_params, n_probs);
    const struct glinfer_session_params params =
        PARAMS(session, .n_ctx = 256, .expected = &expected);
    SESSION *session = must_do(glinfer_session_create(f->model, &params, &err));
    assert_int_equal(compile_calls(session, N_PROMPT, 0), 0);
}

//-- prompts ---------------------------------------------------------------------------------------

TEST(small_batches_are_one_large_batch)
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

static bool keep_logprob(void *user, const struct glinfer_token *token)
{
    float **next = user;
    if (token->id >= 0) {
        *(*next)++ = token->probs[0].logprob;
    }
    return true;
}

// Batches of few tokens have kernels of their own; what they leave is what one batch leaves.
TEST(a_prompt_may_be_split_anywhere)
{
    enum { N_IDS = 48, N_PREDICT = 8 };
    const uint32_t splits[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 44, 46};
    int32_t ids[N_IDS];
    float whole[N_PREDICT], parts[N_PREDICT], *next = whole;
    for (int i = 0; i < N_IDS; i++) {
        ids[i] = 33 + (i * 29 + i / 5) % 90;
    }
    SESSION *session = open_session(*state, 8, 256, 0);
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
}

// Scoring gives a text the log-probabilities that it had when it was generated.
TEST(scores_agree_with_generation)
{
    enum { N = 90 };
    struct answer answer = {0};
    float told[N], *next = told, scored[N_PROMPT + N];
    int32_t ids[N_PROMPT + N];
    SESSION *session = open_session(*state, 8, 256, 0);
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
    must_do(glinfer_score(session, ids, (size_t)(N_PROMPT + answer.n), scored, &err));
    for (int i = 0; i < answer.n; i++) {
        assert_true(fabsf(scored[N_PROMPT - 1 + i] - told[i]) < 2e-3F);
    }
    must_fail(glinfer_score(session, ids, 1, scored, &err), INVALID_ARGUMENT, "");
}

TEST(a_prompt_that_fills_the_context_gives_one_token)
{
    struct answer filled = {0}, roomy = {0}, none = {0};
    SESSION *session = open_session(*state, 8, N_PROMPT, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, -1, &filled);
    struct glinfer_stats stats = must_generate(session, &params);
    assert_int_equal(stats.stop, GLINFER_STOP_CONTEXT);
    assert_int_equal(stats.n_past, N_PROMPT);
    params = ask(prompt, 1, 1, &none);
    must_fail(glinfer_generate(session, &params, NULL, &err), CONTEXT_FULL, "");
    params.n_prompt = SIZE_MAX; // no id after the context's end is read
    must_fail(glinfer_generate(session, &params, NULL, &err), CONTEXT_FULL, "");
    glinfer_session_destroy(&session);
    session = open_session(*state, 8, 256, 0);
    answer_more(session, prompt, N_PROMPT, 1, &roomy);
    assert_same(&filled, &roomy);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
