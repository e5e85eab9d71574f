// Checkpoints: copies on the GPU of the states of recurrent layers as they were after some of a
// sequence's tokens. Keys and values of a prefix stay valid when a sequence is rewound, states do
// not: it continues from the latest checkpoint. One copy lies next to the states and is replaced by
// each prompt; up to glinfer_session_params.n_checkpoints have buffers of their own. The session
// owns them. The context is entered.
#pragma once

#include "engine/session/saved/state_format.h"
#include "engine/session/session.h"

// Copies the states, which are those after n tokens, to the place next to them.
void gi_checkpoints_copy(struct glinfer_session *session, uint32_t n);
// Adds a checkpoint of the states after n tokens, unless there is one or the states are others. If
// all buffers are used, it replaces the checkpoint that saves the fewest tokens. Adds nothing where
// no memory is left.
void gi_checkpoints_add(struct glinfer_session *session, uint32_t n);
// Restores the latest checkpoint if states and cache disagree; only the tokens after it are
// recomputed.
void gi_checkpoints_return(struct glinfer_session *session);
// Copies the states of the checkpoint of n tokens in another sequence to those of the session.
void gi_checkpoints_take(struct glinfer_session *session, const struct gi_sequence *from,
                         uint32_t n);
// Makes room for the states of the first checkpoints of a saved sequence, those of at most n
// tokens, before gi_cache_rows_load reads them. Without memory some are left out.
void gi_checkpoints_expect(struct glinfer_session *session, const struct gi_state_head *head,
                           uint32_t n);
// Frees the buffers.
void gi_checkpoints_release(struct glinfer_session *session);
