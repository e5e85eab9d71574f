#include "golden/session_fixture.h"

#include "unit/cmocka_test.h"

#ifndef MODELS
#error "MODELS: the folder of the tiny models"
#endif

const int32_t prompt[N_PROMPT] = {72, 101, 108, 108, 111, 32, 119, 111, 114, 108, 100, 33, 40, 41};

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
        answer->counted_at_second = answer->counter ? *answer->counter : 0;
        if (answer->cancel) {
            glinfer_session_cancel(answer->cancel);
        }
    }
    return answer->n != answer->stop_after;
}

struct glinfer_session *open_session(struct tiny_model *f, uint32_t chain, uint32_t n_ctx,
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

struct glinfer_generate_params ask(const int32_t *ids, size_t n, int32_t n_predict,
                                   struct answer *answer)
{
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.prompt = ids;
    params.n_prompt = n;
    params.n_predict = n_predict;
    params.ignore_eos = true;
    params.on_token = on_token;
    params.token_user = answer;
    return params;
}

struct glinfer_stats must_generate(struct glinfer_session *session,
                                   const struct glinfer_generate_params *params)
{
    struct glinfer_stats stats = {.struct_size = sizeof(stats)};
    struct glinfer_error err;
    if (!glinfer_generate(session, params, &stats, &err)) {
        fail_msg("%s", err.message);
    }
    return stats;
}

void assert_same(const struct answer *a, const struct answer *b)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        assert_int_equal(a->ids[i], b->ids[i]);
    }
    assert_string_equal(a->text, b->text);
}

int open_tiny_model(void **state)
{
    static struct tiny_model tiny;
    *state = &tiny;
    return tiny_model_open(&tiny, MODELS "/tiny-q4_0.gguf", NULL) ? 0 : -1;
}

int close_tiny_model(void **state)
{
    tiny_model_close(*state);
    return 0;
}
