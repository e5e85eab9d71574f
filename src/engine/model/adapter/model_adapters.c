#include "engine/model/adapter/model_adapters.h"

#include "gguf/identity.h"

#include <string.h>

bool gi_model_adapters_keep(struct gi_model_adapters *adapters, const struct gi_adapter_set *set,
                            const struct glinfer_model_params *params, struct glinfer_error *err)
{
    for (uint32_t i = 0; i < set->n; i++) {
        struct gi_model_adapter *own = &adapters->data[i];
        if (!gi_gguf_identify(set->adapters[i].gguf, &own->identity, err) ||
            !gi_source_keep(&own->source, params->adapters[i], err)) {
            return false;
        }
        own->begin = set->adapters[i].begin;
        own->rank = set->adapters[i].rank;
        own->scale = params->adapter_scales ? params->adapter_scales[i] : 1;
        adapters->n++;
    }
    return true;
}

void gi_model_adapters_finish(struct gi_model_adapters *adapters)
{
    for (uint32_t i = 0; i < adapters->n; i++) {
        gi_source_drop(&adapters->data[i].source);
    }
    *adapters = (struct gi_model_adapters){0};
}

bool gi_model_adapters_reopen(const struct gi_model_adapters *adapters, const struct gi_gguf *model,
                              struct gi_adapter_set *set, struct glinfer_error *err)
{
    const struct glinfer_source *sources[GI_MAX_ADAPTERS];
    for (uint32_t i = 0; i < adapters->n; i++) {
        sources[i] = &adapters->data[i].source;
    }
    bool ok = gi_adapter_set_open(set, model, sources, adapters->n, err);
    for (uint32_t i = 0; ok && i < adapters->n; i++) {
        const struct gi_hash *known = &adapters->data[i].identity;
        struct gi_hash found;
        ok = gi_gguf_identify(set->adapters[i].gguf, &found, err) &&
             ((found.lo == known->lo && found.hi == known->hi) ||
              gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                           "%s is not the file that the adapter was loaded from",
                           gi_gguf_path(set->adapters[i].gguf)));
    }
    if (!ok) {
        gi_adapter_set_close(set);
    }
    return ok;
}

bool gi_model_adapters_can_reopen(const struct gi_model_adapters *adapters,
                                  struct glinfer_error *err)
{
    for (uint32_t i = 0; i < adapters->n; i++) {
        if (adapters->data[i].source.is_transient) {
            return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                                "adapter %u was only there while the model was loaded "
                                "(is_transient): destroy the model and load it anew",
                                i);
        }
    }
    return true;
}

void gi_model_adapters_fill(const struct gi_model_adapters *adapters, const float *scales,
                            uint32_t n_columns, float *columns)
{
    memset(columns, 0, n_columns * sizeof(*columns));
    for (uint32_t i = 0; i < adapters->n; i++) {
        const struct gi_model_adapter *own = &adapters->data[i];
        for (uint32_t j = 0; j < own->rank; j++) {
            columns[own->begin + j] = scales[i];
        }
    }
}

void gi_model_adapters_identify(const struct gi_model_adapters *adapters, const float *scales,
                                struct gi_hash *hash)
{
    for (uint32_t i = 0; i < adapters->n; i++) {
        if (scales[i] != 0) {
            gi_hash_add(hash, &adapters->data[i].identity, sizeof(adapters->data[i].identity));
            gi_hash_add(hash, &scales[i], sizeof(scales[i]));
        }
    }
}
