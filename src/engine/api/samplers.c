#include "engine/api/samplers.h"

#include "base/array.h"
#include "engine/api/arguments.h"
#include "engine/api/breakers.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_BREAKERS = 64 };

// Copies what the caller knows of the samplers over the defaults.
static bool take(struct glinfer_samplers *own, const struct glinfer_samplers *samplers,
                 struct glinfer_error *err)
{
    glinfer_samplers_init(own);
    return GI_TAKE(own, samplers, err);
}

static bool read_order(struct gi_sampler_order *order, const struct glinfer_samplers *samplers,
                       struct glinfer_error *err)
{
    if (samplers->order) {
        return gi_sampler_order_parse(order, samplers->order, err);
    }
    gi_sampler_order_default(order);
    return true;
}

//-- checks ----------------------------------------------------------------------------------------

struct bound {
    const char *name;
    float value, least, most;
};

static bool check_bounds(const struct bound *bounds, size_t n, struct glinfer_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct bound *bound = &bounds[i];
        if (!(bound->value >= bound->least && bound->value <= bound->most)) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "%s of the samplers is %g, expected %g to %g", bound->name,
                                (double)bound->value, (double)bound->least, (double)bound->most);
        }
    }
    return true;
}

static bool check_numbers(const struct glinfer_samplers *s, struct glinfer_error *err)
{
    const float most = 1e30f, n_bias = (float)s->n_logit_bias;
    const struct bound bounds[] = {
        {"repeat_penalty", s->repeat_penalty, 1e-6f, 1e6f},
        {"presence_penalty", s->presence_penalty, -most, most},
        {"frequency_penalty", s->frequency_penalty, -most, most},
        {"dry_multiplier", s->dry_multiplier, -most, most},
        {"dry_base", s->dry_base, 0, most},
        {"top_n_sigma", s->top_n_sigma, -most, most},
        {"typical_p", s->typical_p, 0, most},
        {"xtc_probability", s->xtc_probability, 0, 1},
        {"xtc_threshold", s->xtc_threshold, 0, most},
        {"dynatemp_range", s->dynatemp_range, 0, most},
        {"dynatemp_exponent", s->dynatemp_exponent, 0, most},
        {"mirostat", (float)s->mirostat, 0, 2},
        {"mirostat_tau", s->mirostat_tau, 0, 1e6f},
        {"mirostat_eta", s->mirostat_eta, 0, 1e6f},
        {"adaptive_target", s->adaptive_target, -most, 1},
        {"adaptive_decay", s->adaptive_decay, 0, 0.99f},
        {"n_logit_bias", n_bias, 0, 4e9f},
    };
    return check_bounds(bounds, sizeof(bounds) / sizeof(bounds[0]), err);
}

static bool check_biases(const struct glinfer_samplers *samplers, uint32_t n_vocab,
                         struct glinfer_error *err)
{
    for (size_t i = 0; i < samplers->n_logit_bias; i++) {
        const struct glinfer_logit_bias *bias = &samplers->logit_bias[i];
        if (bias->id < 0 || (uint32_t)bias->id >= n_vocab) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "logit bias %zu is for token %d, the vocabulary has %u", i,
                                bias->id, n_vocab);
        }
        if (isnan(bias->bias) || bias->bias == INFINITY) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "the logit bias of token %d is %g, expected a number or -INFINITY",
                                bias->id, (double)bias->bias);
        }
    }
    return true;
}

static bool check_breakers(const struct glinfer_samplers *samplers, struct glinfer_error *err)
{
    if (samplers->n_dry_breakers > MAX_BREAKERS) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "%zu sequence breakers, and at most %d are possible",
                            samplers->n_dry_breakers, MAX_BREAKERS);
    }
    for (size_t i = 0; i < samplers->n_dry_breakers; i++) {
        if (!GI_CHECK_SET(samplers->dry_breakers[i], err)) {
            return false;
        }
    }
    return true;
}

bool gi_samplers_check(const struct glinfer_generate_params *params, uint32_t n_vocab,
                       struct glinfer_error *err)
{
    struct glinfer_samplers own;
    struct gi_sampler_order order;
    return take(&own, params->samplers, err) && read_order(&order, &own, err) &&
           check_numbers(&own, err) && GI_CHECK_ARRAY(own.logit_bias, own.n_logit_bias, err) &&
           check_biases(&own, n_vocab, err) &&
           GI_CHECK_ARRAY(own.dry_breakers, own.n_dry_breakers, err) && check_breakers(&own, err);
}

//-- what the GPU does -----------------------------------------------------------------------------

// True if a sampler does anything.
static bool is_active(enum gi_sampler_kind kind, const struct glinfer_generate_params *params,
                      const struct glinfer_samplers *s)
{
    switch (kind) {
    case GI_SAMPLER_PENALTIES:
        return s->repeat_last_n != 0 && (s->repeat_penalty != 1.0f || s->presence_penalty != 0.0f ||
                                         s->frequency_penalty != 0.0f);
    case GI_SAMPLER_DRY:
        return s->dry_multiplier != 0.0f && s->dry_base >= 1.0f && s->dry_penalty_last_n != 0;
    case GI_SAMPLER_TOP_N_SIGMA:
        return s->top_n_sigma > 0.0f;
    case GI_SAMPLER_TOP_K:
        return params->top_k > 0;
    case GI_SAMPLER_TYPICAL:
        return s->typical_p < 1.0f;
    case GI_SAMPLER_TOP_P:
        return params->top_p > 0.0f && params->top_p < 1.0f;
    case GI_SAMPLER_MIN_P:
        return params->min_p > 0.0f;
    case GI_SAMPLER_XTC:
        return s->xtc_probability > 0.0f && s->xtc_threshold <= 0.5f;
    case GI_SAMPLER_TEMPERATURE:
        return true;
    case GI_SAMPLER_ADAPTIVE_P:
    case GI_SAMPLER_COUNT:
        break;
    }
    return false;
}

static void drop_inactive(struct gi_sampler_order *order,
                          const struct glinfer_generate_params *params,
                          const struct glinfer_samplers *samplers)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < order->n; i++) {
        if (is_active(order->kinds[i], params, samplers)) {
            order->kinds[n++] = order->kinds[i];
        }
    }
    order->n = n;
}

// True if the active samplers of an order are the ones that the GPU has, in its order.
static bool is_gpu_order(const struct gi_sampler_order *order,
                         const struct glinfer_generate_params *params,
                         const struct glinfer_samplers *samplers)
{
    struct gi_sampler_order gpu = {{GI_SAMPLER_PENALTIES, GI_SAMPLER_TOP_K, GI_SAMPLER_TOP_P,
                                    GI_SAMPLER_MIN_P, GI_SAMPLER_TEMPERATURE},
                                   5};
    drop_inactive(&gpu, params, samplers);
    bool is_same = order->n == gpu.n;
    for (uint32_t i = 0; is_same && i < gpu.n; i++) {
        is_same = order->kinds[i] == gpu.kinds[i];
    }
    return is_same;
}

bool gi_samplers_need_host(const struct glinfer_generate_params *params)
{
    struct glinfer_samplers own;
    struct gi_sampler_order order;
    if (!params->samplers || !take(&own, params->samplers, NULL) ||
        !read_order(&order, &own, NULL)) {
        return false;
    }
    drop_inactive(&order, params, &own);
    return own.mirostat > 0 || own.adaptive_target >= 0.0f || own.dynatemp_range > 0.0f ||
           own.min_keep > 1 || !is_gpu_order(&order, params, &own);
}

uint32_t gi_samplers_adjust(const struct glinfer_generate_params *params)
{
    struct glinfer_samplers own;
    const uint32_t mask = params->grammar ? GI_ADJUST_MASK : 0;
    if (gi_samplers_need_host(params)) {
        return 0;
    }
    if (!params->samplers || !take(&own, params->samplers, NULL)) {
        return mask;
    }
    return mask | (is_active(GI_SAMPLER_PENALTIES, params, &own) ? GI_ADJUST_PENALTIES : 0u) |
           (own.n_logit_bias > 0 ? GI_ADJUST_BIAS : 0u);
}

//-- the chain -------------------------------------------------------------------------------------

// Returns how many tokens a window of n has, which is never more than the context.
static uint32_t window_of(int32_t n, uint32_t n_ctx)
{
    return n < 0 || (uint32_t)n > n_ctx ? n_ctx : (uint32_t)n;
}

struct gi_penalties gi_samplers_penalties(const struct glinfer_generate_params *params,
                                          uint32_t n_ctx)
{
    struct glinfer_samplers s;
    take(&s, params->samplers, NULL);
    return (struct gi_penalties){window_of(s.repeat_last_n, n_ctx), s.repeat_penalty,
                                 s.presence_penalty, s.frequency_penalty};
}

void gi_samplers_add_biases(const struct glinfer_generate_params *params, float *biases)
{
    struct glinfer_samplers s;
    take(&s, params->samplers, NULL);
    for (size_t i = 0; i < s.n_logit_bias; i++) {
        float *bias = &biases[s.logit_bias[i].id];
        const double sum = (double)*bias + s.logit_bias[i].bias;
        *bias = sum > -INFINITY ? gi_candidates_bound(sum) : -INFINITY;
    }
}

static void fill(struct gi_sampler_params *to, const struct glinfer_generate_params *params,
                 const struct glinfer_samplers *s, uint32_t n_ctx)
{
    to->seed = params->seed;
    to->min_keep = s->min_keep;
    to->penalties = gi_samplers_penalties(params, n_ctx);
    to->dry = (struct gi_dry){.multiplier = s->dry_multiplier,
                              .base = s->dry_base,
                              .allowed_length = s->dry_allowed_length,
                              .last_n = window_of(s->dry_penalty_last_n, n_ctx)};
    to->top_n_sigma = s->top_n_sigma;
    to->typical_p = s->typical_p;
    to->top_p = params->top_p > 0.0f ? params->top_p : 1.0f;
    to->min_p = params->min_p;
    to->top_k = params->top_k;
    to->xtc_probability = s->xtc_probability;
    to->xtc_threshold = s->xtc_threshold;
    to->temperature = params->temperature;
    to->dynatemp_range = s->dynatemp_range;
    to->dynatemp_exponent = s->dynatemp_exponent;
    to->mirostat = s->mirostat;
    to->mirostat_tau = s->mirostat_tau;
    to->mirostat_eta = s->mirostat_eta;
    to->adaptive_target = s->adaptive_target;
    to->adaptive_decay = s->adaptive_decay;
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
    gi_sampler_params_init(&to, n_vocab);
    if (!take(&own, params->samplers, err) || !read_order(&to.order, &own, err)) {
        return NULL;
    }
    fill(&to, params, &own, n_ctx);
    struct gi_logit_bias *biases = copy_biases(&own, err);
    to.bias = biases;
    to.n_bias = (uint32_t)own.n_logit_bias;
    if (biases && (!is_active(GI_SAMPLER_DRY, params, &own) ||
                   fill_breakers(&breakers, tokenizer, n_vocab, &own, err))) {
        to.dry.breakers = breakers.data;
        to.dry.n_breaker = (uint32_t)breakers.count;
        chain = gi_sampler_chain_create(&to, err);
    }
    gi_breaker_list_finish(&breakers);
    free(biases);
    return chain;
}
