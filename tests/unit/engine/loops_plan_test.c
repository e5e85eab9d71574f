// The plan of a model whose layers run several times: matrices are on the GPU once.
#include "engine/model/plan/model_plan.h"
#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

// Plans a file with 2 layers. Returns the matrices of later runs that are not those of the first,
// and sets *bytes to those of all matrices.
static uint32_t count_own(const char *file, uint32_t n_run, uint64_t *bytes)
{
    static const struct gi_plan_limits limits = {.max_range = 1 << 27, .alignment = 256};
    struct glinfer_error err;
    struct gi_model_plan plan;
    struct gi_gguf *gguf = gi_gguf_open(GI_SOURCE_PATH(test_data(file)), &err);
    assert_non_null(gguf);
    assert_true(gi_model_plan_init(&plan, gguf, NULL, &limits, NULL, &err));
    assert_int_equal(plan.hparams.n_layer, 2 * n_run);
    uint32_t n_own = 0;
    *bytes = plan.weight_bytes;
    for (uint32_t i = 0; i < plan.n_weights; i++) {
        const struct gi_plan_weight *weight = &plan.weights[i];
        const bool is_later = i >= 2 * GI_SLOT_COUNT && i < 2 * n_run * GI_SLOT_COUNT;
        n_own += is_later && weight->weight.n_parts > 0 && !weight->same;
        if (weight->same) {
            assert_true(weight->same < &plan.weights[2 * GI_SLOT_COUNT]);
            assert_ptr_equal(weight->same->sources[0].tensor, weight->sources[0].tensor);
        }
    }
    gi_model_plan_finish(&plan);
    gi_gguf_close(gguf);
    return n_own;
}

TEST(runs_share_matrices)
{
    uint64_t bytes;
    assert_int_equal(count_own("data/models/tiny-nanbeige.gguf", 3, &bytes), 0);
}

// The last matrix of a run has the gamma of the norm that follows, which the last run differs in.
TEST(a_matrix_before_another_norm_is_not_shared)
{
    uint64_t shared, bytes;
    count_own("data/models/tiny-nanbeige.gguf", 3, &shared);
    assert_int_equal(count_own("data/models/tiny-nanbeige_plain.gguf", 2, &bytes), 1);
    assert_true(bytes > shared && bytes < 2 * shared);
}

RUN_TESTS(NULL, NULL)
