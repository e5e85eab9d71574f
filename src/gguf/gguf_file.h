// The opened file. Private to this folder.
#ifndef GI_GGUF_GGUF_FILE_H
#define GI_GGUF_GGUF_FILE_H

#include "base/file_map.h"
#include "gguf/gguf_pair.h"
#include "gguf/name_index.h"

struct gi_gguf {
    char *path;
    struct gi_file_map map; // all zero when the bytes are the caller's
    const uint8_t *data;    // size bytes: the mapping, or borrowed from the caller
    uint64_t size;
    struct gi_gguf_pair *pairs; // n_pairs, in file order
    size_t n_pairs;
    struct gi_name_index keys;
    struct gi_gguf_tensor *tensors; // n_tensors, in file order
    size_t n_tensors;
    struct gi_name_index tensor_names;
};

#endif
