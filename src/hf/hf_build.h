// The folder as families and the tokenizer see it while they fill the head of the GGUF file that it
// stands for. The first error is kept in the writer `out`; calls after it do nothing, getters then
// return their fallback, so that callers are sequences of statements.
#pragma once

#include "gguf/gguf_writer.h"
#include "hf/hf_json.h"
#include "hf/safetensors.h"

struct gi_hf_sources; // the rows of the folder that each tensor of the head is made from

struct gi_hf_build {
    const char *folder;                 // its path, for messages
    const cJSON *root;                  // config.json
    const cJSON *config;                // its text_config if it has one, else root
    const cJSON *defaults;              // of the family, for keys that both lack; may be NULL
    const struct gi_safetensors *files; // of the folder
    const char *arch;                   // general.architecture
    enum gi_ggml_type type;             // of large matrices, if `keeps` is false
    bool is_for_file;                   // only types that GGUF files have
    bool keeps;                         // matrices keep their types: --quantize none
    // Positions that each layer sees, where the engine computes no window: contexts are not longer;
    // 0: all.
    uint32_t n_window;
    struct gi_gguf_writer *out;
    struct gi_hf_sources *sources;
};

// Returns true as long as no call has failed.
bool gi_hf_ok(const struct gi_hf_build *b);
// Keeps an error unless there is one already; the sentence begins with the folder's path.
void gi_hf_fail(struct gi_hf_build *b, enum glinfer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

//-- config.json -----------------------------------------------------------------------------------

// The places of a key of rotations, in old and new files.
#define GI_HF_ROPE(key)                                                                            \
    "rope_parameters." key "|rope_parameters.full_attention." key "|rope_scaling." key
#define GI_HF_ROPE_TYPE GI_HF_ROPE("rope_type") "|" GI_HF_ROPE("type")

// Reads another JSON file of the folder, as gi_hf_json_read, whose tree the caller ends with
// cJSON_Delete. Returns NULL if the file is missing, and after a failure.
cJSON *gi_hf_read_optional(struct gi_hf_build *b, const char *name, int type);

// Keys are names in b->config, else in b->root, else in the family's defaults;
// "rope_scaling.factor" is a key of an object. null counts as absent. Of another kind than asked
// for: BAD_FILE that names the key.
const cJSON *gi_hf_get(const struct gi_hf_build *b, const char *key); // NULL: absent
// Fails with BAD_FILE if a key that is an object in all families is something else.
void gi_hf_check_objects(struct gi_hf_build *b);
// Fail with BAD_FILE if the key is absent.
uint32_t gi_hf_u32(struct gi_hf_build *b, const char *key);
float gi_hf_f32(struct gi_hf_build *b, const char *key);
// Return fallback if the key is absent.
uint32_t gi_hf_u32_or(struct gi_hf_build *b, const char *key, uint32_t fallback);
float gi_hf_f32_or(struct gi_hf_build *b, const char *key, float fallback);
bool gi_hf_bool_or(struct gi_hf_build *b, const char *key, bool fallback);
const char *gi_hf_text_or(struct gi_hf_build *b, const char *key, const char *fallback);
// Returns true if a text is one of several words, separated by '|'.
bool gi_hf_is_word(const char *text, const char *words);
// Returns max_position_embeddings, at most n_window.
uint32_t gi_hf_context(struct gi_hf_build *b);
// Returns head_dim, else hidden_size / num_attention_heads; 0 after a failure. Fails with BAD_FILE
// unless it is 1 to 2^16.
uint32_t gi_hf_head_dim(struct gi_hf_build *b);
// Returns n times the fraction of a key, rounded down; the fraction is fallback if the key is
// absent. Fails with BAD_FILE unless the fraction is 0 to 1 and n at most 2^24.
uint32_t gi_hf_fraction_of(struct gi_hf_build *b, uint32_t n, const char *key, float fallback);

//-- pairs -----------------------------------------------------------------------------------------

// Add a pair whose key follows "<arch>.", such as "context_length".
void gi_hf_add_u32(struct gi_hf_build *b, const char *key, uint32_t value);
void gi_hf_add_f32(struct gi_hf_build *b, const char *key, float value);
void gi_hf_add_bool(struct gi_hf_build *b, const char *key, bool value);
void gi_hf_add_text(struct gi_hf_build *b, const char *key, const char *value);
void gi_hf_add_u32s(struct gi_hf_build *b, const char *key, const uint32_t *values, size_t n);
void gi_hf_add_bools(struct gi_hf_build *b, const char *key, const bool *values, size_t n);
// Adds the pairs of most decoders, from the usual keys of config.json: block_count, context_length,
// embedding_length, feed_forward_length, attention.head_count, attention.head_count_kv,
// attention.key_length and attention.value_length (of head_dim), attention.layer_norm_rms_epsilon,
// vocab_size, rope.freq_base, rope.dimension_count, rope.scaling.* and the tensor rope_freqs.weight
// of rope_type "llama3".
void gi_hf_add_decoder(struct gi_hf_build *b);

//-- tensors ---------------------------------------------------------------------------------------

enum gi_hf_change {
    GI_HF_NONE,
    // Rows of each head: x[0], x[n/2], x[1], x[n/2 + 1], ... for RoPE on pairs of neighbours. Q has
    // num_attention_heads heads, K num_key_value_heads.
    GI_HF_ROPE_PAIRS_Q,
    GI_HF_ROPE_PAIRS_K,
    GI_HF_PLUS_ONE,     // x + 1: norms of Gemma, Qwen 3.5
    GI_HF_NEGATIVE_EXP, // -exp(x): A_log
    GI_HF_SQUEEZE,      // drops dimensions of 1: [C, 1, K] becomes [C, K]
    GI_HF_TRANSPOSE,    // swaps the last two dimensions
    GI_HF_EVEN_ROWS,    // rows 0, 2, 4, ... of each matrix
    GI_HF_ODD_ROWS,     // rows 1, 3, 5, ...
    GI_HF_FIRST_HALF,   // the first half of the rows of each matrix
    GI_HF_SECOND_HALF,
    GI_HF_EVEN_COLUMNS, // elements 0, 2, 4, ... of each row
    GI_HF_ODD_COLUMNS,
    GI_HF_TRANSPOSE_EVEN, // TRANSPOSE, then EVEN_ROWS
    GI_HF_TRANSPOSE_ODD,
    // Columns of linear_num_key_heads groups of heads of linear_value_head_dim columns: the first
    // head of each group, then the second of each, and so on.
    GI_HF_HEAD_COLUMNS,
};

// One tensor of GGUF from one of the folder, or from one of each expert, which are stacked. '%'
// stands for the layer, '#' in `from` for the expert. Names of the folder are without "model.",
// "language_model.", "text_model.", "transformer." and "bert." at the start. A row that finds no
// tensor is skipped; the plan of the model reports a missing weight.
struct gi_hf_row {
    const char *from;
    const char *to;
    enum gi_hf_change change;
};

// Adds the tensors of n rows for all layers.
void gi_hf_add_rows(struct gi_hf_build *b, const struct gi_hf_row *rows, size_t n);
#define GI_HF_ADD_ROWS(b, rows) gi_hf_add_rows(b, rows, sizeof(rows) / sizeof((rows)[0]))

// Adds tensors of experts whose weights are MXFP4: `from` with _blocks and with _scales at its end.
// A change is one of NONE, EVEN_ROWS and ODD_ROWS.
void gi_hf_add_packed(struct gi_hf_build *b, const struct gi_hf_row *rows, size_t n);

// Adds a tensor for all layers, the elements of `from` as a matrix with rows of n_cols.
void gi_hf_add_folded(struct gi_hf_build *b, const struct gi_hf_row *row, uint64_t n_cols);

// Rows [begin, end) of a tensor, by its name without '%' and '#'; 0, 0: all.
struct gi_hf_piece {
    const char *from;
    uint64_t begin, end;
};
// Adds one tensor from the rows of n pieces, one after another. Does nothing if the folder lacks a
// tensor of them.
void gi_hf_add_joined(struct gi_hf_build *b, const char *to, const struct gi_hf_piece *pieces,
                      size_t n, enum gi_hf_change change);
// Returns a tensor by its name as in rows, NULL if the folder lacks it. The tensor is not marked as
// used.
const struct gi_safetensor *gi_hf_find(const struct gi_hf_build *b, const char *name);
// Adds an f32 tensor of one dimension whose values are given.
void gi_hf_add_values(struct gi_hf_build *b, const char *to, const float *values, size_t n);
// Adds an f32 matrix (n_rows, n_cols) whose values are given.
void gi_hf_add_matrix(struct gi_hf_build *b, const char *to, const float *values, uint64_t n_rows,
                      uint64_t n_cols);
// Marks tensors whose names, as in rows, begin with a text as not needed. A tensor that no row uses
// and no call marks is an error.
void gi_hf_ignore(struct gi_hf_build *b, const char *start);

//-- families --------------------------------------------------------------------------------------

struct gi_hf_fixed { // hf/families/hf_fixed.h
    const char *key; // a single one
    // Values as JSON writes them, with '|' between them; or a tensor of the first layer, which the
    // folder has if the key is true.
    const char *words;
};

struct gi_hf_family {
    const char *model_type;               // of config.json: "qwen2"
    const char *architecture;             // the first of `architectures` has to be this; NULL: any
    const char *arch;                     // general.architecture in GGUF
    void (*build)(struct gi_hf_build *b); // adds pairs and tensors, not the tokenizer's
    // JSON object of keys that folders may leave out because transformers has these defaults; NULL:
    // none. The text of config.json has precedence.
    const char *defaults;
    const struct gi_hf_fixed *fixed; // ended by a row of NULL
};
