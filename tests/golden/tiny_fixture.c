#include "golden/tiny_fixture.h"

#include "unit/cmocka_test.h"

#include <stdio.h>

#ifndef MODELS
#error "MODELS: the folder of the tiny models"
#endif

void close_fixture(struct fixture *f)
{
    glinfer_session_destroy(&f->session);
    tiny_model_close(&f->tiny);
}

bool open_fixture(struct fixture *f, const char *cache_dir)
{
    struct glinfer_session_params session;
    struct glinfer_error err;
    glinfer_session_params_init(&session);
    session.n_ctx = 64;
    session.n_batch = f->n_batch ? f->n_batch : 16;
    session.precision = f->precision;
    if (!tiny_model_open(&f->tiny, MODELS "/tiny-q4_0.gguf", cache_dir)) {
        close_fixture(f);
        return false;
    }
    f->session = glinfer_session_create(f->tiny.model, &session, &err);
    if (!f->session) {
        fprintf(stderr, "%s\n", err.message);
        close_fixture(f);
    }
    return f->session != NULL;
}

struct taken {
    int32_t *ids;
    uint32_t n;
};

static bool on_token(void *user, const struct glinfer_token *token)
{
    struct taken *taken = user;
    if (token->id >= 0 && taken->n < N_PREDICT) {
        taken->ids[taken->n++] = token->id;
    }
    return true;
}

// NOLINTNEXTLINE(readability-non-const-parameter): written through taken
void generate(struct fixture *f, struct glinfer_stats *stats, int32_t ids[N_PREDICT])
{
    static const int32_t prompt[] = {5, 9, 11, 40};
    struct glinfer_generate_params params;
    struct glinfer_error err;
    struct taken taken = {ids, 0};
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_prompt = 4;
    params.n_predict = N_PREDICT;
    params.ignore_eos = true;
    params.on_token = on_token;
    params.token_user = &taken;
    if (stats) {
        stats->struct_size = sizeof(*stats);
    }
    glinfer_session_reset(f->session);
    if (!glinfer_generate(f->session, &params, stats, &err)) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(taken.n, N_PREDICT);
}
