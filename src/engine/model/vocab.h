// The vocabulary of a GGUF file as the tokenizer takes it: the tokenizer.ggml.* keys and the chat
// template.
#pragma once

#include "base/log.h"
#include "gguf/gguf.h"
#include "tokenizer/tokenizer.h"

// Owns the arrays that vocab points to; the bytes of strings belong to the gguf.
struct gi_vocab_file {
    struct gi_vocab vocab;
    struct gi_text *tokens, *merges;
    int32_t *types;
    float *scores;
    struct gi_text *steps;
    int32_t *added, *added_rules, *stops;
};

// Fills *out, which need not be initialised. Fails with BAD_FILE (no tokenizer, a value of the
// wrong kind, arrays that differ in length), UNSUPPORTED (not a model), NO_MEMORY; *out is then
// all zero.
bool gi_vocab_read(const struct gi_gguf *gguf, struct gi_vocab_file *out,
                   struct glinfer_error *err);
// Warns of special tokens whose ids lie outside a vocabulary of n_tokens, which gi_vocab_read
// leaves out, and of more tokens that end an answer than are taken.
void gi_vocab_warn(const struct gi_gguf *gguf, size_t n_tokens, const struct gi_log *log);
// Accepts all-zero.
void gi_vocab_finish(struct gi_vocab_file *file);

// Builds the tokenizer of a file. Fails as glinfer_tokenizer_load does.
struct gi_tokenizer *gi_tokenizer_read(const struct gi_gguf *gguf, struct glinfer_error *err);
