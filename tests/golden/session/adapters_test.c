// Sessions of a model with LoRA adapters, each with scales of its own: what copies, saved states, a
// recovery of the device, drafts and joint steps do with them. Exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_MORE = 40, N_CTX = 128, N_ADAPTER = 2 };

//-- helpers ---------------------------------------------------------------------------------------

struct trace {
    int32_t ids[N_MORE];
    float logprobs[N_MORE];
    int n;
};

static bool on_token(void *user, const struct glinfer_token *token)
{
    struct trace *trace = user;
    if (token->id >= 0) {
        assert_true(trace->n < N_MORE);
        trace->ids[trace->n] = token->id;
        trace->logprobs[trace->n++] = token->probs[0].logprob;
    }
    return true;
}

static struct glinfer_stats go_on(struct glinfer_session *session, const int32_t *ids, size_t n,
                                  uint32_t n_draft, struct trace *trace)
{
    *trace = (struct trace){.n = 0};
    struct glinfer_generate_params params = ask(ids, n, N_MORE, NULL);
    params.on_token = on_token;
    params.token_user = trace;
    params.n_probs = 1;
    params.lookup = n_draft;
    params.lookup_match = 1;
    params.lookup_always = n_draft > 0;
    return must_generate(session, &params);
}

// Compares a with the first tokens of b. Keys and values are rounded to f16, which magnifies the
// roundings of other kernels.
static bool is_same(const struct trace *a, const struct trace *b)
{
    float difference = 0;
    for (int i = 0; i < a->n; i++) {
        difference = fmaxf(difference, fabsf(a->logprobs[i] - b->logprobs[i]));
    }
    return a->n > 0 && a->n <= b->n &&
           memcmp(a->ids, b->ids, (size_t)a->n * sizeof(a->ids[0])) == 0 && difference < 2e-3f;
}

static struct glinfer_model *load(struct tiny_model *f, const struct glinfer_source *first,
                                  const struct glinfer_source *second)
{
    const struct glinfer_source *adapters[N_ADAPTER] = {first, second};
    const struct glinfer_model_params params =
        PARAMS(model, .path = test_data("data/models/tiny-q4_0.gguf"), .adapters = adapters,
               .n_adapters = second ? 2 : 1);
    struct glinfer_model *model = must_do(glinfer_model_load(f->device, &params, &err));
    return model;
}

static struct glinfer_model *load_two(struct tiny_model *f)
{
    static const char *const names[N_ADAPTER] = {"data/models/tiny-q4_0-4.lora",
                                                 "data/models/tiny-q4_0-16.lora"};
    static char paths[N_ADAPTER][512]; // test_data keeps one path
    struct glinfer_source sources[N_ADAPTER];
    for (int i = 0; i < N_ADAPTER; i++) {
        glinfer_source_init(&sources[i]);
        snprintf(paths[i], sizeof(paths[i]), "%s", test_data(names[i]));
        sources[i].path = paths[i];
    }
    return load(f, &sources[0], &sources[1]);
}

static struct glinfer_session *open_scaled(struct glinfer_model *model, float first, float second)
{
    struct tiny_model f = {.model = model};
    const float scales[N_ADAPTER] = {first, second};
    // Chains of one length: those that times decide may leave no place for a draft.
    struct glinfer_session *session = open_session(&f, 4, N_CTX, 16);
    must_do(glinfer_session_set_adapter_scales(session, scales, N_ADAPTER, &err));
    return session;
}

static void expect_scales(const struct glinfer_session *session, float first, float second)
{
    float scales[N_ADAPTER];
    assert_int_equal(glinfer_session_adapter_scales(session, scales, N_ADAPTER), N_ADAPTER);
    assert_true(scales[0] == first && scales[1] == second);
}

//-- tests -----------------------------------------------------------------------------------------

// Reads an adapter and zeroes its matrices, which follow the name, the two dimensions, the type and
// the offset of the last one. Returns the bytes of the file.
static size_t read_zeros(uint8_t *file, size_t capacity)
{
    enum { ENTRY_SIZE = sizeof(".lora_a") - 1 + 4 + 2 * 8 + 4 + 8, ALIGNMENT = 32 };
    FILE *stream = fopen(test_data("data/models/tiny-q4_0-4.lora"), "rb");
    assert_non_null(stream);
    const size_t size = fread(file, 1, capacity, stream);
    fclose(stream);
    size_t data = 0;
    for (size_t i = 0; i + ENTRY_SIZE < size; i++) {
        data = memcmp(file + i, ".lora_", 6) == 0 ? i + ENTRY_SIZE : data;
    }
    assert_true(data > 0);
    data = (data + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(file + data, 0, size - data);
    return size;
}

// An adapter of zeros, as training begins with, changes nothing.
TEST(an_adapter_of_zeros_changes_nothing)
{
    static uint8_t file[1 << 16];
    struct tiny_model *f = *state;
    struct glinfer_source zeros;
    glinfer_source_init(&zeros);
    zeros.kind = GLINFER_SOURCE_MEMORY;
    zeros.data = file;
    zeros.length = read_zeros(file, sizeof(file));
    struct glinfer_model *model = load(f, &zeros, NULL);
    struct tiny_model adapted = {.model = model};
    SESSION *a = open_session(f, 0, N_CTX, 16), *b = open_session(&adapted, 0, N_CTX, 16);
    struct trace plain, zero;
    go_on(a, prompt, N_PROMPT, 0, &plain);
    go_on(b, prompt, N_PROMPT, 0, &zero);
    assert_true(is_same(&plain, &zero));
    glinfer_session_destroy(&b);
    glinfer_model_destroy(&model);
}

TEST(a_copy_takes_the_scales)
{
    struct glinfer_model *model = load_two(*state);
    SESSION *a = open_scaled(model, 1.5f, -0.5f), *b = open_scaled(model, 0, 1);
    struct trace first, second, other;
    go_on(a, prompt, N_PROMPT, 0, &first);
    go_on(b, prompt, N_PROMPT, 0, &other);
    assert_false(is_same(&first, &other));
    must_do(glinfer_session_copy(b, a, SIZE_MAX, &err));
    expect_scales(b, 1.5f, -0.5f);
    go_on(a, prompt, 3, 0, &first);
    go_on(b, prompt, 3, 0, &second);
    assert_true(is_same(&first, &second));
    glinfer_session_destroy(&a);
    glinfer_session_destroy(&b);
    glinfer_model_destroy(&model);
}

TEST(a_saved_state_asks_for_its_scales)
{
    struct glinfer_model *model = load_two(*state);
    const float scales[N_ADAPTER] = {0.5f, 0};
    SESSION *a = open_scaled(model, 0.5f, 0), *b = open_scaled(model, 0.5f, 1);
    struct trace first, second;
    size_t size;
    go_on(a, prompt, N_PROMPT, 0, &first);
    must_do(glinfer_session_save_memory(a, NULL, 0, &size, &err));
    void *data = malloc(size);
    assert_non_null(data);
    must_do(glinfer_session_save_memory(a, data, size, &size, &err));
    must_fail(glinfer_session_load_memory(b, data, size, &err), INVALID_ARGUMENT,
              "scales of its adapters");
    must_do(glinfer_session_set_adapter_scales(b, scales, N_ADAPTER, &err));
    must_do(glinfer_session_load_memory(b, data, size, &err));
    go_on(a, prompt, 3, 0, &first);
    go_on(b, prompt, 3, 0, &second);
    assert_true(is_same(&first, &second));
    free(data);
    glinfer_session_destroy(&a);
    glinfer_session_destroy(&b);
    glinfer_model_destroy(&model);
}

TEST(a_recovery_loads_matrices_and_scales_again)
{
    struct tiny_model *f = *state;
    struct glinfer_model *model = load_two(f);
    SESSION *a = open_scaled(model, 1.5f, 0.25f);
    struct trace before, after;
    go_on(a, prompt, N_PROMPT, 0, &before);
    must_do(glinfer_device_recover(f->device, NULL, NULL, &err));
    expect_scales(a, 1.5f, 0.25f);
    glinfer_session_reset(a);
    go_on(a, prompt, N_PROMPT, 0, &after);
    assert_true(is_same(&before, &after));
    glinfer_session_destroy(&a);
    glinfer_model_destroy(&model);
}

TEST(drafts_are_checked_with_the_scales)
{
    enum { N_IDS = 40 };
    struct glinfer_model *model = load_two(*state);
    SESSION *a = open_scaled(model, 1.5f, 0.25f);
    struct trace plain, drafted;
    int32_t ids[N_IDS];
    for (int i = 0; i < N_IDS; i++) {
        ids[i] = 40 + i % 5 * 7;
    }
    go_on(a, ids, N_IDS, 0, &plain);
    glinfer_session_reset(a);
    assert_true(go_on(a, ids, N_IDS, 7, &drafted).draft_n > 0);
    assert_true(is_same(&plain, &drafted));
    glinfer_session_destroy(&a);
    glinfer_model_destroy(&model);
}

// Sessions that decode together have scales of their own in every step; the first ends before the
// others.
TEST(joint_steps_keep_scales_apart)
{
    enum { N = 3 };
    static const float scales[N][N_ADAPTER] = {{0, 0}, {1.5f, 0.25f}, {-1, 1}};
    struct tiny_model *f = *state;
    struct glinfer_model *model = load_two(f);
    const struct glinfer_session_params params =
        PARAMS(session, .n_ctx = N_CTX, .n_batch = 16, .precision = GLINFER_PRECISION_F32);
    struct glinfer_session *sessions[N];
    struct trace alone[N], together[N] = {0};
    must_do(glinfer_sessions_create(model, &params, N, sessions, &err));
    for (int i = 0; i < N; i++) {
        SESSION *own = open_scaled(model, scales[i][0], scales[i][1]);
        go_on(own, prompt, N_PROMPT, 0, &alone[i]);
        must_do(glinfer_session_set_adapter_scales(sessions[i], scales[i], N_ADAPTER, &err));
        struct glinfer_generate_params ask_one = ask(prompt, N_PROMPT, i == 0 ? 5 : 16, NULL);
        ask_one.n_probs = 1;
        must_begin(sessions[i], ask_one);
    }
    for (int n_left = N; n_left > 0;) {
        const struct glinfer_event event = must_step(f, 0);
        for (int i = 0; i < N && event.kind == GLINFER_EVENT_TOKEN; i++) {
            if (event.session == sessions[i]) {
                on_token(&together[i], event.token);
            }
        }
        n_left -= event.kind == GLINFER_EVENT_END;
    }
    for (int i = 0; i < N; i++) {
        assert_true(is_same(&together[i], &alone[i]));
        glinfer_session_destroy(&sessions[i]);
    }
    glinfer_model_destroy(&model);
}

//-- merged adapters -------------------------------------------------------------------------------

enum { N_SCORED = 24 };

// A model and an adapter of it, in tests/data.
struct merge_case {
    const char *model, *adapter;
    float tolerance; // nat
};

// The strings and pointers that params hold live until the next call.
static struct glinfer_model_params find_params(const char *model, const char *adapter,
                                               const float *scale, bool is_merged)
{
    static char path[512], lora[512]; // test_data keeps one path
    static struct glinfer_source source;
    static const struct glinfer_source *const pointers[N_ADAPTER] = {&source, &source};
    snprintf(path, sizeof(path), "%s", test_data(model));
    snprintf(lora, sizeof(lora), "%s", test_data(adapter));
    glinfer_source_init(&source);
    source.path = lora;
    const struct glinfer_model_params params =
        PARAMS(model, .path = path, .quantize = "none", .adapters = pointers, .n_adapters = 1,
               .adapter_scales = scale, .merge_adapter = is_merged);
    return params;
}

// Fills the log-probabilities of given tokens with an adapter next to the weights or in them.
static void score(struct tiny_model *f, const struct merge_case *c, float scale, bool is_merged,
                  float logprobs[N_SCORED - 1])
{
    const struct glinfer_model_params params = find_params(c->model, c->adapter, &scale, is_merged);
    struct glinfer_model *model = must_do(glinfer_model_load(f->device, &params, &err));
    struct tiny_model adapted = {.model = model};
    int32_t ids[N_SCORED];
    for (int i = 0; i < N_SCORED; i++) {
        ids[i] = 3 + i * 11;
    }
    SESSION *session = open_session(&adapted, 0, N_CTX, 16);
    float own;
    assert_int_equal(glinfer_session_adapter_scales(session, &own, 1), is_merged ? 0 : 1);
    must_do(glinfer_score(session, ids, N_SCORED, logprobs, &err));
    if (is_merged) {
        float again[N_SCORED - 1];
        must_do(glinfer_device_recover(f->device, NULL, NULL, &err));
        must_do(glinfer_score(session, ids, N_SCORED, again, &err));
        assert_memory_equal(again, logprobs, sizeof(again));
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
}

static float find_worst(const float *a, const float *b)
{
    float worst = 0;
    for (int i = 0; i < N_SCORED - 1; i++) {
        worst = fmaxf(worst, fabsf(a[i] - b[i]));
    }
    return worst;
}

// The products of a merged adapter are in the weights, up to the rounding of their type, also after
// a recovery of the device.
TEST(a_merged_adapter_gives_the_logprobs_of_one_next_to_the_weights)
{
    static const struct merge_case cases[] = {
        {"data/folders/smollm2", "data/peft/smollm2", 0.002f},     // f32
        {"data/folders/phi3_short", "data/peft/phi3_short", 0.1f}, // bf16
        {"data/models/tiny-q4_0.gguf", "data/models/tiny-q4_0-16.lora", 0.6f},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        float plain[N_SCORED - 1], beside[N_SCORED - 1], merged[N_SCORED - 1];
        score(*state, &cases[i], 0, false, plain);
        score(*state, &cases[i], 0.75f, false, beside);
        score(*state, &cases[i], 0.75f, true, merged);
        assert_true(find_worst(beside, merged) <= cases[i].tolerance);
        assert_true(find_worst(plain, merged) > 2 * cases[i].tolerance);
    }
}

TEST(merging_is_refused_where_the_result_cannot_be_written)
{
    static const char model[] = "data/models/tiny-q4_0.gguf";
    static const char lora[] = "data/models/tiny-q4_0-16.lora";
    struct tiny_model *f = *state;
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    struct glinfer_model_params params = find_params(model, lora, NULL, true);
    must_do(glinfer_model_inspect(&params, &info, &err));
    assert_true(info.is_supported);
    params.n_adapters = 2;
    must_fail(glinfer_model_load(f->device, &params, &err), INVALID_ARGUMENT, "but 2 are given");
    params.n_adapters = 0;
    must_fail(glinfer_model_load(f->device, &params, &err), INVALID_ARGUMENT, "but 0 are given");
    params = find_params("data/models/tiny-qwen2.gguf", lora, NULL, true);
    must_fail(glinfer_model_load(f->device, &params, &err), BAD_FILE, "is made for models of");
}

TEST(an_adapter_in_place_of_a_model_is_described)
{
    static const struct {
        const char *path, *architecture;
        uint32_t rank, n;
        float alpha;
    } cases[] = {
        {"data/models/tiny-gemma2-4.lora", "gemma2", 4, 6, 8},
        {"data/peft/smollm2", "", 2, 14, 3},
        {"data/peft/tiny-q4_0-16", "", 16, 4, 8}, // 2 sqrt(16), of use_rslora
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_model_info info = {.struct_size = sizeof(info)};
        struct glinfer_model_params params = {.struct_size = sizeof(params)};
        params.path = test_data(cases[i].path);
        must_do(glinfer_model_inspect(&params, &info, &err));
        assert_true(info.is_adapter && !info.is_supported);
        assert_string_equal(info.architecture, cases[i].architecture);
        assert_int_equal(info.adapter_min_rank, cases[i].rank);
        assert_int_equal(info.adapter_max_rank, cases[i].rank);
        assert_int_equal(info.n_adapted, cases[i].n);
        assert_true(info.adapter_min_alpha == cases[i].alpha);
        assert_true(info.adapter_max_alpha == cases[i].alpha);
        assert_says(info.refusal, "give its model with -m and the adapter with --lora");
    }
}

RUN_TESTS(open_tiny_model, close_tiny_model)
