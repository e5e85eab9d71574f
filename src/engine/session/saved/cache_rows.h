// The rows of a sequence's first tokens in its cache, and its layers' states, in the order of a
// saved sequence (engine/session/saved/state_format.h).
#pragma once

#include "engine/session/saved/state_format.h"
#include "graph/hparams.h"

// Returns the bytes of a token's rows.
uint32_t gi_cache_rows_size(const struct gi_sequence *sequence, const struct gi_hparams *hparams);
// Returns the bytes of the states of recurrent layers, which come with the rows.
uint64_t gi_cache_states_size(const struct gi_hparams *hparams);
// Copies the rows of the first n tokens, and the states, from another sequence whose cache has the
// same types and heads. The context is entered. Fails with GPU_LOST, DRIVER.
bool gi_cache_rows_copy(struct gi_sequence *to, const struct gi_sequence *from,
                        const struct gi_hparams *hparams, uint32_t n, struct gi_gpu *gpu,
                        struct glinfer_error *err);
// Stores a checkpoint of the recurrent layers' states, which are those after n tokens, in place of
// the previous one.
void gi_cache_keep_states(struct gi_sequence *sequence, const struct gi_hparams *hparams,
                          struct gi_gpu *gpu, uint32_t n);
// Restores the checkpoint if recurrent state and cache disagree; only the tokens after it are
// recomputed.
void gi_cache_return_states(struct gi_sequence *sequence, const struct gi_hparams *hparams,
                            struct gi_gpu *gpu);
// Writes the rows of all tokens in the cache. The context is entered. The writer keeps a failure:
// NO_MEMORY, IO, GPU_LOST, DRIVER.
void gi_cache_rows_save(const struct gi_sequence *sequence, const struct gi_hparams *hparams,
                        struct gi_gpu *gpu, struct gi_state_writer *writer);
// Reads the rows of head->n_tokens tokens into the cache. Fails with NO_MEMORY, IO, GPU_LOST,
// DRIVER; the cache is then lost.
bool gi_cache_rows_load(struct gi_sequence *sequence, const struct gi_hparams *hparams,
                        struct gi_gpu *gpu, const struct gi_source *source,
                        const struct gi_state_head *head, struct glinfer_error *err);
