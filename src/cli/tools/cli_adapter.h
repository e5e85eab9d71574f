// Describes a LoRA adapter for `glinfer info`.
#pragma once

#include "glinfer.h"

#include <stdbool.h>

// Prints what an adapter tells of itself, as lines or as JSON. path is as the user gave it. Returns
// false if the output could not be written.
bool cli_adapter_print(const char *path, const struct glinfer_model_info *info, bool is_json);
