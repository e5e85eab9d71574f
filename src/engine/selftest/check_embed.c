// Checks embeddings of tokens whose rows are in the sample: glsl/embed/embed_token and embed_batch.
#include "engine/selftest/test_case.h"
#include "glsl/embed/embed_params.h"

enum { N_EMBEDDED = 8 }; // tokens that are embedded one at a time

// Returns the token of a row of the sample, from the first, middle and last tiles; UINT32_MAX for a
// row of padding.
static uint32_t sampled_token(const struct gi_test *test, uint32_t i)
{
    const uint32_t row_begin = test->params[0];            // of both kernels' parameters
    const uint32_t row = i * 27 % gi_test_n_sampled(test); // 27: the ends come early
    return test->sample->is_there[row] ? row_begin + gi_test_sampled_row(test, row) : UINT32_MAX;
}

static void check_batch(struct gi_test *test)
{
    uint32_t *tokens = gi_test_memory(test, test->n_tokens, sizeof(*tokens));
    for (uint32_t i = 0; tokens && i < test->n_tokens; i++) {
        const uint32_t token = sampled_token(test, i);
        tokens[i] = token == UINT32_MAX ? test->params[0] : token;
    }
    gi_test_write(test, 1, 0, tokens, test->n_tokens);
    gi_test_compare(test, 1);
}

void gi_check_embed(struct gi_test *test)
{
    const struct gi_step_state before = test->state;
    if (test->key->id == GI_PROGRAM_EMBED_BATCH && !gi_test_define(test, "STEP") &&
        !gi_test_is_of_slots(test)) {
        check_batch(test);
        return;
    }
    for (uint32_t i = N_EMBEDDED; i-- > 0 && !test->has_failed;) {
        test->state.token = sampled_token(test, i);
        if (test->state.token != UINT32_MAX) {
            gi_test_write_state(test);
            gi_test_compare(test, 1);
        }
    }
    test->state = before;
    gi_test_write_state(test);
    gi_test_run(test); // the token that the entries after it read
}
