// How the router of a mixture of experts weights the experts that it chooses. Plain data, no GL.
#pragma once

#include <stdbool.h>

// How an expert's share of the result is computed. glsl/experts/route.comp uses the same numbers.
enum gi_gating {
    GI_GATING_CHOSEN, // the softmax of the chosen logits
    GI_GATING_ALL,    // the softmax of all logits
    GI_GATING_SIGMOID,
};

// How a router's logits become shares. Other fields are used if gating is not GI_GATING_CHOSEN.
struct gi_router_rule {
    enum gi_gating gating;
    bool is_normalised;   // divided by the sum of the chosen ones
    bool has_bias;        // a vector is added to the logits for the choice only
    bool has_shared_gate; // share of shared experts: the sigmoid of one more logit; else 1
    float scale;
};
