// Fills glinfer_model_info: the content of a file and the memory that running it needs.
#pragma once

#include "engine/model/plan/model_plan.h"
#include "tokenizer/tokenizer.h"

// Fills the fields that need no plan: names, sizes, types. tokenizer may be NULL.
bool gi_model_info_file(struct glinfer_model_info *info, const struct gi_gguf *gguf,
                        const struct gi_tokenizer *tokenizer, struct glinfer_error *err);
// Fills the hyperparameters and the memory estimate, which is exact if ranges have that alignment,
// for the context and cache types of params; a tower has its own. n_tokens: size of the vocabulary;
// max_batch: of the device's class.
void gi_model_info_plan(struct glinfer_model_info *info, const struct gi_model_plan *plan,
                        const struct glinfer_model_params *params, uint32_t alignment,
                        size_t n_tokens, uint32_t max_batch);

// The rest of a memory budget, and its source.
struct gi_budget {
    uint64_t left;     // bytes; UINT64_MAX: any number
    const char *whose; // source of the limit, for messages
    uint64_t kept;     // bytes of `left` that loading keeps: heap, thread stacks
};
// Returns the smaller of two remainders: of mem_budget bytes (0: unlimited) after `used`, and of
// the hard limits if the GPU's memory is the process's. `host` is the memory needed besides.
struct gi_budget gi_budget_find(uint64_t mem_budget, uint64_t used, bool is_software,
                                uint64_t host);
// Bytes of a process besides weights, cache, scratch and vocabulary: staging, chunks, the driver's
// copies of programs (llvmpipe; measured with SmolLM2).
#define GI_HOST_BYTES (UINT64_C(27) << 20)
