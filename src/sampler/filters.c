#include "sampler/filters.h"

#include <math.h>
#include <string.h>

void gi_filter_top_k(struct gi_candidates *list, uint32_t k)
{
    if (k > 0 && k < list->count) {
        gi_candidates_sort(list, k);
        gi_candidates_keep(list, k);
    }
}

void gi_filter_top_p(struct gi_candidates *list, float top_p, uint32_t min_keep)
{
    if (!(top_p < 1.0f)) {
        return;
    }
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

void gi_filter_min_p(struct gi_candidates *list, float min_p, uint32_t min_keep)
{
    if (min_p > 0.0f) {
        const float least = gi_candidates_largest(list) + logf(fminf(min_p, 1.0f));
        gi_candidates_keep_above(list, least, min_keep);
    }
}

void gi_filter_typical(struct gi_candidates *list, float typical_p, uint32_t min_keep)
{
    if (!(typical_p < 1.0f)) {
        return;
    }
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

void gi_filter_top_n_sigma(struct gi_candidates *list, float n)
{
    if (!(n > 0.0f) || list->count < 2) {
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

void gi_filter_xtc(struct gi_candidates *list, float threshold, uint32_t min_keep)
{
    if (threshold > 0.5f || list->count < 2) {
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
