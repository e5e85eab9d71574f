// The multi-dispatch executor: replays the entries of a sealed list one by one, once a step.
#pragma once

#include "gpu/dispatch/executor.h"

struct gi_multi_executor {
    struct gi_executor base;
    struct gi_dispatch_table *list;
    bool is_owner; // of the list
};

// Returns the executor of a sealed list that stays its owner's, by value: nothing is to be
// destroyed.
struct gi_multi_executor gi_multi_executor_of(struct gi_dispatch_table *list);

// Creates the multi-dispatch executor of a sealed list, which it takes: a dispatch an entry, with
// grids from the host or from the GPU as the device likes. NULL with NO_MEMORY; the list is then
// destroyed.
struct gi_executor *gi_multi_executor_create(struct gi_dispatch_table *list,
                                             struct glinfer_error *err);
// Returns the list of a multi-dispatch executor, for measurements.
struct gi_dispatch_table *gi_multi_executor_list(const struct gi_executor *executor);
