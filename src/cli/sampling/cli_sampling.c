#include "cli/sampling/cli_sampling.h"

#include "cli/common/cli_io.h"
#include "cli/run/cli_escapes.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

const char *const cli_spec_types[] = {"none",      "ngram-simple", "ngram-map-k", "ngram-map-k4v",
                                      "ngram-mod", "ngram-cache",  NULL};

const struct cli_number cli_sampler_numbers[] = {
#define ROW(type, field, value, least, most)                                                       \
    {#field, CLI_NUMBER_##type, offsetof(struct glinfer_samplers, field), least, most},
    GLINFER_SAMPLER_MAP(ROW)
#undef ROW
};

bool cli_parse_bias(const char *text, void *field, char *why, size_t size)
{
    struct cli_samplers *samplers = field;
    struct glinfer_samplers *values = &samplers->values;
    char *sign, *end;
    errno = 0;
    const long id = strtol(text, &sign, 10);
    const float bias = strtof(sign, &end);
    const bool is_bias = sign != text && (*sign == '+' || *sign == '-') && end != sign && !*end;
    if (!is_bias || errno != 0 || id < 0 || id > INT32_MAX || isnan(bias) || bias == INFINITY) {
        snprintf(why, size, "a token's id, + or -, and a number, such as 15043+1 or 15043-inf");
        return false;
    }
    if (values->n_logit_bias == CLI_MAX_BIASES) {
        snprintf(why, size, "at most %d of them", CLI_MAX_BIASES);
        return false;
    }
    samplers->biases[values->n_logit_bias++] = (struct glinfer_logit_bias){(int32_t)id, bias};
    values->logit_bias = samplers->biases;
    return true;
}

bool cli_parse_breaker(const char *text, void *field, char *why, size_t size)
{
    struct cli_samplers *samplers = field;
    struct glinfer_samplers *values = &samplers->values;
    values->dry_breakers = samplers->breakers;
    if (strcmp(text, "none") == 0) {
        values->n_dry_breakers = 0;
        return true;
    }
    if (values->n_dry_breakers == CLI_MAX_BREAKERS || !text[0] ||
        strlen(text) >= CLI_BREAKER_SIZE) {
        snprintf(why, size, "at most %d texts of 1 to %d bytes", CLI_MAX_BREAKERS,
                 CLI_BREAKER_SIZE - 1);
        return false;
    }
    char *own = samplers->breaker_texts[values->n_dry_breakers];
    struct cli_bytes bytes = {.data = own, .size = strlen(text)};
    memcpy(own, text, bytes.size + 1);
    cli_resolve_escapes(&bytes);
    samplers->breakers[values->n_dry_breakers++] = own;
    return true;
}

static uint64_t random_seed(void)
{
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed)) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec;
    }
    return seed;
}

uint64_t cli_sampling_seed(const struct cli_sampling *sampling, bool is_verbose)
{
    const uint64_t seed = sampling->seed >= 0 ? (uint64_t)sampling->seed : random_seed();
    if (is_verbose) {
        fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    }
    return seed;
}

// Flags of what models recommend, a bit each in cli_sampling.given.
enum { TEMPERATURE, TOP_K, TOP_P, MIN_P, REPEAT_PENALTY, REPEAT_LAST_N };
static const struct {
    const char *flag;
    size_t offset;
} recommended[] = {
    [TEMPERATURE] = {"--temp", offsetof(struct cli_sampling, temperature)},
    [TOP_K] = {"--top-k", offsetof(struct cli_sampling, top_k)},
    [TOP_P] = {"--top-p", offsetof(struct cli_sampling, top_p)},
    [MIN_P] = {"--min-p", offsetof(struct cli_sampling, min_p)},
    [REPEAT_PENALTY] = {"--repeat-penalty", offsetof(struct cli_sampling, samplers.values)},
    [REPEAT_LAST_N] = {"--repeat-last-n", offsetof(struct cli_sampling, samplers.values)},
};

void cli_sampling_note(const struct cli_command *command, const struct cli_report *report)
{
    for (size_t i = 0; i < sizeof(recommended) / sizeof(recommended[0]); i++) {
        const struct cli_flag *flag = cli_find_flag(command, recommended[i].flag);
        if (flag && cli_is_given(command, report, recommended[i].flag)) {
            char *sampling = (char *)command->settings + flag->offset - recommended[i].offset;
            ((struct cli_sampling *)(void *)sampling)->given |= 1u << i;
        }
    }
}

static bool takes(const struct cli_sampling *sampling, int flag)
{
    return !(sampling->given & 1u << flag);
}

void cli_sampling_take(struct cli_sampling *sampling, const struct glinfer_model_info *info)
{
    if (!info->architecture[0]) { // the server has a speech model only
        return;
    }
    if (info->temperature >= 0 && takes(sampling, TEMPERATURE)) {
        sampling->temperature = info->temperature;
    }
    if (info->top_k >= 0 && takes(sampling, TOP_K)) {
        sampling->top_k = info->top_k;
    }
    if (info->top_p >= 0 && takes(sampling, TOP_P)) {
        sampling->top_p = info->top_p;
    }
    if (info->min_p >= 0 && takes(sampling, MIN_P)) {
        sampling->min_p = info->min_p;
    }
    if (info->repeat_penalty >= 0 && takes(sampling, REPEAT_PENALTY)) {
        struct glinfer_samplers *values = &sampling->samplers.values;
        values->repeat_penalty = info->repeat_penalty;
        values->repeat_last_n =
            takes(sampling, REPEAT_LAST_N) ? info->repeat_last_n : values->repeat_last_n;
    }
}

bool cli_sampling_check(const struct cli_sampling *sampling)
{
    const struct glinfer_grammar *grammar = &sampling->grammar;
    struct glinfer_error err;
    return (!grammar->gbnf && !grammar->json_schema) || glinfer_grammar_check(grammar, &err) ||
           cli_fail_error(&err);
}

void cli_sampling_fill(const struct cli_sampling *sampling, uint64_t seed,
                       struct glinfer_generate_params *params)
{
    params->temperature = sampling->temperature;
    params->top_k = (uint32_t)sampling->top_k;
    params->top_p = sampling->top_p > 0 ? sampling->top_p : 1e-9F; // 0 means off to the library
    params->min_p = sampling->min_p;
    params->seed = seed;
    params->samplers = &sampling->samplers.values;
    const bool is_bound = sampling->grammar.gbnf || sampling->grammar.json_schema;
    params->grammar = is_bound ? &sampling->grammar : NULL;
    const struct cli_speculation *speculation = &sampling->speculation;
    params->lookup = speculation->type == CLI_SPEC_NONE ? 0 : (uint32_t)speculation->most;
    params->lookup_match = (uint32_t)speculation->match;
}
