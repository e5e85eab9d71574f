// Tests answers whose tokens are sampled on the host, by struct glinfer_samplers: the same tokens
// as on the GPU for common settings, at any chain length, after an earlier text and after a break;
// invalid settings. Runs on a tiny model; exits 77 without a device.
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>

enum { N_TOKENS = 24, N_VOCAB = 512 };

static struct glinfer_samplers defaults(void)
{
    struct glinfer_samplers samplers;
    glinfer_samplers_init(&samplers);
    return samplers;
}

static struct glinfer_generate_params ask_sampled(struct answer *answer, float temperature,
                                                  uint64_t seed)
{
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_TOKENS, answer);
    params.temperature = temperature;
    params.seed = seed;
    params.top_k = 40;
    params.top_p = 0.95f;
    params.min_p = 0.05f;
    return params;
}

enum { MAX_CHAIN = 32 };
static struct glinfer_session *sessions[MAX_CHAIN + 1]; // by the length of their chains

// Returns the answer of an empty session.
static struct answer answer_of(struct tiny_model *f, struct glinfer_generate_params params,
                               const struct glinfer_samplers *samplers, uint32_t chain,
                               struct glinfer_stats *stats)
{
    struct answer answer = {0};
    if (!sessions[chain]) {
        sessions[chain] = open_session(f, chain, 128, 0);
    }
    glinfer_session_reset(sessions[chain]);
    params.token_user = &answer;
    params.samplers = samplers;
    const struct glinfer_stats found = must_generate(sessions[chain], &params);
    if (stats) {
        *stats = found;
    }
    return answer;
}

static int close_all(void **state)
{
    for (int i = 0; i <= MAX_CHAIN; i++) {
        glinfer_session_destroy(&sessions[i]);
    }
    return close_tiny_model(state);
}

// Returns settings that do the same on the host: with xtc, which never happens.
static struct glinfer_samplers on_host(struct glinfer_samplers samplers)
{
    samplers.xtc_probability = 1e-30f;
    return samplers;
}

TEST(host_and_gpu_choose_the_same)
{
    struct glinfer_samplers neutral = defaults(), biased = on_host(neutral);
    struct glinfer_stats gpu_stats, host_stats;
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct glinfer_generate_params params = ask_sampled(NULL, seed == 0 ? 0 : 0.8f, seed);
        params.top_k = seed % 2 ? 40 : 0;
        const struct answer plain = answer_of(*state, params, NULL, 8, NULL);
        const struct answer gpu = answer_of(*state, params, &neutral, 8, &gpu_stats);
        const struct answer host = answer_of(*state, params, &biased, 8, &host_stats);
        assert_int_equal(gpu_stats.chain_length, 8);
        assert_int_equal(host_stats.chain_length, 1);
        assert_same(&plain, &gpu);
        assert_same(&plain, &host);
    }
}

// Penalties over windows of any length and biases leave chains their length, and choose what the
// host chooses.
TEST(penalties_and_biases_are_the_gpus)
{
    static const int32_t windows[] = {1, 5, 64, -1};
    const struct glinfer_logit_bias biases[] = {{5, 1.5f}, {9, -INFINITY}, {5, 0.5f}};
    struct glinfer_stats gpu_stats, host_stats;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct glinfer_samplers samplers = defaults();
        struct glinfer_generate_params params = ask_sampled(NULL, seed % 4 == 0 ? 0 : 0.8f, seed);
        params.top_k = seed % 4 == 1 ? 0 : 40;
        params.n_probs = seed % 4 == 3 ? 2 : 0;
        samplers.repeat_last_n = windows[seed / 2];
        samplers.repeat_penalty = 1.4f;
        samplers.presence_penalty = 0.3f;
        samplers.frequency_penalty = 0.2f;
        samplers.logit_bias = biases;
        samplers.n_logit_bias = seed % 3;
        const struct glinfer_samplers same = on_host(samplers);
        const struct answer host = answer_of(*state, params, &same, 8, &host_stats);
        const struct answer gpu = answer_of(*state, params, &samplers, 8, &gpu_stats);
        const struct answer single = answer_of(*state, params, &samplers, 1, NULL);
        const struct answer longer = answer_of(*state, params, &samplers, 32, NULL);
        assert_int_equal(host_stats.chain_length, 1);
        assert_int_equal(gpu_stats.chain_length, 8);
        assert_same(&gpu, &host);
        assert_same(&gpu, &single);
        assert_same(&gpu, &longer);
    }
}

// Returns an answer in a context that is too short for it, whose cache begins anew.
static struct answer shifted_answer(struct tiny_model *f, const struct glinfer_samplers *samplers)
{
    struct answer answer = {0};
    struct glinfer_session *session = open_session(f, 4, N_PROMPT + 8, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_TOKENS, &answer);
    params.context_full = GLINFER_CONTEXT_FULL_SHIFT;
    params.samplers = samplers;
    must_generate(session, &params);
    assert_int_equal(answer.n, N_TOKENS);
    glinfer_session_destroy(&session);
    return answer;
}

TEST(penalties_outlast_a_shift)
{
    struct glinfer_samplers samplers = defaults();
    samplers.repeat_penalty = 1.3f;
    samplers.repeat_last_n = -1;
    const struct glinfer_samplers same = on_host(samplers);
    const struct answer gpu = shifted_answer(*state, &samplers);
    const struct answer host = shifted_answer(*state, &same);
    assert_same(&gpu, &host);
}

// A second prompt of one token is a decode step.
TEST(penalties_go_on_behind_an_answer)
{
    struct answer answers[2] = {0};
    for (int i = 0; i < 2; i++) {
        struct glinfer_samplers samplers = defaults();
        SESSION *session = open_session(*state, 0, 256, 0);
        struct glinfer_generate_params params = ask(prompt, N_PROMPT, 6, &answers[i]);
        samplers.frequency_penalty = 0.7f;
        samplers = i ? on_host(samplers) : samplers;
        params.samplers = &samplers;
        must_generate(session, &params);
        params.n_prompt = 1;
        must_generate(session, &params);
        glinfer_session_reset(session);
        must_generate(session, &params);
    }
    assert_same(&answers[0], &answers[1]);
}

static bool is_among(int32_t id, const int32_t *ids, int n)
{
    for (int i = 0; i < n; i++) {
        if (ids[i] == id) {
            return true;
        }
    }
    return false;
}

// The prompt, the answer and a second prompt count.
TEST(penalties_know_all_that_went_before)
{
    struct glinfer_samplers samplers = defaults();
    struct answer answer = {0};
    SESSION *session = open_session(*state, 0, 256, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_TOKENS, &answer);
    samplers.presence_penalty = 1e6f;
    samplers.repeat_last_n = -1;
    params.samplers = &samplers;
    must_generate(session, &params);
    params.prompt = prompt + 3;
    params.n_prompt = 2;
    must_generate(session, &params);
    assert_int_equal(answer.n, 2 * N_TOKENS);
    for (int i = 0; i < answer.n; i++) {
        assert_false(is_among(answer.ids[i], prompt, N_PROMPT));
        assert_false(is_among(answer.ids[i], answer.ids, i));
    }
}

TEST(biases_ban_and_force)
{
    const struct glinfer_logit_bias force = {77, 1e6f};
    struct glinfer_logit_bias bans[N_VOCAB];
    struct glinfer_samplers samplers = defaults();
    struct glinfer_generate_params params = ask_sampled(NULL, 0.8f, 3);
    samplers.logit_bias = &force;
    samplers.n_logit_bias = 1;
    const struct answer forced = answer_of(*state, params, &samplers, 4, NULL);
    for (int i = 0; i < N_TOKENS; i++) {
        assert_int_equal(forced.ids[i], 77);
    }
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    glinfer_model_describe(((struct tiny_model *)*state)->model, &info);
    assert_true(info.n_vocab <= N_VOCAB);
    for (int32_t id = 0; id < (int32_t)info.n_vocab; id++) {
        bans[id] = (struct glinfer_logit_bias){id, -INFINITY};
    }
    samplers.logit_bias = bans;
    samplers.n_logit_bias = info.n_vocab;
    SESSION *session = open_session(*state, 1, 64, 0);
    struct answer answer = {0};
    params.token_user = &answer;
    params.samplers = &samplers;
    must_fail(glinfer_generate(session, &params, NULL, &err), UNSUPPORTED, "");
    assert_int_equal(answer.n, 0);
}

//-- with the rest ---------------------------------------------------------------------------------

struct listed {
    struct glinfer_prob probs[N_TOKENS];
    uint32_t n;
};

static bool note_probs(void *user, const struct glinfer_token *token)
{
    struct listed *listed = user;
    assert_int_equal(token->n_probs, 3);
    listed->probs[listed->n++] = token->probs[0];
    return true;
}

TEST(log_probabilities_are_those_of_the_model)
{
    struct listed gpu = {0}, host = {0};
    struct glinfer_samplers samplers = defaults();
    SESSION *session = open_session(*state, 1, 64, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 1, NULL);
    params.n_probs = 3;
    params.on_token = note_probs;
    params.token_user = &gpu;
    must_generate(session, &params);
    glinfer_session_reset(session);
    samplers.repeat_penalty = 5.0f;
    params.samplers = &samplers;
    params.token_user = &host;
    must_generate(session, &params);
    assert_int_equal(gpu.probs[0].id, host.probs[0].id);
    assert_true(gpu.probs[0].logprob == host.probs[0].logprob);
}

// Returns the token that ends an answer; -1: there is none that a bias alone brings about.
static int32_t find_stop(struct tiny_model *f)
{
    struct glinfer_samplers samplers = defaults();
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 2, NULL);
    for (int32_t id = 0; id < 8; id++) {
        const struct glinfer_logit_bias force = {id, 1e6f};
        struct glinfer_stats stats;
        samplers.logit_bias = &force;
        samplers.n_logit_bias = 1;
        params.ignore_eos = false;
        answer_of(f, params, &samplers, 1, &stats);
        if (stats.stop == GLINFER_STOP_EOS) {
            return id;
        }
    }
    return -1;
}

TEST(end_tokens_end_or_are_ignored)
{
    const int32_t stop = find_stop(*state);
    assert_true(stop >= 0);
    const struct glinfer_logit_bias force = {stop, 1e6f};
    struct glinfer_samplers samplers = defaults();
    struct glinfer_stats stats;
    samplers.logit_bias = &force;
    samplers.n_logit_bias = 1;
    const struct answer ignored =
        answer_of(*state, ask_sampled(NULL, 0.8f, 1), &samplers, 1, &stats);
    assert_int_equal(stats.stop, GLINFER_STOP_LIMIT);
    assert_false(is_among(stop, ignored.ids, ignored.n));
}

// The state of a chain is kept for the rest of an answer that was cancelled.
TEST(an_answer_that_broke_off_goes_on)
{
    struct glinfer_samplers samplers = defaults();
    samplers.repeat_penalty = 1.2f;
    for (uint32_t mirostat = 0; mirostat < 3; mirostat++) {
        struct answer broken = {0};
        struct glinfer_generate_params params = ask_sampled(&broken, 0.9f, 11);
        samplers.mirostat = mirostat;
        samplers.mirostat_tau = 3.0f;
        const struct answer whole = answer_of(*state, params, &samplers, 1, NULL);
        SESSION *session = open_session(*state, 1, 128, 0);
        broken.cancel = session;
        params.samplers = &samplers;
        must_fail(glinfer_generate(session, &params, NULL, &err), CANCELLED, "");
        assert_int_equal(broken.n, 2);
        broken.cancel = NULL;
        params.resume = true;
        must_generate(session, &params);
        assert_same(&broken, &whole);
    }
}

// The rest of an answer that the GPU began takes what was delivered for the text so far.
TEST(samplers_may_come_with_the_rest)
{
    struct glinfer_samplers samplers = defaults();
    struct answer answer = {0};
    SESSION *session = open_session(*state, 1, 128, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_TOKENS, &answer);
    answer.cancel = session;
    must_fail(glinfer_generate(session, &params, NULL, &err), CANCELLED, "");
    assert_int_equal(answer.n, 2);
    answer.cancel = NULL;
    samplers.presence_penalty = 1e6f;
    params.samplers = &samplers;
    params.resume = true;
    must_generate(session, &params);
    assert_int_equal(answer.n, N_TOKENS);
    for (int i = 2; i < answer.n; i++) {
        assert_false(is_among(answer.ids[i], answer.ids, i));
    }
}

// Every sampler of the order gives an answer, the same one each time.
TEST(every_sampler_runs)
{
    static const char *const breakers[] = {"l", "wor"};
    struct glinfer_samplers samplers = defaults();
    samplers.order = "penalties;dry;typ_p;top_n_sigma;xtc;top_p;min_p;top_k;temperature;adaptive_p";
    samplers.repeat_penalty = 1.1f;
    samplers.dry_multiplier = 0.5f;
    samplers.dry_breakers = breakers;
    samplers.n_dry_breakers = 2;
    samplers.typical_p = 0.95f;
    samplers.top_n_sigma = 2.0f;
    samplers.xtc_probability = 0.5f;
    samplers.xtc_threshold = 0.01f;
    samplers.dynatemp_range = 0.5f;
    samplers.adaptive_target = 0.3f;
    samplers.min_keep = 2;
    const struct glinfer_generate_params params = ask_sampled(NULL, 0.8f, 7);
    const struct answer one = answer_of(*state, params, &samplers, 1, NULL);
    const struct answer other = answer_of(*state, params, &samplers, 32, NULL);
    assert_int_equal(one.n, N_TOKENS);
    assert_same(&one, &other);
}

//-- refusals --------------------------------------------------------------------------------------

static void refuse(struct tiny_model *f, const struct glinfer_samplers *samplers, const char *word)
{
    SESSION *session = open_session(f, 1, 64, 0);
    struct answer answer = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 2, &answer);
    params.samplers = samplers;
    must_fail(glinfer_generate(session, &params, NULL, &err), INVALID_ARGUMENT, word);
}

#define REFUSE(field, value, word)                                                                 \
    do {                                                                                           \
        struct glinfer_samplers samplers_ = defaults();                                            \
        samplers_.field = (value);                                                                 \
        refuse(*state, &samplers_, (word));                                                        \
    } while (0)

TEST(impossible_settings_are_refused)
{
    struct glinfer_logit_bias bias = {1000000, 1.0f};
    static const char *const texts[] = {NULL};
    REFUSE(struct_size, 3, "struct_size");
    REFUSE(order, "top_k;tfs_z", "tfs_z");
    REFUSE(repeat_penalty, 0.0f, "repeat_penalty");
    REFUSE(presence_penalty, NAN, "presence_penalty");
    REFUSE(frequency_penalty, INFINITY, "frequency_penalty");
    REFUSE(dry_base, -1.0f, "dry_base");
    REFUSE(typical_p, NAN, "typical_p");
    REFUSE(xtc_probability, 1.5f, "xtc_probability");
    REFUSE(dynatemp_range, -0.5f, "dynatemp_range");
    REFUSE(mirostat, 3, "mirostat");
    REFUSE(adaptive_decay, 1.0f, "adaptive_decay");
    REFUSE(n_logit_bias, 2, "logit_bias");
    REFUSE(n_logit_bias, SIZE_MAX, "n_logit_bias");
    REFUSE(n_dry_breakers, 2, "dry_breakers");
    struct glinfer_samplers samplers = defaults();
    samplers.logit_bias = &bias;
    samplers.n_logit_bias = 1;
    refuse(*state, &samplers, "1000000");
    bias = (struct glinfer_logit_bias){3, INFINITY};
    refuse(*state, &samplers, "token 3");
    samplers = defaults();
    samplers.dry_breakers = texts;
    samplers.n_dry_breakers = 1;
    refuse(*state, &samplers, "dry_breakers");
}

RUN_TESTS(open_tiny_model, close_all)
