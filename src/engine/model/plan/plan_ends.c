#include "engine/model/plan/plan_ends.h"

#include "base/round.h"
#include "engine/model/plan/plan_tensors.h"
#include "engine/model/plan/weight_layout.h"

#include <stdio.h>

static void plan_end(struct gi_model_plan *plan, const char *name, enum gi_dim cols,
                     enum gi_dim rows)
{
    const struct gi_hparams *hparams = &plan->hparams;
    struct gi_plan_weight *weight = &plan->weights[plan->n_weights++];
    snprintf(weight->name, sizeof(weight->name), "%s", name);
    weight->n_sources = 1;
    gi_plan_find_source(plan, name, 0, gi_dim_size(hparams, 0, cols), gi_dim_size(hparams, 0, rows),
                        1, &weight->sources[0]);
    gi_weight_layout(plan, weight);
}

// Plans n matrices, from the given one on, of those that `name` has for all streams of the residual
// but the first.
static void plan_stream_end(struct gi_model_plan *plan, const char *name, uint32_t first,
                            uint32_t n)
{
    const struct gi_hparams *hparams = &plan->hparams;
    struct gi_plan_weight *weight = &plan->weights[plan->n_weights++];
    struct gi_plan_source *source = &weight->sources[0];
    snprintf(weight->name, sizeof(weight->name), "%s.%u", name, first);
    weight->n_sources = 1;
    gi_plan_find_source(plan, name, 0, hparams->n_embd, hparams->n_embd, hparams->altup.n - 1,
                        source);
    source->row_begin = first * hparams->n_embd;
    source->n_rows = n * hparams->n_embd;
    gi_weight_layout(plan, weight);
}

// Plans a convolution of GI_TAPS rows, of n_col columns each in the file, with n_embd results.
static void plan_convolution(struct gi_model_plan *plan, const char *name, uint32_t n_col)
{
    const uint32_t n_embd = plan->hparams.n_embd;
    struct gi_plan_weight *weight = &plan->weights[plan->n_weights++];
    struct gi_plan_source *source = &weight->sources[0];
    snprintf(weight->name, sizeof(weight->name), "%s", name);
    weight->n_sources = 1;
    weight->weight.is_ungated = true;
    gi_plan_find_source(plan, name, 0, GI_TAPS * n_col, n_embd, 1, source);
    source->n_tap = GI_TAPS;
    source->n_col = (uint32_t)gi_round_up(n_col, GI_QUANT_BLOCK);
    if (!plan->failure.status && source->tensor->type->block_size > 1) {
        gi_error_set(&plan->failure, GLINFER_STATUS_UNSUPPORTED,
                     "%s: the convolution %.*s is of type %s, only f32, f16 and bf16 are supported",
                     gi_gguf_path(plan->gguf), (int)source->tensor->name.size,
                     source->tensor->name.data, source->tensor->type->name);
    }
    gi_weight_layout(plan, weight);
}

void gi_plan_ends(struct gi_model_plan *plan)
{
    const uint32_t n_stream = plan->hparams.altup.n;
    plan->is_tied = !gi_gguf_tensor_find(plan->gguf, "output.weight");
    if (plan->hparams.n_sound > 0) {
        plan_convolution(plan, "conv1", plan->hparams.n_sound);
        plan_convolution(plan, "conv2", plan->hparams.n_embd);
        return;
    }
    plan_end(plan, "token_embd", GI_DIM_EMBD, GI_DIM_VOCAB);
    if (!plan->is_tied) {
        plan_end(plan, "output", GI_DIM_EMBD, GI_DIM_VOCAB);
    }
    if (plan->hparams.inputs.width > 0) {
        plan_end(plan, "per_layer_token_embd", GI_DIM_INPUTS, GI_DIM_VOCAB);
        plan_end(plan, "per_layer_model_proj", GI_DIM_EMBD, GI_DIM_INPUTS);
    }
    if (n_stream > 1) {
        plan_stream_end(plan, "altup_proj", 0, n_stream - 1);
    }
    for (uint32_t i = 0; i + 1 < n_stream; i++) {
        plan_stream_end(plan, "altup_unembd_proj", i, 1);
    }
}
