// The multi-dispatch executor: replays the entries of a sealed list one by one, once a step.
#ifndef GI_GPU_MULTI_EXECUTOR_H
#define GI_GPU_MULTI_EXECUTOR_H

#include "gpu/dispatch/executor.h"

// Creates the multi-dispatch executor of a sealed list, which it takes: a dispatch an entry, with
// grids from the host or from the GPU as the device likes. NULL with NO_MEMORY; the list is then
// destroyed.
struct gi_executor *gi_multi_executor_create(struct gi_dispatch_table *list,
                                             struct glinfer_error *err);
// Returns the list of a multi-dispatch executor, for who measures it.
struct gi_dispatch_table *gi_multi_executor_list(const struct gi_executor *executor);

#endif
