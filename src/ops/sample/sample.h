// The end of a step: choose the next token, write it with its log-probabilities into the ring,
// advance step_state (token, n_past += n_tokens, n_tokens = 1, step, done) and rewrite the grids of
// an indirect table.
#ifndef GI_OPS_SAMPLE_H
#define GI_OPS_SAMPLE_H

#include "gpu/dispatch/step_state.h"
#include "ops/gemv/gemv.h"
#include "ops/record/recorder.h"

struct gi_step_buffers {
    struct gi_range state;  // struct gi_step_state
    struct gi_range ring;   // GI_RING_SLOTS struct gi_ring_entry
    struct gi_range counts; // GI_MAX_SLOTS struct gi_grid_slot
};

// token = argmax of the partials, the lowest id on ties. With state.ban_stop the stop ids are left out,
// here as in gi_op_sample. A NaN or infinity among the logits gives
// status GI_RING_STATUS_NAN and sets done.
bool gi_op_argmax(struct gi_recorder *recorder, const struct gi_logits *logits,
                  const struct gi_step_buffers *step, struct glinfer_error *err);

// Looks through all logits with many work groups for what the gi_op_sample that follows then has no need to look
// for: worth it where no top_k is set, or log-probabilities are wanted. Sets logits->n_scan.
bool gi_op_sample_scan(struct gi_recorder *recorder, struct gi_logits *logits,
                       struct glinfer_error *err);

// token drawn from the logits under step_state's settings, in this order: the top_k largest (ties
// by the lower id), of those the smallest set of the largest whose share reaches top_p, of those
// the ones with a share of at least min_p times the largest's, then by temperature: the largest of
// logit / temperature + Gumbel noise from Philox(seed, { position, id, 0, 0 }), position being the
// drawn token's own, n_past + n_tokens; temperature <= 0 takes the largest logit. Also writes the
// n_probs largest log-probabilities of the whole vocabulary, best first. Two dispatches of a group: sample_few
// for what takes few logits, sample for the rest.
bool gi_op_sample(struct gi_recorder *recorder, const struct gi_logits *logits,
                  const struct gi_step_buffers *step, struct glinfer_error *err);

#endif
