// A chain of samplers chooses a token from logits on the host, with the names, formulas, defaults
// and order of llama.cpp's. Tokens are numbers below n_vocab. A chain allocates only when it is
// created, and belongs to one thread.
#pragma once

#include "sampler/repetition.h"
#include "sampler/sampler_order.h"

struct gi_logit_bias {
    uint32_t id;
    float bias; // added to the logit before anything else; -INFINITY bans the token
};

struct gi_sampler_params {
    uint32_t n_vocab;
    struct gi_sampler_order order; // samplers that are not in it do nothing, whatever their values
    uint64_t seed;
    // logit / temperature, with values.dynatemp_range by the entropy; the likeliest token alone at
    // 1e-30 or less
    float temperature;
    float top_p, min_p;
    uint32_t top_k;
    struct glinfer_samplers values; // its order, windows, breakers and biases are not read
    struct gi_penalties penalties;
    struct gi_dry dry;
    const struct gi_logit_bias *bias; // (n_bias), ids below n_vocab
    uint32_t n_bias;
};

// Sets all to values that do nothing but temperature 1, in the default order.
void gi_sampler_params_init(struct gi_sampler_params *params, uint32_t n_vocab);

struct gi_sampler_chain;

// Copies what params points to. Fails with NO_MEMORY.
struct gi_sampler_chain *gi_sampler_chain_create(const struct gi_sampler_params *params,
                                                 struct glinfer_error *err);
// Accepts NULL.
void gi_sampler_chain_destroy(struct gi_sampler_chain *chain);

#define GI_SAMPLER_NO_TOKEN UINT32_MAX

// Returns the token chosen for a position of the text; GI_SAMPLER_NO_TOKEN if all are banned.
// Only gi_sampler_chain_accept changes later choices. Random numbers depend on the seed, the
// position and the token's id, and not on earlier choices.
//   logits   (n_vocab)            biases are added to them; -INFINITY bans a token
//   allowed  ((n_vocab + 31) / 32)  bits, 0 for tokens that are banned; NULL: none
uint32_t gi_sampler_chain_apply(struct gi_sampler_chain *chain, float *logits,
                                const uint32_t *allowed, uint32_t position);
// Adds a token to the text: of a prompt, or the one that was chosen.
void gi_sampler_chain_accept(struct gi_sampler_chain *chain, uint32_t token);

// Returns the candidates of the last choice; valid until the next one.
const struct gi_candidates *gi_sampler_chain_kept(const struct gi_sampler_chain *chain);
