// struct glinfer_samplers: checked, told apart from what the GPU's own ends of steps do, and made
// the parameters of a chain.
#ifndef GI_ENGINE_SAMPLERS_H
#define GI_ENGINE_SAMPLERS_H

#include "gpu/dispatch/step_state.h"
#include "sampler/sampler.h"
#include "tokenizer/tokenizer.h"

// True if the settings are possible for a vocabulary. Fails with INVALID_ARGUMENT.
bool gi_samplers_check(const struct glinfer_generate_params *params, uint32_t n_vocab,
                       struct glinfer_error *err);
// True if the settings ask for what needs a chain on the host. Settings that are impossible do not.
bool gi_samplers_need_host(const struct glinfer_generate_params *params);
// Returns what the GPU does to the logits before it chooses a token, as bits of enum gi_adjust_bit;
// none where a chain on the host is needed.
uint32_t gi_samplers_adjust(const struct glinfer_generate_params *params);
// Returns the penalties of settings that were checked, in a context of n_ctx.
struct gi_penalties gi_samplers_penalties(const struct glinfer_generate_params *params,
                                          uint32_t n_ctx);
// Adds the logit biases of settings that were checked to the tokens' sums: biases (n_vocab).
void gi_samplers_add_biases(const struct glinfer_generate_params *params, float *biases);
// Creates the chain of settings that were checked. Fails with NO_MEMORY.
struct gi_sampler_chain *gi_samplers_create_chain(const struct glinfer_generate_params *params,
                                                  const struct gi_tokenizer *tokenizer,
                                                  uint32_t n_vocab, uint32_t n_ctx,
                                                  struct glinfer_error *err);

#endif
