// A prompt that begins as an earlier one did is read from there, whatever happened to the session
// in between: it was rewound, other conversations used it, its contents came from another session
// or from memory. Layers that keep states continue from checkpoints. Runs on tiny models; exits 77
// without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_SYSTEM = 37, N_USER = 9, N_ALL = N_SYSTEM + N_USER, N_ANSWER = 6, N_OTHER = 30 };

// A prompt: the system's tokens, then those of user number `user`.
static void write_prompt(int32_t ids[N_ALL], int32_t user)
{
    for (int32_t i = 0; i < N_ALL; i++) {
        ids[i] = 40 + (i < N_SYSTEM ? i * 7 % 60 : (i * (3 + user) + user) % 60);
    }
    ids[N_SYSTEM] = 40 + user; // the first that differs
}

static bool is_recurrent(const struct glinfer_model *model)
{
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    glinfer_model_describe(model, &info);
    return info.checkpoint > 0;
}

static struct glinfer_session *open_kept(const struct glinfer_model *model, uint32_t n_checkpoints)
{
    const struct glinfer_session_params params =
        PARAMS(session, .n_ctx = 128, .n_batch = 16, .precision = GLINFER_PRECISION_F32,
               .n_checkpoints = n_checkpoints);
    return must_do(glinfer_session_create((struct glinfer_model *)model, &params, &err));
}

// Answers the tokens of a prompt after the first n_done, with checkpoints after some tokens of the
// whole; returns the tokens that were processed.
static uint32_t converse(struct glinfer_session *session, const int32_t *ids, size_t n_done,
                         size_t n, const uint32_t *places, struct answer *answer)
{
    uint32_t checkpoints[8];
    size_t n_checkpoints = 0;
    memset(answer, 0, sizeof(*answer));
    struct glinfer_generate_params params = ask(ids + n_done, n - n_done, N_ANSWER, answer);
    for (; places && *places; places++) {
        if (*places > n_done) {
            checkpoints[n_checkpoints++] = *places - (uint32_t)n_done;
        }
    }
    params.checkpoints = checkpoints;
    params.n_checkpoints = n_checkpoints;
    return must_generate(session, &params).prompt_n;
}

static const uint32_t at_system[] = {N_SYSTEM, 0};

// Answers in a session that has seen nothing else.
static struct answer expect(const struct glinfer_model *model, const int32_t *ids)
{
    SESSION *fresh = open_kept(model, 1);
    struct answer answer;
    converse(fresh, ids, 0, N_ALL, at_system, &answer);
    return answer;
}

static void *save(struct glinfer_session *session, size_t *size)
{
    must_do(glinfer_session_save_memory(session, NULL, 0, size, &err));
    void *data = malloc(*size);
    assert_non_null(data);
    must_do(glinfer_session_save_memory(session, data, *size, size, &err));
    return data;
}

TEST(a_second_conversation_continues_from_the_checkpoint)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_kept(f->model, 1);
    int32_t first[N_ALL], second[N_ALL];
    struct answer answer;
    write_prompt(first, 1);
    write_prompt(second, 2);
    const struct answer want = expect(f->model, second);
    converse(session, first, 0, N_ALL, at_system, &answer);
    assert_int_equal(glinfer_session_match(session, second, N_ALL), N_SYSTEM);
    assert_int_equal(glinfer_session_ready(session, N_SYSTEM), N_SYSTEM);
    assert_int_equal(glinfer_session_rewind(session, N_SYSTEM), N_SYSTEM);
    assert_int_equal(converse(session, second, N_SYSTEM, N_ALL, at_system, &answer), N_USER);
    assert_same(&want, &answer);
}

TEST(without_a_checkpoint_states_are_computed_again)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_kept(f->model, 0);
    int32_t first[N_ALL], second[N_ALL];
    struct answer answer;
    write_prompt(first, 1);
    write_prompt(second, 2);
    const struct answer want = expect(f->model, second);
    converse(session, first, 0, N_ALL, at_system, &answer);
    if (is_recurrent(f->model)) {
        assert_true(glinfer_session_ready(session, 20) == 0);
    }
    glinfer_session_rewind(session, N_SYSTEM);
    converse(session, second, N_SYSTEM, N_ALL, at_system, &answer);
    assert_same(&want, &answer);
}

// A, B, C and again as A, all in one session: A's content waits in memory.
TEST(a_prefix_from_memory_continues_after_other_conversations)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_kept(f->model, 2);
    int32_t first[N_ALL], second[N_ALL];
    struct answer answer;
    size_t size, n_ready;
    write_prompt(first, 1);
    write_prompt(second, 2);
    const struct answer want = expect(f->model, second);
    converse(session, first, 0, N_ALL, at_system, &answer);
    void *data = save(session, &size);
    for (size_t i = 0; i < 2; i++) {
        glinfer_session_reset(session);
        converse(session, first + 3 + i, 0, N_OTHER, NULL, &answer);
    }
    assert_int_equal(glinfer_saved_match(data, size, second, N_ALL, &n_ready), N_SYSTEM);
    assert_int_equal(n_ready, N_SYSTEM);
    must_do(glinfer_session_load_prefix(session, data, size, n_ready, &err));
    assert_int_equal(glinfer_session_rewind(session, SIZE_MAX), N_SYSTEM);
    assert_int_equal(converse(session, second, N_SYSTEM, N_ALL, at_system, &answer), N_USER);
    assert_same(&want, &answer);
    // The checkpoint came with it.
    assert_int_equal(glinfer_session_ready(session, N_SYSTEM), N_SYSTEM);
    free(data);
}

// The whole is saved with its checkpoints, and goes on where it ended.
TEST(a_whole_session_from_memory_has_its_checkpoints)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_kept(f->model, 2), *other = open_kept(f->model, 2);
    const uint32_t places[] = {10, N_SYSTEM, 0};
    int32_t first[N_ALL], ids[N_ALL + N_ANSWER];
    struct answer answer, again;
    size_t size, n_ready;
    write_prompt(first, 1);
    converse(session, first, 0, N_ALL, places, &answer);
    const size_t n = glinfer_session_tokens(session, ids, N_ALL + N_ANSWER);
    assert_int_equal(n, N_ALL + N_ANSWER);
    assert_memory_equal(ids, first, sizeof(first));
    assert_memory_equal(ids + N_ALL, answer.ids, N_ANSWER * sizeof(ids[0]));
    void *data = save(session, &size);
    assert_int_equal(glinfer_saved_match(data, size, ids, n, &n_ready), n);
    assert_int_equal(n_ready, n);
    must_do(glinfer_session_load_memory(other, data, size, &err));
    assert_int_equal(glinfer_session_ready(other, n), n);
    assert_int_equal(glinfer_session_ready(other, 10), 10);
    assert_int_equal(glinfer_session_ready(other, N_SYSTEM), N_SYSTEM);
    converse(session, first, 0, 5, NULL, &answer);
    converse(other, first, 0, 5, NULL, &again);
    assert_same(&answer, &again);
    free(data);
}

TEST(a_copied_prefix_continues_from_the_checkpoint)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_kept(f->model, 1), *other = open_kept(f->model, 1);
    int32_t first[N_ALL], second[N_ALL];
    struct answer answer;
    write_prompt(first, 1);
    write_prompt(second, 2);
    const struct answer want = expect(f->model, second);
    converse(session, first, 0, N_ALL, at_system, &answer);
    converse(other, first + 3, 0, N_OTHER, NULL, &answer);
    must_do(glinfer_session_copy(other, session, N_SYSTEM, &err));
    assert_int_equal(glinfer_session_ready(other, N_SYSTEM), N_SYSTEM);
    assert_int_equal(converse(other, second, N_SYSTEM, N_ALL, at_system, &answer), N_USER);
    assert_same(&want, &answer);
}

TEST(the_checkpoint_that_saves_the_fewest_tokens_is_dropped)
{
    const struct tiny_model *f = *state;
    SESSION *session = open_kept(f->model, 2);
    const uint32_t places[] = {20, 24, N_SYSTEM, 0};
    int32_t first[N_ALL];
    struct answer answer;
    write_prompt(first, 1);
    converse(session, first, 0, N_ALL, places, &answer);
    const bool has_states = is_recurrent(f->model);
    assert_int_equal(glinfer_session_ready(session, 20), 20);
    assert_int_equal(glinfer_session_ready(session, 25), has_states ? 20 : 25);
    assert_int_equal(glinfer_session_ready(session, N_SYSTEM), N_SYSTEM);
    assert_int_equal(glinfer_session_rewind(session, 22), 22);
    assert_int_equal(glinfer_session_ready(session, 22), has_states ? 20 : 22);
}

static struct glinfer_session *open_tight(struct tiny_model *f, uint64_t budget,
                                          struct glinfer_model **model)
{
    const char *tiny = getenv("GLINFER_TEST_TINY");
    char path[256];
    snprintf(path, sizeof(path), "data/models/%s.gguf", tiny ? tiny : "tiny-q4_0");
    const struct glinfer_model_params params =
        PARAMS(model, .path = test_data(path), .n_ctx = 128, .mem_budget = budget);
    *model = must_do(glinfer_model_load(f->device, &params, &err));
    const struct glinfer_session_params own =
        PARAMS(session, .n_ctx = 128, .precision = GLINFER_PRECISION_F32, .n_checkpoints = 2);
    return must_do(glinfer_session_create(*model, &own, &err));
}

// A session whose budget has no room for a checkpoint answers as one that has it.
TEST(without_memory_there_is_no_checkpoint)
{
    const uint32_t places[] = {20, N_SYSTEM, 0}; // the last is the one next to the states
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    int32_t first[N_ALL];
    struct answer answer, want;
    write_prompt(first, 1);
    struct glinfer_model *model;
    struct glinfer_session *session = open_tight(*state, 0, &model);
    glinfer_model_describe(model, &info);
    converse(session, first, 0, N_ALL, places, &want);
    assert_int_equal(glinfer_session_ready(session, 20), 20);
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    session = open_tight(*state, info.weights + info.kv_cache + info.scratch, &model);
    converse(session, first, 0, N_ALL, places, &answer);
    assert_same(&want, &answer);
    assert_int_equal(glinfer_session_ready(session, 20), info.checkpoint > 0 ? 0 : 20);
    assert_int_equal(glinfer_session_ready(session, N_SYSTEM), N_SYSTEM);
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
