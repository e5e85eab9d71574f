// The normaliser of SentencePiece: a map from beginnings of a text to what replaces them, as files
// hold it (tokenizer.ggml.precompiled_charsmap): the size in bytes of a double array, the array of
// 32-bit nodes, then replacements that each end in 0. All of it is checked where it is read.
//   Kanda, Space- and Time-Efficient String Dictionaries (2018); the array is that of Darts-clone.
#pragma once

#include "tokenizer/tokenizer.h"

// All zero: a map that replaces nothing.
struct gi_charsmap {
    uint32_t *nodes; // n_nodes
    size_t n_nodes;
    char *replacements; // of replacements_size bytes, the last of which is 0
    size_t replacements_size;
};

// Copies the map of a file; no bytes are an empty map. Fails with BAD_FILE (sizes that do not fit,
// a replacement without an end or of more than 1024 bytes), NO_MEMORY.
bool gi_charsmap_init(struct gi_charsmap *map, struct gi_text file, struct glinfer_error *err);
void gi_charsmap_finish(struct gi_charsmap *map);

// Returns how many bytes of the beginning of text are replaced, the most that are, and sets what
// replaces them; 0 if none are.
size_t gi_charsmap_find(const struct gi_charsmap *map, struct gi_text text,
                        struct gi_text *replacement);
// Returns the size of the shortest beginning of text that is replaced, and sets its replacement; 0
// without one.
size_t gi_charsmap_find_shortest(const struct gi_charsmap *map, struct gi_text text,
                                 struct gi_text *replacement);
