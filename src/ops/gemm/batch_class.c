#include "ops/gemm/batch_class.h"

#include "gpu/program/program_table.h"

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

// GLINFER_BATCH. False without it, and where it names nothing that the device has.
static bool is_form_asked(const struct gi_gpu *gpu, enum gi_batch_form *form)
{
    static const struct {
        const char *name;
        enum gi_batch_form form;
        enum gi_program_id program; // that it is made of
    } forms[] = {
        {"split", GI_BATCH_FORM_SPLIT, GI_PROGRAM_GEMM     },
        {"lane",  GI_BATCH_FORM_LANE,  GI_PROGRAM_GEMM_LANE},
        {"row",   GI_BATCH_FORM_ROW,   GI_PROGRAM_GEMM_ROW },
    };
    const char *asked = getenv("GLINFER_BATCH");
    for (size_t i = 0; asked && i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strcmp(asked, forms[i].name) == 0) {
            *form = forms[i].form;
            return gi_program_available(gpu, forms[i].program);
        }
    }
    return false;
}

enum gi_batch_form gi_batch_form(const struct gi_gpu *gpu)
{
    enum gi_batch_form form;
    return is_form_asked(gpu, &form) ? form : class_form(gpu);
}

bool gi_batch_is_open(const struct gi_gpu *gpu)
{
    enum gi_batch_form form;
    return gi_gpu_class(gpu) == GI_GPU_CLASS_ROW && !is_form_asked(gpu, &form) &&
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
