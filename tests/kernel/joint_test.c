// Answers that decode together: sessions of glinfer_sessions_create in glinfer_step. Whoever else
// decodes, joins, leaves or fails, an answer is the one that it is alone, bit by bit.
#include "tests/kernel/fixture/joint_group.h"
#include "tests/unit/cmocka_test.h"

#include <string.h>

// Runs each job alone, then all together, and compares; outcomes are those together.
static void compare(struct group *group, uint32_t budget_us, const struct job *jobs,
                    struct outcome *outcomes)
{
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        struct outcome alone[N_SLOTS] = {0}, *own = &alone[i];
        struct job first[N_SLOTS];
        memcpy(first, jobs, sizeof(first));
        first[i].begin_at = 0;
        run_jobs(group, budget_us, first, 1u << i, alone);
        memcpy(&outcomes[i], own, sizeof(*own));
    }
    struct outcome together[N_SLOTS] = {0};
    run_jobs(group, budget_us, jobs, (1u << N_SLOTS) - 1, together);
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        assert_alike(&together[i], &outcomes[i]);
    }
}

//-- whoever else decodes --------------------------------------------------------------------------

static const struct job plain[N_SLOTS] = {
    {.n_prompt = N_PROMPT},
    {.n_prompt = 9, .begin_at = 3, .temperature = 0.9F, .top_k = 20},
    {.n_prompt = 3, .begin_at = 12, .n_predict = 7},
    {.n_prompt = 12, .begin_at = 20, .temperature = 0.8F, .top_k = 40},
    {.n_prompt = 1, .begin_at = 31, .n_predict = 30},
};
// Masks are written between steps, which all then take one by one.
static const struct job bound[N_SLOTS] = {
    {.n_prompt = N_PROMPT},
    {.n_prompt = 9, .begin_at = 2, .temperature = 1, .gbnf = "root ::= ([a-f] [0-4]){3,40}"},
    {.n_prompt = 8, .begin_at = 5, .temperature = 0.7F, .top_k = 10},
    {.n_prompt = 5, .begin_at = 9, .gbnf = "root ::= (\"{\" [x-z]* \"}\"){2,9}"},
    {.n_prompt = 7, .begin_at = 14, .gbnf = "root ::= [x-z]* \"no such token \\x01\\x02\""},
};
static const struct job penalized[N_SLOTS] = {
    {.n_prompt = N_PROMPT, .repeat_penalty = 1.5F},
    {.n_prompt = 9, .begin_at = 2},
    {.n_prompt = 8, .begin_at = 5, .temperature = 0.7F, .top_k = 10, .repeat_penalty = 1.3F},
    {.n_prompt = 5, .begin_at = 9, .temperature = 0.8F, .top_k = 30},
    {.n_prompt = 7, .begin_at = 14, .n_probs = 2},
};
static const struct job greedy[N_SLOTS] = {
    {.n_prompt = N_PROMPT}, {.n_prompt = 9}, {.n_prompt = 8}, {.n_prompt = 5}, {.n_prompt = 7},
};

TEST(an_answer_is_the_one_alone)
{
    static const struct {
        const struct job *jobs;
        uint32_t chain, duty, budget_us;
    } cases[] = {
        {plain, 0, 0, 0},       {plain, 3, 0, 3000},     {plain, 0, 0, 1000000}, {bound, 0, 0, 0},
        {bound, 0, 0, 1000000}, {penalized, 0, 0, 2000}, {greedy, 4, 50, 2000},
    };
    struct outcome outcomes[N_SLOTS];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct group group = open_group(*state, cases[i].chain, cases[i].duty);
        compare(&group, cases[i].budget_us, cases[i].jobs, outcomes);
        for (uint32_t k = 0; k < N_SLOTS; k++) {
            assert_true(cases[i].jobs[k].gbnf || outcomes[k].stop == GLINFER_STOP_LIMIT);
        }
        close_group(&group);
    }
}

// A step ends as all of them need: the tokens of each stay.
TEST(answers_may_be_of_all_kinds)
{
    static const struct job jobs[N_SLOTS] = {
        {.n_prompt = N_PROMPT, .n_probs = 3},
        {.n_prompt = 9, .begin_at = 2, .temperature = 0.9F, .top_p = 0.8F},
        {.n_prompt = 8, .begin_at = 5, .temperature = 0.7F, .top_k = 10},
        {.n_prompt = 5, .begin_at = 9, .temperature = 1, .gbnf = "root ::= [a-f]{20,40}"},
        {.n_prompt = 7, .begin_at = 14},
    };
    struct outcome outcomes[N_SLOTS], single[N_SLOTS] = {0};
    struct group group = open_group(*state, 0, 0);
    compare(&group, 2000, jobs, outcomes);
    close_group(&group);
    // They are also those of sessions that decode by themselves.
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        group.sessions[i] = open_session(*state, 0, N_CTX, 8);
    }
    run_jobs(&group, 2000, jobs, (1u << N_SLOTS) - 1, single);
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        assert_int_equal(single[i].n, outcomes[i].n);
        assert_memory_equal(single[i].ids, outcomes[i].ids, outcomes[i].n * sizeof(int32_t));
    }
    close_group(&group);
}

//-- failures --------------------------------------------------------------------------------------

TEST(one_that_ends_early_leaves_the_others)
{
    static const struct job jobs[N_SLOTS] = {
        {.n_prompt = N_PROMPT},
        {.n_prompt = 9, .cancel_after = 6},
        {.n_prompt = 8, .temperature = 0.8F, .top_k = 40},
        {.n_prompt = 5, .spoil_after = 8},
        {.n_prompt = 7, .n_predict = 300}, // more than the context holds
    };
    struct outcome outcomes[N_SLOTS] = {0}, alone[N_SLOTS] = {0};
    struct group group = open_group(*state, 2, 0);
    run_jobs(&group, 2000, jobs, 0x15, alone);
    run_jobs(&group, 2000, jobs, (1u << N_SLOTS) - 1, outcomes);
    for (uint32_t i = 0; i < N_SLOTS; i += 2) {
        assert_alike(&outcomes[i], &alone[i]);
    }
    assert_int_equal(outcomes[1].status, GLINFER_STATUS_CANCELLED);
    assert_int_equal(outcomes[3].status, GLINFER_STATUS_GPU_FAULT);
    assert_true(outcomes[3].n >= 8 && outcomes[3].n < N_ANSWER);
    assert_int_equal(outcomes[4].stop, GLINFER_STOP_CONTEXT);
    close_group(&group);
}

// An answer that ends while a chain with it is half submitted leaves nothing to the next one of its
// session.
TEST(a_chain_that_is_open_leaves_ended_answers_alone)
{
    const struct job *jobs = greedy;
    struct outcome others[N_SLOTS] = {0};
    struct group group = open_group(*state, 8, 0);
    struct glinfer_session *single = open_session(*state, 0, N_CTX, 8);
    struct answer expected = {0}, answer = {0};
    struct glinfer_generate_params params = ask(prompt, 9, N_ANSWER, &expected);
    must_generate(single, &params);
    glinfer_session_destroy(&single);
    params.token_user = &answer;
    for (uint32_t i = 0; i < 3; i++) {
        begin(&group, &jobs[i], i);
    }
    for (uint32_t turn = 0; !others[0].is_over || !others[2].is_over; turn++) {
        step(&group, 0, jobs, others);
        if (turn % 7 == 3 && !others[1].is_over) {
            answer = (struct answer){0};
            glinfer_end(group.sessions[1]);
            glinfer_session_reset(group.sessions[1]);
            must_generate(group.sessions[1], &params);
            assert_same(&answer, &expected);
            glinfer_session_reset(group.sessions[1]);
            others[1].n = 0;
            begin(&group, &jobs[1], 1);
        }
    }
    close_group(&group);
}

// One is destroyed in the middle, another asked anew.
TEST(sessions_of_a_group_live_by_themselves)
{
    const struct job *jobs = greedy;
    struct outcome outcomes[N_SLOTS] = {0}, alone[N_SLOTS] = {0};
    struct group group = open_group(*state, 5, 0);
    struct answer answer = {0};
    run_jobs(&group, 2000, jobs, 1u << 4, alone);
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        glinfer_session_reset(group.sessions[i]);
        begin(&group, &jobs[i], i);
    }
    for (uint32_t n = 0; n < 3 * N_SLOTS;) {
        n += step(&group, 2000, jobs, outcomes);
    }
    glinfer_session_destroy(&group.sessions[0]);
    glinfer_end(group.sessions[1]);
    glinfer_session_reset(group.sessions[2]);
    const struct glinfer_generate_params params = ask(prompt, 9, N_ANSWER, &answer);
    glinfer_session_reset(group.sessions[1]);
    must_generate(group.sessions[1], &params); // beside the rest, which are under way
    while (!outcomes[3].is_over || !outcomes[4].is_over) {
        step(&group, 2000, jobs, outcomes);
    }
    assert_alike(&outcomes[4], &alone[4]);
    close_group(&group);
}

// The lists of steps that end otherwise are recorded when they are first asked for.
TEST(the_first_session_may_go)
{
    static const struct job sampled[N_SLOTS] = {
        {0},
        {.n_prompt = 8, .temperature = 0.8f, .top_k = 7},
        {.n_prompt = 9, .temperature = 0.8f},
    };
    struct outcome outcomes[N_SLOTS] = {0}, again[N_SLOTS] = {0};
    struct group group = open_group(*state, 5, 0);
    run_jobs(&group, 2000, greedy, 3, outcomes);
    glinfer_session_destroy(&group.sessions[0]);
    for (uint32_t i = 1; i < 3; i++) {
        glinfer_session_reset(group.sessions[i]);
        begin(&group, &sampled[i], i);
    }
    while (!again[1].is_over || !again[2].is_over) {
        step(&group, 2000, sampled, again);
    }
    close_group(&group);
}

//-- memory ----------------------------------------------------------------------------------------

TEST(sessions_together_take_no_more_than_they_say)
{
    struct tiny_model *f = *state;
    struct glinfer_session *sessions[16];
    const uint64_t used = f->model->used;
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = N_CTX);
    must_do(glinfer_sessions_create(f->model, &params, 16, sessions, &err));
    const uint64_t all = f->model->used - used;
    for (int i = 0; i < 16; i++) {
        assert_int_equal(f->model->used - used, all); // until the last one is gone
        glinfer_session_destroy(&sessions[i]);
    }
    assert_int_equal(f->model->used, used);
    f->model->mem_budget = used + all - 1;
    must_fail(glinfer_sessions_create(f->model, &params, 16, sessions, &err), OVER_BUDGET, "");
    assert_null(sessions[0]);
    assert_int_equal(f->model->used, used);
    f->model->mem_budget = used + all;
    must_do(glinfer_sessions_create(f->model, &params, 16, sessions, &err));
    for (int i = 0; i < 16; i++) {
        glinfer_session_destroy(&sessions[i]);
    }
    f->model->mem_budget = 0;
}

RUN_TESTS(open_tiny_model, close_tiny_model)
