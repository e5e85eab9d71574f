#include "engine/model/adapter/model_adapters.h"

#include "engine/model/adapter/adapter_merge.h"
#include "gguf/identity.h"

#include <string.h>

static bool merge(struct gi_adapter_set *set, struct gi_gguf *model, float scale,
                  struct glinfer_error *err)
{
    if (!gi_adapter_merge(set, model, scale, err)) {
        gi_adapter_set_close(set);
        return false;
    }
    return true;
}

static float find_scale(const struct glinfer_model_params *params, uint32_t adapter)
{
    return params->adapter_scales ? params->adapter_scales[adapter] : 1;
}

bool gi_model_adapters_open(struct gi_adapter_set *set, struct gi_gguf *model,
                            const struct glinfer_model_params *params, struct glinfer_error *err)
{
    return gi_adapter_set_open(set, model, params->adapters, params->n_adapters, err) &&
           (!params->merge_adapter || merge(set, model, find_scale(params, 0), err));
}

// Keeps the adapters of an open set.
static bool keep(struct gi_model_adapters *adapters, const struct gi_adapter_set *set,
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
        own->scale = find_scale(params, i);
        adapters->n_kept++;
    }
    adapters->n = params->merge_adapter ? 0 : set->n;
    return true;
}

bool gi_model_adapters_keep(struct gi_model_adapters *adapters, struct gi_adapter_set *set,
                            struct gi_gguf *model, const struct glinfer_model_params *params,
                            struct glinfer_error *err)
{
    if (!gi_adapter_set_open(set, model, params->adapters, params->n_adapters, err)) {
        return false;
    }
    if (!keep(adapters, set, params, err)) {
        gi_adapter_set_close(set);
        return false;
    }
    return !params->merge_adapter || merge(set, model, find_scale(params, 0), err);
}

void gi_model_adapters_finish(struct gi_model_adapters *adapters)
{
    for (uint32_t i = 0; i < adapters->n_kept; i++) {
        gi_source_drop(&adapters->data[i].source);
    }
    *adapters = (struct gi_model_adapters){0};
}

bool gi_model_adapters_reopen(const struct gi_model_adapters *adapters, struct gi_gguf *model,
                              struct gi_adapter_set *set, struct glinfer_error *err)
{
    const struct glinfer_source *sources[GI_MAX_ADAPTERS];
    for (uint32_t i = 0; i < adapters->n_kept; i++) {
        sources[i] = &adapters->data[i].source;
    }
    bool ok = gi_adapter_set_open(set, model, sources, adapters->n_kept, err);
    for (uint32_t i = 0; ok && i < adapters->n_kept; i++) {
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
        return false;
    }
    return adapters->n == adapters->n_kept || merge(set, model, adapters->data[0].scale, err);
}

bool gi_model_adapters_can_reopen(const struct gi_model_adapters *adapters,
                                  struct glinfer_error *err)
{
    for (uint32_t i = 0; i < adapters->n_kept; i++) {
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
    for (uint32_t i = 0; i < adapters->n_kept; i++) {
        const struct gi_model_adapter *own = &adapters->data[i];
        const float scale = adapters->n > 0 ? scales[i] : own->scale;
        if (scale != 0) {
            gi_hash_add(hash, &own->identity, sizeof(own->identity));
            gi_hash_add(hash, &scale, sizeof(scale));
        }
    }
}
