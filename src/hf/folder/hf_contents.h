// Checks the contents of a folder before it is opened. Private to this folder.
#pragma once

#include "base/error.h"

// Fails unless a folder has config.json and SafeTensors: NOT_FOUND, or UNSUPPORTED with advice
// where it has the model in another format, or an adapter. Fails with IO, NO_MEMORY.
bool gi_hf_check_contents(const char *folder, struct glinfer_error *err);
