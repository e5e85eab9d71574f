// LoRA adapters that are read and planned for a model, and those that are refused.
#include "engine/model/adapter/adapter_set.h"
#include "engine/model/plan/model_plan.h"
#include "gguf/gguf_writer.h"
#include "hf/folder/hf_folder.h"
#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

struct tensor {
    const char *name;
    uint64_t n_cols, n_rows, n_matrix; // 0: 1
};

enum { MAX_TENSORS = 4 };

struct adapter {
    struct tensor tensors[MAX_TENSORS];
    const char *architecture, *type, *kind; // NULL: llama, adapter, lora
    bool has_tokens;
    enum gi_ggml_type number; // F32 is 0
};

static const struct gi_plan_limits limits = {.max_range = 1 << 27, .alignment = 256};

static bool read_zeros(void *user, size_t tensor, uint64_t offset, size_t size, void *out,
                       struct glinfer_error *err)
{
    (void)user, (void)tensor, (void)offset, (void)err;
    memset(out, 0, size);
    return true;
}

static void add_string(struct gi_gguf_writer *w, const char *key, const char *text)
{
    gi_gguf_add_string(w, key, text, strlen(text));
}

// Writes an adapter with zeros in its matrices. Returns its bytes, which the caller frees.
static uint8_t *write_adapter(const struct adapter *adapter, size_t *size)
{
    const struct gi_gguf_tensor_reader reader = {.read = read_zeros};
    static const uint32_t token = 1;
    struct gi_gguf_writer w = {0};
    struct glinfer_error err;
    add_string(&w, "general.architecture", adapter->architecture ? adapter->architecture : "llama");
    add_string(&w, "general.type", adapter->type ? adapter->type : "adapter");
    add_string(&w, "adapter.type", adapter->kind ? adapter->kind : "lora");
    gi_gguf_add_f32(&w, "adapter.lora.alpha", 8);
    if (adapter->has_tokens) {
        gi_gguf_add_u32s(&w, "adapter.alora.invocation_tokens", &token, 1);
    }
    for (int i = 0; i < MAX_TENSORS && adapter->tensors[i].name; i++) {
        const struct tensor *t = &adapter->tensors[i];
        const uint64_t dims[4] = {t->n_cols, t->n_rows ? t->n_rows : 1,
                                  t->n_matrix ? t->n_matrix : 1, 1};
        gi_gguf_add_tensor(&w, t->name, adapter->number, t->n_matrix ? 3 : 2, dims);
    }
    struct gi_gguf *gguf = gi_gguf_compose(&w, "test", &reader, &err);
    must(gguf, &err);
    size_t n_head;
    const uint8_t *head = gi_gguf_composed_head(gguf, &n_head);
    *size = n_head + (size_t)w.data_size;
    uint8_t *file = calloc(*size, 1);
    assert_non_null(file);
    memcpy(file, head, n_head);
    gi_gguf_close(gguf);
    gi_gguf_writer_finish(&w);
    return file;
}

// Opens an adapter and plans tiny-q4_0 with it: 64 columns, 32 rows of k, a network of 160.
static bool plan(const struct adapter *adapter, uint32_t *rank, struct glinfer_error *err)
{
    size_t size;
    uint8_t *file = write_adapter(adapter, &size);
    struct gi_gguf *model =
        gi_gguf_open(GI_SOURCE_PATH(test_data("data/models/tiny-q4_0.gguf")), err);
    must(model, err);
    const struct glinfer_source *source = GI_SOURCE_MEMORY(file, size, "test.lora");
    struct gi_adapter_set set;
    struct gi_model_plan plan;
    bool ok = gi_adapter_set_open(&set, NULL, &source, 1, err);
    if (ok) {
        ok = gi_model_plan_init(&plan, model, NULL, &limits, &set, err);
        *rank = ok ? plan.hparams.adapter_rank : 0;
        if (ok) {
            gi_model_plan_finish(&plan);
        }
        gi_adapter_set_close(&set);
    }
    gi_gguf_close(model);
    free(file);
    return ok;
}

#define K            "blk.1.attn_k.weight"
#define TENSORS(...) .tensors = {__VA_ARGS__}
// The matrices of a tensor with n_cols columns and n_rows rows.
#define A(base, n_cols, rank)                                                                      \
    {                                                                                              \
        base ".lora_a", n_cols, rank, 0                                                            \
    }
#define B(base, rank, n_rows)                                                                      \
    {                                                                                              \
        base ".lora_b", rank, n_rows, 0                                                            \
    }
#define PAIR_K TENSORS(A(K, 64, 6), B(K, 6, 32))

static void accepted_adapters(void **state)
{
    static const struct {
        struct adapter adapter;
        uint32_t rank;
    } cases[] = {
        {{PAIR_K}, 8},
        {{PAIR_K, .number = GI_GGML_TYPE_F16}, 8},
        {{TENSORS(B(K, 4, 32), {"blk.0.attn_norm.weight", 64, 1, 0}, A(K, 64, 4))}, 4},
        {{TENSORS(A("blk.0.ffn_up.weight", 64, 64), B("blk.0.ffn_up.weight", 64, 160),
                  A("blk.2.ffn_down.weight", 160, 4), B("blk.2.ffn_down.weight", 4, 64))},
         64},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        uint32_t rank = 0;
        must(plan(&cases[i].adapter, &rank, &err), &err);
        assert_int_equal(rank, cases[i].rank);
    }
}

static void refused_adapters(void **state)
{
    static const struct {
        struct adapter adapter;
        enum glinfer_status status;
        const char *says;
    } cases[] = {
        {{TENSORS(A(K, 64, 4))}, GLINFER_STATUS_BAD_FILE, K ".lora_b is missing"},
        {{TENSORS(B(K, 4, 32))}, GLINFER_STATUS_BAD_FILE, K ".lora_a is missing"},
        {{TENSORS(A(K, 64, 4), B(K, 8, 32))},
         GLINFER_STATUS_BAD_FILE,
         "the ranks of " K " are 4 and 8"},
        {{TENSORS(A(K, 64, 2048), B(K, 2048, 32))}, GLINFER_STATUS_BAD_FILE, "at most 1024"},
        {{TENSORS(A(K, 48, 4), B(K, 4, 32))},
         GLINFER_STATUS_BAD_FILE,
         "made for another model: its " K " has 48 columns and 32 rows"},
        {{TENSORS(A(K, 64, 4), B(K, 4, 64))},
         GLINFER_STATUS_BAD_FILE,
         "64 columns and 64 rows, that of"},
        {{PAIR_K, .architecture = "qwen3"},
         GLINFER_STATUS_BAD_FILE,
         "made for models of \"qwen3\""},
        {{TENSORS(A("blk.9.attn_k.weight", 64, 4), B("blk.9.attn_k.weight", 4, 32))},
         GLINFER_STATUS_BAD_FILE,
         "it changes blk.9.attn_k.weight, which the model lacks"},
        {{TENSORS(A("token_embd.weight", 64, 4), B("token_embd.weight", 4, 320))},
         GLINFER_STATUS_UNSUPPORTED,
         "the adapter changes token_embd.weight; adapters may change"},
        {{TENSORS({K ".lora_a", 64, 4, 2}, {K ".lora_b", 4, 32, 2})},
         GLINFER_STATUS_UNSUPPORTED,
         "changes the experts " K},
        {{TENSORS({K, 64, 32, 0})}, GLINFER_STATUS_UNSUPPORTED, K " is not a matrix of an adapter"},
        {{TENSORS({"blk.0.attn_norm.weight", 64, 1, 0})},
         GLINFER_STATUS_BAD_FILE,
         "has no matrices"},
        {{PAIR_K, .type = "model"}, GLINFER_STATUS_BAD_FILE, "the file is not an adapter"},
        {{PAIR_K, .kind = "ia3"}, GLINFER_STATUS_UNSUPPORTED, "is not of type \"lora\""},
        {{PAIR_K, .has_tokens = true}, GLINFER_STATUS_UNSUPPORTED, "aLoRA"},
        {{PAIR_K, .number = GI_GGML_TYPE_F64}, GLINFER_STATUS_UNSUPPORTED, "are of types f64"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        uint32_t rank = 0;
        assert_false(plan(&cases[i].adapter, &rank, &err));
        assert_says(err.message, cases[i].says);
        assert_says(err.message, "test.lora: ");
        assert_int_equal(err.status, cases[i].status);
    }
}

// The columns of several adapters follow each other, and so do their scales.
static void several_adapters_share_a_rank(void **state)
{
    static const struct adapter adapter = {PAIR_K};
    size_t size;
    uint8_t *file = write_adapter(&adapter, &size);
    const struct glinfer_source *source = GI_SOURCE_MEMORY(file, size, "test.lora");
    const struct glinfer_source *sources[GI_MAX_ADAPTERS + 1];
    struct gi_adapter_set set;
    struct glinfer_error err;
    (void)state;
    for (uint32_t i = 0; i < GI_MAX_ADAPTERS + 1; i++) {
        sources[i] = source;
    }
    must(gi_adapter_set_open(&set, NULL, sources, 3, &err), &err);
    assert_int_equal(set.rank, 20);
    assert_int_equal(set.adapters[2].begin, 12);
    gi_adapter_set_close(&set);
    assert_false(gi_adapter_set_open(&set, NULL, sources, GI_MAX_ADAPTERS + 1, &err));
    assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
    free(file);
}

// Each adapter of tests/data/peft changes matrices that the engine can adapt, in all families.
static void adapters_of_peft_are_planned(void **state)
{
    static const char *const names[] = {
        "smollm2", "smollm3", "qwen2",          "qwen3",      "qwen35", "gemma2",  "gemma3",
        "gemma4",  "granite", "granite4_dense", "phi3_short", "olmo2",  "gpt_oss", "lfm2"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char file[128], path[300];
        struct glinfer_error err;
        struct gi_adapter_set set;
        struct gi_model_plan plan;
        snprintf(file, sizeof(file), "data/folders/%s", names[i]);
        struct gi_gguf *model = gi_hf_open_source(GI_SOURCE_PATH(test_data(file)), &err);
        must(model, &err);
        snprintf(file, sizeof(file), "data/peft/%s", names[i]);
        snprintf(path, sizeof(path), "%s", test_data(file));
        const struct glinfer_source *source = GI_SOURCE_PATH(path);
        must(gi_adapter_set_open(&set, model, &source, 1, &err), &err);
        must(gi_model_plan_init(&plan, model, NULL, &limits, &set, &err), &err);
        assert_int_equal(plan.hparams.adapter_rank, 4);
        gi_model_plan_finish(&plan);
        gi_adapter_set_close(&set);
        gi_gguf_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_adapters),
        cmocka_unit_test(refused_adapters),
        cmocka_unit_test(several_adapters_share_a_rank),
        cmocka_unit_test(adapters_of_peft_are_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
