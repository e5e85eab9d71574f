// Turns text into token ids and back for one vocabulary, and has its chat template. Owns copies of
// all that it needs. Immutable after creation, and may be used by several threads. No GL, no GGUF:
// the caller hands the vocabulary over as plain arrays.
#pragma once

#include "base/error.h"
#include "tokenizer/text.h"

#include <stdint.h>

struct gi_tokenizer;

enum gi_token_type { // tokenizer.ggml.token_type
    GI_TOKEN_TYPE_NORMAL = 1,
    GI_TOKEN_TYPE_UNKNOWN = 2,
    GI_TOKEN_TYPE_CONTROL = 3,
    GI_TOKEN_TYPE_USER_DEFINED = 4,
    GI_TOKEN_TYPE_UNUSED = 5,
    GI_TOKEN_TYPE_BYTE = 6,
};

#define GI_NO_TOKEN (-1)

// Rules of an added token of a tokenizer.json; glinfer.tokenizer.added_rules has their sum.
enum gi_added_rule {
    GI_ADDED_LSTRIP = 1,      // takes the white space before it
    GI_ADDED_RSTRIP = 2,      // takes the white space after it
    GI_ADDED_SINGLE_WORD = 4, // is not found within a word
    GI_ADDED_NORMALIZED = 8,  // is found in the normalised text
};

// The keys glinfer.tokenizer.*: how a tokenizer.json makes ids where it does other than llama.cpp.
// With them the text goes through the steps, whatever `pre` says.
struct gi_vocab_rules {
    bool is_present;
    const struct gi_text *steps; // n_step_texts, three a step: steps/steps.h
    size_t n_step_texts;
    const int32_t *added, *added_rules; // n_added ids and their rules: the only special tokens
    size_t n_added;
    const int32_t *stops; // n_stops more ids that end an answer
    size_t n_stops;
    bool ignores_merges;    // a word that is a token is not merged from its parts
    bool has_byte_fallback; // an unknown character is written in byte tokens
    bool fuses_unknown;     // neighbours that are unknown are one unknown token
    uint32_t word_size_max; // of bert: characters of a word; 0: any
};

// The vocabulary of a GGUF file; zero or -1 for what it does not say. Needs to live only during
// gi_tokenizer_create.
struct gi_vocab {
    struct gi_text model; // tokenizer.ggml.model: "gpt2", "llama", "gemma4", "bert", "t5", ...
    struct gi_text pre;   // tokenizer.ggml.pre: "smollm", "llama-bpe", ...; of gpt2 alone
    struct gi_text name;  // general.name: white space after Phi-3's special tokens is void
    const struct gi_text *tokens; // n_tokens
    const int32_t *types;         // n_tokens of enum gi_token_type, or NULL
    const float *scores;          // n_tokens, or NULL
    size_t n_tokens;
    const struct gi_text *merges; // n_merges of "left right"
    size_t n_merges;
    int32_t bos, eos, eot, eom, unk, pad;   // GI_NO_TOKEN where absent
    int32_t sep;                            // between the texts of a pair, if add_sep is 1
    int add_sep;                            // as add_bos
    int add_bos, add_eos, add_space_prefix; // -1: the file says nothing
    int remove_extra_whitespaces;           // 0, 1, or negative: not set; of t5 alone
    bool is_lowercased;                     // of whitespace alone
    struct gi_text charsmap;                // of t5: its normaliser, see vocab/charsmap.h
    struct gi_text chat_template;           // Jinja text
    struct gi_text pair_template;           // of a reranker: text with {query}, {document} once
    struct gi_vocab_rules rules;
};

// Fails with UNSUPPORTED (names model or pre and what is supported), BAD_FILE (no tokens, bos, eos
// eot or eom out of range, merges that name no token, rules that do not fit), NO_MEMORY.
struct gi_tokenizer *gi_tokenizer_create(const struct gi_vocab *vocab, struct glinfer_error *err);
void gi_tokenizer_destroy(struct gi_tokenizer *tokenizer);

size_t gi_tokenizer_size(const struct gi_tokenizer *tokenizer);
// Returns "gpt2/smollm" and the like.
const char *gi_tokenizer_name(const struct gi_tokenizer *tokenizer);
// Returns the chat template's name; "jinja" for one without a name that can be run, "none" or
// "unknown".
const char *gi_tokenizer_template_name(const struct gi_tokenizer *tokenizer);
// Returns why the file's own template cannot be run; "" if it can, without one, or after
// gi_tokenizer_set_template.
const char *gi_tokenizer_template_fault(const struct gi_tokenizer *tokenizer);
// Returns the name of a chat template; NULL past the last.
const char *gi_tokenizer_template_at(size_t index);
// Takes the template of that name, or a Jinja text, in place of the file's, before the tokenizer is
// shared. If the file's has another name, its default system message is dropped. Fails with
// INVALID_ARGUMENT (lists the names), UNSUPPORTED (a text that cannot be run), NO_MEMORY.
bool gi_tokenizer_set_template(struct gi_tokenizer *tokenizer, const char *name,
                               struct glinfer_error *err);

// A growing list of ids; zero-initialised by the caller, freed with gi_ids_finish.
struct gi_ids {
    int32_t *data;
    size_t count, capacity;
};
void gi_ids_finish(struct gi_ids *ids);

// A growing text; zero-initialised by the caller, who frees its data.
struct gi_chars {
    char *data;
    size_t count, capacity;
};

// Appends the ids of text. add_special: BOS and EOS as the file asks. parse_special: text that
// spells a control or user-defined token becomes that token. Fails with NO_MEMORY, UNSUPPORTED (an
// expression of a tokenizer.json takes too many steps).
bool gi_tokenizer_encode(const struct gi_tokenizer *tokenizer, struct gi_text text,
                         bool add_special, bool parse_special, struct gi_ids *ids,
                         struct glinfer_error *err);

// Appends the ids of a query and a text as a reranker reads them: in the file's template or,
// without one, each with what ends a text, a separator between them if the file asks for one.
// Special tokens spelled in them stay text. Fails with BAD_FILE (a template without both places),
// NO_MEMORY.
bool gi_tokenizer_encode_pair(const struct gi_tokenizer *tokenizer, struct gi_text query,
                              struct gi_text text, struct gi_ids *ids, struct glinfer_error *err);

// Appends the ids of a conversation in the model's template. The contents are data: special tokens
// spelled in them stay text. Fails with UNSUPPORTED (no template,
// an unknown one), INVALID_ARGUMENT (a role the template has no place for, or not there),
// NO_MEMORY.
bool gi_tokenizer_encode_chat(const struct gi_tokenizer *tokenizer,
                              const struct glinfer_message *messages, size_t n_messages,
                              enum glinfer_chat_end end, struct gi_ids *ids,
                              struct glinfer_error *err);
// Appends the ids of a conversation in JSON. Fails as glinfer_chat_tokenize_json does.
bool gi_tokenizer_encode_chat_json(const struct gi_tokenizer *tokenizer,
                                   const struct glinfer_chat_json *chat, struct gi_ids *ids,
                                   struct glinfer_error *err);

// Appends the text of a conversation in JSON, without the BOS token that encoding a text adds.
// Fails as glinfer_chat_tokenize_json does.
bool gi_tokenizer_write_chat_json(const struct gi_tokenizer *tokenizer,
                                  const struct glinfer_chat_json *chat, struct gi_chars *text,
                                  struct glinfer_error *err);
// Returns the Jinja text of the chat template; NULL: none.
const char *gi_tokenizer_template_text(const struct gi_tokenizer *tokenizer);

// Returns the bytes that a token stands for in text; control tokens give their name. {NULL, 0} out
// of range.
struct gi_text gi_tokenizer_bytes(const struct gi_tokenizer *tokenizer, int32_t id);
// True for control tokens and the unknown token, which are not part of an answer's text.
bool gi_tokenizer_is_control(const struct gi_tokenizer *tokenizer, int32_t id);
// Sets the ids that end an answer, sorted: EOS, EOT and what the vocabulary spells as an end of
// turn. Returns how many, at most 16.
size_t gi_tokenizer_stop_ids(const struct gi_tokenizer *tokenizer, int32_t ids[16]);
