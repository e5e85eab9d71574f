// When a persistent program is looked for, asked for and tried out.
#include "persistent/persistent_policy.h"
#include "tests/unit/cmocka_test.h"

#define MS UINT64_C(1000000)

// In the middle of a long answer of a small model.
static struct gi_persistent_scene scene_in(enum gi_persistent_phase phase)
{
    return (struct gi_persistent_scene){.phase = phase,
                                        .has_delegate = true,
                                        .session_ns = 5000 * MS,
                                        .process_ns = 5000 * MS,
                                        .step_ns = MS,
                                        .waited_ns = 1000 * MS,
                                        .n_free = 1000};
}

static void each_phase_has_its_turn(void **state)
{
    (void)state;
    for (int phase = GI_PERSISTENT_OFF; phase <= GI_PERSISTENT_READY; phase++) {
        const struct gi_persistent_scene scene = scene_in((enum gi_persistent_phase)phase);
        assert_int_equal(gi_persistent_may_look(&scene), phase == GI_PERSISTENT_UNKNOWN);
        assert_int_equal(gi_persistent_may_delegate(&scene), phase == GI_PERSISTENT_MISSING);
        assert_int_equal(gi_persistent_may_look_again(&scene), phase == GI_PERSISTENT_DELEGATED);
        assert_int_equal(gi_persistent_may_try(&scene), phase == GI_PERSISTENT_LOADED);
    }
}

static void a_session_looks_after_it_has_decoded_a_while(void **state)
{
    struct gi_persistent_scene scene = scene_in(GI_PERSISTENT_UNKNOWN);
    (void)state;
    scene.session_ns = 50 * MS - 1;
    assert_false(gi_persistent_may_look(&scene)); // however long others have
    scene.is_hurried = true;
    assert_true(gi_persistent_may_look(&scene));
    scene.is_hurried = false;
    scene.session_ns = scene.process_ns = 50 * MS;
    assert_true(gi_persistent_may_look(&scene));
    scene.has_delegate = false; // what is kept is of use without
    assert_true(gi_persistent_may_look(&scene));
}

static void a_process_delegates_after_a_second(void **state)
{
    struct gi_persistent_scene scene = scene_in(GI_PERSISTENT_MISSING);
    (void)state;
    scene.session_ns = 50 * MS; // the latest of many sessions
    scene.process_ns = 1000 * MS;
    assert_true(gi_persistent_may_delegate(&scene));
    scene.process_ns--;
    assert_false(gi_persistent_may_delegate(&scene));
    scene.is_hurried = true;
    assert_true(gi_persistent_may_delegate(&scene));
}

static void without_a_delegate_nobody_is_asked(void **state)
{
    struct gi_persistent_scene scene = scene_in(GI_PERSISTENT_MISSING);
    (void)state;
    scene.has_delegate = false;
    assert_false(gi_persistent_may_delegate(&scene));
    scene.is_hurried = true;
    assert_false(gi_persistent_may_delegate(&scene));
}

static void slow_steps_are_not_worth_compiling(void **state)
{
    struct gi_persistent_scene scene = scene_in(GI_PERSISTENT_MISSING);
    (void)state;
    scene.step_ns = 10 * MS - 1;
    assert_true(gi_persistent_may_delegate(&scene));
    scene.step_ns = 10 * MS;
    assert_false(gi_persistent_may_delegate(&scene));
    scene.step_ns = 0; // not known
    assert_false(gi_persistent_may_delegate(&scene));
}

static void the_cache_is_looked_at_now_and_then(void **state)
{
    struct gi_persistent_scene scene = scene_in(GI_PERSISTENT_DELEGATED);
    (void)state;
    scene.waited_ns = 100 * MS - 1;
    assert_false(gi_persistent_may_look_again(&scene));
    scene.waited_ns++;
    assert_true(gi_persistent_may_look_again(&scene));
}

static void trying_out_takes_places_in_the_cache(void **state)
{
    struct gi_persistent_scene scene = scene_in(GI_PERSISTENT_LOADED);
    (void)state;
    scene.n_free = GI_PERSISTENT_TRIED_STEPS;
    assert_true(gi_persistent_may_try(&scene));
    scene.n_free--;
    assert_false(gi_persistent_may_try(&scene));
    scene.is_tried = true; // before
    assert_true(gi_persistent_may_try(&scene));
}

static void what_takes_long_to_take_is_taken_by_long_sessions(void **state)
{
    struct gi_persistent_scene scene = scene_in(GI_PERSISTENT_LOADED);
    (void)state;
    scene.take_ns = 300 * MS;
    scene.session_ns = 300 * MS;
    assert_true(gi_persistent_may_try(&scene));
    scene.session_ns--;
    assert_false(gi_persistent_may_try(&scene));
    scene.is_hurried = true;
    assert_true(gi_persistent_may_try(&scene));
    scene.is_hurried = false;
    scene.take_ns = 0; // not known
    scene.session_ns = 100 * MS;
    assert_true(gi_persistent_may_try(&scene));
    scene.session_ns--;
    assert_false(gi_persistent_may_try(&scene));
}

// Bytes of Q4_0 weights by their layers, read by a group on each multiprocessor of an H200.
static void large_groups_read_large_layers(void **state)
{
    (void)state;
    assert_false(gi_persistent_has_large_groups(UINT64_C(91000000) / 30, 132));   // SmolLM2-135M
    assert_false(gi_persistent_has_large_groups(UINT64_C(416000000) / 28, 132));  // Qwen3-0.6B
    assert_true(gi_persistent_has_large_groups(UINT64_C(829000000) / 16, 132));   // Llama-3.2-1B
    assert_true(gi_persistent_has_large_groups(UINT64_C(5046000000) / 32, 132));  // Llama-3.1-8B
    assert_true(gi_persistent_has_large_groups(UINT64_C(42000000000) / 80, 132)); // of 70B
    assert_true(gi_persistent_has_large_groups(256u << 10, 1));
    assert_false(gi_persistent_has_large_groups((256u << 10) - 1, 1));
}

// What stages share is as large as that of the largest under each name, and the names add up.
static void large_heads_leave_a_draw_no_room(void **state)
{
    (void)state;
    assert_true(gi_persistent_has_room_to_draw(64));
    assert_true(gi_persistent_has_room_to_draw(128));
    assert_false(gi_persistent_has_room_to_draw(256)); // Gemma
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_phase_has_its_turn),
        cmocka_unit_test(a_session_looks_after_it_has_decoded_a_while),
        cmocka_unit_test(a_process_delegates_after_a_second),
        cmocka_unit_test(without_a_delegate_nobody_is_asked),
        cmocka_unit_test(slow_steps_are_not_worth_compiling),
        cmocka_unit_test(the_cache_is_looked_at_now_and_then),
        cmocka_unit_test(trying_out_takes_places_in_the_cache),
        cmocka_unit_test(what_takes_long_to_take_is_taken_by_long_sessions),
        cmocka_unit_test(large_groups_read_large_layers),
        cmocka_unit_test(large_heads_leave_a_draw_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
