// Clocks and temperatures as sysfs has them.
#pragma once

#include "cli/common/cli_memory.h"

// The lowest and the highest value of a file of numbers, in its own unit: kHz or Hz of clocks,
// thousandths of a degree Celsius; MHz of gt_*_freq_mhz and pp_dpm_sclk.
struct report_reading {
    char name[128]; // path below the root, with the kind of a thermal zone
    double low, high;
};

struct report_readings {
    struct report_reading *items; // owned
    size_t count, capacity;
};

// Reads all clocks and temperatures below root, "/sys", once more into readings.
void report_sample(const char *root, struct report_readings *readings);
// Appends a line for each reading.
void report_print_readings(const struct report_readings *readings, struct cli_bytes *text);
void report_readings_finish(struct report_readings *readings);
