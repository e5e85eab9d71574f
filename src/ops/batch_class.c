#include "ops/batch_class.h"

#include "gpu/program_table.h"

#include <stdlib.h>
#include <string.h>

static enum gi_batch_form class_form(const struct gi_gpu *gpu)
{
    switch (gi_gpu_batch_class(gpu)) {
    case GI_GPU_CLASS_ROW:
        return GI_BATCH_FORM_LANE;
    case GI_GPU_CLASS_LLVMPIPE:
        return GI_BATCH_FORM_ROW;
    default:
        return GI_BATCH_FORM_SPLIT;
    }
}

enum gi_batch_form gi_batch_form(const struct gi_gpu *gpu)
{
    const char *asked = getenv("GLINFER_BATCH");
    if (asked && strcmp(asked, "split") == 0 && gi_program_available(gpu, GI_PROGRAM_GEMM)) {
        return GI_BATCH_FORM_SPLIT;
    }
    if (asked && strcmp(asked, "lane") == 0) {
        return GI_BATCH_FORM_LANE;
    }
    if (asked && strcmp(asked, "row") == 0 && gi_program_available(gpu, GI_PROGRAM_GEMM_ROW)) {
        return GI_BATCH_FORM_ROW;
    }
    return class_form(gpu);
}

bool gi_batch_is_open(const struct gi_gpu *gpu)
{
    return gi_gpu_class(gpu) == GI_GPU_CLASS_ROW && !getenv("GLINFER_BATCH") &&
           gi_program_available(gpu, GI_PROGRAM_GEMM);
}

uint32_t gi_batch_few_tokens(const struct gi_gpu *gpu)
{
    switch (gi_batch_form(gpu)) {
    case GI_BATCH_FORM_SPLIT:
        return 32;
    case GI_BATCH_FORM_LANE:
        return 16;
    default:
        return 4;
    }
}
