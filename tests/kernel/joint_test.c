// Answers that decode together: sessions of glinfer_sessions_create in glinfer_step. Whoever else
// decodes, joins, leaves or fails, an answer is the one that it is alone, bit by bit.
#include "engine/session/session.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { N_SLOTS = 5, N_CTX = 128, N_ANSWER = 24, MAX_STEPS = 100000 };

// An answer, and what happens to it.
struct job {
    uint32_t begin_at;     // tokens of all answers before it begins
    uint32_t n_prompt;     // tokens
    int32_t n_predict;     // 0: N_ANSWER
    float temperature;     // 0: greedy
    uint32_t top_k;        // 0: off
    float top_p;           // 0: off
    uint32_t n_probs;      // 0: none
    float repeat_penalty;  // 0: none
    const char *gbnf;      // NULL: none
    uint32_t cancel_after; // tokens; 0: never
    uint32_t spoil_after;  // tokens, after which its cache holds NaN; 0: never
};

struct outcome {
    int32_t ids[MAX_TOKENS];
    float logprobs[MAX_TOKENS]; // of the likeliest token, with n_probs
    uint32_t n;
    bool is_begun, is_over;
    enum glinfer_status status;
    enum glinfer_stop stop;
};

struct group {
    struct tiny_model *f;
    struct glinfer_session *sessions[N_SLOTS];
};

static struct group open_group(struct tiny_model *f, uint32_t chain, uint32_t duty)
{
    struct group group = {.f = f};
    struct glinfer_error err = {0};
    const struct glinfer_session_params params =
        PARAMS(session, .chain_length = chain, .n_ctx = N_CTX, .n_batch = 8, .gpu_duty = duty,
               .precision = GLINFER_PRECISION_F32);
    must(glinfer_sessions_create(f->model, &params, N_SLOTS, group.sessions, &err), &err);
    return group;
}

static void close_group(struct group *group)
{
    for (int i = 0; i < N_SLOTS; i++) {
        glinfer_session_destroy(&group->sessions[i]);
    }
}

static void begin(struct group *group, const struct job *job, uint32_t slot)
{
    struct glinfer_generate_params params =
        ask(prompt, job->n_prompt, job->n_predict ? job->n_predict : N_ANSWER, NULL);
    struct glinfer_grammar grammar;
    struct glinfer_samplers samplers;
    struct glinfer_error err = {0};
    glinfer_grammar_init(&grammar);
    glinfer_samplers_init(&samplers);
    samplers.repeat_penalty = job->repeat_penalty;
    params.samplers = job->repeat_penalty > 0 ? &samplers : NULL;
    grammar.gbnf = job->gbnf;
    params.on_token = NULL;
    params.ignore_eos = !job->gbnf;
    params.grammar = job->gbnf ? &grammar : NULL;
    params.temperature = job->temperature;
    params.top_k = job->top_k;
    params.top_p = job->top_p;
    params.n_probs = job->n_probs;
    params.seed = 40 + slot;
    must(glinfer_begin(group->sessions[slot], &params, &err), &err);
}

// Writes what is not a number over the values of a sequence's cache.
static void spoil(const struct glinfer_session *session)
{
    const struct gi_kv_layer *kv = &session->sequence.cache[0];
    uint32_t nans[64];
    struct gi_platform_saved saved;
    struct glinfer_error err = {0};
    memset(nans, 0xFF, sizeof(nans));
    assert_true(gi_gpu_enter(gi_session_gpu(session), &saved, &err));
    assert_true(gi_buffer_write(kv->range.buffer, gi_session_gpu(session),
                                kv->range.offset + kv->v * sizeof(uint32_t), nans, sizeof(nans),
                                &err));
    gi_gpu_leave(gi_session_gpu(session), &saved);
}

static void note(struct group *group, const struct job *job, struct outcome *outcome, uint32_t slot,
                 const struct glinfer_token *token)
{
    if (token->id < 0) {
        return;
    }
    outcome->logprobs[outcome->n] = token->n_probs ? token->probs[0].logprob : 0;
    outcome->ids[outcome->n++] = token->id;
    if (outcome->n == job->cancel_after) {
        glinfer_session_cancel(group->sessions[slot]);
    }
    if (outcome->n == job->spoil_after) {
        spoil(group->sessions[slot]);
    }
}

// Takes a step; returns how many tokens came.
static uint32_t step(struct group *group, uint32_t budget_us, const struct job *jobs,
                     struct outcome *outcomes)
{
    const struct timespec pause = {.tv_nsec = 100000};
    struct glinfer_event event = {.struct_size = sizeof(event)};
    struct glinfer_error err = {0};
    const bool ok = glinfer_step(group->f->device, budget_us, &event, &err);
    uint32_t slot = 0;
    if (ok && event.kind == GLINFER_EVENT_NONE) {
        nanosleep(&pause, NULL);
        return 0;
    }
    while (slot < N_SLOTS && group->sessions[slot] != event.session) {
        slot++;
    }
    assert_true(slot < N_SLOTS);
    struct outcome *outcome = &outcomes[slot];
    if (!ok || event.kind == GLINFER_EVENT_END) {
        outcome->is_over = true;
        outcome->status = ok ? GLINFER_STATUS_OK : err.status;
        outcome->stop = ok ? event.stats->stop : GLINFER_STOP_EOS;
    } else if (event.kind == GLINFER_EVENT_TOKEN) {
        note(group, &jobs[slot], outcome, slot, event.token);
        return 1;
    }
    return 0;
}

// Runs the jobs of a set together, slot by slot.
static void run_jobs(struct group *group, uint32_t budget_us, const struct job *jobs, uint32_t set,
                     struct outcome *outcomes)
{
    uint32_t n_token = 0, n_left = 0;
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        n_left += set >> i & 1;
        glinfer_session_reset(group->sessions[i]);
    }
    for (uint32_t turn = 0; n_left > 0; turn++) {
        assert_true(turn < MAX_STEPS);
        uint32_t n_under_way = 0;
        n_left = 0;
        for (uint32_t i = 0; i < N_SLOTS; i++) {
            struct outcome *outcome = &outcomes[i];
            if ((set >> i & 1) && !outcome->is_begun && jobs[i].begin_at <= n_token) {
                begin(group, &jobs[i], i);
                outcome->is_begun = true;
            }
            n_left += (set >> i & 1) && !outcome->is_over;
            n_under_way += outcome->is_begun && !outcome->is_over;
        }
        n_token = n_under_way > 0 ? n_token + step(group, budget_us, jobs, outcomes) : UINT32_MAX;
    }
}

static void assert_alike(const struct outcome *found, const struct outcome *expected)
{
    assert_int_equal(found->status, expected->status);
    assert_int_equal(found->stop, expected->stop);
    assert_int_equal(found->n, expected->n);
    assert_memory_equal(found->ids, expected->ids, found->n * sizeof(found->ids[0]));
    assert_memory_equal(found->logprobs, expected->logprobs, found->n * sizeof(float));
}

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

TEST(an_answer_is_the_one_alone)
{
    static const struct job jobs[N_SLOTS] = {
        {.n_prompt = N_PROMPT},
        {.n_prompt = 9, .begin_at = 3, .temperature = 0.9F, .top_k = 20},
        {.n_prompt = 3, .begin_at = 12, .n_predict = 7},
        {.n_prompt = 12, .begin_at = 20, .temperature = 0.8F, .top_k = 40},
        {.n_prompt = 1, .begin_at = 31, .n_predict = 30},
    };
    static const uint32_t budgets[] = {0, 3000, 1000000};
    struct outcome outcomes[N_SLOTS];
    for (uint32_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
        struct group group = open_group(*state, 3 * (i % 2), 0);
        compare(&group, budgets[i], jobs, outcomes);
        for (uint32_t k = 0; k < N_SLOTS; k++) {
            assert_int_equal(outcomes[k].stop, GLINFER_STOP_LIMIT);
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

// Masks are written between steps, which all then take one by one.
TEST(grammars_hold_beside_others)
{
    static const struct job jobs[N_SLOTS] = {
        {.n_prompt = N_PROMPT},
        {.n_prompt = 9, .begin_at = 2, .temperature = 1, .gbnf = "root ::= ([a-f] [0-4]){3,40}"},
        {.n_prompt = 8, .begin_at = 5, .temperature = 0.7F, .top_k = 10},
        {.n_prompt = 5, .begin_at = 9, .gbnf = "root ::= (\"{\" [x-z]* \"}\"){2,9}"},
        {.n_prompt = 7, .begin_at = 14, .gbnf = "root ::= [x-z]* \"no such token \\x01\\x02\""},
    };
    static const uint32_t budgets[] = {0, 1000000};
    struct outcome outcomes[N_SLOTS];
    for (uint32_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
        struct group group = open_group(*state, 0, 0);
        compare(&group, budgets[i], jobs, outcomes);
        close_group(&group);
    }
}

TEST(penalties_hold_beside_others)
{
    static const struct job jobs[N_SLOTS] = {
        {.n_prompt = N_PROMPT, .repeat_penalty = 1.5F},
        {.n_prompt = 9, .begin_at = 2},
        {.n_prompt = 8, .begin_at = 5, .temperature = 0.7F, .top_k = 10, .repeat_penalty = 1.3F},
        {.n_prompt = 5, .begin_at = 9, .temperature = 0.8F, .top_k = 30},
        {.n_prompt = 7, .begin_at = 14, .n_probs = 2},
    };
    struct outcome outcomes[N_SLOTS];
    struct group group = open_group(*state, 0, 0);
    compare(&group, 2000, jobs, outcomes);
    close_group(&group);
}

TEST(duty_leaves_answers_as_they_are)
{
    static const struct job jobs[N_SLOTS] = {
        {.n_prompt = N_PROMPT}, {.n_prompt = 9}, {.n_prompt = 8}, {.n_prompt = 5}, {.n_prompt = 7},
    };
    struct outcome outcomes[N_SLOTS];
    struct group group = open_group(*state, 4, 50);
    compare(&group, 2000, jobs, outcomes);
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
    static const struct job jobs[N_SLOTS] = {
        {.n_prompt = N_PROMPT},
        {.n_prompt = 9},
        {.n_prompt = 8},
    };
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
    static const struct job jobs[N_SLOTS] = {
        {.n_prompt = N_PROMPT}, {.n_prompt = 9}, {.n_prompt = 8}, {.n_prompt = 5}, {.n_prompt = 7},
    };
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
    static const struct job greedy[N_SLOTS] = {{.n_prompt = 9}, {.n_prompt = 8}};
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
    struct glinfer_error err = {0};
    const uint64_t used = f->model->used;
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = N_CTX);
    assert_true(glinfer_sessions_create(f->model, &params, 16, sessions, &err));
    const uint64_t all = f->model->used - used;
    for (int i = 0; i < 16; i++) {
        assert_int_equal(f->model->used - used, all); // until the last one is gone
        glinfer_session_destroy(&sessions[i]);
    }
    assert_int_equal(f->model->used, used);
    f->model->mem_budget = used + all - 1;
    assert_fails(glinfer_sessions_create(f->model, &params, 16, sessions, &err), err, OVER_BUDGET,
                 "");
    assert_null(sessions[0]);
    assert_int_equal(f->model->used, used);
    f->model->mem_budget = used + all;
    assert_true(glinfer_sessions_create(f->model, &params, 16, sessions, &err));
    for (int i = 0; i < 16; i++) {
        glinfer_session_destroy(&sessions[i]);
    }
    f->model->mem_budget = 0;
}

RUN_TESTS(open_tiny_model, close_tiny_model)
