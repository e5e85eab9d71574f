// A section of a report: a command of glinfer that runs as a process of its own, so that a driver
// that ends or blocks it costs the report only this section.
#pragma once

#include "cli/common/cli_memory.h"
#include "cli/report/report_sensors.h"

#include <stdbool.h>

enum { REPORT_MAX_WORDS = 24 };

struct report_section {
    const char *name;
    const char *dispatch;                    // GLINFER_DISPATCH of the process; NULL: as it is
    const char *words[REPORT_MAX_WORDS + 1]; // of the command line, after "glinfer"; ends with NULL
};

// Runs a section for at most max_seconds and appends its messages, its output and the reason if it
// failed. Samples readings meanwhile. Returns false only after an interrupt.
bool report_run(const struct report_section *section, double max_seconds,
                struct report_readings *readings, struct cli_bytes *text);
