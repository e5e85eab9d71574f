#include "ops/batch_class.h"

#include <stdlib.h>
#include <string.h>

bool gi_batch_is_row(const struct gi_gpu *gpu)
{
    const char *asked = getenv("GLINFER_BATCH");
    if (asked) {
        return strcmp(asked, "row") == 0;
    }
    return gi_gpu_class(gpu) == GI_GPU_CLASS_LLVMPIPE;
}
