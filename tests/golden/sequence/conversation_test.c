// A conversation that goes on in a session: what is held already is not processed again, and the
// answers are those of a session that is given the whole conversation anew. Runs on a tiny model
// with a ChatML template; exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/tiny_model.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>

enum { MAX_IDS = 500, N_ANSWER = 16, N_TURN = 4 };

struct ids {
    int32_t data[MAX_IDS];
    size_t n;
};

struct answer {
    struct ids ids;
    char text[1024];
    size_t size;
};

//-- helpers ---------------------------------------------------------------------------------------

static bool on_token(void *user, const struct glinfer_token *token)
{
    struct answer *answer = user;
    assert_true(answer->size + token->text_size < sizeof(answer->text));
    memcpy(answer->text + answer->size, token->text, token->text_size);
    answer->size += token->text_size;
    answer->text[answer->size] = 0;
    if (token->id >= 0) {
        answer->ids.data[answer->ids.n++] = token->id;
    }
    return true;
}

static struct glinfer_session *open_session(const struct tiny_model *f)
{
    struct glinfer_error err;
    struct glinfer_session_params params;
    glinfer_session_params_init(&params);
    params.type_k = params.type_v = GLINFER_CACHE_F32;
    struct glinfer_session *session = glinfer_session_create(f->model, &params, &err);
    if (!session) {
        fail_msg("%s", err.message);
    }
    return session;
}

static struct glinfer_stats generate(struct glinfer_session *session, const int32_t *ids, size_t n,
                                     struct answer *answer)
{
    struct glinfer_stats stats = {.struct_size = sizeof(stats)};
    struct glinfer_error err;
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.prompt = ids;
    params.n_prompt = n;
    params.n_predict = N_ANSWER;
    params.on_token = on_token;
    params.token_user = answer;
    memset(answer, 0, sizeof(*answer));
    if (!glinfer_generate(session, &params, &stats, &err)) {
        fail_msg("%s", err.message);
    }
    return stats;
}

static void encode(const struct tiny_model *f, const struct glinfer_message *messages, size_t n,
                   struct ids *ids)
{
    struct glinfer_error err;
    if (!glinfer_chat_tokenize(glinfer_model_tokenizer(f->model), messages, n, ids->data, MAX_IDS,
                               &ids->n, &err)) {
        fail_msg("%s", err.message);
    }
    assert_in_range(ids->n, 1, MAX_IDS);
}

static void append(struct ids *to, const struct ids *from)
{
    assert_true(to->n + from->n <= MAX_IDS);
    memcpy(to->data + to->n, from->data, from->n * sizeof(int32_t));
    to->n += from->n;
}

static size_t count_common(const struct ids *a, const struct ids *b)
{
    size_t n = 0;
    while (n < a->n && n < b->n && a->data[n] == b->data[n]) {
        n++;
    }
    return n;
}

static void assert_same(const struct answer *a, const struct answer *b)
{
    assert_int_equal(a->ids.n, b->ids.n);
    assert_memory_equal(a->ids.data, b->ids.data, a->ids.n * sizeof(int32_t));
    assert_string_equal(a->text, b->text);
}

//-- tests -----------------------------------------------------------------------------------------

TEST(a_conversation_goes_on_as_if_it_were_encoded_anew)
{
    static const char *const questions[N_TURN] = {"Hello there", "How are you?",
                                                  "the <|im_end|> of it", ""};
    const struct tiny_model *f = *state;
    struct glinfer_session *session = open_session(f), *fresh = open_session(f);
    struct glinfer_message messages[2 * N_TURN];
    struct answer answers[N_TURN], anew;
    struct ids held = {.n = 0}, whole;
    size_t n_reused = 0;
    for (size_t i = 0; i < N_TURN; i++) {
        messages[2 * i] = (struct glinfer_message){"user", questions[i]};
        encode(f, messages, 2 * i + 1, &whole);
        const size_t n = count_common(&held, &whole);
        assert_true(n < whole.n);
        assert_int_equal(glinfer_session_rewind(session, n), n);
        assert_int_equal(generate(session, whole.data + n, whole.n - n, &answers[i]).n_past,
                         whole.n + N_ANSWER - 1);
        glinfer_session_reset(fresh);
        generate(fresh, whole.data, whole.n, &anew);
        assert_same(&answers[i], &anew);
        messages[2 * i + 1] = (struct glinfer_message){"assistant", answers[i].text};
        held = whole;
        append(&held, &answers[i].ids);
        n_reused += n;
    }
    assert_true(n_reused > 60); // far more than the template's first words
    glinfer_session_destroy(&session);
    glinfer_session_destroy(&fresh);
}

// A pending token, one that was sampled and not processed yet, counts as held.
TEST(a_session_rewinds_to_any_of_its_tokens)
{
    const struct tiny_model *f = *state;
    const struct glinfer_message message = {"user", "Once upon a time"};
    struct glinfer_session *session = open_session(f);
    struct answer first, again;
    struct ids ids;
    encode(f, &message, 1, &ids);
    generate(session, ids.data, ids.n, &first);
    append(&ids, &first.ids);
    assert_int_equal(glinfer_session_rewind(session, ids.n + 5), ids.n);
    assert_int_equal(glinfer_session_rewind(session, ids.n), ids.n);
    const size_t lengths[] = {ids.n - 1, ids.n - N_ANSWER, 3, 0};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const size_t n = lengths[i], n_prompt = ids.n - N_ANSWER;
        assert_int_equal(glinfer_session_rewind(session, n), n);
        assert_int_equal(glinfer_session_rewind(session, n + 1), n);
        if (n < n_prompt) {
            generate(session, ids.data + n, n_prompt - n, &again);
            assert_same(&first, &again);
        }
    }
    glinfer_session_destroy(&session);
}

//-- the program -----------------------------------------------------------------------------------

static int open_fixture(void **state)
{
    static struct tiny_model tiny;
    *state = &tiny;
    return tiny_model_open(&tiny, test_data("data/models/tiny-chat.gguf"), NULL) ? 0 : -1;
}

static int close_fixture(void **state)
{
    tiny_model_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversation_goes_on_as_if_it_were_encoded_anew),
        cmocka_unit_test(a_session_rewinds_to_any_of_its_tokens),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
