// A saved sequence in a file or in memory. Numbers are little-endian, rows lie as on the GPU:
//   head    magic (8), version, flags, hash of the model (16), types of keys and of values,
//           n_tokens, the pending token, n_shifted, n_rows, n_checkpoints, zeros (4), hash of the
//           head so far (16): GI_STATE_HEAD_SIZE bytes
//   tokens  (n_tokens) u32
//   origins (n_tokens) u8, padded with zeros to 4 bytes
//   checkpoints (n_checkpoints) u32: tokens that each includes, ascending, at most n_rows
//   rows    (n_layer, {k, scales of k, v, scales of v}, n_kv_head, n_rows, row); the cache of later
//           tokens is computed anew; a layer that keeps a state has that after n_rows tokens before
//           them, or in their place, one that reads the keys of another layer nothing
//   states  (n_checkpoints, layers that keep a state, state)
//   hash    (16) of all data after the head, by blocks of GI_STATE_BLOCK bytes
// The flags are 1 if layers keep states, else 0. In version 2 they are 1 for rows of all tokens and
// 0 for none, and zeros are in place of n_rows and n_checkpoints. A file is not trusted: all values
// are checked before they are returned. Knows no GPU.
#pragma once

#include "base/hash.h"
#include "base/new_file.h"
#include "base/source.h"
#include "engine/session/sequence.h"

#define GI_STATE_VERSION     3u
#define GI_STATE_HEAD_SIZE   80u
#define GI_STATE_HASH_SIZE   16u
#define GI_STATE_BLOCK       (64u << 10)
#define GI_STATE_CHECKPOINTS (GI_MAX_CHECKPOINTS + 1) // the most of a sequence

// Describes the sequences that a session can take.
struct gi_state_shape {
    struct gi_hash model;
    enum gi_cache_type type_k, type_v;
    uint32_t row_size;    // bytes of a token in the cache, of all layers and heads; a multiple of 4
    uint64_t states_size; // bytes of the states of recurrent layers, which any token brings
    uint32_t n_vocab, n_ctx;
};

struct gi_state_head {
    uint32_t n_tokens;
    int32_t pending;    // as in struct gi_sequence
    uint32_t n_shifted; // as in struct gi_sequence
    bool has_states;    // layers keep states, which exist after n_rows tokens and at checkpoints
    uint32_t n_rows;    // first tokens whose rows, and whose states, are there
    uint32_t n_checkpoints;
    uint32_t checkpoints[GI_STATE_CHECKPOINTS]; // (n_checkpoints) tokens that each includes
};

// Returns the bytes of the whole.
uint64_t gi_state_size(const struct gi_state_shape *shape, const struct gi_state_head *head);

//-- reading -----------------------------------------------------------------------------------

// Reads and checks the head and the hashes. Fails with BAD_FILE (no saved sequence, damaged,
// truncated), UNSUPPORTED (another version), INVALID_ARGUMENT (another model, other types),
// CONTEXT_FULL, IO, NO_MEMORY.
bool gi_state_check(const struct gi_source *source, const struct gi_state_shape *shape,
                    struct gi_state_head *head, struct glinfer_error *err);
// Returns how many of the first n tokens, n <= n_tokens, have rows and states.
uint32_t gi_state_ready(const struct gi_state_head *head, uint32_t n);
// Returns the length of the longest common prefix of ids[0..n) and the tokens, a pending one
// included, and sets *n_ready to the number of these that are ready. Checks neither the model nor
// the hash of the body. Returns 0 if the source holds no saved sequence.
uint32_t gi_state_match(const struct gi_source *source, const int32_t *ids, size_t n,
                        uint32_t *n_ready);
// Reads n_tokens tokens and origins. Fails with BAD_FILE (a token that the model does not have, an
// invalid origin), IO.
bool gi_state_read_tokens(const struct gi_source *source, const struct gi_state_shape *shape,
                          const struct gi_state_head *head, uint32_t *tokens, uint8_t *origins,
                          struct glinfer_error *err);
// Reads size bytes of the rows from offset on, which are within them. Fails with IO.
bool gi_state_read_rows(const struct gi_source *source, const struct gi_state_head *head,
                        uint64_t offset, size_t size, void *rows, struct glinfer_error *err);

//-- writing -----------------------------------------------------------------------------------

struct gi_state_writer {
    struct gi_new_file *file; // NULL: memory
    uint8_t *memory;          // room for the whole
    uint64_t at;              // bytes that went out
    uint8_t *block;           // GI_STATE_BLOCK bytes, of which used are filled
    uint32_t used;
    struct gi_hash hash;
    struct glinfer_error failure; // the first; after it nothing more is written
};

// Begins with the head, the tokens and the origins; file and memory are set.
void gi_state_write_begin(struct gi_state_writer *writer, const struct gi_state_shape *shape,
                          const struct gi_state_head *head, const uint32_t *tokens,
                          const uint8_t *origins);
// Appends bytes of the rows.
void gi_state_write(struct gi_state_writer *writer, const void *data, size_t size);
// Writes the last block and the hash. Fails with the first failure of writing: IO, NO_MEMORY.
bool gi_state_write_end(struct gi_state_writer *writer, struct glinfer_error *err);
// Frees what writing took. Accepts all-zero.
void gi_state_write_finish(struct gi_state_writer *writer);
