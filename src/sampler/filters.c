#include "sampler/filters.h"

#include "sampler/philox.h"

#include <math.h>
#include <string.h>

bool gi_sampler_is_active(const struct gi_sampler_params *params, enum gi_sampler_kind kind)
{
    const struct glinfer_samplers *values = &params->values;
    const struct gi_penalties *penalties = &params->penalties;
    switch (kind) {
    case GI_SAMPLER_PENALTIES:
        return penalties->last_n > 0 && (penalties->repeat != 1.0f || penalties->presence != 0.0f ||
                                         penalties->frequency != 0.0f);
    case GI_SAMPLER_DRY:
        return params->dry.multiplier != 0.0f && params->dry.base >= 1.0f && params->dry.last_n > 0;
    case GI_SAMPLER_TOP_N_SIGMA:
        return values->top_n_sigma > 0.0f;
    case GI_SAMPLER_TOP_K:
        return params->top_k > 0;
    case GI_SAMPLER_TYPICAL:
        return values->typical_p < 1.0f;
    case GI_SAMPLER_TOP_P:
        return params->top_p > 0.0f && params->top_p < 1.0f;
    case GI_SAMPLER_MIN_P:
        return params->min_p > 0.0f;
    case GI_SAMPLER_XTC:
        return values->xtc_probability > 0.0f && values->xtc_threshold <= 0.5f;
    case GI_SAMPLER_TEMPERATURE:
        return true;
    default: // ADAPTIVE_P is last in every chain, not by the order
        return false;
    }
}

//-- filters, which are active ---------------------------------------------------------------------

void gi_filter_top_k(struct gi_candidates *list, uint32_t k)
{
    if (k > 0 && k < list->count) {
        gi_candidates_sort(list, k);
        gi_candidates_keep(list, k);
    }
}

// Keeps the fewest of the likeliest whose p add up to top_p or more (Holtzman et al. 2020, nucleus
// sampling).
static void keep_top_p(struct gi_candidates *list, float top_p, uint32_t min_keep)
{
    const double goal = top_p * gi_candidates_weigh(list);
    uint32_t n_sorted = list->n_sorted, kept = 0;
    double sum = 0;
    while (kept < list->count) {
        if (kept == n_sorted) {
            gi_candidates_grow(list, &n_sorted);
            gi_candidates_sort(list, n_sorted);
        }
        sum += list->data[kept++].weight;
        if (sum >= goal && kept >= min_keep) {
            break;
        }
    }
    gi_candidates_keep(list, kept);
}

// Keeps those with p >= min_p * the largest p (Nguyen et al. 2024).
static void keep_min_p(struct gi_candidates *list, float min_p, uint32_t min_keep)
{
    const float least = gi_candidates_largest(list) + logf(fminf(min_p, 1.0f));
    gi_candidates_keep_above(list, least, min_keep);
}

// Keeps the fewest of those with the smallest |-ln p - H| whose p add up to more than typical_p, H
// being the entropy -sum(p ln p) (Meister et al. 2022, locally typical sampling).
static void keep_typical(struct gi_candidates *list, float typical_p, uint32_t min_keep)
{
    const float largest = gi_candidates_largest(list);
    const double total = gi_candidates_weigh(list), log_total = log(total);
    double entropy = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct gi_candidate *candidate = &list->data[i];
        entropy -= candidate->weight / total * (candidate->logit - largest - log_total);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const double surprise = log_total - (list->data[i].logit - largest);
        list->data[i].weight = gi_candidates_bound(-fabs(surprise - entropy));
    }
    uint32_t n_sorted = 0, kept = 0;
    double sum = 0;
    while (kept < list->count) {
        if (kept == n_sorted) {
            gi_candidates_grow(list, &n_sorted);
            gi_candidates_sort_by_weight(list, kept, n_sorted);
        }
        sum += exp((double)list->data[kept++].logit - largest) / total;
        if (sum > typical_p && kept >= min_keep) {
            break;
        }
    }
    gi_candidates_keep(list, kept);
}

// Keeps those with logit >= largest - n * sigma, sigma being the standard deviation of the logits
// (Tang et al. 2024, top-n-sigma).
static void keep_top_n_sigma(struct gi_candidates *list, float n)
{
    if (list->count < 2) {
        return;
    }
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        sum += list->data[i].logit;
    }
    const double mean = sum / list->count;
    for (uint32_t i = 0; i < list->count; i++) {
        const double above = list->data[i].logit - mean;
        squares += above * above;
    }
    const double sigma = sqrt(squares / list->count);
    const double least = gi_candidates_largest(list) - n * sigma;
    gi_candidates_keep_above(list, gi_candidates_bound(least), 1);
}

// Drops those with p >= threshold but the unlikeliest of them ("exclude top choices"), if that
// leaves min_keep.
static void drop_top_choices(struct gi_candidates *list, float threshold, uint32_t min_keep)
{
    if (list->count < 2) {
        return;
    }
    const double goal = threshold * gi_candidates_weigh(list);
    uint32_t n_sorted = list->n_sorted, n_above = 0;
    while (n_above < list->count) {
        if (n_above == n_sorted) {
            gi_candidates_grow(list, &n_sorted);
            gi_candidates_sort(list, n_sorted);
        }
        if (list->data[n_above].weight < goal) {
            break;
        }
        n_above++;
    }
    const uint32_t n_dropped = n_above > 1 ? n_above - 1 : 0;
    if (n_dropped > 0 && list->count - n_dropped >= min_keep) {
        list->count -= n_dropped;
        list->n_sorted -= n_dropped;
        memmove(list->data, list->data + n_dropped, list->count * sizeof(list->data[0]));
    }
}

void gi_filter_apply(struct gi_candidates *list, const struct gi_sampler_params *params,
                     enum gi_sampler_kind kind, uint32_t position)
{
    const struct glinfer_samplers *values = &params->values;
    switch (gi_sampler_is_active(params, kind) ? kind : GI_SAMPLER_COUNT) {
    case GI_SAMPLER_TOP_N_SIGMA:
        keep_top_n_sigma(list, values->top_n_sigma);
        break;
    case GI_SAMPLER_TOP_K:
        gi_filter_top_k(list, params->top_k);
        break;
    case GI_SAMPLER_TYPICAL:
        keep_typical(list, values->typical_p, values->min_keep);
        break;
    case GI_SAMPLER_TOP_P:
        keep_top_p(list, params->top_p, values->min_keep);
        break;
    case GI_SAMPLER_MIN_P:
        keep_min_p(list, params->min_p, values->min_keep);
        break;
    case GI_SAMPLER_XTC:
        if (gi_philox_uniform(params->seed, position, GI_SAMPLER_XTC) <= values->xtc_probability) {
            drop_top_choices(list, values->xtc_threshold, values->min_keep);
        }
        break;
    default: // inactive, or not a filter
        break;
    }
}
