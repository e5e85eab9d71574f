// The blocks of which model families build their layers. The same call records a block for a decode
// step (one token, fused dispatches) or for a prompt's batch. A gi_graph holds the inputs of a
// recording: the recorder, the weights, and a named field for each intermediate. It owns nothing.
#pragma once

#include "graph/weight_spec.h"
#include "ops/altup/altup.h"
#include "ops/attention/attention_vec8.h"
#include "ops/conv/short_conv.h"
#include "ops/delta/delta.h"
#include "ops/embed/embed.h"
#include "ops/embed/inputs.h"
#include "ops/experts/experts.h"
#include "ops/gemm/adapter_rows.h"
#include "ops/gemm/batch.h"
#include "ops/gemm/half_rows.h"
#include "ops/gemm/pack_rows.h"
#include "ops/gemv/gemv.h"
#include "ops/record/recorder.h"
#include "ops/record/slot_array.h"
#include "ops/sample/sample.h"
#include "ops/ssm/ssm.h"

// The matrices of a model on the GPU.
struct gi_model_weights {
    const struct gi_weight *layers; // (n_layer, GI_SLOT_COUNT)
    const struct gi_weight *embed;  // (n_vocab, n_embd)
    const struct gi_weight *output; // (n_vocab, n_embd); the same pointer as embed if they are tied
    // For the inputs of layers that have their own: (n_vocab, n_layer * width) and
    // (n_layer * width, n_embd); else NULL.
    const struct gi_weight *input_embed, *input_proj;
    // For a residual of several streams, else NULL. stream_proj makes the streams after the first;
    // stream_back has a matrix (n_embd, n_embd) for each of these, back to the residual.
    const struct gi_weight *stream_proj, *stream_back;
    // For an encoder of sound, else NULL: (n_embd, GI_TAPS * n_sound rounded up to 32) and
    // (n_embd, GI_TAPS * n_embd).
    const struct gi_weight *conv1, *conv2;
};

// The memory of the sequences of a joint step, one element for each slot, in the layouts of the
// graph. Element n_slots of state belongs to the list itself.
struct gi_joint {
    uint32_t n_slots;
    uint32_t first_row, n_rows;     // slots whose rows the list computes: all, or one
    struct gi_rows x, qkv, inputs;  // rows of all slots; struct gi_graph has those of this list
    struct gi_slot_array state;     // struct gi_step_state
    struct gi_slot_array ring;      // GI_RING_SLOTS struct gi_ring_entry
    struct gi_slot_array stream;    // struct gi_stream: rows of x
    struct gi_slot_array attention; // struct gi_attention_scratch, beginning with rows of attn
    struct gi_slot_array logits;    // struct gi_logits
    const struct gi_slot_array *kv; // (n_layer) struct gi_kv_layer
};

// Low-rank adapters (ops/record/weight.h). A decode step has the scales of their columns, and then
// the product of a matrix A, in each range that projections read: offsets in floats.
struct gi_adapters {
    uint32_t stream, attention, ffn_act;
    struct gi_adapter_rows rows; // of a batch
};

struct gi_graph {
    struct gi_recorder recorder;
    const struct gi_hparams *hparams;
    struct gi_model_weights weights;
    struct gi_qkv_layout qkv_layout; // of the layer with the most rows
    struct gi_norm_layout norm_layout;
    struct gi_vectors vectors;          // norm weights in the order of norm_layout, then RoPE
    uint32_t positions;                 // offset in vectors: (n_ctx, n_embd), if has_positions
    struct gi_rope rope, window_rope;   // of layers without and with a window
    const struct gi_kv_layer *kv_cache; // (n_layer); the range of a recurrent layer is empty
    const struct gi_range *states;      // (n_layer); empty for layers without a state
    struct gi_experts experts;          // of a mixture
    struct gi_adapters adapters;
    bool is_batch;
    const struct gi_joint *joint; // of a joint step, which is a batch, too; NULL: one sequence

    // A decode step's intermediates.
    struct gi_stream stream;
    struct gi_attention_scratch attention;
    struct gi_rows row; // one row: the result of a projection that is not fused
    struct gi_attention_input attention_input; // set while recording
    bool has_attention_input;                  // set while recording: attention rotates q and k
    struct gi_range ffn_act;                   // (n_ff)
    bool ffn_act_has_sums;                     // set while recording
    struct gi_rows input;                      // one row: inputs of all layers
    struct gi_rows streams;                    // one row: ops/altup/altup.h
    struct gi_logits logits;
    struct gi_adjust adjust; // adjusts logits before a token is chosen
    // A step_state that counts the keys of another tower: n_past + n_tokens of them; empty unless
    // layers have cross-attention.
    struct gi_range cross_state;

    // A batch's intermediates, (n_tokens, width) each.
    struct gi_range tokens;
    struct gi_rows x;            // n_embd: the residual stream
    struct gi_rows norm;         // n_embd
    struct gi_rows qkv;          // qkv_layout.n_rows
    struct gi_rows q;            // n_head * head_dim
    struct gi_rows attn;         // n_head * head_dim
    struct gi_rows ffn_gate_up;  // rows of any layer's gate_up matrix
    struct gi_rows ffn_act_rows; // n_ff
    struct gi_rows inputs;       // n_layer * hparams->inputs.width
    struct gi_rows stream_rows;  // altup.n * n_embd, with room for one more row
    // An encoder's sound, two rows for each position and one before and after these; n_sound.
    struct gi_rows sound;
    // Inputs of attn_out, ffn_down and ssm_out, set while recording.
    struct gi_rows attn_input, ffn_input, ssm_input;
    // Set while recording: the norm that the low-rank branch reads, if attention's projection reads
    // it, too; else its range is empty.
    struct gi_rows branch_input;
};

// Records y = the norm of each row of a batch's x: an rmsnorm or a layernorm, as the family says.
void gi_graph_norm_rows(struct gi_graph *graph, struct gi_recorder *recorder, const char *label,
                        uint32_t layer, enum gi_norm norm, const struct gi_rows *y);

// Records x = norm(x), with the norm before the output: between runs of all layers. The layer
// follows.
void gi_graph_loop_norm(struct gi_graph *graph, uint32_t layer);

// Returns the rows of a layer's stacked q, k and v; only of q if the layer reads the keys and
// values of an earlier layer.
struct gi_qkv_layout gi_layer_qkv_layout(const struct gi_hparams *hparams, uint32_t layer,
                                         bool has_gate);

// The blocks of a layer, in the order in which families record them. `before` is the norm of the
// residual x that a projection reads; GI_NORM_NONE: it reads x itself.

// Records q, k, v = rope(qkv(norm(x))) into the cache: one dispatch of a decode step. Everything
// after the projection may move into gi_graph_attention (gi_attention_qkv_suits). n_rot is the
// hparams', or 0 in a layer without rotation.
void gi_graph_qkv(struct gi_graph *graph, uint32_t layer, uint32_t n_rot);
// Records q, k, v for a batch, with the layer's rotation.
void gi_graph_qkv_rows(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                       const struct gi_rope *rope);
// Records q, k, v with the layer's rotation: two dispatches of a decode step.
void gi_graph_qkv_turned(struct gi_graph *graph, uint32_t layer, const struct gi_rope *rope);
// Records q, k, v with a norm of q and of k, GI_NORM_Q and GI_NORM_K, before the rotation: two
// dispatches of a decode step.
void gi_graph_qkv_norm(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                       const struct gi_rope *rope);
void gi_graph_attention(struct gi_graph *graph, uint32_t layer);
// x += residual_scale * out(attention)
void gi_graph_attn_out(struct gi_graph *graph, uint32_t layer);
// x += norm(out(attention)), with norm GI_NORM_ATTN_POST.
void gi_graph_attn_out_norm(struct gi_graph *graph, uint32_t layer);

// act = activation(gate(norm(x))) * up(norm(x)), or activation(up(norm(x))) without a gate.
void gi_graph_ffn_up(struct gi_graph *graph, uint32_t layer, enum gi_norm before);
// x += down(act)
void gi_graph_ffn_down(struct gi_graph *graph, uint32_t layer);
// x += norm(down(act)), with norm GI_NORM_FFN_POST.
void gi_graph_ffn_down_norm(struct gi_graph *graph, uint32_t layer);

// inputs = (norm(W x / sqrt(n_embd)) + inputs) / sqrt(2): adds a projection of the first residual
// to the layers' inputs, which hold embeddings of the tokens. GI_NORM_INPUT norms each layer's
// slice.
void gi_graph_project_inputs(struct gi_graph *graph);
// x = scale * (x + norm(down(act))), with scale GI_NORM_OUT_SCALE.
void gi_graph_ffn_down_scaled(struct gi_graph *graph, uint32_t layer);
// x = scale * (x + norm(out(activation(gate(x)) * input))), with the layer's own input and norm
// GI_NORM_INPUT_POST.
void gi_graph_layer_input(struct gi_graph *graph, uint32_t layer);

// Several residual streams (ops/altup/altup.h), of which x is the first. gi_graph_streams_begin
// makes them from the embedding, before the first layer. A layer begins by predicting all streams.
// It ends by correcting them by norm(down(act)), with norm GI_NORM_FFN_POST, and computes a term
// from its own input, which the next layer adds. gi_graph_streams_end, after the last layer, adds
// the last term and merges the streams into x.
void gi_graph_streams_begin(struct gi_graph *graph);
void gi_graph_streams_predict(struct gi_graph *graph, uint32_t layer);
void gi_graph_streams_correct(struct gi_graph *graph, uint32_t layer);
void gi_graph_streams_end(struct gi_graph *graph);
// Record the low-rank branch next to attention, out(in(norm(x))), before attention's projections,
// and after attention
//   x = (x + norm(out(attention)) + norm(x) + norm(branch)) / sqrt(2),
// with norms GI_NORM_ATTN_POST, GI_NORM_ATTN and GI_NORM_BRANCH_POST.
void gi_graph_branch(struct gi_graph *graph, uint32_t layer);
void gi_graph_attn_out_branch(struct gi_graph *graph, uint32_t layer);
// Like gi_graph_ffn_up, for a layer in which few gates are open (ops/norm/sparse_glu.h).
void gi_graph_ffn_up_sparse(struct gi_graph *graph, uint32_t layer);

// x += residual_scale * sum over the chosen and the shared experts of share *
// down(activation(gate) * up), of GI_NORM_FFN: a mixture of experts. Reads the weights of chosen
// experts only. A prompt sorts its tokens by expert and reads each expert once; a batch too small
// for sorting reads it once for each token.
void gi_graph_experts_block(struct gi_graph *graph, uint32_t layer);
// Records the same of x itself for a batch, without a norm before.
void gi_graph_unnormed_experts(struct gi_graph *graph, uint32_t layer);
// x = scale * (x + norm(norm(network(norm(x))) + norm(experts(norm(x))))): a network next to a
// mixture of experts, with scale GI_NORM_OUT_SCALE if it is the layer's last block. The router
// reads a norm of x of its own.
void gi_graph_network_and_experts(struct gi_graph *graph, uint32_t layer, bool is_scaled);
// Record a mixture in two steps: the choice of experts, from x before attention adds to it, and the
// experts themselves.
void gi_graph_choose_experts(struct gi_graph *graph, uint32_t layer);
void gi_graph_chosen_experts_block(struct gi_graph *graph, uint32_t layer);

// x += out(o), where o is the gated delta rule's result for the projection of norm(x)
// (ops/delta/delta.h): linear attention, in a recurrent layer.
void gi_graph_delta_block(struct gi_graph *graph, uint32_t layer);

// x += out(c * conv(b * x)), where b, c and x are the projection of norm(x)
// (ops/conv/short_conv.h): a short convolution, in a recurrent layer.
void gi_graph_short_conv_block(struct gi_graph *graph, uint32_t layer);

// Record y, a state space model's result (ops/ssm/ssm.h) for the projection of norm(x), in a layer
// that keeps a state; attention of the same x may follow. Then x += residual_scale * out(y).
void gi_graph_ssm(struct gi_graph *graph, uint32_t layer);
void gi_graph_ssm_out(struct gi_graph *graph, uint32_t layer);

// x = layernorm(x) for a batch, with the weights of norm and of shift. An encoder's layer has two;
// each swaps the graph's rows x and norm.
void gi_graph_layernorm(struct gi_graph *graph, const char *label, uint32_t layer,
                        enum gi_norm norm, enum gi_norm shift);

// Record an encoder of sound: gi_graph_hear makes a row of each frame in graph->qkv, in a list of
// two tokens for each position; gi_graph_embed goes on from there.
//   conv(x)[t] = activation(bias + sum over tap k of W[k] x[stride * t + k - 1]), x[-1] = 0
void gi_graph_hear(struct gi_graph *graph);

// The blocks of most families.
// x += out(attention(rope(qkv(norm(x))))): pre-norm self-attention with grouped heads.
void gi_graph_attention_block(struct gi_graph *graph, uint32_t layer);
// x += down(activation(gate(norm(x))) * up(norm(x))): the gated feed-forward network.
void gi_graph_ffn_block(struct gi_graph *graph, uint32_t layer);
