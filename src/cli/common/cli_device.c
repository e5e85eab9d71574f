#include "cli/common/cli_device.h"

#include "cli/common/cli_delegate.h"

const char *const cli_cache_types[] = {"f16", "f32", "q8_0", NULL};
const char *const cli_precisions[] = {"auto", "f32", "f16", NULL};

void cli_device_params(const struct cli_device_flags *flags, struct glinfer_device_params *params)
{
    glinfer_device_params_init(params);
    params->device = flags->device;
    params->allow_software = true;
    params->log = cli_log;
    params->log_user = (void *)&flags->is_verbose;
    params->delegate = cli_delegate;
    params->delegate_user = (void *)&flags->device;
}

static int status_of(const struct glinfer_error *err)
{
    return err->status == GLINFER_STATUS_INVALID_ARGUMENT ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}

int cli_device_refusal(const struct cli_device_flags *flags)
{
    struct glinfer_error err = {.status = GLINFER_STATUS_OK};
    struct glinfer_device_params params;
    cli_device_params(flags, &params);
    params.log = NULL;
    struct glinfer_device *device = glinfer_device_create(&params, &err);
    glinfer_device_destroy(&device);
    return status_of(&err);
}

struct glinfer_device *cli_device_open(const struct cli_device_flags *flags,
                                       struct glinfer_device_info *info, int *status)
{
    struct glinfer_error err;
    struct glinfer_device_params params;
    cli_device_params(flags, &params);
    struct glinfer_device *device = glinfer_device_create(&params, &err);
    if (!device) {
        cli_fail_error(&err);
        *status = status_of(&err);
        return NULL;
    }
    info->struct_size = sizeof(*info);
    glinfer_device_describe(device, info);
    cli_note_software(info);
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

int cli_device_list(const struct cli_device_flags *flags)
{
    struct glinfer_device_params params;
    cli_device_params(flags, &params);
    printf("Available devices:\n");
    size_t n = glinfer_device_list(&params, print_device, NULL);
    return cli_close_output(n > 0 ? CLI_EXIT_DONE : cli_device_refusal(flags));
}

bool cli_model_check(const struct glinfer_model_params *params, struct glinfer_model_info *info,
                     int *status)
{
    struct glinfer_error err;
    info->struct_size = sizeof(*info);
    if (!glinfer_model_inspect(params, info, &err)) {
        *status = cli_fail_error(&err);
        return false;
    }
    if (!info->is_supported) {
        *status = cli_fail(CLI_EXIT_FAILED, "%s", info->refusal);
        return false;
    }
    return true;
}
