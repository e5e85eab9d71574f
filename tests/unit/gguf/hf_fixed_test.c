// Tests the keys of config.json that change the maths: each counts or is refused by name.
#include "hf/hf_build.h"
#include "tests/unit/gguf/hf_edited.h"
#include "tests/unit/wrap.h"

// Tokenizers have tests of their own.
WRAP(bool, gi_hf_add_tokenizer, struct gi_hf_build *b, const char *folder)
{
    (void)b, (void)folder;
    return true;
}

// Keys that would change the results, each in a family of its kind.
static const struct {
    const char *folder, *text, *other, *says;
} refused[] = {
    {"llama", "\"silu\"", "\"gelu\"", "hidden_act is \"gelu\", only silu or swish is supported"},
    {"granite", "\"silu\"", "\"gelu\"", "hidden_act is \"gelu\""},
    {"granitehybrid", "\"silu\"", "\"gelu\"", "hidden_act is \"gelu\""},
    {"phi3", "\"silu\"", "\"gelu\"", "hidden_act is \"gelu\""},
    {"olmo2", "\"silu\"", "\"gelu\"", "hidden_act is \"gelu\""},
    {"qwen35", "\"silu\"", "\"gelu\"", "hidden_act is \"gelu\""},
    {"smollm3", "\"silu\"", "\"gelu\"", "hidden_act is \"gelu\""},
    {"gpt_oss", "\"silu\"", "\"gelu\"", "hidden_act is \"gelu\""},
    {"bert", "\"gelu\"", "\"relu\"", "hidden_act is \"relu\""},
    {"gemma2", "\"gelu_pytorch_tanh\"", "\"gelu\"", "hidden_activation is \"gelu\""},
    {"gemma4", "\"gelu_pytorch_tanh\"", "\"gelu\"", "hidden_activation is \"gelu\""},
    {"llama", "\"llama3\"", "\"longrope\"", "RoPE scaling \"longrope\" of this family"},
    {"lfm2", "\"rope_theta\"", "\"rope_scaling\":{\"rope_type\":\"linear\"},\"rope_theta\"",
     "rope_scaling.rope_type is \"linear\", only default"},
    {"qwen35", "\"rope_type\":\"default\"", "\"rope_type\":\"yarn\"",
     "rope_parameters.rope_type is \"yarn\""},
    {"gemma4", "\"proportional\"", "\"linear\"", "full_attention.rope_type is \"linear\""},
    {"modernbert", "\"norm_bias\":false", "\"norm_bias\":true", "norm_bias is true, only false"},
    {"phi3_short", "\"rope_scaling\":null", "\"rope_scaling\":{\"type\":\"linear\"}",
     "RoPE scaling \"linear\" of Phi 3"},
    {"qwen2_yarn", "\"factor\":4.0", "\"factor\":4.0,\"truncate\":false",
     "truncate of rope_scaling"},
    {"llama", "\"rope_theta\"", "\"partial_rotary_factor\":0.5,\"rope_theta\"",
     "partial_rotary_factor is 0.5, only 1"},
    {"qwen3moe", "\"norm_topk_prob\":true,", "", "norm_topk_prob is false, only true"},
    {"qwen3moe", "\"mlp_only_layers\":[]", "\"mlp_only_layers\":[1]",
     "mlp_only_layers has 1, which is not supported"},
    {"lfm2moe", "\"routed_scaling_factor\":1.0", "\"routed_scaling_factor\":2.5",
     "routed_scaling_factor is 2.5, only 1"},
    {"lfm2", "\"full_attention\"", "\"sliding_attention\"",
     "layer_types has \"sliding_attention\", only full_attention or conv"},
    {"smollm3", "no_rope_layer_interval\":4", "no_rope_layer_interval\":3",
     "no_rope_layer_interval is 3, only 4"},
    {"smollm3", "[1,1,1,0]", "[1,0,1,0]", "no_rope_layers is not 0 in every fourth"},
    {"granitehybrid", "\"nope\"", "\"alibi\"", "position_embedding_type is \"alibi\""},
    {"granitehybrid", "\"mamba_proj_bias\":false", "\"time_step_limit\":[0,0.5]",
     "time_step_limit is not 0 to infinity"},
    {"granitehybrid", "\"rmsnorm\"", "\"layernorm\"", "normalization_function is \"layernorm\""},
    {"gpt_oss", "\"swiglu_limit\":7.0", "\"swiglu_limit\":6", "swiglu_limit is 6, only 7"},
    {"gemma2", "\"query_pre_attn_scalar\":16", "\"query_pre_attn_scalar\":20",
     "query_pre_attn_scalar is 20, only 16"},
    {"gemma3", "\"query_pre_attn_scalar\":16,", "", "query_pre_attn_scalar is 256, only 16"},
    {"gemma2", "\"attn_logit_softcapping\":50.0", "\"attn_logit_softcapping\":null",
     "attn_logit_softcapping is null"},
    {"gemma3", "\"attn_logit_softcapping\":null", "\"attn_logit_softcapping\":50",
     "attn_logit_softcapping is 50, which is not supported"},
    {"gemma3", "\"head_dim\"", "\"use_bidirectional_attention\":true,\"head_dim\"",
     "use_bidirectional_attention is true, only false"},
    {"embeddinggemma", "\"use_bidirectional_attention\":true,", "",
     "use_bidirectional_attention is false, only true"},
    {"gemma4", "\"tie_word_embeddings\":true", "\"tie_word_embeddings\":false",
     "tie_word_embeddings is false, only true"},
    {"gemma4", "\"attention_k_eq_v\"", "\"enable_moe_block\":true,\"attention_k_eq_v\"",
     "enable_moe_block is true"},
    {"bert", "\"absolute\"", "\"relative_key\"", "position_embedding_type is \"relative_key\""},
    {"olmo2", "\"attention_bias\":false", "\"attention_bias\":\"false\"",
     "attention_bias is \"false\", only false"},
    {"llama", "\"mlp_bias\":false", "\"mlp_bias\":true",
     "mlp_bias is true, but the folder has no tensor layers.0.mlp.up_proj.bias"},
    {"gpt_oss", "\"attention_bias\":true", "\"attention_bias\":false",
     "attention_bias is false, but the folder has the tensor layers.0.self_attn.q_proj.bias"},
};

TEST(values_that_the_engine_does_not_compute_are_refused)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct glinfer_error err = {0};
        if (open_edited(refused[i].folder, refused[i].text, refused[i].other, &err)) {
            fail_msg("%s with %s is accepted", refused[i].folder, refused[i].other);
        }
        assert_says(err.message, refused[i].says);
    }
}

// Keys of folders on the hub that have no effect in their family, or in contexts of the usual size.
static const struct {
    const char *folder, *text, *other;
} taken[] = {
    {"llama", "\"llama3\"", "\"dynamic\""},
    // Qwen3-Coder-30B-A3B
    {"qwen3moe", "\"head_dim\"",
     "\"qkv_bias\":false,\"shared_expert_intermediate_size\":0,\"use_qk_norm\":true,\"head_dim\""},
};

TEST(keys_without_effect_are_taken)
{
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        struct glinfer_error err = {0};
        struct gi_gguf *gguf = open_edited(taken[i].folder, taken[i].text, taken[i].other, &err);
        must(gguf, &err);
        gi_gguf_close(gguf);
    }
}

TEST(windows_of_layers_and_of_contexts_are_those_of_the_file)
{
    static const struct {
        const char *folder, *text, *other, *pair;
        uint32_t value; // of a number, or bits of the layers
    } cases[] = {
        {"gemma3", "sliding_window_pattern\":6", "sliding_window_pattern\":2",
         "gemma3.attention.sliding_window_pattern", 5},
        {"gemma2", "\"head_dim\"",
         "\"layer_types\":[\"full_attention\",\"sliding_attention\"],\"head_dim\"",
         "gemma2.attention.sliding_window_pattern", 2},
        {"gpt_oss", "[\"sliding_attention\",\"full_attention\"]",
         "[\"sliding_attention\",\"sliding_attention\"]",
         "gpt-oss.attention.sliding_window_pattern", 3},
        {"mistral", "\"sliding_window\":null", "\"sliding_window\":40", "llama.context_length", 40},
        {"qwen2", "\"use_sliding_window\":false", "\"use_sliding_window\":true",
         "qwen2.context_length", 512},
        {"qwen3", "\"sliding_window\":null", "\"sliding_window\":7", "qwen3.context_length", 512},
        {"phi3_short", "\"sliding_window\":null", "\"sliding_window\":30", "phi3.context_length",
         30},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        struct gi_gguf_array layers;
        uint32_t value = 0;
        struct gi_gguf *gguf = open_edited(cases[i].folder, cases[i].text, cases[i].other, &err);
        must(gguf, &err);
        if (!gi_gguf_get_u32(gguf, cases[i].pair, 0, &value, NULL)) {
            must(gi_gguf_get_array(gguf, cases[i].pair, GI_GGUF_KIND_BOOL, &layers, &err), &err);
            for (uint32_t j = 0; j < layers.count; j++) {
                value |= layers.data[j] ? UINT32_C(1) << j : 0;
            }
        }
        assert_int_equal(value, cases[i].value);
        gi_gguf_close(gguf);
    }
}

// The values are magnitudes of transformers over that of the engine, 1 + ln(factor) / 10.
TEST(magnitudes_of_yarn_are_those_of_the_file)
{
    static const struct {
        const char *other;
        double value;
    } cases[] = {
        {"\"factor\":4.0,\"attention_factor\":1", 1 / 1.138629},
        {"\"factor\":4.0,\"attention_factor\":1.1386294361", 0},
        {"\"factor\":4.0,\"mscale\":2,\"mscale_all_dim\":0.5", 1.277259 / 1.069315 / 1.138629},
        {"\"factor\":4.0,\"mscale\":2", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        float value = 0;
        struct gi_gguf *gguf = open_edited("qwen2_yarn", "\"factor\":4.0", cases[i].other, &err);
        must(gguf, &err);
        must(gi_gguf_get_f32(gguf, "qwen2.rope.scaling.attn_factor", 0, &value, &err), &err);
        assert_float_equal(value, cases[i].value, 1e-5);
        gi_gguf_close(gguf);
    }
}

// transformers 5 has the sizes of layers without a window in an object for each.
TEST(sizes_of_layers_of_gemma_4_are_those_of_the_file)
{
    struct glinfer_error err = {0};
    uint32_t dim = 0;
    struct gi_gguf *gguf =
        open_edited("gemma4", "\"global_head_dim\":32",
                    "\"per_layer_config\":{\"1\":{\"head_dim\":32},\"3\":{\"head_dim\":32}}", &err);
    must(gguf, &err);
    must(gi_gguf_get_u32(gguf, "gemma4.attention.key_length", 0, &dim, &err), &err);
    assert_int_equal(dim, 32);
    gi_gguf_close(gguf);
}

TEST(the_epsilon_of_modernbert_is_that_of_its_norms)
{
    struct glinfer_error err = {0};
    float epsilon = 0;
    struct gi_gguf *gguf =
        open_edited("modernbert", "\"norm_eps\":1e-05", "\"norm_eps\":0.25", &err);
    must(gguf, &err);
    must(gi_gguf_get_f32(gguf, "modern-bert.attention.layer_norm_epsilon", 0, &epsilon, &err),
         &err);
    assert_true(epsilon == 0.25f);
    gi_gguf_close(gguf);
}

TEST(rotations_of_modernbert_have_one_base_where_that_of_windows_is_null)
{
    struct glinfer_error err = {0};
    float base = 0;
    struct gi_gguf *gguf = open_edited("modernbert", "\"local_rope_theta\":10000.0",
                                       "\"local_rope_theta\":null", &err);
    must(gguf, &err);
    must(gi_gguf_get_f32(gguf, "modern-bert.rope.freq_base_swa", 0, &base, &err), &err);
    assert_true(base == 160000.0f);
    gi_gguf_close(gguf);
}

TEST(rotations_of_granite_are_those_of_the_file)
{
    static const struct {
        const char *folder, *text, *other, *pair;
        bool is_rotated;
    } cases[] = {
        {"granitehybrid", "\"nope\"", "\"rope\"", "granitehybrid.rope.scaling.finetuned", true},
        {"granitehybrid", "\"nope\"", "null", "granitehybrid.rope.scaling.finetuned", false},
        {"granite4_dense", "\"rope\"", "\"nope\"", "granite.rope.scaling.finetuned", false},
        {"granitehybrid", "[\"mamba\",\"attention\"]", "[\"linear_attention\",\"full_attention\"]",
         "granitehybrid.rope.scaling.finetuned", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        bool is_rotated = !cases[i].is_rotated;
        struct gi_gguf *gguf = open_edited(cases[i].folder, cases[i].text, cases[i].other, &err);
        must(gguf, &err);
        must(gi_gguf_get_bool(gguf, cases[i].pair, !cases[i].is_rotated, &is_rotated, &err), &err);
        assert_int_equal(is_rotated, cases[i].is_rotated);
        gi_gguf_close(gguf);
    }
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
