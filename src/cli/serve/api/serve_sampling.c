#include "cli/serve/api/serve_sampling.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

//-- numbers ---------------------------------------------------------------------------------------

// A number of the samplers and its bounds, as the flags of `glinfer run` have them.
struct number {
    const char *name;
    size_t offset; // in struct glinfer_samplers
    double low, high;
};

#define NUMBER(name, field, low, high)                                                             \
    {                                                                                              \
        name, offsetof(struct glinfer_samplers, field), low, high                                  \
    }
static const struct number floats[] = {
    NUMBER("repeat_penalty", repeat_penalty, 1e-6, 1e6),
    NUMBER("presence_penalty", presence_penalty, -1e6, 1e6),
    NUMBER("frequency_penalty", frequency_penalty, -1e6, 1e6),
    NUMBER("dry_multiplier", dry_multiplier, 0, 1e6),
    NUMBER("dry_base", dry_base, 0, 1e6),
    NUMBER("top_n_sigma", top_n_sigma, -1, 1e6),
    NUMBER("typical_p", typical_p, 0, 1),
    NUMBER("xtc_probability", xtc_probability, 0, 1),
    NUMBER("xtc_threshold", xtc_threshold, 0, 1),
    NUMBER("dynatemp_range", dynatemp_range, 0, 1000),
    NUMBER("dynatemp_exponent", dynatemp_exponent, 0, 1000),
    NUMBER("mirostat_tau", mirostat_tau, 0, 1e6),
    NUMBER("mirostat_eta", mirostat_eta, 0, 1e6),
    NUMBER("adaptive_target", adaptive_target, -1, 1),
    NUMBER("adaptive_decay", adaptive_decay, 0, 0.99),
};
// Integers of 32 bits each.
static const struct number integers[] = {
    NUMBER("repeat_last_n", repeat_last_n, -1, 1 << 30),
    NUMBER("dry_allowed_length", dry_allowed_length, 0, 1 << 30),
    NUMBER("dry_penalty_last_n", dry_penalty_last_n, -1, 1 << 30),
    NUMBER("mirostat", mirostat, 0, 2),
    NUMBER("min_keep", min_keep, 0, 1 << 24),
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void read_numbers(struct serve_fields *fields, struct glinfer_samplers *samplers)
{
    int64_t whole;
    for (size_t i = 0; i < COUNT(floats); i++) {
        serve_fields_float(fields, floats[i].name, floats[i].low, floats[i].high,
                           (float *)((char *)samplers + floats[i].offset));
    }
    for (size_t i = 0; i < COUNT(integers); i++) {
        if (serve_fields_int(fields, integers[i].name, (int64_t)integers[i].low,
                             (int64_t)integers[i].high, &whole)) {
            *(int32_t *)((char *)samplers + integers[i].offset) = (int32_t)whole;
        }
    }
}

static void read_filters(struct serve_fields *fields, struct glinfer_generate_params *params)
{
    int64_t top_k = params->top_k;
    float top_p = params->top_p;
    serve_fields_float(fields, "temperature", 0, 1000, &params->temperature);
    serve_fields_int(fields, "top_k", -1, 1 << 24, &top_k);
    serve_fields_float(fields, "top_p", 0, 1, &top_p);
    serve_fields_float(fields, "min_p", 0, 1, &params->min_p);
    serve_fields_bool(fields, "ignore_eos", &params->ignore_eos);
    params->top_k = top_k > 0 ? (uint32_t)top_k : 0;
    params->top_p = top_p > 0 ? top_p : 1e-9F; // 0 means off to the library
}

//-- lists -----------------------------------------------------------------------------------------

// Reads a text or a list of texts; what they are borrowed from lives as long as the task.
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
        serve_fields_refuse(fields, 400, "\"%s\" is a text or a list of texts", name);
        return 0;
    }
    cJSON_ArrayForEach(item, field)
    {
        if (!cJSON_IsString(item) || n == capacity) {
            serve_fields_refuse(fields, 400, "\"%s\" has at most %zu items, all of them texts",
                                name, capacity);
            return 0;
        }
        if (item->valuestring[0]) {
            texts[n++] = item->valuestring;
        }
    }
    return n;
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
            serve_fields_refuse(fields, 400, "\"samplers\" is a list of names");
            break;
        }
        cli_bytes_append(&order, ";", order.size > 0);
        cli_bytes_append(&order, item->valuestring, strlen(item->valuestring));
    }
    task->order = order.data;
    task->samplers.order = order.data;
}

// Adds the bias of a token, or of all tokens that a text (NULL: none) consists of.
static void add_bias(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                     struct serve_task *task, int64_t id, const char *text, const cJSON *bias)
{
    int32_t ids[64];
    size_t n = 1;
    const bool is_ban = cJSON_IsFalse(bias);
    if (!is_ban && !(cli_json_is_number(bias) && isfinite((float)bias->valuedouble))) {
        serve_fields_refuse(fields, 400, "a bias in \"logit_bias\" is a number, or false to ban");
        return;
    }
    if (!text) {
        ids[0] = id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
    } else if (!glinfer_tokenize(tokenizer, text, strlen(text), GLINFER_TOKENIZE_NO_BOS, ids,
                                 COUNT(ids), &n, NULL)) {
        n = SIZE_MAX;
    }
    if (n > COUNT(ids) || task->samplers.n_logit_bias + n > SERVE_MAX_BIASES) {
        serve_fields_refuse(fields, 400,
                            "\"logit_bias\" has a token that is neither an id nor a short text, "
                            "or more than %d tokens",
                            SERVE_MAX_BIASES);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        task->biases[task->samplers.n_logit_bias++] =
            (struct glinfer_logit_bias){ids[i], is_ban ? -INFINITY : (float)bias->valuedouble};
    }
}

// Reads {"15043": 1.5} as OpenAI has it, where -100 bans, and [[15043, 1.5], ["text", false]].
static void read_biases(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                        struct serve_task *task)
{
    const cJSON *field = serve_fields_get(fields, "logit_bias"), *item;
    if (field && !cJSON_IsArray(field) && !cJSON_IsObject(field)) {
        serve_fields_refuse(fields, 400, "\"logit_bias\" is an object or a list");
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

static void read_breakers(struct serve_fields *fields, struct serve_task *task)
{
    if (serve_fields_get(fields, "dry_sequence_breakers")) {
        task->samplers.n_dry_breakers =
            read_texts(fields, "dry_sequence_breakers", task->breakers, SERVE_MAX_BREAKERS);
        task->samplers.dry_breakers = task->breakers;
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
    read_numbers(fields, &task->samplers);
    read_order(fields, task);
    read_biases(fields, tokenizer, task);
    read_breakers(fields, task);
    task->params.n_stop = read_texts(fields, "stop", task->stops, SERVE_MAX_STOPS);
    serve_fields_int(fields, "seed", INT64_MIN, INT64_MAX, &wanted);
    struct cli_sampling sampling = {.seed = wanted < 0 ? -1 : wanted};
    *seed = cli_sampling_seed(&sampling, false);
}

void serve_sampling_describe(cJSON *object, const struct glinfer_generate_params *params)
{
    const struct glinfer_samplers *samplers = params->samplers;
    cli_json_add_float(object, "temperature", params->temperature);
    cJSON_AddNumberToObject(object, "top_k", params->top_k);
    cli_json_add_float(object, "top_p", params->top_p);
    cli_json_add_float(object, "min_p", params->min_p);
    for (size_t i = 0; i < COUNT(floats); i++) {
        cli_json_add_float(object, floats[i].name,
                           *(const float *)((const char *)samplers + floats[i].offset));
    }
    for (size_t i = 0; i < COUNT(integers); i++) {
        cJSON_AddNumberToObject(object, integers[i].name,
                                *(const int32_t *)((const char *)samplers + integers[i].offset));
    }
    cJSON_AddBoolToObject(object, "ignore_eos", params->ignore_eos);
    cJSON *stops = cJSON_AddArrayToObject(object, "stop");
    for (size_t i = 0; i < params->n_stop; i++) {
        cJSON_AddItemToArray(stops, cJSON_CreateString(params->stop[i]));
    }
}
