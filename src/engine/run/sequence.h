// A sequence: one text on its way through a model, that is its tokens in the KV cache and its
// position. What computes it lies in tables and a runner; the memory is the session's, for all of a
// step in as few buffers as can be.
#ifndef GI_ENGINE_SEQUENCE_H
#define GI_ENGINE_SEQUENCE_H

#include "base/error.h"
#include "ops/record/stream.h"
#include "tokenizer/tokenizer.h"

// How the keys and values of a token were computed.
enum gi_origin {
    GI_ORIGIN_BATCH, // in the batch of the token before it
    GI_ORIGIN_BEGIN, // as the first of a batch
    GI_ORIGIN_STEP,  // by a decode step
};

#define GI_NO_STATE UINT32_MAX

struct gi_sequence {
    uint32_t n_ctx;            // tokens that the cache holds at most
    uint32_t n_past;           // tokens in the cache
    uint32_t n_shifted;        // tokens that shifts have dropped since it began
    int32_t pending;           // the last token sampled, not in the cache yet; GI_NO_TOKEN: none
    struct gi_kv_layer *cache; // (n_layer); of a layer that keeps no rows the range is empty, or
                               // that of the layer whose keys it reads
    struct gi_range *states;   // (n_layer): a state and a copy of one; empty: the layer keeps none
    uint32_t *tokens;          // (n_ctx), of which n_past are in the cache
    uint8_t *origins;          // (n_ctx) enum gi_origin
    bool is_stale;             // the cache was lost, and is to be computed anew from the tokens
    uint32_t n_sound;          // the first tokens whose cache was not
    bool is_recurrent;         // layers keep states, too, which are of the text up to one token
    uint32_t n_state;          // tokens that these are of; GI_NO_STATE: it is not known
    uint32_t n_copied;         // tokens that the copies of states are of; 0: there are none
};

// Begins a sequence without tokens. Fails with NO_MEMORY.
bool gi_sequence_init(struct gi_sequence *sequence, uint32_t n_ctx, struct glinfer_error *err);
// Takes the caches of all layers and their states, arrays from malloc, in place of those that there
// were.
void gi_sequence_place(struct gi_sequence *sequence, struct gi_kv_layer *caches,
                       struct gi_range *states);
// Accepts all-zero.
void gi_sequence_finish(struct gi_sequence *sequence);

// Forgets all tokens.
void gi_sequence_reset(struct gi_sequence *sequence);
// Loses states of layers that are not those of the n_past tokens, and copies of what are no longer
// its tokens: to be called before the cache is used.
void gi_sequence_settle(struct gi_sequence *sequence);
// Notes that the cache is lost but for that of the first n_sound tokens; with states all of it is,
// their copies too.
void gi_sequence_lose(struct gi_sequence *sequence, uint32_t n_sound);
// Forgets n_drop tokens of the cache behind the first n_keep; those behind, whose cache is lost,
// move there. It has more than both together.
void gi_sequence_shift(struct gi_sequence *sequence, uint32_t n_keep, uint32_t n_drop);
// Forgets all tokens behind the first n; returns how many there are now, the pending one included.
size_t gi_sequence_rewind(struct gi_sequence *sequence, size_t n);

// Notes n tokens of a batch that begins at `at`, or the token of a decode step. They count once
// n_past is behind them.
void gi_sequence_note_batch(struct gi_sequence *sequence, uint32_t at, const uint32_t *tokens,
                            uint32_t n);
void gi_sequence_note_step(struct gi_sequence *sequence, uint32_t at, uint32_t token);
// Notes that n tokens that the cache has from `at` on are to be computed together.
void gi_sequence_join_batch(struct gi_sequence *sequence, uint32_t at, uint32_t n);
// Notes that no more than n_batch of its tokens were computed together, so that a session whose
// batches have as many can compute them anew.
void gi_sequence_limit_batches(struct gi_sequence *sequence, uint32_t n_batch);
// Returns how many of the tokens in the cache were computed together from `at` on.
uint32_t gi_sequence_batch_at(const struct gi_sequence *sequence, uint32_t at);

#endif
