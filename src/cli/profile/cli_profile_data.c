#include "cli/profile/cli_profile_data.h"

#include "cli/common/cli_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void cli_profile_add_kernel(void *user, const struct glinfer_profile_kernel *kernel)
{
    struct cli_profile_stage *stage = user;
    struct cli_profile_kernel *own = CLI_APPEND(&stage->kernels);
    own->figures = *kernel;
    own->figures.label = own->figures.program = NULL;
    snprintf(own->label, sizeof(own->label), "%s", kernel->label);
    snprintf(own->program, sizeof(own->program), "%s", kernel->program);
}

void cli_profile_add_dispatch(void *user, const struct glinfer_profile_dispatch *dispatch)
{
    struct cli_profile_stage *stage = user;
    struct cli_profile_dispatch *own = CLI_APPEND(&stage->dispatches);
    own->figures = *dispatch;
    own->figures.label = own->figures.program = NULL;
    snprintf(own->label, sizeof(own->label), "%s", dispatch->label);
    snprintf(own->program, sizeof(own->program), "%s", dispatch->program);
}

void cli_profile_finish(struct cli_profile_data *data)
{
    for (size_t i = 0; i < data->n_stage; i++) {
        free(data->stages[i].kernels.items);
        free(data->stages[i].dispatches.items);
    }
    data->n_stage = 0;
}

double cli_profile_memory_rate(const struct cli_profile_data *data)
{
    return fmax(data->rates.copy_gb_per_s, data->rates.read_gb_per_s);
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
