// Tests times of tokens: the path through a cost, and the attention that it is made from.
#include "speech/window/word_times.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

#include <math.h>

TEST(the_path_of_least_cost_is_found)
{
    static const float cost[3][6] = {{0, 0, 9, 9, 9, 9}, {9, 9, 0, 9, 9, 9}, {9, 9, 9, 0, 0, 0}};
    uint32_t begins[3];
    assert_true(gi_time_warp(cost[0], 3, 6, begins, NULL));
    assert_int_equal(begins[0], 0);
    assert_int_equal(begins[1], 2);
    assert_int_equal(begins[2], 3);
}

TEST(paths_have_all_rows)
{
    static const float cost[4] = {1, 2, 3, 4};
    uint32_t begins[4];
    assert_true(gi_time_warp(cost, 4, 1, begins, NULL));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(begins[i], 0);
    }
    assert_true(gi_time_warp(cost, 1, 4, begins, NULL));
    assert_int_equal(begins[0], 0);
    assert_true(gi_time_warp(cost, 1, 1, begins, NULL));
}

// A network of which some heads follow speech: token i is at position places[i].
enum { N_POSITION = 100, N_TOKEN = 7 };
static const uint32_t places[N_TOKEN] = {0, 0, 10, 25, 40, 60, 80};

struct net {
    bool is_used[8][8];
    bool fails;
    struct glinfer_error *failure;
};

static bool align(void *user, uint32_t layer, uint32_t head, float *weights)
{
    struct net *net = user;
    if (net->fails) {
        return gi_error_set(net->failure, GLINFER_STATUS_GPU_LOST, "lost");
    }
    net->is_used[layer][head] = true;
    for (uint32_t i = 0; i < N_TOKEN; i++) {
        for (uint32_t j = 0; j < N_POSITION; j++) {
            const float x = ((float)j - (float)places[i] - 4) / 4;
            weights[i * N_POSITION + j] = expf(-x * x);
        }
    }
    return true;
}

static void find(uint32_t n_layer, uint32_t n_head, uint32_t n_vocab, struct net *net,
                 struct gi_token_time *times)
{
    struct glinfer_error err;
    const struct gi_speech_net table = {.user = net,
                                        .failure = &err,
                                        .n_vocab = n_vocab,
                                        .n_layer = n_layer,
                                        .n_head = n_head,
                                        .align = align};
    must(gi_word_times_find(&table, 3, N_TOKEN - 4, 2 * N_POSITION, 190, times), &err);
}

TEST(tokens_are_heard_where_the_network_looks)
{
    struct net net = {0};
    struct gi_token_time times[N_TOKEN - 4];
    find(4, 6, 51864, &net, times);
    for (int i = 0; i < N_TOKEN - 4; i++) { // the token before a token looks for it
        assert_in_range(times[i].from, i == 0 ? 0 : 2 * places[i + 2] - 14, 2 * places[i + 2] + 14);
        assert_in_range(times[i].to, 2 * places[i + 3] - 14, 2 * places[i + 3] + 14);
    }
    assert_true(net.is_used[2][5] && net.is_used[3][0] && !net.is_used[2][2]); // tiny.en's heads
}

TEST(unknown_models_use_their_upper_half)
{
    struct net net = {0};
    struct gi_token_time times[N_TOKEN - 4];
    find(2, 5, 51866, &net, times);
    for (int head = 0; head < 5; head++) {
        assert_true(net.is_used[1][head] && !net.is_used[0][head]);
    }
    memset(&net, 0, sizeof(net));
    find(4, 6, 51865, &net, times);
    assert_true(net.is_used[2][2] && !net.is_used[2][5]); // tiny's heads
}

TEST(failures_are_passed_on)
{
    struct glinfer_error err;
    struct net net = {.fails = true, .failure = &err};
    struct gi_token_time times[N_TOKEN - 4];
    struct gi_speech_net table = {
        .user = &net, .failure = &err, .n_vocab = 51864, .n_layer = 4, .n_head = 6, .align = align};
    assert_fails(gi_word_times_find(&table, 3, 3, 2 * N_POSITION, 190, times), err, GPU_LOST,
                 "lost");
    net.fails = false;
    for (long n = 0; n < 5; n++) {
        fail_one_allocation(n);
        const bool is_ok = gi_word_times_find(&table, 3, 3, 2 * N_POSITION, 190, times);
        fail_allocations_after(-1);
        assert_false(is_ok);
        assert_int_equal(err.status, GLINFER_STATUS_NO_MEMORY);
    }
}

RUN_TESTS(NULL, NULL)
