#include "ops/attention_resident.h"

#include "ops/params.h"

#include <assert.h>

#define SUBGROUP 32 // invocations; what the program is written for

// Ranges of keys: as many as there are groups for, no more than a subgroup merges, and none that scratch has no
// room for.
static uint32_t choose_ranges(const struct gi_recorder *recorder, const struct gi_kv_layer *layer)
{
    const uint32_t n_scratch = gi_attention_count_ranges(layer);
    uint32_t n = recorder->n_groups / layer->n_head;
    n = n > SUBGROUP ? SUBGROUP : n;
    n = n > n_scratch ? n_scratch : n;
    return n < 1 ? 1 : n;
}

// Bytes that a group shares: the results of its subgroups.
static uint32_t shared_size(const struct gi_kv_layer *layer, uint32_t group_size)
{
    return group_size / SUBGROUP * (layer->head_dim * 4 + 8) + 16;
}

bool gi_attention_resident_suits(const struct gi_recorder *recorder,
                                 const struct gi_kv_layer *layer)
{
    const uint32_t dim = layer->head_dim, size = recorder->group_size;
    return size > 0 && size % SUBGROUP == 0 && size >= dim / 4 && (dim & (dim - 1)) == 0 &&
           gi_program_available(recorder->gpu, GI_PROGRAM_ATTENTION_RESIDENT) &&
           shared_size(layer, size) <= gi_gpu_limits(recorder->gpu)->max_shared_size;
}

static struct gi_program_key make_key(const struct gi_recorder *recorder,
                                      const struct gi_kv_layer *layer,
                                      const struct gi_score_rule *rule, uint32_t n_range)
{
    return (struct gi_program_key){
        .id = GI_PROGRAM_ATTENTION_RESIDENT,
        .quant = GI_QUANT_NONE,
        .n_defines = 8,
        .defines = {{"WG_SIZE", (int32_t)recorder->group_size},
                    {"HEAD_DIM", (int32_t)layer->head_dim},
                    {"RANGES", (int32_t)n_range},
                    {"WINDOW", rule->window > 0},
                    {"SOFTCAP", rule->softcap > 0},
                    {"K_TYPE", (int32_t)layer->type_k},
                    {"V_TYPE", (int32_t)layer->type_v},
                    {"PUTS", GI_PUTS_ALL}},
    };
}

bool gi_op_attention_resident(struct gi_recorder *recorder, const char *label,
                              const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                              const struct gi_attention_scratch *scratch, struct glinfer_error *err)
{
    assert(gi_attention_resident_suits(recorder, layer));
    const uint32_t n_range = choose_ranges(recorder, layer);
    const struct gi_program_key key = make_key(recorder, layer, rule, n_range);
    const struct gi_attention_params params =
        gi_attention_step_params(layer, rule, scratch, n_range);
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {scratch->range, scratch->range, {0}, layer->range},
        .writes = 1u << 0,
        .params = &params,
        .params_size = sizeof(params),
        .grid = {.size = {n_range, layer->n_head, 1}          },
    };
    gi_attention_count_key(layer, rule->window, &dispatch);
    return gi_recorder_add(recorder, &key, &dispatch, err);
}
