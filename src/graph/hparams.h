// Reads the hyperparameters of a model from GGUF metadata and checks that the engine supports them.
// This module reads the common ones; a family's file reads its own. Plain data, no GL.
#pragma once

#include "gguf/gguf.h"
#include "ops/experts/router_rule.h"
#include "ops/record/activation.h"

// The rows of a head that form rotary pair i.
enum gi_rope_pairing {
    GI_ROPE_PAIRING_ADJACENT, // 2 i and 2 i + 1
    GI_ROPE_PAIRING_HALVES,   // i and i + n_rot / 2
};

// How fast rotary pairs turn with the position.
struct gi_rope_hparams {
    float base;
    float divisor;       // of positions: linear scaling, and yarn's
    float magnitude;     // multiplies cos and sin: attention factor of yarn and longrope
    uint32_t n_ctx_orig; // yarn, longrope: the original context in tokens
    // yarn: pairs with between beta_slow and beta_fast turns over n_ctx_orig are scaled in part
    float beta_fast, beta_slow;
    bool is_yarn;
};

// The memory that a layer keeps of the text: keys and values of each token, a state of fixed size,
// both, or nothing.
enum gi_layer_kind {
    GI_LAYER_ATTENTION,
    GI_LAYER_WINDOW,    // attention with heads of another shape
    GI_LAYER_SHARED_KV, // attention over the keys and values of an earlier layer; stores nothing
    GI_LAYER_RECURRENT,
    GI_LAYER_BOTH,
    GI_LAYER_CROSS,   // attention over keys and values of another tower; stores nothing
    GI_LAYER_KEYS,    // keys and values for another tower, without attention
    GI_LAYER_NETWORK, // a feed-forward network alone; stores nothing
    GI_LAYER_KIND_COUNT,
};

// The sizes of recurrent layers, the same in all of them.
struct gi_recurrent_hparams {
    uint32_t n_taps, n_channel; // of the convolution: tokens that it sees, elements of a token
    uint32_t n_after;           // tokens of these that come after its own, in an encoder
    // The number of matrices (state_dim, dim), of heads of q and k or groups of b and c, and the
    // size of a matrix; a layer without matrices has one head of its width.
    uint32_t n_head, n_k_head, dim, state_dim;
    // Adjacent heads that share a head of q and k, if these are fewer; 0: head h uses head
    // h % n_k_head.
    uint32_t n_neighbour;
    bool has_norm;       // their result is normed; some files of a family have no norm
    uint32_t n_column;   // GPU rows of the layer's first projection
    uint32_t state_size; // floats of a layer's state
};

// The layernorm of an encoder's embeddings, and the other norm that it replaces.
enum gi_embed_norm {
    GI_EMBED_NORM_NONE,
    GI_EMBED_NORM_OUTPUT, // the norm before the output: the last layer ends in a norm
    GI_EMBED_NORM_FIRST,  // the norm before the first layer's attention, which reads embeddings
};

#define GI_MAX_LAYERS 1024

// The heads of a layer with attention.
struct gi_heads {
    uint32_t n_kv_head, head_dim, n_rot;
};

// Inputs that layers have in addition to the residual: a vector for each token and layer. They are
// written and read in blocks of GI_INPUT_BLOCK columns.
#define GI_INPUT_BLOCK 32u
struct gi_layer_inputs {
    uint32_t width; // elements of a layer's vector; 0: the model has no such inputs
    float scale;    // multiplies the embeddings from which they are made
};

// Several residual streams, and a low-rank branch next to attention.
struct gi_altup_hparams {
    uint32_t n;           // number of streams: 4; 0: one residual
    uint32_t branch_rank; // of the low-rank branch
};

struct gi_hparams {
    uint32_t n_layer, n_embd, n_ff, n_head, n_kv_head, head_dim, n_rot, n_vocab, n_ctx_train;
    uint32_t n_vocab_rows; // of the embedding: rows from n_vocab on belong to no token
    // Layers of a file whose layers run several times: layer i has the weights of layer
    // i % n_own_layer, and keys and values of its own. 0: each layer runs once.
    uint32_t n_own_layer;
    bool has_loop_norm; // the norm before the output follows each run of these
    // A mixture of experts; 0: a dense model. n_ff is then the width in the first n_leading layers,
    // which have no experts; if all layers have experts it is n_expert_ff.
    uint32_t n_expert, n_expert_used, n_expert_ff, n_leading;
    bool has_no_experts[GI_MAX_LAYERS]; // other layers of a mixture that have no experts
    bool has_network_beside;            // layers with experts have a network of n_ff, too
    float router_norm_factor; // of the norm of the router's input, if that is not another; 0: 1
    uint32_t n_shared; // networks of an expert's width that all tokens use: the shared expert of
                       // the file, split
    struct gi_router_rule router;
    float norm_eps;
    float attention_scale;       // of q . k
    float temperature;           // scales q by its position: struct gi_rope; 0: not scaled
    uint32_t temperature_period; // positions
    float embed_scale, residual_scale, logit_scale; // 1 where the family has none
    float attention_softcap, logit_softcap;         // 0: none
    enum gi_activation activation;
    struct gi_xielu xielu[GI_MAX_LAYERS]; // numbers of GI_ACTIVATION_XIELU
    uint32_t window;                      // keys that a token sees in a layer with a window
    uint32_t window_period; // layers in a period, of which one has no window; 0: no window
    bool begins_unwindowed; // that layer is the first of the period, not the last
    bool has_window_list;   // window_list says which layers have a window
    bool window_list[GI_MAX_LAYERS];
    bool is_unrotated[GI_MAX_LAYERS]; // layers without rotations in a family that has some
    enum gi_rope_pairing rope_pairing;
    struct gi_rope_hparams rope;
    struct gi_rope_hparams window_rope; // of layers with a window, if has_window_rope
    bool has_window_rope;
    uint8_t layer_kinds[GI_MAX_LAYERS]; // enum gi_layer_kind
    bool has_uneven_kv_heads;     // layers differ in heads of k and v; not known yet which layers
    struct gi_heads window_heads; // of layers with a window, if has_window_heads
    bool has_window_heads;
    bool has_value_norm;  // heads of v are normed, without weights
    bool has_head_gates;  // gates of attention's output, if any, are those of whole heads
    uint32_t n_shared_kv; // the last layers, which read the keys and values of earlier ones
    struct gi_layer_inputs inputs;
    struct gi_altup_hparams altup;
    // Layers with activation sparsity: a gate is open if it exceeds the token's mean gate by
    // `sparsity` standard deviations.
    bool is_sparse[GI_MAX_LAYERS];
    float sparsity[GI_MAX_LAYERS];
    uint32_t layer_ff[GI_MAX_LAYERS]; // a layer's width if it differs from n_ff; 0: n_ff
    struct gi_recurrent_hparams recurrent;
    // An encoder: tokens also see later ones; a window extends half to either side. There is no
    // cache, so a text is one batch.
    bool is_encoder;
    float max_alibi_bias; // of an encoder; 0: no ALiBi
    enum gi_embed_norm embed_norm;
    bool has_positions; // position vectors are added to the embeddings
    // The rank of low-rank adapters (ops/record/weight.h), and the most rows of a matrix A; 0:
    // none.
    uint32_t adapter_rank, adapter_rows;
    // An encoder of sound: its input is two rows of n_sound columns for each position, which two
    // convolutions of three rows turn into a row of n_embd; 0: its input is tokens.
    uint32_t n_sound;
    enum glinfer_pooling pooling;      // of embeddings; DEFAULT: the file does not say
    enum glinfer_pooling rank_pooling; // before a classifier; DEFAULT: cls, or last for a decoder
    bool rank_has_gelu;                // the classifier's activation is GELU instead of tanh
};

// Reads keys "prefix.name" of a file, where prefix is its general.architecture.
struct gi_hparams_reader {
    const struct gi_gguf *gguf;
    const char *prefix;
    struct glinfer_error *err;
};
// Fails with a status and a sentence about the file; a printf format and its arguments.
#define GI_HPARAMS_FAIL(reader, status, format, ...)                                               \
    gi_error_set((reader)->err, GLINFER_STATUS_##status, "%s: " format,                            \
                 gi_gguf_path((reader)->gguf), __VA_ARGS__)

// Reads the keys that all families share. Sets scales to 1 or 1 / sqrt(head_dim); does not set the
// pairing. n_ff is 0 if a file has only the width of experts. n_vocab is the number of tokens, at
// most the embedding's rows. Layers without heads of k and v become recurrent. Fails with
// BAD_FILE (a key is missing, has the wrong type or is out of range) and UNSUPPORTED (an unknown
// type of RoPE scaling, a head size that is not a multiple of 8, layers that differ in heads of k
// and v, unless a family defines the heads of layers with a window). In a file without heads of q
// all layers are recurrent.
bool gi_hparams_read(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);

// Reads the keys of a mixture of experts, and which layers have no experts. Fails with BAD_FILE.
bool gi_hparams_read_experts(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
// Reads the width of the shared expert, or uses fallback if the key is missing; 0: no shared
// expert. Fails with BAD_FILE, and UNSUPPORTED (not a multiple of an expert's width).
bool gi_hparams_read_shared(const struct gi_hparams_reader *reader, uint32_t fallback,
                            struct gi_hparams *hparams);
// Reads the router's rule; fallback has the values of missing keys. Fails with BAD_FILE, and
// UNSUPPORTED (an unknown gating function).
bool gi_hparams_read_router(const struct gi_hparams_reader *reader, struct gi_router_rule fallback,
                            struct gi_hparams *hparams);

// Reads which layers have a window: a period, or a list of booleans; fallback if the key is
// missing. n_layer must be set. Fails with BAD_FILE.
bool gi_hparams_window_period(const struct gi_hparams_reader *reader, uint32_t fallback,
                              struct gi_hparams *hparams);

// Reads which layers have rotations: all if the key is missing. n_layer must be set. Fails with
// BAD_FILE.
bool gi_hparams_rope_pattern(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);

enum gi_layer_kind gi_layer_kind(const struct gi_hparams *hparams, uint32_t layer);
// Returns true for a layer that a family describes in its table of other layers: a recurrent one,
// one of cross-attention, or one of keys alone. A network alone has a table of its own.
bool gi_layer_is_other(const struct gi_hparams *hparams, uint32_t layer);
// Return true for a layer whose weights make queries; keys and values.
bool gi_has_q(const struct gi_hparams *hparams, uint32_t layer);
bool gi_has_kv(const struct gi_hparams *hparams, uint32_t layer);
// Return true for a layer that stores keys and values, or a state.
bool gi_keeps_rows(const struct gi_hparams *hparams, uint32_t layer);
bool gi_keeps_state(const struct gi_hparams *hparams, uint32_t layer);
// Returns true if any layer stores a state.
bool gi_has_recurrence(const struct gi_hparams *hparams);
// Returns the bytes of the states of all layers; 0 without recurrent layers.
uint64_t gi_states_size(const struct gi_hparams *hparams);
// Make a layer store a state, instead of keys and values or in addition to them.
void gi_set_recurrent(struct gi_hparams *hparams, uint32_t layer);
void gi_add_state(struct gi_hparams *hparams, uint32_t layer);

// Reads the heads of layers with a window, which may differ; window_period must be set. Fails with
// BAD_FILE and UNSUPPORTED like gi_hparams_read.
bool gi_hparams_window_heads(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
// Fails with UNSUPPORTED if layers differ in heads of k and v and no family explained by what.
bool gi_hparams_check_kv_heads(const struct gi_hparams_reader *reader,
                               const struct gi_hparams *hparams);

// Fails with UNSUPPORTED if no kernel supports the width of the layers' own inputs.
bool gi_hparams_check_inputs(const struct gi_hparams_reader *reader,
                             const struct gi_hparams *hparams);

// Reads the number of last layers that read the keys and values of earlier ones; converters write
// it as integer or float. Fails with BAD_FILE (an invalid number of layers, or one of these layers
// has no earlier layer of its kind).
bool gi_hparams_shared_kv(const struct gi_hparams_reader *reader, uint32_t fallback,
                          struct gi_hparams *hparams);

// Reads how often the layers run, and multiplies n_layer by it. Fails with BAD_FILE.
bool gi_hparams_loops(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
// Returns the layer of the file whose weights a layer has.
uint32_t gi_file_layer(const struct gi_hparams *hparams, uint32_t layer);

// Returns true for a layer with a window.
bool gi_has_window(const struct gi_hparams *hparams, uint32_t layer);

// Returns the heads of a layer; with has_window_heads, layers with a window have other heads.
struct gi_heads gi_layer_heads(const struct gi_hparams *hparams, uint32_t layer);
// Returns the width of a layer's feed-forward network.
uint32_t gi_layer_ff(const struct gi_hparams *hparams, uint32_t layer);
// Returns the layer whose keys and values a layer reads: itself or, for the last n_shared_kv, the
// last layer before them that also has, or also lacks, a window.
uint32_t gi_cache_layer(const struct gi_hparams *hparams, uint32_t layer);

// Returns the layer whose memory holds a layer's keys and values: an encoder reads them only within
// the layer, so that its layers use the same memory, else the layer itself.
uint32_t gi_memory_layer(const struct gi_hparams *hparams, uint32_t layer);

// Read one of the family's keys; fallback if it is missing. Fail with BAD_FILE if it has the wrong
// type or, for an f32, is not positive.
bool gi_hparams_u32(const struct gi_hparams_reader *reader, const char *name, uint32_t fallback,
                    uint32_t *out);
bool gi_hparams_f32(const struct gi_hparams_reader *reader, const char *name, float fallback,
                    float *out);
bool gi_hparams_bool(const struct gi_hparams_reader *reader, const char *name, bool fallback,
                     bool *out);
// Sets out->data to NULL if the string is missing.
bool gi_hparams_string(const struct gi_hparams_reader *reader, const char *name,
                       struct gi_gguf_string *out);
// Returns true if the string equals word.
bool gi_hparams_is_word(struct gi_gguf_string text, const char *word);

// Fills table (n_ctx, n_rot) with magnitude times cos, sin of each rotary pair at each position:
//   angle = position * base^(-2 i / n_rot) / (divisor * factors[i])
// factors (n_rot / 2) may be NULL: all 1. Llama 3.1 files have them as rope_freqs, longrope files
// as rope_factors_short and _long. With yarn fast pairs are not divided, and pairs of medium speed
// in part.
void gi_rope_table_fill(const struct gi_rope_hparams *rope, uint32_t n_rot, const float *factors,
                        uint32_t n_ctx, float *table);
