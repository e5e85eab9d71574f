// The machine of a report: system, board, processor, memory, kernel drivers.
#pragma once

#include "cli/common/cli_memory.h"

// Appends lines about the machine. They have no host name, serial number or address.
void report_system(struct cli_bytes *text);
