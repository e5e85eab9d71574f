// The opened file. Private to this folder.
#pragma once

#include "gguf/gguf_pair.h"
#include "gguf/gguf_writer.h"
#include "gguf/name_index.h"

struct gi_gguf {
    struct gi_source source; // of a model in several files: the first
    struct gi_gguf **pieces; // the others in order, n_pieces, owned; they have no pieces
    uint32_t n_pieces;
    struct gi_gguf_block *blocks; // hold the keys, strings and arrays; NULL for a file in memory
    struct gi_gguf_pair *pairs;   // n_pairs, in file order
    size_t n_pairs;
    struct gi_name_index keys;
    struct gi_gguf_tensor *tensors; // n_tensors, in file order
    size_t n_tensors;
    struct gi_name_index tensor_names;
    struct gi_gguf_tensor_reader composed; // all zero for a file
    struct gi_gguf_filter filter;          // all zero: none
};

// Opens one file, which may be a piece of a model. Fails as gi_gguf_open does.
struct gi_gguf *gi_gguf_open_file(const struct glinfer_source *source, struct glinfer_error *err);
// Reads a head of head_size bytes, pairs and tensor directory, from the source. Fails as
// gi_gguf_open does.
bool gi_gguf_read_head(struct gi_gguf *gguf, uint64_t head_size, struct glinfer_error *err);
// Reads n_pairs pairs. Fails as gi_gguf_open does.
bool gi_gguf_read_pairs(struct gi_gguf *gguf, struct gi_gguf_reader *r, size_t n_pairs);
// Finds the type, n_elements and size of a tensor whose name and sizes are read. Fails with
// BAD_FILE, UNSUPPORTED (an unknown type).
bool gi_gguf_tensor_size(struct gi_gguf_tensor *t, uint32_t type, const struct gi_gguf_reader *r);
// Sorts an index whose entries are filled; fails with BAD_FILE if a name appears twice.
bool gi_gguf_sort_names(struct gi_name_index *names, const char *what, const char *path,
                        struct glinfer_error *err);
// Opens the other pieces of a model in several files, of which one was opened from the source, and
// returns the model. Returns a whole model as it is. Takes ownership; NULL on failure.
struct gi_gguf *gi_gguf_join(struct gi_gguf *gguf, const struct glinfer_source *source,
                             struct glinfer_error *err);
// Returns a file of the model, 0 to n_pieces.
static inline const struct gi_gguf *gi_gguf_file(const struct gi_gguf *gguf, uint32_t index)
{
    return index > 0 ? gguf->pieces[index - 1] : gguf;
}
