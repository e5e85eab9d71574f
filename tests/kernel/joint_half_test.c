// An answer with a grammar in f16 (GLINFER_HALF=yes): alone it takes steps in two pieces, logits
// and choice, and beside others joint ones. Wherever it changes, its logits are those that it has
// alone.
#include "engine/session/session.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <string.h>

static const float tolerance = 0.02F; // of a log-probability, by kernels that round otherwise

struct steps {
    int32_t ids[64];
    float logprobs[64]; // of the likeliest token, the grammar's mask left out
    int n;
};

static void begin(struct glinfer_session *session, const char *gbnf, int32_t n_predict)
{
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, n_predict, NULL);
    struct glinfer_grammar grammar;
    struct glinfer_error err = {0};
    glinfer_grammar_init(&grammar);
    grammar.gbnf = gbnf;
    params.grammar = gbnf ? &grammar : NULL;
    params.ignore_eos = !gbnf;
    params.on_token = NULL;
    params.n_probs = 1;
    glinfer_session_reset(session);
    must(glinfer_begin(session, &params, &err), &err);
}

// Answers in the smallest steps; the other session's answer begins after n tokens. 0: never.
static struct steps answer(const struct tiny_model *f, struct glinfer_session *sessions[2], int n)
{
    static const char gbnf[] = "root ::= \"abcdefghabcdefghabcdefgh\"";
    struct steps steps = {.n = 0};
    struct glinfer_event event = {.struct_size = sizeof(event)};
    struct glinfer_error err = {0};
    bool is_over = false, has_other = false;
    begin(sessions[0], gbnf, 60);
    while (!is_over || has_other) {
        must(glinfer_step(f->device, 0, &event, &err), &err);
        const bool is_own = event.session == sessions[0];
        if (is_own && event.kind == GLINFER_EVENT_TOKEN && event.token->id >= 0) {
            steps.ids[steps.n] = event.token->id;
            steps.logprobs[steps.n++] = event.token->probs[0].logprob;
        }
        is_over = is_over || (is_own && event.kind == GLINFER_EVENT_END);
        has_other = has_other && !(event.session == sessions[1] && event.kind == GLINFER_EVENT_END);
        if (is_own && n > 0 && steps.n == n) {
            begin(sessions[1], NULL, 4);
            has_other = true;
            n = 0;
        }
    }
    return steps;
}

TEST(logits_are_the_same_where_another_joins)
{
    struct tiny_model *f = *state;
    struct glinfer_session *sessions[2];
    struct glinfer_error err = {0};
    const struct glinfer_session_params params =
        PARAMS(session, .n_ctx = 128, .precision = GLINFER_PRECISION_F16);
    assert_true(glinfer_sessions_create(f->model, &params, 2, sessions, &err));
    if (!sessions[0]->tables.recorder.is_half) {
        skip();
    }
    const struct steps alone = answer(f, sessions, 0);
    assert_true(alone.n > 8);
    for (int n = 1; n < alone.n - 2; n++) {
        const struct steps joined = answer(f, sessions, n);
        assert_int_equal(joined.n, alone.n);
        for (int i = 0; i < alone.n; i++) {
            assert_int_equal(joined.ids[i], alone.ids[i]);
            if (fabsf(joined.logprobs[i] - alone.logprobs[i]) > tolerance) {
                fail_msg("joined after %d, token %d: %g, alone %g", n, i,
                         (double)joined.logprobs[i], (double)alone.logprobs[i]);
            }
        }
    }
    glinfer_session_destroy(&sessions[0]);
    glinfer_session_destroy(&sessions[1]);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
