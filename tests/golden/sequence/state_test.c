// Sequences on their way between sessions: what was saved, or copied, goes on bit by bit as the one
// that it came from; what cannot be taken is refused, and nothing is lost. Runs on tiny models;
// exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/temp_folder.h"

enum { N_MORE = 20, N_PROBS = 3 };

static const char *path;

//-- helpers ---------------------------------------------------------------------------------------

struct trace {
    int32_t ids[N_MORE];
    float logprobs[N_MORE][N_PROBS];
    int n;
};

static bool on_token(void *user, const struct glinfer_token *token)
{
    struct trace *trace = user;
    if (token->id >= 0) {
        trace->ids[trace->n] = token->id;
        for (uint32_t i = 0; i < token->n_probs; i++) {
            trace->logprobs[trace->n][i] = token->probs[i].logprob;
        }
        trace->n++;
    }
    return true;
}

// Says more words and notes the answer, by chance and with log-probabilities.
static void go_on(struct glinfer_session *session, struct trace *trace)
{
    static const int32_t words[] = {32, 97, 110, 100, 32};
    memset(trace, 0, sizeof(*trace));
    struct glinfer_generate_params params = ask(words, 5, N_MORE, NULL);
    params.on_token = on_token;
    params.token_user = trace;
    params.n_probs = N_PROBS;
    params.temperature = 0.9f;
    params.top_k = 20;
    params.seed = 11;
    must_generate(session, &params);
}

static void expect_same(const struct trace *a, const struct trace *b)
{
    assert_int_equal(a->n, N_MORE);
    assert_memory_equal(a, b, sizeof(*a));
}

static struct glinfer_session *open_typed(const struct glinfer_model *model,
                                          enum glinfer_cache_type type_k,
                                          enum glinfer_cache_type type_v, uint32_t n_ctx)
{
    const struct glinfer_session_params params =
        PARAMS(session, .type_k = type_k, .type_v = type_v, .n_ctx = n_ctx,
               .precision = GLINFER_PRECISION_F32);
    struct glinfer_session *session =
        must_do(glinfer_session_create((struct glinfer_model *)model, &params, &err));
    return session;
}

// Answers the prompt, so that a token is pending.
static void begin(struct glinfer_session *session)
{
    struct answer answer = {0};
    answer_more(session, prompt, N_PROMPT, 9, &answer);
}

static void *save_to_memory(struct glinfer_session *session, size_t *size)
{
    must_do(glinfer_session_save_memory(session, NULL, 0, size, &err));
    void *data = malloc(*size);
    assert_non_null(data);
    must_do(glinfer_session_save_memory(session, data, *size, size, &err));
    return data;
}

static void expect_refusal(struct glinfer_session *session, const void *data, size_t size,
                           enum glinfer_status status, const char *says)
{
    struct glinfer_error err = {0};
    assert_false(glinfer_session_load_memory(session, data, size, &err));
    assert_int_equal(err.status, status);
    must(strstr(err.message, says), &err);
}

//-- saving ----------------------------------------------------------------------------------------

TEST(a_saved_session_goes_on_bit_by_bit)
{
    static const enum glinfer_cache_type types[][2] = {
        {GLINFER_CACHE_F16, GLINFER_CACHE_F16},
        {GLINFER_CACHE_F32, GLINFER_CACHE_F16},
        {GLINFER_CACHE_Q8_0, GLINFER_CACHE_Q8_0},
        {GLINFER_CACHE_Q4_0, GLINFER_CACHE_Q4_0},
    };
    const struct tiny_model *f = *state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        SESSION *a = open_typed(f->model, types[i][0], types[i][1], 64);
        SESSION *b = open_typed(f->model, types[i][0], types[i][1], 100);
        struct trace first, second, third;
        size_t size;
        begin(a);
        void *data = save_to_memory(a, &size);
        must_do(glinfer_session_save(a, path, &err));
        go_on(a, &first);
        must_do(glinfer_session_load(b, path, &err));
        assert_int_equal(glinfer_session_rewind(b, SIZE_MAX), N_PROMPT + 9);
        go_on(b, &second);
        expect_same(&first, &second);
        must_do(glinfer_session_load_memory(a, data, size, &err));
        go_on(a, &third);
        expect_same(&first, &third);
        free(data);
    }
}

// Random numbers continue after the tokens that shifts dropped.
TEST(a_shifted_session_goes_on_too)
{
    const struct tiny_model *f = *state;
    SESSION *a = open_typed(f->model, 0, 0, 40), *b = open_typed(f->model, 0, 0, 40);
    struct trace first, second;
    struct answer answer = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 60, &answer);
    params.context_full = GLINFER_CONTEXT_FULL_SHIFT;
    must_generate(a, &params);
    assert_int_equal(answer.n, 60); // more than the context holds
    assert_int_equal(glinfer_session_rewind(a, 8), 8);
    must_do(glinfer_session_save(a, path, &err));
    must_do(glinfer_session_load(b, path, &err));
    go_on(a, &first);
    go_on(b, &second);
    expect_same(&first, &second);
}

TEST(a_session_without_tokens_is_saved_too)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_typed(f->model, 0, 0, 64);
    size_t size;
    void *data = save_to_memory(session, &size);
    begin(session);
    must_do(glinfer_session_load_memory(session, data, size, &err));
    assert_int_equal(glinfer_session_rewind(session, SIZE_MAX), 0);
    begin(session);
    free(data);
}

// A context that was lost takes the cache with it; what is saved then are the tokens alone.
TEST(a_session_is_saved_whose_cache_was_lost)
{
    const struct tiny_model *f = *state;
    SESSION *a = open_typed(f->model, 0, 0, 64), *b = open_typed(f->model, 0, 0, 64);
    SESSION *c = open_session(*state, 0, 64, 4);
    struct trace first, second, third;
    size_t whole, size;
    begin(a);
    free(save_to_memory(a, &whole));
    go_on(a, &first);
    assert_int_equal(glinfer_session_rewind(a, N_PROMPT + 8), N_PROMPT + 8);
    must_do(glinfer_device_recover(f->device, NULL, NULL, &err));
    void *data = save_to_memory(a, &size);
    assert_true(size < whole);
    must_do(glinfer_session_load_memory(b, data, size, &err));
    must_do(glinfer_session_copy(c, b, SIZE_MAX, &err)); // c has smaller batches
    go_on(a, &first);
    go_on(b, &second);
    expect_same(&first, &second);
    go_on(c, &third);
    assert_int_equal(third.n, N_MORE);
    free(data);
}

//-- refusals --------------------------------------------------------------------------------------

TEST(what_another_session_saved_is_refused)
{
    const struct tiny_model *f = *state;
    struct glinfer_session *session = open_typed(f->model, 0, 0, 64);
    struct glinfer_session *other = open_typed(f->model, 0, GLINFER_CACHE_Q8_0, 64);
    struct glinfer_session *small = open_typed(f->model, 0, 0, 16);
    size_t size;
    begin(session);
    char *data = save_to_memory(session, &size);
    expect_refusal(other, data, size, GLINFER_STATUS_INVALID_ARGUMENT,
                   "keys in f16 and values in f16, the session has f16 and q8_0");
    expect_refusal(small, data, size, GLINFER_STATUS_CONTEXT_FULL, "holds 22 tokens");
    const struct glinfer_model_params params =
        PARAMS(model, .path = test_data("data/models/tiny-q8_0.gguf"));
    struct glinfer_model *model = must_do(glinfer_model_load(f->device, &params, &err));
    struct glinfer_session *stranger = open_typed(model, 0, 0, 64);
    expect_refusal(stranger, data, size, GLINFER_STATUS_INVALID_ARGUMENT, "another model");
    data[8] = 9;
    expect_refusal(session, data, size, GLINFER_STATUS_UNSUPPORTED, "version 9");
    free(data);
    glinfer_session_destroy(&session);
    glinfer_session_destroy(&other);
    glinfer_session_destroy(&small);
    glinfer_session_destroy(&stranger);
    glinfer_model_destroy(&model);
}

TEST(damage_is_refused_and_nothing_is_lost)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_typed(f->model, 0, 0, 64);
    struct glinfer_error err;
    struct trace first, second;
    size_t size;
    begin(session);
    char *data = save_to_memory(session, &size), *cut = malloc(size + 1);
    assert_non_null(cut);
    for (size_t n = 0; n < size; n += 1 + n / 50) {
        expect_refusal(session, data, n, GLINFER_STATUS_BAD_FILE,
                       n < 80 ? "not enough" : "truncated");
        memcpy(cut, data, size);
        cut[n] ^= 4;
        assert_false(glinfer_session_load_memory(session, cut, size, &err));
    }
    memcpy(cut, data, size);
    cut[size] = 0;
    expect_refusal(session, cut, size + 1, GLINFER_STATUS_BAD_FILE, "damaged");
    memset(cut, 'a', size);
    expect_refusal(session, cut, size, GLINFER_STATUS_BAD_FILE, "not a saved session");
    go_on(session, &first);
    must(glinfer_session_load_memory(session, data, size, &err), &err);
    go_on(session, &second);
    expect_same(&first, &second);
    free(data);
    free(cut);
}

TEST(files_that_cannot_be_are_refused)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_typed(f->model, 0, 0, 64);
    must_fail(glinfer_session_load(session, "/no such file", &err), NOT_FOUND, "");
    must_fail(glinfer_session_save(session, "/no such folder/file", &err), IO, "");
    must_fail(glinfer_session_save(session, "/dev/null", &err), IO, "");
}

//-- copies ----------------------------------------------------------------------------------------

TEST(a_copied_prefix_goes_on_bit_by_bit)
{
    const struct tiny_model *f = *state;
    SESSION *a = open_typed(f->model, GLINFER_CACHE_Q8_0, GLINFER_CACHE_F32, 64);
    SESSION *b = open_typed(f->model, GLINFER_CACHE_Q8_0, GLINFER_CACHE_F32, 90);
    const size_t lengths[] = {SIZE_MAX, N_PROMPT + 8, N_PROMPT, 3, 0};
    struct trace first, second;
    begin(a);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const size_t n = glinfer_session_rewind(a, lengths[i]);
        begin(b);
        glinfer_session_rewind(b, 7);
        must_do(glinfer_session_copy(b, a, lengths[i], &err));
        assert_int_equal(glinfer_session_rewind(b, SIZE_MAX), n);
        go_on(b, &first);
        must_do(glinfer_session_copy(b, a, n, &err));
        go_on(a, &second);
        expect_same(&first, &second);
        must_do(glinfer_session_copy(a, b, SIZE_MAX, &err));
    }
}

TEST(a_match_counts_the_tokens_in_common)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_typed(f->model, 0, 0, 64);
    struct answer answer = {0};
    int32_t ids[N_PROMPT + 4];
    assert_int_equal(glinfer_session_match(session, prompt, N_PROMPT), 0);
    answer_more(session, prompt, N_PROMPT, 3, &answer);
    memcpy(ids, prompt, sizeof(prompt));
    memcpy(ids + N_PROMPT, answer.ids, 3 * sizeof(ids[0]));
    ids[N_PROMPT + 3] = 5;
    assert_int_equal(glinfer_session_match(session, ids, N_PROMPT + 4), N_PROMPT + 3);
    assert_int_equal(glinfer_session_match(session, ids, 4), 4);
    ids[N_PROMPT + 2]++; // the pending one
    assert_int_equal(glinfer_session_match(session, ids, N_PROMPT + 4), N_PROMPT + 2);
    ids[2]++;
    assert_int_equal(glinfer_session_match(session, ids, N_PROMPT + 4), 2);
}

TEST(copies_that_cannot_be_are_refused)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_typed(f->model, 0, 0, 64);
    SESSION *other = open_typed(f->model, 0, GLINFER_CACHE_F32, 64);
    SESSION *small = open_typed(f->model, 0, 0, 16);
    struct glinfer_error err = {0};
    begin(session);
    assert_fails(glinfer_session_copy(session, session, 1, &err), err, INVALID_ARGUMENT, "");
    assert_false(glinfer_session_copy(other, session, 1, &err));
    assert_says(err.message, "values in f16");
    assert_fails(glinfer_session_copy(small, session, 17, &err), err, CONTEXT_FULL, "");
    must(glinfer_session_copy(small, session, 16, &err), &err);
}

//-- the program -----------------------------------------------------------------------------------

static int open_all(void **state)
{
    if (make_temp_folder(state) != 0) {
        return -1;
    }
    path = temp_path("file");
    return open_tiny_model(state);
}

static int close_all(void **state)
{
    remove_temp_folder(NULL);
    return close_tiny_model(state);
}

RUN_TESTS(open_all, close_all)
