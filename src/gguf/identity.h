// Tells one model from another.
#pragma once

#include "base/hash.h"
#include "gguf/gguf.h"

// Hashes the size of a file, all before its tensors (metadata, vocabulary, directory) and some
// bytes from the middle of every tensor: files of the same hash hold the same model, unless someone
// means them to differ. Fails with IO, NO_MEMORY.
bool gi_gguf_identify(const struct gi_gguf *gguf, struct gi_hash *hash, struct glinfer_error *err);
