// model_programs MODEL [DEVICE]: compiles every program that a session of the model needs, one after
// the other, and writes what the library and the driver say meanwhile to standard error. Executes
// nothing, so it also works over a simulated kernel. DEVICE: auto unless given.
#include "glinfer.h"

#include <stdio.h>

static void print_line(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {.message = "usage: model_programs MODEL [DEVICE]"};
    struct glinfer_device *device = NULL;
    struct glinfer_model *model = NULL;
    struct glinfer_session *session = NULL;
    struct glinfer_device_info info = {.struct_size = sizeof(info)};

    struct glinfer_device_params dp;
    glinfer_device_params_init(&dp);
    dp.device = argc > 2 ? argv[2] : NULL;
    dp.allow_software = true;
    dp.debug = true;
    dp.cache_dir = "";
    dp.log = print_line;
    bool is_good = argc > 1 && (device = glinfer_device_create(&dp, &err));
    if (is_good) {
        glinfer_device_describe(device, &info);
        printf("%s\n", info.renderer);
    }
    struct glinfer_model_params mp;
    glinfer_model_params_init(&mp);
    mp.path = argv[1];
    is_good = is_good && (model = glinfer_model_load(device, &mp, &err)) &&
              (session = glinfer_session_create(model, NULL, &err));
    if (!is_good) {
        fprintf(stderr, "model_programs: %s\n", err.message);
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    return is_good ? 0 : 1;
}
