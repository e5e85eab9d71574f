#include "cli/sampling/cli_sampling.h"

#include "cli/common/cli_io.h"

#include <sys/random.h>
#include <time.h>

const char *const cli_spec_types[] = {"none", "ngram-simple", NULL};

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
