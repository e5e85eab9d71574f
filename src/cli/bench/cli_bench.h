// `glinfer bench`: measures tokens a second.
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <stdbool.h>

// Runs the command; settings are a struct cli_bench_settings.
bool cli_bench(void *settings);

#endif
