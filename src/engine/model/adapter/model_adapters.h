// The adapters that a model was loaded with, as sessions need them, and their sources, to be read
// again.
#pragma once

#include "base/hash.h"
#include "engine/model/adapter/adapter_set.h"

struct gi_model_adapter {
    struct glinfer_source source; // kept (gi_source_keep)
    struct gi_hash identity;
    uint32_t begin, rank; // its first column in matrices of all adapters, and their number
    float scale;          // of a new session
};

struct gi_model_adapters {
    struct gi_model_adapter data[GI_MAX_ADAPTERS];
    uint32_t n;      // that sessions have
    uint32_t n_kept; // with one that is merged into the weights, which sessions do not have
};

// Opens the adapters of params and, where they ask for it, merges the only one into the model; the
// set is empty then. Fails as gi_adapter_set_open and gi_adapter_merge do.
bool gi_model_adapters_open(struct gi_adapter_set *set, struct gi_gguf *model,
                            const struct glinfer_model_params *params, struct glinfer_error *err);
// Does that, and keeps the sources, identities, columns and scales of the adapters, which may not
// have been kept before. Fails with IO, too.
bool gi_model_adapters_keep(struct gi_model_adapters *adapters, struct gi_adapter_set *set,
                            struct gi_gguf *model, const struct glinfer_model_params *params,
                            struct glinfer_error *err);
void gi_model_adapters_finish(struct gi_model_adapters *adapters);
// Opens the sources again, merged as before. Fails as gi_model_adapters_open does, and with
// BAD_FILE if a file changed.
bool gi_model_adapters_reopen(const struct gi_model_adapters *adapters, struct gi_gguf *model,
                              struct gi_adapter_set *set, struct glinfer_error *err);
// Fails with UNSUPPORTED if a source was valid only while the model was loaded.
bool gi_model_adapters_can_reopen(const struct gi_model_adapters *adapters,
                                  struct glinfer_error *err);

// Fills (n_columns) with the scale of each column of the matrices; scales has one for each adapter.
void gi_model_adapters_fill(const struct gi_model_adapters *adapters, const float *scales,
                            uint32_t n_columns, float *columns);
// Adds to the hash of a model the adapters that are active, or the one that is merged.
void gi_model_adapters_identify(const struct gi_model_adapters *adapters, const float *scales,
                                struct gi_hash *hash);
