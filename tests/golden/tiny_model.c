#include "golden/tiny_model.h"

#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77 };

bool tiny_model_open(struct tiny_model *tiny, const char *path, const char *cache_dir)
{
    struct glinfer_device_params device;
    struct glinfer_model_params model;
    struct glinfer_error err;
    glinfer_device_params_init(&device);
    device.allow_software = true;
    device.cache_dir = cache_dir;
    tiny->device = glinfer_device_create(&device, &err);
    if (!tiny->device) {
        printf("skipped: %s\n", err.message);
        exit(SKIPPED);
    }
    glinfer_model_params_init(&model);
    model.path = path;
    tiny->model = glinfer_model_load(tiny->device, &model, &err);
    if (!tiny->model) {
        printf("%s\n", err.message);
    }
    return tiny->model != NULL;
}

void tiny_model_close(struct tiny_model *tiny)
{
    glinfer_model_destroy(&tiny->model);
    glinfer_device_destroy(&tiny->device);
}
