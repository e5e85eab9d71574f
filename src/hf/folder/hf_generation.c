#include "hf/folder/hf_generation.h"

// Keys of generation_config.json and of GGUF, with the largest value that makes sense; the smallest
// is 0.
static const struct number {
    const char *from, *to;
    double most;
} numbers[] = {
    {"temperature", "general.sampling.temp", 1000},
    {"top_p", "general.sampling.top_p", 1},
    {"min_p", "general.sampling.min_p", 1},
    {"repetition_penalty", "general.sampling.penalty_repeat", 1000},
};

static const cJSON *find(const cJSON *json, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsNull(value) ? NULL : value;
}

static void add_number(struct gi_hf_build *b, const cJSON *json, const struct number *number)
{
    const cJSON *value = find(json, number->from);
    if (!value) {
        return;
    }
    if (!cJSON_IsNumber(value) ||
        !(value->valuedouble >= 0 && value->valuedouble <= number->most)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "generation_config.json: the key %s is invalid, expected a number of 0 to %g",
                   number->from, number->most);
        return;
    }
    gi_gguf_add_f32(b->out, number->to, (float)value->valuedouble);
}

static void add_top_k(struct gi_hf_build *b, const cJSON *json)
{
    const cJSON *value = find(json, "top_k");
    uint64_t n;
    if (!value) {
        return;
    }
    if (!gi_hf_json_count(value, &n) || n > INT32_MAX) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "generation_config.json: the key top_k is invalid, expected a whole number of 0 "
                   "to 2^31 - 1");
        return;
    }
    gi_gguf_add_i32(b->out, "general.sampling.top_k", (int32_t)n);
}

void gi_hf_add_sampling(struct gi_hf_build *b)
{
    cJSON *json = gi_hf_read_optional(b, "generation_config.json", cJSON_Object);
    if (json && !cJSON_IsFalse(find(json, "do_sample"))) {
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
            add_number(b, json, &numbers[i]);
        }
        add_top_k(b, json);
        if (find(json, "repetition_penalty")) { // which counts prompt and answer
            gi_gguf_add_i32(b->out, "general.sampling.penalty_last_n", -1);
        }
    }
    cJSON_Delete(json);
}
