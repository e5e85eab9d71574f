// Tests LoRA adapters of PEFT: sound ones, opened as GGUF files, and refused ones.
#include "hf/folder/hf_adapter.h"
#include "tests/data/test_data.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/temp_folder.h"

static struct gi_gguf *open_file(const char *name)
{
    char path[64];
    struct glinfer_error err;
    snprintf(path, sizeof(path), "data/models/%s", name);
    struct gi_gguf *gguf = gi_gguf_open(GI_SOURCE_PATH(test_data(path)), &err);
    must(gguf, &err);
    return gguf;
}

static void read_tensor(const struct gi_gguf *gguf, const char *name, float *values, size_t n)
{
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_find(gguf, name);
    struct glinfer_error err;
    assert_non_null(tensor);
    assert_int_equal(tensor->size, n * sizeof(*values));
    must(gi_gguf_tensor_read(gguf, tensor, 0, (size_t)tensor->size, values, &err), &err);
}

// The folder was made from a GGUF file, whose tensors it gives back.
TEST(a_folder_is_the_file_that_it_was_made_from)
{
    static float ours[64 * 16], theirs[64 * 16];
    static const char *const names[] = {"blk.1.attn_q.weight.lora_a", "blk.1.attn_q.weight.lora_b",
                                        "blk.1.attn_output.weight.lora_b"};
    struct gi_gguf *model = open_file("tiny-q4_0.gguf"), *file = open_file("tiny-q4_0-16.lora");
    struct glinfer_error err;
    struct gi_gguf *folder = gi_hf_open_adapter(test_data("data/peft/tiny-q4_0-16"), model, &err);
    float alpha;
    must(folder, &err);
    assert_int_equal(gi_gguf_tensor_count(folder), gi_gguf_tensor_count(file));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        read_tensor(folder, names[i], ours, 64 * 16);
        read_tensor(file, names[i], theirs, 64 * 16);
        assert_memory_equal(ours, theirs, sizeof(ours));
    }
    must(gi_gguf_get_f32(folder, "adapter.lora.alpha", 0, &alpha, &err), &err);
    assert_true(alpha == 8); // 2 sqrt(16), of use_rslora
    gi_gguf_close(folder);
    gi_gguf_close(file);
    gi_gguf_close(model);
}

#define LORA "{\"peft_type\": \"LORA\", \"r\": 1, \"lora_alpha\": 2"

TEST(missing_files_are_named)
{
    struct gi_gguf *model = open_file("tiny-f32.gguf");
    struct glinfer_error err = {0};
    remove(temp_path("adapter_config.json"));
    remove(temp_path("adapter_model.safetensors"));
    assert_null(gi_hf_open_adapter(temp_folder, model, &err));
    assert_says(err.message, "a whole model is given with -m");
    assert_int_equal(err.status, GLINFER_STATUS_NOT_FOUND);
    write_file(temp_path("adapter_config.json"), LORA "}", strlen(LORA "}"));
    assert_null(gi_hf_open_adapter(temp_folder, model, &err));
    assert_says(err.message, "save the adapter as SafeTensors");
    assert_int_equal(err.status, GLINFER_STATUS_NOT_FOUND);
    write_file(temp_path("adapters.safetensors"), "", 0);
    assert_null(gi_hf_open_adapter(temp_folder, model, &err));
    assert_says(err.message, "adapters of MLX are not supported; mlx_lm.fuse");
    remove(temp_path("adapters.safetensors"));
    gi_gguf_close(model);
}

TEST(wrong_configurations_are_refused)
{
    static const struct {
        const char *model, *config;
        enum glinfer_status status;
        const char *says;
    } cases[] = {
        {"tiny-falcon_h1.gguf", LORA "}", GLINFER_STATUS_UNSUPPORTED, "models of \"falcon-h1\""},
        {"tiny-f32.gguf", "{}", GLINFER_STATUS_BAD_FILE,
         "peft_type of adapter_config.json is missing"},
        {"tiny-f32.gguf", "[]", GLINFER_STATUS_BAD_FILE, "adapter_config.json: not a JSON object"},
        {"tiny-f32.gguf", "{\"peft_type\": \"IA3\"}", GLINFER_STATUS_UNSUPPORTED, "\"IA3\""},
        {"tiny-f32.gguf", "{\"peft_type\": \"LORA\"}", GLINFER_STATUS_BAD_FILE, "r of"},
        {"tiny-f32.gguf", "{\"peft_type\": \"LORA\", \"r\": 0}", GLINFER_STATUS_BAD_FILE, "r of"},
        {"tiny-f32.gguf", "{\"peft_type\": \"LORA\", \"r\": 8}", GLINFER_STATUS_BAD_FILE,
         "lora_alpha of"},
        {"tiny-f32.gguf", "{\"peft_type\": \"LORA\", \"r\": 8, \"lora_alpha\": 0}",
         GLINFER_STATUS_BAD_FILE, "lora_alpha of"},
        {"tiny-f32.gguf", LORA ", \"use_dora\": true}", GLINFER_STATUS_UNSUPPORTED,
         "use_dora of adapter_config.json is not supported; merge it with merge_and_unload of "
         "PEFT"},
        {"tiny-f32.gguf", LORA ", \"bias\": \"all\"}", GLINFER_STATUS_UNSUPPORTED, "bias of"},
        {"tiny-f32.gguf", LORA ", \"use_rslora\": \"yes\"}", GLINFER_STATUS_BAD_FILE,
         "use_rslora of"},
        {"tiny-f32.gguf", LORA ", \"layer_replication\": [[0, 1]]}", GLINFER_STATUS_UNSUPPORTED,
         "layer_replication of"},
        {"tiny-f32.gguf", LORA ", \"init_lora_weights\": \"pissa_niter_16\"}",
         GLINFER_STATUS_UNSUPPORTED, "\"pissa_niter_16\", which changes the base model"},
        {"tiny-f32.gguf", LORA ", \"rank_pattern\": [1]}", GLINFER_STATUS_BAD_FILE,
         "rank_pattern of adapter_config.json is not an object"},
        {"tiny-f32.gguf", LORA ", \"rank_pattern\": {\"q_proj\": 1.5}}", GLINFER_STATUS_BAD_FILE,
         "the number for \"q_proj\" in rank_pattern"},
        {"tiny-f32.gguf", LORA ", \"alpha_pattern\": {\"layers.[01]\": 1}}",
         GLINFER_STATUS_UNSUPPORTED, "the expression \"layers.[01]\" in alpha_pattern"},
        {"tiny-f32.gguf", "{\"peft_type\": ", GLINFER_STATUS_BAD_FILE, "adapter_config.json"},
    };
    write_file(temp_path("adapter_model.safetensors"), "", 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        struct gi_gguf *model = open_file(cases[i].model);
        write_file(temp_path("adapter_config.json"), cases[i].config, strlen(cases[i].config));
        assert_null(gi_hf_open_adapter(temp_folder, model, &err));
        assert_says(err.message, cases[i].says);
        assert_int_equal(err.status, cases[i].status);
        gi_gguf_close(model);
    }
}

// Writes adapter_model.safetensors: a header and data_size zeros.
static void write_tensors(const char *header, size_t data_size)
{
    static const uint8_t zeros[64];
    const uint64_t n = strlen(header);
    FILE *file = fopen(temp_path("adapter_model.safetensors"), "wb");
    assert_non_null(file);
    assert_in_range(data_size, 1, sizeof(zeros));
    fwrite(&n, sizeof(n), 1, file);
    fwrite(header, 1, (size_t)n, file);
    fwrite(zeros, 1, data_size, file);
    assert_int_equal(fclose(file), 0);
}

#define F16(name, shape, begin, end)                                                               \
    "\"" name "\":{\"dtype\":\"F16\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"
#define LAYER "base_model.model.model.layers.0."

TEST(wrong_tensors_are_refused)
{
    static const struct {
        const char *tensors;
        size_t data_size;
        enum glinfer_status status;
        const char *says;
    } cases[] = {
        {F16("lm_head.lora_A.weight", "[1,4]", "0", "8"), 8, GLINFER_STATUS_UNSUPPORTED,
         "cannot use tensor lm_head.lora_A.weight"},
        {F16(LAYER "self_attn.x_proj.lora_A.weight", "[1,4]", "0", "8"), 8,
         GLINFER_STATUS_UNSUPPORTED, "cannot use tensor"},
        {F16("layers.x.self_attn.q_proj.lora_A.weight", "[1,4]", "0", "8"), 8,
         GLINFER_STATUS_UNSUPPORTED, "cannot use tensor"},
        {F16(LAYER "self_attn.q_proj.lora_A.weight", "[4]", "0", "8"), 8,
         GLINFER_STATUS_UNSUPPORTED, "cannot use tensor"},
        {"\"" LAYER "mlp.up_proj.lora_A.weight\":{\"dtype\":\"I8\",\"shape\":[1,4],"
         "\"data_offsets\":[0,4]}",
         4, GLINFER_STATUS_UNSUPPORTED, "by matrices of F32, F16 or BF16"},
        {F16(LAYER "self_attn.q_proj.lora_B.weight", "[3,1]", "0", "6"), 6, GLINFER_STATUS_BAD_FILE,
         "has 3 rows, expected those of"},
        {F16(LAYER "mlp.up_proj.lora_A.weight", "[1,4]", "0",
             "8") "," F16(LAYER "mlp.up_proj.lora_B.weight", "[4,2]", "8", "24"),
         24, GLINFER_STATUS_BAD_FILE,
         LAYER "mlp.up_proj.lora_B.weight has rank 2, but r of adapter_config.json is 1"},
        {F16(LAYER "mlp.down_proj.lora_A.weight", "[1,4]", "0", "8"), 8, GLINFER_STATUS_BAD_FILE,
         "down_proj.lora_A.weight has rank 1, but rank_pattern of adapter_config.json is 3"},
        {F16("layers.00.mlp.up_proj.lora_A.weight", "[1,4]", "0", "8"), 8,
         GLINFER_STATUS_UNSUPPORTED, "cannot use tensor"},
        {F16("layers.4294967296.mlp.up_proj.lora_A.weight", "[1,4]", "0", "8"), 8,
         GLINFER_STATUS_UNSUPPORTED, "cannot use tensor"},
    };
    const char *config = LORA ", \"rank_pattern\": {\"down_proj\": 3}}";
    struct gi_gguf *model = open_file("tiny-f32.gguf");
    write_file(temp_path("adapter_config.json"), config, strlen(config));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        char header[512];
        snprintf(header, sizeof(header), "{%s}", cases[i].tensors);
        write_tensors(header, cases[i].data_size);
        assert_null(gi_hf_open_adapter(temp_folder, model, &err));
        assert_says(err.message, cases[i].says);
        assert_int_equal(err.status, cases[i].status);
    }
    gi_gguf_close(model);
}

// Fills B (6 rows) of one module of an adapter whose elements are 1, the alpha that the engine
// divides, and the smallest and the largest alpha of the matrices.
static void read_scaled(const struct gi_gguf *model, const char *config, const char *module,
                        uint32_t rank, float b[6], float *alpha, float own[2])
{
    char header[512];
    uint16_t ones[24];
    struct glinfer_error err;
    write_file(temp_path("adapter_config.json"), config, strlen(config));
    const int n =
        snprintf(header, sizeof(header), "{" F16("%s.lora_B.weight", "[6,%u]", "0", "%u") "}",
                 module, rank, 12 * rank);
    for (size_t i = 0; i < 24; i++) {
        ones[i] = 0x3c00;
    }
    const uint64_t size = (uint64_t)n;
    FILE *file = fopen(temp_path("adapter_model.safetensors"), "wb");
    assert_non_null(file);
    fwrite(&size, sizeof(size), 1, file);
    fwrite(header, 1, (size_t)n, file);
    fwrite(ones, 12, rank, file);
    assert_int_equal(fclose(file), 0);
    struct gi_gguf *adapter = gi_hf_open_adapter(temp_folder, model, &err);
    must(adapter, &err);
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_at(adapter, 0);
    assert_int_equal(tensor->type->type, GI_GGML_TYPE_F32);
    must(gi_gguf_tensor_read(adapter, tensor, 0, 6 * sizeof(float), b, &err), &err);
    must(gi_gguf_get_f32(adapter, "adapter.lora.alpha", 0, alpha, &err), &err);
    must(gi_gguf_get_f32(adapter, GI_HF_MIN_ALPHA, 0, own, &err), &err);
    must(gi_gguf_get_f32(adapter, GI_HF_MAX_ALPHA, 0, own + 1, &err), &err);
    gi_gguf_close(adapter);
}

// The engine computes alpha / rank * B: PEFT alpha / rank or alpha / sqrt(rank) of the module.
TEST(patterns_give_ranks_and_scales_of_modules)
{
    static const struct {
        const char *config, *module;
        uint32_t rank;
        double factor;
    } cases[] = {
        {LORA ", \"alpha_pattern\": {\"up_proj\": 6}}", LAYER "mlp.up_proj", 1, 6},
        {LORA ", \"alpha_pattern\": {\"up_proj\": 6, \"mlp.up_proj\": 7}}", LAYER "mlp.up_proj", 1,
         6},
        {LORA ", \"alpha_pattern\": {\"p_proj\": 7, \"^layers.0.mlp.up_proj\": 7, "
              "\"^model\\\\.layers.0.mlp.up_proj\": -3}}",
         LAYER "mlp.up_proj", 1, -3},
        {LORA
         ", \"alpha_pattern\": {\"up_proj\": 6}, \"rank_pattern\": {\"layers.0.mlp.up_proj\": 3}}",
         LAYER "mlp.up_proj", 3, 2},
        {LORA ", \"use_rslora\": true, \"rank_pattern\": {\"up_proj\": 4}}", LAYER "mlp.up_proj", 4,
         1},
        {LORA ", \"alpha_pattern\": {\"q_proj\": 6}}", LAYER "self_attn.q_proj", 1, 6},
    };
    struct gi_gguf *model = open_file("tiny-f32.gguf");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        float b[6], alpha, own[2];
        read_scaled(model, cases[i].config, cases[i].module, cases[i].rank, b, &alpha, own);
        assert_float_equal(b[0] * alpha / (float)cases[i].rank, cases[i].factor, 1e-6);
        assert_true(b[5] == b[0]);
        assert_float_equal(own[0], cases[i].factor * cases[i].rank, 1e-6);
        assert_float_equal(own[1], cases[i].factor * cases[i].rank, 1e-6);
    }
    gi_gguf_close(model);
}

TEST(adapters_survive_every_failed_allocation)
{
    struct gi_gguf *model = open_file("tiny-q4_0.gguf"), *adapter = NULL;
    char path[300];
    long n_failed = 0;
    snprintf(path, sizeof(path), "%s", test_data("data/peft/tiny-q4_0-16"));
    for (; !adapter && n_failed < 400; n_failed++) {
        struct glinfer_error err = {0};
        fail_allocations_after(n_failed);
        adapter = gi_hf_open_adapter(path, model, &err);
        fail_allocations_after(-1);
        assert_true(adapter || err.status == GLINFER_STATUS_NO_MEMORY);
    }
    assert_in_range(n_failed, 10, 399);
    gi_gguf_close(adapter);
    gi_gguf_close(model);
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
