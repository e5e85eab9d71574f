// How the router of a mixture of experts weighs those that it chooses. Plain data, no GL.
#ifndef GI_OPS_ROUTER_RULE_H
#define GI_OPS_ROUTER_RULE_H

#include <stdbool.h>

// Says what share of the result an expert has: glsl/experts/route.comp has the same numbers.
enum gi_gating {
    GI_GATING_CHOSEN, // the softmax of the chosen logits
    GI_GATING_ALL,    // of all logits
    GI_GATING_SIGMOID,
};

// How a router's logits become shares. The rest counts where gating is not GI_GATING_CHOSEN.
struct gi_router_rule {
    enum gi_gating gating;
    bool is_normalised;   // divided by the sum of the chosen ones
    bool has_bias;        // a vector that counts in the choice alone
    bool has_shared_gate; // shared experts take 1 / (1 + exp(-logit)) of one more logit; else 1
    float scale;
};

#endif
