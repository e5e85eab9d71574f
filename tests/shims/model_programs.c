// model_programs MODEL [DEVICE]: compiles every program that answers of the model need, one after
// the other, and writes what the library and the driver say meanwhile to standard error. Executes
// nothing, so it also works over a simulated kernel. DEVICE: auto unless given.
#include "glinfer.h"

#include <stdio.h>
#include <stdlib.h>

// A session for greedy answers to any prompt, or for sampled ones.
static bool compile(struct glinfer_model *model, float temperature, struct glinfer_error *err)
{
    struct glinfer_generate_params expected;
    struct glinfer_session_params params;
    glinfer_generate_params_init(&expected);
    glinfer_session_params_init(&params);
    expected.temperature = temperature;
    params.expected = &expected;
    struct glinfer_session *session = glinfer_session_create(model, &params, err);
    const bool is_good = session != NULL;
    glinfer_session_destroy(&session);
    return is_good;
}

static void print_line(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv)
{
    setenv("GLINFER_SELFTEST", "off", 1); // the kernel below computes nothing
    struct glinfer_error err = {.message = "usage: model_programs MODEL [DEVICE]"};
    struct glinfer_device *device = NULL;
    struct glinfer_model *model = NULL;
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
              compile(model, 0.0F, &err) && compile(model, 0.8F, &err);
    if (!is_good) {
        fprintf(stderr, "model_programs: %s\n", err.message);
    }
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    return is_good ? 0 : 1;
}
