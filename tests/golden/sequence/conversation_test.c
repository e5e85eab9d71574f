// A conversation that goes on in a session: what is held already is not processed again, and the
// answers are those of a session that is given the whole conversation anew. Runs on a tiny model
// with a ChatML template; exits 77 without a device.
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

enum { MAX_IDS = 500, N_ANSWER = 16, N_TURN = 4 };

struct ids {
    int32_t data[MAX_IDS];
    size_t n;
};

static void encode(const struct tiny_model *f, const struct glinfer_message *messages, size_t n,
                   struct ids *ids)
{
    struct glinfer_error err;
    must(glinfer_chat_tokenize(glinfer_model_tokenizer(f->model), messages, n, ids->data, MAX_IDS,
                               &ids->n, &err),
         &err);
    assert_in_range(ids->n, 1, MAX_IDS);
}

// Continues the session after what it holds.
static struct glinfer_stats go_on(struct glinfer_session *session, const int32_t *ids, size_t n,
                                  struct answer *answer)
{
    const struct glinfer_generate_params params = ask(ids, n, N_ANSWER, answer);
    *answer = (struct answer){0};
    return must_generate(session, &params);
}

static void append(struct ids *to, const struct answer *answer)
{
    memcpy(to->data + to->n, answer->ids, (size_t)answer->n * sizeof(int32_t));
    to->n += (size_t)answer->n;
}

TEST(a_conversation_goes_on_as_if_it_were_encoded_anew)
{
    static const char *const questions[N_TURN] = {"Hello there", "How are you?",
                                                  "the <|im_end|> of it", ""};
    SESSION *session = open_session(*state, 0, 0, 0), *fresh = open_session(*state, 0, 0, 0);
    struct glinfer_message messages[2 * N_TURN];
    static struct answer answers[N_TURN], anew;
    struct ids whole;
    size_t n_reused = 0;
    for (size_t i = 0; i < N_TURN; i++) {
        messages[2 * i] = (struct glinfer_message){"user", questions[i]};
        encode(*state, messages, 2 * i + 1, &whole);
        const size_t n = glinfer_session_match(session, whole.data, whole.n);
        assert_true(n < whole.n);
        assert_int_equal(glinfer_session_rewind(session, n), n);
        assert_int_equal(go_on(session, whole.data + n, whole.n - n, &answers[i]).n_past,
                         whole.n + N_ANSWER - 1);
        glinfer_session_reset(fresh);
        go_on(fresh, whole.data, whole.n, &anew);
        assert_same(&answers[i], &anew);
        messages[2 * i + 1] = (struct glinfer_message){"assistant", answers[i].text};
        n_reused += n;
    }
    assert_true(n_reused > 60); // far more than the template's first words
}

// A pending token, one that was sampled and not processed yet, counts as held.
TEST(a_session_rewinds_to_any_of_its_tokens)
{
    const struct glinfer_message message = {"user", "Once upon a time"};
    SESSION *session = open_session(*state, 0, 0, 0);
    struct answer first, again;
    struct ids ids;
    encode(*state, &message, 1, &ids);
    const size_t n_prompt = ids.n;
    go_on(session, ids.data, ids.n, &first);
    append(&ids, &first);
    assert_int_equal(glinfer_session_rewind(session, ids.n + 5), ids.n);
    assert_int_equal(glinfer_session_rewind(session, ids.n), ids.n);
    const size_t lengths[] = {ids.n - 1, n_prompt, 3, 0};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const size_t n = lengths[i];
        assert_int_equal(glinfer_session_rewind(session, n), n);
        assert_int_equal(glinfer_session_rewind(session, n + 1), n);
        if (n < n_prompt) {
            go_on(session, ids.data + n, n_prompt - n, &again);
            assert_same(&first, &again);
        }
    }
}

RUN_TESTS(open_tiny_model, close_tiny_model)
