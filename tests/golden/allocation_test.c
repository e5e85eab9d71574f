// Tests that every allocating function of glinfer.h survives a failed allocation: it fails with
// NO_MEMORY or continues without, keeps its state and works again afterwards. Runs on a tiny model;
// exits 77 without a device. -DGLINFER_SANITIZE=address also finds leaks.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

#include <stdlib.h>

enum { MAX_TRIES = 150 }; // of a call; where it allocates more often, they are spread evenly

static bool try_call(try_fn call, struct tiny_model *f, void (*refuse)(long), long n)
{
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    refuse(n);
    const bool is_done = call(f, &err);
    fail_allocations_after(-1);
    if (!is_done && err.status != GLINFER_STATUS_NO_MEMORY) {
        fail_msg("allocation %ld: %d, %s", n, (int)err.status, err.message);
    }
    return is_done;
}

// Refuses one allocation after the other, alone and with all that follow.
static void survive(try_fn call, struct tiny_model *f)
{
    fail_allocations_after(-1);
    must_do(call(f, &err));
    const long n = count_allocations(), step = n / MAX_TRIES + 1;
    assert_false(try_call(call, f, fail_allocations_after, 0));
    for (long i = 0; i < n; i += step) {
        try_call(call, f, fail_one_allocation, i);
        try_call(call, f, fail_allocations_after, i);
    }
    must_do(call(f, &err));
}

//-- devices ---------------------------------------------------------------------------------------

TEST(opening_a_device_survives)
{
    survive(try_open_device, *state);
}

//-- files -----------------------------------------------------------------------------------------

static struct glinfer_model_params file_params(void)
{
    const struct glinfer_model_params params =
        PARAMS(model, .path = test_data("data/models/tiny-chat.gguf"));
    return params;
}

static bool inspect(struct tiny_model *f, struct glinfer_error *err)
{
    (void)f;
    const struct glinfer_model_params params = file_params();
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    return glinfer_model_inspect(&params, &info, err);
}

TEST(inspecting_survives)
{
    survive(inspect, *state);
}

static bool tokenize(struct tiny_model *f, struct glinfer_error *err)
{
    (void)f;
    static const struct glinfer_message messages[] = {
        {"system", "be"},
        {"user", "he"},
    };
    struct glinfer_tokenizer *tokenizer =
        glinfer_tokenizer_load(test_data("data/models/tiny-chat.gguf"), err);
    int32_t ids[256];
    size_t n = 0;
    const bool ok = tokenizer &&
                    glinfer_tokenize(tokenizer, "Hello, world", 12, 0, ids, 256, &n, err) &&
                    glinfer_chat_tokenize(tokenizer, messages, 2, ids, 256, &n, err);
    glinfer_tokenizer_destroy(&tokenizer);
    return ok;
}

TEST(tokenizing_survives)
{
    survive(tokenize, *state);
}

//-- the GPU ---------------------------------------------------------------------------------------

TEST(loading_survives)
{
    survive(try_load, *state);
}

static bool create_session(struct tiny_model *f, struct glinfer_error *err)
{
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = 64);
    struct glinfer_session *session = glinfer_session_create(f->model, &params, err);
    const bool ok = session != NULL;
    glinfer_session_destroy(&session);
    return ok;
}

TEST(creating_a_session_survives)
{
    survive(create_session, *state);
}

static bool generate(struct tiny_model *f, struct glinfer_error *err)
{
    struct answer answer = {0};
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = 64, .chain_length = 4);
    const struct glinfer_generate_params asked = ask(prompt, N_PROMPT, 6, &answer);
    struct glinfer_session *session = glinfer_session_create(f->model, &params, err);
    const bool ok = session && glinfer_generate(session, &asked, NULL, err);
    glinfer_session_destroy(&session);
    return ok;
}

TEST(generating_survives)
{
    survive(generate, *state);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
