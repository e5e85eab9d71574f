// PEFT: tuners/lora/config.py; get_pattern_key of utils/other.py; update_layer of
// tuners/lora/layer.py.
#include "hf/folder/hf_adapter_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char file_name[] = "adapter_config.json";

static const cJSON *find(const struct gi_hf_adapter_config *config, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(config->json, key);
}

static bool is_set(const cJSON *value)
{
    return value && !cJSON_IsNull(value) && !cJSON_IsFalse(value) &&
           !((cJSON_IsArray(value) || cJSON_IsObject(value)) && cJSON_GetArraySize(value) == 0) &&
           !(cJSON_IsString(value) && strcmp(value->valuestring, "none") == 0);
}

// Fails if the adapter does more than add products of two matrices.
static bool check_kind(const struct gi_hf_adapter_config *config, struct glinfer_error *err)
{
    static const char *const refused[] = {"alora_invocation_tokens", // depends on the prompt
                                          "use_dora",
                                          "fan_in_fan_out",
                                          "bias",
                                          "modules_to_save",
                                          "lora_bias",
                                          "trainable_token_indices",
                                          "layer_replication",
                                          "target_parameters",
                                          "use_qalora",
                                          "use_bdlora",
                                          "arrow_config",
                                          "kasa_config",
                                          "monteclora_config"};
    const char *type = gi_hf_json_text(config->json, "peft_type");
    if (!*type) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE, "%s: peft_type of %s is missing",
                            config->folder, file_name);
    }
    if (strcmp(type, "LORA") != 0) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: the adapter is of type \"%.40s\"; supported is LORA",
                            config->folder, type);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (is_set(find(config, refused[i]))) {
            return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "%s: %s of %s is not supported%s",
                                config->folder, refused[i], file_name,
                                i > 0 ? "; " GI_HF_ADAPTER_MERGE : "");
        }
    }
    return true;
}

// Fails if PEFT changes the base model, too, before it loads the adapter.
static bool check_start(const struct gi_hf_adapter_config *config, struct glinfer_error *err)
{
    static const char *const changing[] = {"pissa", "corda", "olora", "loftq", "lora_ga"};
    const char *start = gi_hf_json_text(config->json, "init_lora_weights");
    for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++) {
        if (strncmp(start, changing[i], strlen(changing[i])) == 0) {
            return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                                "%s: init_lora_weights of %s is \"%.40s\", which changes the base "
                                "model, too; save the adapter for the original model "
                                "(path_initial_model_for_weight_conversion of save_pretrained)",
                                config->folder, file_name, start);
        }
    }
    return true;
}

//-- patterns --------------------------------------------------------------------------------------

// Returns true for a name of modules with none of the signs of an expression but '.', "\." and '^'
// at the start.
static bool is_plain(const char *key)
{
    for (key += *key == '^'; *key; key++) {
        if (*key == '\\' && key[1] == '.') {
            key++;
        } else if (strchr("\\^$*+?{}[]|()", *key)) {
            return false;
        }
    }
    return true;
}

// Returns true if a plain key is the name of a module, or of its end after a '.'.
static bool matches(const char *key, const char *module, size_t size)
{
    const bool is_whole = *key == '^';
    size_t n = strlen(key), at = size;
    while (n > is_whole && at > 0 && (key[n - 1] == module[at - 1] || key[n - 1] == '.')) {
        if (key[n - 1] == '.' && n >= 2 && key[n - 2] == '\\') {
            if (module[at - 1] != '.') {
                return false;
            }
            n--;
        }
        n--;
        at--;
    }
    return n == is_whole && (at == 0 || (!is_whole && module[at - 1] == '.'));
}

// Returns the first entry of a pattern for the module of a tensor; NULL without one.
static const cJSON *find_pattern(const struct gi_hf_adapter_config *config, const char *pattern,
                                 const char *tensor)
{
    static const char start[] = "base_model.model.", end[] = ".lora_A.weight";
    const cJSON *entry;
    tensor += strncmp(tensor, start, sizeof(start) - 1) == 0 ? sizeof(start) - 1 : 0;
    const size_t size = strlen(tensor) - (sizeof(end) - 1);
    cJSON_ArrayForEach(entry, find(config, pattern))
    {
        if (matches(entry->string, tensor, size)) {
            return entry;
        }
    }
    return NULL;
}

static bool is_rank(const cJSON *value)
{
    uint64_t rank;
    return gi_hf_json_count(value, &rank) && rank > 0 && rank <= UINT16_MAX;
}

static bool is_alpha(const cJSON *value)
{
    return cJSON_IsNumber(value) && fabs(value->valuedouble) < 1e9;
}

static bool check_pattern(const struct gi_hf_adapter_config *config, const char *pattern,
                          bool (*is_sound)(const cJSON *value), struct glinfer_error *err)
{
    const cJSON *entries = find(config, pattern), *entry;
    if (is_set(entries) && !cJSON_IsObject(entries)) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE, "%s: %s of %s is not an object",
                            config->folder, pattern, file_name);
    }
    cJSON_ArrayForEach(entry, entries)
    {
        if (!is_plain(entry->string)) {
            return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                                "%s: the expression \"%.80s\" in %s of %s is not supported, only "
                                "names of modules; " GI_HF_ADAPTER_MERGE,
                                config->folder, entry->string, pattern, file_name);
        }
        if (!is_sound(entry)) {
            return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                                "%s: the number for \"%.80s\" in %s of %s is invalid",
                                config->folder, entry->string, pattern, file_name);
        }
    }
    return true;
}

//-- numbers ---------------------------------------------------------------------------------------

static bool read_numbers(struct gi_hf_adapter_config *config, struct glinfer_error *err)
{
    const cJSON *rank = find(config, "r"), *alpha = find(config, "lora_alpha");
    const cJSON *root = find(config, "use_rslora");
    if (!is_rank(rank)) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: r of %s is missing or not a whole number of 1 to %d",
                            config->folder, file_name, UINT16_MAX);
    }
    if (!is_alpha(alpha) || (float)alpha->valuedouble == 0) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: lora_alpha of %s is missing or not a number below 1e9 other than "
                            "0",
                            config->folder, file_name);
    }
    config->rank = (uint32_t)rank->valuedouble;
    config->alpha = alpha->valuedouble;
    config->divides_by_root = cJSON_IsTrue(root);
    return (!is_set(root) || cJSON_IsTrue(root) ||
            gi_error_set(err, GLINFER_STATUS_BAD_FILE, "%s: use_rslora of %s is not true or false",
                         config->folder, file_name)) &&
           check_pattern(config, "rank_pattern", is_rank, err) &&
           check_pattern(config, "alpha_pattern", is_alpha, err);
}

bool gi_hf_adapter_config_read(struct gi_hf_adapter_config *config, const char *folder,
                               struct glinfer_error *err)
{
    char *path = gi_hf_path(folder, file_name, err);
    *config = (struct gi_hf_adapter_config){.folder = folder};
    config->json = path ? gi_hf_json_read(path, cJSON_Object, err) : NULL;
    free(path);
    return config->json && check_kind(config, err) && check_start(config, err) &&
           read_numbers(config, err);
}

void gi_hf_adapter_config_finish(struct gi_hf_adapter_config *config)
{
    cJSON_Delete(config->json);
    config->json = NULL;
}

bool gi_hf_adapter_check_rank(const struct gi_hf_adapter_config *config, const char *tensor,
                              uint64_t rank, struct glinfer_error *err)
{
    const cJSON *entry = find_pattern(config, "rank_pattern", tensor);
    const double expected = entry ? entry->valuedouble : config->rank;
    return (double)rank == expected ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: tensor %.120s has rank %llu, but %s of %s is %.0f", config->folder,
                        tensor, (unsigned long long)rank, entry ? "rank_pattern" : "r", file_name,
                        expected);
}

double gi_hf_adapter_factor(const struct gi_hf_adapter_config *config, const char *tensor,
                            uint64_t rank)
{
    const cJSON *entry = find_pattern(config, "alpha_pattern", tensor);
    const double alpha = entry ? entry->valuedouble / config->alpha : 1;
    return config->divides_by_root ? alpha * sqrt((double)rank / config->rank) : alpha;
}
