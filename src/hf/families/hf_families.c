#include "hf/families/hf_families.h"

#include <stdio.h>
#include <string.h>

static const struct gi_hf_family *const lists[] = {
    gi_hf_llama_families,   gi_hf_bert_families,    gi_hf_gemma_families,
    gi_hf_gpt_oss_families, gi_hf_granite_families, gi_hf_lfm2_families,
    gi_hf_olmo2_families,   gi_hf_phi3_families,    gi_hf_qwen35_families,
};

enum { N_LISTS = sizeof(lists) / sizeof(lists[0]), NAMES_SIZE = 600 };

static const char *find_architecture(const cJSON *config)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(config, "architectures");
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(list, 0));
    return text ? text : "";
}

static const char *list_names(char names[NAMES_SIZE])
{
    size_t used = 0;
    const char *last = "";
    names[0] = 0;
    for (size_t i = 0; i < N_LISTS; i++) {
        for (const struct gi_hf_family *family = lists[i]; family->model_type; family++) {
            if (strcmp(family->model_type, last) != 0 &&
                used + strlen(family->model_type) + 3 < NAMES_SIZE) {
                used += (size_t)snprintf(names + used, NAMES_SIZE - used, "%s%s",
                                         used > 0 ? ", " : "", family->model_type);
            }
            last = family->model_type;
        }
    }
    return names;
}

const struct gi_hf_family *gi_hf_family_find(const struct gi_hf_build *b, struct glinfer_error *err)
{
    const char *type = gi_hf_json_text(b->root, "model_type");
    const char *architecture = find_architecture(b->root);
    char names[NAMES_SIZE];
    for (size_t i = 0; i < N_LISTS; i++) {
        for (const struct gi_hf_family *family = lists[i]; family->model_type; family++) {
            if (strcmp(family->model_type, type) == 0 &&
                (!family->architecture || strcmp(family->architecture, architecture) == 0)) {
                return family;
            }
        }
    }
    if (!*type) {
        gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                     "%s: config.json has no \"model_type\", which names the model family",
                     b->folder);
        return NULL;
    }
    gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                 "%s: the family of config.json, model_type \"%.60s\" (%.60s), is not supported "
                 "in folders, but may be in GGUF files (-m FILE.gguf, `glinfer pull`); folders may "
                 "be of %s",
                 b->folder, type, architecture, list_names(names));
    return NULL;
}
