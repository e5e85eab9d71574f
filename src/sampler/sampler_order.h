// Samplers by name and their order.
#ifndef GI_SAMPLER_ORDER_H
#define GI_SAMPLER_ORDER_H

#include "base/error.h"

// kind, name as --samplers has it, letter as --sampler-seq has it
#define GI_SAMPLER_MAP(X)                                                                          \
    X(PENALTIES, "penalties", "e")                                                                 \
    X(DRY, "dry", "d")                                                                             \
    X(TOP_N_SIGMA, "top_n_sigma", "s")                                                             \
    X(TOP_K, "top_k", "k")                                                                         \
    X(TYPICAL, "typ_p", "y")                                                                       \
    X(TOP_P, "top_p", "p")                                                                         \
    X(MIN_P, "min_p", "m")                                                                         \
    X(XTC, "xtc", "x")                                                                             \
    X(TEMPERATURE, "temperature", "t")                                                             \
    X(ADAPTIVE_P, "adaptive_p", "a")

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

#endif
