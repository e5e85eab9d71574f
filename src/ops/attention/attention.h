// Attention over a layer's cache, for one token and for a batch of a prompt.
//   out[h] = sum over keys j of softmax_j(scale * q[h] . k[h', j]) v[h', j],  h' = h * n_kv_head /
//   n_head
#ifndef GI_OPS_ATTENTION_H
#define GI_OPS_ATTENTION_H

#include "ops/record/recorder.h"
#include "ops/record/stream.h"

#define GI_MAX_HEAD_DIM 512u

// Says what scores become before softmax, and which keys take part.
struct gi_score_rule {
    float scale;
    float softcap;   // scores s become softcap * tanh(s / softcap); 0: they stay
    uint32_t window; // a token sees so many keys, its own the last of them; 0: all
    // Hold of batches alone: keys behind its own that a token also sees, and ALiBi, 0: none.
    uint32_t after;
    float max_bias;
    bool has_sinks; // each head has a score that takes a weight and gives no value
    uint32_t sinks; // (n_head) of the vectors: offset in floats
    struct gi_range vectors;
};

// Scratch of decode attention: out (n_head * head_dim) f32 at the start, gi_x_size floats of that
// or more, then four uints a head, some of them counters (zero between steps), and the partial
// results of key ranges.
struct gi_attention_scratch {
    struct gi_range range;     // of a joint list: of all slots
    uint32_t partial, counter; // offsets in floats (uints)
    uint64_t slot_size;        // of a joint list: bytes from one slot's to the next's, as above
};
// Sets the offsets for a layer's shape, with `least` floats at the start at least; returns the
// bytes that the range must have. The offsets hold if a device can bind as many.
uint64_t gi_attention_scratch_layout(struct gi_attention_scratch *scratch,
                                     const struct gi_kv_layer *layer, uint32_t least);

// Ranges that any scratch has room for, so that where partial results lie does not depend on the
// context.
#define GI_ATTENTION_LEAST_RANGES 32u

// One token at position step_state.n_past sees keys 0..n_past. Keys are split into ranges, one work
// group a range and a head or a few heads of a kv head; the last group of them to finish merges the
// ranges in their order, so that the result does not depend on which one that is. One dispatch.
void gi_op_attention(struct gi_recorder *recorder, const char *label,
                     const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                     const struct gi_attention_scratch *scratch);

// Those of its parameters that depend on the context.
#define GI_ATTENTION_CONTEXT_PARAMS                                                                \
    (GI_PARAM_BIT(struct gi_attention_params, n_ctx) |                                             \
     GI_PARAM_BIT(struct gi_attention_params, k) | GI_PARAM_BIT(struct gi_attention_params, v) |   \
     GI_PARAM_BIT(struct gi_attention_params, k_scale) |                                           \
     GI_PARAM_BIT(struct gi_attention_params, v_scale))

// Parameters that every kernel of decode attention reads, with a context of at most max_range
// ranges of keys: they share their Params.
struct gi_attention_params gi_attention_step_params(const struct gi_kv_layer *layer,
                                                    const struct gi_score_rule *rule,
                                                    const struct gi_attention_scratch *scratch,
                                                    uint32_t max_range);

// Gives a dispatch the sinks of a rule that has them.
void gi_attention_add_sinks(const struct gi_score_rule *rule, struct gi_program_key *key,
                            struct gi_dispatch *dispatch);

// Lets a step's dispatch run in pieces along an axis of heads where it may be long in a full
// context.
void gi_attention_add_pieces(const struct gi_recorder *recorder, const struct gi_kv_layer *layer,
                             uint32_t axis, struct gi_program_key *key,
                             struct gi_dispatch *dispatch);

// Notes in a dispatch what attention reads and does for each key.
void gi_attention_count_key(const struct gi_kv_layer *layer, uint32_t window,
                            struct gi_dispatch *dispatch);

// True if it also leaves the sums of out.
bool gi_attention_has_sums(const struct gi_recorder *recorder, const struct gi_kv_layer *layer);

// True if the attention of a batch can leave out in f16 (ops/gemm/half_rows.h).
bool gi_attention_has_halves(const struct gi_recorder *recorder, const struct gi_kv_layer *layer);

// Token m of the batch, at position n_past + m, sees keys 0..n_past + m, its own batch's included,
// and rule->after behind them, as far as the batch goes.
//   q   (n_tokens, n_head * head_dim) f32, pair order     out likewise
void gi_op_attention_batch(struct gi_recorder *recorder, const char *label,
                           const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                           const struct gi_rows *q, const struct gi_rows *out);

#endif
