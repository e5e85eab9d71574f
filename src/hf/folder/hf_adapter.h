// Opens LoRA adapters of PEFT, folders with adapter_config.json and adapter_model.safetensors, as
// the GGUF files that they stand for.
#pragma once

#include "gguf/gguf.h"

// Keys with the smallest and the largest alpha of the matrices, which alpha_pattern may give.
#define GI_HF_MIN_ALPHA "adapter.lora.min_alpha"
#define GI_HF_MAX_ALPHA "adapter.lora.max_alpha"

// Returns true if path is that of a folder with adapter_config.json and without config.json.
bool gi_hf_is_adapter(const char *path);
// Opens an adapter of a model, whose architecture and heads decide about names and the order of
// rows. Without a model (NULL) the file names no architecture, and rows lie as in the folder; this
// is for describing it. The caller ends it with gi_gguf_close. Fails with NOT_FOUND (a missing
// file), BAD_FILE, UNSUPPORTED (kinds of adapters, modules, architectures), IO, NO_MEMORY.
struct gi_gguf *gi_hf_open_adapter(const char *folder, const struct gi_gguf *model,
                                   struct glinfer_error *err);
