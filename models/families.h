// Every family that is known: CMake makes the list from the files of this folder.
#pragma once

#include "graph/model_family.h"

#include <stddef.h>

extern const struct gi_model_family *const gi_model_families[]; // the last one is NULL
