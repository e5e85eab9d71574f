// The hyperparameters of a model as GGUF metadata gives them, checked to be ones that the engine
// can hold. The common ones are read here; a family adds its own. Plain data, no GL.
#ifndef GI_GRAPH_HPARAMS_H
#define GI_GRAPH_HPARAMS_H

#include "gguf/gguf.h"
#include "ops/experts/router_rule.h"
#include "ops/record/activation.h"

// Says which rows of a head form rotary pair i.
enum gi_rope_pairing {
    GI_ROPE_PAIRING_ADJACENT, // 2 i and 2 i + 1
    GI_ROPE_PAIRING_HALVES,   // i and i + n_rot / 2
};

// Says how fast rotary pairs turn with the position.
struct gi_rope_hparams {
    float base;
    float divisor;       // of positions: linear scaling, and yarn's
    float magnitude;     // of cos and sin: yarn's and longrope's factor of attention
    uint32_t n_ctx_orig; // yarn, longrope: the context before it was stretched
    // yarn: turns over n_ctx_orig from and up to which pairs are divided in part
    float beta_fast, beta_slow;
    bool is_yarn;
};

// Says what a layer keeps of the text: keys and values of each token, a state of one size, both
// side by side, or nothing.
enum gi_layer_kind {
    GI_LAYER_ATTENTION,
    GI_LAYER_WINDOW,    // the same, with heads of another shape
    GI_LAYER_SHARED_KV, // attention over the keys and values of an earlier layer: it keeps nothing
    GI_LAYER_RECURRENT,
    GI_LAYER_BOTH,
    GI_LAYER_KIND_COUNT,
};

// The sizes of recurrent layers, which are all alike.
struct gi_recurrent_hparams {
    uint32_t n_taps, n_channel; // of the convolution: tokens that it sees, elements of a token
    // Matrices (state_dim, dim) and their size, with heads of q and k, or groups of b and c; a
    // layer without them has one head of its width.
    uint32_t n_head, n_k_head, dim, state_dim;
    // Heads side by side that share a head of q and k, where these are fewer; 0: they take them in
    // turn.
    uint32_t n_neighbour;
    bool has_norm;       // of what they give: a family's files may lack it
    uint32_t n_column;   // GPU rows of the projection to them
    uint32_t state_size; // floats of a layer's state
};

// Says whether the embeddings of an encoder have a layernorm, and which norm's place it takes.
enum gi_embed_norm {
    GI_EMBED_NORM_NONE,
    GI_EMBED_NORM_OUTPUT, // the output's: the last layer ends in a norm
    GI_EMBED_NORM_FIRST,  // that before attention of the first layer, which reads the embeddings
};

#define GI_MAX_LAYERS 1024

// The heads of a layer with attention.
struct gi_heads {
    uint32_t n_kv_head, head_dim, n_rot;
};

// Inputs that layers have beside the residual: a vector of each token for each layer. Embeddings
// are written, and products read them, in blocks of so many columns.
#define GI_INPUT_BLOCK 32u
struct gi_layer_inputs {
    uint32_t width; // of a layer's; 0: there are none
    float scale;    // of the embeddings that they come from
};

// Streams of the residual beside the first, and a low-rank branch beside attention.
struct gi_altup_hparams {
    uint32_t n;           // streams: 4; 0: the residual is one
    uint32_t branch_rank; // of the low-rank branch
};

struct gi_hparams {
    uint32_t n_layer, n_embd, n_ff, n_head, n_kv_head, head_dim, n_rot, n_vocab, n_ctx_train;
    uint32_t n_vocab_rows; // of the embedding: those past n_vocab belong to no token
    // A mixture of experts; 0: none. n_ff is then that of the first n_leading layers, which have
    // none, or an expert's too if all have.
    uint32_t n_expert, n_expert_used, n_expert_ff, n_leading;
    uint32_t n_shared; // networks as wide as an expert that all tokens take: what a file calls the
                       // shared expert, cut into pieces
    struct gi_router_rule router;
    float norm_eps;
    float attention_scale; // of q . k
    float temperature;     // by which q grows with its position: struct gi_rope; 0: it does not
    uint32_t temperature_period;                    // positions
    float embed_scale, residual_scale, logit_scale; // 1 where the family has none
    float attention_softcap, logit_softcap;         // 0: none
    enum gi_activation activation;
    struct gi_xielu xielu[GI_MAX_LAYERS]; // numbers of GI_ACTIVATION_XIELU
    uint32_t window;                      // keys that a token sees in a layer with a window
    uint32_t window_period;               // of so many layers all but one have one; 0: none has
    bool begins_unwindowed;               // that one is the first of them, not the last
    enum gi_rope_pairing rope_pairing;
    struct gi_rope_hparams rope;
    struct gi_rope_hparams window_rope; // of layers with a window, if has_window_rope
    bool has_window_rope;
    uint8_t layer_kinds[GI_MAX_LAYERS]; // enum gi_layer_kind
    bool has_uneven_kv_heads; // heads of k and v differ, and it is not known yet in which layers
    struct gi_heads window_heads; // of layers with a window, if has_window_heads
    bool has_window_heads;
    bool has_value_norm;  // heads of v are normed, without weights
    uint32_t n_shared_kv; // the last layers, which read the keys and values of earlier ones
    struct gi_layer_inputs inputs;
    struct gi_altup_hparams altup;
    // Layers of whose gates only those are open that stand so many standard deviations over the
    // mean of a token's.
    bool is_sparse[GI_MAX_LAYERS];
    float sparsity[GI_MAX_LAYERS];
    uint32_t layer_ff[GI_MAX_LAYERS]; // of layers whose n_ff is another; 0: it is not
    struct gi_recurrent_hparams recurrent;
    // An encoder: tokens also see those behind them, of a layer with a window half of it on either
    // side. There is no cache, so a text is one batch.
    bool is_encoder;
    float max_alibi_bias; // of an encoder; 0: none
    enum gi_embed_norm embed_norm;
    bool has_positions;                // vectors are added to the embeddings
    enum glinfer_pooling pooling;      // of embeddings; DEFAULT: the file does not say
    enum glinfer_pooling rank_pooling; // before a classifier; DEFAULT: cls, of a decoder last
    bool rank_has_gelu;                // the classifier's activation, not tanh
};

// Reads keys "prefix.name" of a file, prefix being its general.architecture.
struct gi_hparams_reader {
    const struct gi_gguf *gguf;
    const char *prefix;
    struct glinfer_error *err;
};

// Reads the keys that all families share; scales are 1 or 1 / sqrt(head_dim), the pairing is left
// as it is. n_ff is 0 where a file gives that of experts alone. n_vocab is the number of tokens, at
// most that of the embedding's rows; layers without heads of k and v become recurrent. Fails with
// BAD_FILE (a key missing, of the wrong kind, out of range) and UNSUPPORTED (an unknown kind of
// RoPE scaling, a head that is not a multiple of 8, layers with other heads of k and v, but where a
// family says what layers with a window have).
bool gi_hparams_read(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);

// Reads what a mixture of experts has besides, and which layers are none. Fails with BAD_FILE.
bool gi_hparams_read_experts(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
// Reads the width of the expert that all tokens share, of which fallback is what the file does not
// say; 0: none. Fails with BAD_FILE, and UNSUPPORTED (no multiple of an expert's).
bool gi_hparams_read_shared(const struct gi_hparams_reader *reader, uint32_t fallback,
                            struct gi_hparams *hparams);
// Reads the router's rule, of which fallback is what the file does not say. Fails with BAD_FILE,
// and UNSUPPORTED (gating of another kind).
bool gi_hparams_read_router(const struct gi_hparams_reader *reader, struct gi_router_rule fallback,
                            struct gi_hparams *hparams);

// Reads which layers have a window: a period, or a list of truth values that has one; fallback if
// the file says nothing. n_layer is read. Fails with BAD_FILE, and UNSUPPORTED (a list without a
// period).
bool gi_hparams_window_period(const struct gi_hparams_reader *reader, uint32_t fallback,
                              struct gi_hparams *hparams);

enum gi_layer_kind gi_layer_kind(const struct gi_hparams *hparams, uint32_t layer);
// True for a layer that keeps keys and values, and for one that keeps a state.
bool gi_keeps_rows(const struct gi_hparams *hparams, uint32_t layer);
bool gi_keeps_state(const struct gi_hparams *hparams, uint32_t layer);
// True if any layer keeps a state.
bool gi_has_recurrence(const struct gi_hparams *hparams);
// Makes a layer keep a state in place of keys and values, or beside them.
void gi_set_recurrent(struct gi_hparams *hparams, uint32_t layer);
void gi_add_state(struct gi_hparams *hparams, uint32_t layer);

// Reads the heads of layers with a window, which may be others; which layers have one is known.
// Fails with BAD_FILE and UNSUPPORTED as gi_hparams_read does.
bool gi_hparams_window_heads(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
// Fails with UNSUPPORTED if heads of k and v differ and no family has told by what.
bool gi_hparams_check_kv_heads(const struct gi_hparams_reader *reader,
                               const struct gi_hparams *hparams);

// Fails with UNSUPPORTED if the width of layers' own inputs is one that no kernel takes.
bool gi_hparams_check_inputs(const struct gi_hparams_reader *reader,
                             const struct gi_hparams *hparams);

// Reads how many of the last layers read the keys and values of earlier ones, which converters
// write as either kind of number. Fails with BAD_FILE (it is no number of layers, or no earlier
// layer is of a kind with one of them).
bool gi_hparams_shared_kv(const struct gi_hparams_reader *reader, uint32_t fallback,
                          struct gi_hparams *hparams);

// True for a layer with a window.
bool gi_has_window(const struct gi_hparams *hparams, uint32_t layer);

// Returns the heads of a layer, which differ in one with a window if has_window_heads.
struct gi_heads gi_layer_heads(const struct gi_hparams *hparams, uint32_t layer);
// Returns the width of a layer's feed-forward network.
uint32_t gi_layer_ff(const struct gi_hparams *hparams, uint32_t layer);
// Returns the layer whose keys and values a layer reads: itself, or of those before the last
// n_shared_kv the last one with a window or the last one without, as it has one itself.
uint32_t gi_cache_layer(const struct gi_hparams *hparams, uint32_t layer);

// Read a key of the family's own; fallback if it is missing. Fail with BAD_FILE if it is of the
// wrong kind or, for an f32, not a positive number.
bool gi_hparams_u32(const struct gi_hparams_reader *reader, const char *name, uint32_t fallback,
                    uint32_t *out);
bool gi_hparams_f32(const struct gi_hparams_reader *reader, const char *name, float fallback,
                    float *out);
bool gi_hparams_bool(const struct gi_hparams_reader *reader, const char *name, bool fallback,
                     bool *out);
// A missing string has data NULL.
bool gi_hparams_string(const struct gi_hparams_reader *reader, const char *name,
                       struct gi_gguf_string *out);
// True if the string is that word.
bool gi_hparams_is_word(struct gi_gguf_string text, const char *word);

// Fills table (n_ctx, n_rot) with magnitude times cos, sin of each rotary pair at each position:
//   angle = position * base^(-2 i / n_rot) / (divisor * factors[i])
// factors (n_rot / 2) may be NULL: all 1 (they are what Llama 3.1 files carry as rope_freqs, and
// longrope files as rope_factors_short and _long). With yarn fast pairs are not divided, and those
// between in part.
void gi_rope_table_fill(const struct gi_rope_hparams *rope, uint32_t n_rot, const float *factors,
                        uint32_t n_ctx, float *table);

#endif
