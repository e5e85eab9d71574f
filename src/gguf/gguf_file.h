// The opened file. Private to this folder.
#ifndef GI_GGUF_GGUF_FILE_H
#define GI_GGUF_GGUF_FILE_H

#include "gguf/gguf_pair.h"
#include "gguf/name_index.h"

struct gi_gguf {
    struct gi_source source;
    struct gi_gguf_block *blocks; // what keys, strings and arrays point into; none of memory
    struct gi_gguf_pair *pairs;   // n_pairs, in file order
    size_t n_pairs;
    struct gi_name_index keys;
    struct gi_gguf_tensor *tensors; // n_tensors, in file order
    size_t n_tensors;
    struct gi_name_index tensor_names;
};

#endif
