// The small vectors of a model that stay on the host: norms, RoPE factors, and the vectors that an
// encoder adds to the embeddings of tokens, for the position and for the type of the token, which
// is that of a single text.
#pragma once

#include "engine/model/model.h"

// Reads the vectors of a file one after the other; after the first failure, does nothing.
struct gi_vector_reader {
    const struct gi_gguf *gguf; // borrowed
    struct glinfer_error *err;
    bool has_failed;
};
// Returns a tensor of n_rows rows, or more with has_more; NULL if the file does not have it. Fails
// with BAD_FILE (another shape), UNSUPPORTED (a type without a kernel).
const struct gi_gguf_tensor *gi_vector_find(struct gi_vector_reader *reader, const char *name,
                                            uint64_t n_cols, uint64_t n_rows, bool has_more);
// Returns fresh memory with the first n elements of a tensor as floats; NULL if it is NULL, or on
// failure: BAD_FILE (a value that is not finite), IO, NO_MEMORY.
float *gi_vector_take(struct gi_vector_reader *reader, const struct gi_gguf_tensor *tensor,
                      size_t n, const char *what);

// Reads the vectors of a planned model. Fails with BAD_FILE, UNSUPPORTED (a type without a kernel),
// IO, NO_MEMORY.
bool gi_model_vectors_read(struct glinfer_model *model, const struct gi_model_plan *plan,
                           struct glinfer_error *err);
