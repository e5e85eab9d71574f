#include "cli/common/cli_device.h"

const char *const cli_cache_types[] = {"f16", "f32", "q8_0", "q4_0", NULL};
const char *const cli_precisions[] = {"auto", "f32", "f16", NULL};

void cli_device_params(const struct cli_device_flags *flags, struct glinfer_device_params *params)
{
    glinfer_device_params_init(params);
    params->device = flags->device;
    params->allow_software = true;
    params->log = cli_log;
    params->log_user = (void *)&flags->verbosity;
    params->compile_in_background = true;
    params->low_priority = flags->is_low_priority;
}

// Notes the exit status of a device that cannot be opened: wrong usage if its name is unknown.
static bool end_without_device(const struct glinfer_error *err)
{
    return cli_end(err->status == GLINFER_STATUS_INVALID_ARGUMENT ? CLI_EXIT_USAGE
                                                                  : CLI_EXIT_FAILED);
}

bool cli_device_refuse(const struct cli_device_flags *flags)
{
    struct glinfer_error err = {.status = GLINFER_STATUS_OK};
    struct glinfer_device_params params;
    cli_device_params(flags, &params);
    params.log = NULL;
    struct glinfer_device *device = glinfer_device_create(&params, &err);
    glinfer_device_destroy(&device);
    return end_without_device(&err);
}

struct glinfer_device *cli_device_open(const struct cli_device_flags *flags,
                                       struct glinfer_device_info *info)
{
    struct glinfer_error err;
    struct glinfer_device_params params;
    cli_device_params(flags, &params);
    struct glinfer_device *device = glinfer_device_create(&params, &err);
    if (!device) {
        cli_fail_error(&err);
        end_without_device(&err);
        return NULL;
    }
    info->struct_size = sizeof(*info);
    glinfer_device_describe(device, info);
    if (info->is_software) {
        cli_note("%s runs on the CPU, slowly; `glinfer info` says why no GPU is used",
                 info->renderer);
    }
    return device;
}

static void print_device(void *user, const struct glinfer_device_info *info)
{
    (void)user;
    if (info->refusal[0]) {
        printf("  %s: not usable: %s\n", info->device, info->refusal);
    } else {
        printf("  %s: %s%s\n", info->device, info->renderer,
               info->is_software ? " (on the CPU)" : "");
    }
}

bool cli_device_list(const struct cli_device_flags *flags)
{
    struct glinfer_device_params params;
    cli_device_params(flags, &params);
    printf("Available devices:\n");
    const bool is_any = glinfer_device_list(&params, print_device, NULL) > 0;
    return cli_close_output() && (is_any || cli_device_refuse(flags));
}
