// Records attention over a layer's KV cache, for one token of a step and for a prompt's batch.
//   out[h] = sum over keys j of softmax_j(scale * q[h] . k[h', j]) v[h', j],  h' = h * n_kv_head /
//   n_head
#pragma once

#include "ops/record/recorder.h"
#include "ops/record/stream.h"

#define GI_MAX_HEAD_DIM 512u
#define GI_ALL_KEYS     (1u << 24) // more than a context has

// How scores are adjusted before softmax, and which keys a token sees.
struct gi_score_rule {
    float scale;
    float softcap;   // scores s become softcap * tanh(s / softcap); 0: no softcap
    uint32_t window; // number of keys that a token sees, its own as the last; 0: all
    // For batches only: keys after its own that a token also sees (without a window at least n_ctx,
    // which is all), and ALiBi's largest bias; 0: off
    uint32_t after;
    float max_bias;
    // A step_state whose n_past and n_tokens count the keys in place of the list's: attention over
    // keys of another text; buffer NULL: the list's.
    struct gi_range keys;
    bool has_sinks; // each head has a score that takes part in softmax but has no value
    uint32_t sinks; // (n_head) of the vectors: offset in floats
    struct gi_range vectors;
};

// Scratch memory of decode attention: the output (n_head * head_dim) f32 in at least gi_x_size
// floats at the start, then four uints a head, some of them counters (zero between steps), then the
// partial results of key ranges.
struct gi_attention_scratch {
    struct gi_range range;     // in a joint list: of all slots
    uint32_t partial, counter; // offsets in floats (uints)
    uint64_t slot_size;        // in a joint list: bytes from one slot's scratch to the next
};
// Sets the offsets for a layer's shape, with at least `least` floats for the output; returns the
// bytes that the range must have. The offsets are valid if a device can bind that size.
uint64_t gi_attention_scratch_layout(struct gi_attention_scratch *scratch,
                                     const struct gi_kv_layer *layer, uint32_t least);

// Key ranges that every scratch has room for, so that offsets of partial results do not depend on
// the context.
#define GI_ATTENTION_LEAST_RANGES 32u

// Attention of one token at position step_state.n_past over keys 0..n_past. A work group computes
// one range of keys for one head, or a few heads of a kv head; the last group to finish merges the
// ranges in their order, so that the result does not depend on timing. One dispatch.
void gi_op_attention(struct gi_recorder *recorder, const char *label,
                     const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                     const struct gi_attention_scratch *scratch);

// The parameters of gi_op_attention that depend on the size of the context.
#define GI_ATTENTION_CONTEXT_PARAMS                                                                \
    (GI_PARAM_BIT(struct gi_attention_params, n_ctx) |                                             \
     GI_PARAM_BIT(struct gi_attention_params, k) | GI_PARAM_BIT(struct gi_attention_params, v) |   \
     GI_PARAM_BIT(struct gi_attention_params, k_scale) |                                           \
     GI_PARAM_BIT(struct gi_attention_params, v_scale) |                                           \
     GI_PARAM_BIT(struct gi_attention_params, slot_cache) |                                        \
     GI_PARAM_BIT(struct gi_attention_params, slot_scratch))

// Returns the parameters that all kernels of decode attention share, for a context of at most
// max_range key ranges.
struct gi_attention_params gi_attention_step_params(const struct gi_kv_layer *layer,
                                                    const struct gi_score_rule *rule,
                                                    const struct gi_attention_scratch *scratch,
                                                    uint32_t max_range);

// Records a step's dispatch, whose program, groups and parameters are set: adds the sinks of the
// rule, the bytes and operations of a key, and all slots along the third axis. Along `axis`, unless
// GI_ATTENTION_WHOLE, the dispatch runs in pieces if it may take long in a full context.
#define GI_ATTENTION_WHOLE UINT32_MAX
void gi_attention_record_step(struct gi_recorder *recorder, const struct gi_kv_layer *layer,
                              const struct gi_score_rule *rule, uint32_t axis,
                              struct gi_program_key *key, struct gi_dispatch *dispatch);

// Returns true if gi_op_attention also writes the sums of its output.
bool gi_attention_has_sums(const struct gi_recorder *recorder, const struct gi_kv_layer *layer);

// Returns true if the attention of a batch can write its output in f16 (ops/gemm/half_rows.h).
bool gi_attention_has_halves(const struct gi_recorder *recorder, const struct gi_kv_layer *layer);

// Attention of a batch: token m, at position n_past + m, sees keys 0..n_past + m, including those
// of the batch, and the next rule->after keys up to the end of the batch.
//   q, out   (n_tokens, n_head * head_dim) f32, pair order
void gi_op_attention_batch(struct gi_recorder *recorder, const char *label,
                           const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                           const struct gi_rows *q, const struct gi_rows *out);
