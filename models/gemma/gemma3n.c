// Gemma 3n: four streams of the residual, of which a layer works on the first and corrects the
// others (AltUp), a low-rank branch beside attention (LAuReL), and first networks whose gates are
// open only where they stand out. Otherwise as in Gemma 4: norms before and after either block,
// norms of each head of q, k and v, GELU, windows in most layers with rotations of their own,
// inputs of each layer, and last layers that read the keys and values of earlier ones.
#include "models/decoder_weights.h"

#include <math.h>

// Numbers of files that do not say them; N_OWN_KV layers keep keys and values of their own.
enum { N_STREAMS = GI_ALTUP_STREAMS, INPUT_WIDTH = 256, N_SPARSE = 10, N_OWN_KV = 20 };
#define SPARSITY 1.6448535f // the 95th of a hundred parts of a normal distribution lies there

static bool check_streams(const struct gi_hparams_reader *reader, const struct gi_hparams *hparams)
{
    uint32_t n, active;
    if (!gi_hparams_u32(reader, "altup.num_inputs", N_STREAMS, &n) ||
        !gi_hparams_u32(reader, "altup.active_idx", 0, &active)) {
        return false;
    }
    if (n != N_STREAMS || active != 0) {
        return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                               "%u streams of the residual of which layers work on number %u are "
                               "not supported, only %u and number 0",
                               n, active, (uint32_t)N_STREAMS);
    }
    return hparams->n_embd % 64 == 0 ||
           GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                           "streams of the residual of %u are not supported, only multiples of 64",
                           hparams->n_embd);
}

static bool check_inputs(const struct gi_hparams_reader *reader, const struct gi_hparams *hparams)
{
    return (hparams->inputs.width > 0 ||
            gi_error_set(reader->err, GLINFER_STATUS_BAD_FILE,
                         "%s: gemma3n.embedding_length_per_layer_input is 0",
                         gi_gguf_path(reader->gguf))) &&
           gi_hparams_check_inputs(reader, hparams);
}

// No key has the rank of the low-rank branch: its first matrix does.
static bool find_rank(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    static const char name[] = "blk.0.laurel_l.weight";
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_find(reader->gguf, name);
    if (!tensor) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE, "the tensor %s is missing", name);
    }
    const uint64_t rank = tensor->dims[1];
    hparams->altup.branch_rank = (uint32_t)rank;
    return (rank > 0 && rank % GI_INPUT_BLOCK == 0 && rank <= hparams->n_embd) ||
           GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                           "a branch of rank %llu beside attention is not supported, only "
                           "multiples of %u up to the width of the residual (%u)",
                           (unsigned long long)rank, GI_INPUT_BLOCK, hparams->n_embd);
}

// A layer whose gates are all open has minus infinity.
static bool read_sparsity(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    static const char key[] = "gemma3n.activation_sparsity_scale";
    struct gi_gguf_array list = {0};
    const bool has_list = gi_gguf_has(reader->gguf, key);
    if (!gi_gguf_get_array(reader->gguf, key, GI_GGUF_KIND_F32, &list, reader->err)) {
        return false;
    }
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        const float usual = i < N_SPARSE ? SPARSITY : -INFINITY;
        const float number = !has_list ? usual : i < list.count ? gi_gguf_array_f32(&list, i) : NAN;
        hparams->is_sparse[i] = isfinite(number);
        hparams->sparsity[i] = number;
        if (!isfinite(number) && !(number < 0)) {
            return GI_HPARAMS_FAIL(reader, BAD_FILE, "%s has no number for layer %u", key, i);
        }
        if (hparams->is_sparse[i] && gi_layer_ff(hparams, i) % 4 != 0) {
            return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                                   "a sparse network of %u is not supported, "
                                   "only multiples of 4",
                                   gi_layer_ff(hparams, i));
        }
    }
    return true;
}

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const uint32_t n_shared = hparams->n_layer > N_OWN_KV ? hparams->n_layer - N_OWN_KV : 0;
    hparams->has_window_rope = hparams->has_value_norm = true;
    hparams->window_rope = (struct gi_rope_hparams){.divisor = 1.0f, .magnitude = 1.0f};
    hparams->embed_scale = sqrtf((float)hparams->n_embd);
    hparams->attention_scale = 1.0f;
    hparams->altup.n = N_STREAMS;
    if (!check_streams(reader, hparams) ||
        !gi_hparams_u32(reader, "attention.sliding_window", 0, &hparams->window) ||
        !gi_hparams_window_period(reader, 5, hparams) ||
        !gi_hparams_f32(reader, "rope.freq_base_swa", 10000.0f, &hparams->window_rope.base) ||
        !gi_hparams_shared_kv(reader, n_shared, hparams) ||
        !gi_hparams_u32(reader, "embedding_length_per_layer_input", INPUT_WIDTH,
                        &hparams->inputs.width) ||
        !gi_hparams_f32(reader, "final_logit_softcapping", 30.0f, &hparams->logit_softcap)) {
        return false;
    }
    hparams->inputs.scale = sqrtf((float)hparams->inputs.width);
    return check_inputs(reader, hparams) && find_rank(reader, hparams) &&
           read_sparsity(reader, hparams);
}

static const struct gi_weight_spec weights[] = {
    {
        .slot = GI_SLOT_QKV,
        .name = "attn_qkv",
        .order = GI_WEIGHT_ORDER_QKV,
        .cols = GI_DIM_EMBD,
        .sources = {{"blk.%u.attn_q", GI_DIM_Q, NULL},
                    {"blk.%u.attn_k", GI_DIM_KV, NULL},
                    {"blk.%u.attn_v", GI_DIM_KV, NULL}},
        .next_norm = GI_NORM_NONE,
    },
    GI_WEIGHT_OUT(GI_NORM_NONE),
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NONE),
    GI_WEIGHT_ONE(GI_SLOT_INPUT_GATE, "input_gate", GI_WEIGHT_ORDER_PLAIN, GI_DIM_EMBD, "inp_gate",
                  GI_DIM_INPUT, GI_NORM_NONE),
    GI_WEIGHT_ONE(GI_SLOT_INPUT_OUT, "input_out", GI_WEIGHT_ORDER_PLAIN, GI_DIM_INPUT, "proj",
                  GI_DIM_EMBD, GI_NORM_NONE),
    GI_WEIGHT_ONE(GI_SLOT_BRANCH_IN, "branch_in", GI_WEIGHT_ORDER_PLAIN, GI_DIM_EMBD, "laurel_l",
                  GI_DIM_BRANCH, GI_NORM_NONE),
    GI_WEIGHT_ONE(GI_SLOT_BRANCH_OUT, "branch_out", GI_WEIGHT_ORDER_PLAIN, GI_DIM_BRANCH,
                  "laurel_r", GI_DIM_EMBD, GI_NORM_NONE),
};

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_Q, "blk.%u.attn_q_norm", GI_DIM_HEAD},
    {GI_NORM_K, "blk.%u.attn_k_norm", GI_DIM_K_HEAD},
    {GI_NORM_ATTN_POST, "blk.%u.post_attention_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_POST, "blk.%u.post_ffw_norm", GI_DIM_EMBD},
    {GI_NORM_INPUT, "per_layer_proj_norm", GI_DIM_INPUT},
    {GI_NORM_INPUT_POST, "blk.%u.post_norm", GI_DIM_EMBD},
    {GI_NORM_ROUTER, "blk.%u.altup_router_norm", GI_DIM_EMBD},
    {GI_NORM_ROUTER_MATRIX, "blk.%u.altup_router", GI_DIM_ROUTER},
    {GI_NORM_PREDICT, "blk.%u.altup_predict_coef", GI_DIM_PREDICT},
    {GI_NORM_CORRECT, "blk.%u.altup_correct_coef", GI_DIM_CORRECT},
    {GI_NORM_CORRECT_SCALE, "blk.%u.altup_correct_scale", GI_DIM_EMBD},
    {GI_NORM_BRANCH_POST, "blk.%u.laurel_post_norm", GI_DIM_EMBD},
};

static void record_block(struct gi_graph *graph, uint32_t layer)
{
    const bool is_sparse = graph->hparams->is_sparse[layer];
    gi_graph_streams_predict(graph, layer);
    gi_graph_branch(graph, layer);
    gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, gi_layer_rope(graph, layer));
    gi_graph_attention(graph, layer);
    gi_graph_attn_out_branch(graph, layer);
    if (is_sparse) {
        gi_graph_ffn_up_sparse(graph, layer);
    } else {
        gi_graph_ffn_up(graph, layer, GI_NORM_FFN);
    }
    gi_graph_streams_correct(graph, layer);
}

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    if (layer <= 0) {
        gi_graph_streams_begin(graph);
    }
    record_block(graph, layer);
    if (!(layer + 1 < graph->hparams->n_layer)) {
        gi_graph_streams_end(graph);
    }
}

const struct gi_model_family gi_model_family_gemma3n = {
    .name = "gemma3n",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_hparams,
    GI_WEIGHTS(weights),
    GI_NORMS(norms),
    .record_layer = record_layer,
};
