// Metadata: a key and its value as they lie in the file, checked. Private to this folder.
#pragma once

#include "gguf/gguf_reader.h"

struct gi_gguf_pair {
    struct gi_gguf_string key;
    enum gi_gguf_kind kind;
    const uint8_t *data;          // a scalar's bytes, in the file
    struct gi_gguf_string string; // of kind STRING
    struct gi_gguf_array array;   // of kind ARRAY; its strings are owned
};

#define GI_GGUF_PAIR_MIN_SIZE 14u // bytes of the smallest pair: key of one byte, value of one

// Reads one pair into zeroed memory. What was allocated is released by finish even on failure.
bool gi_gguf_pair_init(struct gi_gguf_pair *pair, struct gi_gguf_reader *r);
void gi_gguf_pair_finish(struct gi_gguf_pair *pair);
// Returns an integer of any kind as 64 bits, and whether it is below zero; false for another kind.
bool gi_gguf_pair_integer(const struct gi_gguf_pair *pair, uint64_t *bits, bool *is_negative);
// Returns "u32", "string" and the like.
const char *gi_gguf_kind_name(enum gi_gguf_kind kind);
