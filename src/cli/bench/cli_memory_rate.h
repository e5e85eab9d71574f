// The rate at which a device moves bytes, for `glinfer bench`.
#pragma once

#include "cli/common/cli_device.h"

// Returns the GB/s that the device moves at most; 0 if they cannot be measured. Measures in a
// process of its own, before there is a device in this one: the memory that measuring takes is not
// the model's, and would show in the peak.
double cli_memory_rate(const struct cli_device_flags *flags);
