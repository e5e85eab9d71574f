// Joint steps, by their lists alone: every sequence gets the tokens that it gets by itself, and
// which others take part changes no bit. Exit status 77 where there is no device.
#include "engine/session/session.h"
#include "gpu/dispatch/executor.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/tiny_model.h"
#include "tests/unit/cmocka_test.h"

#include <string.h>

enum { N_SLOTS = 5, N_STEPS = 12, N_CTX = 64 };

struct fixture {
    struct tiny_model tiny;
    struct glinfer_session *sessions[N_SLOTS];
    struct gi_session_group *group;
};

// The entries of a sequence's steps.
struct tokens {
    struct gi_ring_entry entries[N_STEPS];
};

static void open_model(struct fixture *f, const char *path)
{
    assert_true(tiny_model_open(&f->tiny, test_data(path), NULL));
    const struct glinfer_session_params params =
        PARAMS(session, .n_ctx = N_CTX, .precision = GLINFER_PRECISION_F32);
    must_do(glinfer_sessions_create(f->tiny.model, &params, N_SLOTS, f->sessions, &err));
    f->group = f->sessions[0]->group;
}

static void close_model(struct fixture *f)
{
    for (int i = 0; i < N_SLOTS; i++) {
        glinfer_session_destroy(&f->sessions[i]);
    }
    tiny_model_close(&f->tiny);
}

// Begins the sequence of a slot with a token of its own.
static void begin(struct fixture *f, uint32_t slot)
{
    const struct gi_step_state state = {
        .token = 65 + 3 * slot,
        .n_tokens = 1,
        .max_steps = N_STEPS,
        .seed_lo = slot,
        .top_k = 20,
        .temperature = 0.9F,
        .top_p = 1,
    };
    must_do(gi_runner_begin(&f->sessions[slot]->runner, &err) &&
            gi_runner_write(&f->sessions[slot]->runner, &state, &err));
}

static void read_tokens(struct fixture *f, uint32_t slot, struct tokens *tokens)
{
    const struct gi_range *ring = &f->sessions[slot]->tables.step_buffers.ring;
    memset(tokens, 0, sizeof(*tokens));
    must_do(gi_buffer_read(ring->buffer, gi_session_gpu(f->sessions[slot]), ring->offset, tokens,
                           sizeof(*tokens), &err));
    for (int i = 0; i < N_STEPS; i++) {
        memset(tokens->entries[i].probs, 0, sizeof(tokens->entries[i].probs));
        tokens->entries[i].epoch = 0; // differs from run to run
    }
}

static void decode_alone(struct fixture *f, uint32_t slot, enum gi_step_end end,
                         struct tokens *tokens)
{
    const struct gi_chain chain = {.n_tokens = 1, .n_steps = N_STEPS};
    struct gi_executor *step =
        must_do(gi_tables_find(&f->sessions[slot]->tables, GI_LIST_STEP + end, &err));
    begin(f, slot);
    must_do(gi_executor_submit(step, &chain, &err));
    read_tokens(f, slot, tokens);
}

// Decodes the sequences of a set together, in chains of n steps.
static void decode_jointly(struct fixture *f, uint32_t live, uint32_t n, enum gi_step_end end,
                           struct tokens *tokens)
{
    const uint32_t n_rows = gi_joint_tables_rows(&f->group->joint, live);
    const struct gi_range state = gi_joint_tables_state(&f->group->joint);
    const struct gi_step_state own = {.token = live, .n_tokens = n_rows};
    struct gi_joint_place place = {.live = live};
    struct gi_executor *step = must_do(gi_joint_tables_step(&f->group->joint, live, end, &err));
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        begin(f, i);
    }
    must_do(gi_runner_fill(&f->sessions[0]->runner, &state, &own, sizeof(own), &err));
    for (uint32_t done = 0; done < N_STEPS; done += n) {
        const struct gi_chain chain = {
            .n_past = done, .n_tokens = n_rows, .n_steps = n, .joint = &place};
        for (uint32_t i = 0; i < N_SLOTS; i++) {
            place.n_past[i] = done;
        }
        must_do(gi_executor_submit(step, &chain, &err));
    }
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        read_tokens(f, i, &tokens[i]);
    }
}

static void compare_model(const char *path, enum gi_step_end end)
{
    struct fixture f = {0};
    struct gi_platform_saved saved;
    struct tokens alone[N_SLOTS], joint[N_SLOTS], again[N_SLOTS];
    open_model(&f, path);
    must_do(gi_gpu_enter(gi_session_gpu(f.sessions[0]), &saved, &err));
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        decode_alone(&f, i, end, &alone[i]);
    }
    decode_jointly(&f, (1u << N_SLOTS) - 1, 4, end, joint);
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        for (uint32_t k = 0; k < N_STEPS; k++) {
            assert_int_equal(joint[i].entries[k].status, GI_RING_STATUS_OK);
            assert_int_equal(joint[i].entries[k].step, k);
            assert_int_equal(joint[i].entries[k].token, alone[i].entries[k].token);
        }
    }
    decode_jointly(&f, 1u << 1 | 1u << 2, 1, end, again);
    for (uint32_t i = 1; i <= 2; i++) {
        assert_memory_equal(&again[i], &joint[i], sizeof(again[i]));
    }
    for (uint32_t i = 0; i < N_SLOTS; i += N_SLOTS - 1) { // by lists of one row
        decode_jointly(&f, 1u << i, 3, end, again);
        assert_memory_equal(&again[i], &joint[i], sizeof(again[i]));
    }
    must_do(gi_gpu_check(gi_session_gpu(f.sessions[0]), "decoding", &err));
    gi_gpu_leave(gi_session_gpu(f.sessions[0]), &saved);
    close_model(&f);
}

TEST(sequences_get_the_tokens_that_they_get_alone)
{
    static const char *const paths[] = {
        "data/models/tiny-q4_0.gguf",         "data/models/tiny-qwen3.gguf",
        "data/models/tiny-gemma3.gguf",       "data/models/tiny-gemma2.gguf",
        "data/models/tiny-qwen2moe.gguf",     "data/models/tiny-stablelm.gguf",
        "data/models/tiny-olmo2.gguf",        "data/models/tiny-granite.gguf",
        "data/models/tiny-exaone4.gguf",      "data/models/tiny-glm4.gguf",
        "data/models/tiny-gpt-oss.gguf",      "data/models/tiny-phi2.gguf",
        "data/models/tiny-smallthinker.gguf", "data/models/tiny-hunyuan-dense.gguf",
        "data/models/tiny-mistral3.gguf",
    };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        compare_model(paths[i], GI_STEP_END_GREEDY);
    }
}

TEST(sampled_sequences_do_likewise)
{
    compare_model("data/models/tiny-q4_0.gguf", GI_STEP_END_SMALL_K);
    compare_model("data/models/tiny-q4_0.gguf", GI_STEP_END_FULL);
    compare_model("data/models/tiny-q4_0.gguf", GI_STEP_END_PROBS);
}

// Layers of Gemma 3n have rows beside attention, wider here than its results: a joint step leaves
// them in the same place, which attention's counters follow, and what it packs them into is its
// own.
TEST(rows_beside_attention_have_their_place)
{
    struct fixture f = {0};
    open_model(&f, "data/models/tiny-gemma3n.gguf");
    const struct gi_graph *graph = &f.group->joint.graph;
    const struct gi_range *own = &f.group->joint.ranges[GI_JOINT_FFN_ACT];
    assert_true(graph->hparams->inputs.width > graph->hparams->n_head * graph->hparams->head_dim);
    assert_true(graph->attention.counter >= graph->hparams->inputs.width);
    assert_true(graph->q.stride >= graph->hparams->inputs.width);
    assert_true(graph->q.range.buffer == own->buffer && graph->q.range.offset == own->offset);
    close_model(&f);
}

RUN_TESTS(NULL, NULL)
