// Samplers by name and their order.
#pragma once

#include "base/error.h"

#define GI_SAMPLER_MAP(X) GLINFER_SAMPLER_ORDER(X) X(ADAPTIVE_P, "adaptive_p", "a")

#define GI_SAMPLER_ENUM(kind, name, letter) GI_SAMPLER_##kind,
enum gi_sampler_kind {
    GI_SAMPLER_MAP(GI_SAMPLER_ENUM) // in the default order
    GI_SAMPLER_COUNT,
};
#undef GI_SAMPLER_ENUM

#define GI_SAMPLER_MAX_ORDER 32

struct gi_sampler_order {
    enum gi_sampler_kind kinds[GI_SAMPLER_MAX_ORDER];
    uint32_t n;
};

// Sets *order to the default: all but ADAPTIVE_P, which goes last.
void gi_sampler_order_default(struct gi_sampler_order *order);
// Reads names with a semicolon between them ("top_k;min_p;temperature"; "-" for "_" and llama.cpp's
// other names are known too), or one letter each ("kmt"). An empty text is an order of none. Fails
// with INVALID_ARGUMENT, which names the word.
bool gi_sampler_order_parse(struct gi_sampler_order *order, const char *text,
                            struct glinfer_error *err);
