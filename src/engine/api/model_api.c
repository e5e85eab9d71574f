#include "base/arguments.h"
#include "engine/api/call.h"

#include <float.h>

// The sources of a model and of its adapters, with the fields that the caller knows.
struct sources {
    struct glinfer_source model, adapters[GI_MAX_ADAPTERS];
    const struct glinfer_source *pointers[GI_MAX_ADAPTERS];
};

static bool take_adapters(struct glinfer_model_params *own, struct sources *sources,
                          struct glinfer_error *err)
{
    if (!GI_CHECK(err, GI_ARRAY(own->adapters, own->n_adapters))) {
        return false;
    }
    if (own->n_adapters > GI_MAX_ADAPTERS) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a model takes at most %u adapters, not %u", GI_MAX_ADAPTERS,
                            own->n_adapters);
    }
    for (uint32_t i = 0; i < own->n_adapters; i++) {
        const struct glinfer_source *adapter = own->adapters[i];
        sources->pointers[i] = &sources->adapters[i];
        sources->adapters[i] = (struct glinfer_source){.struct_size = sizeof(*adapter)};
        if (!GI_CHECK(err, GI_SET(adapter), GI_COPY(&sources->adapters[i], adapter)) ||
            (own->adapter_scales &&
             !gi_check_number("adapter_scales", own->adapter_scales[i], -FLT_MAX, FLT_MAX, err))) {
            return false;
        }
    }
    own->adapters = sources->pointers;
    return true;
}

// Copies the fields of params and of the sources that the caller knows. Without a source the model
// has one of its path.
static bool take_params(struct glinfer_model_params *own, struct sources *sources,
                        const struct glinfer_model_params *params, struct glinfer_error *err)
{
    struct glinfer_source *source = &sources->model;
    if (!GI_CHECK(err, GI_COPY(own, params)) ||
        !GI_CHECK(err, GI_ENUM(own->type_k, GLINFER_CACHE_Q4_0),
                  GI_ENUM(own->type_v, GLINFER_CACHE_Q4_0)) ||
        !take_adapters(own, sources, err)) {
        return false;
    }
    if (!own->source) {
        *source = *GI_SOURCE_PATH(own->path);
        source->quantize = own->quantize;
        return GI_CHECK(err, GI_SET(own->path));
    }
    *source = (struct glinfer_source){.struct_size = sizeof(*source)};
    return (!own->path || gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                       "a model has a path and a source: set one of them")) &&
           GI_CHECK(err, GI_COPY(source, own->source));
}

bool glinfer_model_inspect(const struct glinfer_model_params *params,
                           struct glinfer_model_info *info, struct glinfer_error *err)
{
    struct glinfer_model_params own = {0};
    struct sources sources;
    struct glinfer_model_info full = {0};
    if (!GI_CHECK(err, GI_SET(info), GI_SIZED(info)) || !take_params(&own, &sources, params, err) ||
        !gi_model_inspect(&sources.model, &own, &full, err)) {
        return false;
    }
    gi_sized_give(info, &full, sizeof(full));
    return true;
}

struct glinfer_model *glinfer_model_load(struct glinfer_device *device,
                                         const struct glinfer_model_params *params,
                                         struct glinfer_error *err)
{
    struct glinfer_model_params own = {0};
    struct sources sources;
    if (!GI_CHECK(err, GI_SET(device)) || !take_params(&own, &sources, params, err) ||
        !gi_device_is_free(device, err)) {
        return NULL;
    }
    struct glinfer_model *model = gi_model_load(device, &sources.model, &own, err);
    gi_call_end(device); // maybe with the device, which a callback has destroyed
    return model;
}

void glinfer_model_describe(const struct glinfer_model *model, struct glinfer_model_info *info)
{
    if (model) {
        gi_sized_give(info, &model->info, sizeof(model->info));
    }
}

const struct glinfer_tokenizer *glinfer_model_tokenizer(const struct glinfer_model *model)
{
    return model && model->tokenizer.core ? &model->tokenizer : NULL;
}
