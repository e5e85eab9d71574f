// Gemma 4: a norm before and after either block, norms of each head of q, k and v, GELU, windows in
// most layers, whose heads are smaller and whose rotations are others, and layers at the end that
// read the keys and values of earlier ones. Each layer scales the residual that it leaves; small
// models have inputs of each layer's own. A mixture's layers have a network next to the experts.
#include "models/decoder_weights.h"

#include <math.h>

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    hparams->has_window_rope = hparams->has_value_norm = true;
    hparams->window_rope = (struct gi_rope_hparams){.divisor = 1.0f, .magnitude = 1.0f};
    hparams->embed_scale = sqrtf((float)hparams->n_embd);
    hparams->attention_scale = 1.0f;
    if (!gi_hparams_u32(reader, "attention.sliding_window", 0, &hparams->window) ||
        !gi_hparams_window_period(reader, 6, hparams) ||
        !gi_hparams_window_heads(reader, hparams) ||
        !gi_hparams_f32(reader, "rope.freq_base_swa", hparams->rope.base,
                        &hparams->window_rope.base) ||
        !gi_hparams_shared_kv(reader, 0, hparams) ||
        !gi_hparams_u32(reader, "embedding_length_per_layer_input", 0, &hparams->inputs.width) ||
        !gi_gguf_get_f32(reader->gguf, "gemma4.final_logit_softcapping", 0.0f,
                         &hparams->logit_softcap, reader->err)) {
        return false;
    }
    hparams->inputs.scale = sqrtf((float)hparams->inputs.width);
    return gi_hparams_check_inputs(reader, hparams);
}

#define QKV                                                                                        \
    {                                                                                              \
        .slot = GI_SLOT_QKV, .name = "attn_qkv", .order = GI_WEIGHT_ORDER_QKV,                     \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u.attn_q", GI_DIM_Q, NULL},                      \
        .sources[1] = {"blk.%u.attn_k", GI_DIM_KV, NULL},                                          \
        .sources[2] = {"blk.%u.attn_v", GI_DIM_KV, "blk.%u.attn_k"}, .next_norm = GI_NORM_NONE,    \
    }
#define INPUT_GATE                                                                                 \
    GI_WEIGHT_ONE(GI_SLOT_INPUT_GATE, "input_gate", GI_WEIGHT_ORDER_PLAIN, GI_DIM_EMBD,            \
                  "inp_gate", GI_DIM_INPUT, GI_NORM_NONE)

static const struct gi_weight_spec weights[] = {
    QKV,
    GI_WEIGHT_OUT_NORMED,
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN_NORMED,
    INPUT_GATE,
    GI_WEIGHT_NORMED(GI_SLOT_INPUT_OUT, "input_out", GI_DIM_INPUT, "proj", GI_NORM_NEXT,
                     GI_NORM_INPUT_POST),
};

#define NORMS                                                                                      \
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},                                               \
        {GI_NORM_Q, "blk.%u.attn_q_norm", GI_DIM_HEAD},                                            \
        {GI_NORM_K, "blk.%u.attn_k_norm", GI_DIM_K_HEAD},                                          \
        {GI_NORM_ATTN_POST, "blk.%u.post_attention_norm", GI_DIM_EMBD},                            \
        {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},                                             \
        {GI_NORM_FFN_POST, "blk.%u.post_ffw_norm", GI_DIM_EMBD},                                   \
        {GI_NORM_INPUT, "per_layer_proj_norm", GI_DIM_INPUT},                                      \
        {GI_NORM_INPUT_POST, "blk.%u.post_norm", GI_DIM_INPUT_EMBD},                               \
    {                                                                                              \
        GI_NORM_OUT_SCALE, "blk.%u.layer_output_scale", GI_DIM_ONE                                 \
    }

static const struct gi_norm_spec norms[] = {NORMS};

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, gi_layer_rope(graph, layer));
    gi_graph_attention(graph, layer);
    gi_graph_attn_out_norm(graph, layer);
    gi_graph_ffn_up(graph, layer, GI_NORM_FFN);
    if (graph->hparams->inputs.width == 0) {
        gi_graph_ffn_down_scaled(graph, layer);
    } else {
        gi_graph_ffn_down_norm(graph, layer);
        gi_graph_layer_input(graph, layer);
    }
}

//-- mixtures --------------------------------------------------------------------------------------

static bool read_expert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const struct gi_router_rule rule = {.gating = GI_GATING_ALL, .is_normalised = true, .scale = 1};
    hparams->router = rule;
    hparams->has_network_beside = true;
    hparams->router_norm_factor = 1 / sqrtf((float)hparams->n_embd);
    return read_hparams(reader, hparams);
}

// No matrix carries the norm of its result: three norms read the residual, which must be one
// vector.
static const struct gi_weight_spec expert_weights[] = {
    QKV,
    GI_WEIGHT_OUT(GI_NORM_NONE),
    {
        .slot = GI_SLOT_BESIDE_GATE_UP,
        .name = "ffn_gate_up",
        .order = GI_WEIGHT_ORDER_GATE_UP,
        .cols = GI_DIM_EMBD,
        .sources = {{"blk.%u.ffn_gate", GI_DIM_FF}, {"blk.%u.ffn_up", GI_DIM_FF}},
        .next_norm = GI_NORM_NONE,
    },
    GI_WEIGHT_ONE(GI_SLOT_BESIDE_DOWN, "ffn_down", GI_WEIGHT_ORDER_PLAIN, GI_DIM_FF, "ffn_down",
                  GI_DIM_EMBD, GI_NORM_NONE),
    GI_WEIGHT_EXPERTS_GATE_UP,
    GI_WEIGHT_EXPERTS_DOWN,
    GI_WEIGHT_ROUTER,
    INPUT_GATE,
    GI_WEIGHT_ONE(GI_SLOT_INPUT_OUT, "input_out", GI_WEIGHT_ORDER_PLAIN, GI_DIM_INPUT, "proj",
                  GI_DIM_EMBD, GI_NORM_NONE),
};

static const struct gi_norm_spec expert_norms[] = {
    NORMS,
    {GI_NORM_BESIDE_POST, "blk.%u.post_ffw_norm_1", GI_DIM_EMBD},
    {GI_NORM_ROUTER, "blk.%u.ffn_gate_inp.scale", GI_DIM_EMBD},
    {GI_NORM_EXPERTS, "blk.%u.pre_ffw_norm_2", GI_DIM_EMBD},
    {GI_NORM_EXPERTS_POST, "blk.%u.post_ffw_norm_2", GI_DIM_EMBD},
    {GI_NORM_EXPERT_FACTOR, "blk.%u.ffn_down_exps.scale", GI_DIM_EXPERT},
};

static void record_expert_layer(struct gi_graph *graph, uint32_t layer)
{
    const bool has_input = graph->hparams->inputs.width > 0;
    gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, gi_layer_rope(graph, layer));
    gi_graph_attention(graph, layer);
    gi_graph_attn_out_norm(graph, layer);
    gi_graph_network_and_experts(graph, layer, !has_input);
    if (has_input) {
        gi_graph_layer_input(graph, layer);
    }
}

static const struct gi_model_family mixture = {
    .name = "gemma4",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_expert_hparams,
    .has_experts = true,
    GI_WEIGHTS(expert_weights),
    GI_NORMS(expert_norms),
    .record_layer = record_expert_layer,
};

const struct gi_model_family gi_model_family_gemma4 = {
    .name = "gemma4",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_hparams,
    GI_WEIGHTS(weights),
    GI_NORMS(norms),
    .record_layer = record_layer,
    .with_experts = &mixture,
};
