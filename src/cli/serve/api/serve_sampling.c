#include "cli/serve/api/serve_sampling.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

//-- numbers ---------------------------------------------------------------------------------------

static void read_number(struct serve_fields *fields, const struct cli_number *number,
                        struct glinfer_samplers *samplers)
{
    int64_t whole;
    void *field = (char *)samplers + number->offset;
    if (number->type == CLI_NUMBER_FLOAT) {
        serve_fields_clamped(fields, number->name, number->low, number->high, field);
    } else if (serve_fields_int(fields, number->name, INT32_MIN, INT32_MAX, &whole)) {
        const int64_t low = (int64_t)number->low, high = (int64_t)number->high;
        *(int32_t *)field = (int32_t)(whole < low ? low : whole > high ? high : whole);
    }
}

static void read_filters(struct serve_fields *fields, struct glinfer_generate_params *params)
{
    int64_t top_k = params->top_k;
    float top_p = params->top_p;
    serve_fields_clamped(fields, "temperature", 0, 1000, &params->temperature);
    serve_fields_int(fields, "top_k", INT32_MIN, INT32_MAX, &top_k);
    serve_fields_clamped(fields, "top_p", 0, 1, &top_p);
    serve_fields_clamped(fields, "min_p", 0, 1, &params->min_p);
    serve_fields_bool(fields, "ignore_eos", &params->ignore_eos);
    params->top_k = top_k > 0 ? (uint32_t)top_k : 0;
    params->top_p = top_p > 0 ? top_p : 1e-9F; // 0 means off to the library
}

//-- lists -----------------------------------------------------------------------------------------

// Reads a text or a list of texts, which are borrowed from the body of the task.
static size_t read_texts(struct serve_fields *fields, const char *name, const char **texts,
                         size_t capacity)
{
    const cJSON *field = serve_fields_get(fields, name), *item;
    size_t n = 0;
    if (cJSON_IsString(field) && field->valuestring[0]) {
        texts[0] = field->valuestring;
        return 1;
    }
    if (field && !cJSON_IsArray(field) && !cJSON_IsString(field)) {
        serve_fields_expect(fields, name, "a string or a list of strings");
        return 0;
    }
    cJSON_ArrayForEach(item, field)
    {
        if (!cJSON_IsString(item) || n == capacity) {
            serve_fields_refuse(fields, 400, "invalid \"%s\": expected at most %zu strings", name,
                                capacity);
            return 0;
        }
        if (item->valuestring[0]) {
            texts[n++] = item->valuestring;
        }
    }
    return n;
}

// Returns true for a sampler that other programs have, and llama-server ignores.
static bool is_foreign(const char *name)
{
    static const char *const names[] = {"infill", "tfs_z", "mirostat", "top_a"};
    bool is_found = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        is_found = is_found || strcmp(names[i], name) == 0;
    }
    return is_found;
}

static void read_order(struct serve_fields *fields, struct serve_task *task)
{
    const cJSON *field = serve_fields_get(fields, "samplers"), *item;
    struct cli_bytes order = {0};
    if (!field) {
        return;
    }
    if (cJSON_IsString(field)) {
        task->samplers.order = field->valuestring;
        return;
    }
    cli_bytes_append(&order, "", 0);
    cJSON_ArrayForEach(item, field)
    {
        if (!cJSON_IsString(item)) {
            serve_fields_expect(fields, "samplers", "a list of names");
            break;
        }
        if (!is_foreign(item->valuestring)) {
            cli_bytes_append(&order, ";", order.size > 0);
            cli_bytes_add(&order, item->valuestring);
        }
    }
    task->order = order.data;
    task->samplers.order = order.data;
}

// Adds the bias of a token or, if text is not NULL, of all tokens of a text.
static void add_bias(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                     struct serve_task *task, int64_t id, const char *text, const cJSON *bias)
{
    int32_t ids[64];
    size_t n = 1;
    const bool is_ban = cJSON_IsFalse(bias);
    if (!is_ban && !(cli_json_is_number(bias) && isfinite((float)bias->valuedouble))) {
        serve_fields_refuse(
            fields, 400,
            "invalid bias in \"logit_bias\": expected a number, or false to ban the token");
        return;
    }
    if (!text) {
        ids[0] = id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
    } else if (!glinfer_tokenize(tokenizer, text, strlen(text), GLINFER_TOKENIZE_NO_BOS, ids,
                                 sizeof(ids) / sizeof(ids[0]), &n, NULL)) {
        n = SIZE_MAX;
    }
    if (n > sizeof(ids) / sizeof(ids[0]) || task->samplers.n_logit_bias + n > SERVE_MAX_BIASES) {
        serve_fields_refuse(
            fields, 400,
            "invalid \"logit_bias\": expected ids or short texts of at most %d tokens in all",
            SERVE_MAX_BIASES);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        task->biases[task->samplers.n_logit_bias++] =
            (struct glinfer_logit_bias){ids[i], is_ban ? -INFINITY : (float)bias->valuedouble};
    }
}

// Reads {"15043": 1.5}, as in OpenAI's API, where -100 bans, and [[15043, 1.5], ["text", false]].
static void read_biases(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                        struct serve_task *task)
{
    const cJSON *field = serve_fields_get(fields, "logit_bias"), *item;
    if (field && !cJSON_IsArray(field) && !cJSON_IsObject(field)) {
        serve_fields_expect(fields, "logit_bias", "an object or a list");
        return;
    }
    cJSON_ArrayForEach(item, field)
    {
        if (cJSON_IsObject(field)) {
            char *end;
            const long long id = strtoll(item->string, &end, 10);
            const bool is_id = !*end && end > item->string;
            add_bias(fields, tokenizer, task, id, is_id ? NULL : item->string, item);
        } else {
            const cJSON *token = cJSON_GetArrayItem(item, 0);
            int64_t id = -1;
            cli_json_int(token, &id);
            add_bias(fields, tokenizer, task, id, cJSON_IsString(token) ? token->valuestring : NULL,
                     cJSON_GetArrayItem(item, 1));
        }
    }
}

//-- all -------------------------------------------------------------------------------------------

void serve_sampling_read(struct serve_fields *fields, const struct cli_sampling *defaults,
                         const struct glinfer_tokenizer *tokenizer, struct serve_task *task,
                         uint64_t *seed)
{
    int64_t wanted = defaults->seed;
    const struct glinfer_samplers *values = &defaults->samplers.values;
    cli_sampling_fill(defaults, 0, &task->params);
    task->samplers = *values;
    task->params.samplers = &task->samplers;
    task->samplers.logit_bias = task->biases;
    memcpy(task->biases, values->logit_bias ? values->logit_bias : task->biases,
           values->n_logit_bias * sizeof(task->biases[0]));
    read_filters(fields, &task->params);
    for (size_t i = 0; i < CLI_N_SAMPLER_NUMBER; i++) {
        read_number(fields, &cli_sampler_numbers[i], &task->samplers);
    }
    read_order(fields, task);
    read_biases(fields, tokenizer, task);
    if (serve_fields_get(fields, "dry_sequence_breakers")) {
        task->samplers.n_dry_breakers =
            read_texts(fields, "dry_sequence_breakers", task->breakers, SERVE_MAX_BREAKERS);
        task->samplers.dry_breakers = task->breakers;
    }
    task->params.n_stop = read_texts(fields, "stop", task->stops, SERVE_MAX_STOPS);
    serve_fields_int(fields, "seed", INT64_MIN, INT64_MAX, &wanted);
    struct cli_sampling sampling = {.seed = wanted < 0 ? -1 : wanted};
    *seed = cli_sampling_seed(&sampling, false);
}

// Adds the lists of samplers, of breakers of DRY and of biases.
static void describe_lists(cJSON *object, const struct glinfer_samplers *samplers)
{
#define NAME(kind, name, letter) name ";"
    static const char *const breakers[] = {"\n", ":", "\"", "*"};
    const char *order = samplers->order ? samplers->order : GLINFER_SAMPLER_ORDER(NAME);
    const bool has_own = samplers->dry_breakers;
    char *names = cli_copy(order), *rest = names;
    cJSON *list = cJSON_AddArrayToObject(object, "samplers");
    for (char *name; (name = strsep(&rest, ";"));) {
        if (name[0]) {
            cJSON_AddItemToArray(list, cJSON_CreateString(name));
        }
    }
    free(names);
    list = cJSON_AddArrayToObject(object, "dry_sequence_breakers");
    for (size_t i = 0; i < (has_own ? samplers->n_dry_breakers : 4); i++) {
        cJSON_AddItemToArray(list,
                             cJSON_CreateString(has_own ? samplers->dry_breakers[i] : breakers[i]));
    }
    list = cJSON_AddArrayToObject(object, "logit_bias");
    for (size_t i = 0; i < samplers->n_logit_bias; i++) {
        cJSON *item = cli_json_append(list);
        cJSON_AddNumberToObject(item, "token", samplers->logit_bias[i].id);
        cli_json_add_float(item, "bias", samplers->logit_bias[i].bias); // null for a ban
    }
}

void serve_sampling_describe(cJSON *object, const struct glinfer_generate_params *params)
{
    const struct glinfer_samplers *samplers = params->samplers;
    cli_json_add_float(object, "temperature", params->temperature);
    cJSON_AddNumberToObject(object, "top_k", params->top_k);
    cli_json_add_float(object, "top_p", params->top_p);
    cli_json_add_float(object, "min_p", params->min_p);
    for (size_t i = 0; i < CLI_N_SAMPLER_NUMBER; i++) {
        const struct cli_number *number = &cli_sampler_numbers[i];
        const double value = cli_number_value(number, samplers);
        if (number->type == CLI_NUMBER_FLOAT) {
            cli_json_add_float(object, number->name, (float)value);
        } else {
            cJSON_AddNumberToObject(object, number->name, value);
        }
    }
    cJSON_AddBoolToObject(object, "ignore_eos", params->ignore_eos);
    describe_lists(object, samplers);
    const struct glinfer_grammar *grammar = params->grammar;
    cJSON_AddStringToObject(object, "grammar", grammar && grammar->gbnf ? grammar->gbnf : "");
    cJSON *stops = cJSON_AddArrayToObject(object, "stop");
    for (size_t i = 0; i < params->n_stop; i++) {
        cJSON_AddItemToArray(stops, cJSON_CreateString(params->stop[i]));
    }
}
