// A sequence: the tokens of one text, their KV cache, and the position. Lists and a runner compute
// it (engine/lists/tables.h). The session owns the GPU memory; a sequence owns its arrays of tokens
// and ranges.
#pragma once

#include "base/error.h"
#include "ops/record/stream.h"
#include "tokenizer/tokenizer.h"

// How the keys and values of a token were computed.
enum gi_origin {
    GI_ORIGIN_BATCH, // in the batch of the token before it
    GI_ORIGIN_BEGIN, // as the first of a batch
    GI_ORIGIN_STEP,  // by a decode step
};

#define GI_NO_STATE        UINT32_MAX
#define GI_MAX_CHECKPOINTS 32u

// A copy of the states of all recurrent layers (engine/session/saved/checkpoints.h), in the order
// of the layers.
struct gi_checkpoint {
    uint32_t n;              // tokens that the states include; 0: the buffer is unused
    struct gi_buffer buffer; // owned by the session; name 0: not allocated
};

struct gi_sequence {
    uint32_t n_ctx;            // capacity of the cache in tokens
    uint32_t n_past;           // tokens in the cache
    uint32_t n_shifted;        // tokens that context shifts have dropped
    int32_t pending;           // the last token sampled, not in the cache yet; GI_NO_TOKEN: none
    struct gi_kv_layer *cache; // (n_layer); of a layer that keeps no rows the range is empty, or
                               // that of the layer whose keys it reads
    struct gi_range *states;   // (n_layer): a state and its checkpoint; empty: no state
    uint32_t *tokens;          // (n_ctx), the first n_past are in the cache
    uint8_t *origins;          // (n_ctx) enum gi_origin
    bool is_stale;             // the cache was lost: it is recomputed from the tokens
    uint32_t n_sound;          // if is_stale: first tokens whose cache is still valid
    bool is_recurrent;         // layers keep recurrent states, valid after one position
    uint32_t n_state;          // tokens that the states include; GI_NO_STATE: unknown
    uint32_t n_copied;         // tokens that the copies next to the states include; 0: no copies
    struct gi_checkpoint checkpoints[GI_MAX_CHECKPOINTS];
};

// Initializes a sequence without tokens. Fails with NO_MEMORY.
bool gi_sequence_init(struct gi_sequence *sequence, uint32_t n_ctx, struct glinfer_error *err);
// Sets the caches and states of all layers. Takes ownership of both arrays, from malloc, and frees
// the previous ones.
void gi_sequence_place(struct gi_sequence *sequence, struct gi_kv_layer *caches,
                       struct gi_range *states);
// Frees the arrays. Accepts all-zero.
void gi_sequence_finish(struct gi_sequence *sequence);

// Removes all tokens.
void gi_sequence_reset(struct gi_sequence *sequence);
// Discards recurrent states that do not match the n_past tokens, and checkpoints that are later.
// Called before the cache is used.
void gi_sequence_settle(struct gi_sequence *sequence);
// Marks the cache as lost except that of the first n_sound tokens. A recurrent sequence loses all
// of it, with the checkpoints.
void gi_sequence_lose(struct gi_sequence *sequence, uint32_t n_sound);
// Drops the n_drop tokens after the first n_keep and moves the tokens after them there; the cache
// of moved tokens is lost. n_keep + n_drop is at most n_past.
void gi_sequence_shift(struct gi_sequence *sequence, uint32_t n_keep, uint32_t n_drop);
// Removes all tokens after the first n. Returns the number left, including the pending one.
size_t gi_sequence_rewind(struct gi_sequence *sequence, size_t n);
// Returns how many of the first n tokens, n <= n_past, a rewind to n keeps without computing them
// again: with recurrent states, only as many as the latest checkpoint includes.
uint32_t gi_sequence_ready(const struct gi_sequence *sequence, uint32_t n);
// Returns the smallest number of tokens after `after` of which there is a checkpoint; 0: none.
uint32_t gi_sequence_next_checkpoint(const struct gi_sequence *sequence, uint32_t after);

// Record n tokens of a batch that begins at `at`, or the token of a decode step. They count once
// n_past exceeds their positions.
void gi_sequence_note_batch(struct gi_sequence *sequence, uint32_t at, const uint32_t *tokens,
                            uint32_t n);
void gi_sequence_note_step(struct gi_sequence *sequence, uint32_t at, uint32_t token);
// Marks n cached tokens from `at` on as one batch, to be computed together.
void gi_sequence_join_batch(struct gi_sequence *sequence, uint32_t at, uint32_t n);
// Limits the recorded batches to n_batch tokens, so that a session with batches of that size can
// recompute them.
void gi_sequence_limit_batches(struct gi_sequence *sequence, uint32_t n_batch);
// Returns the number of cached tokens from `at` on that were computed in one batch.
uint32_t gi_sequence_batch_at(const struct gi_sequence *sequence, uint32_t at);
