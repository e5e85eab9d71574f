// Both ends of a list: the embedding before the first layer and the logits after the last.
#pragma once

#include "graph/graph.h"

// Records the embedding of a step's token, or of a batch's tokens, as the residual stream.
void gi_graph_embed(struct gi_graph *graph);
// Records the logits of a step, or those of a batch's last token.
void gi_graph_output(struct gi_graph *graph);
