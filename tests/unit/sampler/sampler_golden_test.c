// Holds chains of samplers to another implementation: which tokens each case of the golden file
// leaves, and with what probabilities. tools/golden/sampler_reference.py writes the file.
#include "sampler/sampler.h"
#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_VOCAB = 400, MAX_LINE = 1 << 16, MAX_IDS = 64 };

static float logits[MAX_VOCAB];
static uint32_t n_vocab;
static uint32_t text[MAX_IDS], n_text;
static uint32_t breaker_ids[MAX_IDS];
static struct gi_breaker breakers[MAX_IDS];
static struct gi_logit_bias biases[MAX_IDS];

static void read_logits(char *line)
{
    n_vocab = 0;
    strtok(line, " \n");
    strtok(NULL, " \n");
    for (const char *word = strtok(NULL, " \n"); word; word = strtok(NULL, " \n")) {
        assert_true(n_vocab < MAX_VOCAB);
        logits[n_vocab++] = strtof(word, NULL);
    }
}

//-- settings --------------------------------------------------------------------------------------

static uint32_t read_ids(const char *value, uint32_t *ids)
{
    uint32_t n = 0;
    for (char *end; *value && *value != '/'; value = end + (*end == ',')) {
        assert_true(n < MAX_IDS);
        ids[n++] = (uint32_t)strtoul(value, &end, 10);
    }
    return n;
}

static void read_breakers(const char *value, struct gi_dry *dry)
{
    uint32_t *ids = breaker_ids;
    for (const char *at = value; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        const uint32_t n = read_ids(at, ids);
        breakers[dry->n_breaker++] = (struct gi_breaker){ids, n};
        ids += n;
    }
    dry->breakers = breakers;
}

static void read_biases(const char *value, struct gi_sampler_params *params)
{
    for (char *end; *value; value = end + (*end == ',')) {
        struct gi_logit_bias *bias = &biases[params->n_bias++];
        bias->id = (uint32_t)strtoul(value, &end, 10);
        assert_int_equal(*end, ':');
        bias->bias = strtof(end + 1, &end);
    }
    params->bias = biases;
}

// Returns true if the setting is a float or a count.
static bool set_number(struct gi_sampler_params *params, const char *key, const char *value)
{
    const struct {
        const char *key;
        float *field;
        uint32_t *count;
    } fields[] = {
        {"min_keep", NULL, &params->values.min_keep},
        {"last_n", NULL, &params->penalties.last_n},
        {"repeat", &params->penalties.repeat, NULL},
        {"frequency", &params->penalties.frequency, NULL},
        {"presence", &params->penalties.presence, NULL},
        {"dry", &params->dry.multiplier, NULL},
        {"dry_base", &params->dry.base, NULL},
        {"dry_allowed", NULL, &params->dry.allowed_length},
        {"dry_last_n", NULL, &params->dry.last_n},
        {"sigma", &params->values.top_n_sigma, NULL},
        {"top_k", NULL, &params->top_k},
        {"typical", &params->values.typical_p, NULL},
        {"top_p", &params->top_p, NULL},
        {"min_p", &params->min_p, NULL},
        {"xtc", &params->values.xtc_probability, NULL},
        {"xtc_threshold", &params->values.xtc_threshold, NULL},
        {"temp", &params->temperature, NULL},
        {"range", &params->values.dynatemp_range, NULL},
        {"exponent", &params->values.dynatemp_exponent, NULL},
        {"mirostat", NULL, &params->values.mirostat},
        {"tau", &params->values.mirostat_tau, NULL},
        {"target", &params->values.adaptive_target, NULL},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strcmp(fields[i].key, key) == 0 && fields[i].field) {
            *fields[i].field = strtof(value, NULL);
            return true;
        }
        if (strcmp(fields[i].key, key) == 0) {
            *fields[i].count = (uint32_t)strtoul(value, NULL, 10);
            return true;
        }
    }
    return false;
}

static void set_text(struct gi_sampler_params *params, const char *key, const char *value)
{
    if (strcmp(key, "history") == 0) {
        n_text = read_ids(value, text);
    } else if (strcmp(key, "breakers") == 0) {
        read_breakers(value, &params->dry);
    } else if (strcmp(key, "bias") == 0) {
        read_biases(value, params);
    } else {
        assert_string_equal(key, "order");
        assert_true(gi_sampler_order_parse(&params->order, value, NULL));
    }
}

static void read_case(char *line, struct gi_sampler_params *params)
{
    gi_sampler_params_init(params, n_vocab);
    params->dry.last_n = 64;
    params->seed = 5;
    n_text = 0;
    strtok(line, " \n");
    strtok(NULL, " \n");
    for (char *word = strtok(NULL, " \n"); word; word = strtok(NULL, " \n")) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value++ = 0;
        if (!set_number(params, word, value)) {
            set_text(params, word, value);
        }
    }
}

//-- comparison ------------------------------------------------------------------------------------

static void find_shares(const struct gi_candidates *kept, double *shares)
{
    double total = 0, largest = -INFINITY;
    memset(shares, 0, MAX_VOCAB * sizeof(shares[0]));
    for (uint32_t i = 0; i < kept->count; i++) {
        largest = fmax(largest, kept->data[i].logit);
    }
    for (uint32_t i = 0; i < kept->count; i++) {
        shares[kept->data[i].id] = exp(kept->data[i].logit - largest);
        total += shares[kept->data[i].id];
    }
    for (uint32_t i = 0; i < n_vocab; i++) {
        shares[i] /= total;
    }
}

// The other one adds up in float.
static void compare(const struct gi_sampler_params *params, const char *name, char *line)
{
    static double shares[MAX_VOCAB];
    float own[MAX_VOCAB];
    struct gi_sampler_chain *chain = gi_sampler_chain_create(params, NULL);
    assert_non_null(chain);
    for (uint32_t i = 0; i < n_text; i++) {
        gi_sampler_chain_accept(chain, text[i]);
    }
    memcpy(own, logits, sizeof(own));
    const uint32_t token = gi_sampler_chain_apply(chain, own, NULL, 3);
    find_shares(gi_sampler_chain_kept(chain), shares);
    assert_true(token < n_vocab && shares[token] > 0);
    strtok(line, " \n");
    for (char *word = strtok(NULL, " \n"); word; word = strtok(NULL, " \n")) {
        char *end;
        const uint32_t id = (uint32_t)strtoul(word, &end, 10);
        const double expected = strtod(end + 1, NULL);
        if (!(fabs(shares[id] - expected) <= 3e-5 * expected + 1e-12)) {
            fail_msg("%s: token %u has %.9g, expected %.9g", name, id, shares[id], expected);
        }
        shares[id] = 0;
    }
    for (uint32_t id = 0; id < n_vocab; id++) {
        if (shares[id] > 1e-30) {
            fail_msg("%s: token %u is left with %.9g", name, id, shares[id]);
        }
    }
    gi_sampler_chain_destroy(chain);
}

TEST(chains_leave_what_the_reference_leaves)
{
    static char line[MAX_LINE], name[256];
    struct gi_sampler_params params;
    uint32_t n_cases = 0;
    FILE *file = fopen(test_data("unit/data/samplers.golden"), "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "logits ", 7) == 0) {
            read_logits(line);
        } else if (strncmp(line, "case ", 5) == 0) {
            snprintf(name, sizeof(name), "%.200s", line);
            read_case(line, &params);
        } else if (strncmp(line, "kept ", 5) == 0) {
            compare(&params, name, line);
            n_cases++;
        }
    }
    fclose(file);
    assert_true(n_cases > 100);
}

RUN_TESTS(NULL, NULL)
