// Tests folders of Hugging Face: the head that they become, and the bytes of its tensors.
#include "hf/folder/hf_folder.h"
#include "hf/hf_build.h"
#include "quant/quant.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wrap.h"

#define GGUF __attribute__((cleanup(close_at))) struct gi_gguf
static void close_at(struct gi_gguf **gguf)
{
    gi_gguf_close(*gguf);
}

// Folders of the tests have no tokenizer.
WRAP(bool, gi_hf_add_tokenizer, struct gi_hf_build *b, const char *folder)
{
    (void)b, (void)folder;
    return true;
}

//-- folders ---------------------------------------------------------------------------------------

enum { N_EMBD = 64, N_HEAD = 4, N_KV = 2, N_FF = 96, N_VOCAB = 1056, ROWS_KV = 32 };

struct tensor {
    const char *name;
    const char *type;
    uint32_t dims[2]; // the second 0: a vector
};

static const struct tensor llama[] = {
    {"model.embed_tokens.weight", "BF16", {N_VOCAB, N_EMBD}},
    {"model.norm.weight", "BF16", {N_EMBD}},
    {"lm_head.weight", "F16", {N_VOCAB, N_EMBD}},
    {"model.layers.0.input_layernorm.weight", "F16", {N_EMBD}},
    {"model.layers.0.post_attention_layernorm.weight", "F32", {N_EMBD}},
    {"model.layers.0.self_attn.q_proj.weight", "BF16", {N_EMBD, N_EMBD}},
    {"model.layers.0.self_attn.q_proj.bias", "F32", {N_EMBD}},
    {"model.layers.0.self_attn.k_proj.weight", "F32", {ROWS_KV, N_EMBD}},
    {"model.layers.0.self_attn.v_proj.weight", "BF16", {ROWS_KV, N_EMBD}},
    {"model.layers.0.self_attn.o_proj.weight", "BF16", {N_EMBD, N_EMBD}},
    {"model.layers.0.mlp.gate_proj.weight", "BF16", {N_FF, N_EMBD}},
    {"model.layers.0.mlp.up_proj.weight", "BF16", {N_FF, N_EMBD}},
    {"model.layers.0.mlp.down_proj.weight", "BF16", {N_EMBD, N_FF}},
    {"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {8}},
};
enum { N_LLAMA = sizeof(llama) / sizeof(llama[0]) };

static const char config[] =
    "{\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"],\"num_hidden_layers\":1,"
    "\"hidden_size\":64,\"intermediate_size\":96,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"max_position_embeddings\":128,\"vocab_size\":1056,"
    "\"rms_norm_eps\":1e-5,\"rope_theta\":5000,\"rope_scaling\":{\"rope_type\":\"llama3\","
    "\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
    "\"original_max_position_embeddings\":64}}";

// Element i of every tensor; all types have it exactly.
static float value_at(size_t i)
{
    return (float)((int)(i * 7 % 61) - 30) / 16.0f;
}

static void write_value(FILE *file, const char *type, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const uint16_t half = strcmp(type, "F16") == 0 ? gi_float_to_half(value) : bits >> 16;
    if (strcmp(type, "F32") == 0) {
        fwrite(&bits, 4, 1, file);
    } else {
        fwrite(&half, strcmp(type, "F8_E4M3") == 0 ? 1 : 2, 1, file);
    }
}

static size_t count(const struct tensor *t)
{
    return (size_t)t->dims[0] * (t->dims[1] ? t->dims[1] : 1);
}

static void write_tensors(const char *name, const struct tensor *tensors, size_t n)
{
    char header[4096] = "{", dims[64];
    size_t used = 1, at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tensor *t = &tensors[i];
        const size_t size = count(t) * (strcmp(t->type, "F32") == 0       ? 4
                                        : strcmp(t->type, "F8_E4M3") == 0 ? 1
                                                                          : 2);
        snprintf(dims, sizeof(dims), t->dims[1] ? "%u,%u" : "%u", t->dims[0], t->dims[1]);
        used += (size_t)snprintf(
            header + used, sizeof(header) - used,
            "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
            i > 0 ? "," : "", t->name, t->type, dims, at, at + size);
        at += size;
    }
    header[used++] = '}';
    FILE *file = fopen(temp_path(name), "wb");
    assert_non_null(file);
    const uint64_t length = used;
    fwrite(&length, sizeof(length), 1, file);
    fwrite(header, 1, used, file);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < count(&tensors[i]); j++) {
            write_value(file, tensors[i].type, value_at(j));
        }
    }
    assert_int_equal(fclose(file), 0);
}

static void write_text(const char *name, const char *text)
{
    write_file(temp_path(name), text, strlen(text));
}

static void write_llama(void)
{
    write_text("config.json", config);
    write_tensors("model.safetensors", llama, N_LLAMA);
}

static const struct gi_gguf_tensor *find(const struct gi_gguf *gguf, const char *name)
{
    const struct gi_gguf_tensor *t = gi_gguf_tensor_find(gguf, name);
    if (!t) {
        fail_msg("no tensor %s", name);
    }
    return t;
}

// Reads a whole tensor, which the caller frees.
static uint8_t *read_all(const struct gi_gguf *gguf, const struct gi_gguf_tensor *t)
{
    uint8_t *bytes = malloc((size_t)t->size);
    assert_non_null(bytes);
    must_do(gi_gguf_tensor_read(gguf, t, 0, (size_t)t->size, bytes, &err));
    return bytes;
}

//-- head ------------------------------------------------------------------------------------------

TEST(a_folder_has_the_pairs_of_its_gguf_file)
{
    static const struct {
        const char *key;
        uint32_t value;
    } cases[] = {
        {"llama.block_count", 1},           {"llama.context_length", 128},
        {"llama.embedding_length", N_EMBD}, {"llama.feed_forward_length", N_FF},
        {"llama.vocab_size", N_VOCAB},      {"llama.attention.head_count", N_HEAD},
        {"llama.rope.dimension_count", 16}, {"llama.attention.head_count_kv", N_KV},
        {"general.file_type", 32},
    };
    float base;
    write_llama();
    GGUF *gguf = must_do(gi_hf_open(temp_folder, "none", &err));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t value;
        must_do(gi_gguf_get_u32(gguf, cases[i].key, 0, &value, &err));
        assert_int_equal(value, cases[i].value);
    }
    must_do(gi_gguf_get_f32(gguf, "llama.rope.freq_base", 0, &base, &err));
    assert_true(base == 5000.0f);
    assert_int_equal(find(gguf, "rope_freqs.weight")->n_elements, 8);
}

TEST(matrices_keep_their_types_or_take_the_asked_one)
{
    static const struct {
        const char *name;
        uint32_t kept, q8_0;
    } cases[] = {
        {"token_embd.weight", GI_GGML_TYPE_BF16, GI_GGML_TYPE_Q8_0},
        {"output.weight", GI_GGML_TYPE_F16, GI_GGML_TYPE_Q8_0},
        {"blk.0.attn_norm.weight", GI_GGML_TYPE_F32, GI_GGML_TYPE_F32},
        {"blk.0.attn_q.bias", GI_GGML_TYPE_F32, GI_GGML_TYPE_F32},
        {"blk.0.attn_q.weight", GI_GGML_TYPE_BF16, GI_GGML_TYPE_BF16}, // a small one
        {"blk.0.attn_k.weight", GI_GGML_TYPE_F32, GI_GGML_TYPE_F32},
    };
    write_llama();
    GGUF *kept = must_do(gi_hf_open(temp_folder, "none", &err));
    GGUF *q8_0 = must_do(gi_hf_open(temp_folder, NULL, &err));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(find(kept, cases[i].name)->type->type, cases[i].kept);
        assert_int_equal(find(q8_0, cases[i].name)->type->type, cases[i].q8_0);
    }
}

//-- tensors ---------------------------------------------------------------------------------------

TEST(rows_of_heads_are_reordered_for_rotary_pairs)
{
    enum { HEAD = N_EMBD / N_HEAD };
    write_llama();
    GGUF *gguf = must_do(gi_hf_open(temp_folder, "none", &err));
    float *bias = (float *)read_all(gguf, find(gguf, "blk.0.attn_q.bias"));
    float *k = (float *)read_all(gguf, find(gguf, "blk.0.attn_k.weight"));
    for (size_t row = 0; row < N_EMBD; row++) {
        const size_t r = row % HEAD, from = row - r + r % 2 * (HEAD / 2) + r / 2;
        assert_true(bias[row] == value_at(from));
        for (size_t i = 0; row < ROWS_KV && i < N_EMBD; i++) {
            assert_true(k[row * N_EMBD + i] == value_at(from * N_EMBD + i));
        }
    }
    free(bias);
    free(k);
}

TEST(vectors_become_f32)
{
    static const char *const names[] = {"output_norm.weight", "blk.0.attn_norm.weight",
                                        "blk.0.ffn_norm.weight"};
    write_llama();
    GGUF *gguf = must_do(gi_hf_open(temp_folder, "none", &err));
    for (size_t i = 0; i < 3; i++) {
        float *values = (float *)read_all(gguf, find(gguf, names[i]));
        for (size_t j = 0; j < N_EMBD; j++) {
            assert_true(values[j] == value_at(j));
        }
        free(values);
    }
}

TEST(large_matrices_are_quantised)
{
    static const char *const names[] = {"q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "f16", "bf16"};
    static const float steps[] = {0.01f, 0.07f, 0.13f, 0.14f, 0.26f, 0.0f, 0.0f};
    write_llama();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        float row[N_EMBD];
        GGUF *gguf = must_do(gi_hf_open(temp_folder, names[i], &err));
        const struct gi_gguf_tensor *t = find(gguf, "output.weight");
        assert_string_equal(t->type->name, names[i]);
        uint8_t *bytes = read_all(gguf, t);
        const size_t row_size = (size_t)t->size / N_VOCAB, last = N_VOCAB - 1;
        gi_quant_dequantize_row(gi_quant_find(t->type->type), bytes + last * row_size, N_EMBD, row);
        for (size_t j = 0; j < N_EMBD; j++) {
            assert_float_equal(row[j], value_at(last * N_EMBD + j), steps[i]);
        }
        free(bytes);
    }
}

TEST(bytes_of_any_range_are_those_of_the_whole)
{
    static const char *const names[] = {"output.weight", "blk.0.attn_q.weight", "blk.0.attn_q.bias",
                                        "rope_freqs.weight"};
    write_llama();
    GGUF *gguf = must_do(gi_hf_open(temp_folder, "q4_0", &err));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct gi_gguf_tensor *t = find(gguf, names[i]);
        uint8_t *whole = read_all(gguf, t), some[700];
        for (uint64_t begin = 0; begin < t->size; begin += t->size / 7 + 1) {
            for (size_t size = 1; size < sizeof(some) && begin + size <= t->size; size += 37) {
                must_do(gi_gguf_tensor_read(gguf, t, begin, size, some, &err));
                assert_memory_equal(some, whole + begin, size);
            }
        }
        free(whole);
    }
}

//-- what is refused -------------------------------------------------------------------------------

TEST(wrong_configurations_are_refused)
{
    static const struct {
        const char *config, *says;
        enum glinfer_status status;
    } cases[] = {
        {"[]", "config.json: not a JSON object", GLINFER_STATUS_BAD_FILE},
        {"{", "config.json: invalid JSON", GLINFER_STATUS_BAD_FILE},
        {"version https://git-lfs.github.com/spec/v1\noid", "config.json: is a pointer of Git LFS",
         GLINFER_STATUS_BAD_FILE},
        {"{\"model_type\":\"llama\",\"model_type\":\"qwen2\"}",
         "has two values of model_type:", GLINFER_STATUS_BAD_FILE},
        {"{\"model_type\":\"llama\",\"rope_scaling\":{\"factor\":1,\"factor\":2}}",
         "has two values of factor:", GLINFER_STATUS_BAD_FILE},
        {"{}", "config.json has no \"model_type\"", GLINFER_STATUS_UNSUPPORTED},
        {"{\"model_type\":\"llama\",\"hidden_act\":\"relu\"}", "hidden_act is \"relu\", only silu",
         GLINFER_STATUS_UNSUPPORTED},
        {"{\"model_type\":\"t5\"}",
         "model_type \"t5\" (), is not supported in folders, but may be in GGUF files",
         GLINFER_STATUS_UNSUPPORTED},
        {"{\"model_type\":\"llama\"}", "config.json: the key num_attention_heads is missing",
         GLINFER_STATUS_BAD_FILE},
        {"{\"model_type\":\"llama\",\"num_attention_heads\":-1}",
         "the key num_attention_heads is invalid", GLINFER_STATUS_BAD_FILE},
        {"{\"model_type\":\"llama\",\"quantization_config\":{\"quant_method\":\"gptq\"}}",
         "quantised by \"gptq\"", GLINFER_STATUS_UNSUPPORTED},
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":4294967295,\"hidden_size\":64,"
         "\"intermediate_size\":96,\"num_attention_heads\":4,\"vocab_size\":1056,"
         "\"max_position_embeddings\":128}",
         "num_hidden_layers is 4294967295", GLINFER_STATUS_BAD_FILE},
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":1,\"hidden_size\":64,"
         "\"intermediate_size\":96,\"num_attention_heads\":4,\"vocab_size\":1056,"
         "\"max_position_embeddings\":128,\"rope_scaling\":{\"type\":\"ntk\"}}",
         "RoPE scaling \"ntk\"", GLINFER_STATUS_UNSUPPORTED},
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":1,\"hidden_size\":64,"
         "\"intermediate_size\":96,\"num_attention_heads\":3,\"vocab_size\":1056,"
         "\"max_position_embeddings\":128}",
         "expected those of 3 heads", GLINFER_STATUS_BAD_FILE},
    };
    write_llama();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        write_text("config.json", cases[i].config);
        assert_null(gi_hf_open(temp_folder, NULL, &err));
        assert_says(err.message, cases[i].says);
        assert_int_equal(err.status, cases[i].status);
    }
}

TEST(wrong_tensors_are_refused)
{
    static const struct {
        struct tensor tensor;
        const char *says;
    } cases[] = {
        {{"model.layers.0.new.weight", "F32", {4}}, "the tensor model.layers.0.new.weight is unkn"},
        {{"model.layers.0.mlp.up_proj.bias", "F8_E4M3", {4}}, "has type F8_E4M3"},
        {{"model.layers.0.mlp.up_proj.bias", "I16", {4}}, "has type I16, expected BF16"},
        {{"norm.weight", "F32", {4}}, "are the same one of a model"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        struct tensor tensors[N_LLAMA + 1];
        memcpy(tensors, llama, sizeof(llama));
        tensors[N_LLAMA] = cases[i].tensor;
        write_text("config.json", config);
        write_tensors("model.safetensors", tensors, N_LLAMA + 1);
        assert_null(gi_hf_open(temp_folder, NULL, &err));
        assert_says(err.message, cases[i].says);
    }
    must_fail(gi_hf_open(temp_folder, "q3_k", &err), INVALID_ARGUMENT,
              "invalid type of weights \"q3_k\"");
}

TEST(folders_of_other_formats_are_named)
{
    static const struct {
        const char *file, *says;
    } cases[] = {
        {"model.gguf", "is a folder of GGUF files: name the file (it has model.gguf)"},
        {"adapter_model.safetensors", "is a LoRA adapter without adapter_config.json"},
        {"consolidated.00.safetensors", "is a folder of Mistral's own format"},
        {"weights.npz", "is a folder of NumPy arrays"},
        {"model.onnx", "is a folder of ONNX files"},
        {"onnx", "is a folder of ONNX files"},
        {"pytorch_model-00001-of-00002.bin", "is a folder of PyTorch files"},
        {"adapter_config.json", "is a LoRA adapter"},
    };
    must_fail(gi_hf_open(temp_folder, NULL, &err), NOT_FOUND, "is a folder without config.json");
    must_fail(gi_hf_open("/nonexistent", NULL, &err), NOT_FOUND, "/nonexistent");
    write_text("config.json", config);
    must_fail(gi_hf_open(temp_folder, NULL, &err), NOT_FOUND, "but no model.safetensors");
    write_text("weights.safetensors", "");
    must_fail(gi_hf_open(temp_folder, NULL, &err), NOT_FOUND, "and weights.safetensors, but no");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_text(cases[i].file, "");
        must_fail(gi_hf_open(temp_folder, NULL, &err), UNSUPPORTED, cases[i].says);
        remove(temp_path(cases[i].file));
    }
}

TEST(folders_survive_every_failed_allocation)
{
    struct gi_gguf *gguf = NULL;
    long n_failed = 0;
    write_llama();
    for (; !gguf && n_failed < 1000; n_failed++) {
        struct glinfer_error err = {0};
        fail_allocations_after(n_failed);
        gguf = gi_hf_open(temp_folder, NULL, &err);
        fail_allocations_after(-1);
        assert_true(gguf || err.status == GLINFER_STATUS_NO_MEMORY);
    }
    assert_in_range(n_failed, 20, 999);
    const struct gi_gguf_tensor *t = find(gguf, "output.weight");
    bool is_read = false;
    for (n_failed = 0; !is_read && n_failed < 20; n_failed++) {
        struct glinfer_error err = {0};
        uint8_t some[700];
        fail_allocations_after(n_failed);
        is_read = gi_gguf_tensor_read(gguf, t, 33, sizeof(some), some, &err);
        fail_allocations_after(-1);
        assert_true(is_read || err.status == GLINFER_STATUS_NO_MEMORY);
    }
    assert_in_range(n_failed, 3, 19);
    gi_gguf_close(gguf);
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
