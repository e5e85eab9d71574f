#include "cli/profile/cli_profile_data.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_memory.h"

#include <math.h>
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

enum { GPU_TRACK = 1, HOST_TRACK = 2 };

// Appends an event; returns its arguments.
static cJSON *add_event(cJSON *events, const char *phase, size_t process, int track,
                        const char *name)
{
    cJSON *event = cli_json_append(events);
    cJSON_AddStringToObject(event, "ph", phase);
    cJSON_AddNumberToObject(event, "pid", (double)process);
    cJSON_AddNumberToObject(event, "tid", track);
    cJSON_AddStringToObject(event, "name", name);
    return cJSON_AddObjectToObject(event, "args");
}

static cJSON *add_span(cJSON *events, size_t process, int track, const char *name, double begin_ns,
                       double ns)
{
    cJSON *args = add_event(events, "X", process, track, name);
    cJSON *event = events->child->prev; // the last one
    cJSON_AddNumberToObject(event, "ts", begin_ns / 1e3);
    cJSON_AddNumberToObject(event, "dur", ns / 1e3);
    return args;
}

static void add_stage(cJSON *events, size_t process, const struct cli_profile_stage *stage)
{
    const struct glinfer_profile_stats *stats = &stage->stats;
    const char *gpu = stats->clock == GLINFER_PROFILE_QUERY ? "GPU" : "GPU, waited for";
    cJSON_AddStringToObject(add_event(events, "M", process, 0, "process_name"), "name",
                            stage->name);
    cJSON_AddStringToObject(add_event(events, "M", process, GPU_TRACK, "thread_name"), "name", gpu);
    cJSON_AddStringToObject(add_event(events, "M", process, HOST_TRACK, "thread_name"), "name",
                            "host");
    cJSON *args = add_span(events, process, HOST_TRACK, "submit", 0, stats->host_ns);
    cJSON_AddNumberToObject(args, "wall_us", stats->wall_ns / 1e3);
    for (size_t i = 0; i < stage->dispatches.count; i++) {
        const struct cli_profile_dispatch *dispatch = &stage->dispatches.items[i];
        const struct glinfer_profile_dispatch *figures = &dispatch->figures;
        const double ns = (double)figures->ns;
        args = add_span(events, process, GPU_TRACK, dispatch->label, (double)figures->begin_ns, ns);
        cJSON_AddStringToObject(args, "program", dispatch->program);
        cJSON_AddNumberToObject(args, "bytes", (double)figures->bytes);
        cJSON_AddNumberToObject(args, "flops", (double)figures->flops);
        cJSON_AddNumberToObject(args, "gb_per_s", ns > 0 ? (double)figures->bytes / ns : 0);
    }
}

void cli_trace_print(FILE *file, const struct cli_profile_data *data)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "displayTimeUnit", "ms");
    cJSON *other = cJSON_AddObjectToObject(object, "otherData");
    cJSON_AddStringToObject(other, "model", data->model);
    cJSON_AddStringToObject(other, "device", data->device);
    cJSON *events = cJSON_AddArrayToObject(object, "traceEvents");
    for (size_t i = 0; i < data->n_stage; i++) {
        add_stage(events, i + 1, &data->stages[i]);
    }
    char *text = cJSON_PrintUnformatted(object);
    fprintf(file, "%s\n", text ? text : "");
    cJSON_free(text);
    cJSON_Delete(object);
}
