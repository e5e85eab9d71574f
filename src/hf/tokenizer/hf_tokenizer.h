// The tokenizer of a Hugging Face folder as GGUF's pairs: tokenizer.json, tokenizer_config.json,
// chat_template.jinja and the ids of generation_config.json become tokenizer.*, which llama.cpp
// reads, and glinfer.tokenizer.* for all that those keys cannot express (README.md beside this
// file).
//   https://huggingface.co/docs/tokenizers/components
#pragma once

#include "hf/hf_build.h"

// Adds the pairs; returns gi_hf_ok. Fails with NOT_FOUND (no tokenizer.json), BAD_FILE (names the
// member and the file), UNSUPPORTED (a type of component that glinfer does not know, named),
// NO_MEMORY. Leaves out tokenizer.ggml.pre where llama.cpp has no name for how words are cut.
bool gi_hf_add_tokenizer(struct gi_hf_build *b, const char *folder);
