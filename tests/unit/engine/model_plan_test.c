// Planning a model file: what is missing or wrong is named, and every GPU row knows where it comes
// from.
#include "engine/model/arena.h"
#include "engine/model/plan/model_plan.h"
#include "engine/model/plan/plan_rows.h"
#include "engine/model/plan/spare_tensors.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/gguf_builder.h"

#include <stdio.h>

enum { EMBD = 64, FF = 48, HEADS = 4, KV_HEADS = 2, HEAD_DIM = 16, VOCAB = 40, F32 = 0 };

// A sound model of one layer, but for what a test wants wrong.
struct wrong {
    const char *skip_tensor, *skip_key;
    const char *reshape; // this tensor has one row more
    const char *retype;  // this one is of a type without a kernel
    const char *nvfp4;   // this one is of NVFP4
    const char *half;    // this one is F16, which is sound
    const char *architecture;
    const char *rope_scaling;
    uint32_t n_embd;          // 0: EMBD
    uint32_t head_count;      // 0: HEADS
    const int32_t *head_list; // heads of q of n_layer layers
    const int32_t *kv_list;   // heads of k and v of n_layer layers
    uint32_t n_layer;         // 0: 1
    // Names of vectors that the file has besides, up to NULL.
    const char *const *spare;
};

struct tensor {
    const char *name;
    uint64_t cols, rows; // rows 0: a vector
};

static const struct tensor tensors[] = {
    {"token_embd.weight", EMBD, VOCAB},
    {"output_norm.weight", EMBD, 0},
    {"blk.0.attn_norm.weight", EMBD, 0},
    {"blk.0.attn_q.weight", EMBD, HEADS *HEAD_DIM},
    {"blk.0.attn_k.weight", EMBD, KV_HEADS *HEAD_DIM},
    {"blk.0.attn_v.weight", EMBD, KV_HEADS *HEAD_DIM},
    {"blk.0.attn_output.weight", HEADS *HEAD_DIM, EMBD},
    {"blk.0.ffn_norm.weight", EMBD, 0},
    {"blk.0.ffn_gate.weight", EMBD, FF},
    {"blk.0.ffn_up.weight", EMBD, FF},
    {"blk.0.ffn_down.weight", FF, EMBD},
};
enum { N_TENSORS = sizeof(tensors) / sizeof(tensors[0]) };

static bool is_named(const char *name, const char *wanted)
{
    return wanted && strcmp(name, wanted) == 0;
}

static void add_count(struct gguf_builder *b, const struct wrong *wrong, const char *key,
                      uint32_t value, uint64_t *n_pairs)
{
    if (!is_named(key, wrong->skip_key)) {
        gguf_pair_u32(b, key, value);
        ++*n_pairs;
    }
}

static void build_pairs(struct gguf_builder *b, const struct wrong *wrong, uint64_t *n_pairs)
{
    const char *architecture = wrong->architecture ? wrong->architecture : "llama";
    const uint32_t n_layer = wrong->n_layer ? wrong->n_layer : 1;
    gguf_pair_string(b, "general.architecture", architecture);
    *n_pairs = 1;
    add_count(b, wrong, "llama.block_count", n_layer, n_pairs);
    add_count(b, wrong, "llama.embedding_length", wrong->n_embd ? wrong->n_embd : EMBD, n_pairs);
    add_count(b, wrong, "llama.feed_forward_length", FF, n_pairs);
    add_count(b, wrong, "llama.context_length", 128, n_pairs);
    if (wrong->head_list) {
        gguf_array(b, "llama.attention.head_count", GI_GGUF_KIND_I32, n_layer);
        for (uint32_t i = 0; i < n_layer; i++) {
            gguf_u32(b, (uint32_t)wrong->head_list[i]);
        }
        ++*n_pairs;
    } else {
        add_count(b, wrong, "llama.attention.head_count",
                  wrong->head_count ? wrong->head_count : HEADS, n_pairs);
    }
    if (wrong->kv_list) {
        gguf_array(b, "llama.attention.head_count_kv", GI_GGUF_KIND_I32, n_layer);
        for (uint32_t i = 0; i < n_layer; i++) {
            gguf_u32(b, (uint32_t)wrong->kv_list[i]);
        }
        ++*n_pairs;
    } else {
        add_count(b, wrong, "llama.attention.head_count_kv", KV_HEADS, n_pairs);
    }
    if (wrong->rope_scaling) {
        gguf_pair_string(b, "llama.rope.scaling.type", wrong->rope_scaling);
        ++*n_pairs;
    }
}

static void build_tensors(struct gguf_builder *b, const struct wrong *wrong, uint64_t *n_tensors,
                          uint64_t *size)
{
    *n_tensors = *size = 0;
    for (int i = 0; i < N_TENSORS; i++) {
        const struct tensor *tensor = &tensors[i];
        if (is_named(tensor->name, wrong->skip_tensor)) {
            continue;
        }
        const uint64_t more = is_named(tensor->name, wrong->reshape);
        const uint64_t dims[] = {tensor->cols, tensor->rows + more};
        const bool is_odd = is_named(tensor->name, wrong->retype);
        const uint32_t type = is_odd                                 ? GI_GGML_TYPE_I32
                              : is_named(tensor->name, wrong->half)  ? GI_GGML_TYPE_F16
                              : is_named(tensor->name, wrong->nvfp4) ? GI_GGML_TYPE_NVFP4
                                                                     : F32;
        gguf_tensor(b, tensor->name, tensor->rows ? 2 : 1, dims, type, *size);
        *size += 4 * tensor->cols * (tensor->rows ? tensor->rows + more : 1);
        *size = (*size + 31) / 32 * 32;
        ++*n_tensors;
    }
    for (const char *const *name = wrong->spare; name && *name; name++) {
        gguf_tensor(b, *name, 1, (const uint64_t[]){8}, F32, *size);
        *size += 32;
        ++*n_tensors;
    }
}

static struct gi_gguf *build(struct gguf_builder *b, const struct wrong *wrong)
{
    struct gguf_builder body = {0};
    uint64_t n_pairs, n_tensors, size;
    build_pairs(&body, wrong, &n_pairs);
    build_tensors(&body, wrong, &n_tensors, &size);
    gguf_header(b, n_tensors, n_pairs);
    gguf_bytes(b, body.data, body.size);
    gguf_finish(&body);
    gguf_pad(b, 32);
    for (uint64_t i = 0; i < size; i += 4) {
        gguf_f32(b, (float)i);
    }
    struct gi_gguf *gguf =
        must_do(gi_gguf_open(GI_SOURCE_MEMORY(b->data, b->size, "test.gguf"), &err));
    return gguf;
}

static const struct gi_plan_limits limits = {.max_range = 1 << 27, .alignment = 256};

static void expect_refusal(const struct wrong *wrong, enum glinfer_status status, const char *word)
{
    BUILDER b = {0};
    struct gi_model_plan plan;
    struct glinfer_error err = {0};
    GGUF *gguf = build(&b, wrong);
    assert_false(gi_model_plan_init(&plan, gguf, NULL, &limits, NULL, &err));
    if (err.status != status || !strstr(err.message, word)) {
        fail_msg("status %d, \"%s\"; expected %d and \"%s\"", err.status, err.message, status,
                 word);
    }
}

TEST(missing_tensors_are_named)
{
    for (int i = 0; i < N_TENSORS; i++) {
        const struct wrong wrong = {.skip_tensor = tensors[i].name};
        expect_refusal(&wrong, GLINFER_STATUS_BAD_FILE, tensors[i].name);
    }
}

// Other senses, later layers and names that nobody knows; a vector of a known name has a shape.
TEST(what_a_file_has_besides_is_counted)
{
    static const char *const names[] = {"v.blk.0.attn_q.weight",
                                        "mm.0.weight",
                                        "a.conv1d.1.weight",
                                        "blk.1.nextn.enorm.weight",
                                        "blk.0.attn_q_norm.weight",
                                        "blk.0.attn_sub_norm.weight",
                                        "cls.output.weight",
                                        "blk.0.attn_q.bias",
                                        NULL};
    const struct wrong wrong = {.spare = names};
    BUILDER b = {0};
    struct gi_model_plan plan;
    struct gi_spare_tensors spare;
    struct glinfer_error err = {0};
    GGUF *gguf = build(&b, &wrong);
    assert_false(
        gi_model_plan_init(&plan, gguf, NULL, &limits, NULL, &err)); // a bias of the wrong shape
    assert_says(err.message, "blk.0.attn_q.bias");
    gi_gguf_close(gguf);
    gguf_finish(&b);
    const char *seven[8] = {NULL};
    memcpy(seven, names, 7 * sizeof(seven[0]));
    gguf = build(&b, &(struct wrong){.spare = seven});
    assert_true(gi_model_plan_init(&plan, gguf, NULL, &limits, NULL, &err));
    assert_true(gi_spare_tensors_find(&plan, &spare, &err));
    assert_int_equal(spare.n_vision, 2);
    assert_int_equal(spare.n_audio, 1);
    assert_int_equal(spare.n_next, 1);
    assert_int_equal(spare.n_other, 2);
    assert_memory_equal(spare.other.data, names[4], spare.other.size);
    gi_model_plan_finish(&plan);
}

TEST(wrong_shapes_are_named)
{
    for (int i = 1; i < N_TENSORS; i++) { // the embedding says how large the vocabulary is
        if (tensors[i].rows > 0) {
            const struct wrong wrong = {.reshape = tensors[i].name};
            expect_refusal(&wrong, GLINFER_STATUS_BAD_FILE, tensors[i].name);
        }
    }
}

TEST(types_without_a_kernel_are_named)
{
    for (int i = 0; i < N_TENSORS; i++) {
        const struct wrong wrong = {.retype = tensors[i].name};
        expect_refusal(&wrong, GLINFER_STATUS_UNSUPPORTED, tensors[i].name);
    }
}

TEST(factors_of_nvfp4_have_one_number)
{
    const struct wrong wrong = {.nvfp4 = "blk.0.attn_k.weight",
                                .spare = (const char *const[]){"blk.0.attn_k.scale", NULL}};
    expect_refusal(&wrong, GLINFER_STATUS_BAD_FILE, "blk.0.attn_k.scale has shape 8 x 1");
}

// Plans a model that has a tensor besides and looks for those that are not read.
static bool is_spare_allowed(const char *name, struct glinfer_error *err)
{
    const struct wrong wrong = {.spare = (const char *const[]){name, NULL}};
    BUILDER b = {0};
    struct gi_model_plan plan;
    struct gi_spare_tensors spare;
    GGUF *gguf = build(&b, &wrong);
    assert_true(gi_model_plan_init(&plan, gguf, NULL, &limits, NULL, err));
    const bool is_allowed = gi_spare_tensors_find(&plan, &spare, err);
    gi_model_plan_finish(&plan);
    return is_allowed;
}

TEST(unknown_tensors_of_known_weights_are_refused)
{
    static const char *const refused[] = {"blk.0.attn_k.scale", "blk.0.ffn_down.zeros",
                                          "blk.0.attn_norm.bias", "token_embd.scale",
                                          "blk.0.unknown.scale"};
    static const char *const allowed[] = {"blk.0.attn_k.input_scale", "blk.0.unknown.bias",
                                          "v.patch.scale", "blk.7.attn_k.scale"};
    struct glinfer_error err = {0};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_false(is_spare_allowed(refused[i], &err));
        assert_int_equal(err.status, GLINFER_STATUS_UNSUPPORTED);
        assert_non_null(strstr(err.message, refused[i]));
    }
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        assert_true(is_spare_allowed(allowed[i], &err));
    }
}

TEST(missing_keys_are_named)
{
    const char *const keys[] = {"llama.block_count", "llama.embedding_length",
                                "llama.feed_forward_length", "llama.context_length",
                                "llama.attention.head_count"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct wrong wrong = {.skip_key = keys[i]};
        expect_refusal(&wrong, GLINFER_STATUS_BAD_FILE, keys[i]);
    }
}

TEST(what_cannot_be_run_is_said)
{
    const struct wrong family = {.architecture = "mamba"};
    expect_refusal(&family, GLINFER_STATUS_UNSUPPORTED, "mamba");
    // Families go by the names that files have, each once.
    expect_refusal(&family, GLINFER_STATUS_UNSUPPORTED, ", falcon-h1, ");
    expect_refusal(&family, GLINFER_STATUS_UNSUPPORTED, ", gpt-oss, ");
    expect_refusal(&family, GLINFER_STATUS_UNSUPPORTED, "gemma4, gemma-embedding, ");
    expect_refusal(&family, GLINFER_STATUS_UNSUPPORTED, ", lfm2moe, llama, maincoder, mamba2, ");
    const struct wrong projector = {.architecture = "clip"};
    expect_refusal(&projector, GLINFER_STATUS_UNSUPPORTED, "a projector of images or sound");
    const struct wrong scaling = {.rope_scaling = "spiral"};
    expect_refusal(&scaling, GLINFER_STATUS_UNSUPPORTED, "spiral");
    const struct wrong heads = {.head_count = 3};
    expect_refusal(&heads, GLINFER_STATUS_BAD_FILE, "3 heads");
    const struct wrong none = {.head_count = 5000};
    expect_refusal(&none, GLINFER_STATUS_BAD_FILE, "head_count");
}

//-- rows ------------------------------------------------------------------------------------------

// Every row of every source is taken by exactly one GPU row.
static void check_rows(const struct gi_model_plan *plan, const struct gi_plan_weight *weight)
{
    uint32_t seen[GI_MAX_SOURCES][256] = {{0}};
    for (uint32_t p = 0; p < weight->weight.n_parts; p++) {
        const struct gi_weight_part *part = &weight->weight.parts[p];
        for (uint32_t row = 0; row < part->n_rows; row++) {
            uint32_t source, source_row;
            if (gi_plan_weight_row(plan, weight, part, row, &source, &source_row)) {
                assert_true(source < weight->n_sources);
                assert_true(source_row < weight->sources[source].tensor->dims[1]);
                seen[source][source_row]++;
            }
        }
    }
    for (uint32_t s = 0; s < weight->n_sources; s++) {
        for (uint32_t row = 0; row < weight->sources[s].tensor->dims[1]; row++) {
            assert_int_equal(seen[s][row], 1);
        }
    }
}

static void check_places(const struct wrong *wrong)
{
    const uint64_t ranges[] = {1 << 27, 8192, 4096}; // whole, and cut into parts
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        BUILDER b = {0};
        struct gi_model_plan plan;
        const struct gi_plan_limits small = {.max_range = ranges[i], .alignment = 64};
        GGUF *gguf = build(&b, wrong);
        must_do(gi_model_plan_init(&plan, gguf, NULL, &small, NULL, &err));
        assert_int_equal(plan.n_weights, GI_SLOT_COUNT + 1);
        for (uint32_t w = 0; w < plan.n_weights; w++) {
            check_rows(&plan, &plan.weights[w]);
            for (uint32_t p = 0; p < plan.weights[w].weight.n_parts; p++) {
                assert_true(plan.weights[w].weight.parts[p].quads.size <= ranges[i]);
                assert_true(plan.weights[w].weight.parts[p].aux.size <= ranges[i]);
            }
        }
        gi_model_plan_finish(&plan);
    }
}

TEST(heads_may_be_listed_by_layer)
{
    static const int32_t none = 0, negative = -2, usual = KV_HEADS;
    const struct wrong without = {.kv_list = &none}, below = {.kv_list = &negative};
    expect_refusal(&without, GLINFER_STATUS_BAD_FILE, "0 key/value heads");
    expect_refusal(&below, GLINFER_STATUS_UNSUPPORTED, "head_count_kv");
    static const int32_t mixed[] = {KV_HEADS, 0}, unlike[] = {KV_HEADS, HEADS};
    const struct wrong hybrid = {.kv_list = mixed, .n_layer = 2};
    expect_refusal(&hybrid, GLINFER_STATUS_UNSUPPORTED, "layer 1 has no key or value heads");
    const struct wrong uneven = {.kv_list = unlike, .n_layer = 2};
    expect_refusal(&uneven, GLINFER_STATUS_UNSUPPORTED, "head_count_kv");
    check_places(&(struct wrong){.kv_list = &usual});
}

TEST(heads_of_q_may_be_listed_by_layer)
{
    static const int32_t usual[] = {HEADS}, none[] = {0}, too_large[] = {1025},
                         unlike[] = {HEADS, 2 * HEADS};
    check_places(&(struct wrong){.head_list = usual});
    expect_refusal(&(struct wrong){.head_list = none}, GLINFER_STATUS_UNSUPPORTED,
                   "llama.attention.head_count does not have one number from 1 to 1024");
    expect_refusal(&(struct wrong){.head_list = too_large}, GLINFER_STATUS_UNSUPPORTED,
                   "head_count");
    expect_refusal(&(struct wrong){.head_list = unlike, .n_layer = 2}, GLINFER_STATUS_UNSUPPORTED,
                   "head_count");
}

// Shapes that no kernel takes: refused before any tensor is looked at.
TEST(odd_widths_are_refused)
{
    for (uint32_t n_embd = EMBD + 1; n_embd < EMBD + 8; n_embd++) {
        const struct wrong wrong = {.n_embd = n_embd};
        if (n_embd % 4 != 0) {
            expect_refusal(&wrong, GLINFER_STATUS_UNSUPPORTED, "only multiples of 4");
        }
    }
    expect_refusal(&(struct wrong){.n_embd = 4}, GLINFER_STATUS_BAD_FILE, "embedding_length is 4");
}

TEST(every_row_has_one_place)
{
    const char *const halves[] = {NULL, "blk.0.attn_k.weight", "blk.0.ffn_up.weight"};
    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        const struct wrong wrong = {.half = halves[i]};
        check_places(&wrong);
    }
}

// The first rotary pair of head 1 of q lies in neighbouring tiles.
TEST(rotary_pairs_are_neighbours)
{
    const struct wrong nothing = {0};
    BUILDER b = {0};
    struct gi_model_plan plan;
    GGUF *gguf = build(&b, &nothing);
    assert_true(gi_model_plan_init(&plan, gguf, NULL, &limits, NULL, NULL));
    const struct gi_plan_weight *qkv = &plan.weights[GI_SLOT_QKV];
    const enum gi_rope_pairing pairings[] = {GI_ROPE_PAIRING_ADJACENT, GI_ROPE_PAIRING_HALVES};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t source, first, second;
        plan.hparams.rope_pairing = pairings[i];
        assert_true(gi_plan_weight_row(&plan, qkv, &qkv->weight.parts[0], 16, &source, &first));
        assert_true(gi_plan_weight_row(&plan, qkv, &qkv->weight.parts[0], 24, &source, &second));
        assert_int_equal(first, HEAD_DIM);
        assert_int_equal(second, HEAD_DIM + (i == 0 ? 1 : HEAD_DIM / 2));
    }
    gi_model_plan_finish(&plan);
}

// Ranges reach no further than a storage block, and the two ranges of a part fit one buffer.
TEST(ranges_fit_a_storage_block_and_half_a_buffer)
{
    const struct gi_limits floor = {.max_storage_block_size = 128u << 20};
    const struct gi_limits wide = {.max_storage_block_size = INT32_MAX};
    assert_int_equal(gi_arena_max_range(&floor), 128u << 20);
    assert_int_equal(gi_arena_max_range(&wide), 512u << 20);
}

RUN_TESTS(NULL, NULL)
