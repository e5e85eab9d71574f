// `glinfer info`: the devices of this machine, or a model and the memory it takes.
#include "cli/cli_commands.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_session.h"
#include "cli/embed/cli_embedding.h"
#include "cli/tools/cli_adapter.h"

#include <glob.h>
#include <inttypes.h>
#include <unistd.h>

struct settings {
    struct cli_session_flags session;
    int64_t n_sessions;
    bool is_json;
};

static struct settings defaults = {.n_sessions = 1};

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Flags"),
    CLI_SWITCH(is_json, "--json", "JSON: an array of devices, or an object of the model"),
    CLI_DEVICE_FLAGS,
    CLI_HEADING("With a model"),
    CLI_TEXT(session.model, "-m, --model", "FILE",
             "a GGUF file, a folder of SafeTensors, or the name of a model; nothing is loaded, no "
             "device is needed"),
    CLI_HUB_FLAGS,
    CLI_QUANTIZE_FLAG(session.quantize),
    CLI_INT(session.n_ctx, 0, 1 << 24, "-c, --ctx-size", "N",
            "context of the memory estimate; 0 (default): the smaller of the model's and 4096"),
    CLI_CHOICE(session.type_k, cli_cache_types, "-ctk, --cache-type-k", "TYPE",
               "f16 (default), f32, q8_0 or q4_0"),
    CLI_CHOICE(session.type_v, cli_cache_types, "-ctv, --cache-type-v", "TYPE",
               "f16 (default), f32, q8_0 or q4_0"),
    CLI_INT(n_sessions, 1, 16, "-np, --parallel", "N",
            "answers or beams at once, each with a cache of its own, default %v"),
    CLI_SIZE(session.mem_budget, "--mem-budget", "SIZE", "fail if the estimate exceeds it"),
};

//-- tuning ----------------------------------------------------------------------------------------

// Receives the shapes that were measured: into lines, or an array.
struct tuning {
    const struct glinfer_model_info *model; // print the shapes of this model; NULL: all
    cJSON *array;                           // NULL: lines
    size_t n;
};

static void add_tuned(void *user, const struct glinfer_tuned *tuned)
{
    struct tuning *tuning = user;
    const struct glinfer_model_info *model = tuning->model;
    // A model has few widths, and uses what a model of the same widths uses.
    if (model && tuned->n_cols != model->n_embd && tuned->n_cols != model->n_ff &&
        tuned->n_cols != model->n_head * model->head_dim) {
        return;
    }
    tuning->n++;
    if (!tuning->array) {
        char matrix[40];
        cli_format_matrix(matrix, tuned->n_rows, tuned->n_cols, tuned->extent);
        printf("      %-16s %-8s %-20s %s\n", tuned->kernel, tuned->type, matrix, tuned->shape);
        return;
    }
    CLI_JSON_ADD(cli_json_append(tuning->array), tuned, CLI_JSON(glinfer_tuned, kernel),
                 CLI_JSON(glinfer_tuned, type), CLI_JSON(glinfer_tuned, n_rows),
                 CLI_JSON(glinfer_tuned, n_cols), CLI_JSON(glinfer_tuned, extent),
                 CLI_JSON(glinfer_tuned, shape));
}

// Warns if a binding of the model exceeds the device's limit.
static void warn_of_binding(const struct glinfer_device *device,
                            const struct glinfer_model_info *model)
{
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    char needed[24], most[24];
    glinfer_device_describe(device, &info);
    if (model->largest_binding > info.max_storage_block_size) {
        cli_warn("the largest binding takes %s, the limit of %s is %s: use a shorter context",
                 cli_format_size(needed, model->largest_binding), info.renderer,
                 cli_format_size(most, info.max_storage_block_size));
    }
}

// Passes the tuning of a device to tuning; nothing if the device cannot be opened.
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
    if (device && tuning->model) {
        warn_of_binding(device, tuning->model);
    }
    glinfer_device_destroy(&device);
}

//-- devices ---------------------------------------------------------------------------------------

enum { MAX_SHOWN = 8 };

// The devices that were printed, so that one that is reached in two ways is described once.
struct listing {
    const struct cli_device_flags *flags;
    struct cli_bar bar;
    struct glinfer_device_info shown[MAX_SHOWN];
    size_t n_shown;
    bool has_gpu; // that can be used
};

static const char *yes_no(bool value)
{
    return value ? "yes" : "no";
}

// The first way is that of all lists, another is for decode steps.
static void print_dispatches(const struct glinfer_device_info *info)
{
    bool is_first = true;
    for (int i = 0; i < GLINFER_DISPATCH_WAYS; i++) {
        if (info->dispatches >> i & 1) {
            printf("%s%s%s", is_first ? "    dispatch        " : "; decode steps ",
                   glinfer_dispatch_name((enum glinfer_dispatch)i),
                   is_first ? "" : " where that is faster");
            is_first = false;
        }
    }
    printf("\n");
}

static void print_usable(const struct glinfer_device_info *info, bool is_verbose)
{
    char block[24], uniform[24];
    const char *refusal = info->has_program_binary
                              ? info->cache_refusal
                              : "there are no binary formats (driver, or GLINFER_LIMITS)";
    printf("%s: %s%s\n", info->device, info->renderer,
           info->is_software ? " (software: runs on the CPU)" : "");
    printf("    %s, %s\n", info->version, info->vendor);
    printf("    storage blocks  %u of up to %s, aligned to %u bytes\n", info->max_storage_blocks,
           cli_format_size(block, info->max_storage_block_size), info->storage_alignment);
    printf("    uniform blocks  up to %s, aligned to %u bytes\n",
           cli_format_size(uniform, info->max_uniform_block_size), info->uniform_alignment);
    printf("    work groups     %u invocations, %u bytes shared, %u in x\n", info->max_invocations,
           info->max_shared_size, info->max_group_count);
    print_dispatches(info);
    printf("    prompt batches  up to %u tokens\n", info->max_batch);
    printf("    subgroups       %s\n", yes_no(info->has_subgroups));
    printf("    fast halves     %s%s%s\n", yes_no(info->has_fast_half),
           info->half_refusal[0] ? ", but models compute in f32: " : "", info->half_refusal);
    printf("    timer queries   %s\n", yes_no(info->has_timer_query));
    printf("    driver quirks   %s\n", info->quirks);
    printf("    program cache   %s%s\n", refusal[0] ? "no: " : "yes", refusal);
    if (info->n_tuned == 0) {
        printf("    tuning          none; `glinfer tune -m MODEL` measures\n");
        return;
    }
    printf("    tuning          %u kernel%s measured%s\n", info->n_tuned, cli_plural(info->n_tuned),
           is_verbose ? "" : "; `glinfer info -v` lists them");
    if (is_verbose) {
        struct tuning tuning = {0};
        ask_tuning(info->device, &tuning);
    }
}

// Returns a device printed earlier with the same driver, or NULL.
static const struct glinfer_device_info *find_shown(const struct listing *listing,
                                                    const struct glinfer_device_info *info)
{
    for (size_t i = 0; i < listing->n_shown; i++) {
        const struct glinfer_device_info *shown = &listing->shown[i];
        if (strcmp(shown->renderer, info->renderer) == 0 &&
            strcmp(shown->version, info->version) == 0 &&
            strcmp(shown->vendor, info->vendor) == 0 && strcmp(shown->quirks, info->quirks) == 0) {
            return shown;
        }
    }
    return NULL;
}

static void print_device(void *user, const struct glinfer_device_info *info)
{
    struct listing *listing = user;
    const struct glinfer_device_info *shown = info->refusal[0] ? NULL : find_shown(listing, info);
    cli_bar_clear(&listing->bar);
    if (info->refusal[0]) {
        printf("%s: not usable: %s\n", info->device, info->refusal);
    } else if (shown) {
        printf("%s: %s, as %s\n", info->device, info->renderer, shown->device);
    } else {
        print_usable(info, listing->flags->verbosity > 0);
    }
    if (!info->refusal[0] && !shown && listing->n_shown < MAX_SHOWN) {
        listing->shown[listing->n_shown++] = *info;
    }
    listing->has_gpu = listing->has_gpu || (!info->refusal[0] && !info->is_software);
    fflush(stdout);
    cli_bar_wait(&listing->bar, "asking the devices", true);
}

// Tells how a GPU that this machine may have becomes usable.
static void print_advice(void)
{
    glob_t nodes;
    bool is_open = false;
    const bool is_there = glob("/dev/dri/renderD*", 0, NULL, &nodes) == 0;
    for (size_t i = 0; is_there && i < nodes.gl_pathc; i++) {
        is_open = is_open || access(nodes.gl_pathv[i], R_OK | W_OK) == 0;
    }
    printf("\nNo GPU can be used. ");
    if (!is_there) {
        printf(
            "There is no /dev/dri/renderD*: if this machine has a GPU, the kernel has not loaded\n"
            "its driver (v3d, panfrost, msm, i915, xe, amdgpu, ...). A container needs the option\n"
            "--device /dev/dri.\n");
    } else if (!is_open) {
        printf("This user may not open %s:\n"
               "`sudo usermod -aG render $USER`, then log in again.\n",
               nodes.gl_pathv[0]);
    } else {
        printf("The reasons are above; Mesa's drivers are in the package libgl1-mesa-dri.\n");
    }
    globfree(&nodes);
}

static void add_tuning(cJSON *object, const char *device, const struct glinfer_model_info *model)
{
    struct tuning tuning = {.model = model, .array = cJSON_AddArrayToObject(object, "tuning")};
    ask_tuning(device, &tuning);
}

#define INFO(field)          CLI_JSON(glinfer_device_info, field)
#define INFO_AS(name, field) CLI_JSON_AS(name, glinfer_device_info, field)

static void add_usable(cJSON *object, const struct glinfer_device_info *info)
{
    CLI_JSON_ADD(object, info, INFO(renderer), INFO(vendor), INFO(version),
                 INFO_AS("software", is_software), INFO_AS("subgroups", has_subgroups),
                 INFO_AS("fast_halves", has_fast_half), INFO_AS("timer_queries", has_timer_query),
                 INFO(max_storage_blocks), INFO(max_storage_block_size), INFO(storage_alignment),
                 INFO(max_invocations), INFO(max_shared_size), INFO(max_uniform_block_size),
                 INFO(uniform_alignment), INFO(max_group_count), INFO(quirks));
    cJSON_AddStringToObject(object, "dispatch", info->is_indirect ? "indirect" : "direct");
    cJSON *dispatches = cJSON_AddArrayToObject(object, "dispatches");
    for (int i = 0; i < GLINFER_DISPATCH_WAYS; i++) {
        if (info->dispatches >> i & 1) {
            const char *name = glinfer_dispatch_name((enum glinfer_dispatch)i);
            cJSON_AddItemToArray(dispatches, cJSON_CreateString(name));
        }
    }
    cJSON_AddBoolToObject(object, "program_cache",
                          info->has_program_binary && !info->cache_refusal[0]);
    if (info->cache_refusal[0]) {
        cJSON_AddStringToObject(object, "cache_refusal", info->cache_refusal);
    }
    if (info->half_refusal[0]) {
        cJSON_AddStringToObject(object, "half_refusal", info->half_refusal);
    }
    add_tuning(object, info->device, NULL);
}

static void add_device(void *user, const struct glinfer_device_info *info)
{
    cJSON *object = cli_json_append(user);
    cJSON_AddStringToObject(object, "device", info->device);
    cJSON_AddBoolToObject(object, "usable", !info->refusal[0]);
    if (info->refusal[0]) {
        cJSON_AddStringToObject(object, "refusal", info->refusal);
    } else {
        add_usable(object, info);
    }
}

static bool show_devices(const struct settings *settings)
{
    const struct cli_device_flags *asked = &settings->session.device;
    struct glinfer_device_params params;
    cli_device_params(asked, &params);
    struct listing listing = {.flags = asked};
    cli_bar_init(&listing.bar);
    if (!settings->is_json) {
        printf("glinfer %s\n", glinfer_version());
        fflush(stdout);
    }
    cli_bar_wait(&listing.bar, "asking the devices", true);
    if (settings->is_json) {
        cJSON *devices = cJSON_CreateArray();
        const size_t n = glinfer_device_list(&params, add_device, devices);
        cli_bar_clear(&listing.bar);
        return cli_json_print(devices) && (n > 0 || cli_device_refuse(asked));
    }
    const size_t n = glinfer_device_list(&params, print_device, &listing);
    cli_bar_clear(&listing.bar);
    if (!listing.has_gpu && !asked->device) {
        print_advice();
    }
    if (n == 0) {
        cli_say("cannot use any device; the reasons are above");
        cli_close_output();
        return cli_device_refuse(asked);
    }
    return cli_close_output();
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

static bool is_vad(const struct glinfer_model_info *info)
{
    return strcmp(info->architecture, "silero-vad") == 0;
}

// Returns the purpose of a model; NULL if it generates text.
static const char *kind_of(const struct glinfer_model_info *info)
{
    if (info->is_speech) {
        return "speech: it transcribes sound";
    }
    if (is_vad(info)) {
        return "voice activity: it finds the speech in sound for a speech model, on the CPU";
    }
    return info->is_encoder ? "encoder: it computes embeddings and generates no text" : NULL;
}

static void print_shape(const struct glinfer_model_info *info)
{
    printf("  %-15s %u layers, %u wide, ", "shape", info->n_layer, info->n_embd);
    if (info->n_head > 0) {
        printf("feed-forward %u, %u query heads, %u KV head%s, head size %u, ", info->n_ff,
               info->n_head, info->n_kv_head, cli_plural(info->n_kv_head), info->head_dim);
    }
    printf("vocabulary %u\n", info->n_vocab);
    if (info->is_speech) {
        printf("  %-15s %u layers, %u positions of 20 ms, %u bands\n", "encoder",
               info->n_encoder_layer, info->n_encoder_ctx, info->n_mel);
        if (info->n_language > 1) {
            printf("  %-15s %u\n", "languages", info->n_language);
        } else {
            printf("  %-15s English alone\n", "languages");
        }
    }
    printf("  %-15s %u tokens trained\n", "context", info->n_ctx_train);
    if (info->tokenizer[0]) {
        printf("  %-15s %s\n", "tokenizer", info->tokenizer);
    }
}

static bool print_model(const struct cli_session_flags *asked,
                        const struct glinfer_model_info *info)
{
    const char *kind = kind_of(info);
    printf("%s\n", asked->model);
    printf("  %-15s %s%s%s\n", "model", info->description, info->name[0] ? ", " : "", info->name);
    printf("  %-15s %s\n", "architecture", info->architecture);
    printf("  %-15s %" PRIu64 "\n", "parameters", info->n_params);
    printf("  %-15s %s\n", "tensors", info->types);
    if (!is_vad(info)) {
        print_shape(info);
    }
    printf("  %-15s %s\n", kind ? "kind" : "chat template", kind ? kind : info->chat_template);
    if (!kind && info->template_fault[0]) {
        printf("  %-15s %s\n", "", info->template_fault);
    }
    if (info->pooling != GLINFER_POOLING_DEFAULT) {
        printf("  %-15s of %u, pooling %s\n", "embeddings", info->n_embedding,
               cli_poolings[info->pooling]);
    }
    print_size("file", info->file_size);
    if (is_vad(info)) {
        return cli_close_output();
    }
    if (!info->is_supported) {
        printf("  %-15s no: %s\n", "can run", info->refusal);
        return cli_close_output();
    }
    printf("memory on the device for a context of %u, keys %s, values %s, answers at once: %u\n",
           info->n_ctx, cli_cache_types[asked->type_k], cli_cache_types[asked->type_v],
           info->n_sessions);
    print_size("weights", info->weights);
    print_size("cache", info->kv_cache);
    print_size("scratch", info->scratch);
    print_size("total", device_total(info));
    if (info->n_sessions == 1 && !kind) {
        print_size("drafts", info->drafts);
    }
    print_size("largest binding", info->largest_binding);
    printf("additional host memory\n");
    print_size("while loading", info->peak_host);
    printf("kernels measured on this device\n");
    struct tuning tuning = {.model = info};
    ask_tuning(asked->device.device, &tuning);
    if (tuning.n == 0) {
        printf("      none; `glinfer tune -m %s` measures\n", asked->model);
    }
    return cli_close_output();
}

#undef INFO
#undef INFO_AS
#define INFO(field)          CLI_JSON(glinfer_model_info, field)
#define INFO_AS(name, field) CLI_JSON_AS(name, glinfer_model_info, field)

static bool print_model_json(const struct cli_session_flags *asked,
                             const struct glinfer_model_info *info)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "model", asked->model);
    CLI_JSON_ADD(object, info, INFO(architecture), INFO(name), INFO(description), INFO(types),
                 INFO(tokenizer), INFO(chat_template), INFO_AS("supported", is_supported),
                 INFO(file_size), INFO(weight_size), INFO(n_params), INFO(n_layer), INFO(n_embd),
                 INFO(n_ff), INFO(n_head), INFO(n_kv_head), INFO(head_dim), INFO(n_vocab),
                 INFO(n_ctx_train), INFO_AS("encoder", is_encoder), INFO(n_embedding),
                 INFO(file_type), INFO(template_fault));
    if (info->is_speech) {
        CLI_JSON_ADD(object, info, INFO(n_encoder_layer), INFO(n_encoder_ctx), INFO(n_mel),
                     INFO(n_language));
    }
    cJSON_AddStringToObject(object, "pooling", cli_poolings[info->pooling]);
    if (!info->is_supported) {
        cJSON_AddStringToObject(object, "refusal", info->refusal);
        return cli_json_print(object);
    }
    cJSON *memory = cJSON_AddObjectToObject(object, "memory");
    CLI_JSON_ADD(memory, info, INFO(n_ctx), INFO(n_sessions), INFO(weights), INFO(kv_cache),
                 INFO(scratch), INFO(drafts), INFO(peak_host), INFO(largest_binding));
    cli_json_add_u64(memory, "device_total", device_total(info));
    cJSON_AddStringToObject(memory, "type_k", cli_cache_types[asked->type_k]);
    cJSON_AddStringToObject(memory, "type_v", cli_cache_types[asked->type_v]);
    add_tuning(object, asked->device.device, info);
    return cli_json_print(object);
}

static bool show_model(const struct settings *settings)
{
    struct cli_session_flags own = settings->session; // with a path for a name
    const struct cli_session_flags *asked = &own;
    struct glinfer_error err;
    struct glinfer_model_params params;
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    char needed[24], budget[24];
    own.model = models_path(own.model, &own.hub);
    if (!own.model) {
        return false;
    }
    cli_session_params(asked, own.model, &params);
    params.n_sessions = (uint32_t)settings->n_sessions;
    if (!glinfer_model_inspect(&params, &info, &err)) {
        return cli_fail_error(&err);
    }
    if (info.is_adapter) {
        return cli_adapter_print(asked->model, &info, settings->is_json);
    }
    if (info.is_supported && info.n_ctx > info.n_ctx_train) {
        cli_warn("a context of %u is more than the %u that the model was trained with", info.n_ctx,
                 info.n_ctx_train);
    }
    if (!(settings->is_json ? print_model_json(asked, &info) : print_model(asked, &info))) {
        return false;
    }
    const bool is_over =
        info.is_supported && asked->mem_budget > 0 && device_total(&info) > asked->mem_budget;
    return !is_over || cli_fail(CLI_EXIT_FAILED,
                                "cannot fit the model: it takes %s on the device, the budget is %s",
                                cli_format_size(needed, device_total(&info)),
                                cli_format_size(budget, asked->mem_budget));
}

static bool run_command(void *user)
{
    const struct settings *settings = user;
    return settings->session.model && !settings->session.device.is_list ? show_model(settings)
                                                                        : show_devices(settings);
}

const struct cli_command cli_info_command = {
    .name = "info",
    .usage = "[-m MODEL] [flags]",
    .summary = "Lists the devices, or describes a model and the memory that it takes.",
    .text = "Of each device: its limits, or why it was refused. With -m no device is needed and "
            "nothing\nis loaded.",
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
