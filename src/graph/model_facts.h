// The numbers of a model, as GGUF metadata gives them, checked to be ones that the engine can hold. A
// family reads the common ones here and adds its own. Plain data, no GL.
#ifndef GI_GRAPH_MODEL_FACTS_H
#define GI_GRAPH_MODEL_FACTS_H

#include "gguf/gguf.h"

// Which rows of a head form rotary pair i.
enum gi_rope_pairing {
    GI_ROPE_PAIRING_ADJACENT, // 2 i and 2 i + 1
    GI_ROPE_PAIRING_HALVES,   // i and i + n_rot / 2
};

struct gi_model_facts {
    uint32_t n_layer, n_embd, n_ff, n_head, n_kv_head, head_dim, n_rot, n_vocab, n_ctx_train;
    float norm_eps;
    float attention_scale;                          // of q . k
    float embed_scale, residual_scale, logit_scale; // 1 where the family has none
    enum gi_rope_pairing rope_pairing;
    float rope_base;
    float rope_divisor; // linear scaling: positions are divided by it
};

// Reads the keys that all families share, prefix being general.architecture; the scales are 1 or
// 1 / sqrt(head_dim), the pairing is left as it is. n_vocab comes from the embedding. Fails with BAD_FILE
// (a key missing, of the wrong kind, out of range) and UNSUPPORTED (a kind of RoPE scaling that is not
// known, a head that is no multiple of 8).
bool gi_model_facts_read(const struct gi_gguf *gguf, const char *prefix,
                         struct gi_model_facts *facts, struct glinfer_error *err);

// Fills table (n_ctx, n_rot) with cos, sin of each rotary pair at each position:
//   angle = position * base^(-2 i / n_rot) / (divisor * factors[i])
// factors (n_rot / 2) may be NULL: all 1 (they are what Llama 3.1 files carry as rope_freqs).
void gi_rope_table_fill(const struct gi_model_facts *facts, const float *factors, uint32_t n_ctx,
                        float *table);

#endif
