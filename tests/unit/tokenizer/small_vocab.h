// A vocabulary of the kind gpt2 for tests: all bytes, a few merges, a few special tokens.
#pragma once

#include "tokenizer/tokenizer.h"

#define SMALL_VOCAB_MAX 320

// Ids 0 to 255 are the bytes.
enum small_vocab_id {
    SMALL_HE = 256, // merges in this order: "h e", "l l", "he ll", "hell o", "Ġ w", "1 2", "Ġ Ġ"
    SMALL_LL,
    SMALL_HELL,
    SMALL_HELLO,
    SMALL_SPACE_W,
    SMALL_12,
    SMALL_TWO_SPACES,
    SMALL_END,       // "<|endoftext|>", control
    SMALL_IM_START,  // "<|im_start|>", control
    SMALL_IM_END,    // "<|im_end|>", control
    SMALL_TOOL,      // "<tool>", user-defined
    SMALL_TOOL_CALL, // "<tool>call", user-defined
    SMALL_UNKNOWN,   // "<unk>", unknown
    SMALL_UNUSED,    // "<unused>", unused
    SMALL_BYTE,      // "<0x0A>", byte
    SMALL_COUNT,
};

struct small_vocab {
    struct gi_vocab vocab; // smollm; end of text is EOS, no BOS; ChatML
    char byte_texts[256][4];
    struct gi_text tokens[SMALL_VOCAB_MAX];
    int32_t types[SMALL_VOCAB_MAX];
    struct gi_text merges[16];
};

void small_vocab_init(struct small_vocab *small);
// Returns a tokenizer of it with a chat template; ends the test without one.
struct gi_tokenizer *small_vocab_create(const char *template);
// Makes SMALL_TOOL the BOS that a text begins with.
void small_vocab_set_bos(struct small_vocab *small);
// Returns true if a chat of one message is encoded and begins with SMALL_TOOL once.
bool small_vocab_begins_once(const struct gi_tokenizer *tokenizer,
                             const struct glinfer_message *message);
struct gi_text small_text(const char *text);
