#include "engine/session/sequence.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool gi_sequence_init(struct gi_sequence *sequence, uint32_t n_ctx, struct glinfer_error *err)
{
    *sequence = (struct gi_sequence){.n_ctx = n_ctx, .pending = GI_NO_TOKEN};
    return GI_ARRAYS_ZEROED("a sequence", err, GI_NEW(sequence->tokens, n_ctx),
                            GI_NEW(sequence->origins, n_ctx));
}

static void forget_place(struct gi_sequence *sequence)
{
    free(sequence->cache);
    free(sequence->states);
    sequence->cache = NULL;
    sequence->states = NULL;
}

void gi_sequence_place(struct gi_sequence *sequence, struct gi_kv_layer *caches,
                       struct gi_range *states)
{
    forget_place(sequence);
    sequence->cache = caches;
    sequence->states = states;
}

void gi_sequence_finish(struct gi_sequence *sequence)
{
    forget_place(sequence);
    free(sequence->tokens);
    free(sequence->origins);
    *sequence = (struct gi_sequence){0};
}

// Discards the checkpoints of more than n tokens. Returns true if the copies next to the states are
// among them.
static bool drop_checkpoints(struct gi_sequence *sequence, uint32_t n)
{
    for (uint32_t i = 0; i < GI_MAX_CHECKPOINTS; i++) {
        struct gi_checkpoint *checkpoint = &sequence->checkpoints[i];
        checkpoint->n = checkpoint->n > n ? 0 : checkpoint->n;
    }
    const bool is_dropped = sequence->n_copied > n;
    sequence->n_copied = is_dropped ? 0 : sequence->n_copied;
    return is_dropped;
}

void gi_sequence_reset(struct gi_sequence *sequence)
{
    drop_checkpoints(sequence, 0);
    sequence->n_past = sequence->n_shifted = 0;
    sequence->pending = GI_NO_TOKEN;
    sequence->is_stale = false;
    sequence->n_state = 0;
}

// Marks keys and values from n_sound on as lost.
static void lose_from(struct gi_sequence *sequence, uint32_t n_sound)
{
    // Earlier losses remain.
    const uint32_t most = sequence->is_stale ? sequence->n_sound : sequence->n_past;
    sequence->n_sound = n_sound < most ? n_sound : most;
    sequence->is_stale = sequence->n_past > 0;
}

void gi_sequence_settle(struct gi_sequence *sequence)
{
    if (drop_checkpoints(sequence, sequence->n_past)) {
        sequence->n_sound = 0; // states are valid only at a checkpoint
    }
    if (sequence->is_recurrent && !sequence->is_stale && sequence->n_state != sequence->n_past) {
        lose_from(sequence, 0);
    }
}

void gi_sequence_lose(struct gi_sequence *sequence, uint32_t n_sound)
{
    drop_checkpoints(sequence, 0);
    lose_from(sequence, sequence->is_recurrent ? 0 : n_sound);
}

void gi_sequence_shift(struct gi_sequence *sequence, uint32_t n_keep, uint32_t n_drop)
{
    assert(n_keep + n_drop <= sequence->n_past);
    const uint32_t from = n_keep + n_drop, n = sequence->n_past - from;
    gi_sequence_lose(sequence, n_keep);
    memmove(sequence->tokens + n_keep, sequence->tokens + from, n * sizeof(sequence->tokens[0]));
    sequence->n_past -= n_drop;
    sequence->n_shifted += n_drop;
    if (n > 0) {
        gi_sequence_join_batch(sequence, n_keep, n);
    }
    if (sequence->pending != GI_NO_TOKEN) {
        gi_sequence_note_step(sequence, sequence->n_past, (uint32_t)sequence->pending);
    }
}

void gi_sequence_join_batch(struct gi_sequence *sequence, uint32_t at, uint32_t n)
{
    assert(n > 0 && at + n <= sequence->n_past);
    memset(sequence->origins + at, GI_ORIGIN_BATCH, n);
    sequence->origins[at] = GI_ORIGIN_BEGIN;
}

void gi_sequence_note_batch(struct gi_sequence *sequence, uint32_t at, const uint32_t *tokens,
                            uint32_t n)
{
    assert(n > 0 && at + n <= sequence->n_ctx);
    memcpy(sequence->tokens + at, tokens, n * sizeof(tokens[0]));
    memset(sequence->origins + at, GI_ORIGIN_BATCH, n);
    sequence->origins[at] = GI_ORIGIN_BEGIN;
}

void gi_sequence_note_step(struct gi_sequence *sequence, uint32_t at, uint32_t token)
{
    if (at < sequence->n_ctx) { // the last token of a full context is not cached
        sequence->tokens[at] = token;
        sequence->origins[at] = GI_ORIGIN_STEP;
    }
}

uint32_t gi_sequence_batch_at(const struct gi_sequence *sequence, uint32_t at)
{
    uint32_t n = 1;
    while (at + n < sequence->n_past && sequence->origins[at + n] == GI_ORIGIN_BATCH) {
        n++;
    }
    return n;
}

void gi_sequence_limit_batches(struct gi_sequence *sequence, uint32_t n_batch)
{
    for (uint32_t i = 0, n = 0; i < sequence->n_past; i++) {
        const bool is_next = sequence->origins[i] == GI_ORIGIN_BATCH && n > 0 && n < n_batch;
        if (sequence->origins[i] == GI_ORIGIN_BATCH && !is_next) {
            sequence->origins[i] = GI_ORIGIN_BEGIN;
        }
        n = sequence->origins[i] == GI_ORIGIN_STEP ? 0 : is_next ? n + 1 : 1;
    }
}

size_t gi_sequence_rewind(struct gi_sequence *sequence, size_t n)
{
    if (n > sequence->n_past) {
        return sequence->n_past + (size_t)(sequence->pending != GI_NO_TOKEN);
    }
    sequence->n_past = (uint32_t)n;
    if (drop_checkpoints(sequence, (uint32_t)n)) {
        sequence->n_sound = 0;
    }
    sequence->n_shifted = n == 0 ? 0 : sequence->n_shifted;
    sequence->n_sound = sequence->n_sound < n ? sequence->n_sound : (uint32_t)n;
    sequence->pending = GI_NO_TOKEN;
    return n;
}

uint32_t gi_sequence_next_checkpoint(const struct gi_sequence *sequence, uint32_t after)
{
    uint32_t next = sequence->n_copied > after ? sequence->n_copied : 0;
    for (uint32_t i = 0; i < GI_MAX_CHECKPOINTS; i++) {
        const uint32_t n = sequence->checkpoints[i].n;
        next = n > after && (next == 0 || n < next) ? n : next;
    }
    return next;
}

uint32_t gi_sequence_ready(const struct gi_sequence *sequence, uint32_t n)
{
    assert(n <= sequence->n_past);
    if (!sequence->is_recurrent) {
        return sequence->is_stale && sequence->n_sound < n ? sequence->n_sound : n;
    }
    if (!sequence->is_stale && sequence->n_state == n) {
        return n;
    }
    uint32_t ready = 0;
    for (uint32_t at = 0; (at = gi_sequence_next_checkpoint(sequence, at)) > 0 && at <= n;) {
        ready = at;
    }
    return ready;
}
