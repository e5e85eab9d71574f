// adapter_config.json of PEFT: the rank and the alpha of each matrix. Private to this folder.
#pragma once

#include "hf/hf_json.h"

#include <stddef.h>

// Advice for adapters that only PEFT can apply.
#define GI_HF_ADAPTER_MERGE                                                                        \
    "merge it with merge_and_unload of PEFT, save the model, and give that folder with -m"

struct gi_hf_adapter_config {
    const char *folder;   // borrowed, for messages
    cJSON *json;          // owned
    double alpha;         // lora_alpha, not 0
    uint32_t rank;        // r
    bool divides_by_root; // use_rslora: the scale is alpha / sqrt(rank) in place of alpha / rank
};

// Reads the file of a folder. Fails with NOT_FOUND, BAD_FILE, UNSUPPORTED (an adapter that does
// more than add products: names the key), IO, NO_MEMORY. The caller ends it in all cases.
bool gi_hf_adapter_config_read(struct gi_hf_adapter_config *config, const char *folder,
                               struct glinfer_error *err);
void gi_hf_adapter_config_finish(struct gi_hf_adapter_config *config);

// Fails with BAD_FILE, which names the tensor, unless its rank is that of its module in the file.
// The name ends in .lora_A.weight or .lora_B.weight.
bool gi_hf_adapter_check_rank(const struct gi_hf_adapter_config *config, const char *tensor,
                              uint64_t rank, struct glinfer_error *err);
// Returns the factor of the product of a module, divided by the one of alpha and r for this rank:
// 1 unless alpha_pattern or, with use_rslora, rank_pattern has the module.
double gi_hf_adapter_factor(const struct gi_hf_adapter_config *config, const char *tensor,
                            uint64_t rank);
