// Reads the tokenizer of a folder.
#pragma once

#include "hf/hf_build.h"

// Adds the tokenizer.* pairs of a folder: vocabulary, merges, special tokens, chat template. Keeps
// an error and returns false if they cannot be read.
bool gi_hf_add_tokenizer(struct gi_hf_build *b, const char *folder);
