// Attention of a decode step over few keys and the projection of its results, in one dispatch. What it adds to
// the residual it leaves in parts, one for each run of heads that a group takes (ops/record/stream.h); the gated
// network that follows adds them up. It saves a dispatch a layer where dispatches are what takes the time: a
// small model on a large GPU. Over many keys attention is better spread over groups of its own.
#ifndef GI_OPS_ATTENTION_OUT_H
#define GI_OPS_ATTENTION_OUT_H

#include "ops/attention/attention.h"
#include "ops/record/weight.h"

// The most keys that a step of it sees, its own included: from there on it is slower.
#define GI_ATTENTION_OUT_KEYS 448

// Whether it can take the place of the two, and is faster: the projection weight, (n_embd, n_head * head_dim),
// is one part, of a small model, and the device has subgroups of a known size.
bool gi_attention_out_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer,
                            const struct gi_weight *weight);

// x += scale * (weight out + bias), out as of gi_op_attention, for at most GI_ATTENTION_OUT_KEYS keys: parts of
// the stream, whose n_parts it sets. It must suit. One dispatch.
bool gi_op_attention_out(struct gi_recorder *recorder, const char *label,
                         const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                         const struct gi_weight *weight, float scale, struct gi_stream *stream,
                         struct glinfer_error *err);

#endif
