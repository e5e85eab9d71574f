// The scales that LoRA adapters have in requests that do not name their own: /lora-adapters. Any
// thread may call these functions.
#pragma once

#include "cli/flags/cli_lora.h"
#include "cli/serve/api/serve_fields.h"

#include <pthread.h>

struct serve_lora {
    pthread_mutex_t mutex;
    const struct cli_lora_flags *flags; // borrowed
    float scales[CLI_MAX_LORA];         // n
    uint32_t n;                         // adapters whose scales can be set
};

void serve_lora_init(struct serve_lora *lora, const struct cli_lora_flags *flags);
void serve_lora_finish(struct serve_lora *lora);
// Copies the scales. Returns their number.
uint32_t serve_lora_copy(struct serve_lora *lora, float scales[CLI_MAX_LORA]);
// Reads a list of {"id", "scale"}: adapters that it leaves out get the scale 0. A list of NULL
// changes nothing.
void serve_lora_read(const struct serve_lora *lora, struct serve_fields *fields, const cJSON *list,
                     float scales[CLI_MAX_LORA]);
