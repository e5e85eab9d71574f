// The parts of a joint step that are not those of a batch: what belongs to one sequence alone, that
// is its token, its cache, its choice. A joint step decodes a token of each of several sequences;
// their rows of activations are a batch's, row i being that of slot i, so that each weight is read
// once. The list's own step_state says how many rows there are; slots that take no part leave rows
// that nobody reads. A list may also compute the row of one slot alone.
#ifndef GI_GRAPH_JOINT_ROWS_H
#define GI_GRAPH_JOINT_ROWS_H

#include "graph/graph.h"

// Records the embedding of each slot's token, whether it takes part or not, so that no row ever
// holds anything but numbers.
void gi_joint_embed(struct gi_graph *graph);
// Records q, k, v = rope(graph->qkv) of each slot into its cache; with norms of heads unless norm
// is NULL. It may leave all of that to gi_joint_attention (gi_attention_qkv_suits).
void gi_joint_rope_kv(struct gi_graph *graph, uint32_t layer, const struct gi_rope *rope,
                      const struct gi_head_norm *norm);
// Records attention of each slot over its cache, and leaves the rows in graph->attn_input.
void gi_joint_attention(struct gi_graph *graph, uint32_t layer, const struct gi_score_rule *rule);
// Records the logits of all rows, with their partial results.
void gi_joint_output(struct gi_graph *graph);

// Returns those rows of an array that the list computes.
struct gi_rows gi_joint_rows(const struct gi_joint *joint, const struct gi_slot_array *array);
// Begins and ends what is recorded for one slot.
void gi_joint_begin_slot(struct gi_graph *graph, uint32_t slot);
void gi_joint_end_slot(struct gi_graph *graph);
// Returns the logits of a slot.
struct gi_logits gi_joint_slot_logits(const struct gi_graph *graph, uint32_t slot);

#endif
