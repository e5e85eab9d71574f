#include "sampler/sampler.h"

#include "base/array.h"
#include "sampler/filters.h"
#include "sampler/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The state of mirostat and adaptive-p, and of the last choice what they learn once it is
// accepted.
struct adaptation {
    float mu;                          // mirostat: bits of surprise that a token may have
    double weighted_sum, total_weight; // adaptive-p: of p of the tokens chosen
    uint32_t token;                    // GI_SAMPLER_NO_TOKEN: nothing is to be learnt
    double p;                          // its p
};

struct gi_sampler_chain {
    struct gi_sampler_params params;
    struct gi_logit_bias *bias; // (params.n_bias)
    struct gi_candidates list;
    struct gi_history history;
    struct adaptation adaptation;
    bool is_adaptive; // adaptive-p is on
};

void gi_sampler_params_init(struct gi_sampler_params *params, uint32_t n_vocab)
{
    *params = (struct gi_sampler_params){.n_vocab = n_vocab,
                                         .temperature = 1.0f,
                                         .top_p = 1.0f,
                                         .penalties = {.repeat = 1.0f},
                                         .dry = {.base = 1.75f, .allowed_length = 2}};
    glinfer_samplers_init(&params->values);
    gi_sampler_order_default(&params->order);
}

//-- life ------------------------------------------------------------------------------------------

struct gi_sampler_chain *gi_sampler_chain_create(const struct gi_sampler_params *params,
                                                 struct glinfer_error *err)
{
    const size_t n_bias = params->n_bias;
    struct gi_sampler_chain *chain = gi_array_zeroed(1, sizeof(*chain), "a sampler", err);
    if (!chain) {
        return NULL;
    }
    struct glinfer_samplers *values = &chain->params.values;
    chain->params = *params;
    chain->params.bias = NULL;
    chain->bias = gi_array_zeroed(n_bias, sizeof(chain->bias[0]), "logit biases", err);
    if (!chain->bias || !gi_candidates_init(&chain->list, params->n_vocab, err) ||
        !gi_history_init(&chain->history, params->n_vocab, &params->penalties, &params->dry, err)) {
        gi_sampler_chain_destroy(chain);
        return NULL;
    }
    if (n_bias > 0) {
        memcpy(chain->bias, params->bias, n_bias * sizeof(chain->bias[0]));
    }
    values->adaptive_decay = fminf(fmaxf(values->adaptive_decay, 0.0f), 0.99f);
    const double total = 1.0 / (1.0 - values->adaptive_decay);
    chain->adaptation = (struct adaptation){.mu = 2.0f * values->mirostat_tau,
                                            .weighted_sum = values->adaptive_target * total,
                                            .total_weight = total,
                                            .token = GI_SAMPLER_NO_TOKEN};
    chain->is_adaptive = values->adaptive_target >= 0.0f && values->mirostat == 0;
    return chain;
}

void gi_sampler_chain_destroy(struct gi_sampler_chain *chain)
{
    if (chain) {
        gi_history_finish(&chain->history);
        gi_candidates_finish(&chain->list);
        free(chain->bias);
        free(chain);
    }
}

//-- temperature -----------------------------------------------------------------------------------

static void set_temperature(struct gi_candidates *list, double temperature)
{
    if (!(temperature > 1e-30)) {
        gi_filter_top_k(list, 1);
        return;
    }
    for (uint32_t i = 0; temperature != 1.0 && i < list->count; i++) {
        list->data[i].logit = gi_candidates_bound(list->data[i].logit / temperature);
    }
}

static void set_dynamic_temperature(struct gi_candidates *list,
                                    const struct gi_sampler_params *params)
{
    if (list->count < 2) {
        return;
    }
    const double low = fmax(params->temperature - params->values.dynatemp_range, 0.0);
    const double high = params->temperature + params->values.dynatemp_range;
    const double total = gi_candidates_weigh(list);
    double entropy = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const double p = list->data[i].weight / total;
        entropy -= p > 0 ? p * log(p) : 0;
    }
    const double share = fmax(entropy / log(list->count), 0.0);
    set_temperature(list, low + (high - low) * pow(share, params->values.dynatemp_exponent));
}

//-- choices ---------------------------------------------------------------------------------------

// Returns the place in the list of a candidate chosen by exp(logit). Those that are so unlikely
// that the largest noise could not make up for it are passed over.
static uint32_t choose(const struct gi_sampler_chain *chain, uint32_t position)
{
    const struct gi_candidates *list = &chain->list;
    const double largest = gi_candidates_largest(list);
    double best = -INFINITY;
    uint32_t found = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const double above = list->data[i].logit - largest;
        if (above + GI_GUMBEL_MOST < best) {
            continue;
        }
        const uint32_t id = list->data[i].id;
        const double score = above + gi_philox_gumbel(chain->params.seed, position, id);
        if (score > best || (score == best && id < list->data[found].id)) {
            best = score;
            found = i;
        }
    }
    return found;
}

// Chooses by p, and notes it for what adapts.
static uint32_t choose_noted(struct gi_sampler_chain *chain, uint32_t position)
{
    const double total = gi_candidates_weigh(&chain->list);
    const struct gi_candidate *chosen = &chain->list.data[choose(chain, position)];
    chain->adaptation.token = chosen->id;
    chain->adaptation.p = chosen->weight / total;
    return chosen->id;
}

// Returns how many tokens mirostat keeps: estimates from the first of all how fast the probability
// falls with the rank (Zipf's exponent).
static uint32_t count_mirostat(struct gi_sampler_chain *chain)
{
    enum { N_FIRST = 100 };
    struct gi_candidates *list = &chain->list;
    gi_candidates_sort(list, N_FIRST);
    double products = 0, squares = 0;
    for (uint32_t i = 0; i + 1 < N_FIRST && i + 1 < list->count; i++) {
        const double t = log((i + 2.0) / (i + 1.0));
        products += t * (list->data[i].logit - list->data[i + 1].logit);
        squares += t * t;
    }
    const double s = products / squares, epsilon = s - 1;
    const double k =
        pow(epsilon * pow(2.0, chain->adaptation.mu) / (1 - pow(chain->params.n_vocab, -epsilon)),
            1 / s);
    return !(k >= 1) ? 1 : k < list->count ? (uint32_t)k : list->count;
}

static uint32_t choose_mirostat(struct gi_sampler_chain *chain, uint32_t position)
{
    struct gi_candidates *list = &chain->list;
    set_temperature(list, chain->params.temperature);
    if (chain->params.values.mirostat == 1) {
        gi_filter_top_k(list, count_mirostat(chain));
    } else {
        const double bits = chain->adaptation.mu - log2(gi_candidates_weigh(list));
        const double least = gi_candidates_largest(list) - bits * log(2.0);
        gi_candidates_keep_above(list, gi_candidates_bound(least), 1);
    }
    return choose_noted(chain, position);
}

static uint32_t choose_adaptive(struct gi_sampler_chain *chain, uint32_t position)
{
    const struct adaptation *adaptation = &chain->adaptation;
    const double target = fmin(chain->params.values.adaptive_target, 1.0);
    const double mean = adaptation->weighted_sum / adaptation->total_weight;
    const double adapted = fmin(fmax(2 * target - mean, 0.0), 1.0);
    const double total = gi_candidates_weigh(&chain->list);
    for (uint32_t i = 0; i < chain->list.count; i++) {
        struct gi_candidate *candidate = &chain->list.data[i];
        const double distance = fabs(candidate->weight / total - adapted) / 0.3;
        candidate->logit = (float)(5.0 - 10.0 * distance * distance / (1.0 + distance));
    }
    chain->list.n_sorted = 0;
    const struct gi_candidate *chosen = &chain->list.data[choose(chain, position)];
    chain->adaptation.token = chosen->id;
    chain->adaptation.p = chosen->weight / total;
    return chosen->id;
}

//-- the chain -------------------------------------------------------------------------------------

static void apply_sampler(struct gi_sampler_chain *chain, enum gi_sampler_kind kind,
                          uint32_t position)
{
    const struct gi_sampler_params *params = &chain->params;
    if (kind == GI_SAMPLER_PENALTIES) {
        gi_history_penalize(&chain->history, &chain->list);
    } else if (kind == GI_SAMPLER_DRY) {
        gi_history_dry(&chain->history, &chain->list);
    } else if (kind != GI_SAMPLER_TEMPERATURE) {
        gi_filter_apply(&chain->list, params, kind, position);
    } else if (params->values.dynatemp_range > 0.0f) {
        set_dynamic_temperature(&chain->list, params);
    } else {
        set_temperature(&chain->list, params->temperature);
    }
}

static void add_bias(const struct gi_sampler_chain *chain, float *logits)
{
    for (uint32_t i = 0; i < chain->params.n_bias; i++) {
        const double sum = (double)logits[chain->bias[i].id] + chain->bias[i].bias;
        logits[chain->bias[i].id] = sum > -INFINITY ? gi_candidates_bound(sum) : -INFINITY;
    }
}

uint32_t gi_sampler_chain_apply(struct gi_sampler_chain *chain, float *logits,
                                const uint32_t *allowed, uint32_t position)
{
    const struct gi_sampler_params *params = &chain->params;
    chain->adaptation.token = GI_SAMPLER_NO_TOKEN;
    add_bias(chain, logits);
    gi_candidates_fill(&chain->list, logits, params->n_vocab, allowed);
    if (chain->list.count == 0) {
        return GI_SAMPLER_NO_TOKEN;
    }
    if (params->values.mirostat > 0) {
        return choose_mirostat(chain, position);
    }
    for (uint32_t i = 0; i < params->order.n; i++) {
        apply_sampler(chain, params->order.kinds[i], position);
    }
    return chain->is_adaptive ? choose_adaptive(chain, position)
                              : chain->list.data[choose(chain, position)].id;
}

void gi_sampler_chain_accept(struct gi_sampler_chain *chain, uint32_t token)
{
    struct adaptation *adaptation = &chain->adaptation;
    gi_history_push(&chain->history, token);
    if (adaptation->token == token && chain->is_adaptive) {
        const double decay = chain->params.values.adaptive_decay;
        adaptation->weighted_sum = adaptation->p + decay * adaptation->weighted_sum;
        adaptation->total_weight = 1 + decay * adaptation->total_weight;
    } else if (adaptation->token == token) {
        const double surprise = -log2(adaptation->p);
        adaptation->mu -= (float)(chain->params.values.mirostat_eta *
                                  (surprise - chain->params.values.mirostat_tau));
    }
    adaptation->token = GI_SAMPLER_NO_TOKEN;
}

const struct gi_candidates *gi_sampler_chain_kept(const struct gi_sampler_chain *chain)
{
    return &chain->list;
}
