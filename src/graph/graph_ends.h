// Both ends of a list: what comes before the first layer and behind the last.
#ifndef GI_GRAPH_ENDS_H
#define GI_GRAPH_ENDS_H

#include "graph/graph.h"

// Records the way from a token, or a batch's tokens, to the residual stream.
void gi_graph_embed(struct gi_graph *graph);
// Records the logits of a step, or those of a batch's last token.
void gi_graph_output(struct gi_graph *graph);

#endif
