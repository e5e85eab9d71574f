// A vocabulary of the kind llama for tests: byte tokens, a few pieces with scores, a few special
// tokens.
#pragma once

#include "tokenizer/tokenizer.h"

enum small_spm_id {
    SPM_UNKNOWN = 0,             // "<unk>"
    SPM_BOS = 1,                 // "<s>", control
    SPM_EOS = 2,                 // "</s>", control
    SPM_BYTES = 3,               // "<0x00>" to "<0xFF>"
    SPM_SPACE = SPM_BYTES + 256, // U+2581
    SPM_H,
    SPM_E,
    SPM_L,
    SPM_O,
    SPM_LESS,    // "<"
    SPM_LESS_S,  // "<s"
    SPM_GREATER, // ">"
    SPM_HE,      // the better of "he" and "el"
    SPM_EL,
    SPM_LL,
    SPM_HELL,
    SPM_HELLO,    // "hello", of "hell" and "o"
    SPM_SPACE_HE, // U+2581 "he", worse than "hell"
    SPM_SPACES,   // two U+2581
    SPM_TOOL,     // "<tool>", user-defined
    SPM_TAB,      // "\t\t", user-defined
    SPM_USER,     // "<|user|>", control
    SPM_END,      // "<|end|>", control
    SPM_EYE,      // the first half of U+1F441, a piece of broken UTF-8
    SPM_UNUSED,   // "<unused>", unused
    SPM_COUNT,
};

struct small_spm {
    struct gi_vocab vocab; // says nothing of BOS, EOS and prefixes
    char byte_texts[256][8];
    struct gi_text tokens[SPM_COUNT];
    int32_t types[SPM_COUNT];
    float scores[SPM_COUNT];
};

void small_spm_init(struct small_spm *small);
