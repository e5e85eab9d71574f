// Tests the count of the loops of programs: every kernel has one, and it grows with what it should.
#include "glsl/attention/attention_params.h"
#include "glsl/gemv/gemv_params.h"
#include "glsl/sample/sample_params.h"
#include "ops/record/loop_turns.h"
#include "tests/unit/cmocka_test.h"

#define LIMIT 65535u

TEST(every_program_is_counted)
{
    static const uint32_t params[64];
    for (uint32_t id = 0; id < GI_PROGRAM_COUNT; id++) {
        const struct gi_program_key key = {.id = (enum gi_program_id)id};
        const struct gi_dispatch dispatch = {
            .label = "test", .params = params, .params_size = sizeof(params), .wg_size = 64};
        uint64_t n_turn = LIMIT + 1;
        assert_true(gi_loop_turns(&key, &dispatch, &n_turn));
        assert_true(n_turn <= LIMIT);
    }
}

static uint64_t count(enum gi_program_id id, const void *params, uint32_t wg_size, uint32_t n_group,
                      const struct gi_define *defines, uint32_t n_defines)
{
    struct gi_program_key key = {.id = id, .n_defines = n_defines};
    const struct gi_dispatch dispatch = {
        .params = params, .wg_size = wg_size, .grid = {.size = {n_group, 1, 1}}};
    uint64_t n_turn = 0;
    for (uint32_t i = 0; i < n_defines; i++) {
        key.defines[i] = defines[i];
    }
    assert_true(gi_loop_turns(&key, &dispatch, &n_turn));
    return n_turn;
}

// A prompt's attention on llvmpipe takes an iteration for each tile of keys, whatever the head.
TEST(attention_of_a_prompt_is_counted)
{
    static const struct {
        uint32_t head_dim, keys, n_ctx, window;
        bool fits;
    } rows[] = {
        {512, 1, 32768, 0, true},     {256, 1, 65536, 0, false}, {256, 2, 65536, 0, true},
        {64, 2, 131072, 0, false},    {64, 4, 131072, 0, true},  {128, 1, 1 << 20, 0, false},
        {128, 1, 1 << 20, 512, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct gi_attention_params params = {.n_ctx = rows[i].n_ctx,
                                                   .window = rows[i].window};
        const struct gi_define defines[] = {{"HEAD_DIM", (int32_t)rows[i].head_dim},
                                            {"KEYS", (int32_t)rows[i].keys},
                                            {"VECTORS", 1}};
        const uint64_t n_turn = count(GI_PROGRAM_ATTENTION_BATCH_ROW, &params, 8, 1, defines, 3);
        assert_int_equal(n_turn <= LIMIT, rows[i].fits);
    }
}

TEST(attention_of_a_step_is_counted)
{
    const struct gi_attention_params params = {.n_ctx = 1 << 18};
    const struct gi_define wide[] = {{"HEAD_DIM", 512}, {"KEYS", 1024}, {"VECTORS", 1}},
                           shorter[] = {{"HEAD_DIM", 512}, {"KEYS", 64}, {"VECTORS", 1}};
    assert_true(count(GI_PROGRAM_ATTENTION_ROW, &params, 8, 1, wide, 3) <= LIMIT);
    assert_true(count(GI_PROGRAM_ATTENTION_ROW, &params, 8, 1, shorter, 3) > LIMIT);
}

TEST(products_and_samplers_are_counted)
{
    const struct gi_gemv_plain_params wide = {.n_block = 1024, .n_pair = 64},
                                      too_wide = {.n_block = 8192, .n_pair = 64};
    const struct gi_argmax_params gemma = {.n_vocab = 262144, .n_partial = 4096},
                                  large = {.n_vocab = 1 << 20, .n_partial = 4096};
    assert_true(count(GI_PROGRAM_GEMV_PLAIN_TEXEL, &wide, 8, 1, NULL, 0) <= LIMIT);
    assert_true(count(GI_PROGRAM_GEMV_PLAIN_TEXEL, &too_wide, 8, 1, NULL, 0) > LIMIT);
    assert_true(count(GI_PROGRAM_FULL_SAMPLE_256, &gemma, 256, 4, NULL, 0) <= LIMIT);
    assert_true(count(GI_PROGRAM_FULL_SAMPLE_256, &large, 256, 4, NULL, 0) > LIMIT);
    assert_true(count(GI_PROGRAM_ARGMAX_256, &large, 256, 1, NULL, 0) <= LIMIT);
}

RUN_TESTS(NULL, NULL)
