// Sessions of a tiny model, and what they answer to a prompt that is always the same.
#ifndef TESTS_GOLDEN_SESSION_FIXTURE_H
#define TESTS_GOLDEN_SESSION_FIXTURE_H

#include "tests/golden/tiny_model.h"

enum { MAX_TOKENS = 300, N_PROMPT = 14 };

extern const int32_t prompt[N_PROMPT];

struct answer {
    int32_t ids[MAX_TOKENS];
    int n;
    char text[4096];
    size_t text_size;
    int stop_after;                 // tokens; 0: never
    struct glinfer_session *cancel; // cancelled at the second token
    const long *counter;            // read then; NULL: none
    long counted_at_second;
};

// In f32: answers by different kernels are compared closely. A failure fails the test.
struct glinfer_session *open_session(struct tiny_model *f, uint32_t chain, uint32_t n_ctx,
                                     uint32_t n_batch);
// Asks for n_predict greedy tokens, past those that end a text; answer grows as they come, and may be NULL if on_token
// is set to another.
struct glinfer_generate_params ask(const int32_t *ids, size_t n, int32_t n_predict,
                                   struct answer *answer);
// A failure fails the test.
struct glinfer_stats must_generate(struct glinfer_session *session,
                                   const struct glinfer_generate_params *params);
void assert_same(const struct answer *a, const struct answer *b);

// cmocka's: *state becomes a struct tiny_model.
int open_tiny_model(void **state);
int close_tiny_model(void **state);

#endif
