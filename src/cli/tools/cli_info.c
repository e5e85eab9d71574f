#include "cli/tools/cli_info.h"

#include "cli/common/cli_device.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_start.h"

#include <inttypes.h>

struct settings {
    struct cli_device_flags device;
    const char *model;
    uint64_t mem_budget;
    int64_t n_ctx;
    int type_k, type_v;
    bool is_json;
};

static const struct cli_flag flags[] = {
    CLI_FLAG_HEADING("Flags"),
    CLI_FLAG_SWITCH(settings, is_json, "--json",
                    "JSON: an array of devices, or an object of the model"),
    CLI_DEVICE_FLAGS(settings),
    CLI_FLAG_HEADING("With a model"),
    CLI_FLAG_TEXT(settings, model, "-m, --model", "FILE",
                  "a GGUF file; nothing is loaded, no device is needed"),
    CLI_FLAG_INT(settings, n_ctx, 0, 1 << 24, "-c, --ctx-size", "N",
                 "context that the memory is reckoned with; 0 (default): the smaller of the "
                 "model's and 4096"),
    CLI_FLAG_CHOICE(settings, type_k, cli_cache_types, "-ctk, --cache-type-k", "TYPE",
                    "f16 (default), f32 or q8_0"),
    CLI_FLAG_CHOICE(settings, type_v, cli_cache_types, "-ctv, --cache-type-v", "TYPE",
                    "f16 (default), f32 or q8_0"),
    CLI_FLAG_SIZE(settings, mem_budget, "--mem-budget", "SIZE", "fail if the estimate is over it"),
};

const struct cli_command cli_info_command = {
    .name = "info",
    .usage = "[-m MODEL] [flags]",
    .summary = "Lists the devices, or says what a model is and what memory it takes.",
    .word = "a model is given with -m",
    .text = "Of each device: its limits, or why it was refused. With -m no device is needed and "
            "nothing\n"
            "is loaded.",
    .flags = flags,
    .n_flag = sizeof(flags) / sizeof(flags[0]),
};

//-- tuning ----------------------------------------------------------------------------------------

// Where shapes that were measured go: lines, or an array with `array`; those of a model with `model`.
struct tuning {
    const struct glinfer_model_info *model; // NULL: all
    cJSON *array;
    size_t n;
};

// By its widths: a model has few, and what another model of the same widths uses is used by this one.
static bool is_of_model(const struct glinfer_tuned *tuned, const struct glinfer_model_info *model)
{
    return tuned->n_cols == model->n_embd || tuned->n_cols == model->n_ff ||
           tuned->n_cols == model->n_head * model->head_dim;
}

static void add_tuned(void *user, const struct glinfer_tuned *tuned)
{
    struct tuning *tuning = user;
    if (tuning->model && !is_of_model(tuned, tuning->model)) {
        return;
    }
    tuning->n++;
    if (!tuning->array) {
        char matrix[40];
        cli_format_matrix(matrix, tuned->n_rows, tuned->n_cols, tuned->extent);
        printf("      %-16s %-8s %-20s %s\n", tuned->kernel, tuned->type, matrix, tuned->shape);
        return;
    }
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "kernel", tuned->kernel);
    cJSON_AddStringToObject(object, "type", tuned->type);
    cJSON_AddNumberToObject(object, "n_rows", tuned->n_rows);
    cJSON_AddNumberToObject(object, "n_cols", tuned->n_cols);
    cJSON_AddNumberToObject(object, "extent", tuned->extent);
    cJSON_AddStringToObject(object, "shape", tuned->shape);
    cJSON_AddItemToArray(tuning->array, object);
}

// A device is only asked here: what cannot be opened has no tuning.
static void ask_tuning(const char *name, struct tuning *tuning)
{
    struct glinfer_device_params params;
    glinfer_device_params_init(&params);
    params.device = name;
    params.allow_software = true;
    struct glinfer_device *device = glinfer_device_create(&params, NULL);
    if (device) {
        glinfer_device_tuning(device, add_tuned, tuning);
    }
    glinfer_device_destroy(&device);
}

//-- devices ---------------------------------------------------------------------------------------

static const char *yes_no(bool value)
{
    return value ? "yes" : "no";
}

static void print_cache(const struct glinfer_device_info *info)
{
    if (!info->has_program_binary) {
        printf("    program cache   no: the driver hands no programs out\n");
    } else if (info->cache_refusal[0]) {
        printf("    program cache   no: %s\n", info->cache_refusal);
    } else {
        printf("    program cache   yes\n");
    }
}

static void print_usable(const struct glinfer_device_info *info)
{
    char block[24], uniform[24];
    printf("%s: %s%s\n", info->device, info->renderer,
           info->is_software ? " (software: runs on the CPU)" : "");
    printf("    %s, %s\n", info->version, info->vendor);
    printf("    storage blocks  %u of up to %s, aligned to %u bytes\n", info->max_storage_blocks,
           cli_format_size(block, info->max_storage_block_size), info->storage_alignment);
    printf("    uniform blocks  up to %s, aligned to %u bytes\n",
           cli_format_size(uniform, info->max_uniform_block_size), info->uniform_alignment);
    printf("    work groups     %u invocations, %u bytes shared, %u in x\n", info->max_invocations,
           info->max_shared_size, info->max_group_count);
    printf("    dispatch        %s%s\n", info->is_indirect ? "indirect" : "direct",
           info->is_persistent ? "; a chain of decode steps in one where that is faster" : "");
    printf("    subgroups       %s\n", yes_no(info->has_subgroups));
    printf("    fast halves     %s\n", yes_no(info->has_fast_half));
    printf("    timer queries   %s\n", yes_no(info->has_timer_query));
    print_cache(info);
    if (info->n_tuned == 0) {
        printf("    tuning          none; `glinfer tune -m MODEL` measures\n");
        return;
    }
    struct tuning tuning = {0};
    printf("    tuning          %u shapes\n", info->n_tuned);
    ask_tuning(info->device, &tuning);
}

static void print_device(void *user, const struct glinfer_device_info *info)
{
    (void)user;
    if (info->refusal[0]) {
        printf("%s: not usable: %s\n", info->device, info->refusal);
    } else {
        print_usable(info);
    }
}

static void add_tuning(cJSON *object, const char *device, const struct glinfer_model_info *model)
{
    struct tuning tuning = {.model = model, .array = cJSON_AddArrayToObject(object, "tuning")};
    if (tuning.array) {
        ask_tuning(device, &tuning);
    }
}

static void add_device(void *user, const struct glinfer_device_info *info)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "device", info->device);
    cJSON_AddBoolToObject(object, "usable", !info->refusal[0]);
    if (info->refusal[0]) {
        cJSON_AddStringToObject(object, "refusal", info->refusal);
    } else {
        cJSON_AddStringToObject(object, "renderer", info->renderer);
        cJSON_AddStringToObject(object, "vendor", info->vendor);
        cJSON_AddStringToObject(object, "version", info->version);
        cJSON_AddBoolToObject(object, "software", info->is_software);
        cJSON_AddStringToObject(object, "dispatch", info->is_indirect ? "indirect" : "direct");
        cJSON_AddBoolToObject(object, "persistent", info->is_persistent);
        cJSON_AddBoolToObject(object, "subgroups", info->has_subgroups);
        cJSON_AddBoolToObject(object, "fast_halves", info->has_fast_half);
        cJSON_AddBoolToObject(object, "timer_queries", info->has_timer_query);
        cJSON_AddBoolToObject(object, "program_cache",
                              info->has_program_binary && !info->cache_refusal[0]);
        if (info->cache_refusal[0]) {
            cJSON_AddStringToObject(object, "cache_refusal", info->cache_refusal);
        }
        cJSON_AddNumberToObject(object, "max_storage_blocks", info->max_storage_blocks);
        cli_json_add_u64(object, "max_storage_block_size", info->max_storage_block_size);
        cJSON_AddNumberToObject(object, "storage_alignment", info->storage_alignment);
        cJSON_AddNumberToObject(object, "max_invocations", info->max_invocations);
        cJSON_AddNumberToObject(object, "max_shared_size", info->max_shared_size);
        cJSON_AddNumberToObject(object, "max_uniform_block_size", info->max_uniform_block_size);
        cJSON_AddNumberToObject(object, "uniform_alignment", info->uniform_alignment);
        cJSON_AddNumberToObject(object, "max_group_count", info->max_group_count);
        add_tuning(object, info->device, NULL);
    }
    cJSON_AddItemToArray(user, object);
}

static int show_devices(const struct settings *settings)
{
    struct glinfer_device_params params;
    cli_device_params(&settings->device, &params);
    if (settings->is_json) {
        cJSON *devices = cJSON_CreateArray();
        size_t n = glinfer_device_list(&params, add_device, devices);
        int status = cli_json_print(devices);
        return n > 0 ? status : cli_device_refusal(&settings->device);
    }
    printf("glinfer %s\n", glinfer_version());
    if (glinfer_device_list(&params, print_device, NULL) == 0) {
        return cli_close_output(cli_fail(cli_device_refusal(&settings->device),
                                         "no device can be used; the reasons are above"));
    }
    return cli_close_output(CLI_EXIT_DONE);
}

//-- a model ---------------------------------------------------------------------------------------

static uint64_t device_total(const struct glinfer_model_info *info)
{
    return info->weights + info->kv_cache + info->scratch;
}

static void print_size(const char *what, uint64_t bytes)
{
    char text[24];
    printf("  %-15s %s\n", what, cli_format_size(text, bytes));
}

static void print_model(const struct settings *settings, const struct glinfer_model_info *info)
{
    printf("%s\n", settings->model);
    printf("  %-15s %s%s%s\n", "model", info->description, info->name[0] ? ", " : "", info->name);
    printf("  %-15s %s\n", "architecture", info->architecture);
    printf("  %-15s %" PRIu64 " in %s\n", "parameters", info->n_params, info->types);
    printf("  %-15s %u layers, %u wide, feed-forward %u, %u heads on %u of %u, vocabulary %u\n",
           "shape", info->n_layer, info->n_embd, info->n_ff, info->n_head, info->n_kv_head,
           info->head_dim, info->n_vocab);
    printf("  %-15s %u tokens trained\n", "context", info->n_ctx_train);
    printf("  %-15s %s\n", "tokenizer", info->tokenizer);
    printf("  %-15s %s\n", "chat template", info->chat_template);
    print_size("file", info->file_size);
    if (!info->is_supported) {
        printf("  %-15s no: %s\n", "can run", info->refusal);
        return;
    }
    printf("memory on the device for a context of %u, keys %s, values %s\n", info->n_ctx,
           cli_cache_types[settings->type_k], cli_cache_types[settings->type_v]);
    print_size("weights", info->weights);
    print_size("cache", info->kv_cache);
    print_size("scratch", info->scratch);
    print_size("together", device_total(info));
    print_size("largest binding", info->largest_binding);
    printf("beside it on the host\n");
    print_size("while loading", info->peak_host);
    printf("shapes that were measured on this device\n");
    struct tuning tuning = {.model = info};
    ask_tuning(settings->device.device, &tuning);
    if (tuning.n == 0) {
        printf("      none; `glinfer tune -m %s` measures\n", settings->model);
    }
}

static void add_shape(cJSON *object, const struct glinfer_model_info *info)
{
    cJSON_AddNumberToObject(object, "n_layer", info->n_layer);
    cJSON_AddNumberToObject(object, "n_embd", info->n_embd);
    cJSON_AddNumberToObject(object, "n_ff", info->n_ff);
    cJSON_AddNumberToObject(object, "n_head", info->n_head);
    cJSON_AddNumberToObject(object, "n_kv_head", info->n_kv_head);
    cJSON_AddNumberToObject(object, "head_dim", info->head_dim);
    cJSON_AddNumberToObject(object, "n_vocab", info->n_vocab);
    cJSON_AddNumberToObject(object, "n_ctx_train", info->n_ctx_train);
}

static void add_memory(cJSON *object, const struct settings *settings,
                       const struct glinfer_model_info *info)
{
    cJSON *memory = cJSON_AddObjectToObject(object, "memory");
    cJSON_AddNumberToObject(memory, "n_ctx", info->n_ctx);
    cJSON_AddStringToObject(memory, "type_k", cli_cache_types[settings->type_k]);
    cJSON_AddStringToObject(memory, "type_v", cli_cache_types[settings->type_v]);
    cli_json_add_u64(memory, "weights", info->weights);
    cli_json_add_u64(memory, "kv_cache", info->kv_cache);
    cli_json_add_u64(memory, "scratch", info->scratch);
    cli_json_add_u64(memory, "device_total", device_total(info));
    cli_json_add_u64(memory, "peak_host", info->peak_host);
    cli_json_add_u64(memory, "largest_binding", info->largest_binding);
}

static int print_model_json(const struct settings *settings, const struct glinfer_model_info *info)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "model", settings->model);
    cJSON_AddStringToObject(object, "architecture", info->architecture);
    cJSON_AddStringToObject(object, "name", info->name);
    cJSON_AddStringToObject(object, "description", info->description);
    cJSON_AddStringToObject(object, "types", info->types);
    cJSON_AddStringToObject(object, "tokenizer", info->tokenizer);
    cJSON_AddStringToObject(object, "chat_template", info->chat_template);
    cJSON_AddBoolToObject(object, "supported", info->is_supported);
    if (!info->is_supported) {
        cJSON_AddStringToObject(object, "refusal", info->refusal);
    }
    cli_json_add_u64(object, "file_size", info->file_size);
    cli_json_add_u64(object, "weight_size", info->weight_size);
    cli_json_add_u64(object, "n_params", info->n_params);
    add_shape(object, info);
    if (info->is_supported) {
        add_memory(object, settings, info);
        add_tuning(object, settings->device.device, info);
    }
    return cli_json_print(object);
}

static int show_model(const struct settings *settings)
{
    struct glinfer_error err;
    struct glinfer_model_params params;
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    glinfer_model_params_init(&params);
    params.path = settings->model;
    params.mem_budget = settings->mem_budget;
    params.n_ctx = (uint32_t)settings->n_ctx;
    params.type_k = (enum glinfer_cache_type)settings->type_k;
    params.type_v = (enum glinfer_cache_type)settings->type_v;
    if (!glinfer_model_inspect(&params, &info, &err)) {
        return cli_fail_error(&err);
    }
    int status = CLI_EXIT_DONE;
    if (settings->is_json) {
        status = print_model_json(settings, &info);
    } else {
        print_model(settings, &info);
        status = cli_close_output(status);
    }
    if (status == CLI_EXIT_DONE && info.is_supported && settings->mem_budget > 0 &&
        device_total(&info) > settings->mem_budget) {
        char needed[24], budget[24];
        return cli_fail(CLI_EXIT_FAILED, "the model takes %s on the device, the budget is %s",
                        cli_format_size(needed, device_total(&info)),
                        cli_format_size(budget, settings->mem_budget));
    }
    return status;
}

int cli_info(int argc, const char *const *argv)
{
    struct settings settings = {0};
    int status;
    if (!cli_start(&cli_info_command, &settings, argc, argv, &status)) {
        return status;
    }
    if (settings.device.is_list) {
        return cli_device_list(&settings.device);
    }
    return settings.model ? show_model(&settings) : show_devices(&settings);
}
