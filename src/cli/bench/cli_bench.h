// `glinfer bench`: tokens a second, in llama-bench's words and formats.
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/common/cli_args.h"

extern const struct cli_command cli_bench_command;
int cli_bench(int argc, const char *const *argv);

#endif
