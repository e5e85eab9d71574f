#include "ops/attention/attention_heads.h"

#include "base/round.h"
#include "glsl/attention/attention_params.h"

#include <assert.h>

#define RANGE_KEYS  512 // keys that a group has room for
#define MOST_RANGES 24  // if they need not be more: one group merges them

struct shape {
    uint32_t rep;    // heads of a kv head
    uint32_t heads;  // of a group
    uint32_t n_run;  // groups for a kv head
    uint32_t tile;   // keys
    uint32_t n_tile; // of a range, at least
    uint32_t max_range;
};

static struct shape choose_shape(const struct gi_gpu *gpu, const struct gi_kv_layer *layer)
{
    const struct gi_device_class *class = gi_gpu_class(gpu);
    struct shape shape = {
        .rep = layer->n_head / layer->n_kv_head,
        .tile = class->attention.wg_size * class->attention.keys,
    };
    // To unpack blocks takes registers, of which devices of less than 4 heads have none left.
    const bool has_blocks =
        gi_cache_has_blocks(layer->type_k) || gi_cache_has_blocks(layer->type_v);
    const uint32_t heads = class->attention.heads;
    shape.n_run = gi_divide_up(shape.rep, has_blocks && heads == 3 ? 2 : heads);
    shape.heads = gi_divide_up(shape.rep, shape.n_run);
    const uint32_t most = RANGE_KEYS / shape.tile, n_group = layer->n_kv_head * shape.n_run;
    shape.n_tile = 1; // a power of two, so that there are n_groups at RANGE_KEYS keys
    while (shape.n_tile < most && most * n_group >= 2 * shape.n_tile * class->attention.n_groups) {
        shape.n_tile *= 2;
    }
    const uint32_t n_tile = gi_divide_up(layer->n_ctx, shape.tile);
    const uint32_t n_least = gi_divide_up(n_tile, most),
                   n_range = gi_divide_up(n_tile, shape.n_tile);
    shape.max_range = n_range < MOST_RANGES ? n_range : MOST_RANGES;
    shape.max_range = n_least > shape.max_range ? n_least : shape.max_range;
    return shape;
}

// Bytes that a group shares: scores, and the slices' results.
static uint32_t shared_size(const struct gi_gpu *gpu, const struct gi_kv_layer *layer)
{
    const uint32_t heads = choose_shape(gpu, layer).heads;
    const uint32_t size = gi_gpu_class(gpu)->attention.wg_size;
    return (heads == 3 ? 4 : heads) * 4 * (RANGE_KEYS + size) + size * heads * 32 + 64;
}

bool gi_attention_heads_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer)
{
    const struct gi_limits *limits = gi_gpu_limits(recorder->gpu);
    const uint32_t dim = layer->head_dim, size = gi_gpu_class(recorder->gpu)->attention.wg_size;
    return !gi_recorder_is_uniform(recorder) && size > 0 && (dim & (dim - 1)) == 0 && dim <= 256 &&
           dim / 8 <= size && shared_size(recorder->gpu, layer) <= limits->max_shared_size &&
           (uint64_t)layer->n_head * dim * sizeof(float) <= limits->max_uniform_block_size &&
           layer->range.offset % limits->uniform_alignment == 0 &&
           gi_program_available(recorder->gpu, GI_PROGRAM_ATTENTION_HEADS);
}

static struct gi_program_key make_key(const struct gi_device_class *class,
                                      const struct gi_kv_layer *layer,
                                      const struct gi_score_rule *rule, const struct shape *shape,
                                      bool has_sums)
{
    return GI_KEY(GI_PROGRAM_ATTENTION_HEADS, {"WG_SIZE", class->attention.wg_size},
                  {"HEAD_DIM", layer->head_dim}, {"WINDOW", rule->window > 0},
                  {"SOFTCAP", rule->softcap > 0}, {"K_TYPE", layer->type_k},
                  {"V_TYPE", layer->type_v}, {"REP", shape->rep}, {"HEADS", shape->heads},
                  {"EACH", class->attention.keys}, {"DOTS", class->attention.has_dots},
                  {"Q_QUADS", (layer->n_head * layer->head_dim / 4)},
                  {"RANGE_TILES", shape->n_tile}, {"WRITE_SUMS", has_sums});
}

// Keys that a window leaves out are in no range.
static struct gi_grid make_grid(const struct gi_kv_layer *layer, const struct shape *shape,
                                uint32_t window)
{
    const uint32_t least = shape->tile * shape->n_tile, n_range = gi_divide_up(window, least);
    const bool is_bounded = window > 0 && n_range < shape->max_range;
    return (struct gi_grid){
        .size = {is_bounded ? n_range : shape->max_range, shape->n_run, layer->n_kv_head},
        .rule = GI_GRID_KEYS,
        .divisor = least,
    };
}

void gi_op_attention_heads(struct gi_recorder *recorder, const char *label,
                           const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                           const struct gi_attention_scratch *scratch, bool has_sums)
{
    assert(gi_attention_heads_suits(recorder, layer));
    const struct gi_device_class *class = gi_gpu_class(recorder->gpu);
    const struct shape shape = choose_shape(recorder->gpu, layer);
    struct gi_program_key key = make_key(class, layer, rule, &shape, has_sums);
    const struct gi_attention_params params =
        gi_attention_step_params(layer, rule, scratch, shape.max_range);
    const bool is_joint = gi_recorder_is_joint(recorder);
    const struct gi_range q = {layer->range.buffer, layer->range.offset,
                               (uint64_t)layer->n_head * layer->head_dim * sizeof(float)};
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {scratch->range, is_joint ? (struct gi_range){0} : q, {0}, layer->range},
        .uniform = is_joint ? (struct gi_range){0} : q,
        GI_PARAMS_OF(params),
        .runtime_params =
            GI_ATTENTION_CONTEXT_PARAMS | GI_PARAM_BIT(struct gi_attention_params, max_range),
        .grid = make_grid(layer, &shape, rule->window),
        .wg_size = class->attention.wg_size,
    };
    gi_attention_record_step(recorder, layer, rule, 2, &key, &dispatch);
}
