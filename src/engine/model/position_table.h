// The vectors that an encoder adds to the embeddings of tokens: for the position, and for the type
// of the token, which is that of a single text.
#ifndef GI_ENGINE_POSITION_TABLE_H
#define GI_ENGINE_POSITION_TABLE_H

#include "gguf/gguf.h"
#include "graph/hparams.h"

// Reads position_embd, and adds the first row of token_types to each row; *out (n_ctx_train,
// n_embd) is the caller's to free, NULL if the hparams have no positions. Fails with BAD_FILE,
// UNSUPPORTED (a type without a kernel), IO, NO_MEMORY.
bool gi_read_positions(const struct gi_gguf *gguf, const struct gi_hparams *hparams, float **out,
                       struct glinfer_error *err);

#endif
