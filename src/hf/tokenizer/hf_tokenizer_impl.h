// Shared by the files of this folder: the tokenizer that is being converted.
#pragma once

#include "hf/tokenizer/hf_tokenizer.h"

enum gi_hf_model { GI_HF_BPE, GI_HF_UNIGRAM, GI_HF_WORDPIECE };

// Bytes that grow; zero-initialised, data is freed by the owner.
struct gi_hf_text {
    char *data;
    size_t count, capacity;
};

// A step: three texts (src/tokenizer/steps/steps.h), owned.
struct gi_hf_step {
    const char *name; // a literal
    struct gi_hf_text expression, text;
};

enum { GI_HF_STEPS_MAX = 64 };

struct gi_hf_tokenizer {
    struct gi_hf_build *b;
    const char *folder;
    cJSON *file;        // tokenizer.json
    cJSON *config;      // tokenizer_config.json; NULL without
    cJSON *generation;  // generation_config.json; NULL without
    const cJSON *model; // of the file
    enum gi_hf_model type;
    bool is_byte_level;  // of BPE: tokens spell bytes as printable characters
    bool has_prefix;     // a space is added in front of a text
    bool removes_spaces; // white space only separates words
    struct gi_hf_text charsmap;

    struct gi_gguf_string *tokens; // n_tokens
    int32_t *types;                // n_tokens of GGUF's token types
    float *scores;                 // n_tokens, of Unigram; else NULL
    size_t n_tokens;
    int32_t unknown;           // id of the token for unknown text; -1: none
    struct gi_hf_text spelled; // memory of tokens that are not spelled as in the file

    int32_t before, after; // ids that are added around a text; -1: none
    int32_t separator;     // id that is added between the texts of a pair after `after`; -1: none
    struct gi_hf_step steps[GI_HF_STEPS_MAX];
    size_t n_steps;
};

// Adds the pairs of the files, which are read: file, config and generation.
void gi_hf_add_pairs(struct gi_hf_tokenizer *t);
// Frees what it owns, and the files.
void gi_hf_tokenizer_finish(struct gi_hf_tokenizer *t);

// Keeps an error whose sentence names the file.
void gi_hf_keep_error(struct gi_hf_tokenizer *t, const struct glinfer_error *err);
// Fails with NO_MEMORY. Does nothing after a failure.
void gi_hf_push(struct gi_hf_tokenizer *t, struct gi_hf_text *out, const char *data, size_t size);
// Returns zeroed memory for the caller to free; NULL after a failure.
void *gi_hf_zeroed(struct gi_hf_tokenizer *t, size_t count, size_t element_size);

// Return a member of an object of tokenizer.json; fallback if it is absent or of another type.
// gi_hf_member_bool fails with BAD_FILE if it is of another type than true, false or null.
const char *gi_hf_member_text(const cJSON *object, const char *key, const char *fallback);
bool gi_hf_member_bool(struct gi_hf_tokenizer *t, const cJSON *object, const char *key,
                       bool fallback);
// Returns the "type" of a component, "" without one.
const char *gi_hf_type_of(const cJSON *component);

// Visits a component, or all components of a Sequence and those within it, in order. list is the
// name of a Sequence's list. Fails with BAD_FILE (no object, too deep).
void gi_hf_visit(struct gi_hf_tokenizer *t, const cJSON *component, const char *list,
                 void (*visit)(struct gi_hf_tokenizer *t, const cJSON *component));
// Fails with UNSUPPORTED: a type of a kind of component, both named; BAD_FILE without a type.
void gi_hf_refuse_type(struct gi_hf_tokenizer *t, const char *kind, const cJSON *component);

// Appends PCRE2's counterpart of an expression of Oniguruma with Ruby's syntax. Fails with
// UNSUPPORTED (names a construct without a counterpart).
void gi_hf_translate(struct gi_hf_tokenizer *t, const char *expression, struct gi_hf_text *out);
// Appends an expression that matches a text.
void gi_hf_quote(struct gi_hf_tokenizer *t, const char *text, struct gi_hf_text *out);

// Fill steps from the normalizer and the pre-tokenizer.
void gi_hf_read_steps(struct gi_hf_tokenizer *t);
// Returns the name that llama.cpp has for the pre-tokenizer of byte-level BPE; NULL without one.
const char *gi_hf_find_pre(struct gi_hf_tokenizer *t);

// Fill tokens, types and scores; add the arrays of tokens and merges, and added tokens.
void gi_hf_read_tokens(struct gi_hf_tokenizer *t);
void gi_hf_add_tokens(struct gi_hf_tokenizer *t);
// Returns the id of the token of that text; -1 without one.
int32_t gi_hf_find_token(const struct gi_hf_tokenizer *t, const char *text);

// Adds the ids of special tokens, those around a text, and chat templates.
void gi_hf_add_special(struct gi_hf_tokenizer *t);
void gi_hf_add_templates(struct gi_hf_tokenizer *t);
