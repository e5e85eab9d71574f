#include "cli/profile/cli_profile_data.h"

#include <stdlib.h>

// Makes room for one more of size bytes; NULL without memory.
static void *append(void **items, size_t *count, size_t *capacity, size_t size)
{
    if (*count == *capacity) {
        const size_t wanted = *capacity ? *capacity * 2 : 64;
        void *grown = realloc(*items, wanted * size);
        if (!grown) {
            return NULL;
        }
        *items = grown;
        *capacity = wanted;
    }
    return (char *)*items + (*count)++ * size;
}

void cli_profile_add_kernel(void *user, const struct glinfer_profile_kernel *kernel)
{
    struct cli_profile_stage *stage = user;
    void *items = stage->kernels;
    struct cli_profile_kernel *own =
        append(&items, &stage->n_kernel, &stage->kernel_capacity, sizeof(*own));
    stage->kernels = items;
    if (!own) {
        stage->has_failed = true;
        return;
    }
    own->figures = *kernel;
    own->figures.label = own->figures.program = NULL;
    snprintf(own->label, sizeof(own->label), "%s", kernel->label);
    snprintf(own->program, sizeof(own->program), "%s", kernel->program);
}

void cli_profile_add_dispatch(void *user, const struct glinfer_profile_dispatch *dispatch)
{
    struct cli_profile_stage *stage = user;
    void *items = stage->dispatches;
    struct cli_profile_dispatch *own =
        append(&items, &stage->n_dispatch, &stage->dispatch_capacity, sizeof(*own));
    stage->dispatches = items;
    if (!own) {
        stage->has_failed = true;
        return;
    }
    own->figures = *dispatch;
    own->figures.label = own->figures.program = NULL;
    snprintf(own->label, sizeof(own->label), "%s", dispatch->label);
    snprintf(own->program, sizeof(own->program), "%s", dispatch->program);
}

void cli_profile_finish(struct cli_profile_data *data)
{
    for (size_t i = 0; i < data->n_stage; i++) {
        free(data->stages[i].kernels);
        free(data->stages[i].dispatches);
    }
    data->n_stage = 0;
}

double cli_profile_memory_rate(const struct cli_profile_data *data)
{
    const struct glinfer_device_rates *rates = &data->rates;
    return rates->copy_gb_per_s > rates->read_gb_per_s ? rates->copy_gb_per_s
                                                       : rates->read_gb_per_s;
}

double cli_profile_roof_share(const struct cli_profile_data *data,
                              const struct glinfer_profile_kernel *kernel)
{
    const double memory = cli_profile_memory_rate(data), peak = data->rates.gflop_per_s;
    if (kernel->bytes == 0 || kernel->flops == 0 || kernel->ns <= 0 || memory <= 0 || peak <= 0) {
        return 0;
    }
    const double by_memory = memory * (double)kernel->flops / (double)kernel->bytes;
    return (double)kernel->flops / kernel->ns / (by_memory < peak ? by_memory : peak);
}
