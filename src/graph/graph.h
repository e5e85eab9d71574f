// Blocks that model families share, each recorded either for a decode step (one token, fused
// dispatches) or for a batch of a prompt, by the same call. A gi_graph holds what a recording
// needs: the recorder, the weights, and every intermediate by its name. It owns nothing.
#ifndef GI_GRAPH_GRAPH_H
#define GI_GRAPH_GRAPH_H

#include "graph/weight_spec.h"
#include "ops/altup/altup.h"
#include "ops/attention/attention_vec8.h"
#include "ops/conv/short_conv.h"
#include "ops/delta/delta.h"
#include "ops/embed/embed.h"
#include "ops/embed/inputs.h"
#include "ops/experts/experts.h"
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
    const struct gi_weight *output; // (n_vocab, n_embd); the same as embed where they are tied
    // Make the inputs of layers that have their own, else NULL: (n_vocab, n_layer * width), and
    // (n_layer * width, n_embd).
    const struct gi_weight *input_embed, *input_proj;
    // NULL in a model whose residual is one stream. stream_proj makes the others, one behind the
    // other; stream_back has a matrix for each of these, (n_embd, n_embd), back to the residual.
    const struct gi_weight *stream_proj, *stream_back;
};

// Holds what the sequences of a joint step have, an element a slot; layouts are the graph's. Slot
// n_slots of state is the list's own.
struct gi_joint {
    uint32_t n_slots;
    uint32_t first_row, n_rows;     // slots whose rows the list computes: all, or one
    struct gi_rows x, qkv, inputs;  // rows of all slots, of which those of struct gi_graph are some
    struct gi_slot_array state;     // struct gi_step_state
    struct gi_slot_array ring;      // GI_RING_SLOTS struct gi_ring_entry
    struct gi_slot_array stream;    // struct gi_stream: rows of x
    struct gi_slot_array attention; // struct gi_attention_scratch, which begins with rows of attn
    struct gi_slot_array logits;    // struct gi_logits
    const struct gi_slot_array *kv; // (n_layer) struct gi_kv_layer
};

struct gi_graph {
    struct gi_recorder recorder;
    const struct gi_hparams *hparams;
    struct gi_model_weights weights;
    struct gi_qkv_layout qkv_layout; // of the layer that has the most rows
    struct gi_norm_layout norm_layout;
    struct gi_vectors vectors;          // norm weights as norm_layout has them, then RoPE
    uint32_t positions;                 // behind them, (n_ctx, n_embd), if the model has_positions
    struct gi_rope rope, window_rope;   // of layers without and with a window
    const struct gi_kv_layer *kv_cache; // n_layer; of a recurrent one the range is empty
    const struct gi_range *states;      // n_layer; empty where the layer keeps none
    struct gi_experts experts;          // of a mixture
    bool is_batch;
    const struct gi_joint *joint; // of a joint step, a batch of its own kind; NULL: of one sequence

    // A decode step's intermediates.
    struct gi_stream stream;
    struct gi_attention_scratch attention;
    struct gi_rows row; // one row: a projection that is not folded into another
    struct gi_attention_input attention_input; // set while recording
    bool has_attention_input;                  // likewise: attention is to turn q and k itself
    struct gi_range ffn_act;                   // (n_ff)
    bool ffn_act_has_sums;                     // set while recording
    struct gi_rows input;                      // one row: inputs of all layers
    struct gi_rows streams;                    // one row: ops/altup/altup.h
    struct gi_logits logits;
    struct gi_adjust adjust; // of logits, before a token is chosen

    // A batch's, (n_tokens, width) each.
    struct gi_range tokens;
    struct gi_rows x;            // n_embd: the residual stream
    struct gi_rows norm;         // n_embd
    struct gi_rows qkv;          // qkv_layout.n_rows
    struct gi_rows q;            // n_head * head_dim
    struct gi_rows attn;         // n_head * head_dim
    struct gi_rows ffn_gate_up;  // rows of any layer's gate_up matrix
    struct gi_rows ffn_act_rows; // n_ff
    struct gi_rows inputs;       // n_layer * hparams->inputs.width
    struct gi_rows stream_rows;  // altup.n * n_embd, with room for a row more
    // Inputs of attn_out, ffn_down and ssm_out, set while recording.
    struct gi_rows attn_input, ffn_input, ssm_input;
    // Likewise the norm that the low-rank branch has read, where attention's projection is to read
    // it too; else its range is empty.
    struct gi_rows branch_input;
};

// Records y = the norm of each row of a batch's x, an rmsnorm or a layernorm as the family has it.
void gi_graph_norm_rows(struct gi_graph *graph, struct gi_recorder *recorder, const char *label,
                        uint32_t layer, enum gi_norm norm, const struct gi_rows *y);

// Returns the rows of a layer's stacked q, k and v; of q alone if the layer reads the keys and
// values of an earlier one.
struct gi_qkv_layout gi_layer_qkv_layout(const struct gi_hparams *hparams, uint32_t layer,
                                         bool has_gate);

// The parts of a layer, in the order in which a family puts them together. "Norm" before a
// projection is of the residual x: one of the layer's, or GI_NORM_NONE for x as it is.

// Records q, k, v = rope(qkv(norm(x))) into the cache: one dispatch of a decode step. All but
// the projection may move into gi_graph_attention (gi_attention_qkv_suits). n_rot is the hparams',
// or 0 in a layer without rotation.
void gi_graph_qkv(struct gi_graph *graph, uint32_t layer, uint32_t n_rot);
// Records the same of a batch, with the rotations of the layer.
void gi_graph_qkv_rows(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                       const struct gi_rope *rope);
// Records the same with a norm of q and of k, GI_NORM_Q and GI_NORM_K, before the rotation: two
// dispatches.
void gi_graph_qkv_norm(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                       const struct gi_rope *rope);
void gi_graph_attention(struct gi_graph *graph, uint32_t layer);
// x += residual_scale * out(attention)
void gi_graph_attn_out(struct gi_graph *graph, uint32_t layer);
// x += norm(out(attention)), the norm being GI_NORM_ATTN_POST.
void gi_graph_attn_out_norm(struct gi_graph *graph, uint32_t layer);

// act = activation(gate(norm(x))) * up(norm(x)), or activation(up(norm(x))) where there is no gate.
void gi_graph_ffn_up(struct gi_graph *graph, uint32_t layer, enum gi_norm before);
// x += down(act)
void gi_graph_ffn_down(struct gi_graph *graph, uint32_t layer);
// x += norm(down(act)), the norm being GI_NORM_FFN_POST.
void gi_graph_ffn_down_norm(struct gi_graph *graph, uint32_t layer);

// inputs = (norm(W x / sqrt(n_embd)) + inputs) / sqrt(2): adds what layers get of the first
// residual to their inputs, which hold the embeddings of tokens. The norm is over each layer's,
// GI_NORM_INPUT.
void gi_graph_project_inputs(struct gi_graph *graph);
// x = scale * (x + norm(down(act))), the scale being GI_NORM_OUT_SCALE.
void gi_graph_ffn_down_scaled(struct gi_graph *graph, uint32_t layer);
// x = scale * (x + norm(out(activation(gate(x)) * the layer's own input))), the norm being
// GI_NORM_INPUT_POST.
void gi_graph_layer_input(struct gi_graph *graph, uint32_t layer);

// Several streams of the residual (ops/altup/altup.h), of which x is the first. A layer begins with
// a prediction of all, for which gi_graph_streams_begin makes them out of the embedding before the
// first layer; it ends with a correction by norm(down(act)), the norm being GI_NORM_FFN_POST, and
// by what it makes of its own input, which the next layer adds and gi_graph_streams_end behind the
// last, which leaves x.
void gi_graph_streams_begin(struct gi_graph *graph);
void gi_graph_streams_predict(struct gi_graph *graph, uint32_t layer);
void gi_graph_streams_correct(struct gi_graph *graph, uint32_t layer);
void gi_graph_streams_end(struct gi_graph *graph);
// Records the low-rank branch beside attention, out(in(norm(x))), before attention's projections;
// then
//   x = (x + norm(out(attention)) + norm(x) + norm(branch)) / sqrt(2),
// the norms being GI_NORM_ATTN_POST, GI_NORM_ATTN and GI_NORM_BRANCH_POST.
void gi_graph_branch(struct gi_graph *graph, uint32_t layer);
void gi_graph_attn_out_branch(struct gi_graph *graph, uint32_t layer);
// The same as gi_graph_ffn_up in a layer of whose gates few are open (ops/norm/sparse_glu.h).
void gi_graph_ffn_up_sparse(struct gi_graph *graph, uint32_t layer);

// x += residual_scale * sum over the chosen and the shared experts of share *
// down(activation(gate) * up), of GI_NORM_FFN: a mixture of experts. Only the weights of chosen
// experts are read; a prompt sorts its tokens by expert and reads each once, a batch too small for
// that once a token.
void gi_graph_experts_block(struct gi_graph *graph, uint32_t layer);
// Record the same in two: the choice of experts by x as it is, before attention adds to it, and the
// rest.
void gi_graph_choose_experts(struct gi_graph *graph, uint32_t layer);
void gi_graph_chosen_experts_block(struct gi_graph *graph, uint32_t layer);

// x += out(o), o being what the gated delta rule leaves of the projection of norm(x)
// (ops/delta/delta.h): linear attention, in a recurrent layer.
void gi_graph_delta_block(struct gi_graph *graph, uint32_t layer);

// x += out(c * conv(b * x)), b, c and x being the projection of norm(x) (ops/conv/short_conv.h): a
// short convolution, in a recurrent layer.
void gi_graph_short_conv_block(struct gi_graph *graph, uint32_t layer);

// Records y, what a state space model (ops/ssm/ssm.h) leaves of the projection of norm(x), in a
// layer that keeps a state; attention of the same x may follow. Then x += residual_scale * out(y).
void gi_graph_ssm(struct gi_graph *graph, uint32_t layer);
void gi_graph_ssm_out(struct gi_graph *graph, uint32_t layer);

// x = the layernorm of x, of a batch: norm's weights, and shift's behind them. An encoder's layer
// has two, each of which makes x and norm of the graph change places.
void gi_graph_layernorm(struct gi_graph *graph, const char *label, uint32_t layer,
                        enum gi_norm norm, enum gi_norm shift);

// Record the usual ones together.
// x += out(attention(rope(qkv(norm(x))))): pre-norm self-attention with grouped heads.
void gi_graph_attention_block(struct gi_graph *graph, uint32_t layer);
// x += down(activation(gate(norm(x))) * up(norm(x))): the gated feed-forward network.
void gi_graph_ffn_block(struct gi_graph *graph, uint32_t layer);

#endif
