// A tiny model on the first device, software too, through glinfer.h: what the group fixtures of tests open.
#ifndef TESTS_GOLDEN_TINY_MODEL_H
#define TESTS_GOLDEN_TINY_MODEL_H

#include "glinfer.h"

struct tiny_model {
    struct glinfer_device *device;
    struct glinfer_model *model;
};

// cache_dir as glinfer_device_params has it. Without a device it says so and ends the program with 77, which is
// skipped. False, and said why, if the file cannot be loaded.
bool tiny_model_open(struct tiny_model *tiny, const char *path, const char *cache_dir);
// Accepts what is not open.
void tiny_model_close(struct tiny_model *tiny);

#endif
