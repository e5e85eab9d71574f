// Chrome's trace events, as Perfetto opens them: the dispatches of one run of each stage, and the
// host's submitting.
//   https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "cli/profile/cli_profile_data.h"

#include <stdio.h>

void cli_trace_print(FILE *file, const struct cli_profile_data *data);

#endif
