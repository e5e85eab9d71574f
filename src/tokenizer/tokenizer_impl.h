// Shared by the files of the tokenizer: the object itself and the interface of a model kind.
#pragma once

#include "tokenizer/chat/chat.h"
#include "tokenizer/pair.h"
#include "tokenizer/text_map.h"
#include "tokenizer/vocab/special.h"

struct gi_encoder;
struct gi_rules;
struct gi_word_ends;

// One value of tokenizer.ggml.model: how plain text becomes ids, and ids bytes.
struct gi_tokenizer_model {
    const char *name;
    // Ids if the file gives none and the vocabulary is that large; GI_NO_TOKEN: none.
    int32_t default_bos, default_eos, default_unk;
    // Builds what encode needs from the texts and types that the tokenizer already has, and sets
    // its name, add_bos and add_eos. Returns NULL with UNSUPPORTED, BAD_FILE, NO_MEMORY.
    void *(*create)(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                    struct glinfer_error *err);
    void (*destroy)(void *state);
    // Appends the ids of text without special tokens; before and after it is one, or nothing.
    void (*encode)(struct gi_encoder *encoder, struct gi_text text);
    // Appends the ids of words that end at ends, which a tokenizer.json's steps made of a text.
    void (*encode_words)(struct gi_encoder *encoder, struct gi_text text,
                         const struct gi_word_ends *ends);
    // Rewrites the text of a normal token to the bytes it stands for, in place; returns how
    // many, never more than size.
    size_t (*decode)(char *text, size_t size);
};

extern const struct gi_tokenizer_model gi_bpe_model;       // "gpt2": byte-level byte pair encoding
extern const struct gi_tokenizer_model gi_spm_model;       // "llama": that of SentencePiece
extern const struct gi_tokenizer_model gi_line_bpe_model;  // "gemma4": see gi_is_line_bpe
extern const struct gi_tokenizer_model gi_wordpiece_model; // "bert"
extern const struct gi_tokenizer_model gi_unigram_model;   // "t5": the other of SentencePiece

struct gi_tokenizer {
    const struct gi_tokenizer_model *model;
    void *state; // of the model
    char name[64];
    struct gi_text_list texts;   // tokens as the vocabulary spells them
    struct gi_text_list decoded; // the bytes they stand for
    struct gi_text_map text_to_id;
    uint8_t *types; // one enum gi_token_type a token
    struct gi_special special;
    struct gi_rules *rules; // of a tokenizer.json, or NULL
    int32_t bos, eos, sep;
    bool is_bos_added, is_eos_added, is_sep_added;
    bool is_bos_forced;           // BOS is added whatever the file says
    struct gi_pair_template pair; // of a reranker
    struct gi_chat chat;
};

// Appends ids to a list. Keeps the first failure, after which nothing is appended.
struct gi_encoder {
    const struct gi_tokenizer *tokenizer; // borrowed
    struct gi_ids *ids;                   // borrowed
    struct glinfer_error *err;            // may be NULL
    bool has_failed;
};

// Returns true for vocabularies of gi_line_bpe_model: the kinds "gemma4" and "whitespace", and some
// of "gpt2" by their pre-tokenizer.
bool gi_is_line_bpe(const struct gi_vocab *vocab);
// Returns the id of the token for unknown text; GI_NO_TOKEN if the vocabulary has no such token.
int32_t gi_vocab_unknown(const struct gi_vocab *vocab);
// Appends an id unless it is negative.
void gi_encode_id(struct gi_encoder *encoder, int32_t id);
// Notes whether something has succeeded; returns it.
bool gi_encoder_note(struct gi_encoder *encoder, bool is_done);

// A part of a text that is encoded as a whole. Without parse_special control tokens that are
// spelled in it are plain text, and without finds_marks user-defined ones such as <think>, too.
struct gi_segment {
    struct gi_text text;
    bool parse_special;
    bool finds_marks;
};

// A list of them; zero-initialised, data is freed by the owner.
struct gi_segments {
    struct gi_segment *data;
    size_t count, capacity;
};

// Appends the ids of the segments as if they were one text: words and user-defined tokens may cross
// the seams. add_bos, add_eos: put them around the text if the vocabulary asks for it.
void gi_encode_segments(struct gi_encoder *encoder, const struct gi_segments *segments,
                        bool add_bos, bool add_eos);
// Returns true if nothing has failed; else removes all ids after the first `count`.
bool gi_encoder_end(const struct gi_encoder *encoder, size_t count);
// Appends the ids of segments to a list; without memory for all, none.
bool gi_tokenizer_encode_segments(const struct gi_tokenizer *tokenizer,
                                  const struct gi_segments *segments, bool add_bos, bool add_eos,
                                  struct gi_ids *ids, struct glinfer_error *err);
