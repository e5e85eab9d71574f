// Checks struct glinfer_samplers, decides whether the GPU can apply it or the host must, and
// creates the host's chain of samplers.
#pragma once

#include "engine/lists/tables.h"
#include "sampler/sampler.h"
#include "tokenizer/tokenizer.h"

// Checks the settings for a vocabulary. Fails with INVALID_ARGUMENT.
bool gi_samplers_check(const struct glinfer_generate_params *params, uint32_t n_vocab,
                       struct glinfer_error *err);
// Returns true if valid settings need a chain on the host; false for invalid ones.
bool gi_samplers_need_host(const struct glinfer_generate_params *params);
// Returns the GPU's adjustments of the logits as bits of enum gi_adjust_bit; 0 if a chain on the
// host is needed.
uint32_t gi_samplers_adjust(const struct glinfer_generate_params *params);
// Returns the end of the steps of an answer; greedy if the host samples.
enum gi_step_end gi_samplers_choose_end(const struct glinfer_generate_params *params);
// Returns the penalties of checked settings, in a context of n_ctx.
struct gi_penalties gi_samplers_penalties(const struct glinfer_generate_params *params,
                                          uint32_t n_ctx);
// Adds the logit biases of checked settings to biases (n_vocab).
void gi_samplers_add_biases(const struct glinfer_generate_params *params, float *biases);
// Creates the chain of checked settings. Fails with NO_MEMORY.
struct gi_sampler_chain *gi_samplers_create_chain(const struct glinfer_generate_params *params,
                                                  const struct gi_tokenizer *tokenizer,
                                                  uint32_t n_vocab, uint32_t n_ctx,
                                                  struct glinfer_error *err);
