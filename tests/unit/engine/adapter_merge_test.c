// Adapters that are merged into the tensors of a model, of all types, and those that are refused.
#include "engine/model/adapter/adapter_merge.h"
#include "gguf/gguf_writer.h"
#include "quant/quant.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_COLS = 64, N_ROWS = 70, RANK = 3 };

#define NAME "blk.0.attn_k.weight"

// Gives the bytes of each tensor, one after another.
struct contents {
    const void *tensors[3];
};

static bool read_contents(void *user, size_t tensor, uint64_t offset, size_t size, void *out,
                          struct glinfer_error *err)
{
    const struct contents *contents = user;
    (void)err;
    memcpy(out, (const uint8_t *)contents->tensors[tensor] + offset, size);
    return true;
}

static float sample(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1;
}

static void add_text(struct gi_gguf_writer *w, const char *key, const char *text)
{
    gi_gguf_add_string(w, key, text, strlen(text));
}

static struct gi_gguf *compose(struct gi_gguf_writer *w, struct contents *contents)
{
    const struct gi_gguf_tensor_reader reader = {.user = contents, .read = read_contents};
    struct glinfer_error err;
    add_text(w, "general.architecture", "llama");
    struct gi_gguf *gguf = gi_gguf_compose(w, "composed", &reader, &err);
    must(gguf, &err);
    gi_gguf_writer_finish(w);
    return gguf;
}

static struct gi_gguf *compose_model(struct contents *contents, const char *name,
                                     enum gi_ggml_type type, uint64_t n_rows)
{
    struct gi_gguf_writer w = {0};
    gi_gguf_add_tensor(&w, name, type, 2, (const uint64_t[4]){N_COLS, n_rows, 1, 1});
    return compose(&w, contents);
}

// Makes a set of one adapter of alpha 6 as gi_adapter_set_open does.
static struct gi_adapter_set compose_set(struct contents *contents, const char *name)
{
    struct gi_adapter_set set = {.n = 1, .rank = 4};
    struct gi_adapter *adapter = &set.adapters[0];
    struct gi_gguf_writer w = {0};
    char part[64];
    snprintf(part, sizeof(part), "%s.lora_a", name);
    gi_gguf_add_tensor(&w, part, GI_GGML_TYPE_F32, 2, (const uint64_t[4]){N_COLS, RANK, 1, 1});
    snprintf(part, sizeof(part), "%s.lora_b", name);
    gi_gguf_add_tensor(&w, part, GI_GGML_TYPE_F32, 2, (const uint64_t[4]){RANK, N_ROWS, 1, 1});
    *adapter = (struct gi_adapter){.gguf = compose(&w, contents), .alpha = 6, .rank = RANK};
    adapter->pairs = calloc(1, sizeof(adapter->pairs[0]));
    assert_non_null(adapter->pairs);
    adapter->n_pairs = 1;
    const struct gi_gguf_tensor *a = gi_gguf_tensor_at(adapter->gguf, 0);
    adapter->pairs[0] = (struct gi_adapter_pair){
        .base = {a->name.data, strlen(name)}, .a = a, .b = gi_gguf_tensor_at(adapter->gguf, 1)};
    return set;
}

static void check_type(enum gi_ggml_type type)
{
    const struct gi_quant *quant = gi_quant_find(type);
    static float w[N_ROWS * N_COLS], a[RANK * N_COLS], b[N_ROWS * RANK];
    static uint8_t base[sizeof(w)], expected[sizeof(w)], found[sizeof(w)];
    struct contents model_data = {{base}}, adapter_data = {{a, b}};
    struct gi_gguf *model = compose_model(&model_data, NAME, type, N_ROWS);
    struct gi_adapter_set set = compose_set(&adapter_data, NAME);
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_at(model, 0);
    const size_t size = (size_t)tensor->size, row_size = size / N_ROWS;
    uint32_t state = type + 1;
    struct glinfer_error err;
    for (size_t i = 0; i < RANK * N_COLS; i++) {
        a[i] = sample(&state);
    }
    for (size_t i = 0; i < N_ROWS * RANK; i++) {
        b[i] = sample(&state);
    }
    for (size_t row = 0; row < N_ROWS; row++) {
        for (size_t i = 0; i < N_COLS; i++) {
            w[i] = sample(&state);
        }
        gi_quant_quantize_row(type, w, N_COLS, base + row * row_size);
        gi_quant_dequantize_row(quant, base + row * row_size, N_COLS, w);
        for (size_t i = 0; i < N_COLS; i++) {
            for (size_t j = 0; j < RANK; j++) { // -0.5 * 6 / 3
                w[i] += b[row * RANK + j] * -1.0f * a[j * N_COLS + i];
            }
        }
        gi_quant_quantize_row(type, w, N_COLS, expected + row * row_size);
    }
    must(gi_adapter_merge(&set, model, -0.5f, &err), &err);
    assert_int_equal(set.n, 0);
    must(gi_gguf_tensor_read(model, tensor, 0, size, found, &err), &err);
    assert_memory_equal(found, expected, size);
    assert_memory_not_equal(found, base, size);
    for (size_t at = 1, n = 1; at + n < size; at += n, n = n * 3 + 1) {
        must(gi_gguf_tensor_read(model, tensor, at, n, found, &err), &err);
        assert_memory_equal(found, expected + at, n);
    }
    gi_gguf_close(model);
}

// The product is added to dequantised weights, and the sum is quantised, for any range of bytes.
TEST(a_merged_adapter_changes_what_is_read)
{
    static const enum gi_ggml_type types[] = {
        GI_GGML_TYPE_F32,  GI_GGML_TYPE_F16,  GI_GGML_TYPE_BF16, GI_GGML_TYPE_Q8_0,
        GI_GGML_TYPE_Q5_1, GI_GGML_TYPE_Q5_0, GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q4_0};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        check_type(types[i]);
    }
}

TEST(an_alpha_that_is_too_large_is_that_of_the_adapter)
{
    static float w[N_ROWS * N_COLS], a[RANK * N_COLS], b[N_ROWS * RANK];
    struct contents model_data = {{(uint8_t *)w}}, adapter_data = {{a, b}};
    struct gi_gguf *model = compose_model(&model_data, NAME, GI_GGML_TYPE_F32, N_ROWS);
    struct gi_adapter_set set = compose_set(&adapter_data, NAME);
    struct glinfer_error err;
    b[5] = 1;
    set.adapters[0].alpha = 1e30f;
    must(gi_adapter_merge(&set, model, 1, &err), &err);
    assert_false(gi_gguf_tensor_read(model, gi_gguf_tensor_at(model, 0), 0, sizeof(w), w, &err));
    assert_says(err.message, "alpha makes a value of " NAME ".lora_b too large");
    gi_gguf_close(model);
}

TEST(tensors_that_cannot_be_changed_are_refused)
{
    static const struct {
        const char *name, *adapted;
        enum gi_ggml_type type;
        uint64_t n_rows;
        enum glinfer_status status;
        const char *says;
    } cases[] = {
        {NAME, NAME, GI_GGML_TYPE_IQ4_NL, N_ROWS, GLINFER_STATUS_UNSUPPORTED,
         "cannot merge the adapter into " NAME ", whose type iq4_nl"},
        {NAME, NAME, GI_GGML_TYPE_F32, 71, GLINFER_STATUS_BAD_FILE, "64 and 71"},
        {NAME, "blk.1.attn_k.weight", GI_GGML_TYPE_F32, N_ROWS, GLINFER_STATUS_BAD_FILE,
         "which the model lacks"},
        {"token_embd.weight", "token_embd.weight", GI_GGML_TYPE_F32, N_ROWS,
         GLINFER_STATUS_UNSUPPORTED, "changes token_embd.weight; adapters may"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct contents none = {{NULL}};
        struct gi_gguf *model = compose_model(&none, cases[i].name, cases[i].type, cases[i].n_rows);
        struct gi_adapter_set set = compose_set(&none, cases[i].adapted);
        struct glinfer_error err = {0};
        assert_false(gi_adapter_merge(&set, model, 1, &err));
        assert_says(err.message, cases[i].says);
        assert_int_equal(err.status, cases[i].status);
        assert_int_equal(set.n, 1);
        gi_adapter_set_close(&set);
        gi_gguf_close(model);
    }
}

RUN_TESTS(NULL, NULL)
