// Embeddings: how they are pooled and scaled, and how alike two are.
#pragma once

#include "cli/common/cli_memory.h"
#include "glinfer.h"

struct cli_embedding {
    float *values; // owned; of GLINFER_POOLING_NONE a row of n_embedding for each token
    size_t count, n_tokens;
};

// Names of enum glinfer_pooling, ending with NULL.
extern const char *const cli_poolings[];

enum {
    CLI_NORM_NONE = -1,
    CLI_NORM_MAX = 0, // the largest magnitude becomes 32760, as integers of 16 bits would have it
    CLI_NORM_LENGTH = 2, // a length of 1; other numbers p: the sum of p-th powers becomes 1
};
// Scales n values.
void cli_scale_values(float *values, size_t n, int64_t norm);
// Returns the cosine of two vectors of n values; 0 if one is of zeros.
double cli_cosine(const float *a, const float *b, size_t n);

// Encodes a text with a query as glinfer_tokenize_pair does.
bool cli_tokenize_pair(const struct glinfer_tokenizer *tokenizer, const char *query,
                       const struct cli_bytes *text, struct cli_ids *ids,
                       struct glinfer_error *err);

// Computes the embedding of ids, scaled as llama.cpp's --embd-normalize does; single tokens' and
// scores are left as they are. The caller frees its values.
bool cli_embed(struct glinfer_session *session, const struct cli_ids *ids,
               enum glinfer_pooling pooling, int64_t norm, struct cli_embedding *embedding,
               struct glinfer_error *err);
