// GGUF files that hold something else than a language model.
#pragma once

#include "gguf/gguf.h"

// Fails with UNSUPPORTED and names what the file holds if its metadata says that it is a projector,
// an adapter, a control vector or an importance matrix.
bool gi_check_is_model(const struct gi_gguf *gguf, struct glinfer_error *err);
