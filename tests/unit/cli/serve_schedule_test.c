// Tasks, mailboxes and the queue of `glinfer serve`.
#include "cli/serve/schedule/serve_queue.h"
#include "tests/unit/cmocka_test.h"

static struct serve_task *create_task(uint32_t n_jobs)
{
    struct serve_task *task = serve_task_create(NULL);
    for (uint32_t i = 0; i < n_jobs; i++) {
        serve_task_add(task);
    }
    return task;
}

static bool suits_if(void *user, const struct serve_job *job)
{
    return !user || job->task == user;
}

TEST(queue_is_bounded_and_in_order)
{
    struct serve_queue queue;
    struct serve_task *a = create_task(2), *b = create_task(1), *c = create_task(1);
    serve_queue_init(&queue, 2);
    assert_int_equal(serve_queue_push(&queue, a, 1), SERVE_QUEUED);
    assert_int_equal(serve_queue_push(&queue, b, 1), SERVE_QUEUED);
    assert_int_equal(serve_queue_push(&queue, c, 0), SERVE_QUEUE_FULL);
    assert_int_equal(serve_queue_count(&queue), 3);
    assert_ptr_equal(serve_queue_pop(&queue, suits_if, b), &b->jobs[0]);
    assert_int_equal(serve_queue_push(&queue, c, 1), SERVE_QUEUED);
    assert_ptr_equal(serve_queue_pop(&queue, suits_if, NULL), &a->jobs[0]);
    assert_null(serve_queue_pop(&queue, suits_if, b));
    atomic_store(&c->is_cancelled, true); // is taken out whomever it suits
    assert_ptr_equal(serve_queue_pop(&queue, suits_if, b), &c->jobs[0]);
    serve_queue_close(&queue);
    assert_int_equal(serve_queue_push(&queue, b, 9), SERVE_QUEUE_CLOSED);
    for (int i = 0; i < 2; i++) { // the references of those that were taken out
        serve_task_unref(i == 0 ? b : c);
    }
    serve_task_unref(a);
    serve_task_unref(a);
    serve_queue_finish(&queue); // drops the second answer of a
    serve_task_unref(b);
    serve_task_unref(c);
}

TEST(places_are_in_order_once_each)
{
    struct serve_places places = {0};
    const size_t add[] = {7, 0, 900, 7, 3, 900, 40, 50};
    const uint32_t want[] = {3, 7, 40, 900};
    for (size_t i = 0; i < sizeof(add) / sizeof(add[0]); i++) {
        serve_places_add(&places, add[i]);
    }
    assert_int_equal(places.n, SERVE_MAX_PLACES);
    assert_memory_equal(places.at, want, sizeof(want));
}

TEST(inputs_of_embeddings_use_one_place)
{
    struct serve_queue queue;
    struct serve_task *batch = create_task(100), *b = create_task(1), *c = create_task(1);
    batch->is_embedding = true;
    serve_queue_init(&queue, 2);
    assert_int_equal(serve_queue_push(&queue, batch, 0), SERVE_QUEUED);
    assert_int_equal(serve_queue_push(&queue, b, 0), SERVE_QUEUED);
    assert_int_equal(serve_queue_push(&queue, c, 0), SERVE_QUEUE_FULL);
    assert_int_equal(serve_queue_count(&queue), 101);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(queue.n_used, 2);
        assert_ptr_equal(serve_queue_pop(&queue, suits_if, NULL), &batch->jobs[i]);
        serve_task_unref(batch);
    }
    assert_int_equal(queue.n_used, 1);
    serve_queue_finish(&queue);
    serve_task_unref(batch);
    serve_task_unref(b);
    serve_task_unref(c);
}

static int n_rests, n_wakes;

static void count_rest(void *user)
{
    (void)user;
    n_rests++;
}

static void count_wake(void *user)
{
    (void)user;
    n_wakes++;
}

TEST(mailbox_wakes_once)
{
    struct serve_mailbox mailbox;
    struct serve_events events = {0};
    const struct glinfer_prob probs[] = {{3, -0.5F}, {4, -1}};
    struct serve_event event = {.kind = SERVE_EVENT_TOKEN, .id = 3, .text_size = 2, .n_probs = 2};
    serve_mailbox_init(&mailbox);
    assert_false(serve_mailbox_take(&mailbox, &events));
    assert_true(serve_mailbox_wait(&mailbox, count_rest, count_wake, NULL));
    serve_mailbox_send(&mailbox, &event, "hi", probs);
    serve_mailbox_send(&mailbox, &event, "ho", probs);
    assert_true(n_rests == 1 && n_wakes == 1);
    assert_false(serve_mailbox_wait(&mailbox, count_rest, count_wake, NULL));
    assert_true(serve_mailbox_take(&mailbox, &events));
    assert_true(n_rests == 1 && events.count == 2 && events.probs.count == 4);
    assert_memory_equal(events.texts.data + events.items[1].text, "ho", 2);
    assert_int_equal(events.probs.items[events.items[1].probs].id, 3);
    serve_events_finish(&events);
    assert_true(serve_mailbox_wait(&mailbox, count_rest, count_wake, NULL));
    serve_mailbox_leave(&mailbox);
    serve_mailbox_send(&mailbox, &event, "he", probs);
    serve_mailbox_wake(&mailbox);
    assert_int_equal(n_wakes, 1);
    serve_mailbox_finish(&mailbox);
}

RUN_TESTS(NULL, NULL)
