// Folders that MLX quantised: the types that their matrices become, and what is refused. Weights
// are tested by mlx_golden_test.c, models by tests/golden.
#include "hf/folder/hf_folder.h"
#include "hf/hf_build.h"
#include "quant/quant.h"
#include "tests/data/test_data.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wrap.h"

#include <math.h>

#define GGUF __attribute__((cleanup(close_at))) struct gi_gguf
static void close_at(struct gi_gguf **gguf)
{
    gi_gguf_close(*gguf);
}

// Tokenizers have tests of their own.
WRAP(bool, gi_hf_add_tokenizer, struct gi_hf_build *b, const char *folder)
{
    (void)b, (void)folder;
    return true;
}

// Writes a file of a folder of tests/data into the temporary folder, with all of a text replaced.
static void write_edited(const char *folder, const char *name, const char *text, const char *other)
{
    char file[128];
    size_t size;
    snprintf(file, sizeof(file), "data/folders/%s/%s", folder, name);
    char *bytes = read_file(test_data(file), &size);
    const size_t n = strlen(text);
    FILE *out = fopen(temp_path(name), "wb");
    assert_non_null(out);
    for (size_t i = 0; i < size;) {
        const bool is_text = n > 0 && size - i >= n && memcmp(bytes + i, text, n) == 0;
        if (is_text) {
            fputs(other, out);
        } else {
            fputc(bytes[i], out);
        }
        i += is_text ? n : 1;
    }
    assert_int_equal(fclose(out), 0);
    free(bytes);
}

TEST(formats_are_told_in_the_words_of_the_folder)
{
    static const struct {
        const char *folder, *format;
        uint32_t bits;
    } cases[] = {
        {"mlx_affine", "MLX affine, 4 bits, groups of 64; 8 of 9 matrices have others", 4},
        {"mlx_floats", "MLX mxfp4, 4 bits, groups of 32; 4 of 8 matrices have others", 0},
        {"mlx_experts", "MLX affine, 4 bits, groups of 32; 2 of 10 matrices have others", 4},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char file[128];
        struct gi_gguf_string format;
        uint32_t bits;
        snprintf(file, sizeof(file), "data/folders/%s", cases[i].folder);
        GGUF *gguf = must_do(gi_hf_open(test_data(file), "none", &err));
        must_do(gi_gguf_get_string(gguf, "glinfer.mlx.format", &format, &err));
        assert_int_equal(format.size, strlen(cases[i].format));
        assert_memory_equal(format.data, cases[i].format, format.size);
        must_do(gi_gguf_get_u32(gguf, "glinfer.mlx.bits", 0, &bits, &err));
        assert_int_equal(bits, cases[i].bits);
        GGUF *file_gguf = must_do(gi_hf_open_for_file(test_data(file), "none", &err));
        assert_false(gi_gguf_has(file_gguf, "glinfer.mlx.format"));
    }
}

TEST(matrices_become_types_that_have_their_weights)
{
    static const struct {
        const char *folder, *tensor, *type;
    } cases[] = {
        {"mlx_affine", "token_embd.weight", "q4_1"},
        {"mlx_affine", "blk.0.attn_q.weight", "q4_1"},
        {"mlx_affine", "blk.0.attn_k.weight", "q5_1"},
        {"mlx_affine", "blk.0.attn_v.weight", "q8_m"},
        {"mlx_affine", "blk.0.ffn_up.weight", "q4_1"},
        {"mlx_affine", "blk.0.ffn_down.weight", "q8_m"},
        {"mlx_affine", "blk.0.attn_norm.weight", "f32"},
        {"mlx_affine", "output.weight", "q8_m"},
        {"mlx_floats", "token_embd.weight", "mxfp4"},
        {"mlx_floats", "blk.0.attn_q.weight", "nvfp4"},
        {"mlx_floats", "blk.0.attn_k.weight", "bf16"},
        {"mlx_floats", "blk.0.attn_v.weight", "q8_m"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char file[128];
        snprintf(file, sizeof(file), "data/folders/%s", cases[i].folder);
        GGUF *gguf = must_do(gi_hf_open(test_data(file), NULL, &err));
        const struct gi_gguf_tensor *t = gi_gguf_tensor_find(gguf, cases[i].tensor);
        assert_non_null(t);
        assert_string_equal(t->type->name, cases[i].type);
        assert_int_equal(t->dims[0], strcmp(cases[i].tensor, "blk.0.ffn_down.weight") ? 128 : 256);
    }
}

// Writes a folder with a matrix in floating point and one that MLX quantised, both of 65536 zeros.
static void write_large(void)
{
    static const char config[] =
        "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": "
        "128,"
        "\"intermediate_size\": 256, \"max_position_embeddings\": 512, \"vocab_size\": 512,"
        "\"num_attention_heads\": 4, \"num_hidden_layers\": 1, \"rms_norm_eps\": 1e-5,"
        "\"quantization\": {\"group_size\": 64, \"bits\": 4}}";
    static const char header[] =
        "{\"model.embed_tokens.weight\":"
        "{\"dtype\":\"BF16\",\"shape\":[512,128],\"data_offsets\":[0,131072]},"
        "\"model.layers.0.self_attn.q_proj.weight\":"
        "{\"dtype\":\"U32\",\"shape\":[512,16],\"data_offsets\":[131072,163840]},"
        "\"model.layers.0.self_attn.q_proj.scales\":"
        "{\"dtype\":\"BF16\",\"shape\":[512,2],\"data_offsets\":[163840,165888]},"
        "\"model.layers.0.self_attn.q_proj.biases\":"
        "{\"dtype\":\"BF16\",\"shape\":[512,2],\"data_offsets\":[165888,167936]}}";
    static uint8_t file[8 + sizeof(header) - 1 + 167936] = {(sizeof(header) - 1) & 0xff,
                                                            (sizeof(header) - 1) >> 8};
    memcpy(file + 8, header, sizeof(header) - 1);
    write_file(temp_path("config.json"), config, sizeof(config) - 1);
    write_file(temp_path("model.safetensors"), file, sizeof(file));
}

// --quantize applies to matrices in floating point; those that MLX quantised keep their weights.
TEST(quantize_leaves_matrices_of_mlx_as_they_are)
{
    static const char *const types[][2] = {{"q4_0", "q4_0"}, {"q8_0", "q8_0"}, {"none", "bf16"}};
    write_large();
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        GGUF *gguf = must_do(gi_hf_open(temp_folder, types[i][0], &err));
        assert_string_equal(gi_gguf_tensor_find(gguf, "token_embd.weight")->type->name,
                            types[i][1]);
        assert_string_equal(gi_gguf_tensor_find(gguf, "blk.0.attn_q.weight")->type->name, "q4_1");
    }
}

// Returns the elements of a tensor, which the caller frees.
static float *read_values(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor)
{
    const struct gi_quant *quant = gi_quant_find(tensor->type->type);
    const size_t n_cols = (size_t)tensor->dims[0], n_rows = (size_t)tensor->n_elements / n_cols;
    uint8_t *bytes = malloc((size_t)tensor->size);
    float *values = malloc((size_t)tensor->n_elements * sizeof(*values));
    struct glinfer_error err;
    assert_true(bytes && values && quant);
    must(gi_gguf_tensor_read(gguf, tensor, 0, (size_t)tensor->size, bytes, &err), &err);
    for (size_t i = 0; i < n_rows; i++) {
        gi_quant_dequantize_row(quant, bytes + tensor->size / n_rows * i, n_cols,
                                values + i * n_cols);
    }
    free(bytes);
    return values;
}

// Compares tensors; mlx-lm rounds norms to bf16 after it has added 1.
static void compare(const struct gi_gguf *a, const struct gi_gguf_tensor *t,
                    const struct gi_gguf *b)
{
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)t->name.size, t->name.data);
    const struct gi_gguf_tensor *other = gi_gguf_tensor_find(b, name);
    if (!other || memcmp(other->dims, t->dims, sizeof(t->dims)) != 0) {
        fail_msg("%s: %s is missing or of another shape", gi_gguf_path(b), name);
    }
    float *x = read_values(a, t), *y = read_values(b, other);
    const float tolerance = t->n_dims == 1 && strstr(name, "norm") ? 0x1p-8f : 0;
    for (size_t i = 0; i < t->n_elements; i++) {
        if (!(fabsf(x[i] - y[i]) <= tolerance * fabsf(x[i]))) {
            fail_msg("%s: element %zu of %s is %g, expected %g", gi_gguf_path(b), i, name,
                     (double)y[i], (double)x[i]);
        }
    }
    free(x);
    free(y);
}

// Folders that mlx-lm converted, with experts in stacks, are the models that they were made from:
// tools/golden/mlx/make_mlx_twins.py.
TEST(folders_of_mlx_have_the_weights_of_those_they_were_made_from)
{
    static const char *const names[] = {"qwen3moe",       "qwen35",     "mixtral",
                                        "lfm2moe",        "granitemoe", "granitehybrid_moe",
                                        "granite4_dense", "gpt_oss"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char file[128];
        snprintf(file, sizeof(file), "data/folders/%s", names[i]);
        GGUF *own = must_do(gi_hf_open(test_data(file), "none", &err));
        snprintf(file, sizeof(file), "data/mlx/%s", names[i]);
        GGUF *mlx = must_do(gi_hf_open(test_data(file), "none", &err));
        assert_int_equal(gi_gguf_tensor_count(own), gi_gguf_tensor_count(mlx));
        for (size_t k = 0; k < gi_gguf_tensor_count(own); k++) {
            compare(own, gi_gguf_tensor_at(own, k), mlx);
        }
    }
}

TEST(files_get_types_that_gguf_has)
{
    GGUF *gguf = must_do(gi_hf_open_for_file(test_data("data/folders/mlx_affine"), "q8_0", &err));
    for (size_t i = 0; i < gi_gguf_tensor_count(gguf); i++) {
        assert_true(gi_gguf_tensor_at(gguf, i)->type->type < 60);
    }
    assert_string_equal(gi_gguf_tensor_find(gguf, "blk.0.attn_k.weight")->type->name, "q5_1");
    assert_string_equal(gi_gguf_tensor_find(gguf, "blk.0.attn_v.weight")->type->name, "bf16");
}

TEST(wrong_quantisation_is_named)
{
    static const struct {
        const char *folder, *file, *text, *other;
        enum glinfer_status status;
        const char *says;
    } cases[] = {
        {"mlx_floats", "config.json", "\"mxfp4\"", "\"ternary\"", GLINFER_STATUS_UNSUPPORTED,
         "the mode of quantisation \"ternary\" of tensor model.embed_tokens.scales is unknown"},
        {"mlx_floats", "config.json", "\"mxfp4\"", "4", GLINFER_STATUS_BAD_FILE,
         "the key quantization.mode is invalid, expected a string"},
        {"mlx_floats", "config.json", "\"mxfp4\"", "\"affine\"", GLINFER_STATUS_UNSUPPORTED,
         "in mode affine to 4 bits in groups of 32 with scales of type U8, which MLX does not"},
        {"mlx_affine", "config.json", "\"bits\": 3", "\"bits\": 7", GLINFER_STATUS_UNSUPPORTED,
         "to 7 bits in groups of 64"},
        {"mlx_affine", "config.json", "\"bits\": 3", "\"bits\": -3", GLINFER_STATUS_UNSUPPORTED,
         "to 0 bits in groups of 64"},
        {"mlx_affine", "config.json", "\"group_size\": 128", "\"group_size\": 256",
         GLINFER_STATUS_UNSUPPORTED, "in groups of 256"},
        {"mlx_affine", "config.json", "\"bits\": 3", "\"bits\": 4", GLINFER_STATUS_BAD_FILE,
         "tensor model.layers.0.self_attn.q_proj.weight has rows of 12 words and 2 scales, but "
         "config.json says 4 bits in groups of 64"},
        {"mlx_affine", "config.json", "\"quantization", "\"quantisation", GLINFER_STATUS_BAD_FILE,
         "\"quantization\" does not describe tensor model.embed_tokens.scales, which is quantised"},
        {"mlx_affine", "config.json", "\"lm_head\":", "\"lm_head\": false, \"other\":",
         GLINFER_STATUS_BAD_FILE, "does not describe tensor lm_head.scales"},
        {"mlx_affine", "model.safetensors", "q_proj.biases", "q_proj.biasez",
         GLINFER_STATUS_BAD_FILE, "self_attn.q_proj.weight has no biases"},
        {"mlx_affine", "model.safetensors", "q_proj.scales", "q_proj.scalez",
         GLINFER_STATUS_UNSUPPORTED, "q_proj.weight has type U32, expected BF16"},
        {"mlx_affine", "model.safetensors", "[128,2]", "[64, 4]", GLINFER_STATUS_BAD_FILE,
         "differ in their rows"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        static const char *const files[] = {"config.json", "model.safetensors"};
        for (size_t f = 0; f < 2; f++) {
            const bool is_edited = strcmp(files[f], cases[i].file) == 0;
            write_edited(cases[i].folder, files[f], is_edited ? cases[i].text : "", cases[i].other);
        }
        assert_null(gi_hf_open(temp_folder, NULL, &err));
        assert_says(err.message, cases[i].says);
        assert_int_equal(err.status, cases[i].status);
    }
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
