#include "cli/tools/cli_adapter.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_json.h"

#include <inttypes.h>

#define INFO(field)          CLI_JSON(glinfer_model_info, field)
#define INFO_AS(name, field) CLI_JSON_AS(name, glinfer_model_info, field)

static bool print_json(const char *path, const struct glinfer_model_info *info)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "model", path);
    CLI_JSON_ADD(object, info, INFO(architecture), INFO(types), INFO(file_size), INFO(n_params));
    cJSON *adapter = cJSON_AddObjectToObject(object, "adapter");
    CLI_JSON_ADD(adapter, info, INFO_AS("min_rank", adapter_min_rank),
                 INFO_AS("max_rank", adapter_max_rank), INFO(n_adapted), INFO(base_model));
    cli_json_add_float(adapter, "min_alpha", info->adapter_min_alpha);
    cli_json_add_float(adapter, "max_alpha", info->adapter_max_alpha);
    return cli_json_print(object);
}

bool cli_adapter_print(const char *path, const struct glinfer_model_info *info, bool is_json)
{
    const char *name = info->base_model, *family = info->architecture;
    char size[24];
    if (is_json) {
        return print_json(path, info);
    }
    printf("%s\n", path);
    printf("  %-15s LoRA adapter: `glinfer run -m MODEL --lora %s` runs its model with it\n",
           "kind", path);
    printf("  %-15s %s%s%s\n", "base model", family, *family && *name ? ", " : "",
           *family || *name ? name : "not named");
    printf("  %-15s %u", "rank", info->adapter_min_rank);
    if (info->adapter_max_rank > info->adapter_min_rank) {
        printf(" to %u", info->adapter_max_rank);
    }
    printf("\n  %-15s %g", "alpha", (double)info->adapter_min_alpha);
    if (info->adapter_max_alpha > info->adapter_min_alpha) {
        printf(" to %g", (double)info->adapter_max_alpha);
    }
    printf("\n  %-15s %u matri%s of the model\n", "changes", info->n_adapted,
           info->n_adapted == 1 ? "x" : "ces");
    printf("  %-15s %s\n", "tensors", info->types);
    printf("  %-15s %" PRIu64 "\n", "parameters", info->n_params);
    printf("  %-15s %s\n", "file", cli_format_size(size, info->file_size));
    return cli_close_output();
}
