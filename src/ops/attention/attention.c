#include "ops/attention/attention.h"

#include "base/round.h"
#include "glsl/attention/attention_params.h"
#include "gpu/dispatch/dispatch_estimate.h"
#include "ops/attention/attention_heads.h"
#include "ops/attention/attention_vec8.h"
#include "ops/gemm/batch_form.h"
#include "ops/gemm/half_rows.h"
#include "ops/gemv/gemv.h"
#include "ops/record/loop_turns.h"

#include <assert.h>

#define LEAST_KEYS  64 // of a range
#define TILE_KEYS   64 // of a tile of glsl/attention/attention_subgroup.comp
#define SUBGROUP_WG 256
#define MOST_KEYS   8  // of a tile of glsl/attention/attention_row.comp, in a long context
#define TALL_TOKENS 64 // of a group with TALL

// The work of a workgroup for a batch, by device class. keys and vectors are defines that bound the
// private memory of attention_row.comp: 512 bytes per vector and element of the head should
// fit into a core's cache, and compiling takes a second per 30 fetches.
struct batch_shape {
    enum gi_program_id program;
    uint32_t n_tokens; // of a group
    uint32_t keys, vectors;
    uint32_t heads; // of a kv head, that a group works on together; 0: another kernel
};

// Returns the keys of a group of glsl/attention/attention.comp, `keys` or more: its invocations
// must be as many as a head has quads, or vec8s where larger groups have no registers.
static uint32_t group_keys(const struct gi_gpu *gpu, uint32_t keys, const struct gi_kv_layer *layer)
{
    return gi_max_u32(keys, layer->head_dim / (gi_gpu_class(gpu)->is_short_of_registers ? 8 : 4));
}

// Returns the shape of the blocks of glsl/attention/attention_lane.comp.
static struct gi_attention_block find_block(const struct gi_gpu *gpu)
{
    const struct gi_attention_block common = {4, 2, false},
                                    own = gi_gpu_class(gpu)->attention_block;
    return own.n_tokens > 0 ? own : common;
}

// glsl/attention/attention_half.comp, of caches in f16.
static bool has_half_form(const struct gi_gpu *gpu, const struct gi_kv_layer *layer)
{
    return layer->type_k == GI_CACHE_F16 && layer->type_v == GI_CACHE_F16 &&
           (layer->head_dim == 64 || layer->head_dim == 128) &&
           gi_program_available(gpu, GI_PROGRAM_ATTENTION_HALF);
}

static bool may_be_tall(const struct gi_gpu *gpu, const struct gi_kv_layer *layer)
{
    return layer->head_dim <= gi_gpu_class(gpu)->tall_head_dim &&
           gi_gpu_limits(gpu)->max_invocations >= 512 &&
           gi_gpu_limits(gpu)->max_group_size[0] >= 512;
}

// Returns true if shared memory has room for tiles of keys and for q of their tokens.
static bool has_room_for_q(const struct gi_gpu *gpu, const struct gi_kv_layer *layer)
{
    const uint32_t size = layer->head_dim <= 64 ? 32 << 10 : 48 << 10;
    return layer->head_dim <= 128 && gi_gpu_limits(gpu)->max_shared_size >= size;
}

// Chooses the shape for batches of at most max_tokens.
static struct batch_shape choose_shape(const struct gi_gpu *gpu, const struct gi_kv_layer *layer,
                                       uint32_t max_tokens, enum gi_half_form out,
                                       const struct gi_score_rule *rule)
{
    const enum gi_batch_form form = gi_batch_form(gpu);
    if (form == GI_BATCH_FORM_SPLIT && out == GI_HALF_FORM_LARGE && has_half_form(gpu, layer)) {
        const uint32_t n_group = gi_divide_up(max_tokens, TALL_TOKENS) * layer->n_head; // tall
        const uint32_t n = n_group < gi_gpu_class(gpu)->wave_groups * 3 / 2 ? 32 : TALL_TOKENS;
        return (struct batch_shape){GI_PROGRAM_ATTENTION_HALF, .n_tokens = n};
    }
    if (form == GI_BATCH_FORM_SPLIT && gi_program_available(gpu, GI_PROGRAM_ATTENTION_BATCH)) {
        // Tall groups have no registers for slopes; with q they would be half as many.
        const uint32_t n =
            may_be_tall(gpu, layer) && !(rule && rule->max_bias > 0) ? TALL_TOKENS : 32;
        return (struct batch_shape){GI_PROGRAM_ATTENTION_BATCH, .n_tokens = n};
    }
    const bool has_row_parts = layer->head_dim <= 256 || layer->head_dim % 16 == 0;
    if (form != GI_BATCH_FORM_ROW || !has_row_parts ||
        layer->range.size / 16 > gi_gpu_limits(gpu)->max_texels ||
        !gi_program_available(gpu, GI_PROGRAM_ATTENTION_BATCH_ROW)) {
        return (struct batch_shape){GI_PROGRAM_ATTENTION_BATCH_LANE,
                                    .n_tokens = find_block(gpu).n_tokens};
    }
    // Attention over all positions of a sound takes long enough to repay twice the compile time.
    const uint32_t few = rule && rule->after > 0 ? 8 : 4;
    const uint32_t most = layer->head_dim <= 96 ? few : layer->head_dim <= 256 ? 2 : 1;
    const uint32_t n_rep = layer->n_head / layer->n_kv_head;
    const uint32_t vectors = gi_min_u32(most, gi_divide_up(max_tokens, gi_divide_up(8, n_rep)));
    const uint32_t heads = gi_divide_up(n_rep, gi_divide_up(n_rep, 8 * vectors));
    uint32_t keys = layer->head_dim <= 64 ? 2 : 1;
    while (
        keys < MOST_KEYS &&
        !gi_loops_fit(gpu, gi_loop_turns_of_keys(layer->n_ctx, layer->head_dim, keys, vectors))) {
        keys *= 2;
    }
    return (struct batch_shape){GI_PROGRAM_ATTENTION_BATCH_ROW, 8 * vectors / heads, keys, vectors,
                                heads};
}

// Returns the most ranges of keys that a context has.
static uint32_t count_ranges(const struct gi_kv_layer *layer)
{
    return (layer->n_ctx + LEAST_KEYS - 1) / LEAST_KEYS;
}

uint64_t gi_attention_scratch_layout(struct gi_attention_scratch *scratch,
                                     const struct gi_kv_layer *layer, uint32_t least)
{
    const uint32_t n_count = count_ranges(layer), width = layer->n_head * layer->head_dim;
    const uint64_t n_range = gi_max_u32(n_count, GI_ATTENTION_LEAST_RANGES);
    scratch->slot_size = 0;
    scratch->counter = gi_x_size(width > least ? width : least);
    scratch->partial = scratch->counter + (uint32_t)gi_round_up(4ull * layer->n_head, 64);
    // A range has weighted values, the largest score, the sum of weights, and padding.
    return (scratch->partial + layer->n_head * n_range * (layer->head_dim + 4)) * sizeof(uint32_t);
}

static void check_layer(const struct gi_kv_layer *layer)
{
    assert(layer->head_dim % 8 == 0 && layer->head_dim <= GI_MAX_HEAD_DIM);
    assert(layer->n_head % layer->n_kv_head == 0 && layer->k % 4 == 0 && layer->v % 4 == 0);
    (void)layer;
}

static void count_key(const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                      struct gi_dispatch *dispatch)
{
    const uint32_t row_size = gi_cache_row_size(layer->type_k, layer->head_dim) +
                              gi_cache_row_size(layer->type_v, layer->head_dim);
    dispatch->key_bytes = (uint64_t)layer->n_kv_head * row_size;
    dispatch->key_flops = 4ull * layer->n_head * layer->head_dim;
    dispatch->window = rule->window;
    dispatch->after = rule->after;
    dispatch->n_key = rule->keys.buffer ? layer->n_ctx : 0;
}

//-- decode ----------------------------------------------------------------------------------------

// How a decode kernel spreads over groups: a grid of ranges, and of heads or runs of heads. heads
// is a define of those that take runs, vectors one of glsl/attention/attention_row.comp.
struct step_shape {
    enum gi_program_id program;
    uint32_t keys;      // of a range, or of the tiles that ranges take in turn
    uint32_t max_range; // of the context
    uint32_t n_group;   // for each range, or for `heads` of them
    uint32_t heads, vectors;
    bool is_texel;
};

// Spreads the heads of each kv head over runs of at most max_heads.
static void split_heads(struct step_shape *shape, const struct gi_kv_layer *layer,
                        uint32_t max_heads)
{
    const uint32_t n_rep = layer->n_head / layer->n_kv_head;
    assert(n_rep > 0 && max_heads > 0);
    const uint32_t n_run = gi_divide_up(n_rep, max_heads);
    shape->n_group = layer->n_kv_head * n_run;
    shape->heads = gi_divide_up(n_rep, n_run);
}

// Bytes that a group of heads shares: the results of its subgroups, later of every n-th range.
static uint32_t subgroup_shared_size(const struct gi_kv_layer *layer, uint32_t heads)
{
    const uint32_t n_quad = heads * layer->head_dim / 4, n_merge = SUBGROUP_WG / n_quad;
    return gi_max_u32(n_merge, SUBGROUP_WG / 32) * (n_quad * 16 + heads * 8) + 16;
}

// The most heads of a kv head that a group can work on, few, so that an invocation's part of their
// q and results stays in registers; 0: it cannot.
static uint32_t max_subgroup_heads(const struct gi_gpu *gpu, const struct gi_kv_layer *layer)
{
    uint32_t heads = layer->head_dim <= 64 ? 3 : 2;
    while (heads > 0 && subgroup_shared_size(layer, heads) > gi_gpu_limits(gpu)->max_shared_size) {
        heads--;
    }
    return heads;
}

// Subgroups take heads of 8 times a power of two, a vec8 an invocation.
static bool has_subgroup_form(const struct gi_gpu *gpu, const struct gi_kv_layer *layer)
{
    const uint32_t n = layer->head_dim;
    return n <= 256 && (n & (n - 1)) == 0 &&
           gi_program_available(gpu, GI_PROGRAM_ATTENTION_SUBGROUP) &&
           max_subgroup_heads(gpu, layer) > 0;
}

// Tiles of a key to eight an invocation, and no more ranges than run together.
static struct step_shape subgroup_shape(const struct gi_recorder *recorder,
                                        const struct gi_kv_layer *layer)
{
    const struct gi_gpu *gpu = recorder->gpu;
    const uint32_t n_slot = SUBGROUP_WG * 8 / layer->head_dim, n_range = count_ranges(layer);
    struct step_shape shape = {
        .program = GI_PROGRAM_ATTENTION_SUBGROUP,
        .keys = n_slot > TILE_KEYS       ? n_slot
                : 8 * n_slot < TILE_KEYS ? 8 * n_slot
                                         : TILE_KEYS,
    };
    split_heads(&shape, layer, max_subgroup_heads(gpu, layer));
    // A group for each head: those of a run take a range each where keys are many.
    shape.n_group *= shape.heads;
    const uint32_t n_each = gi_recorder_is_joint(recorder) ? recorder->slots.n : 1;
    const uint32_t most = gi_gpu_class(gpu)->attention_groups / n_each / shape.n_group,
                   n = shape.heads * (most < 1 ? 1 : most);
    shape.max_range = n < n_range ? n : n_range;
    return shape;
}

static bool has_row_form(const struct gi_gpu *gpu, const struct gi_kv_layer *layer)
{
    return layer->range.size / 16 <= gi_gpu_limits(gpu)->max_texels &&
           gi_program_available(gpu, GI_PROGRAM_ATTENTION_ROW);
}

#define LONG_CONTEXT (1u << 17) // from here on ranges are long, so that few are merged

// Gives as many heads of a kv head to a group as keep its private memory within a core's cache and
// the time to compile it to seconds. Where there are groups enough for a few cores, ranges are
// long.
static struct step_shape row_shape(const struct gi_kv_layer *layer)
{
    struct step_shape shape = {
        .program = GI_PROGRAM_ATTENTION_ROW,
        .vectors = layer->head_dim <= 64 ? 2 : 1,
        .is_texel = true,
    };
    split_heads(&shape, layer, 512 / layer->head_dim);
    shape.keys = shape.n_group < 8 && layer->n_ctx <= LONG_CONTEXT ? 256 : 1024;
    shape.max_range = count_ranges(layer);
    return shape;
}

// Chooses the kernel of a step: gi_op_attention_vec8 where it suits, else by class of device and
// head size. Where all groups of a list are alike, a range has a key for each invocation of one.
static struct step_shape choose_step_shape(const struct gi_recorder *recorder,
                                           const struct gi_kv_layer *layer)
{
    const struct gi_gpu *gpu = recorder->gpu;
    if (!gi_recorder_is_uniform(recorder) && has_row_form(gpu, layer)) {
        return row_shape(layer);
    }
    if (!gi_recorder_is_uniform(recorder) && has_subgroup_form(gpu, layer)) {
        return subgroup_shape(recorder, layer);
    }
    return (struct step_shape){
        .program = GI_PROGRAM_ATTENTION,
        .keys = group_keys(gpu, gi_recorder_wg_size(recorder, gi_gpu_class(gpu)->attention_keys),
                           layer),
        .max_range = count_ranges(layer),
        .n_group = layer->n_head,
    };
}

// Ranges count from the first key that is seen in the row form, from its tile in the subgroup form,
// and from key 0 in the other.
static struct gi_grid step_grid(const struct step_shape *shape, uint32_t n_ctx, uint32_t window)
{
    if (shape->is_texel && window > 0) {
        const uint32_t n_seen = window < n_ctx ? window : n_ctx;
        const uint32_t n_range = (n_seen + shape->keys - 1) / shape->keys;
        return (struct gi_grid){.size = {n_range, shape->n_group, 1}};
    }
    const bool is_subgroup = shape->program == GI_PROGRAM_ATTENTION_SUBGROUP;
    const uint32_t n_each = is_subgroup ? shape->heads : 1; // ranges of a group of the grid
    uint32_t most = shape->max_range;
    if (is_subgroup && window > 0) {
        const uint32_t n_tile = (window + shape->keys - 2) / shape->keys + 1;
        most = n_tile < most ? n_tile : most;
    }
    return (struct gi_grid){.size = {(most + n_each - 1) / n_each, shape->n_group, 1},
                            .rule = GI_GRID_KEYS,
                            .divisor = shape->keys * n_each,
                            .is_whole = !is_subgroup};
}

bool gi_attention_has_sums(const struct gi_recorder *recorder, const struct gi_kv_layer *layer)
{
    return !gi_recorder_is_joint(recorder) && gi_gemv_wants_sums(recorder->gpu) &&
           layer->head_dim % 16 == 0 && !gi_attention_vec8_suits(recorder, layer) &&
           (gi_attention_heads_suits(recorder, layer) ||
            choose_step_shape(recorder, layer).program == GI_PROGRAM_ATTENTION);
}

static struct gi_program_key step_key(const struct gi_recorder *recorder,
                                      const struct gi_kv_layer *layer,
                                      const struct gi_score_rule *rule,
                                      const struct step_shape *shape)
{
    struct gi_program_key key =
        GI_KEY(shape->program, {"HEAD_DIM", layer->head_dim}, {"WINDOW", rule->window > 0},
               {"SOFTCAP", rule->softcap > 0}, {"KEYS", shape->keys}, {"K_TYPE", layer->type_k},
               {"V_TYPE", layer->type_v});
    const struct gi_device_class *class = gi_gpu_class(recorder->gpu);
    if (shape->program == GI_PROGRAM_ATTENTION) {
        gi_key_define(&key, "WRITE_SUMS", gi_attention_has_sums(recorder, layer));
        gi_key_option(&key, "ROLLED", class->is_rolled && !class->is_large);
    } else {
        gi_key_define(&key, "HEADS", shape->heads);
        gi_key_option(&key, "VECTORS", shape->vectors);
    }
    if (shape->program == GI_PROGRAM_ATTENTION_SUBGROUP) {
        gi_key_define(&key, "WG_SIZE", SUBGROUP_WG);
    }
    return key;
}

// Returns the parameters that kernels of steps and of batches share.
static struct gi_attention_params common_params(const struct gi_kv_layer *layer,
                                                const struct gi_score_rule *rule)
{
    return (struct gi_attention_params){
        .n_head = layer->n_head,
        .n_kv_head = layer->n_kv_head,
        .n_ctx = layer->n_ctx,
        .window = rule->window,
        .k = layer->k / 4,
        .v = layer->v / 4,
        .k_scale = layer->k_scale,
        .v_scale = layer->v_scale,
        .scale = rule->scale,
        .softcap = rule->softcap,
        .sinks = rule->sinks,
    };
}

struct gi_attention_params gi_attention_step_params(const struct gi_kv_layer *layer,
                                                    const struct gi_score_rule *rule,
                                                    const struct gi_attention_scratch *scratch,
                                                    uint32_t max_range)
{
    struct gi_attention_params params = common_params(layer, rule);
    params.max_range = max_range;
    params.partial = scratch->partial;
    params.counter = scratch->counter;
    params.slot_cache = (uint32_t)(layer->slot_size / 16);
    params.slot_scratch = (uint32_t)(scratch->slot_size / sizeof(float));
    return params;
}

static void add_sinks(const struct gi_score_rule *rule, struct gi_program_key *key,
                      struct gi_dispatch *dispatch)
{
    if (rule->has_sinks) {
        gi_key_define(key, "SINKS", 1);
        dispatch->bindings[2] = rule->vectors;
    }
}

void gi_attention_record_step(struct gi_recorder *recorder, const struct gi_kv_layer *layer,
                              const struct gi_score_rule *rule, uint32_t axis,
                              struct gi_program_key *key, struct gi_dispatch *dispatch)
{
    count_key(layer, rule, dispatch);
    add_sinks(rule, key, dispatch);
    if (rule->keys.buffer) { // any number of keys, which the list does not know
        dispatch->state = rule->keys;
        dispatch->grid.rule = GI_GRID_FIXED;
    }
    gi_recorder_add_slots(recorder, 2, key, dispatch);
    if (axis != GI_ATTENTION_WHOLE && !gi_recorder_is_uniform(recorder) &&
        gi_dispatch_wants_pieces(dispatch, gi_gpu_class(recorder->gpu), layer->n_ctx - 1, 1)) {
        gi_key_define(key, "PIECES", 1);
        dispatch->grid.is_divisible = true;
        dispatch->grid.divisible_axis = axis;
    }
    gi_recorder_add(recorder, key, dispatch);
}

void gi_op_attention(struct gi_recorder *recorder, const char *label,
                     const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                     const struct gi_attention_scratch *scratch)
{
    check_layer(layer);
    if (gi_attention_vec8_suits(recorder, layer)) {
        gi_op_attention_vec8(recorder, label, layer, rule, scratch);
        return;
    }
    if (gi_attention_heads_suits(recorder, layer)) {
        const bool has_sums = gi_attention_has_sums(recorder, layer);
        gi_op_attention_heads(recorder, label, layer, rule, scratch, has_sums);
        return;
    }
    const struct step_shape shape = choose_step_shape(recorder, layer);
    struct gi_program_key key = step_key(recorder, layer, rule, &shape);
    const struct gi_attention_params params =
        gi_attention_step_params(layer, rule, scratch, shape.max_range);
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {scratch->range, {0}, {0}, layer->range},
        .texels = {[3] = shape.is_texel ? GI_TEXEL_UVEC4 : GI_TEXEL_NONE},
        GI_PARAMS_OF(params),
        .runtime_params =
            GI_ATTENTION_CONTEXT_PARAMS | GI_PARAM_BIT(struct gi_attention_params, max_range),
        .grid = step_grid(&shape, layer->n_ctx, rule->window),
        .wg_size = shape.keys,
    };
    const uint32_t axis = key.id == GI_PROGRAM_ATTENTION ? 1 : GI_ATTENTION_WHOLE;
    gi_attention_record_step(recorder, layer, rule, axis, &key, &dispatch);
}

//-- a batch of a prompt ---------------------------------------------------------------------------

// True for the kernels of tiles in shared memory.
static bool is_tile(const struct batch_shape *shape)
{
    return shape->program == GI_PROGRAM_ATTENTION_BATCH ||
           shape->program == GI_PROGRAM_ATTENTION_HALF;
}

bool gi_attention_has_halves(const struct gi_recorder *recorder, const struct gi_kv_layer *layer)
{
    const struct batch_shape shape =
        choose_shape(recorder->gpu, layer, UINT32_MAX, GI_HALF_FORM_LARGE, NULL);
    return is_tile(&shape) && layer->head_dim % GI_HALF_COLUMNS == 0;
}

// Returns the groups that share the sums of a head: GPUs of processors have no registers for those
// of a wide one.
static uint32_t count_groups_of_head(const struct gi_gpu *gpu, const struct batch_shape *shape,
                                     const struct gi_kv_layer *layer)
{
    const bool is_wide = layer->head_dim > 256 && layer->head_dim % 128 == 0;
    return is_tile(shape) && is_wide && gi_gpu_class(gpu)->gemm_tile != GI_GEMM_TILE_WHOLE ? 2 : 1;
}

// All shapes take at most 16 KiB of shared memory, with q for heads of up to 128. Wider heads read
// q again for each key, which leaves no registers for a third key.
static void define_block(const struct gi_gpu *gpu, const struct gi_kv_layer *layer,
                         struct gi_program_key *key)
{
    const struct gi_attention_block block = find_block(gpu);
    const bool has_room = layer->head_dim <= 128;
    gi_key_define(key, "BLOCK_TOKENS", block.n_tokens);
    gi_key_define(key, "EACH", has_room || block.each < 2 ? block.each : 2);
    gi_key_define(key, "SHARED_Q", !block.reads_q_again && has_room);
}

void gi_op_attention_batch(struct gi_recorder *recorder, const char *label,
                           const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                           const struct gi_rows *q, const struct gi_rows *out)
{
    check_layer(layer);
    assert(q->stride % 4 == 0 && out->stride % 4 == 0);
    assert(!out->is_half || gi_attention_has_halves(recorder, layer));
    assert(rule->after == 0 || rule->window > 0 || rule->after >= layer->n_ctx);
    const struct batch_shape shape =
        choose_shape(recorder->gpu, layer, gi_rows_room(q), gi_half_form(out), rule);
    uint32_t n_group = layer->n_head;
    struct gi_program_key key =
        GI_KEY(shape.program, {"WINDOW", rule->window > 0}, {"SOFTCAP", rule->softcap > 0},
               {"K_TYPE", layer->type_k}, {"V_TYPE", layer->type_v}, {"HEAD_DIM", layer->head_dim});
    if (shape.program == GI_PROGRAM_ATTENTION_BATCH_LANE) {
        define_block(recorder->gpu, layer, &key);
    } else if (shape.program == GI_PROGRAM_ATTENTION_BATCH_ROW) {
        gi_key_define(&key, "KEYS", shape.keys);
        gi_key_define(&key, "HEADS", shape.heads);
        n_group = layer->n_kv_head * gi_divide_up(layer->n_head / layer->n_kv_head, shape.heads);
    } else if (shape.program == GI_PROGRAM_ATTENTION_BATCH) {
        gi_key_define(&key, "HALF", gi_half_form(out));
        gi_key_define(&key, "SHARED_Q",
                      shape.n_tokens != TALL_TOKENS && has_room_for_q(recorder->gpu, layer));
        gi_key_option(&key, "ROLLED", gi_gpu_class(recorder->gpu)->is_rolled);
    }
    gi_key_option(&key, "TALL", is_tile(&shape) && shape.n_tokens == TALL_TOKENS);
    gi_key_option(&key, "VECTORS", shape.vectors);
    struct gi_attention_params params = common_params(layer, rule);
    const uint32_t n_part = count_groups_of_head(recorder->gpu, &shape, layer);
    gi_key_option(&key, "SPLITS", n_part > 1 ? n_part : 0);
    gi_key_option(&key, "AFTER", rule->after > 0);
    gi_key_option(&key, "ALIBI", rule->max_bias > 0);
    params.after = rule->after;
    params.max_bias = rule->max_bias;
    params.q_stride = q->stride;
    // Tiles of halves make a row of what the next product reads.
    params.out_stride = out->is_half ? layer->n_head * layer->head_dim : out->stride;
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {out->range, q->range, {0}, layer->range},
        .texels = {[3] = shape.heads > 0 ? GI_TEXEL_UVEC4 : GI_TEXEL_NONE},
        GI_PARAMS_OF(params),
        .grid = {.size = {1, n_group, n_part},
                 .rule = GI_GRID_TOKENS,
                 .divisor = shape.n_tokens,
                 .is_divisible = true,
                 .divisible_axis = 1},
    };
    dispatch.state = rule->keys;
    count_key(layer, rule, &dispatch);
    add_sinks(rule, &key, &dispatch);
    gi_recorder_add(recorder, &key, &dispatch);
}
