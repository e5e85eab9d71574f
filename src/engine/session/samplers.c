#include "engine/session/samplers.h"

#include "base/arguments.h"
#include "base/array.h"
#include "engine/session/breakers.h"
#include "sampler/filters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BREAKERS = 64 };

// Returns the number of tokens in a window of n; n_ctx if n is negative.
static uint32_t window_of(int32_t n, uint32_t n_ctx)
{
    return n < 0 || (uint32_t)n > n_ctx ? n_ctx : (uint32_t)n;
}

// Fills the parameters of a chain but for breakers and biases, and *own with the caller's values
// over the defaults.
static bool read(struct gi_sampler_params *to, struct glinfer_samplers *own,
                 const struct glinfer_generate_params *params, uint32_t n_vocab, uint32_t n_ctx,
                 struct glinfer_error *err)
{
    gi_sampler_params_init(to, n_vocab);
    glinfer_samplers_init(own);
    if (!GI_CHECK(err, GI_COPY(own, params->samplers)) ||
        (own->order && !gi_sampler_order_parse(&to->order, own->order, err))) {
        return false;
    }
    to->seed = params->seed;
    to->temperature = params->temperature;
    to->top_k = params->top_k;
    to->top_p = params->top_p > 0.0f ? params->top_p : 1.0f;
    to->min_p = params->min_p;
    to->values = *own;
    to->penalties = (struct gi_penalties){window_of(own->repeat_last_n, n_ctx), own->repeat_penalty,
                                          own->presence_penalty, own->frequency_penalty};
    to->dry = (struct gi_dry){.multiplier = own->dry_multiplier,
                              .base = own->dry_base,
                              .allowed_length = own->dry_allowed_length,
                              .last_n = window_of(own->dry_penalty_last_n, n_ctx)};
    return true;
}

//-- checks ----------------------------------------------------------------------------------------

static bool check_numbers(const struct glinfer_samplers *samplers, struct glinfer_error *err)
{
#define GI_NUMBER(type, field, value, least, most)                                                 \
    &&gi_check_number(#field, (double)samplers->field, least, most, err)
    return true GLINFER_SAMPLER_MAP(GI_NUMBER);
#undef GI_NUMBER
}

static bool check_biases(const struct glinfer_samplers *samplers, uint32_t n_vocab,
                         struct glinfer_error *err)
{
    if (samplers->n_logit_bias > UINT32_MAX) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "invalid n_logit_bias %zu: expected at most %u", samplers->n_logit_bias,
                            UINT32_MAX);
    }
    if (!GI_CHECK(err, GI_ARRAY(samplers->logit_bias, samplers->n_logit_bias))) {
        return false;
    }
    for (size_t i = 0; i < samplers->n_logit_bias; i++) {
        const struct glinfer_logit_bias *bias = &samplers->logit_bias[i];
        if (bias->id < 0 || (uint32_t)bias->id >= n_vocab) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "invalid logit bias %zu: token %d is not below %u, the size of "
                                "the vocabulary",
                                i, bias->id, n_vocab);
        }
        if (isnan(bias->bias) || bias->bias == INFINITY) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "invalid logit bias %g of token %d: expected a number or -INFINITY",
                                (double)bias->bias, bias->id);
        }
    }
    return true;
}

static bool check_breakers(const struct glinfer_samplers *samplers, struct glinfer_error *err)
{
    if (samplers->n_dry_breakers > MAX_BREAKERS) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "invalid n_dry_breakers %zu: expected at most %d",
                            samplers->n_dry_breakers, MAX_BREAKERS);
    }
    return GI_CHECK(err, GI_STRINGS(samplers->dry_breakers, samplers->n_dry_breakers));
}

bool gi_samplers_check(const struct glinfer_generate_params *params, uint32_t n_vocab,
                       struct glinfer_error *err)
{
    struct glinfer_samplers own;
    struct gi_sampler_params to;
    return read(&to, &own, params, n_vocab, 0, err) && check_numbers(&own, err) &&
           check_biases(&own, n_vocab, err) && check_breakers(&own, err);
}

//-- the GPU's samplers ----------------------------------------------------------------------------

static void drop_inactive(struct gi_sampler_order *order, const struct gi_sampler_params *params)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < order->n; i++) {
        if (gi_sampler_is_active(params, order->kinds[i])) {
            order->kinds[n++] = order->kinds[i];
        }
    }
    order->n = n;
}

// Returns true if the active samplers are the ones that the GPU has, in its order.
static bool is_gpu_order(const struct gi_sampler_params *params)
{
    struct gi_sampler_order order = params->order;
    struct gi_sampler_order gpu = {{GI_SAMPLER_PENALTIES, GI_SAMPLER_TOP_K, GI_SAMPLER_TOP_P,
                                    GI_SAMPLER_MIN_P, GI_SAMPLER_TEMPERATURE},
                                   5};
    drop_inactive(&order, params);
    drop_inactive(&gpu, params);
    return order.n == gpu.n && memcmp(order.kinds, gpu.kinds, gpu.n * sizeof(gpu.kinds[0])) == 0;
}

static bool needs_host(const struct gi_sampler_params *params)
{
    const struct glinfer_samplers *values = &params->values;
    return values->mirostat > 0 || values->adaptive_target >= 0.0f ||
           values->dynatemp_range > 0.0f || values->min_keep > 1 || !is_gpu_order(params);
}

bool gi_samplers_need_host(const struct glinfer_generate_params *params)
{
    struct glinfer_samplers own;
    struct gi_sampler_params to;
    return params->samplers && read(&to, &own, params, 0, UINT32_MAX, NULL) && needs_host(&to);
}

uint32_t gi_samplers_adjust(const struct glinfer_generate_params *params)
{
    struct glinfer_samplers own;
    struct gi_sampler_params to;
    const uint32_t mask = params->grammar ? GI_ADJUST_MASK : 0;
    if (!params->samplers || !read(&to, &own, params, 0, UINT32_MAX, NULL)) {
        return mask;
    }
    if (needs_host(&to)) {
        return 0;
    }
    return mask | (gi_sampler_is_active(&to, GI_SAMPLER_PENALTIES) ? GI_ADJUST_PENALTIES : 0u) |
           (own.n_logit_bias > 0 ? GI_ADJUST_BIAS : 0u);
}

//-- the chain -------------------------------------------------------------------------------------

struct gi_penalties gi_samplers_penalties(const struct glinfer_generate_params *params,
                                          uint32_t n_ctx)
{
    struct glinfer_samplers own;
    struct gi_sampler_params to;
    read(&to, &own, params, 0, n_ctx, NULL);
    return to.penalties;
}

void gi_samplers_add_biases(const struct glinfer_generate_params *params, float *biases)
{
    struct glinfer_samplers own;
    struct gi_sampler_params to;
    read(&to, &own, params, 0, 0, NULL);
    for (size_t i = 0; i < own.n_logit_bias; i++) {
        float *bias = &biases[own.logit_bias[i].id];
        const double sum = (double)*bias + own.logit_bias[i].bias;
        *bias = sum > -INFINITY ? gi_candidates_bound(sum) : -INFINITY;
    }
}

static bool fill_breakers(struct gi_breaker_list *list, const struct gi_tokenizer *tokenizer,
                          uint32_t n_vocab, const struct glinfer_samplers *samplers,
                          struct glinfer_error *err)
{
    static const char *const usual[] = {"\n", ":", "\"", "*"};
    const bool is_usual = !samplers->dry_breakers;
    return gi_breaker_list_fill(
        list, tokenizer, n_vocab, is_usual ? usual : samplers->dry_breakers,
        is_usual ? sizeof(usual) / sizeof(usual[0]) : samplers->n_dry_breakers, err);
}

static struct gi_logit_bias *copy_biases(const struct glinfer_samplers *samplers,
                                         struct glinfer_error *err)
{
    struct gi_logit_bias *biases =
        gi_array_zeroed(samplers->n_logit_bias, sizeof(biases[0]), "logit biases", err);
    for (size_t i = 0; biases && i < samplers->n_logit_bias; i++) {
        biases[i].id = (uint32_t)samplers->logit_bias[i].id;
        biases[i].bias = samplers->logit_bias[i].bias;
    }
    return biases;
}

struct gi_sampler_chain *gi_samplers_create_chain(const struct glinfer_generate_params *params,
                                                  const struct gi_tokenizer *tokenizer,
                                                  uint32_t n_vocab, uint32_t n_ctx,
                                                  struct glinfer_error *err)
{
    struct glinfer_samplers own;
    struct gi_sampler_params to;
    struct gi_breaker_list breakers = {0};
    struct gi_sampler_chain *chain = NULL;
    if (!read(&to, &own, params, n_vocab, n_ctx, err)) {
        return NULL;
    }
    struct gi_logit_bias *biases = copy_biases(&own, err);
    to.bias = biases;
    to.n_bias = (uint32_t)own.n_logit_bias;
    if (biases && (!gi_sampler_is_active(&to, GI_SAMPLER_DRY) ||
                   fill_breakers(&breakers, tokenizer, n_vocab, &own, err))) {
        to.dry.breakers = breakers.data;
        to.dry.n_breaker = (uint32_t)breakers.count;
        chain = gi_sampler_chain_create(&to, err);
    }
    gi_breaker_list_finish(&breakers);
    free(biases);
    return chain;
}

enum gi_step_end gi_samplers_choose_end(const struct glinfer_generate_params *params)
{
    const bool is_greedy = !(params->temperature > 0.0f) || gi_samplers_need_host(params);
    const enum gi_step_end plain = params->n_probs > 0 ? GI_STEP_END_PROBS
                                   : is_greedy         ? GI_STEP_END_GREEDY
                                   : params->top_k > 0 && params->top_k <= GI_SMALL_K
                                       ? GI_STEP_END_SMALL_K
                                       : GI_STEP_END_FULL;
    return gi_samplers_adjust(params) ? GI_STEP_END_ADJUSTED + plain : plain;
}
