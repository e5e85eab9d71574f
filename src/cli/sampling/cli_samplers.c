#include "cli/sampling/cli_samplers.h"

#include "cli/run/cli_escapes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool parse_number(const char *text, long low, long *number, char *why, size_t size)
{
    enum { MOST = 1 << 30 };
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    if (end == text || *end || errno != 0 || *number < low || *number > MOST) {
        snprintf(why, size, "a whole number from %ld to %d", low, MOST);
        return false;
    }
    return true;
}

bool cli_parse_count(const char *text, void *field, char *why, size_t size)
{
    long number;
    if (!parse_number(text, 0, &number, why, size)) {
        return false;
    }
    *(uint32_t *)field = (uint32_t)number;
    return true;
}

bool cli_parse_window(const char *text, void *field, char *why, size_t size)
{
    long number;
    if (!parse_number(text, -1, &number, why, size)) {
        return false;
    }
    *(int32_t *)field = (int32_t)number;
    return true;
}

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
