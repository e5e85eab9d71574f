// Chrome's trace events: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#include "cli/common/cli_json_text.h"
#include "cli/profile/cli_profile_data.h"

#include <inttypes.h>

enum { GPU_TRACK = 1, HOST_TRACK = 2 };

static void print_name(FILE *file, const char *what, size_t process, int track, const char *name)
{
    fprintf(file,
            "{\"ph\":\"M\",\"pid\":%zu,\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":", process,
            track, what);
    cli_json_write_text(file, name);
    fputs("}},\n", file);
}

static void print_dispatch(FILE *file, size_t process, const struct cli_profile_dispatch *dispatch)
{
    const struct glinfer_profile_dispatch *figures = &dispatch->figures;
    fprintf(file,
            ",\n{\"ph\":\"X\",\"pid\":%zu,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":", process,
            GPU_TRACK, (double)figures->begin_ns / 1e3, (double)figures->ns / 1e3);
    cli_json_write_text(file, dispatch->label);
    fputs(",\"args\":{\"program\":", file);
    cli_json_write_text(file, dispatch->program);
    fprintf(file, ",\"bytes\":%" PRIu64 ",\"flops\":%" PRIu64 ",\"gb_per_s\":%.3f}}",
            figures->bytes, figures->flops,
            figures->ns ? (double)figures->bytes / (double)figures->ns : 0.0);
}

static void print_stage(FILE *file, size_t process, const struct cli_profile_stage *stage)
{
    print_name(file, "process_name", process, 0, stage->name);
    print_name(file, "thread_name", process, GPU_TRACK,
               stage->stats.clock == GLINFER_PROFILE_QUERY ? "GPU" : "GPU, waited for");
    print_name(file, "thread_name", process, HOST_TRACK, "host");
    fprintf(file,
            "{\"ph\":\"X\",\"pid\":%zu,\"tid\":%d,\"ts\":0,\"dur\":%.3f,\"name\":\"submit\","
            "\"args\":{\"wall_us\":%.3f}}",
            process, HOST_TRACK, stage->stats.host_ns / 1e3, stage->stats.wall_ns / 1e3);
    for (size_t i = 0; i < stage->n_dispatch; i++) {
        print_dispatch(file, process, &stage->dispatches[i]);
    }
}

void cli_trace_print(FILE *file, const struct cli_profile_data *data)
{
    fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"model\":", file);
    cli_json_write_text(file, data->model);
    fputs(",\"device\":", file);
    cli_json_write_text(file, data->device);
    fputs("},\n\"traceEvents\":[\n", file);
    for (size_t i = 0; i < data->n_stage; i++) {
        fputs(i ? ",\n" : "", file);
        print_stage(file, i + 1, &data->stages[i]);
    }
    fputs("\n]}\n", file);
}
