// The self-test changes nothing that a session computes: with it and without it a random course of
// prompts, answers, scores and returns gives the same tokens and log-probabilities, bit by bit,
// whichever list is made ready in the middle of a prompt or an answer.
//
//   undisturbed_test SEED MODEL.gguf...
#include "tests/golden/fixture/tiny_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CTX = 1400, N_OPS = 10, MOST_TOKENS = 578, MOST_OPS_TOKENS = 130, N_COURSES = 2 };

static uint32_t next_random(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33);
}

//-- a course --------------------------------------------------------------------------------------

struct course {
    struct glinfer_session *session;
    uint64_t random;
    uint32_t n_vocab;
    uint64_t found[N_OPS]; // a hash of what each operation computed
    uint64_t *hash;        // of the current one
};

static void add(struct course *course, const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < size; i++) {
        *course->hash = (*course->hash ^ byte[i]) * 1099511628211u;
    }
}

static bool on_token(void *user, const struct glinfer_token *token)
{
    struct course *course = user;
    add(course, &token->id, sizeof(token->id));
    for (uint32_t i = 0; i < token->n_probs; i++) {
        add(course, &token->probs[i].id, sizeof(token->probs[i].id));
        add(course, &token->probs[i].logprob, sizeof(token->probs[i].logprob));
    }
    return true;
}

static void choose_ids(struct course *course, int32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ids[i] = (int32_t)(3 + next_random(&course->random) % (course->n_vocab - 3));
    }
}

// Reads n tokens and answers, with a sampler that differs from time to time.
static bool answer(struct course *course, size_t n, struct glinfer_error *err)
{
    int32_t ids[MOST_TOKENS];
    struct glinfer_samplers samplers;
    struct glinfer_generate_params params;
    glinfer_samplers_init(&samplers);
    glinfer_generate_params_init(&params);
    choose_ids(course, ids, n);
    params.prompt = ids;
    params.n_prompt = n;
    params.n_predict = (int32_t)(next_random(&course->random) % 4);
    params.ignore_eos = true;
    params.seed = 5;
    params.on_token = on_token;
    params.token_user = course;
    switch (next_random(&course->random) % 5) {
    case 0:
        break; // greedy
    case 1:
        params.temperature = 0.8f;
        params.top_k = 8;
        break;
    case 2:
        params.temperature = 0.9f;
        params.min_p = 0.01f;
        break;
    case 3:
        samplers.repeat_penalty = 1.2f;
        params.samplers = &samplers;
        break;
    default:
        params.n_probs = 4;
    }
    return glinfer_generate(course->session, &params, NULL, err);
}

static bool score(struct course *course, struct glinfer_error *err)
{
    int32_t ids[40];
    float logprobs[40];
    const size_t n = 2 + next_random(&course->random) % 38;
    choose_ids(course, ids, n);
    if (!glinfer_score(course->session, ids, n, logprobs, err)) {
        return false;
    }
    add(course, logprobs, (n - 1) * sizeof(logprobs[0]));
    return true;
}

static bool run_op(struct course *course, int op, bool is_long, struct glinfer_error *err)
{
    static const size_t sizes[] = {1, 2, 3, 5, 9, 17, 33, 66, 67, 70, MOST_OPS_TOKENS};
    const size_t size = sizes[next_random(&course->random) % (sizeof(sizes) / sizeof(sizes[0]))];
    const uint32_t kind = next_random(&course->random) % 6;
    course->hash = &course->found[op];
    if (op == 0 || kind < 4) {
        return answer(course, op == 0 && is_long ? MOST_TOKENS : size, err);
    }
    if (kind == 4) {
        return score(course, err);
    }
    const size_t n = glinfer_session_rewind(course->session, size);
    add(course, &n, sizeof(n));
    return true;
}

// Runs a course on a device that knows no findings of its programs.
static bool run_course(const char *path, uint64_t seed, bool is_long, bool has_selftest,
                       struct course *course)
{
    struct tiny_model tiny = {0};
    struct glinfer_error err = {0};
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    setenv("GLINFER_SELFTEST", has_selftest ? "on" : "off", 1);
    if (!tiny_model_open(&tiny, path, "")) {
        return false;
    }
    struct glinfer_session_params params =
        PARAMS(session, .n_ctx = N_CTX, .n_batch = is_long ? 0 : 64);
    params.max_batch_ms = 60000; // batches are not cut by the clock
    *course = (struct course){.random = seed};
    glinfer_model_describe(tiny.model, &info);
    course->n_vocab = info.n_vocab;
    course->session = glinfer_session_create(tiny.model, &params, &err);
    bool ok = course->session != NULL;
    for (int op = 0; ok && op < N_OPS; op++) {
        ok = run_op(course, op, is_long, &err);
    }
    if (!ok) {
        fprintf(stderr, "%s: %s\n", path, err.message);
    }
    glinfer_session_destroy(&course->session);
    tiny_model_close(&tiny);
    return ok;
}

static bool compare(const char *path, uint64_t seed, bool is_long)
{
    struct course with, without;
    if (!run_course(path, seed, is_long, true, &with) ||
        !run_course(path, seed, is_long, false, &without)) {
        return false;
    }
    for (int op = 0; op < N_OPS; op++) {
        if (with.found[op] != without.found[op]) {
            fprintf(stderr, "%s: seed %llu, operation %d: the self-test changes the result\n", path,
                    (unsigned long long)seed, op);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    bool ok = argc > 2;
    for (int i = 2; i < argc; i++) {
        for (uint64_t n = 0; n < N_COURSES; n++) {
            ok = compare(argv[i], strtoull(argv[1], NULL, 10) + n, n % 2 == 0) && ok;
        }
    }
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
