#include "quant/quant.h"
#include "tests/ref/ref_quant.h"

const uint32_t *ref_grid_words(enum ref_grid grid)
{
    static const uint32_t types[] = {
        [REF_GRID_IQ1] = GI_GGML_TYPE_IQ1_S,       [REF_GRID_IQ2_XXS] = GI_GGML_TYPE_IQ2_XXS,
        [REF_GRID_IQ2_XS] = GI_GGML_TYPE_IQ2_XS,   [REF_GRID_IQ2_S] = GI_GGML_TYPE_IQ2_S,
        [REF_GRID_IQ3_XXS] = GI_GGML_TYPE_IQ3_XXS, [REF_GRID_IQ3_S] = GI_GGML_TYPE_IQ3_S,
    };
    return gi_quant_find(types[grid])->table;
}
