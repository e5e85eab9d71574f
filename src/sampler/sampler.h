// A chain of samplers: what chooses a token from logits on the host, with the names, formulas,
// defaults and order of llama.cpp's. Knows no GPU and no text; tokens are numbers below n_vocab. A
// chain allocates when it is created or copied, and at no other time. Chains of one origin are of
// one thread.
#ifndef GI_SAMPLER_SAMPLER_H
#define GI_SAMPLER_SAMPLER_H

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
    uint32_t min_keep; // that top_p, min_p, typical and xtc keep at least
    struct gi_penalties penalties;
    struct gi_dry dry;
    float top_n_sigma, typical_p, top_p, min_p; // sampler/filters.h
    uint32_t top_k;
    float xtc_probability; // of xtc at a token; 0: off
    float xtc_threshold;
    // logit / temperature; the likeliest token alone at 1e-30 or less. With a range the temperature
    // is low + (high - low) * (H / ln n)^exponent, low and high being temperature -+ range, low at
    // least 0, H the entropy of the n candidates.
    float temperature, dynatemp_range, dynatemp_exponent;
    // 1, 2: temperature (without range), then mirostat of that version, in place of all in `order`
    // (Basu et al. 2021): keeps tokens so unlikely that a text's surprise tends to tau bits; eta is
    // how fast. 0: off.
    uint32_t mirostat;
    float mirostat_tau, mirostat_eta;
    // Behind all others: logit = 5 - 10 d^2 / (1 + d), d = |p - t| / 0.3, t being 2 * target less
    // the mean of p of the tokens chosen before, with weights that fall by decay (0 to 0.99) a
    // token, begun as if it were target. < 0: off.
    float adaptive_target, adaptive_decay;
    const struct gi_logit_bias *bias; // (n_bias), ids below n_vocab
    uint32_t n_bias;
};

// Sets all to values that do nothing but temperature 1, in the default order.
void gi_sampler_params_init(struct gi_sampler_params *params, uint32_t n_vocab);

struct gi_sampler_chain;

// Copies what params points to. Fails with NO_MEMORY.
struct gi_sampler_chain *gi_sampler_chain_create(const struct gi_sampler_params *params,
                                                 struct glinfer_error *err);
// Returns a chain in the same state. Fails likewise.
struct gi_sampler_chain *gi_sampler_chain_copy(const struct gi_sampler_chain *chain,
                                               struct glinfer_error *err);
// Accepts NULL.
void gi_sampler_chain_destroy(struct gi_sampler_chain *chain);

#define GI_SAMPLER_NO_TOKEN UINT32_MAX

// Returns the token chosen for a position of the text; GI_SAMPLER_NO_TOKEN if all are banned.
// Changes what the next choice depends on only by gi_sampler_chain_accept. Random numbers come from
// the seed, the position and the token's id: the same whatever was chosen before.
//   logits   (n_vocab)            biases are added to them; -INFINITY bans a token
//   allowed  ((n_vocab + 31) / 32)  bits, 0 for tokens that are banned; NULL: none
uint32_t gi_sampler_chain_apply(struct gi_sampler_chain *chain, float *logits,
                                const uint32_t *allowed, uint32_t position);
// Adds a token to the text: of a prompt, or the one that was chosen.
void gi_sampler_chain_accept(struct gi_sampler_chain *chain, uint32_t token);
// Forgets the text.
void gi_sampler_chain_reset(struct gi_sampler_chain *chain);

// Returns what the last choice was made from, by exp(logit); lives until the next.
const struct gi_candidates *gi_sampler_chain_kept(const struct gi_sampler_chain *chain);

#endif
