// The roofline of S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual
// performance model for multicore architectures", CACM 52 (4), 2009, as SVG: rates of arithmetic
// over operations a byte. A kernel's mark has an area like its share of the time.
#pragma once

#include "cli/profile/cli_profile_data.h"

#include <stdio.h>

void cli_roofline_print(FILE *file, const struct cli_profile_data *data);
