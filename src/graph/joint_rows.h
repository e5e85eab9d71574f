// The parts of a joint step that differ from a batch because they belong to one sequence: its
// token, its cache, its sampling. A joint step decodes one token of each of several sequences.
// Their activations form a batch in which row i belongs to slot i, so that each weight is read
// once. The list's own step_state has the number of rows; the rows of unused slots are ignored. A
// list may also compute the row of one slot only.
#pragma once

#include "graph/graph.h"

// Records the embedding of each slot's token, also for unused slots, so that all rows are finite,
// and adds the vectors of positions, if there are any.
void gi_joint_embed(struct gi_graph *graph);
// Records q, k, v = rope(graph->qkv) of each slot into its cache; with norms of heads unless norm
// is NULL. May leave all of it to gi_joint_attention (gi_attention_qkv_suits).
void gi_joint_rope_kv(struct gi_graph *graph, uint32_t layer, const struct gi_rope *rope,
                      const struct gi_head_norm *norm);
// Records attention of each slot over its cache, or of a batch over the keys of another tower,
// which all slots share; its result is graph->attn_input.
void gi_joint_attention(struct gi_graph *graph, uint32_t layer, const struct gi_score_rule *rule);
// Records the logits of all rows, with their partial results.
void gi_joint_output(struct gi_graph *graph);

// Returns the rows of an array that the list computes.
struct gi_rows gi_joint_rows(const struct gi_joint *joint, const struct gi_slot_array *array);
// Begin and end recording for one slot.
void gi_joint_begin_slot(struct gi_graph *graph, uint32_t slot);
void gi_joint_end_slot(struct gi_graph *graph);
// Returns the logits of a slot.
struct gi_logits gi_joint_slot_logits(const struct gi_graph *graph, uint32_t slot);
