// The rows of a sequence's first tokens in its cache, and its layers' states with their
// checkpoints, in the order of a saved sequence (engine/session/saved/state_format.h).
#pragma once

#include "engine/session/saved/state_format.h"
#include "graph/hparams.h"

// Returns the bytes of a token's rows.
uint32_t gi_cache_rows_size(const struct gi_sequence *sequence, const struct gi_hparams *hparams);
// Copies the states of all layers in one checkpoint to another; 0 stands for the states themselves.
// Both places exist.
void gi_cache_states_copy(const struct gi_sequence *to, uint32_t n_to,
                          const struct gi_sequence *from, uint32_t n_from,
                          const struct gi_hparams *hparams, struct gi_gpu *gpu);
// Copies the rows of the first n tokens, and the states, from another sequence whose cache has the
// same types and heads. The context is entered. Fails with GPU_LOST, DRIVER.
bool gi_cache_rows_copy(struct gi_sequence *to, const struct gi_sequence *from,
                        const struct gi_hparams *hparams, uint32_t n, struct gi_gpu *gpu,
                        struct glinfer_error *err);
// Writes the rows of head->n_rows tokens, the states, and the checkpoints of the head. The context
// is entered. The writer keeps a failure: NO_MEMORY, IO, GPU_LOST, DRIVER.
void gi_cache_rows_save(const struct gi_sequence *sequence, const struct gi_hparams *hparams,
                        struct gi_gpu *gpu, const struct gi_state_head *head,
                        struct gi_state_writer *writer);
// Reads the rows of the first n of head->n_rows tokens into the cache, the states, and the
// checkpoints that the sequence has a place for. Fails with NO_MEMORY, IO, GPU_LOST, DRIVER; the
// cache is then lost.
bool gi_cache_rows_load(struct gi_sequence *sequence, const struct gi_hparams *hparams,
                        struct gi_gpu *gpu, const struct gi_source *source,
                        const struct gi_state_head *head, uint32_t n, struct glinfer_error *err);
