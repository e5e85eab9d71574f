// Opens a device as a program would and prints what it is as "key: value" lines; a refusal goes to
// stderr with exit status 1. For tools/driver-matrix and for reports.
//   platform_probe [--device NAME] [--allow-software] [--debug] [--low-priority] [--verbose]
//                  [--list]
#include "platform/platform.h"

#include <stdio.h>
#include <string.h>

static int list_candidates(void)
{
    struct gi_platform_candidate candidates[64];
    size_t n = gi_platform_candidates(candidates, 64);
    for (size_t i = 0; i < n; i++) {
        puts(candidates[i].device);
    }
    return 0;
}

static void print_info(const struct gi_platform_info *info)
{
    printf("device: %s\nrenderer: %s\nvendor: %s\nversion: %s\n", info->device, info->renderer,
           info->vendor, info->version);
    printf("gles: %d.%d\negl: %d.%d\n", info->gles_major, info->gles_minor, info->egl_major,
           info->egl_minor);
    printf("software: %d\nrobust: %d\ndebug: %d\n", info->is_software, info->is_robust,
           info->is_debug);
}

static void print_log(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user;
    (void)level;
    fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv)
{
    const struct gi_log log = {.fn = print_log};
    struct gi_platform_params params = {.log = NULL};
    for (int i = 1; i < argc; i++) {
        params.allow_software |= strcmp(argv[i], "--allow-software") == 0;
        params.debug |= strcmp(argv[i], "--debug") == 0;
        params.low_priority |= strcmp(argv[i], "--low-priority") == 0;
        if (strcmp(argv[i], "--verbose") == 0) {
            params.log = &log;
        }
        if (strcmp(argv[i], "--list") == 0) {
            return list_candidates();
        }
        if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) {
            params.device = argv[++i];
        }
    }
    struct glinfer_error err = {0};
    struct gi_platform *platform = gi_platform_open(&params, &err);
    if (platform == NULL) {
        fprintf(stderr, "%d: %s\n", err.status, err.message);
        return 1;
    }
    print_info(gi_platform_describe(platform));
    gi_platform_close(platform);
    return 0;
}
